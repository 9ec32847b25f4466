// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Execute: consumption of arguments, results on every path, dispatch now or later (EX-1 to EX-9, EX-13).

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "forwarding_queue.h"
#include "test_runtime.h"

namespace tandem {
namespace {

using testing::Test;

// The latch is opened by the test, so a kernel that waits for it is not done before.
TEST(ExecuteTest, EX1_ReturnsBeforeALongComputationIsDone) {
  TestRuntime rt;
  std::latch open(1);
  rt.Define(OpDefBuilder("t.Wait").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel([&open](const Tensor& x) -> StatusOr<Tensor> {
              open.wait();
              return x;
            }).WithCost(1e9f));
  const TensorHandle result = rt.Call("t.Wait", {rt.F32({7})});
  EXPECT_FALSE(result.IsAvailable());
  // The unavailable result may be passed on at once.
  const TensorHandle sum = rt.Call("t.Add", {result, rt.F32({1})});
  EXPECT_FALSE(sum.IsAvailable());
  EXPECT_EQ(TextOf(sum.metadata()), "f32[1]");
  open.count_down();
  EXPECT_EQ(rt.Values(sum), std::vector<float>{8});
}

TEST(ExecuteTest, EX1_AnyThreadMayCallTheSameHandlerAtTheSameTime) {
  TestRuntime rt;
  constexpr int kThreads = 4;
  constexpr int kCalls = 500;
  std::vector<std::thread> threads;
  std::atomic<int> num_right{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const TensorHandle sum = rt.Call(i % 2 == 0 ? "t.Add" : "t.LongAdd", {rt.F32({float(t)}), rt.F32({float(i)})});
        if (rt.Values(sum) == std::vector<float>{float(t + i)}) ++num_right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_right, kThreads * kCalls);
}

// Whatever can go wrong at the call, with what the error says.
struct Failure {
  const char* name;
  std::string error;
  void (*call)(TestRuntime& rt, std::vector<TensorHandle>& args, std::vector<TensorHandle>& results,
               AsyncValueRef<Chain>* chain);
};
void Run(TestRuntime& rt, std::string_view op, std::vector<TensorHandle>& args, std::vector<TensorHandle>& results,
         AsyncValueRef<Chain>* chain, const OpAttrsRef& attrs = {}) {
  rt.runtime().Execute(op, &rt.cpu(), Location(), args, attrs, results, chain);
}

const Failure kFailures[] = {
    {"UnknownOp", "[t.LongAd] op t.LongAd is not defined, did you mean t.LongAdd",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) { Run(rt, "t.LongAd", args, results, chain); }},
    {"NullHandler", "[t.Add] expected an op handler, got null",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       rt.runtime().Execute("t.Add", nullptr, Location(), args, OpAttrsRef(), results, chain);
     }},
    {"NoKernel", "[t.Add] op handler null has no kernel for this op",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       rt.runtime().Execute("t.Add", &rt.runtime().null_handler(), Location(), args, OpAttrsRef(), results, chain);
     }},
    {"WrongArgumentCount", "[t.Add] expected 2 arguments, got 3",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       args.push_back(rt.F32({1}));
       Run(rt, "t.Add", args, results, chain);
     }},
    {"WrongResultCount", "[t.Add] expected 1 result, got 3",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       results.resize(3);
       Run(rt, "t.Add", args, results, chain);
     }},
    {"NullArgument", "[t.Add] argument 1 (y) must be a tensor, got a null handle",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       args[1].reset();
       Run(rt, "t.Add", args, results, chain);
     }},
    {"WrongDType", "[t.Add] argument 1 (y) must be f32 like argument 0 (x), got i32[2]",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       args[1] = rt.I32({1, 2});
       Run(rt, "t.Add", args, results, chain);
     }},
    {"UnknownAttribute", "[t.Add] attribute axis is not defined, expected one of T",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       OpAttrs attrs;
       attrs.Set("axis", int64_t{1});
       Run(rt, "t.Add", args, results, chain, attrs);
     }},
    {"MetadataError", "[t.Add] shapes must agree, got x: f32[2], y: f32[3]",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       args[1] = rt.F32({1, 2, 3});
       Run(rt, "t.Add", args, results, chain);
     }},
    {"MetadataErrorOfPendingArguments", "[t.Add] shapes must agree, got x: f32[2], y: f32[3]",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       args[1] = rt.MakePromise({DType::kF32, {3}}).Handle();
       Run(rt, "t.Add", args, results, chain);
     }},
    {"Cancelled", "[t.Add] stop",
     [](TestRuntime& rt, auto& args, auto& results, auto* chain) {
       rt.host().CancelExecution("stop");
       Run(rt, "t.Add", args, results, chain);
     }},
};

class FailureTest : public testing::TestWithParam<Failure> {};
INSTANTIATE_TEST_SUITE_P(Calls, FailureTest, testing::ValuesIn(kFailures),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(FailureTest, EX2_EX3_ConsumesArgumentsAndGivesOneError) {
  TestRuntime rt;
  for (const bool with_chain : {false, true}) {
    rt.host().Restart();
    std::vector<TensorHandle> args;
    args.push_back(rt.F32({1, 2}));
    args.push_back(rt.F32({3, 4}));
    std::vector<TensorHandle> results(1);
    AsyncValueRef<Chain> chain = MakeReadyChain();
    const size_t told_before = rt.told().size();
    GetParam().call(rt, args, results, with_chain ? &chain : nullptr);
    for (const TensorHandle& arg : args) EXPECT_FALSE(arg.IsValid());
    for (const TensorHandle& result : results) {
      ASSERT_TRUE(result.IsValid());
      ASSERT_TRUE(result.IsError());
      EXPECT_EQ(result.GetError().message(), GetParam().error);
      EXPECT_EQ(result.value().value(), results[0].value().value()) << "one and the same error";
    }
    EXPECT_EQ(chain.IsError(), with_chain);
    if (with_chain) {
      EXPECT_TRUE(chain.GetError() == results[0].GetError());
    }
    std::vector<std::string> told = rt.told();
    told.erase(told.begin(), told.begin() + static_cast<ptrdiff_t>(told_before));
    std::erase(told, "stop");  // the cancellation itself is an error of its own
    EXPECT_EQ(told, std::vector<std::string>{GetParam().error});
  }
}

TEST(ExecuteTest, EX2_SuccessConsumesArgumentsButNotCopies) {
  TestRuntime rt;
  const TensorHandle kept = rt.F32({1, 2});
  TensorHandle args[2] = {kept.CopyRef(), kept.CopyRef()};
  TensorHandle results[1];
  rt.runtime().Execute("t.Add", &rt.cpu(), Location(), args, OpAttrsRef(), results);
  EXPECT_FALSE(args[0].IsValid());
  EXPECT_FALSE(args[1].IsValid());
  EXPECT_EQ(rt.Values(kept), (std::vector<float>{1, 2}));
  EXPECT_EQ(rt.Values(results[0]), (std::vector<float>{2, 4}));
}

TEST(ExecuteTest, EX2_ArgumentsInErrorAreConsumed) {
  TestRuntime rt;
  TensorHandle args[2] = {TensorHandle::MakeError(Internal("broken")), rt.F32({1})};
  TensorHandle results[1];
  rt.runtime().Execute("t.Add", &rt.cpu(), Location(), args, OpAttrsRef(), results);
  EXPECT_FALSE(args[0].IsValid());
  EXPECT_FALSE(args[1].IsValid());
  ASSERT_TRUE(results[0].IsError());
  EXPECT_EQ(results[0].GetError().message(), "broken");
}

TEST(ExecuteTest, EX3_ResultsThatHeldSomethingAreReplaced) {
  TestRuntime rt;
  TensorHandle args[2] = {rt.F32({1}), rt.F32({2})};
  TensorHandle results[1] = {rt.F32({5, 5, 5})};
  rt.runtime().Execute("t.Add", &rt.cpu(), Location(), args, OpAttrsRef(), results);
  EXPECT_EQ(rt.Values(results[0]), std::vector<float>{3});
}

TEST(ExecuteTest, EX6_NoResultAndNoChain) {
  TestRuntime rt;
  TensorHandle args[2] = {rt.F32({1}), rt.F32({2})};
  rt.runtime().Execute("t.Add", &rt.cpu(), Location(), args, OpAttrsRef(), {});
  EXPECT_FALSE(args[0].IsValid());
  EXPECT_EQ(rt.told(), std::vector<std::string>{"[t.Add] expected a result or a chain, got neither"});
  EXPECT_EQ(rt.told_errors()[0].code(), StatusCode::kInvalidArgument);
}

TEST(ExecuteTest, EX7_AvailableArgumentsRunOnTheCallingThreadWithAttributesUnfrozen) {
  TestRuntime rt;
  std::thread::id ran_on;
  bool frozen = true;
  rt.Define(OpDefBuilder("t.Where").Input("x: float").Output("y: float").Attr("a: int = 0").Metadata<&test_ops::Same>(),
            MakeKernel([&](const Tensor& x, const OpAttrsRef& attrs) -> StatusOr<Tensor> {
              ran_on = std::this_thread::get_id();
              frozen = attrs.IsFrozen();
              return x;
            }));
  OpAttrs attrs;
  attrs.Set("a", int64_t{3});
  const TensorHandle result = rt.Call("t.Where", {rt.F32({1})}, attrs);
  EXPECT_TRUE(result.IsConcrete());
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_FALSE(frozen);
}

TEST(ExecuteTest, EX7_NoIndirectValueIsMade) {
  TestRuntime rt;
  const int64_t before = AsyncValue::NumLive();
  const TensorHandle result = rt.Call("t.Add", {rt.F32({1}), rt.F32({2})});
  if (AsyncValue::CountsLive()) {
    EXPECT_EQ(AsyncValue::NumLive() - before, 1);
  }
  EXPECT_EQ(result.value().value()->Resolved(), result.value().value());
}

TEST(ExecuteTest, EX7_CostDecidesWhereWorkRuns) {
  HostContext::Options options = TestRuntime::WithWorkers(1);
  options.inline_cost_limit = 100;
  TestRuntime rt(std::move(options));
  std::thread::id ran_on;
  const auto kernel = [&ran_on](const Tensor& x) -> StatusOr<Tensor> {
    ran_on = std::this_thread::get_id();
    return x;
  };
  rt.Define(OpDefBuilder("t.Linear").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel(kernel).WithCost(1.0f));
  rt.Define(OpDefBuilder("t.Estimated").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel(kernel).WithCost(
                CostModel{0, [](std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
                            return args[0]->num_elements() + results[0].num_elements() > 10 ? 101.0 : 100.0;
                          }}));
  const auto runs_here = [&](std::string_view op, int64_t size) {
    static_cast<void>(rt.Values(rt.Call(op, {TensorHandle::MakeAvailable(rt.Filled(size, 1))})));
    return ran_on == std::this_thread::get_id();
  };
  EXPECT_TRUE(runs_here("t.Linear", 50));  // 50 in, 50 out
  EXPECT_FALSE(runs_here("t.Linear", 51));
  EXPECT_TRUE(runs_here("t.Estimated", 5));
  EXPECT_FALSE(runs_here("t.Estimated", 6));
}

TEST(ExecuteTest, EX7_WithAThreadToShareItWithTwiceAsMuchRunsHere) {
  HostContext::Options options;
  options.inline_cost_limit = 100;
  auto queue = std::make_unique<HelpedQueue>();
  HelpedQueue& helped = *queue;
  options.work_queue = std::move(queue);
  TestRuntime rt(std::move(options));
  rt.Define(OpDefBuilder("t.Linear").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel([](const Tensor& x) -> StatusOr<Tensor> { return x; }).WithCost(1.0f));
  const auto runs_here = [&](int64_t size) {
    return rt.Call("t.Linear", {TensorHandle::MakeAvailable(rt.Filled(size, 1))}).IsAvailable();
  };
  EXPECT_TRUE(runs_here(50));  // 50 in, 50 out
  EXPECT_FALSE(runs_here(51));
  helped.set_helper_ready(true);
  EXPECT_TRUE(runs_here(51));
  EXPECT_TRUE(runs_here(100));
  EXPECT_FALSE(runs_here(101));
  helped.set_may_block(false);
  EXPECT_FALSE(runs_here(51));
  helped.set_may_block(true);
}

// A shape so large that it is only possible for scalar host tensors must not upset the sum of the elements.
TEST(ExecuteTest, EX7_CostOfHugeScalarTensorsDoesNotOverflow) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Count").Input("x: N * float").Output("n: float").Attr("N: int >= 0"),
            MakeKernel([](KernelFrame& frame) -> StatusOr<Tensor> {
              const float n = static_cast<float>(frame.num_args());
              return MakeScalar({DType::kF32, {}}, &n, frame.host().device());
            }));
  Args args;
  for (int i = 0; i < 20; ++i) args.Add(rt.Spread({PTRDIFF_MAX / 16}, 1));
  EXPECT_TRUE(rt.host().Await(rt.Call("t.Count", std::move(args))).ok());
}

TEST(ExecuteTest, EX8_PendingArgumentsFreezeAttributesAndMoveReferences) {
  TestRuntime rt;
  bool frozen = false;
  int64_t a = 0;
  rt.Define(OpDefBuilder("t.Late").Input("x: float").Output("y: float").Attr("a: int = 0").Metadata<&test_ops::Same>(),
            MakeKernel([&](const Tensor& x, const OpAttrsRef& attrs) -> StatusOr<Tensor> {
              frozen = attrs.IsFrozen();
              attrs.Get("a", &a);
              return x;
            }));
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  TensorHandle result;
  {
    OpAttrs attrs;
    attrs.Set("a", int64_t{3});
    result = rt.Call("t.Late", {promise.Handle()}, attrs);
    attrs.Set("b", int64_t{4});
  }
  EXPECT_FALSE(result.IsAvailable());
  EXPECT_EQ(TextOf(result.metadata()), "f32[1]") << "known at once";
  promise.Resolve(rt.Filled(1, 5));
  EXPECT_TRUE(result.IsConcrete()) << "dispatched on the thread that resolved the last input";
  EXPECT_TRUE(frozen);
  EXPECT_EQ(a, 3);
}

TEST(ExecuteTest, EX8_DispatchedWhenTheLastInputResolvesInWhateverOrder) {
  for (const bool forward : {true, false}) {
    TestRuntime rt;
    Promise x = rt.MakePromise({DType::kF32, {1}});
    Promise y = rt.MakePromise({DType::kF32, {1}});
    const TensorHandle sum = rt.Call("t.Add", {x.Handle(), y.Handle()});
    Promise& first = forward ? x : y;
    Promise& second = forward ? y : x;
    first.Resolve(rt.Filled(1, 1));
    EXPECT_FALSE(sum.IsAvailable());
    second.Resolve(rt.Filled(1, 2));
    EXPECT_EQ(rt.Values(sum), std::vector<float>{3});
  }
}

TEST(ExecuteTest, EX8_SameHandleTwicePending) {
  TestRuntime rt;
  Promise x = rt.MakePromise({DType::kF32, {1}});
  const TensorHandle sum = rt.Call("t.Add", {x.Handle(), x.Handle()});
  x.Resolve(rt.Filled(1, 4));
  EXPECT_EQ(rt.Values(sum), std::vector<float>{8});
}

TEST(ExecuteTest, EX9_MadeOpObeysTheSameRules) {
  TestRuntime rt;
  const StatusOr<Op> made = rt.runtime().MakeOp("t.Add", &rt.cpu());
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(made->name(), "t.Add");
  const Op copy = *made;
  const ExecutionContext exec(rt.host(), Location::Current());
  {
    TensorHandle args[2] = {rt.F32({1}), rt.F32({2})};
    TensorHandle results[1];
    copy(exec, args, OpAttrsRef(), results);
    EXPECT_FALSE(args[0].IsValid());
    EXPECT_EQ(rt.Values(results[0]), std::vector<float>{3});
  }
  {
    TensorHandle args[2] = {rt.F32({1}), rt.F32({2, 3})};
    TensorHandle results[1];
    AsyncValueRef<Chain> chain = MakeReadyChain();
    copy(exec, args, OpAttrsRef(), results, &chain);
    EXPECT_FALSE(args[1].IsValid());
    ASSERT_TRUE(results[0].IsError());
    EXPECT_EQ(results[0].GetError().message(), "[t.Add] shapes must agree, got x: f32[1], y: f32[2]");
    EXPECT_TRUE(chain.IsError());
    EXPECT_EQ(rt.told().size(), 1u);
  }
}

TEST(ExecuteTest, EX9_MadeOpIsCalledFromManyThreads) {
  TestRuntime rt;
  const StatusOr<Op> made = rt.runtime().MakeOp("t.Add", &rt.cpu());
  ASSERT_TRUE(made.ok());
  std::vector<std::thread> threads;
  std::atomic<int> num_right{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, op = *made] {
      for (int i = 0; i < 300; ++i) {
        TensorHandle args[2] = {rt.F32({1}), rt.F32({float(i)})};
        TensorHandle results[1];
        op(ExecutionContext(rt.host(), Location()), args, OpAttrsRef(), results);
        if (rt.Values(results[0]) == std::vector<float>{float(i + 1)}) ++num_right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_right, 900);
}

TEST(ExecuteTest, EX9_MakeOpFailsLikeExecute) {
  TestRuntime rt;
  EXPECT_EQ(rt.runtime().MakeOp("t.LongAd", &rt.cpu()).status().message(),
            "[t.LongAd] op t.LongAd is not defined, did you mean t.LongAdd");
  EXPECT_EQ(rt.runtime().MakeOp("t.Add", nullptr).status().message(), "[t.Add] expected an op handler, got null");
  EXPECT_EQ(rt.runtime().MakeOp("t.Add", &rt.runtime().null_handler()).status().message(),
            "[t.Add] op handler null has no kernel for this op");
}

// A second device, whose handler has no kernels.
class OtherDevice {
 public:
  explicit OtherDevice(TestRuntime& rt) : device_("gpu:0", kType) {
    auto handler = std::make_unique<KernelOpHandler>("gpu", rt.runtime(), nullptr, device_, KernelOpHandler::Policy());
    handler_ = handler.get();
    rt.runtime().AddHandler(std::move(handler));
  }
  TensorHandle Tensor(const TensorMetadata& metadata) {
    tandem::Tensor tensor(metadata, &device_);
    std::memset(tensor.UseInlineData(kType), 0, tandem::Tensor::kInlineBytes);
    return TensorHandle::MakeAvailable(std::move(tensor));
  }

 private:
  static constexpr TensorType kType{"dense_gpu"};
  Device device_;
  KernelOpHandler* handler_;
};

TEST(ExecuteTest, EX13_ArgumentsOnAnotherDeviceAreAnErrorThatNamesBoth) {
  TestRuntime rt;
  OtherDevice gpu(rt);
  const TensorHandle result = rt.Call("t.Add", {rt.F32({1}), gpu.Tensor({DType::kF32, {1}})});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(result.GetError().message(),
            "[t.Add] argument 1 (y) must be on device cpu, got a tensor on gpu:0; transfer it first");
}

TEST(ExecuteTest, EX13_PendingArgumentsOnAnotherDeviceAreAnErrorAtOnce) {
  TestRuntime rt;
  OtherDevice gpu(rt);
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  Promise foreign = rt.MakePromise();
  foreign.device = gpu.Tensor({DType::kF32, {}}).device();
  const TensorHandle result = rt.Call("t.Add", {promise.Handle(), foreign.Handle()});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().message(),
            "[t.Add] argument 1 (y) must be on device cpu, got a tensor on gpu:0; transfer it first");
}

TEST(ExecuteTest, EX13_TensorsWithoutADeviceAreAnError) {
  TestRuntime rt;
  tandem::Tensor tensor({DType::kF32, {1}}, nullptr);
  std::memset(tensor.UseInlineData(kDenseHost), 0, tandem::Tensor::kInlineBytes);
  const TensorHandle result = rt.Call("t.Add", {TensorHandle::MakeAvailable(std::move(tensor)), rt.F32({1})});
  EXPECT_EQ(rt.ErrorOf(result),
            "[t.Add] argument 0 (x) must be on device cpu, got a tensor on no device; transfer it first");
}

}  // namespace
}  // namespace tandem
