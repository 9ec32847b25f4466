// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRecorder: calls that fail, and what cannot be recorded (PR-4).

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "program_recorder_test_fixture.h"
#include "tandem/logging_op_handler.h"

namespace tandem {
namespace {

using Names = std::vector<std::string>;

TEST_F(ProgramRecorderTest, PR4_AnOutputThatIsAnErrorIsTheCauseOfOne) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  const TensorHandle bad = Call("tf.AddV2", {x, Dense<float>({3}, {1, 2, 3})});
  const TensorHandle after = Call("tf.Neg", {bad});
  const Status error = ErrorOfFinish({x, after});
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error.message(), "expected output 1 to be a tensor, got an error");
  EXPECT_TRUE(error.cause() == bad.GetError()) << error.ToString();
}

TEST_F(ProgramRecorderTest, PR4_AnErrorThatComesLaterIsWaitedFor) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  host().set_inline_cost_limit(-1);  // every kernel runs in the work queue
  const TensorHandle later = Call("tf.Neg", {Call("test.error.tensor", {x})});
  EXPECT_EQ(ErrorOfFinish({later}).message(), "expected output 0 to be a tensor, got an error");
}

TEST_F(ProgramRecorderTest, PR4_FailedCallsThatNobodyNeedsAreLeftOut) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  AsyncValueRef<Chain> chain = MakeReadyChain();
  AsyncValueRef<Chain> failing = MakeReadyChain();
  Call("tf.AddV2", {x, Dense<float>({3}, {1, 2, 3})});
  Call("tf.NoSuchOp", {x});
  CallN("tf.Neg", {TensorHandle()}, 1);
  Print("a", chain);
  CallN("tf.PrintV2", {x}, 0, {}, &failing);  // not a string
  EXPECT_TRUE(failing.IsError());
  Print("skipped", failing);
  Print("b", chain);
  const TensorHandle y = Call("tf.Neg", {x});
  const RcRef<const Program> program = Finish({y});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler cpu", "string[]", "corert.executeop.seq tf.PrintV2",
                                          "string[]", "corert.executeop.seq tf.PrintV2", "tf.Neg", "tfrt.return"}));
  AsyncValueRef<Chain> replay = MakeReadyChain();
  const std::string before = printed();
  const auto results = Replay(program, {Dense<float>({1}, {3})}, 1, &replay);
  Await(replay);
  EXPECT_EQ(printed(), before + "a\nb\n");
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>{-3});
}

TEST_F(ProgramRecorderTest, PR4_AnEffectThatFailedLaterIsLeftOut) {
  Start();
  Promise condition = Pending({DType::kBool, {}});
  AsyncValueRef<Chain> chain = MakeReadyChain();
  CallN("tf.Assert", {condition.handle, Scalar<float>(1)}, 0, {}, &chain);
  EXPECT_FALSE(chain.IsAvailable());
  condition.Keep(Scalar<bool>(false));
  const RcRef<const Program> program = Finish({});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"tfrt.return"}));
}

TEST_F(ProgramRecorderTest, PR4_AResultOfACallOfWhichAnotherFailed) {
  const TensorHandle x = Dense<float>({1}, {1});
  StartWith(x);
  const auto results = CallN("test.error.tensor", {x}, 3, Attrs("num_values", 2));
  ASSERT_TRUE(results[2].IsError());
  const RcRef<const Program> program = Finish({results[1]});
  ASSERT_TRUE(program);
  EXPECT_EQ(Values<float>(ReplayOne(program, {Dense<float>({1}, {9})})), std::vector<float>{9});
}

TEST_F(ProgramRecorderTest, PR4_FinishMayBeCalledAgain) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  StartWith(x);
  const TensorHandle y = Call("tf.Neg", {x});
  const TensorHandle z = Call("tf.Abs", {y});
  EXPECT_EQ(ErrorOfFinish({TensorHandle()}).message(), "expected output 0 to be a tensor, got a null handle");
  EXPECT_EQ(Instructions(Finish({y})), (Names{"corert.get_op_handler cpu", "tf.Neg", "tfrt.return"}));
  EXPECT_EQ(Instructions(Finish({z})), (Names{"corert.get_op_handler cpu", "tf.Neg", "tf.Abs", "tfrt.return"}));
}

TEST_F(ProgramRecorderTest, PR4_OneRecorderARuntimeAtATime) {
  Start();
  const StatusOr<RcRef<ProgramRecorder>> second = ProgramRecorder::Start(runtime());
  EXPECT_EQ(second.status().ToString(),
            "FailedPrecondition: expected no recording of this runtime in progress, got one that has not stopped");
  recorder_->Stop();
  EXPECT_TRUE(ProgramRecorder::Start(runtime()).ok());
  CoreRuntime other((HostContext::Options()));
  const StatusOr<OpHandler*> foreign = recorder_->HandlerOver(other.null_handler());
  EXPECT_EQ(foreign.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ProgramRecorderTest, PR4_InputsAreCheckedFirst) {
  const TensorHandle x = Dense<float>({1}, {1});
  const TensorHandle constant = Dense<float>({1}, {1});
  StartWith(x);
  const TensorHandle y = Call("tf.AddV2", {x, constant});
  EXPECT_EQ(recorder_->AddInput(TensorHandle()).message(), "expected a tensor as an input, got a null handle");
  EXPECT_EQ(recorder_->AddInput(x).message(), "expected a tensor that is no input yet, got input 0");
  EXPECT_EQ(recorder_->AddInput(constant).message(),
            "expected an input before it is used, got a tensor that a recorded call took");
  EXPECT_EQ(recorder_->AddInput(y).message(),
            "expected an input before it is used, got a tensor that a recorded call gave");
  const TensorHandle bad = Run("tf.Neg", {TensorHandle::MakeError(InvalidArgument("bad"))});
  EXPECT_EQ(recorder_->AddInput(bad).message(), "expected a tensor as an input, got an error");
  recorder_->Stop();
  EXPECT_EQ(recorder_->AddInput(Dense<float>({1}, {1})).code(), StatusCode::kFailedPrecondition);
}

TEST_F(ProgramRecorderTest, PR4_CallsAreRecordedOnce) {
  Start();
  EXPECT_EQ(*recorder_->HandlerOver(*recording_), recording_);
  OpHandler* const logging =
      runtime().AddHandler(CreateLoggingOpHandler("logging", runtime(), *recording_, LoggingOptions()));
  EXPECT_EQ(recorder_->HandlerOver(*logging).status().message(),
            "expected an op handler whose calls are not recorded, got logging over record:cpu");
  // Over one that logs is fine, and what it is called by.
  OpHandler* const below = runtime().AddHandler(CreateLoggingOpHandler("below", runtime(), *cpu(), LoggingOptions()));
  const StatusOr<OpHandler*> above = recorder_->HandlerOver(*below);
  ASSERT_TRUE(above.ok());
  recording_ = *above;
  const RcRef<const Program> program = Finish({Call("tf.Neg", {Dense<float>({1}, {1})})});
  ASSERT_TRUE(program);
  EXPECT_EQ(Instructions(program), (Names{"corert.get_op_handler below", "f32[1]", "tf.Neg", "tfrt.return"}));
}

TEST_F(ProgramRecorderTest, PR4_RunningOutOfMemoryLetsCallsGoOn) {
  const TensorHandle x = Dense<float>({2}, {1, 2});
  const TensorHandle constant = Dense<float>({2}, {3, 4});
  const OpAttrsRef attrs = Attrs("T", DType::kF32);
  int num_exhausted = 0;
  // How many calls come before decides which tables have to grow.
  for (const int num_before : {0, 1, 2, 3, 4, 7, 8, 15, 16}) {
    FailEachAllocation([&] {
      const int64_t allowed = std::exchange(thread_heap.allowed, -1);
      StartWith(x);
      std::vector<TensorHandle> results(1);
      std::vector<TensorHandle> kept;
      for (int i = 0; i < num_before; ++i) kept.push_back(Call("tf.Neg", {x}));
      Run("tf.AddV2", {x, constant}, attrs);
      OpArgs args = {x, constant};
      thread_heap.allowed = allowed;
      runtime().Execute("tf.AddV2", recording_, Location(), args.span(), attrs, results);
      thread_heap.allowed = -1;
      ASSERT_TRUE(results[0].IsValid());
      const StatusOr<RcRef<const Program>> program = recorder_->Finish(results);
      if (program.ok()) {
        EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{4, 6}));
        EXPECT_EQ(Values<float>(ReplayOne(*program, {Dense<float>({2}, {5, 6})})), (std::vector<float>{8, 10}));
      } else {
        ++num_exhausted;
        EXPECT_EQ(program.status().code(), StatusCode::kResourceExhausted) << program.status().ToString();
      }
    });
  }
  EXPECT_GE(num_exhausted, 9 * 4) << "the attributes, what hears of transfers, a table, the result";
}

}  // namespace
}  // namespace tandem
