// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The shadow op handler: that a kernel broken on purpose is named, what counts as different and what is not compared,
// and that the primary's results are what the caller gets (OH-4, OH-2, NU-1).

#include "tandem/shadow_op_handler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "failing_heap.h"
#include "op_layer_test_fixture.h"
#include "tandem/nan_guard_op_handler.h"

namespace tandem {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// What a sink keeps of a divergence.
struct Diverged {
  std::string op;
  uint32_t line;
  int64_t call;
  size_t result;
  int64_t element;
  std::string actual, expected;
  double error, ulp, largest_error;
  int64_t num_different;
  TensorTolerance tolerance;
  std::string metadata, attrs, inputs, message;
};

// Negates; the element at index 1 is off by what `add` says.
Kernel WrongNeg(float add) {
  return MakeKernel([add](DenseArg x, KernelFrame& frame) -> Status {
    auto* y = frame.AllocateResult<float>(0);
    for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = -x.data<float>()[i] + (i == 1 ? add : 0);
    return Status();
  });
}
Status BrokenSumKernel(const Tensor&, KernelFrame& frame) {
  if (auto* y = frame.AllocateResult<float>(0)) *y = 7;
  return Status();
}
Status WrongStringsKernel(const Tensor& x, KernelFrame& frame) {
  const std::string_view strings[] = {"a", "B"};
  TANDEM_ASSIGN_OR_RETURN(Tensor y, MakeString(x.shape(), strings, frame.host().device(), frame.host().allocator()));
  frame.SetResult(0, std::move(y));
  return Status();
}
// Gives a scalar host tensor of the argument's first element.
Status ScalarKernel(DenseArg x, KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(Tensor y, MakeScalar(x.metadata(), x.data<float>(), frame.host().device()));
  frame.SetResult(0, std::move(y));
  return Status();
}
Status ExhaustedKernel(KernelFrame&) { return ResourceExhausted("none left"); }
Status InternalKernel(KernelFrame&) { return Internal("broken"); }

class ShadowOpHandlerTest : public OpLayerTest {
 protected:
  ShadowOpHandlerTest() : other_(AddHostHandler("other")) {}

  // A shadow of the CPU, by `other_`.
  OpHandler* Add(std::string_view name, ShadowOptions options = {}, OpHandler* primary = nullptr,
                 OpHandler* reference = nullptr) {
    options.sink = [this](const ShadowDivergence& d) {
      const std::lock_guard lock(mutex_);
      diverged_.push_back({std::string(d.op), d.location.Decode().line, d.call, d.result, d.element,
                           std::string(d.actual), std::string(d.expected), d.error, d.ulp, d.largest_error,
                           d.num_different, d.tolerance, std::string(d.metadata), std::string(d.attrs),
                           std::string(d.inputs), std::string(d.message)});
    };
    options.counts = counts_;
    return runtime().AddHandler(CreateShadowOpHandler(name, runtime(), primary == nullptr ? *cpu() : *primary,
                                                      reference == nullptr ? *other_ : *reference, std::move(options)));
  }
  void AddOther(std::string_view op, Kernel kernel, DTypeSet dtypes = {DType::kF32}) {
    AddKernel(*other_, op, std::move(kernel), dtypes);
  }
  std::vector<Diverged> TakeDiverged() {
    const std::lock_guard lock(mutex_);
    return std::exchange(diverged_, {});
  }

  KernelOpHandler* const other_;
  const RcRef<ShadowCounts> counts_ = MakeRef<ShadowCounts>();
  std::mutex mutex_;
  std::vector<Diverged> diverged_;
};

// ---- What is found

TEST_F(ShadowOpHandlerTest, OH4_AWrongKernelIsNamed) {
  AddOther("tf.Neg", WrongNeg(0.5f));
  AddOther("tf.AddV2", MakeKernel<&BrokenSumKernel>(), {DType::kI32});
  OpHandler* const layer = Add("shadow");
  const TensorHandle x = Dense<float>({2, 2}, {1, 2, 3, 4});
  const TensorHandle y = RunOn(layer, "tf.AddV2", {x, x});
  const TensorHandle result = RunOn(layer, "tf.Neg", {y});
  EXPECT_EQ(Values<float>(result), (std::vector<float>{-2, -4, -6, -8}));  // the primary's
  const std::vector<Diverged> diverged = TakeDiverged();
  ASSERT_EQ(diverged.size(), 1u);
  const Diverged& d = diverged[0];
  EXPECT_EQ(d.op, "tf.Neg");
  EXPECT_GT(d.line, 0u);
  EXPECT_EQ(d.call, 2);
  EXPECT_EQ(d.result, 0u);
  EXPECT_EQ(d.element, 1);
  EXPECT_EQ(d.actual, "-4");
  EXPECT_EQ(d.expected, "-3.5");
  EXPECT_EQ(d.error, 0.5);
  EXPECT_EQ(d.ulp, 0.5 / 0x1p-21);  // at 4
  EXPECT_EQ(d.largest_error, 0.5);
  EXPECT_EQ(d.num_different, 1);
  EXPECT_EQ(d.tolerance.ulp, 0);
  EXPECT_EQ(d.metadata, "f32[2,2]");
  EXPECT_EQ(d.attrs, "");
  EXPECT_EQ(d.inputs, "f32[2,2]");
  EXPECT_EQ(d.message,
            "result 0 must be like that of the reference, expected -3.5, got -4 at [0,1] of f32[2,2] (1048576 ulp)");
  EXPECT_EQ(counts_->diverged(), 1);
  EXPECT_EQ(counts_->equal(), 0);
  EXPECT_EQ(counts_->skipped(ShadowSkip::kNoKernel), 1);  // of f32, tf.AddV2
  EXPECT_EQ(counts_->skipped(), 1);
}

TEST_F(ShadowOpHandlerTest, OH4_FailingMakesTheResultAnError) {
  AddOther("tf.Neg", WrongNeg(0.5f));
  OpHandler* const layer = Add("shadow", {.fail = true});
  const TensorHandle result = RunOn(layer, "tf.Neg", {Dense<float>({2}, {1, 2})});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kDataLoss);
  EXPECT_EQ(result.GetError().message(),
            "[tf.Neg] result 0 must be like that of the reference, expected -1.5, got -2 at [1] of f32[2] (2097152 "
            "ulp)");
  EXPECT_TRUE(result.GetError().location().file.ends_with("op_layer_test_fixture.h"));
  ASSERT_EQ(diagnostics().size(), 1u);
  EXPECT_EQ(diagnostics()[0], result.GetError());
  EXPECT_EQ(Values<float>(RunOn(layer, "tf.Neg", {Dense<float>({1}, {1})})), std::vector<float>{-1});
  EXPECT_EQ(counts_->equal(), 1);
}

TEST_F(ShadowOpHandlerTest, OH4_AsManyReportsAsItIsTold) {
  AddOther("tf.Neg", WrongNeg(1));
  OpHandler* const first = Add("first");
  OpHandler* const two = Add("two", {.max_reports = 2});
  for (int i = 0; i < 3; ++i) {
    RunOn(first, "tf.Neg", {Dense<float>({2}, {1, 2})});
    RunOn(two, "tf.Neg", {Dense<float>({2}, {1, 2})});
  }
  const std::vector<Diverged> diverged = TakeDiverged();
  ASSERT_EQ(diverged.size(), 3u);
  EXPECT_EQ(diverged[0].call, 1);
  EXPECT_EQ(diverged[2].call, 2);
  EXPECT_EQ(counts_->diverged(), 6);
}

TEST_F(ShadowOpHandlerTest, OH4_AttributesInputsAndTheLargestError) {
  AddOther("tf.Sum", MakeKernel<&BrokenSumKernel>());
  OpHandler* const layer = Add("shadow");
  OpAttrs attrs;  // that end with the call
  attrs.Set("keep_dims", false);
  RunOn(layer, "tf.Sum", {Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6}), Dense<int32_t>({2}, {0, 1})}, attrs);
  const std::vector<Diverged> diverged = TakeDiverged();
  ASSERT_EQ(diverged.size(), 1u);
  EXPECT_EQ(diverged[0].attrs, "{keep_dims = false}");
  EXPECT_EQ(diverged[0].inputs, "f32[2,3], i32[2]");
  EXPECT_EQ(diverged[0].actual, "21");
  EXPECT_EQ(diverged[0].largest_error, 14);
  EXPECT_EQ(diverged[0].tolerance.of_largest, 0x1p-13);
}

TEST_F(ShadowOpHandlerTest, OH4_SeveralElementsAreCounted) {
  AddOther("tf.Neg", MakeKernel<&layer_test::IncrementKernel>());
  RunOn(Add("shadow"), "tf.Neg", {Dense<float>({3}, {1, 2, -0.5f})});
  const std::vector<Diverged> diverged = TakeDiverged();
  ASSERT_EQ(diverged.size(), 1u);
  EXPECT_EQ(diverged[0].element, 0);
  EXPECT_EQ(diverged[0].num_different, 2);
  EXPECT_EQ(diverged[0].error, 3);
  EXPECT_EQ(diverged[0].largest_error, 5);
  EXPECT_TRUE(diverged[0].message.ends_with("; 2 elements differ")) << diverged[0].message;
}

TEST_F(ShadowOpHandlerTest, OH4_StringsMustBeTheSame) {
  AddOther("tf.Identity", MakeKernel<&WrongStringsKernel>(), {DType::kString});
  RunOn(Add("shadow"), "tf.Identity", {Strings({2}, {"a", "b"})});
  const std::vector<Diverged> diverged = TakeDiverged();
  ASSERT_EQ(diverged.size(), 1u);
  EXPECT_EQ(diverged[0].message,
            "result 0 must be like that of the reference, expected \"B\", got \"b\" at [1] of string[2]");
  EXPECT_EQ(diverged[0].error, kInf);
}

// Elements are compared, not how they are kept.
TEST_F(ShadowOpHandlerTest, OH4_RepresentationsMayDiffer) {
  AddOther("tf.Identity", MakeKernel<&ScalarKernel>());
  OpHandler* const layer = Add("shadow", {.max_reports = 9});
  RunOn(layer, "tf.Identity", {Dense<float>({3}, {2, 2, 2})});
  RunOn(layer, "tf.Identity", {Spread<float>({1000, 1000}, 2)});
  RunOn(layer, "tf.Identity", {Dense<float>({0}, std::initializer_list<float>{})});
  host().Quiesce();
  EXPECT_EQ(counts_->equal(), 3);
  RunOn(layer, "tf.Identity", {Dense<float>({3}, {2, 2, 3})});
  const std::vector<Diverged> diverged = TakeDiverged();
  ASSERT_EQ(diverged.size(), 1u);
  EXPECT_EQ(diverged[0].element, 2);
}

TEST_F(ShadowOpHandlerTest, OH4_AShapeThatDiffers) {
  AddOther("test.odd_collector", MakeKernel([](const Tensor& x, KernelFrame& frame) -> Status {
             frame.SetResult(0, x);
             return Status();
           }),
           {DType::kInvalid});
  OpHandler* const layer = Add("shadow", {.fail = true});
  EXPECT_EQ(ErrorOf(RunOn(layer, "test.odd_collector", {Dense<int32_t>({3}, {1, 2, 3})})),
            "[test.odd_collector] result 0 must be like that of the reference, expected i32[3], got i32[2]");
  EXPECT_EQ(TakeDiverged()[0].element, -1);
}

TEST_F(ShadowOpHandlerTest, OH4_AReferenceThatFails) {
  AddOther("tf.Neg", MakeKernel<&InternalKernel>());
  AddOther("tf.Abs", MakeKernel<&ExhaustedKernel>());
  OpHandler* const layer = Add("shadow", {.fail = true});
  EXPECT_EQ(ErrorOf(RunOn(layer, "tf.Neg", {Scalar<float>(1)})),
            "[tf.Neg] result 0 must be like that of the reference, expected the error \"[tf.Neg] broken\", got f32[]");
  EXPECT_EQ(Values<float>(RunOn(layer, "tf.Abs", {Scalar<float>(1)})), std::vector<float>{1});
  EXPECT_EQ(counts_->skipped(ShadowSkip::kReferenceFailed), 1);
}

// ---- Tolerances

TEST_F(ShadowOpHandlerTest, NU1_TwiceWhatTheDefinitionStates) {
  const OpDef& neg = *runtime().registry().Find("tf.Neg");
  const OpDef& exp = *runtime().registry().Find("tf.Exp");
  const OpDef& tan = *runtime().registry().Find("tf.Tan");
  EXPECT_EQ(ShadowToleranceOf(neg, DType::kF32).ulp, 0);
  EXPECT_EQ(ShadowToleranceOf(exp, DType::kF32).ulp, 2);
  EXPECT_EQ(ShadowToleranceOf(tan, DType::kF64).ulp, 8);
  EXPECT_EQ(ShadowToleranceOf(tan, DType::kF16).ulp, 2);
  EXPECT_EQ(ShadowToleranceOf(exp, DType::kC64).ulp, 8);
  EXPECT_EQ(ShadowToleranceOf(exp, DType::kF32).abs, 0x1p-126);
  EXPECT_EQ(ShadowToleranceOf(exp, DType::kF64).abs, 0);
  const OpDef& sum = *runtime().registry().Find("tf.Sum");
  EXPECT_EQ(ShadowToleranceOf(sum, DType::kF32).of_largest, 0x1p-13);
  EXPECT_EQ(ShadowToleranceOf(sum, DType::kC64).of_largest, 0x1p-13);
  EXPECT_EQ(ShadowToleranceOf(sum, DType::kF64).of_largest, 0x1p-42);
  EXPECT_EQ(ShadowToleranceOf(sum, DType::kF16).of_largest, 0x1p-7);
  EXPECT_EQ(ShadowToleranceOf(sum, DType::kBF16).of_largest, 0x1p-4);
  EXPECT_EQ(ShadowToleranceOf(sum, DType::kI32).of_largest, 0);
  const OpDef& reshape = *runtime().registry().Find("tf.Reshape");
  EXPECT_EQ(ShadowToleranceOf(reshape, DType::kF32).of_largest, 0);
}

// tf.Exp states 1 ULP: 2 between two handlers. exp(0) is 1, and its upper neighbours are 2^-23 apart.
TEST_F(ShadowOpHandlerTest, NU1_WithinAndBeyondTheTolerance) {
  float given = 1;
  AddOther("tf.Exp", MakeKernel([&given](const Tensor&, KernelFrame& frame) -> Status {
             if (auto* y = frame.AllocateResult<float>(0)) *y = given;
             return Status();
           }));
  OpHandler* const layer = Add("shadow");
  given = 1 + 2 * 0x1p-23f;
  RunOn(layer, "tf.Exp", {Scalar<float>(0)});
  EXPECT_EQ(counts_->equal(), 1);
  given = 1 + 3 * 0x1p-23f;
  RunOn(layer, "tf.Exp", {Scalar<float>(0)});
  EXPECT_EQ(counts_->diverged(), 1);
  given = std::numeric_limits<float>::quiet_NaN();
  RunOn(layer, "tf.Exp", {Scalar<float>(0)});
  EXPECT_EQ(counts_->diverged(), 2);
  // Two NaNs are alike.
  RunOn(layer, "tf.Exp", {Scalar<float>(std::numeric_limits<float>::quiet_NaN())});
  EXPECT_EQ(counts_->equal(), 2);
}

TEST_F(ShadowOpHandlerTest, OH4_ATolerancesOfTheCallersChoice) {
  AddOther("tf.Neg", WrongNeg(0.5f));
  ShadowOptions options;
  std::string asked;
  options.tolerance = [&](const OpDef& def, DType dtype) {
    asked = TextOf(def.name, " ", dtype);
    return TensorTolerance{.abs = 0.5};
  };
  RunOn(Add("shadow", std::move(options)), "tf.Neg", {Dense<float>({2}, {1, 2})});
  EXPECT_EQ(asked, "tf.Neg f32");
  EXPECT_EQ(counts_->equal(), 1);
}

// ---- What is not compared

TEST_F(ShadowOpHandlerTest, OH4_EffectsAreThePrimarysAlone) {
  OpHandler* const layer = Add("shadow", {.fail = true}, nullptr, cpu());
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunNOn(layer, "test.print", {Scalar<float>(3)}, 0, {}, &chain);
  const AsyncValue* const value = chain.value();
  EXPECT_TRUE(host().Await({&value, 1}).ok());
  EXPECT_EQ(printed(), "f32[] = [3]\n");
}

TEST_F(ShadowOpHandlerTest, OH4_RandomOpsAreFunctionsOfTheirSeed) {
  OpHandler* const layer = Add("shadow", {.fail = true}, nullptr, cpu());
  const TensorHandle numbers =
      RunOn(layer, "tf.StatelessRandomUniform", {Dense<int32_t>({1}, {50}), Dense<int64_t>({2}, {1, 2})});
  EXPECT_EQ(Values<float>(numbers).size(), 50u);
  EXPECT_EQ(counts_->equal(), 1);
}

TEST_F(ShadowOpHandlerTest, OH4_OpsThatTheReferenceLacksAreSkipped) {
  AddOther("tf.Neg", WrongNeg(0), {DType::kF32});
  OpHandler* const layer = Add("shadow", {.fail = true});
  EXPECT_EQ(Values<float>(RunOn(layer, "tf.Abs", {Scalar<float>(-1)})), std::vector<float>{1});
  EXPECT_EQ(counts_->skipped(ShadowSkip::kNoKernel), 1);
  EXPECT_EQ(Values<int32_t>(RunOn(layer, "tf.Neg", {Scalar<int32_t>(-1)})), std::vector<int32_t>{1});
  EXPECT_EQ(counts_->skipped(ShadowSkip::kNoKernel), 2);
  EXPECT_EQ(counts_->diverged() + counts_->equal(), 0);
  EXPECT_EQ(ShadowSkipText(ShadowSkip::kNoKernel), "the reference has no kernel for it");
}

// ER-4: a wrong call is told once.
TEST_F(ShadowOpHandlerTest, OH4_ErrorsOfThePrimaryArePassedOn) {
  OpHandler* const layer = Add("shadow", {.fail = true}, nullptr, cpu());
  const TensorHandle result = RunOn(layer, "tf.MatMul", {Dense<float>({1}, {1}), Dense<float>({1}, {1})});
  EXPECT_EQ(result.GetError().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(diagnostics().size(), 1u);
  LateArgument late = Late({DType::kF32, {1}});
  const TensorHandle later = RunOn(layer, "layer.Fail", {late.handle});
  late.Resolve(Dense<float>({1}, {1}));
  EXPECT_EQ(ErrorOf(later), "[layer.Fail] never works");
  EXPECT_EQ(counts_->skipped(ShadowSkip::kPrimaryFailed), 2);
  EXPECT_EQ(counts_->diverged(), 0);
}

TEST_F(ShadowOpHandlerTest, OH4_TensorsThatCannotBeReadAreSkipped) {
  OpHandler* const layer = Add("shadow", {.fail = true}, nullptr, cpu());
  EXPECT_TRUE(RunOn(layer, "layer.Foreign", {Scalar<float>(1)}).IsConcrete());
  EXPECT_EQ(counts_->skipped(ShadowSkip::kNotReadable), 1);
}

// ---- Results to come

TEST_F(ShadowOpHandlerTest, OH4_PendingResultsAreComparedWhenTheyCome) {
  AddOther("tf.Neg", WrongNeg(1));
  AddOther("test.async.noop", MakeKernel<&layer_test::IncrementKernel>());
  for (const bool fails : {false, true}) {
    OpHandler* const layer = Add(fails ? "failing" : "reporting", {.fail = fails});
    LateArgument late = Late({DType::kF32, {2}});
    const TensorHandle result = RunOn(layer, "tf.Neg", {late.handle});
    EXPECT_FALSE(result.IsAvailable());
    EXPECT_EQ(TextOf(result.metadata()), "f32[2]");
    EXPECT_TRUE(TakeDiverged().empty());
    late.Resolve(Dense<float>({2}, {1, 2}));
    const std::vector<Diverged> diverged = TakeDiverged();
    ASSERT_EQ(diverged.size(), 1u);
    EXPECT_EQ(diverged[0].message,
              "result 0 must be like that of the reference, expected -1, got -2 at [1] of f32[2] (4194304 ulp)");
    EXPECT_EQ(diverged[0].inputs, "f32[2]");
    EXPECT_EQ(result.IsError(), fails);
    // One that comes after the other's.
    const Status noop = host().Await(RunOn(layer, "test.async.noop", {Scalar<float>(1)}));
    EXPECT_EQ(noop.ok(), !fails);
    host().Quiesce();
  }
  EXPECT_EQ(counts_->diverged(), 4);
}

TEST_F(ShadowOpHandlerTest, OH4_LargeResultsAreComparedInTheQueue) {
  AddOther("tf.Neg", WrongNeg(1));
  constexpr int64_t kSize = 1 << 18;
  const std::vector<float> values(kSize, 2.0f);
  host().set_inline_cost_limit(-1);
  const TensorHandle result = RunOn(Add("shadow", {.fail = true}), "tf.Neg", {Dense<float>({kSize}, values)});
  EXPECT_EQ(ErrorOf(result),
            "[tf.Neg] result 0 must be like that of the reference, expected -1, got -2 at [1] of f32[262144] (4194304 "
            "ulp)");
}

// CA-1
TEST_F(ShadowOpHandlerTest, CA1_PendingResultsAreCancelled) {
  for (const bool fails : {false, true}) {
    OpHandler* const layer = Add(fails ? "failing" : "reporting", {.fail = fails}, nullptr, cpu());
    const LateArgument late = Late({DType::kF32, {1}});
    const TensorHandle result = RunOn(layer, "tf.Neg", {late.handle});
    host().CancelExecution("enough");
    EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
    host().Restart();
  }
  EXPECT_EQ(counts_->skipped(ShadowSkip::kCancelled), 2);
  EXPECT_EQ(host().num_pending_ops(), 0);
}

TEST_F(ShadowOpHandlerTest, OH4_WhenAllIsCompared) {
  AddOther("tf.Neg", WrongNeg(1));
  OpHandler* const layer = Add("shadow");
  EXPECT_TRUE(counts_->WhenDone().IsAvailable());
  {
    LateArgument late = Late({DType::kF32, {2}});
    const TensorHandle results[] = {RunOn(layer, "tf.Neg", {late.handle}), RunOn(layer, "tf.Neg", {late.handle})};
    EXPECT_EQ(counts_->pending(), 2);
    const AsyncValueRef<Chain> done = counts_->WhenDone();
    const AsyncValueRef<Chain> same = counts_->WhenDone();
    EXPECT_FALSE(done.IsAvailable());
    late.Resolve(Dense<float>({2}, {1, 2}));
    const AsyncValue* const values[] = {done.value(), same.value()};
    EXPECT_TRUE(host().Await(values).ok());
    EXPECT_EQ(counts_->diverged(), 2);
  }
  EXPECT_EQ(counts_->pending(), 0);
  TakeDiverged();
}

TEST_F(ShadowOpHandlerTest, OH4_FromSeveralThreads) {
  AddOther("tf.Neg", WrongNeg(1));
  OpHandler* const layer = Add("shadow", {.fail = true});
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        const bool is_wrong = n % 2 == 0;  // of one element, nothing is
        const std::vector<float> values(is_wrong ? 2 : 1, 1.0f);
        const TensorHandle x = Dense<float>({static_cast<int64_t>(values.size())}, values);
        const TensorHandle late = Run("test.async.noop", {x});
        EXPECT_EQ(host().Await(RunOn(layer, "tf.Neg", {late})).ok(), !is_wrong);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  host().Quiesce();
  EXPECT_EQ(counts_->equal(), 800);
  EXPECT_EQ(counts_->diverged(), 800);
  EXPECT_EQ(counts_->pending(), 0);
  EXPECT_EQ(TakeDiverged().size(), 1u);
}

// ---- Devices

// EX-13: inputs go to the reference, and both results to the host, by transfers.
TEST_F(ShadowOpHandlerTest, EX13_TheReferenceMayHaveAnotherDevice) {
  KernelOpHandler* const remote = AddRemoteHandler();
  OpHandler* const of_cpu = Add("of_cpu", {.fail = true}, cpu(), remote);
  OpHandler* const of_remote = Add("of_remote", {.fail = true}, remote, cpu());
  for (const auto mode : {layer_test::Downloads::Mode::kAtOnce, layer_test::Downloads::Mode::kLate}) {
    layer_test::downloads.mode = mode;
    const TensorHandle x = Dense<float>({2}, {1, 2});
    const TensorHandle y = RunOn(of_cpu, "tf.Neg", {x});
    const TensorHandle there = RunOn(remote, "tf.Neg", {x});
    TensorHandle z = RunOn(of_remote, "tf.Neg", {there});
    while (!layer_test::downloads.late.empty()) layer_test::FinishDownloads();
    EXPECT_EQ(Values<float>(y), (std::vector<float>{-1, -2}));
    ASSERT_TRUE(z.IsConcrete()) << TextOf(z);
    EXPECT_EQ(z.device(), remote->device());
  }
  EXPECT_EQ(counts_->equal(), 4);
  EXPECT_EQ(counts_->skipped() + counts_->diverged(), 0);
  EXPECT_EQ(of_remote->device(), remote->device());
  // Strings stay on the host.
  EXPECT_EQ(StringValues(RunOn(of_cpu, "tf.Identity", {Strings({1}, {"a"})})), std::vector<std::string>{"a"});
  EXPECT_EQ(counts_->equal(), 5);
  // Host inputs, too.
  layer_test::downloads.mode = layer_test::Downloads::Mode::kAtOnce;
  RunOn(of_cpu, "tf.Sum", {Dense<float>({2}, {1, 2}), Dense<int32_t>({1}, {0})});
  EXPECT_EQ(counts_->equal(), 6);
}

TEST_F(ShadowOpHandlerTest, ER5_ADeviceThatIsGone) {
  KernelOpHandler* const remote = AddRemoteHandler();
  layer_test::downloads.mode = layer_test::Downloads::Mode::kFailing;
  EXPECT_EQ(Values<float>(RunOn(Add("of_cpu", {.fail = true}, cpu(), remote), "tf.Neg", {Scalar<float>(1)})),
            std::vector<float>{-1});
  EXPECT_EQ(counts_->skipped(ShadowSkip::kReferenceFailed), 1);
}

// ---- Changing nothing

TEST_F(ShadowOpHandlerTest, OH4_PassesEverythingThrough) {
  ExpectPassesThrough(Add("reporting", {}, nullptr, cpu()));
  ExpectPassesThrough(Add("failing", {.fail = true}, nullptr, cpu()));
  host().Quiesce();
  EXPECT_EQ(counts_->diverged(), 0);
  EXPECT_GT(counts_->equal(), 0);
}

// TH-5: neither handler writes what the other still reads.
TEST_F(ShadowOpHandlerTest, TH5_InputsAreNotTakenOver) {
  OpHandler* const layer = Add("shadow", {.fail = true}, nullptr, cpu());
  const std::vector<float> ones(100, 1.0f);
  TensorHandle value = Dense<float>({100}, ones);
  for (int i = 0; i < 5; ++i) value = RunOn(layer, "layer.Increment", {std::move(value)});
  EXPECT_EQ(Values<float>(value)[99], 6.0f);
  EXPECT_EQ(counts_->equal(), 5);
  // What the caller gets is his alone.
  const void* const data = value.tensor().data();
  EXPECT_EQ(RunOn(cpu(), "layer.Increment", {std::move(value)}).tensor().data(), data);
  LateArgument late = Late({DType::kF32, {100}});
  const TensorHandle last =
      RunOn(cpu(), "layer.Increment", {RunOn(layer, "layer.Increment", {std::move(late.handle)})});
  late.Resolve(Dense<float>({100}, ones));
  EXPECT_EQ(Values<float>(last)[99], 3.0f);
  EXPECT_EQ(counts_->equal(), 6);
}

TEST_F(ShadowOpHandlerTest, OH2_IsAHandlerLikeAnyOther) {
  OpHandler* const layer = Add("shadow");
  EXPECT_EQ(runtime().FindHandler("shadow"), layer);
  EXPECT_EQ(layer->device(), &host().device());
  EXPECT_EQ(layer->fallback(), cpu());
  EXPECT_EQ(runtime().MakeOp("tf.Neg", layer)->name(), "tf.Neg");
}

// OR-3: a kernel that the reference gets later counts from the next call on.
TEST_F(ShadowOpHandlerTest, OR3_HearsOfChangesOfTheReference) {
  OpHandler* const layer = Add("shadow");
  RunOn(layer, "tf.Neg", {Scalar<float>(1)});
  EXPECT_EQ(counts_->skipped(ShadowSkip::kNoKernel), 1);
  AddOther("tf.Neg", WrongNeg(1));
  RunOn(layer, "tf.Neg", {Scalar<float>(1)});
  EXPECT_EQ(counts_->equal(), 1);
}

// ---- ER-5

TEST_F(ShadowOpHandlerTest, ER5_WithoutMemoryACallFailsOrIsNotCompared) {
  const ExecutionContext exec(host(), Location());
  LateArgument late = Late({DType::kF32, {1}});
  const TensorHandle sources[] = {Scalar<float>(1), late.handle.CopyRef()};
  std::vector<TensorHandle> results;
  results.reserve(500);
  for (const bool fails : {false, true}) {
    OpHandler* const layer = Add(fails ? "failing" : "reporting", {.fail = fails}, nullptr, cpu());
    const StatusOr<Op> op = runtime().MakeOp("tf.Neg", layer);
    ASSERT_TRUE(op.ok());
    for (const TensorHandle& source : sources) {
      const int failures = FailEachAllocation([&] {
        TensorHandle arg = source.CopyRef();
        TensorHandle& result = results.emplace_back();
        (*op)(exec, {&arg, 1}, OpAttrsRef(), {&result, 1});
        EXPECT_FALSE(arg.IsValid());
        ASSERT_TRUE(result.IsValid());
        EXPECT_TRUE(!result.IsError() || result.GetError().code() == StatusCode::kResourceExhausted);
      });
      EXPECT_GE(failures, 3);
    }
    EXPECT_EQ(WithoutMemory([&] { return layer->MakeOp("tf.Neg"); }).status().code(), StatusCode::kResourceExhausted);
  }
  late.Resolve(Dense<float>({1}, {1}));
  EXPECT_TRUE(results.back().IsConcrete());
  EXPECT_GT(counts_->skipped(ShadowSkip::kOutOfMemory), 0);
  EXPECT_EQ(counts_->diverged(), 0);
}

}  // namespace
}  // namespace tandem
