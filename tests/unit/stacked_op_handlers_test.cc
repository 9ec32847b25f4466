// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Texts of op handlers over others: which stacks they make, under which names, and what is said of wrong ones (OH-4,
// OH-5).

#include "tandem/stacked_op_handlers.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <utility>

#include "op_layer_test_fixture.h"

namespace tandem {
namespace {

Status WrongNegKernel(DenseArg x, KernelFrame& frame) {
  auto* y = frame.AllocateResult<float>(0);
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = x.data<float>()[i];
  return Status();
}

class StackedOpHandlersTest : public OpLayerTest {
 protected:
  StackedOpHandlersTest() : other_(AddHostHandler("other", cpu())) {
    AddKernel(*other_, "tf.Neg", MakeKernel<&WrongNegKernel>(), {DType::kF32});
    options_.profile = profile_;
    options_.logging.sink = [this](std::string_view line) { lines_.emplace_back(line); };
    options_.shadow.sink = [this](const ShadowDivergence& divergence) { diverged_.emplace_back(divergence.op); };
    options_.shadow.max_reports = 100;
  }

  OpHandler* Get(std::string_view text) {
    const StatusOr<OpHandler*> handler = GetOrMakeOpHandler(runtime(), text, options_);
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    return handler.ok() ? *handler : nullptr;
  }
  std::string ErrorOfText(std::string_view text) {
    const StatusOr<OpHandler*> handler = GetOrMakeOpHandler(runtime(), text, options_);
    EXPECT_FALSE(handler.ok()) << text;
    return handler.status().ToString();
  }
  std::string Chain(const OpHandler* handler) {
    std::string names;
    for (; handler != nullptr && handler->fallback() != nullptr; handler = handler->fallback()) {
      names += (names.empty() ? "" : " over ") + handler->name();
    }
    return names;
  }

  KernelOpHandler* const other_;
  const RcRef<Profile> profile_ = MakeRef<Profile>();
  StackedOpHandlerOptions options_;
  std::vector<std::string> lines_;
  std::vector<std::string> diverged_;
};

TEST_F(StackedOpHandlersTest, OH5_APlainNameIsTheHandlerItself) {
  EXPECT_EQ(Get("cpu"), cpu());
  EXPECT_EQ(Get("(cpu)"), cpu());
  EXPECT_EQ(Get("((other))"), other_);
}

TEST_F(StackedOpHandlersTest, OH4_EachLayer) {
  RunOn(Get("log:cpu"), "tf.Neg", {Scalar<float>(1)});
  EXPECT_EQ(lines_.size(), 3u);
  RunOn(Get("profile:cpu"), "tf.Neg", {Scalar<float>(1)});
  EXPECT_EQ(profile_->Entries().size(), 1u);
  EXPECT_EQ(ErrorOf(RunOn(Get("nan-guard:cpu"), "tf.Log", {Scalar<float>(-1)})),
            "[tf.Log] result 0 must be without NaN, got nan at [] of f32[]");
  EXPECT_EQ(Values<float>(RunOn(Get("shadow:cpu|other"), "tf.Neg", {Scalar<float>(1)})), std::vector<float>{-1});
  EXPECT_EQ(diverged_, std::vector<std::string>{"tf.Neg"});
}

TEST_F(StackedOpHandlersTest, OH4_OptionsOfTheNanGuard) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<double> found;
  options_.nan_guard.sink = [&found](const NanFinding& finding) { found.push_back(finding.value); };
  EXPECT_TRUE(RunOn(Get("nan-guard:cpu"), "tf.Log", {Scalar<float>(0)}).IsConcrete());
  EXPECT_TRUE(RunOn(Get("nan-guard{infinities}:cpu"), "tf.Log", {Scalar<float>(0)}).IsError());
  EXPECT_EQ(Values<float>(RunOn(Get("nan-guard{report,infinities}:cpu"), "tf.Log", {Scalar<float>(0)})),
            std::vector<float>{-kInfinity});
  EXPECT_EQ(found, (std::vector<double>{-kInfinity, -kInfinity}));
}

TEST_F(StackedOpHandlersTest, OH4_OptionsOfTheShadow) {
  const auto neg = [this](std::string_view text) { return RunOn(Get(text), "tf.Neg", {Scalar<float>(1)}); };
  EXPECT_TRUE(neg("shadow{fail}:cpu|other").IsError()) << "-1 and 1";
  EXPECT_EQ(diverged_.size(), 1u);
  neg("shadow{abs=1.999}:cpu|other");
  EXPECT_EQ(diverged_.size(), 2u);
  EXPECT_TRUE(neg("shadow{fail,abs=2}:cpu|other").IsConcrete());
  EXPECT_TRUE(neg("shadow{of-largest=2e0,fail}:cpu|other").IsConcrete());
  EXPECT_TRUE(neg("shadow{fail,ulp=1e9}:cpu|other").IsConcrete());
  EXPECT_EQ(diverged_.size(), 2u);
  for (int i = 0; i < 3; ++i) neg("shadow{reports=2}:cpu|other");
  EXPECT_EQ(diverged_.size(), 4u);
}

TEST_F(StackedOpHandlersTest, OH4_OptionsOfTheLog) {
  const TensorHandle x = Dense<float>({4}, {1, 2, 3, 4});
  RunOn(Get("log{elements=2}:cpu"), "tf.Neg", {x});
  RunOn(Get("log{sync,elements=0}:cpu"), "tf.Neg", {x});
  ASSERT_EQ(lines_.size(), 6u);
  EXPECT_NE(lines_[2].find("[-1, -2, ...]"), std::string::npos) << lines_[2];
  EXPECT_EQ(lines_[5].find("-1"), std::string::npos) << lines_[5];
}

// OH-5
TEST_F(StackedOpHandlersTest, OH5_OptionsArePartOfTheName) {
  EXPECT_EQ(Get("nan-guard{report}:cpu"), Get("nan-guard{report}:cpu"));
  EXPECT_NE(Get("nan-guard{report}:cpu"), Get("nan-guard:cpu"));
  EXPECT_EQ(Chain(Get("profile:shadow{ulp=1,fail}:(log{sync}:cpu)|other")),
            "profile:shadow{ulp=1,fail}:(log{sync}:cpu)|other over shadow{ulp=1,fail}:(log{sync}:cpu)|other over "
            "log{sync}:cpu over cpu");
}

TEST_F(StackedOpHandlersTest, OH4_ARecordingIsTakenIfItIsThere) {
  EXPECT_EQ(ErrorOfText("profile:record:cpu"),
            "NotFound: expected a recording that was made over the op handler, got \"record:cpu\" at offset 8");
  OpHandler* const recorded = AddHostHandler("record:cpu", cpu());
  EXPECT_EQ(Get("profile:record:cpu")->fallback(), recorded);
}

TEST_F(StackedOpHandlersTest, OH4_OptionsThatAreNoneSayWhere) {
  const std::pair<std::string_view, std::string_view> texts[] = {
      {"nan-guard{:cpu", "expected one of the options infinities, report, got \":cpu\" at offset 10"},
      {"nan-guard{}:cpu", "expected one of the options infinities, report, got \"\" at offset 10"},
      {"nan-guard{ulp=1}:cpu", "expected one of the options infinities, report, got \"ulp\" at offset 10"},
      {"profile{all}:cpu", "expected no options of this layer, got \"all\" at offset 8"},
      {"nan-guard{report,}:cpu", "expected one of the options infinities, report, got \"\" at offset 17"},
      {"nan-guard{report=1}:cpu", "expected ',' or '}' at offset 16, got '='"},
      {"nan-guard{report", "expected ',' or '}' at offset 16, got the end of the text"},
      {"nan-guard{report}cpu", "expected ':' at offset 17, got 'c'"},
      {"nan-guard{report}", "expected ':' at offset 17, got the end of the text"},
      {"shadow{ulp}:cpu|other", "expected '=' and a number at offset 10, got '}'"},
      {"shadow{ulp=}:cpu|other", "expected a number that is not negative as the option ulp, got \"\" at offset 11"},
      {"shadow{ulp=-1}:cpu|other", "expected a number that is not negative as the option ulp, got \"-1\" at offset 11"},
      {"shadow{ulp=inf}:cpu|other",
       "expected a number that is not negative as the option ulp, got \"inf\" at offset 11"},
      {"shadow{ulp=1e999}:cpu|other",
       "expected a number that is not negative as the option ulp, got \"1e999\" at offset 11"},
      {"shadow{abs=0x1}:cpu|other",
       "expected a number that is not negative as the option abs, got \"0x1\" at offset 11"},
      {"shadow{abs=1 }:cpu|other", "expected a number that is not negative as the option abs, got \"1 \" at offset 11"},
      {"shadow{reports=1.5}:cpu|other", "expected a count as the option reports, got \"1.5\" at offset 15"},
      {"shadow{reports=3000000000}:cpu|other",
       "expected a count as the option reports, got \"3000000000\" at offset 15"},
  };
  for (const auto& [text, error] : texts) EXPECT_EQ(ErrorOfText(text), "InvalidArgument: " + std::string(error));
  EXPECT_EQ(
      ErrorOfText("trace{fast}:cpu"),
      "NotFound: expected one of the layers log, nan-guard, profile, shadow and substitute, got \"trace\" at offset 0");
}

TEST_F(StackedOpHandlersTest, OH4a_ATableByItsName) {
  EXPECT_EQ(ErrorOfText("substitute:mine|cpu"),
            "FailedPrecondition: expected tables for the layer at offset 0 to substitute by, got none");
  const RcRef<Substitutions> rules = MakeRef<Substitutions>(runtime());
  ASSERT_TRUE(rules->Add({{.op = "tf.Neg", .replacement = "tf.Abs"}}).ok());
  options_.substitutions = [&](std::string_view table) -> StatusOr<RcRef<Substitutions>> {
    if (table == "dir/mine.json") return rules;
    return MakeError(StatusCode::kNotFound, "expected a table, got ", table);
  };
  EXPECT_EQ(Values<float>(RunOn(Get("profile:substitute:dir/mine.json|nan-guard:cpu"), "tf.Neg", {Scalar<float>(-2)})),
            std::vector<float>{2});
  EXPECT_EQ(ErrorOfText("log:substitute:other|cpu"), "NotFound: expected a table, got other");
  EXPECT_EQ(
      ErrorOfText("substitute:cpu"),
      "InvalidArgument: expected '|' and the handler that is substituted on at offset 14, got the end of the text");
  EXPECT_EQ(ErrorOfText("substitute:|cpu"), "InvalidArgument: expected the name of a table at offset 11, got '|'");
  EXPECT_EQ(runtime().FindHandler("substitute:other|cpu"), nullptr);
}

TEST_F(StackedOpHandlersTest, OH4_LayersOverLayers) {
  OpHandler* const handler = Get("profile:shadow:nan-guard:cpu|other");
  EXPECT_EQ(Chain(handler),
            "profile:shadow:nan-guard:cpu|other over shadow:nan-guard:cpu|other over nan-guard:cpu over cpu");
  RunOn(handler, "tf.Neg", {Scalar<float>(1)});
  EXPECT_EQ(ErrorOf(RunOn(handler, "tf.Log", {Scalar<float>(-1)})),
            "[tf.Log] result 0 must be without NaN, got nan at [] of f32[]");
  EXPECT_EQ(diverged_, std::vector<std::string>{"tf.Neg"});
  EXPECT_EQ(profile_->Entries().size(), 2u);
}

TEST_F(StackedOpHandlersTest, OH4_PendingResultsThroughAWholeStack) {
  OpHandler* const handler = Get("profile:nan-guard:shadow:log:cpu|other");
  LateArgument late = Late({DType::kF32, {2}});
  const TensorHandle negated = RunOn(handler, "tf.Neg", {late.handle});
  const TensorHandle result = RunOn(handler, "tf.Log", {negated});
  EXPECT_FALSE(result.IsAvailable());
  late.Resolve(Dense<float>({2}, {-1, 1}));
  EXPECT_EQ(Values<float>(negated), (std::vector<float>{1, -1}));
  EXPECT_EQ(ErrorOf(result), "[tf.Log] result 0 must be without NaN, got nan at [1] of f32[2]");
  EXPECT_EQ(diverged_, std::vector<std::string>{"tf.Neg"});
  EXPECT_EQ(profile_->Entries().size(), 2u);
}

TEST_F(StackedOpHandlersTest, OH4_WhatALayerIsOver) {
  EXPECT_EQ(Chain(Get("shadow:profile:cpu|other")), "shadow:profile:cpu|other over profile:cpu over cpu");
  EXPECT_EQ(Chain(Get("shadow:shadow:cpu|other|cpu")), "shadow:shadow:cpu|other|cpu over shadow:cpu|other over cpu");
  EXPECT_EQ(Chain(Get("shadow:cpu|shadow:other|cpu")), "shadow:cpu|shadow:other|cpu over cpu");
  EXPECT_EQ(Chain(Get("shadow:(shadow:cpu|other)|(log:cpu)")),
            "shadow:(shadow:cpu|other)|(log:cpu) over shadow:cpu|other over cpu");
  EXPECT_EQ(Chain(Get("profile:(log:(cpu))")), "profile:(log:(cpu)) over log:(cpu) over cpu");
}

// OH-5
TEST_F(StackedOpHandlersTest, OH5_TheSameTextGivesTheSameHandler) {
  OpHandler* const handler = Get("profile:log:cpu");
  EXPECT_EQ(Get("profile:log:cpu"), handler);
  EXPECT_EQ(runtime().FindHandler("profile:log:cpu"), handler);
  EXPECT_EQ(Get("log:cpu"), handler->fallback());
  EXPECT_EQ(Get("(profile:log:cpu)"), handler);
  // Whatever the options are then.
  options_.profile = nullptr;
  EXPECT_EQ(Get("profile:log:cpu"), handler);
  EXPECT_EQ(Get("log:profile:log:cpu")->fallback(), handler);
}

TEST_F(StackedOpHandlersTest, OH5_AHandlerThatHasTheTextAsItsNameIsTaken) {
  OpHandler* const own = AddHostHandler("nan-guard:cpu", cpu());
  EXPECT_EQ(Get("nan-guard:cpu"), own);
  EXPECT_EQ(Get("log:nan-guard:cpu")->fallback(), own);
  OpHandler* const log = AddHostHandler("log", cpu());
  EXPECT_EQ(Get("log"), log);
  EXPECT_EQ(Get("log:log")->fallback(), log);
}

TEST_F(StackedOpHandlersTest, OH5_ThreadsThatAskAtOnceGetTheSameHandler) {
  OpHandler* handlers[16] = {};
  std::vector<std::thread> threads;
  for (OpHandler*& handler : handlers) {
    threads.emplace_back([&] {
      const StatusOr<OpHandler*> made = GetOrMakeOpHandler(runtime(), "profile:nan-guard:shadow:cpu|cpu", options_);
      ASSERT_TRUE(made.ok());
      handler = *made;
      for (int n = 0; n < 100; ++n) {
        const TensorHandle late = RunOn(handler, "test.async.noop", {Scalar<float>(2)});
        EXPECT_EQ(Values<float>(RunOn(handler, "tf.Neg", {late})), std::vector<float>{-2});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  host().Quiesce();
  for (const OpHandler* handler : handlers) EXPECT_EQ(handler, handlers[0]);
  EXPECT_TRUE(diverged_.empty());
  int64_t calls = 0;
  for (const OpProfile& entry : profile_->Entries()) calls += entry.results.count;
  EXPECT_EQ(calls, 3200);
}

TEST_F(StackedOpHandlersTest, OH4_TextsThatAreNoHandlersSayWhere) {
  const std::pair<std::string_view, std::string_view> texts[] = {
      {"", "InvalidArgument: expected the name of an op handler or a layer at offset 0, got the end of the text"},
      {":", "InvalidArgument: expected the name of an op handler or a layer at offset 0, got ':'"},
      {"log:", "InvalidArgument: expected the name of an op handler or a layer at offset 4, got the end of the text"},
      {"log::cpu", "InvalidArgument: expected the name of an op handler or a layer at offset 4, got ':'"},
      {"()", "InvalidArgument: expected the name of an op handler or a layer at offset 1, got ')'"},
      {"(cpu", "InvalidArgument: expected ')' at offset 4, got the end of the text"},
      {"(cpu|", "InvalidArgument: expected ')' at offset 4, got '|'"},
      {"cpu)", "InvalidArgument: expected the end of the text at offset 3, got ')'"},
      {"cpu|other", "InvalidArgument: expected the end of the text at offset 3, got '|'"},
      {"cpu(", "InvalidArgument: expected the end of the text at offset 3, got '('"},
      {"shadow:cpu",
       "InvalidArgument: expected '|' and the reference of the shadow at offset 10, got the end of the text"},
      {"shadow:cpu|",
       "InvalidArgument: expected the name of an op handler or a layer at offset 11, got the end of the text"},
      {"shadow:|cpu", "InvalidArgument: expected the name of an op handler or a layer at offset 7, got '|'"},
      {"gpu",
       "NotFound: expected the name of an op handler, or a layer (log, nan-guard, profile, shadow, substitute) and "
       "':', got "
       "\"gpu\" "
       "at offset 0"},
      {"log:Cpu",
       "NotFound: expected the name of an op handler, or a layer (log, nan-guard, profile, shadow, substitute) and "
       "':', got "
       "\"Cpu\" "
       "at offset 4"},
      {"log:trace:cpu",
       "NotFound: expected one of the layers log, nan-guard, profile, shadow and substitute, got \"trace\" at offset "
       "4"},
      {"log: cpu",
       "NotFound: expected the name of an op handler, or a layer (log, nan-guard, profile, shadow, substitute) and "
       "':', got \" "
       "cpu\" "
       "at offset 4"},
      {std::string_view("\0\n", 2),
       "NotFound: expected the name of an op handler, or a layer (log, nan-guard, profile, shadow, substitute) and "
       "':', got "
       "\"\\x00\\n\" at offset 0"},
  };
  for (const auto& [text, error] : texts) EXPECT_EQ(ErrorOfText(text), error) << text;
}

TEST_F(StackedOpHandlersTest, OH4_AWrongTextLeavesTheRuntimeAsItWas) {
  ErrorOfText("shadow:log:cpu|gpu");
  ErrorOfText("profile:log:cpu)");
  EXPECT_EQ(runtime().FindHandler("log:cpu"), nullptr);
  options_.profile = nullptr;
  EXPECT_EQ(ErrorOfText("log:profile:nan-guard:cpu"),
            "FailedPrecondition: expected a profile for the layer at offset 4 to count in, got null");
  EXPECT_EQ(runtime().FindHandler("nan-guard:cpu"), nullptr);
}

TEST_F(StackedOpHandlersTest, OH4_DeepAndLongTextsAreRefused) {
  std::string deep(31, '(');
  deep += "cpu" + std::string(31, ')');
  EXPECT_EQ(Get(deep), cpu());
  EXPECT_EQ(ErrorOfText(std::string(32, '(') + "cpu"),
            "InvalidArgument: expected at most 32 handlers inside one another, got more at offset 32");
  std::string layers;
  for (int i = 0; i < 32; ++i) layers += "log:";
  EXPECT_EQ(ErrorOfText(layers + "cpu"),
            "InvalidArgument: expected at most 32 handlers inside one another, got more at offset 128");
  EXPECT_EQ(ErrorOfText(std::string(4097, '(')), "InvalidArgument: expected a text of at most 4096 bytes, got 4097");
  EXPECT_EQ(ErrorOfText(std::string(4096, 'x')).substr(0, 9), "NotFound:");
}

}  // namespace
}  // namespace tandem
