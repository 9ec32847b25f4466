// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that take over an argument's memory, and when they may (TH-5). The tensors are too large to live inside their
// values.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_test_ops.h"
#include "tandem/kernel.h"
#include "test_runtime.h"

namespace tandem {
namespace {

constexpr int64_t kLarge = 64;

const void* DataOf(const TensorHandle& handle) { return handle.tensor().data(); }

class ForwardingTest : public testing::TestWithParam<bool> {
 protected:
  // x + y by t.Add, whose kernel offers both; the arguments are available, or (if the parameter is set) y is pending.
  TensorHandle Add(TensorHandle x, TensorHandle y) {
    if (!GetParam()) return rt_.Call("t.Add", {std::move(x), std::move(y)});
    Promise promise = rt_.MakePromise(y.metadata());
    TensorHandle sum = rt_.Call("t.Add", {std::move(x), promise.Handle()});
    Tensor late = y.tensor();
    y.reset();
    promise.Resolve(std::move(late));
    return sum;
  }
  TensorHandle Large(float value) { return TensorHandle::MakeAvailable(rt_.Filled(kLarge, value)); }

  TestRuntime rt_;
};
INSTANTIATE_TEST_SUITE_P(Pending, ForwardingTest, testing::Bool());

TEST_P(ForwardingTest, TH5_TheLastReferenceIsTakenOver) {
  TensorHandle x = Large(1);
  const void* data = DataOf(x);
  const TensorHandle sum = Add(std::move(x), rt_.Spread({kLarge}, 2));
  EXPECT_EQ(rt_.Values(sum)[kLarge - 1], 3.0f);
  EXPECT_EQ(DataOf(sum), data);
}

TEST_P(ForwardingTest, TH5_AnyCandidateWillDo) {
  TensorHandle y = Large(1);
  const void* data = DataOf(y);
  const TensorHandle sum = Add(rt_.Spread({kLarge}, 2), std::move(y));
  EXPECT_EQ(DataOf(sum), data);
}

TEST_P(ForwardingTest, TH5_ASharedHandleIsNotTakenOver) {
  const TensorHandle x = Large(1);
  const TensorHandle sum = Add(x.CopyRef(), rt_.Spread({kLarge}, 2));
  EXPECT_NE(DataOf(sum), DataOf(x));
  EXPECT_EQ(rt_.Values(x)[0], 1.0f);
  EXPECT_EQ(rt_.Values(sum)[0], 3.0f);
}

TEST_P(ForwardingTest, TH5_ASharedBufferIsNotTakenOver) {
  const Tensor kept = rt_.Filled(kLarge, 1);
  const TensorHandle sum = Add(TensorHandle::MakeAvailable(kept), rt_.Spread({kLarge}, 2));
  EXPECT_NE(DataOf(sum), kept.data());
  EXPECT_EQ(First(kept), 1.0f);
}

TEST_P(ForwardingTest, TH5_TheSameTensorTwiceIsNotTakenOver) {
  TensorHandle x = Large(1);
  const void* data = DataOf(x);
  TensorHandle again = x.CopyRef();
  const TensorHandle sum = Add(std::move(x), std::move(again));
  EXPECT_NE(DataOf(sum), data);
  EXPECT_EQ(rt_.Values(sum)[0], 2.0f);
}

TEST_P(ForwardingTest, TH5_ExternalMemoryIsNotTakenOver) {
  alignas(kTensorDataAlignment) float memory[kLarge];
  std::fill_n(memory, kLarge, 1.0f);
  bool released = false;
  StatusOr<RcRef<HostBuffer>> buffer =
      HostAllocator::WrapExternal(memory, sizeof(memory), [&released] { released = true; });
  ASSERT_TRUE(buffer.ok());
  TensorHandle x = TensorHandle::MakeAvailable(
      Tensor({DType::kF32, {kLarge}}, &rt_.host().device(), kDenseHost, memory, std::move(*buffer)));
  const TensorHandle sum = Add(std::move(x), rt_.Spread({kLarge}, 2));
  EXPECT_NE(DataOf(sum), memory);
  EXPECT_EQ(memory[0], 1.0f);
  EXPECT_TRUE(released) << "the argument was consumed";
}

TEST_P(ForwardingTest, TH5_ASliceOfALivingParentIsNotTakenOver) {
  const Tensor parent = rt_.Filled(2 * kLarge, 1);
  auto* middle = static_cast<float*>(const_cast<void*>(parent.data())) + kLarge;
  TensorHandle slice = TensorHandle::MakeAvailable(
      Tensor({DType::kF32, {kLarge}}, &rt_.host().device(), kDenseHost, middle, parent.storage()));
  const TensorHandle sum = Add(std::move(slice), rt_.Spread({kLarge}, 2));
  EXPECT_NE(DataOf(sum), middle);
  EXPECT_EQ(DenseData<float>(parent)[2 * kLarge - 1], 1.0f);
}

TEST_P(ForwardingTest, TH5_ASliceWhoseParentIsGoneMayBeTakenOver) {
  const float* middle = nullptr;
  TensorHandle slice;
  {
    const Tensor parent = rt_.Filled(2 * kLarge, 1);
    auto* data = static_cast<float*>(const_cast<void*>(parent.data())) + kLarge;
    middle = data;
    slice = TensorHandle::MakeAvailable(
        Tensor({DType::kF32, {kLarge}}, &rt_.host().device(), kDenseHost, data, parent.storage()));
  }
  const TensorHandle sum = Add(std::move(slice), rt_.Spread({kLarge}, 2));
  EXPECT_EQ(DataOf(sum), middle);
  EXPECT_EQ(rt_.Values(sum)[kLarge - 1], 3.0f);
}

TEST_P(ForwardingTest, TH5_SomebodyElsesWaiterKeepsTheTensor) {
  Promise promise = rt_.MakePromise({DType::kF32, {kLarge}});
  TensorHandle kept = promise.Handle();
  const TensorHandle sum = rt_.Call("t.Add", {kept, rt_.Spread({kLarge}, 2)});
  promise.Resolve(rt_.Filled(kLarge, 1));
  EXPECT_NE(DataOf(sum), DataOf(kept));
  EXPECT_EQ(rt_.Values(kept)[0], 1.0f);
}

TEST_P(ForwardingTest, TH5_AChainOfPendingOpsReusesOneBuffer) {
  Promise promise = rt_.MakePromise({DType::kF32, {kLarge}});
  TensorHandle last = promise.Handle();
  for (int i = 0; i < 5; ++i) last = rt_.Call("t.Add", {std::move(last), rt_.Spread({kLarge}, 1)});
  Tensor tensor = rt_.Filled(kLarge, 0);
  const void* data = tensor.data();
  promise.Resolve(std::move(tensor));
  EXPECT_EQ(DataOf(last), data);
  EXPECT_EQ(rt_.Values(last)[0], 5.0f);
}

TEST(ForwardingRulesTest, TH5_OnlyTheSameShapeAndElementSize) {
  TestRuntime rt;
  // Gives [n] of dtype `to` the memory of x if it may.
  const auto define = [&rt](std::string_view name, std::string_view to, MetadataFunction metadata) {
    rt.Define(OpDefBuilder(name).Input("x: float").Output(TextOf("y: ", to)).Metadata(metadata),
              MakeKernel([](DenseArg x, KernelFrame& frame) {
                const void* from = x.data<float>();
                void* data = frame.ForwardOrAllocateResult(0, {0});
                if (data == nullptr) return Status();
                const bool is_same = data == from;
                std::fill_n(static_cast<unsigned char*>(data), frame.result_metadata(0).byte_size(), is_same ? 1 : 0);
                return Status();
              }));
  };
  const auto was_taken = [&rt](std::string_view name) {
    const TensorHandle result = rt.Call(name, {rt.Dense<float>({8, 8}, std::vector<float>(64, 1))});
    EXPECT_TRUE(result.IsConcrete());
    return *static_cast<const unsigned char*>(result.tensor().data()) == 1;
  };
  define("t.Same", "float", [](const MetadataFrame& frame) {
    frame.results[0] = *frame.args[0];
    return Status();
  });
  define("t.Int", "int32", [](const MetadataFrame& frame) {
    frame.results[0] = {DType::kI32, {8, 8}};
    return Status();
  });
  define("t.Half", "half", [](const MetadataFrame& frame) {
    frame.results[0] = {DType::kF16, {8, 8}};
    return Status();
  });
  define("t.Flat", "float", [](const MetadataFrame& frame) {
    frame.results[0] = {DType::kF32, {64}};
    return Status();
  });
  EXPECT_TRUE(was_taken("t.Same"));
  EXPECT_TRUE(was_taken("t.Int")) << "the dtype may differ, its size not";
  EXPECT_FALSE(was_taken("t.Half"));
  EXPECT_FALSE(was_taken("t.Flat"));
}

TEST(ForwardingRulesTest, TH5_OneArgumentServesOneResult) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Two")
                .Input("x: float")
                .Output("y: float")
                .Output("z: float")
                .Metadata([](const MetadataFrame& frame) {
                  for (TensorMetadata& result : frame.results) result = *frame.args[0];
                  return Status();
                }),
            MakeKernel([](DenseArg, KernelFrame& frame) {
              std::fill_n(frame.ForwardOrAllocateResult<float>(0, {0}), kLarge, 1.0f);
              std::fill_n(frame.ForwardOrAllocateResult<float>(1, {0}), kLarge, 2.0f);
              return Status();
            }));
  TensorHandle x = TensorHandle::MakeAvailable(rt.Filled(kLarge, 0));
  const void* data = DataOf(x);
  const std::vector<TensorHandle> results = rt.CallN("t.Two", {std::move(x)}, 2);
  EXPECT_EQ(DataOf(results[0]), data);
  EXPECT_NE(DataOf(results[1]), data);
  EXPECT_EQ(rt.Values(results[0])[0], 1.0f);
  EXPECT_EQ(rt.Values(results[1])[0], 2.0f);
}

// A tensor is immutable once it is available, also for those that share it through a late result.
TEST(ForwardingRulesTest, TH5_ATensorGivenByAnIdentityKernelIsShared) {
  TestRuntime rt;
  DefineOp(rt, 1, 1, MakeKernel<&Identity>());
  const TensorHandle x = TensorHandle::MakeAvailable(rt.Filled(kLarge, 1));
  TensorHandle same = rt.Call("t.Op", {x});
  EXPECT_EQ(DataOf(same), DataOf(x));
  const TensorHandle sum = rt.Call("t.Add", {std::move(same), rt.Spread({kLarge}, 2)});
  EXPECT_NE(DataOf(sum), DataOf(x));
  EXPECT_EQ(rt.Values(x)[0], 1.0f);
}

}  // namespace
}  // namespace tandem
