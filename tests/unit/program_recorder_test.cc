// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRecorder: which calls become a program, what it computes, in which order effects happen, and what recording
// costs (PR-4).

#include "tandem/program_recorder.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program_recorder_test_fixture.h"

namespace tandem {
namespace {

using Names = std::vector<std::string>;

TEST_F(ProgramRecorderTest, PR4_AChainOfCallsReplaysWithOtherInputs) {
  const TensorHandle a = Dense<float>({2}, {1, 2});
  const TensorHandle b = Dense<float>({2}, {3, 4});
  StartWith(a, b);
  const TensorHandle sum = Call("tf.AddV2", {a, b});
  const TensorHandle product = Call("tf.Mul", {sum, a});
  EXPECT_EQ(Values<float>(product), (std::vector<float>{4, 12})) << "calls do what they do otherwise";
  const RcRef<const Program> program = Finish({product});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler cpu", "tf.AddV2", "tf.Mul", "tfrt.return"}));
  EXPECT_EQ(program->file(), "recording");
  const TensorHandle replayed = ReplayOne(program, {Dense<float>({2}, {5, 6}), Dense<float>({2}, {7, 8})});
  EXPECT_EQ(Values<float>(replayed), (std::vector<float>{60, 84}));
}

TEST_F(ProgramRecorderTest, PR4_InputsMayHaveOtherShapes) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  const RcRef<const Program> program = Finish({Call("tf.Neg", {x})});
  ASSERT_TRUE(program);
  EXPECT_EQ(Values<float>(ReplayOne(program, {Dense<float>({3}, {1, 2, 3})})), (std::vector<float>{-1, -2, -3}));
}

TEST_F(ProgramRecorderTest, PR4_Attributes) {
  const TensorHandle a = Dense<float>({2, 1}, {1, 2});
  const TensorHandle b = Dense<float>({2, 2}, {3, 4, 5, 6});
  StartWith(a, b);
  TensorHandle product;
  {
    OpAttrs attrs;  // gone before the recording ends
    ASSERT_TRUE(attrs.Set("transpose_a", true));
    product = Call("tf.MatMul", {a, b}, attrs);
  }
  const RcRef<const Program> program = Finish({product});
  ASSERT_TRUE(program);
  const TensorHandle replayed = ReplayOne(program, {Dense<float>({2, 1}, {10, 1}), Dense<float>({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(MetadataOf(replayed), "f32[1,2]");
  EXPECT_EQ(Values<float>(replayed), (std::vector<float>{13, 24}));
}

TEST_F(ProgramRecorderTest, PR4_OpsWithSeveralResultsOfWhichSomeAreUsed) {
  const TensorHandle x = Dense<int32_t>({4}, {1, 2, 3, 4});
  StartWith(x);
  const auto parts = CallN("tf.Split", {Scalar<int32_t>(0), x}, 4, Attrs("num_split", 4));
  const RcRef<const Program> program = Finish({Call("tf.Sub", {parts[3], parts[1]})});
  ASSERT_TRUE(program);
  EXPECT_EQ(Values<int32_t>(ReplayOne(program, {Dense<int32_t>({4}, {10, 20, 30, 45})})), std::vector<int32_t>{25});
}

TEST_F(ProgramRecorderTest, PR4_WhatNoOutputNeedsIsLeftOut) {
  const TensorHandle x = Dense<float>({1}, {1});
  StartWith(x);
  const TensorHandle unused = Call("tf.Exp", {x});
  Call("tf.AddV2", {unused, Dense<float>({1}, {1})});
  const TensorHandle y = Call("tf.Neg", {x});
  Call("tf.Abs", {y});
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler cpu", "tf.Neg", "tfrt.return"}));
}

TEST_F(ProgramRecorderTest, PR4_WhatTheHostDecidedStaysDecided) {
  TensorHandle x = Dense<float>({}, {3});
  StartWith(x);
  while (Values<float>(x)[0] < 20) x = Call("tf.AddV2", {x, x});  // three times
  const RcRef<const Program> program = Finish({x});
  ASSERT_TRUE(program);
  EXPECT_EQ(Values<float>(ReplayOne(program, {Dense<float>({}, {100})})), std::vector<float>{800});
}

TEST_F(ProgramRecorderTest, PR4_OutputsMayBeInputsTheSameTensorTwiceOrConstants) {
  const TensorHandle x = Dense<float>({1}, {1});
  const TensorHandle unused = Dense<float>({1}, {1});
  StartWith(unused, x);
  const TensorHandle y = Call("tf.Neg", {x});
  const RcRef<const Program> program = Finish({y, x, y, Dense<float>({1}, {7})});
  ASSERT_TRUE(program);
  const auto results = Replay(program, {Dense<float>({1}, {0}), Dense<float>({1}, {5})}, 4);
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>{-5});
  EXPECT_EQ(Values<float>(results[1]), std::vector<float>{5});
  EXPECT_EQ(Values<float>(results[2]), std::vector<float>{-5});
  EXPECT_EQ(Values<float>(results[3]), std::vector<float>{7});
}

TEST_F(ProgramRecorderTest, PR4_NothingAtAllIsAProgram) {
  Start({.function = "nothing"});
  const RcRef<const Program> program = Finish({});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"tfrt.return"}));
  EXPECT_NE(program->Find("nothing"), nullptr);
}

TEST_F(ProgramRecorderTest, PR4_CallsBeforeAndAfterAreNotRecorded) {
  Start();
  recorder_.reset();
  const TensorHandle before = Call("tf.Neg", {Dense<float>({1}, {1})});
  EXPECT_EQ(Values<float>(before), std::vector<float>{-1}) << "calls pass through";
  const TensorHandle x = Dense<float>({1}, {1});
  OpHandler* const handler = recording_;
  StartWith(x);
  EXPECT_EQ(recording_, handler) << "one handler over another one";
  EXPECT_EQ(runtime().FindHandler("record:cpu"), handler);
  const TensorHandle y = Call("tf.AddV2", {x, before});
  recorder_->Stop();
  const TensorHandle after = Call("tf.Neg", {y});
  const RcRef<const Program> program = Finish({y, after});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler cpu", "f32[1]", "tf.AddV2", "f32[1]", "tfrt.return"}));
  const auto results = Replay(program, {Dense<float>({1}, {10})}, 2);
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>{9});
  EXPECT_EQ(Values<float>(results[1]), std::vector<float>{0}) << "what it was";
}

TEST_F(ProgramRecorderTest, PR4_AnOpMadeOnceIsRecordedByEachRecorder) {
  const TensorHandle x = Dense<float>({1}, {1});
  StartWith(x);
  const StatusOr<Op> op = runtime().MakeOp("tf.Neg", recording_);
  ASSERT_TRUE(op.ok());
  for (int i = 0; i < 2; ++i) {
    StartWith(x);
    TensorHandle arg = x.CopyRef();
    TensorHandle result;
    (*op)(Exec(), {&arg, 1}, OpAttrsRef(), {&result, 1});
    const RcRef<const Program> program = Finish({result});
    ASSERT_TRUE(program);
    EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler cpu", "tf.Neg", "tfrt.return"}));
  }
}

TEST_F(ProgramRecorderTest, PR4_AProgramThatIsReplayedThroughARecorderIsRecordedAgain) {
  const TensorHandle x = Dense<float>({1}, {2});
  StartWith(x);
  const RcRef<const Program> first = Finish({Call("tf.Mul", {x, Dense<float>({1}, {3})})});
  ASSERT_TRUE(first);
  StartWith(x);
  const auto results = Replay(first, {x}, 1, nullptr, {.op_handler = recording_});
  const RcRef<const Program> second = Finish({results[0]});
  ASSERT_TRUE(second);
  EXPECT_EQ(Instructions(second), Instructions(first));
  EXPECT_EQ(Values<float>(ReplayOne(second, {Dense<float>({1}, {5})})), std::vector<float>{15});
}

TEST_F(ProgramRecorderTest, PR4_APendingInputIsNotWaitedFor) {
  Promise x = Pending({DType::kF32, {2}});
  StartWith(x.handle);
  const TensorHandle y = Call("tf.Neg", {x.handle});
  EXPECT_FALSE(y.IsAvailable());
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_FALSE(y.IsAvailable());
  EXPECT_EQ(Values<float>(ReplayOne(program, {Dense<float>({2}, {1, 2})})), (std::vector<float>{-1, -2}));
  x.Keep(Dense<float>({2}, {3, 4}));
  EXPECT_EQ(Values<float>(y), (std::vector<float>{-3, -4}));
}

TEST_F(ProgramRecorderTest, PR4_APendingConstantIsWaitedFor) {
  Start();
  const TensorHandle constant = Run("test.async.noop", {Dense<float>({1}, {2})});
  const RcRef<const Program> program = Finish({Call("tf.Neg", {constant})});
  ASSERT_TRUE(program);
  EXPECT_EQ(Values<float>(ReplayOne(program)), std::vector<float>{-2});
}

TEST_F(ProgramRecorderTest, PR4_ReadyTellsWhenFinishNeedNotWait) {
  Start();
  Promise constant = Pending({DType::kF32, {1}});
  const TensorHandle y = Call("tf.Neg", {constant.handle});
  const AsyncValueRef<Chain> ready = recorder_->Ready({&y, 1});
  EXPECT_FALSE(ready.IsAvailable());
  constant.Keep(Dense<float>({1}, {2}));
  Await(ready);
  EXPECT_TRUE(ready.IsConcrete());
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_EQ(Values<float>(ReplayOne(program)), std::vector<float>{-2});
}

TEST_F(ProgramRecorderTest, PR4_ATensorThatComesToStandForAResultIsThatResult) {
  const TensorHandle x = Dense<float>({1}, {2});
  const auto is_to_come = [&](const RcRef<IndirectAsyncValue>& value) {
    return TensorHandle(AsyncValueRef<TensorMetadata>::MakeAvailable(x.metadata()),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &host().device());
  };
  StartWith(x);
  const RcRef<IndirectAsyncValue> value = MakeRef<IndirectAsyncValue>();
  const TensorHandle result = Call("tf.Neg", {x});
  const TensorHandle y = Call("tf.Exp", {is_to_come(value)});
  value->ForwardTo(RcRef<AsyncValue>::Share(result.value().value()));
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler cpu", "tf.Neg", "tf.Exp", "tfrt.return"}));

  StartWith(x);
  const RcRef<IndirectAsyncValue> later = MakeRef<IndirectAsyncValue>();
  const TensorHandle z = Call("tf.Exp", {is_to_come(later)});
  const TensorHandle other = Call("tf.Neg", {x});
  later->ForwardTo(RcRef<AsyncValue>::Share(other.value().value()));
  EXPECT_EQ(ErrorOfFinish({z}).ToString(),
            "Unimplemented: expected arguments from calls recorded before, got one of tf.Exp that turned out to be a "
            "result of tf.Neg, which was called later");
}

TEST_F(ProgramRecorderTest, PR4_TwoThreadsRecordAtOnce) {
  const TensorHandle x = Dense<int32_t>({1}, {0});
  StartWith(x);
  TensorHandle results[2];
  const auto count = [&](size_t i) {
    TensorHandle value = x.CopyRef();
    const TensorHandle step = Dense<int32_t>({1}, {static_cast<int32_t>(i) + 1});
    for (int k = 0; k < 500; ++k) value = Call("tf.AddV2", {std::move(value), step});
    results[i] = std::move(value);
  };
  std::thread other(count, 1);
  count(0);
  other.join();
  const RcRef<const Program> program = Finish({results[0], results[1], Call("tf.Sub", {results[1], results[0]})});
  ASSERT_TRUE(program);
  const auto replayed = Replay(program, {Dense<int32_t>({1}, {7})}, 3);
  EXPECT_EQ(Values<int32_t>(replayed[0]), std::vector<int32_t>{507});
  EXPECT_EQ(Values<int32_t>(replayed[1]), std::vector<int32_t>{1007});
  EXPECT_EQ(Values<int32_t>(replayed[2]), std::vector<int32_t>{500});
}

TEST_F(ProgramRecorderTest, PR4_ALongRecordingKeepsFewTensors) {
  constexpr int kCalls = 10'000;
  constexpr size_t kBytes = 1024 * sizeof(float);
  TensorHandle x = Dense<float>({1024}, std::vector<float>(1024, 0.f));
  const TensorHandle one = Dense<float>({1024}, std::vector<float>(1024, 1.f));
  StartWith(x);
  for (int i = 0; i < kCalls; ++i) {
    x = Call("tf.AddV2", {std::move(x), one});
    if (i % 2 == 0) Call("tf.Neg", {x});
  }
  EXPECT_LT(host().allocator().stats().peak_bytes_in_use, 20 * kBytes);
  EXPECT_GE(host().allocator().stats().num_allocations, static_cast<uint64_t>(kCalls));
  const RcRef<const Program> program = Finish({x});
  ASSERT_TRUE(program);
  const TensorHandle replayed = ReplayOne(program, {Dense<float>({1024}, std::vector<float>(1024, 5.f))});
  EXPECT_EQ(Values<float>(replayed), std::vector<float>(1024, kCalls + 5.f));
}

// Calls an op; whether it is recorded is the caller's affair.
using CallOp = std::function<TensorHandle(std::string_view op, OpArgs args, const OpAttrsRef& attrs)>;

// One step of gradient descent for prediction = x w + b, by the sum of squared errors over the rows.
std::vector<TensorHandle> TrainingStep(const CallOp& call, const TensorHandle& x, const TensorHandle& y,
                                       const TensorHandle& w, const TensorHandle& b, const TensorHandle& rate,
                                       const TensorHandle& rows) {
  const OpAttrsRef none;
  const TensorHandle prediction = call("tf.AddV2", {call("tf.MatMul", {x, w}, none), b}, none);
  const TensorHandle error = call("tf.Sub", {prediction, y}, none);
  const TensorHandle w_gradient = call("tf.MatMul", {x, error}, Attrs("transpose_a", true));
  const TensorHandle b_gradient = call("tf.Sum", {error, rows}, none);
  std::vector<TensorHandle> updated;
  updated.push_back(call("tf.Sub", {w, call("tf.Mul", {w_gradient, rate}, none)}, none));
  updated.push_back(call("tf.Sub", {b, call("tf.Mul", {b_gradient, rate}, none)}, none));
  return updated;
}

// So many steps, by hand: w0, w1 and b.
std::vector<double> TrainByHand(const double (&x)[4][2], const double (&y)[4], std::vector<double> weights, int steps) {
  for (int i = 0; i < steps; ++i) {
    double gradient[3] = {};
    for (int row = 0; row < 4; ++row) {
      const double error = x[row][0] * weights[0] + x[row][1] * weights[1] + weights[2] - y[row];
      gradient[0] += x[row][0] * error;
      gradient[1] += x[row][1] * error;
      gradient[2] += error;
    }
    for (size_t k = 0; k < 3; ++k) weights[k] -= 0.1 * gradient[k];
  }
  return weights;
}

TEST_F(ProgramRecorderTest, PR4_ATrainingStepReplayedIsTheEagerOneBitForBit) {
  constexpr int kSteps = 100;
  const TensorHandle x = Dense<float>({4, 2}, {1, 0, 0, 1, 1, 1, 2, -1});
  const TensorHandle y = Dense<float>({4, 1}, {5, 0, 3, 9});
  const TensorHandle rate = Scalar<float>(0.1f);
  const TensorHandle rows = Dense<int32_t>({1}, {0});
  TensorHandle w = Dense<float>({2, 1}, {0.5f, -0.75f});
  TensorHandle b = Dense<float>({1}, {0.25f});
  StartWith(x, y, w, b);
  const CallOp record = [&](std::string_view op, OpArgs args, const OpAttrsRef& attrs) {
    return Call(op, std::move(args), attrs);
  };
  const auto once = TrainingStep(record, x, y, w, b, rate, rows);
  const RcRef<const Program> program = Finish({once[0], once[1]});
  ASSERT_TRUE(program);

  const CallOp eager = [&](std::string_view op, OpArgs args, const OpAttrsRef& attrs) {
    return Run(op, std::move(args), attrs);
  };
  TensorHandle replayed_w = w.CopyRef();
  TensorHandle replayed_b = b.CopyRef();
  for (int i = 0; i < kSteps; ++i) {
    auto eager_step = TrainingStep(eager, x, y, w, b, rate, rows);
    w = std::move(eager_step[0]);
    b = std::move(eager_step[1]);
    auto replayed = Replay(program, {x, y, replayed_w, replayed_b}, 2);
    replayed_w = std::move(replayed[0]);
    replayed_b = std::move(replayed[1]);
    ASSERT_EQ(BytesOf(replayed_w), BytesOf(w)) << "step " << i;
    ASSERT_EQ(BytesOf(replayed_b), BytesOf(b)) << "step " << i;
  }
  const std::vector<double> expected =
      TrainByHand({{1, 0}, {0, 1}, {1, 1}, {2, -1}}, {5, 0, 3, 9}, {0.5, -0.75, 0.25}, kSteps);
  EXPECT_NEAR(Values<float>(replayed_w)[0], expected[0], 1e-4);
  EXPECT_NEAR(Values<float>(replayed_w)[1], expected[1], 1e-4);
  EXPECT_NEAR(Values<float>(replayed_b)[0], expected[2], 1e-4);
}

TEST_F(ProgramRecorderTest, PR4_BackwardPassesUseWhatForwardPassesGave) {
  // The derivative of sum(relu(x)^2) by x is 2 relu(x), 0 where x is negative.
  const TensorHandle x = Dense<float>({3}, {-1, 2, 3});
  StartWith(x);
  const TensorHandle relu = Call("tf.Relu", {x});
  const TensorHandle square = Call("tf.Square", {relu});
  const TensorHandle ones = Call("tf.OnesLike", {square});
  const TensorHandle outer = Call("tf.Mul", {Call("tf.AddV2", {relu, relu}), ones});
  const TensorHandle gradient = Call("tf.ReluGrad", {outer, x});
  const RcRef<const Program> program = Finish({gradient, square});
  ASSERT_TRUE(program);
  const auto results = Replay(program, {Dense<float>({4}, {5, -6, 0.5f, -1})}, 2);
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{10, 0, 1, 0}));
  EXPECT_EQ(Values<float>(results[1]), (std::vector<float>{25, 0, 0.25f, 0}));
}

TEST_F(ProgramRecorderTest, PR4_EffectsHappenInTheOrderInWhichTheyDid) {
  Start();
  AsyncValueRef<Chain> chain = MakeReadyChain();
  AsyncValueRef<Chain> other = MakeReadyChain();
  Print("a", chain);
  Print("b", other);
  Print("c", chain);
  Await(chain);
  EXPECT_EQ(printed(), "a\nb\nc\n");
  const RcRef<const Program> program = Finish({});
  ASSERT_TRUE(program);
  const ProgramFunction& function = program->functions()[0];
  EXPECT_EQ(function.value_types[0], ProgramType::kChain);
  EXPECT_EQ(function.result_types, std::vector<ProgramType>{ProgramType::kChain});
  AsyncValueRef<Chain> replay = MakeReadyChain();
  Replay(program, {}, 0, &replay);
  Await(replay);
  EXPECT_EQ(printed(), "a\nb\nc\na\nb\nc\n");
}

TEST_F(ProgramRecorderTest, PR4_AnEffectWaitsForTheOneBeforeIt) {
  const TensorHandle text = Strings({}, {"first"});
  StartWith(text);
  AsyncValueRef<Chain> chain = MakeReadyChain();
  CallN("tf.PrintV2", {text}, 0, {}, &chain);
  Print("second", chain);
  Await(chain);
  const RcRef<const Program> program = Finish({});
  ASSERT_TRUE(program);
  Promise late = Pending({DType::kString, {}});
  AsyncValueRef<Chain> replay = MakeReadyChain();
  const std::string before = printed();
  Replay(program, {late.handle}, 0, &replay);
  EXPECT_EQ(printed(), before);
  late.Keep(Strings({}, {"late"}));
  Await(replay);
  EXPECT_EQ(printed(), before + "late\nsecond\n");
}

TEST_F(ProgramRecorderTest, PR4_APureCallThatWaitedForAnEffectWaitsForItAgain) {
  const TensorHandle x = Dense<float>({1}, {1});
  StartWith(x);
  AsyncValueRef<Chain> chain = MakeReadyChain();
  const auto before = CallN("tf.Neg", {x}, 1, {}, &chain);
  Print("a", chain);
  const auto after = CallN("tf.Exp", {before[0]}, 1, {}, &chain);
  CallN("tf.Abs", {x}, 1, {}, &chain);
  const RcRef<const Program> program = Finish({after[0]});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program),
            (Names{"corert.get_op_handler cpu", "tf.Neg", "string[]", "corert.executeop.seq tf.PrintV2",
                   "corert.executeop.seq tf.Exp", "tfrt.return"}));
}

TEST_F(ProgramRecorderTest, PR4_AChainFromElsewhereIsNotWaitedFor) {
  Start();
  Producer<Chain> outside = Producer<Chain>::Make();
  AsyncValueRef<Chain> chain = outside.ref();
  Print("a", chain);
  Print("b", chain);
  EXPECT_FALSE(chain.IsAvailable());
  const RcRef<const Program> program = Finish({});
  ASSERT_TRUE(program);
  AsyncValueRef<Chain> replay = MakeReadyChain();
  Replay(program, {}, 0, &replay);
  Await(replay);
  EXPECT_EQ(printed(), "a\nb\n");
  outside.Emplace();
  Await(chain);
}

TEST_F(ProgramRecorderTest, PR4_AnAssertionThatHeldIsCheckedAgain) {
  const TensorHandle condition = Scalar<bool>(true);
  StartWith(condition);
  AsyncValueRef<Chain> chain = MakeReadyChain();
  CallN("tf.Assert", {condition, Scalar<float>(1)}, 0, {}, &chain);
  const RcRef<const Program> program = Finish({});
  ASSERT_TRUE(program);
  AsyncValueRef<Chain> replay = MakeReadyChain();
  Replay(program, {Scalar<bool>(false)}, 0, &replay);
  const AsyncValue* const value = replay.value();
  ExpectOk(host().Await({&value, 1}));
  ASSERT_TRUE(replay.IsError());
  EXPECT_EQ(replay.GetError().op(), "tf.Assert");
}

}  // namespace
}  // namespace tandem
