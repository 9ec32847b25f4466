// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The logging handler: what it prints of calls and tensors, that it neither waits nor changes anything (OH-3, OH-2).

#include "tandem/logging_op_handler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "host_values.h"
#include "tandem/host_context.h"
#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/metadata_functions.h"

namespace tandem {
namespace {

using std::string_view_literals::operator""sv;

constexpr TensorType kForeign{"foreign_type"};

using Lines = std::vector<std::string>;

// ---- Text of tensors

std::string Shown(const Tensor& tensor, int max_elements = 8) {
  MessageBuilder out;
  AppendTensor(out, tensor, max_elements);
  return std::string(out.view());
}

class AppendTensorTest : public testing::Test {
 protected:
  const HostMemory host_;
};

// OH-3
TEST_F(AppendTensorTest, EveryDType) {
  EXPECT_EQ(Shown(host_.Dense<bool>({2}, {true, false})), "bool[2] = [true, false]");
  EXPECT_EQ(Shown(host_.Dense<uint8_t>({2}, {0, 255})), "u8[2] = [0, 255]");
  EXPECT_EQ(Shown(host_.Dense<int8_t>({2}, {-128, 65})), "i8[2] = [-128, 65]");
  EXPECT_EQ(Shown(host_.Dense<uint16_t>({1}, {65535})), "u16[1] = [65535]");
  EXPECT_EQ(Shown(host_.Dense<int16_t>({1}, {-32768})), "i16[1] = [-32768]");
  EXPECT_EQ(Shown(host_.Dense<int32_t>({1}, {INT32_MIN})), "i32[1] = [-2147483648]");
  EXPECT_EQ(Shown(host_.Dense<uint32_t>({1}, {UINT32_MAX})), "u32[1] = [4294967295]");
  EXPECT_EQ(Shown(host_.Dense<int64_t>({1}, {INT64_MIN})), "i64[1] = [-9223372036854775808]");
  EXPECT_EQ(Shown(host_.Dense<uint64_t>({1}, {UINT64_MAX})), "u64[1] = [18446744073709551615]");
  EXPECT_EQ(Shown(host_.Dense<Float16>({2}, {Float16(1.5f), Float16(-0.0f)})), "f16[2] = [1.5, -0]");
  EXPECT_EQ(Shown(host_.Dense<BFloat16>({1}, {BFloat16(-2.0f)})), "bf16[1] = [-2]");
  EXPECT_EQ(Shown(host_.Dense<float>({3}, {0.1f, HUGE_VALF, -HUGE_VALF})), "f32[3] = [0.1, inf, -inf]");
  EXPECT_EQ(Shown(host_.Dense<double>({2}, {0.1, std::nan("")})), "f64[2] = [0.1, nan]");
  EXPECT_EQ(Shown(host_.Dense<std::complex<float>>({1}, {{1, -2}})), "c64[1] = [(1, -2)]");
  EXPECT_EQ(Shown(host_.Strings({2}, {"a", "b c"})), R"(string[2] = ["a", "b c"])");
}

// OH-3
TEST_F(AppendTensorTest, EveryRankAndEmptiness) {
  EXPECT_EQ(Shown(host_.Dense<float>({}, {7})), "f32[] = [7]");
  EXPECT_EQ(Shown(host_.Dense<int32_t>({2, 2}, {1, 2, 3, 4})), "i32[2,2] = [1, 2, 3, 4]");
  EXPECT_EQ(Shown(host_.Dense<float>({0, 3}, {})), "f32[0,3] = []");
  EXPECT_EQ(Shown(host_.Strings({0}, {})), "string[0] = []");
}

// OH-3
TEST_F(AppendTensorTest, EveryTensorType) {
  EXPECT_EQ(Shown(host_.Scalar<float>({1000, 1000}, 2.5f)), "f32[1000,1000] = all 2.5");
  const StatusOr<Tensor> sparse = ToSparseCoo(host_.Dense<int32_t>({2, 3}, {0, 5, 0, 0, 0, 6}), *host_.allocator);
  EXPECT_EQ(Shown(*sparse), "i32[2,3] sparse, indices i64[2,2] = [0, 1, 1, 2], values i32[2] = [5, 6]");
  EXPECT_EQ(Shown(Tensor({DType::kF32, {2}}, &host_.device, kForeign, nullptr, nullptr)), "f32[2] as foreign_type");
}

// OH-3
TEST_F(AppendTensorTest, SomeElementsStandForMany) {
  const Tensor tensor = host_.Dense<int32_t>({4}, {1, 2, 3, 4});
  EXPECT_EQ(Shown(tensor, 4), "i32[4] = [1, 2, 3, 4]");
  EXPECT_EQ(Shown(tensor, 3), "i32[4] = [1, 2, 3, ...]");
  EXPECT_EQ(Shown(tensor, 0), "i32[4] = [...]");
  EXPECT_EQ(Shown(tensor, -5), "i32[4] = [...]");
  EXPECT_EQ(Shown(host_.Dense<float>({0}, {}), 0), "f32[0] = []");
}

// OH-3
TEST_F(AppendTensorTest, StringsStayOnOneLine) {
  EXPECT_EQ(Shown(host_.Strings({2}, {"two\nlines", "\"\0"sv})), R"(string[2] = ["two\nlines", "\"\x00"])");
}

// OH-3
TEST_F(AppendTensorTest, LongTextIsCut) {
  StatusOr<Tensor> tensor = AllocateDense({DType::kI64, {1 << 20}}, host_.device, *host_.allocator);
  std::fill_n(static_cast<int64_t*>(tensor->mutable_data()), 1 << 20, INT64_MIN);
  const std::string text = Shown(*tensor, std::numeric_limits<int>::max());
  EXPECT_EQ(text.size(), MessageBuilder::kCapacity);
  EXPECT_TRUE(text.ends_with("..."));
  const std::string large(1 << 20, 'x');
  EXPECT_TRUE(Shown(host_.Strings({1}, {large})).ends_with("..."));
}

// ---- Ops

// Adds one; takes its argument's memory over if it may.
Status IncrementKernel(DenseArg x, KernelFrame& frame) {
  auto* y = frame.ForwardOrAllocateResult<float>(0, {0});
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = x.data<float>()[i] + 1;
  return Status();
}
Status FailKernel(KernelFrame&) { return InvalidArgument("never works"); }
// A value and an error.
Status MixedKernel(const Tensor& x, KernelFrame& frame) {
  frame.SetResult(0, x);
  frame.SetError(1, Internal("half of it failed"));
  return Status();
}
// Gives its result in a task of the queue.
AsyncValueRef<Tensor> QueuedKernel(const Tensor& x, KernelFrame& frame) {
  RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  frame.exec().work_queue().AddTask([value, x] { value->Emplace(x); });
  return AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(value)));
}
Status CopyKernel(const Tensor& x, KernelFrame& frame) {
  frame.SetResult(0, x);
  return Status();
}
Status EffectKernel(KernelFrame&) { return Status(); }

std::array<TensorMetadata, 2> TwiceMetadata(const TensorMetadata& x) { return {x, x}; }
StatusOr<std::array<TensorMetadata, 2>> MixedMetadata(const TensorMetadata& x) { return TwiceMetadata(x); }
StatusOr<TensorMetadata> RejectingMetadata(const TensorMetadata&) { return InvalidArgument("never fits"); }

class LoggingOpHandlerTest : public testing::Test {
 protected:
  LoggingOpHandlerTest() { Start({}, CreateSingleThreadedWorkQueue()); }

  // A runtime with a host handler and a logging handler over it.
  void Start(LoggingOptions logging, std::unique_ptr<WorkQueue> queue) {
    runtime_.reset();
    HostContext::Options options;
    options.work_queue = std::move(queue);
    options.diagnostic_handler = [this](const Status& error) {
      const std::lock_guard lock(mutex_);
      diagnostics_.push_back(error);
    };
    runtime_.emplace(std::move(options));
    const auto float_op = [](std::string_view name) {
      return OpDefBuilder(name).Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>();
    };
    EXPECT_TRUE(
        runtime_->registry()
            .RegisterAll({
                float_op("test.Increment"),
                float_op("test.Fail"),
                float_op("test.Queued"),
                OpDefBuilder("test.Copy").Input("x: T").Output("y: T").Attr("T: type").Metadata<&UnchangedMetadata>(),
                OpDefBuilder("test.Mixed")
                    .Input("x: float")
                    .Output("y: float")
                    .Output("z: float")
                    .Metadata<&MixedMetadata>(),
                OpDefBuilder("test.Reject").Input("x: float").Output("y: float").Metadata<&RejectingMetadata>(),
                OpDefBuilder("test.Attrs")
                    .Input("x: float")
                    .Output("y: float")
                    .Metadata<&UnchangedMetadata>()
                    .Attr("zebra: int = 1")
                    .Attr("apple: bool = false")
                    .Attr("mango: string = ''"),
                OpDefBuilder("test.Effect").SideEffects(),
                float_op("test.Undone"),
            })
            .ok());
    auto host =
        std::make_unique<KernelOpHandler>("host", *runtime_, nullptr, memory_.device, KernelOpHandler::Policy());
    EXPECT_TRUE(host->AddKernel("test.Increment", MakeKernel<&IncrementKernel>()).ok());
    EXPECT_TRUE(host->AddKernel("test.Fail", MakeKernel<&FailKernel>()).ok());
    EXPECT_TRUE(host->AddKernel("test.Queued", MakeKernel<&QueuedKernel>()).ok());
    EXPECT_TRUE(host->AddKernel("test.Copy", DTypeSet::All(), MakeKernel<&CopyKernel>()).ok());
    EXPECT_TRUE(host->AddKernel("test.Mixed", MakeKernel<&MixedKernel>()).ok());
    EXPECT_TRUE(host->AddKernel("test.Reject", MakeKernel<&CopyKernel>()).ok());
    EXPECT_TRUE(host->AddKernel("test.Attrs", MakeKernel<&CopyKernel>()).ok());
    EXPECT_TRUE(host->AddKernel("test.Effect", MakeKernel<&EffectKernel>()).ok());
    host_handler_ = runtime_->AddHandler(std::move(host));
    if (logging.sink == nullptr) logging.sink = [this](std::string_view line) { Note(line); };
    log_handler_ = runtime_->AddHandler(CreateLoggingOpHandler("log", *runtime_, *host_handler_, std::move(logging)));
  }

  void Note(std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }
  Lines TakeLines() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

  TensorHandle Floats(std::initializer_list<float> values) const {
    return TensorHandle::MakeAvailable(memory_.Dense<float>({static_cast<int64_t>(values.size())}, values));
  }
  TensorHandle Run(std::string_view op, TensorHandle arg, const OpAttrsRef& attrs = {}) {
    TensorHandle result;
    runtime_->Execute(op, log_handler_, Location::Current(), {&arg, 1}, attrs, {&result, 1});
    EXPECT_FALSE(arg.IsValid());
    return result;
  }

  const HostMemory memory_;
  std::mutex mutex_;
  Lines lines_;
  std::vector<Status> diagnostics_;
  std::optional<CoreRuntime> runtime_;
  OpHandler* host_handler_ = nullptr;
  OpHandler* log_handler_ = nullptr;
};

// ---- Lines

// OH-3
TEST_F(LoggingOpHandlerTest, PrintsCallInputsAndOutputs) {
  const TensorHandle result = Run("test.Increment", Floats({1, 2}));
  EXPECT_EQ(Elements<float>(result.tensor()), (std::vector<float>{2, 3}));
  EXPECT_EQ(TakeLines(),
            (Lines{"[1] test.Increment", "[1]   input 0: f32[2] = [1, 2]", "[1]   output 0: f32[2] = [2, 3]"}));
}

// OH-3
TEST_F(LoggingOpHandlerTest, NumbersCallsFromOne) {
  static_cast<void>(Run("test.Increment", Floats({1})));
  static_cast<void>(Run("test.Fail", Floats({1})));
  const Lines lines = TakeLines();
  ASSERT_EQ(lines.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(lines[i].starts_with(i < 3 ? "[1] " : "[2] ")) << lines[i];
}

// OH-3
TEST_F(LoggingOpHandlerTest, SortsAttributes) {
  OpAttrs attrs;
  attrs.Set("zebra", int64_t{3});
  attrs.Set("apple", true);
  attrs.Set("mango", "ripe\n");
  static_cast<void>(Run("test.Attrs", Floats({1}), attrs));
  EXPECT_EQ(TakeLines()[0], R"([1] test.Attrs {apple = true, mango = "ripe\n", zebra = 3})");
  // Frozen or not.
  static_cast<void>(Run("test.Attrs", Floats({1}), attrs.Freeze()));
  EXPECT_EQ(TakeLines()[0], R"([2] test.Attrs {apple = true, mango = "ripe\n", zebra = 3})");
  // Those that were not given are not printed.
  static_cast<void>(Run("test.Attrs", Floats({1})));
  EXPECT_EQ(TakeLines()[0], "[3] test.Attrs");
}

// OH-3
TEST_F(LoggingOpHandlerTest, PrintsEveryTensorType) {
  const StatusOr<Tensor> sparse = ToSparseCoo(memory_.Dense<float>({2}, {0, 5}), *memory_.allocator);
  const std::pair<Tensor, std::string> tensors[] = {
      {memory_.Scalar<double>({100}, 2), "f64[100] = all 2"},
      {memory_.Strings({1}, {"text"}), R"(string[1] = ["text"])"},
      {*sparse, "f32[2] sparse, indices i64[1,1] = [1], values f32[1] = [5]"},
      {Tensor({DType::kF32, {2}}, &memory_.device, kForeign, nullptr, nullptr), "f32[2] as foreign_type"},
  };
  for (const auto& [tensor, text] : tensors) {
    const TensorHandle result = Run("test.Copy", TensorHandle::MakeAvailable(tensor));
    ASSERT_TRUE(result.IsConcrete()) << TextOf(result);
    const Lines lines = TakeLines();
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_TRUE(lines[1].ends_with("input 0: " + text)) << lines[1];
    EXPECT_TRUE(lines[2].ends_with("output 0: " + text)) << lines[2];
  }
}

// OH-3
TEST_F(LoggingOpHandlerTest, PrintsErrorsOfKernelMetadataAndCall) {
  static_cast<void>(Run("test.Fail", Floats({1})));
  EXPECT_EQ(TakeLines().back(), "[1]   output 0: error: [test.Fail] never works");
  static_cast<void>(Run("test.Reject", Floats({1})));
  EXPECT_EQ(TakeLines().back(), "[2]   output 0: error: [test.Reject] never fits");
  static_cast<void>(Run("test.Increment", TensorHandle()));
  EXPECT_EQ(TakeLines(),
            (Lines{"[3] test.Increment", "[3]   input 0: null",
                   "[3]   output 0: error: [test.Increment] argument 0 (x) must be a tensor, got a null handle"}));
}

// OH-3
TEST_F(LoggingOpHandlerTest, PrintsErrorsAmongTheInputs) {
  static_cast<void>(Run("test.Increment", TensorHandle::MakeError(Internal("broken before"))));
  EXPECT_EQ(TakeLines(), (Lines{"[1] test.Increment", "[1]   input 0: error: broken before",
                                "[1]   output 0: error: broken before"}));
}

// OH-3, DI-3
TEST_F(LoggingOpHandlerTest, PrintsEachOfSeveralResults) {
  TensorHandle arg = Floats({1});
  TensorHandle results[2];
  runtime_->Execute("test.Mixed", log_handler_, Location(), {&arg, 1}, OpAttrsRef(), results);
  const Lines lines = TakeLines();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2], "[1]   output 0: f32[1] = [1]");
  EXPECT_EQ(lines[3], "[1]   output 1: error: [test.Mixed] half of it failed");
}

// OH-3
TEST_F(LoggingOpHandlerTest, ShowsAsManyElementsAsItIsTold) {
  LoggingOptions options;
  options.max_elements = 2;
  Start(std::move(options), CreateSingleThreadedWorkQueue());
  static_cast<void>(Run("test.Increment", Floats({1, 2, 3})));
  EXPECT_EQ(TakeLines()[1], "[1]   input 0: f32[3] = [1, 2, ...]");
}

// OH-3
TEST_F(LoggingOpHandlerTest, ThreadsGetNumbersOfTheirOwnAndWholeLines) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 100;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kCalls; ++n) {
        const auto value = static_cast<float>(i);
        const TensorHandle result = Run("test.Increment", Floats({value}));
        ASSERT_EQ(Elements<float>(result.tensor()), std::vector<float>{value + 1});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> lines;
  for (const std::string& line : TakeLines()) EXPECT_TRUE(lines.insert(line).second) << line;
  EXPECT_EQ(lines.size(), 3u * kThreads * kCalls);
  for (int n = 1; n <= kThreads * kCalls; ++n) {
    EXPECT_TRUE(lines.contains(TextOf("[", n, "] test.Increment"))) << n;
  }
}

// ---- Without waiting

// OH-3: the input's state is that of the moment, the output comes when it comes.
TEST_F(LoggingOpHandlerTest, PrintsAPendingResultWhenItComes) {
  RcRef<TensorValue> value =
      MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {2}), &memory_.device);
  const TensorHandle result =
      Run("test.Increment", TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device));
  EXPECT_FALSE(result.IsAvailable());
  EXPECT_EQ(TakeLines(), (Lines{"[1] test.Increment", "[1]   input 0: pending f32[2] on cpu"}));
  // Another call meanwhile.
  static_cast<void>(Run("test.Increment", Floats({8})));
  EXPECT_EQ(TakeLines().back(), "[2]   output 0: f32[1] = [9]");
  value->value().TakePayload(memory_.Dense<float>({2}, {1, 2}));
  value.release()->SetConcreteAndDropRef();
  EXPECT_TRUE(result.IsConcrete());
  EXPECT_EQ(TakeLines(), Lines{"[1]   output 0: f32[2] = [2, 3]"});
}

// OH-3
TEST_F(LoggingOpHandlerTest, PrintsALateErrorWhenItComes) {
  RcRef<TensorValue> value =
      MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {2}), &memory_.device);
  const TensorHandle result =
      Run("test.Increment", TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device));
  TakeLines();
  value->SetError(Internal("came to nothing"));
  EXPECT_TRUE(result.IsError());
  EXPECT_EQ(TakeLines(), Lines{"[1]   output 0: error: came to nothing"});
}

// OH-3
TEST_F(LoggingOpHandlerTest, NeverWaitsForTheQueue) {
  const TensorHandle result = Run("test.Queued", Floats({1}));
  EXPECT_FALSE(result.IsAvailable());
  EXPECT_EQ(TakeLines().size(), 2u);
  runtime_->host().Quiesce();
  EXPECT_TRUE(result.IsConcrete());
  EXPECT_EQ(TakeLines(), Lines{"[1]   output 0: f32[1] = [1]"});
}

// CA-1: what is cancelled with the runtime is still printed, though the handler is about to go.
TEST_F(LoggingOpHandlerTest, PrintsWhatTheEndOfTheRuntimeCancels) {
  const RcRef<TensorValue> value =
      MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {2}), &memory_.device);
  const TensorHandle result =
      Run("test.Increment", TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device));
  TakeLines();
  runtime_.reset();
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  EXPECT_EQ(TakeLines(), Lines{"[1]   output 0: error: [test.Increment] the runtime is being destroyed"});
  value->SetError(Internal("too late"));
  EXPECT_TRUE(TakeLines().empty());
}

// ---- Waiting

// OH-3
TEST_F(LoggingOpHandlerTest, WaitsIfItIsToldTo) {
  for (const bool has_workers : {false, true}) {
    LoggingOptions options;
    options.synchronous = true;
    Start(std::move(options), has_workers ? CreateMultiThreadedWorkQueue(2) : CreateSingleThreadedWorkQueue());
    const TensorHandle result = Run("test.Queued", Floats({1}));
    EXPECT_TRUE(result.IsConcrete());
    EXPECT_EQ(TakeLines().back(), "[1]   output 0: f32[1] = [1]");
    static_cast<void>(Run("test.Fail", Floats({1})));
    EXPECT_EQ(TakeLines().back(), "[2]   output 0: error: [test.Fail] never works");
  }
}

// OH-3: where it cannot wait it prints what it has.
TEST_F(LoggingOpHandlerTest, PrintsPendingWhereItCannotWait) {
  LoggingOptions options;
  options.synchronous = true;
  Start(std::move(options), CreateSingleThreadedWorkQueue(/*may_block=*/false));
  const RcRef<TensorValue> value =
      MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {2}), &memory_.device);
  const TensorHandle result =
      Run("test.Increment", TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device));
  EXPECT_EQ(TakeLines().back(), "[1]   output 0: pending f32[2] on cpu");
  value->SetError(Internal("x"));
  EXPECT_TRUE(result.IsError());
}

// ---- Changing nothing

// OH-3
TEST_F(LoggingOpHandlerTest, ResultsAreThoseOfTheHandlerBelow) {
  for (const std::string_view op : {"test.Increment", "test.Fail", "test.Reject", "test.Undone", "test.None"}) {
    TensorHandle results[2];
    OpHandler* handlers[] = {host_handler_, log_handler_};
    diagnostics_.clear();
    for (int i = 0; i < 2; ++i) {
      TensorHandle arg = Floats({1, 2});
      runtime_->Execute(op, handlers[i], Location::Current(), {&arg, 1}, OpAttrsRef(), {&results[i], 1});
      EXPECT_FALSE(arg.IsValid());
    }
    ASSERT_EQ(results[0].IsError(), results[1].IsError()) << op;
    EXPECT_EQ(results[0].device(), results[1].device());
    EXPECT_EQ(results[0].IsMetadataAvailable(), results[1].IsMetadataAvailable());
    if (results[0].IsError()) {
      EXPECT_EQ(results[0].GetError().ToString(), results[1].GetError().ToString());
      EXPECT_EQ(diagnostics_.size(), 2u);
    } else {
      EXPECT_EQ(Elements<float>(results[0].tensor()), Elements<float>(results[1].tensor()));
    }
  }
}

// OH-3, TH-5: a buffer may still be taken over, at once and later.
TEST_F(LoggingOpHandlerTest, KeepsNoTensorFromBeingTakenOver) {
  const TensorMetadata metadata(DType::kF32, {100});
  TensorHandle arg = TensorHandle::MakeAvailable(*AllocateDense(metadata, memory_.device, *memory_.allocator));
  std::fill_n(const_cast<float*>(DenseData<float>(arg.tensor()).data()), 100, 1.0f);
  const void* data = arg.tensor().data();
  const TensorHandle at_once = Run("test.Increment", std::move(arg));
  EXPECT_EQ(at_once.tensor().data(), data);

  auto value = MakeRef<TensorValue>(TensorValue::Constructed{}, metadata, &memory_.device);
  const TensorHandle last =
      Run("test.Increment",
          Run("test.Increment", TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device)));
  Tensor tensor = *AllocateDense(metadata, memory_.device, *memory_.allocator);
  std::fill_n(static_cast<float*>(tensor.mutable_data()), 100, 1.0f);
  data = tensor.data();
  value->value().TakePayload(std::move(tensor));
  value.release()->SetConcreteAndDropRef();
  ASSERT_TRUE(last.IsConcrete());
  EXPECT_EQ(last.tensor().data(), data);
}

// OH-3, CH-3
TEST_F(LoggingOpHandlerTest, PassesChainsThrough) {
  AsyncValueRef<Chain> chain = MakeReadyChain();
  runtime_->Execute("test.Effect", log_handler_, Location(), {}, OpAttrsRef(), {}, &chain);
  EXPECT_TRUE(chain.IsConcrete());
  EXPECT_EQ(TakeLines(), Lines{"[1] test.Effect"});
  const Status error = Internal("before");
  chain = AsyncValueRef<Chain>::MakeError(error);
  runtime_->Execute("test.Effect", log_handler_, Location(), {}, OpAttrsRef(), {}, &chain);
  EXPECT_EQ(chain.GetError(), error);
}

// OH-2, OH-5
TEST_F(LoggingOpHandlerTest, IsAHandlerLikeAnyOther) {
  EXPECT_EQ(runtime_->FindHandler("log"), log_handler_);
  EXPECT_EQ(log_handler_->name(), "log");
  EXPECT_EQ(log_handler_->device(), &memory_.device);
  EXPECT_EQ(log_handler_->fallback(), host_handler_);
}

// EX-4
TEST_F(LoggingOpHandlerTest, OpsThatTheHandlerBelowLacksAreItsErrors) {
  EXPECT_EQ(log_handler_->MakeOp("test.Undone").status().ToString(),
            host_handler_->MakeOp("test.Undone").status().ToString());
  EXPECT_EQ(log_handler_->MakeOp("test.Nothing").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(TakeLines().empty());
}

// EX-9
TEST_F(LoggingOpHandlerTest, AnOpMadeOnceIsLoggedEachTime) {
  const StatusOr<Op> op = runtime_->MakeOp("test.Increment", log_handler_);
  ASSERT_TRUE(op.ok());
  EXPECT_EQ(op->name(), "test.Increment");
  const ExecutionContext exec(runtime_->host(), Location::Current());
  for (int i = 1; i <= 3; ++i) {
    TensorHandle arg = Floats({1});
    TensorHandle result;
    (*op)(exec, {&arg, 1}, OpAttrsRef(), {&result, 1});
    EXPECT_EQ(TakeLines()[0], TextOf("[", i, "] test.Increment"));
  }
}

// OH-2
TEST_F(LoggingOpHandlerTest, LogsMayBeStacked) {
  Lines outer;
  LoggingOptions options;
  options.sink = [&](std::string_view line) { outer.emplace_back(line); };
  OpHandler* handler =
      runtime_->AddHandler(CreateLoggingOpHandler("outer", *runtime_, *log_handler_, std::move(options)));
  TensorHandle arg = Floats({1});
  TensorHandle result;
  runtime_->Execute("test.Increment", handler, Location(), {&arg, 1}, OpAttrsRef(), {&result, 1});
  EXPECT_EQ(TakeLines(), outer);
  EXPECT_EQ(outer.size(), 3u);
}

// OH-3
TEST_F(LoggingOpHandlerTest, WorksWithoutASink) {
  const std::unique_ptr<OpHandler> silent =
      CreateLoggingOpHandler("silent", *runtime_, *host_handler_, LoggingOptions());
  TensorHandle arg = Floats({1});
  TensorHandle result;
  runtime_->Execute("test.Increment", silent.get(), Location(), {&arg, 1}, OpAttrsRef(), {&result, 1});
  EXPECT_TRUE(result.IsConcrete());
}

// ER-5
TEST_F(LoggingOpHandlerTest, WithoutMemoryACallFailsAndIsLogged) {
  const StatusOr<Op> op = runtime_->MakeOp("test.Increment", log_handler_);
  ASSERT_TRUE(op.ok());
  const ExecutionContext exec(runtime_->host(), Location());
  const RcRef<TensorValue> value =
      MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {2}), &memory_.device);
  const TensorHandle sources[] = {Floats({1, 2}),
                                  TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device)};
  for (const TensorHandle& source : sources) {
    const int failures = FailEachAllocation([&] {
      TensorHandle arg = source.CopyRef();
      TensorHandle result;
      (*op)(exec, {&arg, 1}, OpAttrsRef(), {&result, 1});
      EXPECT_TRUE(result.IsValid());
      EXPECT_TRUE(!result.IsError() || result.GetError().code() == StatusCode::kResourceExhausted);
      EXPECT_FALSE(arg.IsValid());
    });
    EXPECT_GE(failures, 1);
    const Lines lines = TakeLines();
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                            [](const std::string& line) { return line.ends_with("out of memory"); }));
  }
  runtime_->host().CancelExecution("done");
}

// ER-5
TEST_F(LoggingOpHandlerTest, WithoutMemoryAnOpCannotBeMade) {
  EXPECT_EQ(WithoutMemory([&] { return log_handler_->MakeOp("test.Increment"); }).status().code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tandem
