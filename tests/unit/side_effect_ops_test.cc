// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PrintV2 and Assert: what they do, and how their chains order and carry errors.

#include "op_test_fixture.h"

namespace tandem {
namespace {

class SideEffectOpsTest : public OpTest {
 protected:
  // Calls an op that has no results; its chain replaces `chain`.
  void RunOn(AsyncValueRef<Chain>& chain, std::string_view op, OpArgs args, const OpAttrsRef& attrs = {}) {
    RunN(op, std::move(args), 0, attrs, &chain);
  }
  // Once the chain has resolved: its error's text, or nothing.
  std::string ErrorOfChain(const AsyncValueRef<Chain>& chain) {
    const AsyncValue* value = chain.value();
    const Status waited = host().Await({&value, 1});
    EXPECT_TRUE(waited.ok()) << waited.ToString();
    return chain.IsError() ? std::string(chain.GetError().message()) : "";
  }
};

TEST_F(SideEffectOpsTest, PrintEndsTheLine) {
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.PrintV2", {Strings({}, {"one"})});
  RunOn(chain, "tf.PrintV2", {Strings({}, {"two"})}, Attrs("output_stream", "log(info)"));
  EXPECT_EQ(ErrorOfChain(chain), "");
  EXPECT_EQ(printed(), "one\ntwo\n");
}

TEST_F(SideEffectOpsTest, PrintEndsAsTold) {
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.PrintV2", {Strings({}, {"one"})}, Attrs("end", ", "));
  RunOn(chain, "tf.PrintV2", {Strings({}, {""})}, Attrs("end", ""));
  EXPECT_EQ(ErrorOfChain(chain), "");
  EXPECT_EQ(printed(), "one, ");
}

TEST_F(SideEffectOpsTest, LongTextIsPrintedWhole) {
  const std::string text(100'000, 'x');
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.PrintV2", {Strings({}, {text})});
  EXPECT_EQ(ErrorOfChain(chain), "");
  EXPECT_EQ(printed(), text + "\n");
}

TEST_F(SideEffectOpsTest, PrintWaitsForItsChain) {  // CH-2, CH-3
  auto before = MakeUnconstructed<Chain>();
  AsyncValueRef<Chain> chain{RcRef<AsyncValue>(before)};
  RunOn(chain, "tf.PrintV2", {Strings({}, {"late"})});
  EXPECT_EQ(printed(), "");
  EXPECT_FALSE(chain.IsAvailable());
  before->Emplace();
  EXPECT_EQ(ErrorOfChain(chain), "");
  EXPECT_EQ(printed(), "late\n");
}

TEST_F(SideEffectOpsTest, AnErrorInTheChainSkipsThePrint) {  // CH-4
  auto chain = AsyncValueRef<Chain>::MakeError(InvalidArgument("broken"));
  RunOn(chain, "tf.PrintV2", {Strings({}, {"never"})});
  EXPECT_EQ(ErrorOfChain(chain), "broken");
  EXPECT_EQ(printed(), "");
}

TEST_F(SideEffectOpsTest, AChainIsRequired) {  // CH-2
  TensorHandle args[] = {Strings({}, {"text"})};
  runtime().Execute("tf.PrintV2", cpu(), Location(), args, {}, {});
  EXPECT_FALSE(args[0].IsValid());
  ASSERT_EQ(diagnostics().size(), 1u);
  EXPECT_EQ(diagnostics()[0].message(), "[tf.PrintV2] an op with side effects must be given a chain, got none");
}

TEST_F(SideEffectOpsTest, WrongPrints) {  // MD-2, ER-2
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.PrintV2", {Strings({2}, {"a", "b"})});
  EXPECT_EQ(ErrorOfChain(chain), "[tf.PrintV2] input must be a scalar, got input: string[2]");
  chain = MakeReadyChain();
  RunOn(chain, "tf.PrintV2", {Scalar<float>(1)});
  EXPECT_EQ(ErrorOfChain(chain), "[tf.PrintV2] argument 0 (input) must be string, got f32[]");
  chain = MakeReadyChain();
  RunOn(chain, "tf.PrintV2", {Strings({}, {"a"})}, Attrs("output_stream", "file:///tmp/x"));
  EXPECT_EQ(ErrorOfChain(chain),
            "[tf.PrintV2] attribute output_stream must be one of 'stdout', 'stderr', 'log(info)', 'log(warning)', "
            "'log(error)', got 'file:///tmp/x'");
  EXPECT_EQ(printed(), "");
}

TEST_F(SideEffectOpsTest, TrueAssertionPasses) {
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.Assert", {Scalar<bool>(true), Scalar<float>(1)});
  RunOn(chain, "tf.Assert", {Spread<bool>({}, true)});
  EXPECT_EQ(ErrorOfChain(chain), "");
  EXPECT_TRUE(diagnostics().empty());
}

TEST_F(SideEffectOpsTest, FalseAssertionShowsItsData) {
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.Assert",
        {Scalar<bool>(false), Dense<float>({4}, {1, 2, 3, 4}), Strings({}, {"text"}), Spread<int32_t>({2}, 7)});
  EXPECT_EQ(ErrorOfChain(chain),
            "[tf.Assert] assertion failed, got f32[4] = [1, 2, 3, ...]; string[] = [\"text\"]; i32[2] = all 7");
  EXPECT_EQ(chain.GetError().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(diagnostics().size(), 1u);  // ER-4
}

TEST_F(SideEffectOpsTest, AssertionSummarizes) {
  const TensorHandle data = Dense<int32_t>({4}, {1, 2, 3, 4});
  const auto error = [&](int summarize) {
    AsyncValueRef<Chain> chain = MakeReadyChain();
    RunOn(chain, "tf.Assert", {Scalar<bool>(false), data}, Attrs("summarize", summarize));
    return ErrorOfChain(chain);
  };
  EXPECT_EQ(error(1), "[tf.Assert] assertion failed, got i32[4] = [1, ...]");
  EXPECT_EQ(error(-1), "[tf.Assert] assertion failed, got i32[4] = [1, 2, 3, 4]");
}

TEST_F(SideEffectOpsTest, AFailedAssertionStopsWhatFollowsOnItsChain) {  // CH-4
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.Assert", {Scalar<bool>(false)});
  RunOn(chain, "tf.PrintV2", {Strings({}, {"never"})});
  EXPECT_EQ(ErrorOfChain(chain), "[tf.Assert] assertion failed");
  EXPECT_EQ(printed(), "");
  EXPECT_EQ(diagnostics().size(), 1u);
}

TEST_F(SideEffectOpsTest, WrongAssertions) {  // MD-2, ER-2
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunOn(chain, "tf.Assert", {Dense<bool>({1}, {true})});
  EXPECT_EQ(ErrorOfChain(chain), "[tf.Assert] condition must be a scalar, got condition: bool[1]");
  chain = MakeReadyChain();
  RunOn(chain, "tf.Assert", {Scalar<int32_t>(1)});
  EXPECT_EQ(ErrorOfChain(chain), "[tf.Assert] argument 0 (condition) must be bool, got i32[]");
}

}  // namespace
}  // namespace tandem
