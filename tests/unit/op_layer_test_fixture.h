// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpLayerTest: the fixture of tests of op handlers over others: calls on any handler, arguments that come when the test
// says so, ops that behave in all ways, and a device apart from the host.

#ifndef TANDEM_TESTS_UNIT_OP_LAYER_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_OP_LAYER_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/metadata_functions.h"

namespace tandem {

namespace layer_test {

inline constexpr TensorType kRemote{"remote"};
// A representation that nothing can be made of.
inline constexpr TensorType kForeign{"foreign"};

// What a remote tensor's data is in.
class RemoteStorage final : public TensorStorage {
 public:
  explicit RemoteStorage(size_t size) : bytes(std::max<size_t>(size, 1)) {}
  std::vector<std::byte> bytes;
};

inline Tensor MakeRemote(const TensorMetadata& metadata, const Device& device) {
  RcRef<RemoteStorage> storage = MakeRef<RemoteStorage>(metadata.byte_size());
  std::byte* const data = storage->bytes.data();
  return Tensor(metadata, &device, kRemote, data, std::move(storage));
}

class RemoteDevice final : public Device {
 public:
  RemoteDevice() : Device("remote", kRemote) {}
  StatusOr<Tensor> AllocateDense(const TensorMetadata& metadata, const ExecutionContext&,
                                 std::string_view) const override {
    return MakeRemote(metadata, *this);
  }
};

// How tensors come back from the device.
struct Downloads {
  enum class Mode { kAtOnce, kLate, kFailing };
  Mode mode = Mode::kAtOnce;
  int count = 0;
  std::vector<std::pair<Producer<Tensor>, Tensor>> late;  // what the test is to give
};
inline thread_local Downloads downloads;

inline AsyncValueRef<Tensor> ToRemote(const ExecutionContext&, const Tensor& from, const Device& target) {
  Tensor to = MakeRemote(from.metadata(), target);
  std::copy_n(static_cast<const std::byte*>(from.data()), from.metadata().byte_size(),
              static_cast<std::byte*>(to.mutable_data()));
  return AsyncValueRef<Tensor>::MakeAvailable(std::move(to));
}
inline AsyncValueRef<Tensor> FromRemote(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  ++downloads.count;
  if (downloads.mode == Downloads::Mode::kFailing) {
    return AsyncValueRef<Tensor>::MakeError(MakeError(StatusCode::kUnavailable, "the device is gone"));
  }
  StatusOr<Tensor> to =
      MakeDense(from.metadata(), {static_cast<const std::byte*>(from.data()), from.metadata().byte_size()}, target,
                exec.host().allocator());
  if (!to.ok()) return AsyncValueRef<Tensor>::MakeError(to.status());
  if (downloads.mode == Downloads::Mode::kAtOnce) return AsyncValueRef<Tensor>::MakeAvailable(*to);
  Producer<Tensor> producer = Producer<Tensor>::Make();
  AsyncValueRef<Tensor> value = producer.ref();
  downloads.late.emplace_back(std::move(producer), *to);
  return value;
}
// Gives what is late.
inline void FinishDownloads() {
  for (auto& [producer, tensor] : std::exchange(downloads.late, {})) producer.Emplace(std::move(tensor));
}

inline Status IncrementKernel(DenseArg x, KernelFrame& frame) {
  auto* y = frame.ForwardOrAllocateResult<float>(0, {0});
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = x.data<float>()[i] + 1;
  return Status();
}
inline Status FailKernel(KernelFrame&) { return InvalidArgument("never works"); }
inline Status MixedKernel(const Tensor& x, KernelFrame& frame) {
  frame.SetResult(0, x);
  frame.SetError(1, Internal("half of it failed"));
  return Status();
}
inline Status ForeignKernel(const Tensor& x, KernelFrame& frame) {
  frame.SetResult(0, Tensor(x.metadata(), x.device(), kForeign, nullptr, nullptr));
  return Status();
}
inline Status EffectKernel(KernelFrame&) { return Status(); }
inline Status RemoteNegKernel(DeviceArg x, KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(Tensor y, frame.NewResult(0));
  for (int64_t i = 0; i < x.size(); ++i) static_cast<float*>(y.mutable_data())[i] = -x.data<float>()[i];
  frame.SetResult(0, std::move(y));
  return Status();
}

inline StatusOr<std::array<TensorMetadata, 2>> TwiceMetadata(const TensorMetadata& x) {
  return std::array<TensorMetadata, 2>{x, x};
}

}  // namespace layer_test

// An argument that is still to come.
struct LateArgument {
  Producer<Tensor> producer;
  TensorHandle handle;

  void Resolve(const TensorHandle& from) { Resolve(from.tensor()); }
  void Resolve(const Tensor& tensor) {
    if (producer.ref().FindContent() == nullptr) return producer.Emplace(tensor);
    producer.value().TakePayload(tensor);
    producer.SetConcrete();
  }
};

class OpLayerTest : public OpTest {
 protected:
  OpLayerTest() {
    const auto float_op = [](std::string_view name) {
      return OpDefBuilder(name).Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>();
    };
    const Status defined = runtime().registry().RegisterAll({float_op("layer.Increment"), float_op("layer.Fail"),
                                                             float_op("layer.Foreign"), float_op("layer.Undone"),
                                                             OpDefBuilder("layer.Mixed")
                                                                 .Input("x: float")
                                                                 .Output("y: float")
                                                                 .Output("z: float")
                                                                 .Metadata<&layer_test::TwiceMetadata>(),
                                                             OpDefBuilder("layer.Effect").SideEffects()});
    EXPECT_TRUE(defined.ok()) << defined.ToString();
    AddKernel(*cpu(), "layer.Increment", MakeKernel<&layer_test::IncrementKernel>());
    AddKernel(*cpu(), "layer.Fail", MakeKernel<&layer_test::FailKernel>());
    AddKernel(*cpu(), "layer.Foreign", MakeKernel<&layer_test::ForeignKernel>());
    AddKernel(*cpu(), "layer.Mixed", MakeKernel<&layer_test::MixedKernel>());
    AddKernel(*cpu(), "layer.Effect", MakeKernel<&layer_test::EffectKernel>());
    layer_test::downloads = {};
  }
  ~OpLayerTest() override { layer_test::downloads = {}; }

  static void AddKernel(KernelOpHandler& handler, std::string_view op, Kernel kernel, DTypeSet dtypes = {}) {
    const Status added =
        dtypes.IsEmpty() ? handler.AddKernel(op, std::move(kernel)) : handler.AddKernel(op, dtypes, std::move(kernel));
    EXPECT_TRUE(added.ok()) << added.ToString();
  }

  // A handler on the host with kernels of its own and none else.
  KernelOpHandler* AddHostHandler(std::string_view name, OpHandler* fallback = nullptr) {
    return AddHandler(name, host().device(), KernelOpHandler::Policy(), fallback);
  }
  // One on a device apart, which negates f32 and leaves the rest to the CPU.
  KernelOpHandler* AddRemoteHandler() {
    static const layer_test::RemoteDevice device;
    EXPECT_TRUE(host().conversions().Register(kDenseHost, layer_test::kRemote, &layer_test::ToRemote).ok());
    EXPECT_TRUE(host().conversions().Register(layer_test::kRemote, kDenseHost, &layer_test::FromRemote).ok());
    KernelOpHandler* const handler = AddHandler(
        "remote", device, {.use_work_queue = false, .transfer_for_fallback = true, .take_host_tensors = true}, cpu());
    AddKernel(*handler, "tf.Neg", MakeKernel<&layer_test::RemoteNegKernel>(), {DType::kF32});
    return handler;
  }

  std::vector<TensorHandle> RunNOn(OpHandler* handler, std::string_view op, OpArgs args, int num_results,
                                   const OpAttrsRef& attrs = {}, AsyncValueRef<Chain>* chain = nullptr) {
    std::vector<TensorHandle> results(static_cast<size_t>(num_results));
    runtime().Execute(op, handler, Location::Current(), args.span(), attrs, results, chain);
    for (const TensorHandle& arg : args.span()) EXPECT_FALSE(arg.IsValid()) << "EX-2";
    for (const TensorHandle& result : results) EXPECT_TRUE(result.IsValid()) << "EX-3";
    return results;
  }
  TensorHandle RunOn(OpHandler* handler, std::string_view op, OpArgs args = {}, const OpAttrsRef& attrs = {},
                     AsyncValueRef<Chain>* chain = nullptr) {
    return std::move(RunNOn(handler, op, std::move(args), 1, attrs, chain)[0]);
  }

  // A tensor whose metadata is known.
  LateArgument Late(const TensorMetadata& metadata) {
    LateArgument late = {Producer<Tensor>::MakeConstructed(metadata, &host().device()), {}};
    late.handle = TensorHandle(late.producer.ref(), &host().device());
    return late;
  }

  // That a layer gives what the handler below gives: values of every tensor type, errors, chains.
  void ExpectPassesThrough(OpHandler* layer);
  // TH-5: that a layer keeps no argument from being taken over by the op, at once and later.
  void ExpectKeepsNoArgument(OpHandler* layer);
  void ExpectSameResults(OpHandler* layer, std::string_view op, const TensorHandle& arg, int num_results,
                         const OpAttrsRef& attrs = {});

 private:
  KernelOpHandler* AddHandler(std::string_view name, const Device& device, KernelOpHandler::Policy policy,
                              OpHandler* fallback) {
    return static_cast<KernelOpHandler*>(
        runtime().AddHandler(std::make_unique<KernelOpHandler>(name, runtime(), fallback, device, policy)));
  }
};

inline void OpLayerTest::ExpectSameResults(OpHandler* layer, std::string_view op, const TensorHandle& arg,
                                           int num_results, const OpAttrsRef& attrs) {
  const std::vector<TensorHandle> below = RunNOn(layer->fallback(), op, {arg}, num_results, attrs);
  const std::vector<TensorHandle> given = RunNOn(layer, op, {arg}, num_results, attrs);
  for (size_t i = 0; i < below.size(); ++i) {
    const Status expected = host().Await(below[i]);
    const Status status = host().Await(given[i]);
    EXPECT_EQ(status.message(), expected.message()) << op;
    EXPECT_EQ(status.code(), expected.code()) << op;
    if (!expected.ok() || !status.ok()) continue;
    const Tensor& a = below[i].tensor();
    const Tensor& b = given[i].tensor();
    EXPECT_EQ(&a.type(), &b.type()) << op;
    EXPECT_EQ(given[i].device(), below[i].device()) << op;
    EXPECT_EQ(TextOf(a.metadata()), TextOf(b.metadata())) << op;
    if (a.dtype() == DType::kString) {
      EXPECT_EQ(StringValues(given[i]), StringValues(below[i])) << op;
    } else if (IsHostType(a.type())) {
      EXPECT_EQ(Doubles(given[i]), Doubles(below[i])) << op;
    }
  }
}

inline void OpLayerTest::ExpectPassesThrough(OpHandler* layer) {
  const TensorHandle floats = Dense<float>({2, 2}, {1, 0, -3, 4.5f});
  const TensorHandle sparse = Run("tandem.ToSparseCoo", {floats});
  ASSERT_TRUE(host().Await(sparse).ok());
  ASSERT_TRUE(sparse.tensor().IsA(kSparseCooHost));
  const TensorHandle tensors[] = {
      floats.CopyRef(),
      sparse.CopyRef(),
      Spread<double>({1000, 1000}, 2.5),
      Strings({2}, {"a", "b c"}),
      Dense<float>({0, 3}, std::initializer_list<float>{}),
      Strings({0}, {}),
      Scalar<int64_t>(7),
      Dense<std::complex<float>>({1}, {{1, -2}}),
      Dense<BFloat16>({1}, {BFloat16(2.0f)}),
  };
  for (const TensorHandle& tensor : tensors) {
    ExpectSameResults(layer, "tf.Identity", tensor, 1);
    ExpectSameResults(layer, "test.async.noop", tensor, 1);
    ExpectSameResults(layer, "test.error.tensor", tensor, 3, Attrs("num_values", 2));
  }
  ExpectSameResults(layer, "tandem.ToDense", sparse, 1);
  ExpectSameResults(layer, "tandem.ToSparseCoo", floats, 1);
  ExpectSameResults(layer, "layer.Foreign", floats, 1);
  ExpectSameResults(layer, "layer.Mixed", floats, 2);
  ExpectSameResults(layer, "layer.Fail", floats, 1);
  ExpectSameResults(layer, "layer.Undone", floats, 1);
  ExpectSameResults(layer, "layer.Nothing", floats, 1);
  ExpectSameResults(layer, "test.odd_collector", Dense<int32_t>({4}, {1, 2, 3, 4}), 1);
  ExpectSameResults(layer, "tf.Neg", TensorHandle::MakeError(Internal("broken before")), 1);
  ExpectSameResults(layer, "tf.Neg", TensorHandle(), 1);

  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunNOn(layer, "layer.Effect", {}, 0, {}, &chain);
  EXPECT_TRUE(chain.IsConcrete());
  RunNOn(layer, "test.print", {floats}, 0, {}, &chain);
  const AsyncValue* const printed_value = chain.value();
  EXPECT_TRUE(host().Await({&printed_value, 1}).ok());
  EXPECT_NE(printed(), "");
  const Status error = Internal("before");
  chain = AsyncValueRef<Chain>::MakeError(error);
  RunNOn(layer, "layer.Effect", {}, 0, {}, &chain);
  EXPECT_EQ(chain.GetError(), error);
  // CH-4: of a pure op, too.
  EXPECT_EQ(RunOn(layer, "tf.Neg", {floats}, {}, &chain).GetError(), error);
}

inline void OpLayerTest::ExpectKeepsNoArgument(OpHandler* layer) {
  const std::vector<float> ones(100, 1.0f);
  TensorHandle arg = Dense<float>({100}, ones);
  const void* data = arg.tensor().data();
  TensorHandle result = RunOn(layer, "layer.Increment", {std::move(arg)});
  EXPECT_EQ(result.tensor().data(), data);
  result = RunOn(layer, "layer.Increment", {std::move(result)});
  EXPECT_EQ(result.tensor().data(), data);

  LateArgument late = Late({DType::kF32, {100}});
  TensorHandle last = RunOn(layer, "layer.Increment", {std::move(late.handle)});
  for (int i = 0; i < 3; ++i) last = RunOn(layer, "layer.Increment", {std::move(last)});
  TensorHandle source = Dense<float>({100}, ones);
  Tensor tensor = source.tensor();
  source.reset();
  data = tensor.data();
  late.producer.value().TakePayload(std::move(tensor));
  late.producer.SetConcrete();
  ASSERT_TRUE(last.IsConcrete());
  EXPECT_EQ(last.tensor().data(), data);
  EXPECT_EQ(Values<float>(last)[99], 5.0f);
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_OP_LAYER_TEST_FIXTURE_H_
