// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the runtime does with metadata functions: when they run, what their errors become, and ops without one (MD-1 to
// MD-4).

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

struct Call {
  std::atomic<int> count{0};
  std::thread::id thread;
};
Call metadata_call;

StatusOr<TensorMetadata> Noted(const TensorMetadata& x) {
  ++metadata_call.count;
  metadata_call.thread = std::this_thread::get_id();
  if (x.rank() != 1) return InvalidArgument("x must have rank 1, got ", x);
  return TensorMetadata(DType::kI32, {x.dim(0) * 2});
}

StatusOr<Tensor> Zeros(KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(Tensor result,
                          AllocateDense(frame.result_metadata(0), frame.host().device(), frame.host().allocator()));
  std::fill_n(static_cast<char*>(result.mutable_data()), result.metadata().byte_size(), 0);
  return result;
}

Status NeverRight(const TensorMetadata&, std::span<TensorMetadata>) { return InvalidArgument("never right"); }

Status ShapesAgree(const TensorMetadata& x, const TensorMetadata& y, std::span<TensorMetadata>) {
  return x.shape == y.shape ? Status() : InvalidArgument("shapes must agree, got ", x, " and ", y);
}

class MetadataRulesTest : public testing::Test {
 protected:
  MetadataRulesTest() {
    metadata_call.count = 0;
    rt_.Define(OpDefBuilder("t.Noted").Input("x: float").Output("y: int32").Metadata<&Noted>(),
               MakeKernel([this](KernelFrame& frame) {
                 ++num_kernel_runs_;
                 return Zeros(frame);
               }));
  }
  std::atomic<int> num_kernel_runs_{0};
  TestRuntime rt_;
};

TEST_F(MetadataRulesTest, MD1_RunsOnTheCallingThreadBeforeExecuteReturns) {
  const TensorHandle result = rt_.Call("t.Noted", {rt_.MakePromise({DType::kF32, {3}}).Handle()});
  EXPECT_EQ(metadata_call.count, 1);
  EXPECT_EQ(metadata_call.thread, std::this_thread::get_id());
  EXPECT_EQ(num_kernel_runs_, 0);
  EXPECT_EQ(TextOf(result.metadata()), "i32[6]");
}

TEST_F(MetadataRulesTest, MD1_SharedByEveryHandler) {
  auto other = std::make_unique<KernelOpHandler>("other", rt_.runtime(), nullptr, rt_.host().device(),
                                                 KernelOpHandler::Policy());
  ASSERT_TRUE(other->AddKernel("t.Noted", MakeKernel<&Zeros>()).ok());
  OpHandler* handlers[] = {&rt_.cpu(), rt_.runtime().AddHandler(std::move(other))};
  for (OpHandler* handler : handlers) {
    TensorHandle args[1] = {rt_.Dense<float>({1, 1}, {1})};
    TensorHandle results[1];
    rt_.runtime().Execute("t.Noted", handler, Location(), args, OpAttrsRef(), results);
    EXPECT_EQ(rt_.ErrorOf(results[0]), "[t.Noted] x must have rank 1, got f32[1,1]");
  }
}

TEST_F(MetadataRulesTest, MD2_FailureIsInvalidArgumentAndTheKernelDoesNotRun) {
  const TensorHandle result = rt_.Call("t.Noted", {rt_.Dense<float>({1, 1}, {1})});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(result.GetError().message(), "[t.Noted] x must have rank 1, got f32[1,1]");
  EXPECT_EQ(num_kernel_runs_, 0);
}

TEST_F(MetadataRulesTest, MD2_FailureEndsAllResultsAndTheChain) {
  rt_.Define(OpDefBuilder("t.Two")
                 .Input("x: float")
                 .Output("y: float")
                 .Output("z: float")
                 .SideEffects()
                 .Metadata<&NeverRight>(),
             MakeKernel([](KernelFrame&) {
               ADD_FAILURE() << "the kernel must not run";
               return Status();
             }));
  AsyncValueRef<Chain> chain = MakeReadyChain();
  const std::vector<TensorHandle> results = rt_.CallN("t.Two", {rt_.F32({1})}, 2, {}, &chain);
  for (const TensorHandle& result : results) EXPECT_EQ(rt_.ErrorOf(result), "[t.Two] never right");
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "[t.Two] never right");
  EXPECT_EQ(rt_.told().size(), 1u);
}

// What a metadata function gives is checked before anything is allocated by it.
struct BadMetadata {
  const char* name;
  TensorMetadata metadata;
  std::string error;
};
BadMetadata given;
TensorMetadata Given(const TensorMetadata&) { return given.metadata; }
const BadMetadata kBad[] = {
    {"NegativeDimension", {DType::kF32, {2, -1}}, "dimension 1 of shape [2,-1] must not be negative"},
    {"Overflow", {DType::kF32, {INT64_MAX, 2}}, "shape [9223372036854775807,2] must have at most 2^63-1 elements"},
    {"NoDType", {DType::kInvalid, {2}}, "a tensor must have a dtype, got [2] without one"},
    {"AnotherDType", {DType::kI32, {2}}, "metadata function must give result 0 as f32, gave i32[2]"},
};
class BadMetadataTest : public testing::TestWithParam<BadMetadata> {};
INSTANTIATE_TEST_SUITE_P(Kinds, BadMetadataTest, testing::ValuesIn(kBad),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(BadMetadataTest, TH8_IsAnErrorNowAndLater) {
  TestRuntime rt;
  given = GetParam();
  rt.Define(OpDefBuilder("t.Bad").Input("x: float").Output("y: float").Metadata<&Given>(), MakeKernel<&Zeros>());
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Bad", {rt.F32({1})})), "[t.Bad] " + GetParam().error);
  Promise promise = rt.MakePromise();
  const TensorHandle late = rt.Call("t.Bad", {promise.Handle()});
  promise.Resolve(rt.Filled(1, 1));
  EXPECT_EQ(rt.ErrorOf(late), "[t.Bad] " + GetParam().error);
  EXPECT_EQ(rt.told().size(), 2u);
}

TEST(TooLargeTest, TH8_MetadataThatCannotBeAddressedIsAnError) {
  TestRuntime rt;
  given.metadata = {DType::kF32, {PTRDIFF_MAX}};
  rt.Define(OpDefBuilder("t.Huge").Input("x: float").Output("y: float").Metadata<&Given>(), MakeKernel<&Zeros>());
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Huge", {rt.F32({1})})),
            TextOf("[t.Huge] tensor f32[", PTRDIFF_MAX, "] is too large to be addressed, the limit is ",
                   uint64_t{PTRDIFF_MAX} / 8, " elements"));
}

TEST_F(MetadataRulesTest, MD3_WithoutAFunctionMetadataComesWithTheTensor) {
  const TensorHandle now = rt_.Call("t.NonZero", {rt_.F32({1, 0, 2})});
  EXPECT_EQ(TextOf(now), "f32[2] on cpu");
  Promise promise = rt_.MakePromise({DType::kF32, {3}});
  const TensorHandle late = rt_.Call("t.NonZero", {promise.Handle()});
  EXPECT_FALSE(late.IsMetadataAvailable());
  EXPECT_EQ(TextOf(late), "pending, metadata pending on cpu");
  promise.Resolve(rt_.MakeTensor<float>({3}, {0, 5, 0}));
  EXPECT_EQ(TextOf(late.metadata()), "f32[1]");
  EXPECT_EQ(rt_.Values(late), std::vector<float>{5});
}

TEST_F(MetadataRulesTest, MD3_AwaitOfMetadataRestoresSynchronousChecks) {
  TestRuntime rt(TestRuntime::WithWorkers(1));
  rt.Define(OpDefBuilder("t.LongNonZero").Input("x: float").Output("y: float"),
            MakeKernel<&test_ops::NonZero>().WithCost(1e9f));
  const TensorHandle some = rt.Call("t.LongNonZero", {rt.F32({1, 0, 2})});
  const AsyncValue* metadata = some.metadata_value();
  ASSERT_TRUE(rt.host().Await({&metadata, 1}).ok());
  const TensorHandle sum = rt.Call("t.Add", {some, rt.F32({1, 2, 3})});
  ASSERT_TRUE(sum.IsError());
  EXPECT_EQ(sum.GetError().message(), "[t.Add] shapes must agree, got x: f32[2], y: f32[3]");
}

TEST_F(MetadataRulesTest, MD3_AFailedKernelWithoutAFunctionLeavesNoMetadata) {
  rt_.Define(OpDefBuilder("t.Lost").Input("x: float").Output("y: float").Output("z: float"),
             MakeKernel([](const Tensor& x, KernelFrame& frame) {
               frame.SetResult(1, x);
               frame.SetError(0, Internal("lost"));
               return Status();
             }));
  Promise promise = rt_.MakePromise({DType::kF32, {3}});
  std::vector<TensorHandle> late = rt_.CallN("t.Lost", {promise.Handle()}, 2);
  promise.Resolve(rt_.Filled(3, 1));
  const std::vector<TensorHandle> now = rt_.CallN("t.Lost", {rt_.F32({1, 2, 3})}, 2);
  for (const std::vector<TensorHandle>& results : {std::cref(now), std::cref(late)}) {
    EXPECT_EQ(rt_.ErrorOf(results[0]), "[t.Lost] lost");
    EXPECT_FALSE(results[0].IsMetadataAvailable());
    EXPECT_EQ(TextOf(results[1].metadata()), "f32[3]");
  }
}

TEST_F(MetadataRulesTest, MD4_PublishesResultMetadataBeforeComputingTheData) {
  Promise promise = rt_.MakePromise();
  const TensorHandle first = rt_.Call("t.Add", {promise.Handle(), rt_.F32({1, 2})});
  const TensorHandle second = rt_.Call("t.Add", {first, rt_.F32({1, 2})});
  EXPECT_FALSE(second.IsMetadataAvailable());
  promise.SetMetadata({DType::kF32, {2}});
  EXPECT_EQ(TextOf(first), "pending f32[2] on cpu");
  EXPECT_EQ(TextOf(second), "pending f32[2] on cpu");
  promise.Resolve(rt_.Filled(2, 1));
  EXPECT_EQ(rt_.Values(second), (std::vector<float>{3, 5}));
}

TEST_F(MetadataRulesTest, MD4_LateMetadataErrorReachesDependentsOfDependents) {
  Promise promise = rt_.MakePromise();
  const TensorHandle wrong = rt_.Call("t.Add", {promise.Handle(), rt_.F32({1, 2, 3})});
  TensorHandle last = wrong.CopyRef();
  std::vector<TensorHandle> dependents;
  for (int i = 0; i < 10; ++i) {
    last = rt_.Call("t.Add", {last, rt_.F32({1, 2, 3})});
    dependents.push_back(last.CopyRef());
  }
  const TensorHandle other = rt_.Call("t.Add", {promise.Handle(), rt_.F32({1, 2})});
  promise.SetMetadata({DType::kF32, {2}});  // the tensor is still pending
  ASSERT_TRUE(wrong.IsError());
  for (const TensorHandle& dependent : dependents) {
    ASSERT_TRUE(dependent.IsError());
    EXPECT_EQ(dependent.GetError().message(), "[t.Add] shapes must agree, got x: f32[2], y: f32[3]");
    EXPECT_TRUE(dependent.GetError() == wrong.GetError());
  }
  EXPECT_EQ(rt_.told().size(), 1u) << "told once, where it arose";
  promise.Resolve(rt_.Filled(2, 1));
  EXPECT_EQ(rt_.Values(other), (std::vector<float>{2, 3})) << "what does not depend on it runs";
}

TEST_F(MetadataRulesTest, MD4_SideEffectingOpsWithAMetadataFunctionWaitForMetadataToo) {
  bool ran = false;
  rt_.Define(OpDefBuilder("t.Checked").Input("x: float").Input("y: float").SideEffects().Metadata<&ShapesAgree>(),
             MakeKernel([&ran](KernelFrame&) {
               ran = true;
               return Status();
             }));
  for (const bool is_right : {false, true}) {
    Promise promise = rt_.MakePromise();
    AsyncValueRef<Chain> chain = MakeReadyChain();
    rt_.CallN("t.Checked", {promise.Handle(), rt_.F32({1, 2})}, 0, {}, &chain);
    AsyncValueRef<Chain> next = chain.CopyRef();
    rt_.CallN("t.Note", {rt_.F32({7})}, 0, {}, &next);
    EXPECT_FALSE(chain.IsAvailable());
    promise.Resolve(rt_.Filled(is_right ? 2 : 3, 1));
    ASSERT_TRUE(chain.IsAvailable());
    EXPECT_EQ(chain.IsConcrete(), is_right);
    EXPECT_EQ(next.IsConcrete(), is_right);
    EXPECT_EQ(ran, is_right);
    if (!is_right) {
      EXPECT_EQ(next.GetError().message(), "[t.Checked] shapes must agree, got f32[3] and f32[2]");
    }
  }
}

StatusOr<TensorMetadata> Resized(const TensorMetadata& x, HostInput size) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t n, size.Scalar("size"));
  return TensorMetadata(x.dtype, {n});
}

class HostInputRulesTest : public MetadataRulesTest {
 protected:
  HostInputRulesTest() {
    rt_.Define(
        OpDefBuilder("t.Resize").Input("x: float").HostInput("size: int32").Output("y: float").Metadata<&Resized>(),
        MakeKernel<&Zeros>());
  }
};

TEST_F(HostInputRulesTest, MD2_ContentOfHostInputsDecidesTheShape) {
  EXPECT_EQ(TextOf(rt_.Call("t.Resize", {rt_.F32({1}), rt_.I32({4})})), "f32[4] on cpu");
  const int32_t five = 5;
  TensorHandle spread =
      TensorHandle::MakeAvailable(std::move(*MakeScalar({DType::kI32, {1}}, &five, rt_.host().device())));
  EXPECT_EQ(TextOf(rt_.Call("t.Resize", {rt_.F32({1}), std::move(spread)})), "f32[5] on cpu");
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Resize", {rt_.F32({1}), rt_.I32({-4})})),
            "[t.Resize] dimension 0 of shape [-4] must not be negative");
}

TEST_F(HostInputRulesTest, MD4_PendingHostInputsDelayTheMetadata) {
  Promise size = rt_.MakePromise({DType::kI32, {1}});
  const TensorHandle result = rt_.Call("t.Resize", {rt_.F32({1}), size.Handle()});
  EXPECT_FALSE(result.IsMetadataAvailable());
  size.Resolve(rt_.MakeTensor<int32_t>({1}, {3}));
  EXPECT_EQ(TextOf(result), "f32[3] on cpu");
}

TEST_F(HostInputRulesTest, MD4_KnownHostInputsGiveMetadataAtOnce) {
  Promise x = rt_.MakePromise({DType::kF32, {1}});
  const TensorHandle result = rt_.Call("t.Resize", {x.Handle(), rt_.I32({3})});
  EXPECT_EQ(TextOf(result), "pending f32[3] on cpu");
  x.Resolve(rt_.Filled(1, 1));
  EXPECT_EQ(TextOf(result), "f32[3] on cpu");
}

TEST_F(HostInputRulesTest, MD4_LateErrorOfAHostInput) {
  Promise size = rt_.MakePromise({DType::kI32, {2}});
  const TensorHandle result = rt_.Call("t.Resize", {rt_.F32({1}), size.Handle()});
  const TensorHandle next = rt_.Call("t.Add", {result, rt_.F32({1})});
  size.Resolve(rt_.MakeTensor<int32_t>({2}, {3, 4}));
  EXPECT_EQ(rt_.ErrorOf(next), "[t.Resize] expected one integer for size, got i32[2]");
  Promise broken = rt_.MakePromise({DType::kI32, {1}});
  const TensorHandle failed = rt_.Call("t.Resize", {rt_.F32({1}), broken.Handle()});
  broken.Fail(Internal("broken"));
  EXPECT_EQ(rt_.ErrorOf(failed), "broken");
}

// Reading it as integers would read something else.
TEST_F(HostInputRulesTest, EX5_HostInputsThatAreNotDenseAreAnErrorNowAndLater) {
  const auto sparse = [this] {
    Tensor indices = rt_.MakeTensor<int64_t>({1, 1}, {0});
    Tensor values = rt_.MakeTensor<int32_t>({1}, {3});
    return std::move(*MakeSparseCoo({DType::kI32, {1}}, std::move(indices), std::move(values), rt_.host().device()));
  };
  constexpr std::string_view kError =
      "[t.Resize] argument 1 (size) must be a dense tensor on the host, got i32[1] as sparse_coo_host";
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Resize", {rt_.F32({1}), TensorHandle::MakeAvailable(sparse())})), kError);
  Promise size = rt_.MakePromise({DType::kI32, {1}});
  const TensorHandle late = rt_.Call("t.Resize", {rt_.F32({1}), size.Handle()});
  size.Resolve(sparse());
  EXPECT_EQ(rt_.ErrorOf(late), kError);
}

TEST_F(MetadataRulesTest, MD4_ErrorInsteadOfMetadata) {
  Promise promise = rt_.MakePromise();
  const TensorHandle result = rt_.Call("t.Add", {promise.Handle(), rt_.F32({1})});
  const TensorHandle next = rt_.Call("t.Add", {result, rt_.F32({1})});
  promise.Fail(Internal("no metadata"));
  EXPECT_EQ(rt_.ErrorOf(result), "no metadata");
  EXPECT_EQ(rt_.ErrorOf(next), "no metadata");
  EXPECT_FALSE(next.IsMetadataAvailable());
  EXPECT_TRUE(rt_.told().empty()) << "it did not arise here";
}

TEST_F(MetadataRulesTest, TH4_KnownMetadataStaysReadableAfterAnError) {
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  const TensorHandle result = rt_.Call("t.Add", {promise.Handle(), rt_.F32({1})});
  promise.Fail(Internal("late"));
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(TextOf(result.metadata()), "f32[1]");
}

}  // namespace
}  // namespace tandem
