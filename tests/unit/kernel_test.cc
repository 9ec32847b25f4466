// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels: what they take and give, their errors, closures, and what they find in their frame (DI-1 to DI-4, DI-6).

#include "tandem/kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_test_ops.h"
#include "test_runtime.h"

namespace tandem {
namespace {

StatusOr<Tensor> MakeOne(KernelFrame& frame, float value) {
  return MakeDense({DType::kF32, {1}}, std::as_bytes(std::span(&value, 1)), frame.host().device(),
                   frame.host().allocator());
}

// DI-1: parameters.

TEST(KernelTest, DI1_ParametersTakeArgumentsInOrderWhateverStandsBetween) {
  TestRuntime rt;
  std::string seen;
  rt.Define(
      OpDefBuilder("t.Op").Input("a: float").Input("b: float").Input("c: float").Output("y: float").Attr("n: int"),
      MakeKernel([&seen](const OpAttrsRef& attrs, const Tensor& a, KernelFrame& frame, DenseArg b, const OpAttrsRef&,
                         DenseArg c) {
        seen = TextOf(First(a), " ", b.data<float>()[0], " ", First(c.tensor()), " ", attrs.GetOr<int64_t>("n", 0), " ",
                      frame.num_args(), " ", std::string_view(frame.def().name));
        return MakeOne(frame, 0);
      }));
  OpAttrs attrs;
  attrs.Set("n", int64_t{9});
  EXPECT_TRUE(rt.Call("t.Op", {rt.F32({1}), rt.F32({2}), rt.F32({3})}, attrs).IsConcrete());
  EXPECT_EQ(seen, "1 2 3 9 3 t.Op");
}

TEST(KernelTest, DI1_DenseArgExpandsScalarHostTensors) {
  TestRuntime rt;
  std::vector<float> seen;
  bool was_dense = false;
  DefineOp(rt, 1, 1, MakeKernel([&](DenseArg x, KernelFrame& frame) {
             seen.assign(x.data<float>(), x.data<float>() + x.size());
             was_dense = x.tensor().IsA(kDenseHost);
             EXPECT_EQ(TextOf(x.metadata()), "f32[2,2]");
             EXPECT_EQ(x.dtype(), DType::kF32);
             EXPECT_EQ(x.shape(), TensorShape({2, 2}));
             return MakeOne(frame, 0);
           }));
  EXPECT_TRUE(rt.Call("t.Op", {rt.Spread({2, 2}, 5)}).IsConcrete());
  EXPECT_EQ(seen, (std::vector<float>{5, 5, 5, 5}));
  EXPECT_TRUE(was_dense);
}

TEST(KernelTest, DI1_TensorParameterTakesAnyRepresentation) {
  TestRuntime rt;
  std::vector<std::string> seen;
  DefineOp(rt, 1, 1, MakeKernel([&seen](const Tensor& x) -> StatusOr<Tensor> {
             seen.emplace_back(x.type().name());
             return x;
           }));
  const auto sparse = [&] {
    return std::move(*MakeSparseCoo({DType::kF32, {4}}, rt.MakeTensor<int64_t>({1, 1}, {2}),
                                    rt.MakeTensor<float>({1}, {7}), rt.host().device()));
  };
  Args inputs(rt.F32({1}), rt.Spread({2}, 1), TensorHandle::MakeAvailable(sparse()));
  for (TensorHandle& arg : inputs.span()) {
    EXPECT_TRUE(rt.Call("t.Op", {std::move(arg)}).IsConcrete());
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"dense_host", "scalar_host", "sparse_coo_host"}));
}

TEST(KernelTest, DI1_DenseArgRefusesWhatIsNotDense) {
  TestRuntime rt;
  DefineOp(rt, 2, 1, MakeKernel([](DenseArg x, DenseArg) -> StatusOr<Tensor> { return x.tensor(); }));
  TensorHandle sparse = TensorHandle::MakeAvailable(std::move(*MakeSparseCoo(
      {DType::kF32, {4}}, rt.MakeTensor<int64_t>({1, 1}, {2}), rt.MakeTensor<float>({1}, {7}), rt.host().device())));
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Op", {rt.F32({1}), std::move(sparse)})),
            "[t.Op] argument 1 (x1) must be a dense tensor, got f32[4] as sparse_coo_host");
}

TEST(KernelTest, DI1_DenseArgRefusesStringTensors) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Op").Input("x: string").Output("y: string"),
            MakeKernel([](DenseArg x) -> StatusOr<Tensor> { return x.tensor(); }));
  const std::string_view texts[] = {"a"};
  TensorHandle text =
      TensorHandle::MakeAvailable(std::move(*MakeString({1}, texts, rt.host().device(), rt.host().allocator())));
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Op", {std::move(text)})),
            "[t.Op] argument 0 (x) must be a dense tensor, got string[1] as string_host");
}

class VariadicKernelTest : public testing::Test {
 protected:
  VariadicKernelTest() {
    rt_.Define(
        OpDefBuilder("t.Op").Input("head: float").Input("rest: N * float").Output("y: float").Attr("N: int >= 0"),
        MakeKernel([this](DenseArg head, VariadicArgs rest, KernelFrame& frame) {
          sums_.clear();
          for (size_t i = 0; i < rest.size(); ++i) {
            float sum = 0;
            for (int64_t k = 0; k < rest[i].size(); ++k) sum += rest[i].data<float>()[k];
            sums_.push_back(sum);
          }
          return MakeOne(frame, head.data<float>()[0]);
        }));
  }
  TestRuntime rt_;
  std::vector<float> sums_;
};

TEST_F(VariadicKernelTest, DI1_VariadicArgsTakeWhatIsLeft) {
  EXPECT_EQ(rt_.Values(rt_.Call("t.Op", {rt_.F32({1}), rt_.F32({2, 3}), rt_.F32({4})})), std::vector<float>{1});
  EXPECT_EQ(sums_, (std::vector<float>{5, 4}));
}

TEST_F(VariadicKernelTest, DI1_OptionalInputIsVariadicOfLengthZero) {
  EXPECT_EQ(rt_.Values(rt_.Call("t.Op", {rt_.F32({1})})), std::vector<float>{1});
  EXPECT_TRUE(sums_.empty());
}

TEST_F(VariadicKernelTest, DI1_VariadicArgsExpandScalarHostTensors) {
  EXPECT_TRUE(rt_.Call("t.Op", {rt_.F32({1}), rt_.Spread({3}, 2), rt_.F32({4}), rt_.Spread({2}, 1)}).IsConcrete());
  EXPECT_EQ(sums_, (std::vector<float>{6, 4, 2}));
}

TEST_F(VariadicKernelTest, DI1_VariadicArgsRefuseWhatIsNotDense) {
  TensorHandle sparse = TensorHandle::MakeAvailable(std::move(*MakeSparseCoo(
      {DType::kF32, {4}}, rt_.MakeTensor<int64_t>({1, 1}, {2}), rt_.MakeTensor<float>({1}, {7}), rt_.host().device())));
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Op", {rt_.F32({1}), rt_.F32({1}), std::move(sparse)})),
            "[t.Op] argument 2 (rest) must be a dense tensor, got f32[4] as sparse_coo_host");
}

TEST_F(VariadicKernelTest, DI1_HundredsOfArguments) {
  Args args(rt_.F32({1}));
  for (int i = 0; i < 500; ++i) args.Add(rt_.F32({static_cast<float>(i)}));
  EXPECT_TRUE(rt_.Call("t.Op", std::move(args)).IsConcrete());
  ASSERT_EQ(sums_.size(), 500u);
  EXPECT_EQ(sums_[499], 499.0f);
}

// DI-1: results.

StatusOr<std::array<TensorMetadata, 2>> SameAndOne(const TensorMetadata& x) {
  return std::array<TensorMetadata, 2>{x, TensorMetadata(x.dtype, {1})};
}

TEST(KernelTest, DI1_StatusResultsAreSetThroughTheFrame) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Op").Input("x: float").Output("y: float").Output("z: float").Metadata<&SameAndOne>(),
            MakeKernel([](DenseArg x, KernelFrame& frame) {
              EXPECT_EQ(frame.num_results(), 2u);
              EXPECT_EQ(TextOf(frame.result_metadata(1)), "f32[1]");
              float* y = frame.AllocateResult<float>(0);
              for (int64_t i = 0; i < x.size(); ++i) y[i] = -x.data<float>()[i];
              *frame.AllocateResult<float>(1) = static_cast<float>(x.size());
              return Status();
            }));
  const std::vector<TensorHandle> results = rt.CallN("t.Op", {rt.F32({1, 2})}, 2);
  EXPECT_EQ(rt.Values(results[0]), (std::vector<float>{-1, -2}));
  EXPECT_EQ(rt.Values(results[1]), std::vector<float>{2});
}

TEST(KernelTest, DI1_ArrayOfResults) {
  TestRuntime rt;
  DefineOp(rt, 1, 2, MakeKernel([](const Tensor& x, KernelFrame& frame) -> StatusOr<std::array<Tensor, 2>> {
             TANDEM_ASSIGN_OR_RETURN(Tensor one, MakeOne(frame, 1));
             return std::array<Tensor, 2>{x, one};
           }));
  const std::vector<TensorHandle> results = rt.CallN("t.Op", {rt.F32({5, 6})}, 2);
  EXPECT_EQ(rt.Values(results[0]), (std::vector<float>{5, 6}));
  EXPECT_EQ(rt.Values(results[1]), std::vector<float>{1});
}

TEST(KernelTest, DI1_ResultsMustBeWhatTheMetadataFunctionSaid) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Op").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel([](KernelFrame& frame) { return MakeOne(frame, 1); }));
  constexpr std::string_view kError = "[t.Op] kernel must give result 0 as f32[2], gave f32[1]";
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Op", {rt.F32({1, 2})})), kError);
  Promise promise = rt.MakePromise({DType::kF32, {2}});
  const TensorHandle late = rt.Call("t.Op", {promise.Handle()});
  promise.Resolve(rt.Filled(2, 1));
  EXPECT_EQ(rt.ErrorOf(late), kError);
  EXPECT_EQ(rt.CodeOf(late), StatusCode::kInternal);
}

TEST(KernelTest, DI1_ResultsMustHaveTheDTypeOfTheDefinition) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Op").Input("x: float").Output("y: int32"), MakeKernel<&Identity>());
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Op", {rt.F32({1, 2})})), "[t.Op] kernel must give result 0 as i32, gave f32[2]");
  rt.Define(OpDefBuilder("t.Any").Input("x: float").Output("y: any"), MakeKernel<&Identity>());
  EXPECT_EQ(TextOf(rt.Call("t.Any", {rt.F32({1, 2})})), "f32[2] on cpu");
}

TEST(KernelTest, DI1_ResultsThatTheKernelForgets) {
  TestRuntime rt;
  DefineOp(rt, 1, 2, MakeKernel([](const Tensor& x, KernelFrame& frame) {
             frame.SetResult(0, x);
             return Status();
           }));
  const std::vector<TensorHandle> results = rt.CallN("t.Op", {rt.F32({1})}, 2);
  EXPECT_EQ(rt.Values(results[0]), std::vector<float>{1});
  EXPECT_EQ(rt.ErrorOf(results[1]), "[t.Op] kernel gave no value for result 1");
  EXPECT_EQ(rt.told(), std::vector<std::string>{"[t.Op] kernel gave no value for result 1"});
}

// What a kernel takes and gives is held against the definition before it can run.
TEST(KernelTest, DI1_KernelsThatDoNotFitTheDefinitionAreNotResolved) {
  TestRuntime rt;
  const auto error = [&rt](const OpDefBuilder& builder, Kernel kernel) {
    rt.Define(builder, std::move(kernel));
    return std::string(rt.runtime().MakeOp(builder.name(), &rt.cpu()).status().message());
  };
  const auto two_args = [](DenseArg, const Tensor&, KernelFrame&) { return Status(); };
  const auto two_results = [](KernelFrame&) -> StatusOr<std::array<Tensor, 2>> { return Internal("not run"); };
  const auto late_result = [](KernelFrame&) { return AsyncValueRef<Tensor>(); };
  EXPECT_EQ(error(OpDefBuilder("t.A").Input("x: float").Output("y: float"), MakeKernel(two_args)),
            "[t.A] kernel takes 2 arguments, the op has 1");
  EXPECT_EQ(
      error(OpDefBuilder("t.B").Input("x: N * float").Output("y: float").Attr("N: int >= 1"), MakeKernel(two_args)),
      "[t.B] kernel takes 2 arguments, the op has at least 1");
  EXPECT_EQ(
      error(OpDefBuilder("t.C").Input("x: N * float").Output("y: float").Attr("N: int >= 2"), MakeKernel(two_args)),
      "");
  EXPECT_EQ(error(OpDefBuilder("t.D").Output("y: float"), MakeKernel(two_results)),
            "[t.D] kernel gives 2 results, the op has 1");
  EXPECT_EQ(error(OpDefBuilder("t.E").SideEffects(), MakeKernel(late_result)),
            "[t.E] kernel gives 1 results, the op has 0");
  EXPECT_EQ(error(OpDefBuilder("t.F").Output("y: N * float").Attr("N: int >= 0"), MakeKernel(late_result)),
            "[t.F] kernel gives 1 results, the op has a varying number");
}

Status NoexceptKernel(KernelFrame& frame) noexcept {
  frame.SetError(0, Internal("called"));
  return Status();
}

TEST(KernelTest, DI1_NoexceptKernelsAreKernels) {
  TestRuntime rt;
  DefineOp(rt, 0, 1, MakeKernel<&NoexceptKernel>());
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Op", {})), "[t.Op] called");
  rt.Define(OpDefBuilder("t.Closure").Output("y: float"),
            MakeKernel([](KernelFrame& frame) noexcept { return NoexceptKernel(frame); }));
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Closure", {})), "[t.Closure] called");
}

// DI-2, DI-3: errors.

TEST(KernelTest, DI2_AFailedKernelEndsAllItsResults) {
  TestRuntime rt;
  DefineOp(rt, 1, 3, MakeKernel([](const Tensor& x, KernelFrame& frame) -> Status {
             frame.SetResult(0, x);
             return InvalidArgument("x is not right");
           }));
  const std::source_location site = std::source_location::current();
  const std::vector<TensorHandle> results = rt.CallN("t.Op", {rt.F32({1})}, 3, {}, nullptr, site);
  for (const TensorHandle& result : results) {
    ASSERT_TRUE(result.IsError());
    EXPECT_TRUE(result.GetError() == results[0].GetError());
    EXPECT_EQ(result.GetError().message(), "[t.Op] x is not right");
    EXPECT_EQ(result.GetError().op(), "t.Op");
    EXPECT_EQ(result.GetError().location().line, site.line());
  }
  EXPECT_EQ(rt.told().size(), 1u);
}

TEST(KernelTest, DI2_AFailedKernelWithoutResultsEndsItsChain) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Pure").Input("x: float"), MakeKernel<&test_ops::Refuse>());
  rt.Define(OpDefBuilder("t.Effect").Input("x: float").SideEffects(), MakeKernel<&test_ops::Refuse>());
  for (const std::string_view op : {"t.Pure", "t.Effect"}) {
    AsyncValueRef<Chain> now = MakeReadyChain();
    rt.CallN(op, {rt.F32({1})}, 0, {}, &now);
    Promise promise = rt.MakePromise({DType::kF32, {1}});
    AsyncValueRef<Chain> late = MakeReadyChain();
    rt.CallN(op, {promise.Handle()}, 0, {}, &late);
    promise.Resolve(rt.Filled(1, 1));
    for (const AsyncValueRef<Chain>* chain : {&now, &late}) {
      EXPECT_EQ(rt.AwaitChain(*chain).message(), TextOf("[", op, "] refused"));
    }
  }
  EXPECT_EQ(rt.told().size(), 4u);
}

TEST(KernelTest, DI3_EachResultStandsForItself) {
  TestRuntime rt;
  DefineOp(rt, 1, 3, MakeKernel([](const Tensor& x, KernelFrame& frame) {
             frame.SetResult(0, x);
             frame.SetError(1, InvalidArgument("the middle one"));
             frame.SetResult(2, x);
             return Status();
           }));
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  const std::vector<TensorHandle> late = rt.CallN("t.Op", {promise.Handle()}, 3);
  const std::vector<TensorHandle> now = rt.CallN("t.Op", {rt.F32({4})}, 3);
  promise.Resolve(rt.Filled(1, 4));
  for (const std::vector<TensorHandle>& results : {std::cref(now), std::cref(late)}) {
    EXPECT_EQ(rt.Values(results[0]), std::vector<float>{4});
    EXPECT_EQ(rt.ErrorOf(results[1]), "[t.Op] the middle one");
    EXPECT_EQ(rt.Values(results[2]), std::vector<float>{4});
  }
  EXPECT_EQ(rt.told().size(), 2u);
  EXPECT_EQ(rt.Values(rt.Call("t.Add", {late[0], now[2]})), std::vector<float>{8});
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Add", {late[1], now[2]})), "[t.Op] the middle one");
}

// DI-6: closures.

TEST(KernelTest, DI6_ClosuresAreKeptAsLongAsTheyAreNeeded) {
  auto state = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> watch = state;
  {
    TestRuntime rt;
    DefineOp(rt, 1, 1, MakeKernel([state = std::move(state)](const Tensor& x) -> StatusOr<Tensor> {
               ++*state;
               return x;
             }));
    const StatusOr<Op> op = rt.runtime().MakeOp("t.Op", &rt.cpu());
    ASSERT_TRUE(op.ok());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(rt.Call("t.Op", {rt.F32({1})}).IsConcrete());
    EXPECT_EQ(*watch.lock(), 3);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(KernelTest, DI6_OpsAreDefinedAtRunTime) {
  TestRuntime rt;
  EXPECT_EQ(rt.CodeOf(rt.Call("t.New", {rt.F32({1})})), StatusCode::kNotFound);
  for (const float factor : {2.0f, 3.0f}) {
    rt.Define(OpDefBuilder(TextOf("t.Times", factor)).Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
              MakeKernel([factor](DenseArg x, KernelFrame& frame) {
                if (float* y = frame.AllocateResult<float>(0)) *y = factor * *x.data<float>();
                return Status();
              }));
  }
  EXPECT_EQ(rt.Values(rt.Call("t.Times2", {rt.F32({5})})), std::vector<float>{10});
  EXPECT_EQ(rt.Values(rt.Call("t.Times3", {rt.F32({5})})), std::vector<float>{15});
}

TEST(KernelTest, DI6_MetadataFunctionsMayBeClosures) {
  auto times = std::make_shared<const int64_t>(3);
  const std::weak_ptr<const int64_t> watch = times;
  {
    TestRuntime rt;
    rt.Define(OpDefBuilder("t.Repeat")
                  .Input("x: float")
                  .Output("y: float")
                  .Metadata([times = std::move(times)](const TensorMetadata& x) -> StatusOr<TensorMetadata> {
                    if (x.shape.rank() != 1) return InvalidArgument("x must be a vector, got x: ", x);
                    return TensorMetadata(x.dtype, {x.shape.dim(0) * *times});
                  }),
              MakeKernel([](DenseArg x, KernelFrame& frame) {
                float* y = frame.AllocateResult<float>(0);
                for (int64_t i = 0; y != nullptr && i < frame.result_metadata(0).num_elements(); ++i) {
                  y[i] = x.data<float>()[i % x.size()];
                }
                return Status();
              }));
    EXPECT_EQ(rt.Values(rt.Call("t.Repeat", {rt.F32({1, 2})})), (std::vector<float>{1, 2, 1, 2, 1, 2}));
    EXPECT_EQ(rt.ErrorOf(rt.Call("t.Repeat", {rt.Dense<float>({}, {1})})),
              "[t.Repeat] x must be a vector, got x: f32[]");
    // Known before the argument is.
    Promise promise = rt.MakePromise({DType::kF32, {4}});
    const TensorHandle late = rt.Call("t.Repeat", {promise.Handle()});
    EXPECT_EQ(TextOf(late.metadata()), "f32[12]");
    promise.Resolve(rt.Filled(4, 5));
    EXPECT_EQ(rt.Values(late), std::vector<float>(12, 5));
    // It is checked against the definition as a function is.
    EXPECT_FALSE(rt.runtime()
                     .registry()
                     .Register(OpDefBuilder("t.Two")
                                   .Input("x: float")
                                   .Output("y: float")
                                   .Metadata([](const TensorMetadata& x, const TensorMetadata&) { return x; }))
                     .ok());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(KernelTest, DI4_KernelsFindTheirHandlerHostAndContext) {
  TestRuntime rt;
  DefineOp(rt, 1, 1, MakeKernel([&rt](const Tensor& x, KernelFrame& frame) -> StatusOr<Tensor> {
             EXPECT_EQ(&frame.handler(), &rt.cpu());
             EXPECT_EQ(&frame.host(), &rt.host());
             EXPECT_TRUE(frame.exec().location().IsKnown());
             EXPECT_TRUE(frame.CheckActive().ok());
             return x;
           }));
  EXPECT_TRUE(rt.Call("t.Op", {rt.F32({1})}).IsConcrete());
}

TEST(KernelTest, DI1_ParallelForCoversTheRangeOnce) {
  TestRuntime rt;
  DefineOp(rt, 0, 1, MakeKernel([](KernelFrame& frame) {
             std::vector<std::atomic<int>> hits(10'000);
             for (const double cost : {0.0, 1.0, 1000.0}) {
               for (std::atomic<int>& hit : hits) hit = 0;
               frame.ParallelFor(std::ssize(hits), cost, [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
               });
               for (const std::atomic<int>& hit : hits) EXPECT_EQ(hit, 1);
             }
             frame.ParallelFor(0, 1000, [](int64_t, int64_t) { ADD_FAILURE() << "there is nothing to do"; });
             return MakeOne(frame, 1);
           }));
  EXPECT_TRUE(rt.Call("t.Op", {}).IsConcrete());
}

}  // namespace
}  // namespace tandem
