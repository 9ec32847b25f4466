// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRecorder: constants of every kind, weights, tensors on other devices, and both forms of programs (PR-2, PR-4).

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program_recorder_test_fixture.h"
#include "tandem/kernel_op_handler.h"

namespace tandem {
namespace {

using Names = std::vector<std::string>;

// The program itself, and what its text and its bytes read back as.
std::vector<RcRef<const Program>> FormsOf(const RcRef<const Program>& program) {
  std::vector<RcRef<const Program>> forms = {program};
  for (StatusOr<RcRef<const Program>> form : {Program::FromText(program->ToText(), "recording.mlir"),
                                              Program::FromBytes(program->ToBytes(), "recording.bin")}) {
    EXPECT_TRUE(form.ok()) << form.status().ToString();
    if (form.ok()) forms.push_back(*std::move(form));
  }
  return forms;
}

TEST_F(ProgramRecorderTest, PR4_ConstantsOfEveryDType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kString || dtype == DType::kInvalid) continue;
    SCOPED_TRACE(TextOf(dtype));
    // In the tensor itself, on the heap, of rank 0, empty.
    for (const TensorShape& shape : {TensorShape({3}), TensorShape({5, 13}), TensorShape(), TensorShape({0, 2})}) {
      const TensorMetadata metadata(dtype, shape);
      std::vector<std::byte> bytes(static_cast<size_t>(metadata.byte_size()));
      for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = std::byte(dtype == DType::kBool ? k % 2 : 37 * k + 11);
      Start();
      const TensorHandle dense = Available(MakeDense(metadata, bytes, host().device(), host().allocator()));
      const TensorHandle all = Available(MakeScalar(metadata, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", host().device()));
      const RcRef<const Program> program = Finish({dense, all});
      ASSERT_TRUE(program);
      for (const RcRef<const Program>& form : FormsOf(program)) {
        const auto results = Replay(form, {}, 2);
        EXPECT_EQ(BytesOf(results[0]), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        EXPECT_EQ(MetadataOf(results[0]), TextOf(metadata));
        EXPECT_TRUE(results[0].tensor().IsA(kDenseHost));
        // Of one element, text tells no difference.
        EXPECT_TRUE(results[1].tensor().IsA(kScalarHost) || metadata.num_elements() == 1) << "not written out";
        EXPECT_EQ(BytesOf(results[1]), BytesOf(all));
      }
    }
  }
}

TEST_F(ProgramRecorderTest, PR4_ConstantsOfStrings) {
  Start();
  const std::string zero("a\0b", 3);
  const TensorHandle text = Strings({2, 2}, {"", zero, "\xff", "ccc"});
  const RcRef<const Program> program = Finish({text, Strings({0}, {})});
  ASSERT_TRUE(program);
  const auto results = Replay(program, {}, 2);
  EXPECT_EQ(StringValues(results[0]), (Names{"", zero, "\xff", "ccc"}));
  EXPECT_EQ(MetadataOf(results[0]), "string[2,2]");
  EXPECT_EQ(MetadataOf(results[1]), "string[0]");
}

TEST_F(ProgramRecorderTest, PR4_SparseConstants) {
  Start();
  const auto sparse = [&](std::vector<float> values) {
    return Available(MakeSparseCoo({DType::kF32, {2, 3}}, Dense<int64_t>({2, 2}, {0, 1, 1, 2}).tensor(),
                                   Dense<float>({2}, values).tensor(), host().device()));
  };
  const RcRef<const Program> program = Finish({sparse({5, 6})});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program),
            (Names{"corert.get_op_handler cpu", "f32[2,3]", "tandem.ToSparseCoo", "tfrt.return"}));
  const TensorHandle replayed = ReplayOne(program);
  ASSERT_TRUE(host().Await(replayed).ok());
  ASSERT_TRUE(replayed.tensor().IsA(kSparseCooHost));
  const SparseCooView view(replayed.tensor());
  EXPECT_EQ(DenseData<int64_t>(view.indices())[3], 2);
  EXPECT_EQ(view.num_values(), 2);
  EXPECT_EQ(Values<float>(replayed), (std::vector<float>{0, 5, 0, 0, 0, 6}));
  EXPECT_EQ(ErrorOfFinish({sparse({5, 0})}).ToString(),
            "Unimplemented: expected sparse constants that store no zeros, got f32[2,3] that does");
}

TEST_F(ProgramRecorderTest, PR4_AConstantIsWhatItWasAndOneForAllItsUses) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  TensorHandle constant = Dense<float>({2}, {3, 4});
  const TensorHandle sum = Call("tf.AddV2", {x, constant});
  // Nobody else has it by now, and a kernel could write to it.
  const TensorHandle y = Call("tf.Mul", {sum, Call("tf.Neg", {std::move(constant)})});
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program),
            (Names{"corert.get_op_handler cpu", "f32[2]", "tf.AddV2", "tf.Neg", "tf.Mul", "tfrt.return"}));
  EXPECT_EQ(Values<float>(ReplayOne(program, {Dense<float>({2}, {0, 1})})), (std::vector<float>{-9, -20}));
}

TEST_F(ProgramRecorderTest, PR4_LargeConstantsAreWeights) {
  Start({.max_inline_bytes = 8});
  const TensorHandle large = Dense<float>({3}, {1, 2, 3});
  const TensorHandle small = Dense<float>({2}, {4, 5});
  const TensorHandle all = Spread<float>({100}, 6);
  const TensorHandle text = Strings({1}, {"a text of more than eight bytes"});
  const RcRef<const Program> program = Finish({small, large, all, text, Call("tf.Neg", {large})});
  ASSERT_TRUE(program);
  ASSERT_EQ(recorder_->weights().size(), 1u);
  EXPECT_EQ(recorder_->weights()[0].first, "weight0");
  EXPECT_EQ(Values<float>(recorder_->weights()[0].second), (std::vector<float>{1, 2, 3}));
  ProgramRunner::Options options;
  options.find_weight = [&](std::string_view name) -> StatusOr<TensorHandle> {
    EXPECT_EQ(name, "weight0");
    return Dense<float>({3}, {7, 8, 9});
  };
  const auto results = Replay(program, {}, 5, nullptr, options);
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{4, 5}));
  EXPECT_EQ(Values<float>(results[1]), (std::vector<float>{7, 8, 9}));
  EXPECT_EQ(Values<float>(results[2]), std::vector<float>(100, 6));
  EXPECT_EQ(Values<float>(results[4]), (std::vector<float>{-7, -8, -9}));
}

TEST_F(ProgramRecorderTest, PR4_BothFormsReplayTheSameBits) {
  const TensorHandle x = Dense<float>({2, 2}, {0.1f, 0.2f, -3e-7f, 1e30f});
  StartWith(x);
  AsyncValueRef<Chain> chain = MakeReadyChain();
  Print("a \"quoted\"\n text", chain);
  const TensorHandle product = Call("tf.MatMul", {x, Dense<float>({2, 2}, {0.3f, 1, 2, 0.7f})},
                                    Attrs("transpose_a", true, "transpose_b", false));
  const TensorHandle y = Call("tf.Exp", {Call("tf.Mul", {product, Scalar<float>(1e-30f)})});
  const RcRef<const Program> program = Finish({y, product});
  ASSERT_TRUE(program);
  Await(chain);
  for (const RcRef<const Program>& form : FormsOf(program)) {
    AsyncValueRef<Chain> replay = MakeReadyChain();
    const std::string before = printed();
    const auto results = Replay(form, {x}, 2, &replay);
    Await(replay);
    EXPECT_EQ(printed(), before + "a \"quoted\"\n text\n");
    EXPECT_EQ(BytesOf(results[0]), BytesOf(y));
    EXPECT_EQ(BytesOf(results[1]), BytesOf(product));
  }
}

// A device in another room: nothing of the host can be read there. Its op handler has no kernels and lets the CPU run
// every op, for which it transfers.
inline constexpr TensorType kRemote{"remote"};

AsyncValueRef<Tensor> ToRemote(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  const auto size = static_cast<size_t>(from.metadata().byte_size());
  const StatusOr<RcRef<HostBuffer>> buffer = exec.host().allocator().Allocate(size);
  if (!buffer.ok()) return AsyncValueRef<Tensor>::MakeError(buffer.status());
  std::memcpy((*buffer)->data(), from.data(), size);
  return AsyncValueRef<Tensor>::MakeAvailable(from.metadata(), &target, kRemote, (*buffer)->data(), *buffer);
}
AsyncValueRef<Tensor> FromRemote(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  const auto size = static_cast<size_t>(from.metadata().byte_size());
  StatusOr<Tensor> made =
      MakeDense(from.metadata(), {static_cast<const std::byte*>(from.data()), size}, target, exec.host().allocator());
  if (!made.ok()) return AsyncValueRef<Tensor>::MakeError(made.status());
  return AsyncValueRef<Tensor>::MakeAvailable(*std::move(made));
}

struct OwnDevice {
  Device own_device;
};
class FarOpHandler final : private OwnDevice, public KernelOpHandler {
 public:
  FarOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback, const TensorType& type)
      : OwnDevice{Device(name, type)},
        KernelOpHandler(name, runtime, fallback, own_device, {.transfer_for_fallback = true}) {}
};

class ProgramRecorderDeviceTest : public ProgramRecorderTest {
 protected:
  ProgramRecorderDeviceTest() {
    ExpectOk(host().conversions().Register(kDenseHost, kRemote, &ToRemote));
    ExpectOk(host().conversions().Register(kRemote, kDenseHost, &FromRemote));
    far_ = runtime().AddHandler(std::make_unique<FarOpHandler>("far", runtime(), cpu(), kRemote));
  }
  void StartFar() {
    Start();
    const StatusOr<OpHandler*> handler = recorder_->HandlerOver(*far_);
    ASSERT_TRUE(handler.ok());
    recording_far_ = *handler;
  }
  TensorHandle CallFar(std::string_view op, OpArgs args) {
    TensorHandle result;
    runtime().Execute(op, recording_far_, Location(), args.span(), OpAttrsRef(), {&result, 1});
    return result;
  }
  TensorHandle Far(const TensorHandle& tensor) { return tensor.TransferTo(Exec(), *far_->device()); }
  TensorHandle Near(const TensorHandle& tensor) { return tensor.TransferTo(Exec(), host().device()); }

  OpHandler* far_ = nullptr;
  OpHandler* recording_far_ = nullptr;
};

TEST_F(ProgramRecorderDeviceTest, PR4_TransfersAreRecordedButThoseOfOps) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartFar();
  ExpectOk(recorder_->AddInput(x));
  const TensorHandle there = Far(x);
  const TensorHandle negative = CallFar("tf.Neg", {there});  // transfers there and back
  EXPECT_EQ(negative.device(), far_->device());
  const TensorHandle back = Near(negative);
  EXPECT_EQ(Near(back).value().value(), back.value().value()) << "no transfer";
  const TensorHandle y = Call("tf.AddV2", {back, x});
  Far(y);
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler far", "corert.get_op_handler cpu", "corert.transfer",
                                          "tf.Neg", "corert.transfer", "tf.AddV2", "tfrt.return"}));
  for (OpHandler* const handler : {static_cast<OpHandler*>(nullptr), static_cast<OpHandler*>(cpu())}) {
    const auto results = Replay(program, {Dense<float>({2}, {10, 20})}, 1, nullptr, {.op_handler = handler});
    EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{0, 0}));
  }
}

TEST_F(ProgramRecorderDeviceTest, PR4_WhatWasRecordedNearReplaysFar) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  const RcRef<const Program> program = Finish({Call("tf.Mul", {x, Dense<float>({2}, {3, 4})})});
  ASSERT_TRUE(program);
  const auto results = Replay(program, {Far(Dense<float>({2}, {5, 6}))}, 1, nullptr, {.op_handler = far_});
  EXPECT_EQ(results[0].device(), far_->device());
  EXPECT_EQ(Values<float>(Near(results[0])), (std::vector<float>{15, 24}));
}

TEST_F(ProgramRecorderDeviceTest, PR4_AConstantOnADeviceIsBroughtThere) {
  const TensorHandle constant = Far(Dense<float>({2}, {1, 2}));
  StartFar();
  const TensorHandle y = CallFar("tf.Neg", {constant});
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program),
            (Names{"corert.get_op_handler far", "f32[2]", "corert.transfer", "tf.Neg", "tfrt.return"}));
  EXPECT_EQ(Values<float>(Near(ReplayOne(program))), (std::vector<float>{-1, -2}));
  const auto near = Replay(program, {}, 1, nullptr, {.op_handler = cpu()});
  EXPECT_EQ(Values<float>(near[0]), (std::vector<float>{-1, -2}));
}

// A conversion that takes time, for the test to end.
inline constexpr TensorType kSlow{"slow"};
thread_local Producer<Tensor> slow_copy;
AsyncValueRef<Tensor> FromSlow(const ExecutionContext&, const Tensor& from, const Device& target) {
  slow_copy = Producer<Tensor>::MakeConstructed(from.metadata(), &target);
  return slow_copy.ref();
}

TEST_F(ProgramRecorderDeviceTest, PR4_ReadyIncludesThatConstantsAreOnTheHost) {
  ExpectOk(host().conversions().Register(kSlow, kDenseHost, &FromSlow));
  OpHandler* const slow = runtime().AddHandler(std::make_unique<FarOpHandler>("slow", runtime(), cpu(), kSlow));
  const TensorMetadata metadata(DType::kF32, {2});
  const TensorHandle constant = TensorHandle::MakeAvailable(Tensor(metadata, slow->device(), kSlow, nullptr, nullptr));
  Start();
  ASSERT_TRUE(recorder_->HandlerOver(*slow).ok());
  const AsyncValueRef<Chain> ready = recorder_->Ready({&constant, 1});
  EXPECT_FALSE(ready.IsAvailable());
  slow_copy.value().TakePayload(Dense<float>({2}, {1, 2}).tensor());
  slow_copy.SetConcrete();
  Await(ready);
  const RcRef<const Program> program = Finish({constant});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler slow", "f32[2]", "corert.transfer", "tfrt.return"}));
  EXPECT_FALSE(slow_copy) << "it was transferred once";
}

TEST_F(ProgramRecorderDeviceTest, PR4_ADeviceWithoutARecordedOpHandler) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  EXPECT_EQ(ErrorOfFinish({Far(x)}).ToString(),
            "FailedPrecondition: expected a recorded op handler for far, where tensors of the recording are, got "
            "none");
}

TEST_F(ProgramRecorderDeviceTest, PR4_TransfersToOtherRepresentationsAreUnimplemented) {
  const TensorHandle x = Dense<float>({2}, {1, 1});
  ExpectOk(host().conversions().Register(
      kRemote, kScalarHost, [](const ExecutionContext& exec, const Tensor& from, const Device& target) {
        static_cast<void>(exec);
        return AsyncValueRef<Tensor>::MakeAvailable(*MakeScalar(from.metadata(), from.data(), target));
      }));
  StartFar();
  ExpectOk(recorder_->AddInput(x));
  const TensorHandle all = Far(x).TransferTo(Exec(), host().device(), kScalarHost);
  const TensorHandle y = Call("tf.Neg", {all});
  EXPECT_EQ(Values<float>(y), (std::vector<float>{-1, -1}));
  EXPECT_EQ(ErrorOfFinish({y}).ToString(),
            "Unimplemented: expected transfers to the dense representation of a device, got one to another on cpu");
}

TEST_F(ProgramRecorderDeviceTest, PR4_ConstantsInRepresentationsOfTheirOwnAreUnimplemented) {
  static constexpr TensorType kOdd{"odd"};
  const TensorHandle dense = Dense<float>({20}, std::vector<float>(20, 1.f));
  const TensorHandle odd =
      TensorHandle::MakeAvailable(Tensor(dense.metadata(), &host().device(), kOdd, nullptr, dense.tensor().storage()));
  Start();
  EXPECT_EQ(ErrorOfFinish({odd}).ToString(),
            "Unimplemented: expected dense, scalar, string or sparse constants, got f32[20] as odd on cpu");
}

TEST_F(ProgramRecorderDeviceTest, PR4_TheObserverOfTheHostStillHearsOfTransfers) {
  class Count final : public TransferObserver {
   public:
    void OnTransfer(const TensorHandle&, const TensorHandle&, std::string_view) override { ++count; }
    int count = 0;
  };
  const RcRef<Count> observer = MakeRef<Count>();
  host().SetTransferObserver(observer);
  StartFar();
  const TensorHandle there = Far(Dense<float>({1}, {1}));
  EXPECT_EQ(observer->count, 1);
  CallFar("tf.Neg", {there});
  EXPECT_EQ(observer->count, 3);
  recorder_->Stop();
  EXPECT_EQ(host().FindTransferObserver().get(), observer.get());
  host().SetTransferObserver(nullptr);
}

}  // namespace
}  // namespace tandem
