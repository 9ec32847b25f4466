// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Control flow of programs: conditions, loops, and functions that call each other or are ops (PR-3).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "program_runner_test_fixture.h"

namespace tandem {
namespace {

using ProgramControlTest = ProgramRunnerTest;

constexpr std::string_view kChoice = R"(
func @double(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %y = corert.executeop(%cpu) "tf.AddV2"(%x, %x)
  tfrt.return %y : !corert.tensorhandle
}
func @negate(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %y = corert.executeop(%cpu) "tf.Neg"(%x)
  tfrt.return %y : !corert.tensorhandle
}
func @main(%c: !corert.tensorhandle, %x: !corert.tensorhandle) -> !corert.tensorhandle {
  %y = corert.cond %c @double @negate (%x)
  tfrt.return %y : !corert.tensorhandle
})";

TEST_F(ProgramControlTest, PR3_AConditionOfAnyDTypeChooses) {
  const StatusOr<ProgramRunner> runner = Make(kChoice);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const auto choose = [&](TensorHandle condition) {
    std::vector<TensorHandle> args;
    args.push_back(std::move(condition));
    args.push_back(Scalar<float>(3));
    return Values<float>(RunMany(*runner, std::move(args), 1)[0]);
  };
  EXPECT_EQ(choose(Scalar<bool>(true)), std::vector<float>{6});
  EXPECT_EQ(choose(Scalar<bool>(false)), std::vector<float>{-3});
  EXPECT_EQ(choose(Dense<int64_t>({1, 1}, {-1})), std::vector<float>{6});
  EXPECT_EQ(choose(Scalar<double>(0)), std::vector<float>{-3});
  EXPECT_EQ(choose(Scalar<Float16>(Float16(0.5f))), std::vector<float>{6});
  EXPECT_EQ(choose(Spread<float>({}, 0)), std::vector<float>{-3});
  EXPECT_EQ(choose(Strings({}, {"x"})), std::vector<float>{6});
  EXPECT_EQ(choose(Strings({}, {""})), std::vector<float>{-3});
}

TEST_F(ProgramControlTest, PR3_AConditionOfSeveralElementsIsAnError) {
  const StatusOr<ProgramRunner> runner = Make(kChoice);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const auto results = RunMany(*runner, {Dense<float>({2}, {1, 1}), Scalar<float>(3)}, 1);
  EXPECT_EQ(ErrorOf(results[0]), "[corert.cond] expected a condition of one element, got f32[2]");
  EXPECT_EQ(results[0].GetError().location().line, 13u);
}

TEST_F(ProgramControlTest, PR3_APendingConditionMakesAPendingResult) {
  const StatusOr<ProgramRunner> runner = Make(kChoice);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  PendingTensor promise = Pending({DType::kBool, {}});
  auto results = RunMany(*runner, {promise.handle, Dense<float>({2}, {3, 4})}, 1);
  EXPECT_FALSE(results[0].IsAvailable());
  EXPECT_FALSE(results[0].IsMetadataAvailable()) << "the functions may give different shapes";
  EXPECT_EQ(results[0].device(), &host().device());
  // An op that waits for it, too.
  const TensorHandle next = Run("tf.Neg", {results[0]});
  Keep(promise, Scalar<bool>(false));
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{-3, -4}));
  EXPECT_EQ(Values<float>(next), (std::vector<float>{3, 4}));
  EXPECT_EQ(host().num_pending_ops(), 0);
}

TEST_F(ProgramControlTest, PR3_AFailedConditionMakesItsResultsErrors) {
  const StatusOr<ProgramRunner> runner = Make(kChoice);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const auto now = RunMany(*runner, {TensorHandle::MakeError(InvalidArgument("bad")), Scalar<float>(3)}, 1);
  ASSERT_TRUE(now[0].IsError());
  EXPECT_EQ(now[0].GetError().detail(), "bad");
  PendingTensor promise = Pending({DType::kBool, {}});
  const auto late = RunMany(*runner, {promise.handle, Scalar<float>(3)}, 1);
  promise.producer.SetError(InvalidArgument("late"));
  ASSERT_TRUE(late[0].IsError());
  EXPECT_EQ(late[0].GetError().detail(), "late");
}

TEST_F(ProgramControlTest, PR3_ConditionsOfChains) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @yes(%ch: !tfrt.chain, %x: !corert.tensorhandle) -> (!tfrt.chain, !corert.tensorhandle) {
  %c = corert.print_tensorhandle %x, %ch
  tfrt.return %c, %x : !tfrt.chain, !corert.tensorhandle
}
func @no(%ch: !tfrt.chain, %x: !corert.tensorhandle) -> (!tfrt.chain, !corert.tensorhandle) {
  tfrt.return %ch, %x : !tfrt.chain, !corert.tensorhandle
}
func @main(%ch: !tfrt.chain, %c: !corert.tensorhandle, %x: !corert.tensorhandle) -> (!tfrt.chain, !corert.tensorhandle) {
  %r:2 = tfrt.cond %c @yes @no (%ch, %x)
  tfrt.return %r#0, %r#1 : !tfrt.chain, !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  PendingTensor promise = Pending({DType::kBool, {}});
  AsyncValueRef<Chain> chain;
  const auto results = RunMany(*runner, {promise.handle, Scalar<int32_t>(7)}, 1, &chain);
  EXPECT_FALSE(chain.IsAvailable());
  Keep(promise, Scalar<bool>(true));
  const AsyncValue* const done = chain.value();
  ASSERT_TRUE(host().Await({&done, 1}).ok());
  EXPECT_EQ(printed(), "i32[] = [7]\n");
  EXPECT_EQ(Values<int32_t>(results[0]), std::vector<int32_t>{7});
}

// Doubles x until it is at least the limit.
constexpr std::string_view kLoop = R"(
func @below(%x: !corert.tensorhandle, %limit: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %c = corert.executeop(%cpu) "tf.Less"(%x, %limit)
  tfrt.return %c : !corert.tensorhandle
}
func @double(%x: !corert.tensorhandle, %limit: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler("cpu")
  %y = corert.executeop(%cpu) "tf.AddV2"(%x, %x)
  tfrt.return %y, %limit : !corert.tensorhandle, !corert.tensorhandle
}
func @main(%x: !corert.tensorhandle, %limit: !corert.tensorhandle) -> !corert.tensorhandle {
  %r:2 = corert.while @below @double (%x, %limit) parallel_iterations(10)
  tfrt.return %r#0 : !corert.tensorhandle
})";

TEST_F(ProgramControlTest, PR3_ALoopRunsAsLongAsItsConditionHolds) {
  const StatusOr<ProgramRunner> runner = Make(kLoop);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  EXPECT_EQ(Values<float>(RunMany(*runner, {Scalar<float>(1), Scalar<float>(1000)}, 1)[0]), std::vector<float>{1024});
  EXPECT_EQ(Values<float>(RunMany(*runner, {Scalar<float>(1), Scalar<float>(0)}, 1)[0]), std::vector<float>{1});
}

TEST_F(ProgramControlTest, PR3_ALoopWhoseConditionIsPendingGoesOnLater) {
  const StatusOr<ProgramRunner> runner = Make(kLoop);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  PendingTensor promise = Pending({DType::kF32, {}});
  const auto results = RunMany(*runner, {promise.handle, Scalar<float>(100)}, 1);
  EXPECT_FALSE(results[0].IsAvailable());
  Keep(promise, Scalar<float>(3));
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>{192});
  EXPECT_EQ(host().num_pending_ops(), 0);
}

TEST_F(ProgramControlTest, CA1_APendingLoopIsCancelledWithItsHost) {
  const StatusOr<ProgramRunner> runner = Make(kLoop);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  PendingTensor promise = Pending({DType::kF32, {}});
  const auto results = RunMany(*runner, {promise.handle, Scalar<float>(100)}, 1);
  host().CancelExecution("enough");
  ASSERT_TRUE(results[0].IsError());
  EXPECT_EQ(results[0].GetError().code(), StatusCode::kCancelled);
  host().Restart();
  Keep(promise, Scalar<float>(3));
}

TEST_F(ProgramControlTest, CA3_AnEndlessLoopEndsWithItsRequest) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @always(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %c = corert.const_dense_tensor dense<true> : tensor<bool>
  tfrt.return %c : !corert.tensorhandle
}
func @same(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  tfrt.return %x : !corert.tensorhandle
}
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %y = corert.while @always @same (%x)
  tfrt.return %y : !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  RequestContext::Options options;
  options.deadline = RequestContext::Clock::now() + std::chrono::milliseconds(20);
  StatusOr<RcRef<RequestContext>> request = RequestContext::Create(host(), std::move(options));
  ASSERT_TRUE(request.ok());
  TensorHandle argument = Scalar<float>(1);
  TensorHandle result;
  runner->Run("main", ExecutionContext(host(), Location(), *request), {&argument, 1}, {&result, 1});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(ProgramControlTest, PR3_FunctionsCallEachOtherWhereverTheyStand) {
  const TensorHandle result = RunText(R"(
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %y:2 = tfrt.call @both(%x)
  %cpu = corert.get_op_handler("cpu")
  %z = corert.executeop(%cpu) "tf.Mul"(%y#0, %y#1)
  tfrt.return %z : !corert.tensorhandle
}
func @both(%x: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler("cpu")
  %n = corert.executeop(%cpu) "tf.Neg"(%x)
  tfrt.return %x, %n : !corert.tensorhandle, !corert.tensorhandle
})",
                                      {Scalar<float>(3)});
  EXPECT_EQ(Values<float>(result), std::vector<float>{-9});
}

TEST_F(ProgramControlTest, PR3_EndlessRecursionIsAnError) {
  const TensorHandle result = RunText(R"(
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %y = tfrt.call @main(%x)
  tfrt.return %y : !corert.tensorhandle
})",
                                      {Scalar<float>(3)});
  EXPECT_EQ(ErrorOf(result), "[main] expected functions nested at most 64 deep, got more");
}

TEST_F(ProgramControlTest, PR3_FunctionsAreCompositeOps) {
  constexpr std::string_view kText = R"(
func @square(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %y = corert.executeop(%cpu) "tf.Mul"(%x, %x)
  tfrt.return %y : !corert.tensorhandle
}
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %op = corert.make_composite_op @square
  %y = corert.execute_crt_op(%op) (%x) : 1
  %z = corert.execute_crt_op(%op) (%y) : 1
  tfrt.return %z : !corert.tensorhandle
})";
  EXPECT_EQ(Values<float>(RunText(kText, {Scalar<float>(3)})), std::vector<float>{81});

  // From outside; the op keeps the program.
  Op op;
  {
    const StatusOr<ProgramRunner> runner = Make(kText);
    ASSERT_TRUE(runner.ok());
    StatusOr<Op> made = runner->MakeOp("square");
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    op = *std::move(made);
  }
  TensorHandle argument = Scalar<float>(5);
  TensorHandle result;
  op(ExecutionContext(host(), Location()), {&argument, 1}, OpAttrsRef(), {&result, 1});
  EXPECT_EQ(Values<float>(result), std::vector<float>{25});
  std::vector<TensorHandle> two(2);
  op(ExecutionContext(host(), Location()), {}, OpAttrsRef(), two);
  EXPECT_EQ(ErrorOf(two[1]), "[square] expected 1 arguments and 1 results, got 0 and 2");
}

TEST_F(ProgramControlTest, PR3_RunsFromManyThreadsAtOnce) {
  const StatusOr<ProgramRunner> runner = Make(kLoop);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  constexpr int kTasks = 200;
  std::vector<TensorHandle> results(kTasks);
  std::atomic<int> done{0};
  for (int i = 0; i < kTasks; ++i) {
    host().work_queue().AddTask([&, i] {
      std::vector<TensorHandle> args;
      args.push_back(Scalar<float>(1));
      args.push_back(Scalar<float>(static_cast<float>(i)));
      runner->Run("main", ExecutionContext(host(), Location()), args, {&results[static_cast<size_t>(i)], 1});
      done.fetch_add(1);
    });
  }
  host().Quiesce();
  ASSERT_EQ(done.load(), kTasks);
  for (int i = 0; i < kTasks; ++i) {
    float expected = 1;
    while (expected < static_cast<float>(i)) expected *= 2;
    EXPECT_EQ(Values<float>(results[static_cast<size_t>(i)]), std::vector<float>{expected}) << i;
  }
}

TEST_F(ProgramControlTest, PR3_TheRuntimeMayGoWhileALoopIsPending) {
  TensorHandle result;
  Producer<Tensor> producer;
  {
    CoreRuntime other(HostContext::Options{});
    ASSERT_TRUE(RegisterAllOps(other.registry()).ok());
    ASSERT_TRUE(CreateCpuOpHandler(other).ok());
    StatusOr<RcRef<const Program>> program = Program::FromText(kLoop, "loop.mlir");
    ASSERT_TRUE(program.ok());
    const StatusOr<ProgramRunner> runner = ProgramRunner::Create(other, *std::move(program));
    ASSERT_TRUE(runner.ok());
    producer = Producer<Tensor>::MakeConstructed(TensorMetadata(DType::kF32, {}), &other.host().device());
    std::vector<TensorHandle> args;
    args.emplace_back(producer.ref(), &other.host().device());
    args.emplace_back(producer.ref(), &other.host().device());
    runner->Run("main", ExecutionContext(other.host(), Location()), args, {&result, 1});
  }
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace tandem
