// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The profile op handler: what it counts and measures by a clock of the test's, and that it changes nothing (OH-4,
// OH-2).

#include "tandem/profile_op_handler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <thread>
#include <utility>

#include "failing_heap.h"
#include "op_layer_test_fixture.h"

namespace tandem {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// The time, in nanoseconds.
std::atomic<int64_t> now{0};

// Takes as many microseconds as its argument says.
Status WorkKernel(DenseArg x, KernelFrame& frame) {
  now += static_cast<int64_t>(*x.data<float>()) * 1000;
  frame.SetResult(0, x.tensor());
  return Status();
}

class ProfileOpHandlerTest : public OpLayerTest {
 protected:
  ProfileOpHandlerTest() {
    now = 5000;
    const Status defined = runtime().registry().RegisterAll(
        {OpDefBuilder("layer.Work").Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>()});
    EXPECT_TRUE(defined.ok());
    AddKernel(*cpu(), "layer.Work", MakeKernel<&WorkKernel>());
    layer_ = runtime().AddHandler(CreateProfileOpHandler("profile", runtime(), *cpu(), profile_));
  }

  // The only entry.
  OpProfile Entry() {
    const std::vector<OpProfile> entries = profile_->Entries();
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? OpProfile() : entries[0];
  }

  const RcRef<Profile> profile_ = MakeRef<Profile>([] { return nanoseconds(now.load()); });
  OpHandler* layer_ = nullptr;
};

// ---- What is counted

TEST_F(ProfileOpHandlerTest, OH4_TimesOfCallsAndResults) {
  for (const float duration : {3.0f, 1.0f, 7.0f}) RunOn(layer_, "layer.Work", {Dense<float>({1}, {duration})});
  const OpProfile entry = Entry();
  EXPECT_EQ(entry.op, "layer.Work");
  EXPECT_EQ(entry.dtype, DType::kF32);
  EXPECT_EQ(entry.calls, 3);
  EXPECT_EQ(entry.pending + entry.errors + entry.dropped, 0);
  EXPECT_EQ(entry.result_bytes, 12u);
  for (const ProfileTimes& times : {entry.call, entry.results}) {
    EXPECT_EQ(times.count, 3);
    EXPECT_EQ(times.total, microseconds(11));
    EXPECT_EQ(times.min, microseconds(1));
    EXPECT_EQ(times.max, microseconds(7));
  }
}

TEST_F(ProfileOpHandlerTest, OH4_ByDTypeOfTheFirstArgument) {
  RunOn(layer_, "tf.Neg", {Dense<float>({3}, {1, 2, 3})});
  RunOn(layer_, "tf.Neg", {Dense<int32_t>({2}, {1, 2})});
  RunOn(layer_, "tf.Neg", {Dense<int32_t>({2}, {1, 2})});
  RunOn(layer_, "test.create_dense_tensor", {},
        Attrs("shape", std::vector<int64_t>{2}, "values", std::vector<int64_t>{1, 2}));
  RunOn(layer_, "tf.Identity", {Strings({1}, {"abc"})});
  const std::vector<OpProfile> entries = profile_->Entries();  // of one time, so by name
  ASSERT_EQ(entries.size(), 4u);
  const std::tuple<std::string, DType, int64_t, uint64_t> expected[] = {
      {"test.create_dense_tensor", DType::kInvalid, 1, 16},
      {"tf.Identity", DType::kString, 1, 0},
      {"tf.Neg", DType::kI32, 2, 16},
      {"tf.Neg", DType::kF32, 1, 12},
  };
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::make_tuple(entries[i].op, entries[i].dtype, entries[i].calls, entries[i].result_bytes), expected[i]);
  }
}

TEST_F(ProfileOpHandlerTest, OH4_APendingResultIsTimedWhenItComes) {
  LateArgument late = Late({DType::kF32, {2}});
  const TensorHandle result = RunOn(layer_, "layer.Increment", {late.handle});
  EXPECT_FALSE(result.IsAvailable());
  EXPECT_EQ(Entry().calls, 1);
  EXPECT_EQ(Entry().pending, 1);
  EXPECT_EQ(Entry().call.count, 1);
  EXPECT_EQ(Entry().results.count, 0);
  now += 42000;
  late.Resolve(Dense<float>({2}, {1, 2}));
  now += 1000000;
  EXPECT_EQ(Values<float>(result), (std::vector<float>{2, 3}));
  EXPECT_EQ(Entry().pending, 0);
  EXPECT_EQ(Entry().call.total, nanoseconds(0));
  EXPECT_EQ(Entry().results.count, 1);
  EXPECT_EQ(Entry().results.total, microseconds(42));
  EXPECT_EQ(Entry().result_bytes, 8u);
}

TEST_F(ProfileOpHandlerTest, OH4_TheLastOfSeveralResultsCounts) {
  LateArgument late = Late({DType::kF32, {2}});
  const std::vector<TensorHandle> results = RunNOn(layer_, "layer.Mixed", {late.handle}, 2);
  EXPECT_EQ(Entry().pending, 1);
  now += 1000;
  late.Resolve(Dense<float>({2}, {1, 2}));
  EXPECT_EQ(Entry().pending, 0);
  EXPECT_EQ(Entry().errors, 1);  // of the call, whose second result is one
  EXPECT_EQ(Entry().result_bytes, 8u);
  EXPECT_EQ(Entry().results.count, 1);
}

TEST_F(ProfileOpHandlerTest, OH4_ErrorsAtOnceAndLater) {
  RunOn(layer_, "layer.Fail", {Dense<float>({1}, {1})});
  EXPECT_EQ(Entry().errors, 1);
  EXPECT_EQ(Entry().results.count, 1);
  EXPECT_EQ(Entry().result_bytes, 0u);
  LateArgument late = Late({DType::kF32, {1}});
  const TensorHandle result = RunOn(layer_, "layer.Fail", {late.handle});
  EXPECT_EQ(Entry().errors, 1);
  late.Resolve(Dense<float>({1}, {1}));
  EXPECT_TRUE(result.IsError());
  EXPECT_EQ(Entry().errors, 2);
  late = Late({DType::kF32, {1}});
  const TensorHandle abandoned = RunOn(layer_, "layer.Fail", {late.handle});
  late.producer = {};
  EXPECT_TRUE(abandoned.IsError());
  EXPECT_EQ(Entry().errors, 3);
}

// CA-1
TEST_F(ProfileOpHandlerTest, OH4_CancelledCallsAreErrors) {
  const LateArgument late = Late({DType::kF32, {1}});
  const TensorHandle result = RunOn(layer_, "layer.Increment", {late.handle});
  now += 2000;
  host().CancelExecution("enough");
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  EXPECT_EQ(Entry().errors, 1);
  EXPECT_EQ(Entry().pending, 0);
  EXPECT_EQ(Entry().results.total, microseconds(2));
}

TEST_F(ProfileOpHandlerTest, OH4_TheChainStandsForResultsThatAnOpLacks) {
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunNOn(layer_, "layer.Effect", {}, 0, {}, &chain);
  EXPECT_EQ(Entry().results.count, 1);
  RcRef<ConcreteAsyncValue<Chain>> before = MakeUnconstructed<Chain>();
  chain = AsyncValueRef<Chain>(RcRef<AsyncValue>(before));
  RunNOn(layer_, "layer.Effect", {}, 0, {}, &chain);
  EXPECT_EQ(Entry().pending, 1);
  now += 8000;
  before->Emplace();
  EXPECT_TRUE(chain.IsConcrete());
  EXPECT_EQ(Entry().pending, 0);
  EXPECT_EQ(Entry().results.total, microseconds(8));
  chain = AsyncValueRef<Chain>::MakeError(Internal("before"));
  RunNOn(layer_, "layer.Effect", {}, 0, {}, &chain);
  EXPECT_EQ(Entry().errors, 1);
}

// A handler whose results nobody ends.
class ForgetfulOp final : public OpImpl {
 public:
  ForgetfulOp() : OpImpl("layer.Increment") {}
  void Invoke(const OpInvocation& invocation) const override {
    for (TensorHandle& arg : invocation.args) arg.reset();
    const HostContext& host = invocation.exec.host();
    for (TensorHandle& result : invocation.results) {
      RcRef<TensorValue> value =
          MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {1}), &host.device());
      result = TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(value))), &host.device());
    }
  }
};
class ForgetfulHandler final : public OpHandler {
 public:
  explicit ForgetfulHandler(CoreRuntime& runtime) : OpHandler("forgetful", runtime, &runtime.null_handler()) {}
  StatusOr<Op> MakeOp(std::string_view) override { return Op(MakeRef<const ForgetfulOp>()); }
};

TEST_F(ProfileOpHandlerTest, OH4_AResultThatDiesWhilePendingIsDropped) {
  OpHandler* const forgetful = runtime().AddHandler(std::make_unique<ForgetfulHandler>(runtime()));
  OpHandler* const layer = runtime().AddHandler(CreateProfileOpHandler("over", runtime(), *forgetful, profile_));
  TensorHandle result = RunOn(layer, "layer.Increment", {Dense<float>({1}, {1})});
  EXPECT_EQ(Entry().pending, 1);
  EXPECT_EQ(Entry().dropped, 0);
  result.reset();
  EXPECT_EQ(Entry().pending, 0);
  EXPECT_EQ(Entry().dropped, 1);
  EXPECT_EQ(Entry().results.count, 0);
  // AV-6: also where nobody asks any more.
  RunOn(layer, "layer.Increment", {Dense<float>({1}, {1})}).reset();
}

TEST_F(ProfileOpHandlerTest, OH4_ResetForgetsWhatIsPendingToo) {
  RunOn(layer_, "layer.Fail", {Dense<float>({1}, {1})});
  LateArgument late = Late({DType::kF32, {2}});
  const TensorHandle result = RunOn(layer_, "layer.Increment", {late.handle});
  profile_->Reset();
  EXPECT_TRUE(profile_->Entries().empty());
  late.Resolve(Dense<float>({2}, {1, 2}));
  EXPECT_TRUE(result.IsConcrete());
  EXPECT_TRUE(profile_->Entries().empty());
  RunOn(layer_, "layer.Increment", {Dense<float>({1}, {1})});
  EXPECT_EQ(Entry().calls, 1);
  EXPECT_EQ(Entry().pending, 0);
}

TEST_F(ProfileOpHandlerTest, OH4_WhatTakesMostTimeComesFirst) {
  RunOn(layer_, "tf.Neg", {Dense<float>({1}, {1})});
  RunOn(layer_, "layer.Work", {Dense<float>({1}, {2})});
  LateArgument late = Late({DType::kF32, {2}});
  const TensorHandle result = RunOn(layer_, "tf.Abs", {late.handle});
  now += 3000;
  late.Resolve(Dense<float>({2}, {1, 2}));
  const std::vector<OpProfile> entries = profile_->Entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].op, "tf.Abs");
  EXPECT_EQ(entries[1].op, "layer.Work");
  EXPECT_EQ(entries[2].op, "tf.Neg");
}

TEST_F(ProfileOpHandlerTest, OH4_TableOfAlignedColumns) {
  EXPECT_EQ(profile_->ToText(),
            "op  dtype  calls  pending  errors  dropped  call total/us  call min/us  call max/us  results total/us  "
            "results min/us  results max/us  results/B\n");
  RunOn(layer_, "layer.Work", {Dense<float>({1}, {1200})});
  RunOn(layer_, "layer.Work", {Dense<float>({1}, {34})});
  now += 7;
  RunOn(layer_, "layer.Fail", {TensorHandle()});
  EXPECT_EQ(profile_->ToText(),
            "op          dtype  calls  pending  errors  dropped  call total/us  call min/us  call max/us  "
            "results total/us  results min/us  results max/us  results/B\n"
            "layer.Work  f32        2        0       0        0       1234.000       34.000     1200.000  "
            "        1234.000          34.000        1200.000          8\n"
            "layer.Fail  -          1        0       1        0          0.000        0.000        0.000  "
            "           0.000           0.000           0.000          0\n");
}

TEST_F(ProfileOpHandlerTest, OH4_TheSteadyClockIfNoneIsGiven) {
  const RcRef<Profile> profile = MakeRef<Profile>();
  OpHandler* const layer = runtime().AddHandler(CreateProfileOpHandler("steady", runtime(), *cpu(), profile));
  RunOn(layer, "tf.Neg", {Dense<float>({1}, {1})});
  const std::vector<OpProfile> entries = profile->Entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_GE(entries[0].call.min, nanoseconds(0));
  EXPECT_LE(entries[0].call.max, entries[0].results.max);
}

TEST_F(ProfileOpHandlerTest, OH4_FromSeveralThreads) {
  constexpr int kThreads = 16;
  constexpr int kCalls = 100;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kCalls; ++n) {
        const auto value = static_cast<float>(i);
        const TensorHandle late = RunOn(layer_, "test.async.noop", {Dense<float>({1}, {value})});
        const TensorHandle sum = RunOn(layer_, "layer.Increment", {late});
        EXPECT_EQ(Values<float>(sum), std::vector<float>{value + 1});
        if (n % 10 == 0) profile_->Entries();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  host().Quiesce();
  const std::vector<OpProfile> entries = profile_->Entries();
  ASSERT_EQ(entries.size(), 2u);
  for (const OpProfile& entry : entries) {
    EXPECT_EQ(entry.calls, kThreads * kCalls) << entry.op;
    EXPECT_EQ(entry.pending + entry.errors + entry.dropped, 0) << entry.op;
    EXPECT_EQ(entry.results.count, kThreads * kCalls) << entry.op;
    EXPECT_EQ(entry.result_bytes, 4u * kThreads * kCalls) << entry.op;
  }
}

// ---- Changing nothing

TEST_F(ProfileOpHandlerTest, OH4_PassesEverythingThrough) { ExpectPassesThrough(layer_); }

TEST_F(ProfileOpHandlerTest, OH4_KeepsNoTensorFromBeingTakenOver) { ExpectKeepsNoArgument(layer_); }

TEST_F(ProfileOpHandlerTest, OH2_IsAHandlerLikeAnyOther) {
  EXPECT_EQ(runtime().FindHandler("profile"), layer_);
  EXPECT_EQ(layer_->device(), &host().device());
  EXPECT_EQ(layer_->fallback(), cpu());
  const StatusOr<Op> op = runtime().MakeOp("layer.Increment", layer_);
  ASSERT_TRUE(op.ok());
  EXPECT_EQ(op->name(), "layer.Increment");
  EXPECT_FALSE(op->impl()->is_removable());
  EXPECT_TRUE(profile_->Entries().empty());
}

TEST_F(ProfileOpHandlerTest, OH4_OutlivesTheRuntime) {
  const RcRef<Profile> profile = MakeRef<Profile>();
  LateArgument late = Late({DType::kF32, {1}});
  TensorHandle result;
  {
    HostContext::Options options;
    options.work_queue = CreateSingleThreadedWorkQueue();
    CoreRuntime other(std::move(options));
    ASSERT_TRUE(RegisterAllOps(other.registry()).ok());
    const StatusOr<KernelOpHandler*> cpu = CreateCpuOpHandler(other);
    ASSERT_TRUE(cpu.ok());
    OpHandler* const layer = other.AddHandler(CreateProfileOpHandler("profile", other, **cpu, profile));
    LateArgument own = {Producer<Tensor>::MakeConstructed(TensorMetadata(DType::kF32, {1}), &other.host().device()),
                        {}};
    own.handle = TensorHandle(own.producer.ref(), &other.host().device());
    late = std::move(own);
    TensorHandle arg = late.handle.CopyRef();
    other.Execute("tf.Neg", layer, Location(), {&arg, 1}, OpAttrsRef(), {&result, 1});
  }
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  const std::vector<OpProfile> entries = profile->Entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].errors, 1);
}

// ---- ER-5

TEST_F(ProfileOpHandlerTest, ER5_WithoutMemoryACallGoesOnUnmeasured) {
  const StatusOr<Op> op = runtime().MakeOp("layer.Increment", layer_);
  ASSERT_TRUE(op.ok());
  const ExecutionContext exec(host(), Location());
  LateArgument late = Late({DType::kF32, {1}});
  std::vector<TensorHandle> results;
  results.reserve(100);
  const int failures = FailEachAllocation([&] {
    TensorHandle arg = late.handle.CopyRef();
    TensorHandle& result = results.emplace_back();
    (*op)(exec, {&arg, 1}, OpAttrsRef(), {&result, 1});
    EXPECT_TRUE(result.IsValid());
  });
  EXPECT_GE(failures, 3);
  late.Resolve(Dense<float>({1}, {1}));
  int64_t num_errors = 0;
  for (const TensorHandle& result : results) {
    num_errors += result.IsError() ? 1 : 0;
    EXPECT_TRUE(result.IsConcrete() || result.GetError().code() == StatusCode::kResourceExhausted);
  }
  const OpProfile entry = Entry();
  EXPECT_EQ(entry.calls, static_cast<int64_t>(results.size()));
  EXPECT_EQ(entry.errors, num_errors);
  EXPECT_EQ(entry.dropped, 2);  // for want of what waits, and of what is waited with
  EXPECT_EQ(entry.pending, 0);
}

TEST_F(ProfileOpHandlerTest, ER5_WithoutMemoryAnOpCannotBeMade) {
  EXPECT_EQ(WithoutMemory([&] { return layer_->MakeOp("layer.Increment"); }).status().code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tandem
