// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The nan-guard op handler: which results it makes errors of, with which text, and that it neither waits nor changes
// others (OH-4, OH-2).

#include "tandem/nan_guard_op_handler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "failing_heap.h"
#include "op_layer_test_fixture.h"

namespace tandem {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// What a sink keeps of a finding.
struct Found {
  std::string op;
  uint32_t line;
  size_t result;
  std::string metadata;
  int64_t element;
  double value;
  std::string error;
};

class NanGuardOpHandlerTest : public OpLayerTest {
 protected:
  NanGuardOpHandlerTest() : layer_(Add("nan-guard", {})) {}

  OpHandler* Add(std::string_view name, NanGuardOptions options, OpHandler* delegate = nullptr) {
    options.sink = [this](const NanFinding& finding) {
      const std::lock_guard lock(mutex_);
      found_.push_back({std::string(finding.op), finding.location.Decode().line, finding.result,
                        TextOf(finding.metadata), finding.element, finding.value, finding.error.ToString()});
    };
    return runtime().AddHandler(
        CreateNanGuardOpHandler(name, runtime(), delegate == nullptr ? *cpu() : *delegate, std::move(options)));
  }
  // The error of passing a tensor through an op that gives it as it is.
  std::string ErrorOfIdentity(OpHandler* layer, const TensorHandle& tensor) {
    return ErrorOf(RunOn(layer, "tf.Identity", {tensor}));
  }

  std::mutex mutex_;
  std::vector<Found> found_;
  OpHandler* layer_;
};

// ---- What is found

TEST_F(NanGuardOpHandlerTest, OH4_ANanBecomesAnErrorThatTellsWhere) {
  const TensorHandle x = Dense<float>({2, 3}, {1, 2, 3, 4, 5, -1});
  const TensorHandle result = RunOn(layer_, "tf.Log", {x});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(result.GetError().message(), "[tf.Log] result 0 must be without NaN, got nan at [1,2] of f32[2,3]");
  EXPECT_EQ(result.GetError().op(), "tf.Log");
  EXPECT_TRUE(result.GetError().location().file.ends_with("op_layer_test_fixture.h"));
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0].op, "tf.Log");
  EXPECT_EQ(found_[0].line, result.GetError().location().line);
  EXPECT_EQ(found_[0].result, 0u);
  EXPECT_EQ(found_[0].metadata, "f32[2,3]");
  EXPECT_EQ(found_[0].element, 5);
  EXPECT_TRUE(std::isnan(found_[0].value));
  EXPECT_EQ(found_[0].error, result.GetError().ToString());
  // ER-4: once.
  ASSERT_EQ(diagnostics().size(), 1u);
  EXPECT_EQ(diagnostics()[0], result.GetError());
}

TEST_F(NanGuardOpHandlerTest, OH4_TheFirstOneIsNamed) {
  EXPECT_EQ(ErrorOfIdentity(layer_, Dense<float>({4}, {0, kNan, 1, kNan})),
            "[tf.Identity] result 0 must be without NaN, got nan at [1] of f32[4]");
  EXPECT_EQ(ErrorOfIdentity(layer_, Scalar<float>(kNan)),
            "[tf.Identity] result 0 must be without NaN, got nan at [] of f32[]");
}

TEST_F(NanGuardOpHandlerTest, OH4_InfinitiesOnlyIfTheyAreAskedFor) {
  OpHandler* const strict = Add("strict", {.infinities = true});
  const TensorHandle x = Dense<float>({3}, {1, -kInf, kNan});
  EXPECT_EQ(ErrorOfIdentity(strict, x), "[tf.Identity] result 0 must be finite, got -inf at [1] of f32[3]");
  EXPECT_EQ(ErrorOfIdentity(layer_, x), "[tf.Identity] result 0 must be without NaN, got nan at [2] of f32[3]");
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(ErrorOfIdentity(strict, Dense<float>({2}, {most, -most})), "");
  EXPECT_EQ(ErrorOfIdentity(layer_, Dense<float>({2}, {kInf, -kInf})), "");
}

TEST_F(NanGuardOpHandlerTest, OH4_EveryFloatingPointDType) {
  OpHandler* const strict = Add("strict", {.infinities = true});
  EXPECT_EQ(ErrorOfIdentity(layer_, Dense<Float16>({2}, {Float16(1), Float16(kNan)})),
            "[tf.Identity] result 0 must be without NaN, got nan at [1] of f16[2]");
  EXPECT_EQ(ErrorOfIdentity(layer_, Dense<BFloat16>({2}, {BFloat16(1), BFloat16(-kNan)})),
            "[tf.Identity] result 0 must be without NaN, got nan at [1] of bf16[2]");
  EXPECT_EQ(ErrorOfIdentity(layer_, Dense<double>({2}, {1, std::nan("")})),
            "[tf.Identity] result 0 must be without NaN, got nan at [1] of f64[2]");
  EXPECT_EQ(ErrorOfIdentity(layer_, Dense<std::complex<float>>({2}, {{1, 2}, {3, kNan}})),
            "[tf.Identity] result 0 must be without NaN, got (3, nan) at [1] of c64[2]");
  EXPECT_EQ(ErrorOfIdentity(strict, Dense<Float16>({2}, {Float16(65504), Float16(kInf)})),
            "[tf.Identity] result 0 must be finite, got inf at [1] of f16[2]");
  EXPECT_EQ(ErrorOfIdentity(strict, Dense<BFloat16>({1}, {BFloat16(kInf)})),
            "[tf.Identity] result 0 must be finite, got inf at [0] of bf16[1]");
  EXPECT_EQ(ErrorOfIdentity(strict, Dense<double>({2}, {1e308, -HUGE_VAL})),
            "[tf.Identity] result 0 must be finite, got -inf at [1] of f64[2]");
  EXPECT_EQ(ErrorOfIdentity(strict, Dense<std::complex<float>>({1}, {{-kInf, 0}})),
            "[tf.Identity] result 0 must be finite, got (-inf, 0) at [0] of c64[1]");
  // These bits are a NaN of f32.
  EXPECT_EQ(ErrorOfIdentity(strict, Dense<int32_t>({1}, {0x7FC00000})), "");
}

TEST_F(NanGuardOpHandlerTest, OH4_EveryHostType) {
  EXPECT_EQ(ErrorOfIdentity(layer_, Spread<float>({100, 100}, kNan)),
            "[tf.Identity] result 0 must be without NaN, got nan at [0,0] of f32[100,100]");
  const TensorHandle sparse = Run("tandem.ToSparseCoo", {Dense<float>({2, 3}, {0, 1, 0, 0, kNan, 2})});
  ASSERT_TRUE(host().Await(sparse).ok());
  EXPECT_EQ(ErrorOfIdentity(layer_, sparse),
            "[tf.Identity] result 0 must be without NaN, got nan at [1,1] of f32[2,3]");
  EXPECT_EQ(ErrorOfIdentity(layer_, Spread<float>({0}, kNan)), "");
}

TEST_F(NanGuardOpHandlerTest, OH4_EachResultForItself) {
  const std::vector<TensorHandle> results =
      RunNOn(layer_, "test.error.tensor", {Dense<float>({1}, {kNan})}, 3, Attrs("num_values", 2));
  EXPECT_EQ(results[0].GetError().message(),
            "[test.error.tensor] result 0 must be without NaN, got nan at [0] of f32[1]");
  EXPECT_EQ(results[1].GetError().message(),
            "[test.error.tensor] result 1 must be without NaN, got nan at [0] of f32[1]");
  EXPECT_EQ(results[2].GetError().op(), "test.error.tensor");
  EXPECT_EQ(found_.size(), 2u);
}

// Some are looked at in the queue, by several threads.
TEST_F(NanGuardOpHandlerTest, OH4_LargeResults) {
  constexpr int64_t kSize = 1 << 20;
  for (const int64_t limit : {int64_t{-1}, int64_t{1} << 30}) {
    host().set_inline_cost_limit(limit);
    std::vector<float> values(kSize, 1.0f);
    EXPECT_EQ(ErrorOfIdentity(layer_, Dense<float>({kSize}, values)), "");
    values[kSize - 1] = values[700'001] = kNan;
    EXPECT_EQ(ErrorOfIdentity(layer_, Dense<float>({1024, 1024}, values)),
              "[tf.Identity] result 0 must be without NaN, got nan at [683,609] of f32[1024,1024]");
  }
}

TEST_F(NanGuardOpHandlerTest, OH4_OnlyReportsIfItIsToldTo) {
  OpHandler* const reporting = Add("reporting", {.fail = false});
  const TensorHandle x = Dense<float>({2}, {1, kNan});
  const TensorHandle at_once = RunOn(reporting, "tf.Identity", {x});
  EXPECT_TRUE(std::isnan(Values<float>(at_once)[1]));
  LateArgument late = Late({DType::kF32, {2}});
  const TensorHandle later = RunOn(reporting, "tf.Neg", {late.handle});
  EXPECT_EQ(found_.size(), 1u);
  late.Resolve(x);
  EXPECT_TRUE(std::isnan(Values<float>(later)[1]));
  ASSERT_EQ(found_.size(), 2u);
  EXPECT_TRUE(
      found_[1].error.starts_with("OutOfRange: [tf.Neg] result 0 must be without NaN, got nan at [1] of f32[2] ("));
  EXPECT_TRUE(diagnostics().empty());
}

TEST_F(NanGuardOpHandlerTest, OH4_WorksWithoutASink) {
  const std::unique_ptr<OpHandler> silent = CreateNanGuardOpHandler("silent", runtime(), *cpu(), {});
  EXPECT_NE(ErrorOfIdentity(silent.get(), Scalar<float>(kNan)), "");
}

// ER-3a: what follows has the way.
TEST_F(NanGuardOpHandlerTest, ER3a_DependentsSayWhereItBegan) {
  const TensorHandle bad = RunOn(layer_, "tf.Log", {Scalar<float>(-1)});
  const TensorHandle result = RunOn(layer_, "tf.Neg", {bad});
  EXPECT_EQ(result.GetError().op(), "tf.Log");
  EXPECT_EQ(result.GetError().num_steps(), 1u);
  EXPECT_EQ(found_.size(), 1u);
}

// ---- Results to come

TEST_F(NanGuardOpHandlerTest, OH4_APendingResultIsLookedAtWhenItComes) {
  for (const float value : {-1.0f, 1.0f}) {
    LateArgument late = Late({DType::kF32, {1}});
    const TensorHandle result = RunOn(layer_, "tf.Log", {late.handle});
    EXPECT_FALSE(result.IsAvailable());
    ASSERT_TRUE(result.IsMetadataAvailable());
    EXPECT_EQ(TextOf(result.metadata()), "f32[1]");
    EXPECT_EQ(result.device(), &host().device());
    late.Resolve(Dense<float>({1}, {value}));
    ASSERT_TRUE(result.IsAvailable());
    if (value > 0) {
      EXPECT_EQ(Values<float>(result), std::vector<float>{0});
    } else {
      EXPECT_EQ(result.GetError().message(), "[tf.Log] result 0 must be without NaN, got nan at [0] of f32[1]");
      EXPECT_EQ(TextOf(result.metadata()), "f32[1]");  // TH-4
    }
  }
}

TEST_F(NanGuardOpHandlerTest, OH4_APendingResultOfAnotherDTypeIsNotEvenReplaced) {
  LateArgument late = Late({DType::kI32, {1}});
  const int64_t before = host().num_pending_ops();
  const TensorHandle result = RunOn(layer_, "tf.Neg", {late.handle});
  EXPECT_EQ(host().num_pending_ops(), before + 1);
  late.Resolve(Dense<int32_t>({1}, {3}));
  EXPECT_EQ(Values<int32_t>(result), std::vector<int32_t>{-3});
}

// MD-3, MD-4: of an op without metadata function, and of arguments of which nothing is known.
TEST_F(NanGuardOpHandlerTest, MD4_MetadataComesAsEarlyAsWithoutTheGuard) {
  Producer<TensorMetadata> metadata = Producer<TensorMetadata>::Make();
  LateArgument late = {Producer<Tensor>::Make(), {}};
  const TensorHandle result =
      RunOn(layer_, "tf.Log", {TensorHandle(metadata.ref(), late.producer.ref(), &host().device())});
  EXPECT_FALSE(result.IsMetadataAvailable());
  late.producer.Construct(TensorMetadata(DType::kF32, {2}), &host().device());
  metadata.Emplace(TensorMetadata(DType::kF32, {2}));
  ASSERT_TRUE(result.IsMetadataAvailable());
  EXPECT_EQ(TextOf(result.metadata()), "f32[2]");
  EXPECT_FALSE(result.IsAvailable());
  late.Resolve(Dense<float>({2}, {1, -1}));
  EXPECT_EQ(ErrorOf(result), "[tf.Log] result 0 must be without NaN, got nan at [1] of f32[2]");

  LateArgument integers = Late({DType::kI32, {3}});
  const TensorHandle odd = RunOn(layer_, "test.odd_collector", {integers.handle});
  EXPECT_FALSE(odd.IsMetadataAvailable());
  integers.Resolve(Dense<int32_t>({3}, {1, 2, 3}));
  EXPECT_EQ(Values<int32_t>(odd), (std::vector<int32_t>{1, 3}));
}

TEST_F(NanGuardOpHandlerTest, OH4_LateErrorsArePassedOnUnchanged) {
  LateArgument late = Late({DType::kF32, {1}});
  const TensorHandle result = RunOn(layer_, "tf.Log", {late.handle});
  const Status error = Internal("came to nothing");
  late.producer.SetError(error);
  EXPECT_EQ(result.GetError(), error);
  EXPECT_TRUE(found_.empty());
}

// CA-1
TEST_F(NanGuardOpHandlerTest, CA1_PendingResultsAreCancelled) {
  const LateArgument late = Late({DType::kF32, {1}});
  const TensorHandle result = RunOn(layer_, "tf.Log", {late.handle});
  host().CancelExecution("enough");
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  EXPECT_EQ(diagnostics().size(), 1u);
  EXPECT_EQ(RunOn(layer_, "tf.Log", {Scalar<float>(1)}).GetError().code(), StatusCode::kCancelled);
}

// CA-3
TEST_F(NanGuardOpHandlerTest, CA3_WithTheirRequestAlone) {
  StatusOr<RcRef<RequestContext>> request = RequestContext::Create(host(), {});
  ASSERT_TRUE(request.ok());
  const ExecutionContext exec(host(), Location(), *request);
  LateArgument late = Late({DType::kF32, {1}});
  TensorHandle arg = late.handle.CopyRef();
  TensorHandle result;
  runtime().Execute(exec, "tf.Log", layer_, {&arg, 1}, OpAttrsRef(), {&result, 1});
  const TensorHandle other = RunOn(layer_, "tf.Log", {late.handle});
  (*request)->Cancel("enough");
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  late.Resolve(Dense<float>({1}, {1}));
  EXPECT_EQ(Values<float>(other), std::vector<float>{0});
}

TEST_F(NanGuardOpHandlerTest, OH4_FromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        const TensorHandle late = RunOn(layer_, "test.async.noop", {Scalar<float>(n % 2 == 0 ? 1.0f : -1.0f)});
        EXPECT_EQ(host().Await(RunOn(layer_, "tf.Log", {late})).ok(), n % 2 == 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found_.size(), 800u);
}

// ---- Devices

TEST_F(NanGuardOpHandlerTest, OH4_TensorsOfADeviceAreCopiedToTheHost) {
  OpHandler* const layer = Add("guarded", {}, AddRemoteHandler());
  for (const auto mode : {layer_test::Downloads::Mode::kAtOnce, layer_test::Downloads::Mode::kLate}) {
    layer_test::downloads.mode = mode;
    const TensorHandle good = RunOn(layer, "tf.Neg", {Dense<float>({2}, {1, 2})});
    const TensorHandle bad = RunOn(layer, "tf.Neg", {Dense<float>({2}, {1, kNan})});
    EXPECT_EQ(good.IsAvailable(), mode == layer_test::Downloads::Mode::kAtOnce);
    EXPECT_EQ(TextOf(good.metadata()), "f32[2]");
    layer_test::FinishDownloads();
    ASSERT_TRUE(good.IsConcrete());
    EXPECT_EQ(good.device()->name(), "remote");
    EXPECT_TRUE(good.tensor().IsA(layer_test::kRemote));
    EXPECT_EQ(static_cast<const float*>(good.tensor().data())[1], -2.0f);
    EXPECT_EQ(ErrorOf(bad), "[tf.Neg] result 0 must be without NaN, got nan at [1] of f32[2]");
  }
}

TEST_F(NanGuardOpHandlerTest, OH4_ATransferThatFailsIsTheResultsErrorUnlessItOnlyReports) {
  KernelOpHandler* const remote = AddRemoteHandler();
  OpHandler* const failing = Add("failing", {}, remote);
  OpHandler* const reporting = Add("reporting", {.fail = false}, remote);
  layer_test::downloads.mode = layer_test::Downloads::Mode::kFailing;
  EXPECT_EQ(ErrorOf(RunOn(failing, "tf.Neg", {Dense<float>({1}, {1})})), "[tandem.Transfer] the device is gone");
  EXPECT_TRUE(RunOn(reporting, "tf.Neg", {Dense<float>({1}, {1})}).IsConcrete());
}

// CA-1
TEST_F(NanGuardOpHandlerTest, CA1_ATransferThatIsLateIsCancelled) {
  OpHandler* const layer = Add("guarded", {}, AddRemoteHandler());
  layer_test::downloads.mode = layer_test::Downloads::Mode::kLate;
  const TensorHandle result = RunOn(layer, "tf.Neg", {Dense<float>({2}, {1, 2})});
  EXPECT_FALSE(result.IsAvailable());
  host().CancelExecution("enough");
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
}

// ---- Changing nothing

TEST_F(NanGuardOpHandlerTest, OH4_PassesEverythingElseThrough) { ExpectPassesThrough(layer_); }

TEST_F(NanGuardOpHandlerTest, OH4_KeepsNoTensorFromBeingTakenOver) { ExpectKeepsNoArgument(layer_); }

TEST_F(NanGuardOpHandlerTest, OH2_IsAHandlerLikeAnyOther) {
  EXPECT_EQ(runtime().FindHandler("nan-guard"), layer_);
  EXPECT_EQ(layer_->device(), &host().device());
  EXPECT_EQ(layer_->fallback(), cpu());
  EXPECT_EQ(runtime().MakeOp("tf.Log", layer_)->name(), "tf.Log");
}

// ---- ER-5

TEST_F(NanGuardOpHandlerTest, ER5_WithoutMemoryACallFails) {
  const StatusOr<Op> op = runtime().MakeOp("tf.Log", layer_);
  ASSERT_TRUE(op.ok());
  const ExecutionContext exec(host(), Location());
  LateArgument late = Late({DType::kF32, {1}});
  const TensorHandle sources[] = {Scalar<float>(1), late.handle.CopyRef()};
  std::vector<TensorHandle> results;
  results.reserve(200);
  for (const TensorHandle& source : sources) {
    const int failures = FailEachAllocation([&] {
      TensorHandle arg = source.CopyRef();
      TensorHandle& result = results.emplace_back();
      (*op)(exec, {&arg, 1}, OpAttrsRef(), {&result, 1});
      EXPECT_FALSE(arg.IsValid());
      ASSERT_TRUE(result.IsValid());
      EXPECT_TRUE(!result.IsError() || result.GetError().code() == StatusCode::kResourceExhausted);
    });
    EXPECT_GE(failures, 1);
  }
  late.Resolve(Dense<float>({1}, {1}));
  EXPECT_TRUE(results.back().IsConcrete());
  EXPECT_EQ(WithoutMemory([&] { return layer_->MakeOp("tf.Log"); }).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tandem
