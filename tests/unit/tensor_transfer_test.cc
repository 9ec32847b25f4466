// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorHandle::TransferTo: sources in every state, conversions that take time or fail, cancellation, limits, tracing
// (TH-6, TH-9, CA-1 to CA-3, CA-5, EX-11, EX-12, EX-13, ER-3 to ER-5, TR-2).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "host_values.h"
#include "small_stack.h"
#include "tandem/host_context.h"
#include "tandem/tensor_handle.h"

namespace tandem {
namespace {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

// Representations on a device of their own, named after how the conversion from dense host tensors behaves.
constexpr TensorType kRemote{"remote"};
constexpr TensorType kSlow{"slow"};
constexpr TensorType kFailing{"failing"};
constexpr TensorType kWrong{"wrong"};
constexpr TensorType kNull{"null"};
constexpr TensorType kUnknown{"unknown"};

const TensorMetadata kTwoFloats(DType::kF32, {2});

Tensor As(const TensorType& type, const Tensor& from, const Device& target, const TensorMetadata& metadata) {
  return Tensor(metadata, &target, type, nullptr, from.storage());
}
AsyncValueRef<Tensor> ToRemote(const ExecutionContext&, const Tensor& from, const Device& target) {
  return AsyncValueRef<Tensor>::MakeAvailable(As(kRemote, from, target, from.metadata()));
}
AsyncValueRef<Tensor> FromRemote(const ExecutionContext&, const Tensor& from, const Device& target) {
  return AsyncValueRef<Tensor>::MakeAvailable(As(kDenseHost, from, target, from.metadata()));
}
AsyncValueRef<Tensor> ToFailing(const ExecutionContext&, const Tensor&, const Device&) {
  return AsyncValueRef<Tensor>::MakeError(MakeError(StatusCode::kUnavailable, "the device is gone"));
}
AsyncValueRef<Tensor> ToWrong(const ExecutionContext&, const Tensor& from, const Device& target) {
  return AsyncValueRef<Tensor>::MakeAvailable(As(kWrong, from, target, TensorMetadata(DType::kF32, {3})));
}
AsyncValueRef<Tensor> ToNull(const ExecutionContext&, const Tensor&, const Device&) { return {}; }

// What the slow conversion began, for the test to end it.
thread_local RcRef<TensorValue> slow_result;
AsyncValueRef<Tensor> ToSlow(const ExecutionContext&, const Tensor&, const Device&) {
  slow_result = MakeUnconstructed<Tensor>();
  return AsyncValueRef<Tensor>(RcRef<AsyncValue>(slow_result));
}

class TensorTransferTest : public testing::Test {
 protected:
  TensorTransferTest() { Restart({}); }
  ~TensorTransferTest() override { slow_result.reset(); }

  // A new host.
  void Restart(HostContext::Options options) {
    host_.reset();
    if (options.work_queue == nullptr) options.work_queue = CreateSingleThreadedWorkQueue();
    options.diagnostic_handler = [this](const Status& error) {
      const std::lock_guard lock(mutex_);
      diagnostics_.push_back(error);
    };
    host_.emplace(std::move(options));
    TensorConversions& conversions = host_->conversions();
    EXPECT_TRUE(conversions.Register(kDenseHost, kRemote, &ToRemote).ok());
    EXPECT_TRUE(conversions.Register(kRemote, kDenseHost, &FromRemote).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kSlow, &ToSlow).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kFailing, &ToFailing).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kWrong, &ToWrong).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kNull, &ToNull).ok());
  }

  ExecutionContext Exec(Location location = std::source_location::current()) {
    return ExecutionContext(*host_, location);
  }
  ExecutionContext Exec(const RcRef<RequestContext>& request) {
    return ExecutionContext(*host_, Location::Current(), request);
  }
  RcRef<RequestContext> MakeRequest(
      RequestContext::Clock::time_point deadline = RequestContext::Clock::time_point::max()) {
    StatusOr<RcRef<RequestContext>> request = RequestContext::Create(*host_, {deadline, nullptr});
    EXPECT_TRUE(request.ok());
    return *std::move(request);
  }

  TensorHandle Available() const { return TensorHandle::MakeAvailable(memory_.Dense<float>({2}, {1, 2})); }
  RcRef<TensorValue> PendingValue() const {
    return MakeRef<TensorValue>(TensorValue::Constructed{}, kTwoFloats, &memory_.device);
  }
  TensorHandle HandleTo(const RcRef<TensorValue>& value) const {
    return TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device);
  }
  TensorHandle HandleTo(const RcRef<MetadataValue>& metadata, const RcRef<TensorValue>& value) const {
    return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata)),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device);
  }
  void Resolve(const RcRef<TensorValue>& value) const {
    if (value->HasContent()) {
      value->value().TakePayload(memory_.Dense<float>({2}, {1, 2}));
      value->SetConcrete();
    } else {
      value->Emplace(memory_.Dense<float>({2}, {1, 2}));
    }
  }
  size_t NumDiagnostics() {
    const std::lock_guard lock(mutex_);
    return diagnostics_.size();
  }

  const HostMemory memory_;
  const Device remote_{"gpu:0", kRemote};
  std::mutex mutex_;
  std::vector<Status> diagnostics_;
  std::optional<HostContext> host_;
};

// ---- Sources that are there

// TH-6
TEST_F(TensorTransferTest, WhatIsThereAlreadyIsTheSameReference) {
  const TensorHandle source = Available();
  TensorHandle result;
  EXPECT_EQ(CountAllocations([&] { result = source.TransferTo(Exec(), memory_.device); }), 0);
  EXPECT_EQ(&result.tensor(), &source.tensor());
  EXPECT_EQ(result.device(), &memory_.device);
}

// TH-6: strings have but one representation, which goes for dense where it is.
TEST_F(TensorTransferTest, StringsThatAreOnTheHostStayAsTheyAre) {
  const std::string_view texts[] = {"a", "b"};
  const TensorHandle source = TensorHandle::MakeAvailable(*MakeString({2}, texts, memory_.device, *memory_.allocator));
  const TensorHandle result = source.TransferTo(Exec(), memory_.device);
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_EQ(&result.tensor(), &source.tensor());
  EXPECT_TRUE(source.TransferTo(Exec(), remote_).IsError());
}

// TH-6
TEST_F(TensorTransferTest, AnAvailableTensorIsConvertedAtOnce) {
  const TensorHandle source = Available();
  const TensorHandle result = source.TransferTo(Exec(), remote_);
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_TRUE(result.tensor().IsA(kRemote));
  EXPECT_EQ(result.device(), &remote_);
  EXPECT_EQ(result.metadata(), kTwoFloats);
  EXPECT_TRUE(source.IsConcrete());
}

// TH-6, TH-9
TEST_F(TensorTransferTest, TheRepresentationChangesWithinADevice) {
  const TensorHandle source = TensorHandle::MakeAvailable(memory_.Scalar<float>({3}, 2));
  const TensorHandle dense = source.TransferTo(Exec(), memory_.device, kDenseHost);
  ASSERT_TRUE(dense.IsConcrete());
  EXPECT_EQ(Elements<float>(dense.tensor()), (std::vector<float>{2, 2, 2}));
  EXPECT_TRUE(dense.TransferTo(Exec(), memory_.device, kScalarHost).tensor().IsA(kScalarHost));
}

// TH-6
TEST_F(TensorTransferTest, AnErrorIsPassedOnAndNotToldAgain) {
  const Status error = Internal("x");
  const TensorHandle result = TensorHandle::MakeError(error).TransferTo(Exec(), remote_);
  EXPECT_EQ(result.GetError(), error);
  EXPECT_EQ(NumDiagnostics(), 0u);
}

// TH-6, ER-3, ER-4
TEST_F(TensorTransferTest, ANullHandleIsAnError) {
  const TensorHandle result = TensorHandle().TransferTo(Exec(), remote_);
  constexpr uint32_t kLine = __LINE__ - 1;
  EXPECT_EQ(result.GetError().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(result.GetError().message(), "[tandem.Transfer] expected a tensor, got a null handle");
  EXPECT_EQ(result.GetError().location().line, kLine);
  ASSERT_EQ(NumDiagnostics(), 1u);
  EXPECT_EQ(diagnostics_[0], result.GetError());
}

// TH-9, EX-13, ER-3, ER-4
TEST_F(TensorTransferTest, AMissingConversionIsAnErrorThatNamesBothPlaces) {
  const TensorHandle result = Available().TransferTo(Exec(), remote_, kUnknown);
  constexpr uint32_t kLine = __LINE__ - 1;
  EXPECT_EQ(result.GetError().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(result.GetError().message(),
            "[tandem.Transfer] expected a registered conversion, got f32[2] as dense_host on cpu to become unknown on "
            "gpu:0");
  EXPECT_EQ(result.GetError().location().line, kLine);
  ASSERT_EQ(NumDiagnostics(), 1u);
  EXPECT_EQ(diagnostics_[0], result.GetError());
}

// ER-1, ER-3, ER-4
TEST_F(TensorTransferTest, AFailingConversionsErrorGetsOpAndPlace) {
  const TensorHandle result = Available().TransferTo(Exec(), remote_, kFailing);
  constexpr uint32_t kLine = __LINE__ - 1;
  EXPECT_EQ(result.GetError().code(), StatusCode::kUnavailable);
  EXPECT_EQ(result.GetError().message(), "[tandem.Transfer] the device is gone");
  EXPECT_EQ(result.GetError().location().line, kLine);
  ASSERT_EQ(NumDiagnostics(), 1u);
  EXPECT_EQ(diagnostics_[0], result.GetError());
}

TEST_F(TensorTransferTest, AConversionMustGiveWhatItIsRegisteredFor) {
  EXPECT_EQ(Available().TransferTo(Exec(), remote_, kWrong).GetError().message(),
            "[tandem.Transfer] conversion must give f32[2] as wrong on gpu:0, gave f32[3]");
  EXPECT_EQ(Available().TransferTo(Exec(), remote_, kNull).GetError().message(),
            "[tandem.Transfer] conversion must give a value, gave a null reference");
}

// EX-13: host memory of another runtime is another device.
TEST_F(TensorTransferTest, AnotherRuntimesHostIsAnotherDevice) {
  const TensorHandle result =
      TensorHandle::MakeAvailable(memory_.Scalar<float>({3}, 2)).TransferTo(Exec(), host_->device(), kDenseHost);
  EXPECT_EQ(result.GetError().code(), StatusCode::kUnimplemented);
}

// ---- Pending sources

// TH-6
TEST_F(TensorTransferTest, APendingTensorGivesAPendingResultWithItsMetadata) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
  EXPECT_FALSE(result.IsAvailable());
  EXPECT_EQ(result.device(), &remote_);
  ASSERT_TRUE(result.IsMetadataAvailable());
  EXPECT_EQ(result.metadata(), kTwoFloats);
  EXPECT_EQ(TextOf(result), "pending f32[2] on gpu:0");
  Resolve(value);
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_TRUE(result.tensor().IsA(kRemote));
  EXPECT_EQ(result.metadata(), kTwoFloats);
  EXPECT_TRUE(value->IsUnique());
}

// TH-6: what turns out to be there already is not copied.
TEST_F(TensorTransferTest, APendingTensorThatIsThereAlreadySharesItsMemory) {
  const RcRef<TensorValue> value =
      MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {100}), &memory_.device);
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), memory_.device);
  EXPECT_FALSE(result.IsAvailable());
  value->value().TakePayload(*AllocateDense({DType::kF32, {100}}, memory_.device, *memory_.allocator));
  value->SetConcrete();
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_EQ(result.tensor().data(), value->value().data());
}

// TH-6, MD-4
TEST_F(TensorTransferTest, PendingMetadataIsPassedOnWhenItComes) {
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle result = HandleTo(metadata, value).TransferTo(Exec(), remote_);
  EXPECT_FALSE(result.IsMetadataAvailable());
  bool heard = false;
  ASSERT_TRUE(result.metadata_value()->AndThen([&] { heard = true; }));
  metadata->Emplace(kTwoFloats);
  EXPECT_TRUE(heard);
  ASSERT_TRUE(result.IsMetadataAvailable());
  EXPECT_EQ(result.metadata(), kTwoFloats);
  EXPECT_FALSE(result.IsAvailable());
  Resolve(value);
  EXPECT_TRUE(result.IsConcrete());
}

// TH-6
TEST_F(TensorTransferTest, ATensorMayComeBeforeItsMetadataIsAskedFor) {
  auto indirect = MakeRef<IndirectAsyncValue>();
  const TensorHandle source(AsyncValueRef<Tensor>(RcRef<AsyncValue>(indirect)), &memory_.device);
  const TensorHandle result = source.TransferTo(Exec(), remote_);
  EXPECT_FALSE(result.IsMetadataAvailable());
  indirect->ForwardTo(Available().value().CopyRef().TakeValue());
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_EQ(result.metadata(), kTwoFloats);
}

// TH-6, ER-1
TEST_F(TensorTransferTest, APendingTensorsErrorIsPassedOnAndNotToldAgain) {
  const Status error = Internal("x");
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
  value->SetError(error);
  EXPECT_EQ(result.GetError(), error);
  EXPECT_EQ(result.metadata(), kTwoFloats);
  EXPECT_EQ(NumDiagnostics(), 0u);
}

// TH-4, TH-6
TEST_F(TensorTransferTest, AnErrorInPendingMetadataIsPassedOnAtOnce) {
  const Status error = Internal("x");
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle result = HandleTo(metadata, value).TransferTo(Exec(), remote_);
  metadata->SetError(error);
  EXPECT_EQ(result.GetError(), error);
  EXPECT_TRUE(result.value().IsError());
  EXPECT_TRUE(result.metadata_value()->IsError());
  value->SetError(error);
}

// ER-3, ER-4: long after the call.
TEST_F(TensorTransferTest, ALateErrorTellsWhereTheTransferWasAskedFor) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_, kFailing);
  constexpr uint32_t kLine = __LINE__ - 1;
  Resolve(value);
  EXPECT_EQ(result.GetError().message(), "[tandem.Transfer] the device is gone");
  EXPECT_EQ(result.GetError().location().line, kLine);
  ASSERT_EQ(NumDiagnostics(), 1u);
  EXPECT_EQ(diagnostics_[0], result.GetError());
}

TEST_F(TensorTransferTest, APendingTransferChecksWhatTheConversionGives) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_, kWrong);
  Resolve(value);
  EXPECT_EQ(result.GetError().code(), StatusCode::kInternal);
  EXPECT_EQ(result.metadata(), kTwoFloats);
}

// TH-5: the result is not kept by the transfer.
TEST_F(TensorTransferTest, TheResultIsItsHoldersAlone) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
  Resolve(value);
  EXPECT_TRUE(result.value().value()->IsUnique());
}

TEST_F(TensorTransferTest, AResultThatNobodyHoldsIsHarmless) {
  const RcRef<TensorValue> value = PendingValue();
  static_cast<void>(HandleTo(value).TransferTo(Exec(), remote_));
  Resolve(value);
  EXPECT_TRUE(value->IsUnique());
}

// ---- Conversions that take time

// TH-6
TEST_F(TensorTransferTest, ASlowConversionGivesAPendingResultWithKnownMetadata) {
  TensorHandle source = Available();
  const TensorHandle result = source.TransferTo(Exec(), remote_, kSlow);
  source.reset();
  EXPECT_FALSE(result.IsAvailable());
  ASSERT_TRUE(result.IsMetadataAvailable());
  EXPECT_EQ(result.metadata(), kTwoFloats);
  slow_result->Emplace(kTwoFloats, &remote_, kSlow, nullptr, nullptr);
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_TRUE(result.tensor().IsA(kSlow));
}

// TH-6: first the source is awaited, then the conversion.
TEST_F(TensorTransferTest, ASlowConversionOfAPendingTensor) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_, kSlow);
  EXPECT_FALSE(slow_result);
  Resolve(value);
  ASSERT_TRUE(slow_result);
  EXPECT_TRUE(value->IsUnique());
  EXPECT_FALSE(result.IsAvailable());
  slow_result->Emplace(kTwoFloats, &remote_, kSlow, nullptr, nullptr);
  EXPECT_TRUE(result.IsConcrete());
}

// ER-3, ER-4
TEST_F(TensorTransferTest, ASlowConversionsErrorGetsOpAndPlaceAndIsToldOnce) {
  const TensorHandle result = Available().TransferTo(Exec(), remote_, kSlow);
  constexpr uint32_t kLine = __LINE__ - 1;
  slow_result->SetError(MakeError(StatusCode::kUnavailable, "lost on the way"));
  EXPECT_EQ(result.GetError().message(), "[tandem.Transfer] lost on the way");
  EXPECT_EQ(result.GetError().location().line, kLine);
  EXPECT_EQ(NumDiagnostics(), 1u);
}

TEST_F(TensorTransferTest, ASlowConversionMustGiveTheRightTensor) {
  const TensorHandle result = Available().TransferTo(Exec(), remote_, kSlow);
  slow_result->Emplace(kTwoFloats, &memory_.device, kSlow, nullptr, nullptr);
  EXPECT_EQ(result.GetError().code(), StatusCode::kInternal);
}

// ---- Cancellation

// CA-1
TEST_F(TensorTransferTest, CancellingTheHostEndsAPendingTransferAtOnceAndDropsItsSource) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
  constexpr uint32_t kLine = __LINE__ - 1;
  const Tensor* tensor = &value->value();
  host_->CancelExecution("enough");
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  EXPECT_EQ(result.GetError().message(), "[tandem.Transfer] enough");
  EXPECT_EQ(result.GetError().location().line, kLine);
  EXPECT_EQ(result.metadata(), kTwoFloats);
  EXPECT_TRUE(value->IsUnique());
  EXPECT_EQ(&value->value(), tensor);
}

// CA-1: whether or not its source ever resolves.
TEST_F(TensorTransferTest, ACancelledTransfersSourceMayResolveLaterOrNever) {
  for (const bool resolves : {true, false}) {
    RcRef<TensorValue> value = PendingValue();
    const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
    host_->CancelExecution("enough");
    host_->Restart();
    if (resolves) Resolve(value);
    value.reset();
    EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  }
}

// CA-1
TEST_F(TensorTransferTest, CancellingEndsPendingMetadataToo) {
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle result = HandleTo(metadata, value).TransferTo(Exec(), remote_);
  host_->CancelExecution("enough");
  EXPECT_TRUE(result.value().IsError());
  EXPECT_TRUE(result.metadata_value()->IsError());
  EXPECT_TRUE(value->IsUnique());
  metadata->Emplace(kTwoFloats);
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
}

// CA-1
TEST_F(TensorTransferTest, CancellingEndsATransferWhoseConversionTakesTime) {
  const TensorHandle result = Available().TransferTo(Exec(), remote_, kSlow);
  host_->CancelExecution("enough");
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  EXPECT_TRUE(slow_result->IsUnique());
  slow_result->Emplace(kTwoFloats, &remote_, kSlow, nullptr, nullptr);
  EXPECT_TRUE(result.IsError());
}

// CA-1
TEST_F(TensorTransferTest, WhileTheHostIsCancelledTransfersFailAtOnce) {
  host_->CancelExecution("enough");
  const size_t diagnostics = NumDiagnostics();
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle pending = HandleTo(value).TransferTo(Exec(), remote_);
  const TensorHandle available = Available().TransferTo(Exec(), remote_);
  EXPECT_EQ(pending.GetError().message(), "[tandem.Transfer] enough");
  EXPECT_EQ(available.GetError().message(), "[tandem.Transfer] enough");
  EXPECT_TRUE(value->IsUnique());
  EXPECT_EQ(NumDiagnostics(), diagnostics + 2);
  // Nothing is done for what is there already.
  EXPECT_TRUE(Available().TransferTo(Exec(), memory_.device).IsConcrete());
}

// CA-2
TEST_F(TensorTransferTest, AfterARestartNewTransfersRunAndOldOnesStayCancelled) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle before = HandleTo(value).TransferTo(Exec(), remote_);
  host_->CancelExecution("enough");
  host_->Restart();
  const TensorHandle after = HandleTo(value).TransferTo(Exec(), remote_);
  Resolve(value);
  EXPECT_EQ(before.GetError().code(), StatusCode::kCancelled);
  EXPECT_TRUE(after.IsConcrete());
}

// CA-3
TEST_F(TensorTransferTest, CancellingARequestEndsItsTransfersAlone) {
  const RcRef<RequestContext> cancelled = MakeRequest();
  const RcRef<RequestContext> other = MakeRequest();
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle of_cancelled = HandleTo(value).TransferTo(Exec(cancelled), remote_);
  const TensorHandle of_other = HandleTo(value).TransferTo(Exec(other), remote_);
  const TensorHandle of_none = HandleTo(value).TransferTo(Exec(), remote_);
  cancelled->Cancel("no longer wanted");
  EXPECT_EQ(of_cancelled.GetError().message(), "[tandem.Transfer] no longer wanted");
  EXPECT_FALSE(of_other.IsAvailable());
  EXPECT_FALSE(of_none.IsAvailable());
  EXPECT_EQ(Available().TransferTo(Exec(cancelled), remote_).GetError().code(), StatusCode::kCancelled);
  Resolve(value);
  EXPECT_TRUE(of_other.IsConcrete());
  EXPECT_TRUE(of_none.IsConcrete());
}

// CA-3: a cancelled transfer does not keep its request while its source may come much later.
TEST_F(TensorTransferTest, ACancelledTransferLetsItsRequestGo) {
  RcRef<RequestContext> request = MakeRequest(RequestContext::Clock::now() + std::chrono::hours(1));
  RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(request), remote_);
  EXPECT_FALSE(request->IsUnique());
  request->Cancel("no longer wanted");
  EXPECT_TRUE(request->IsUnique());
  request.reset();
  host_.reset();
  value.reset();
}

// CA-3
TEST_F(TensorTransferTest, ATransferEndsWithItsRequestsDeadline) {
  const RcRef<RequestContext> late = MakeRequest(RequestContext::Clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(Available().TransferTo(Exec(late), remote_).GetError().code(), StatusCode::kDeadlineExceeded);

  const RcRef<RequestContext> soon = MakeRequest(RequestContext::Clock::now() + std::chrono::milliseconds(5));
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(soon), remote_);
  EXPECT_EQ(host_->Await(result).code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(value->IsUnique());
}

// CA-1, MD-4: dependents of a cancelled transfer, and theirs, hear of it though the source stays pending.
TEST_F(TensorTransferTest, ACancelledTransferEndsThoseThatDependOnIt) {
  const RcRef<RequestContext> request = MakeRequest();
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle first = HandleTo(metadata, value).TransferTo(Exec(request), remote_);
  const TensorHandle second = first.TransferTo(Exec(), memory_.device);
  const TensorHandle third = second.TransferTo(Exec(), remote_);
  request->Cancel("no longer wanted");
  for (const TensorHandle* handle : {&first, &second, &third}) {
    EXPECT_EQ(handle->GetError().message(), "[tandem.Transfer] no longer wanted");
    EXPECT_TRUE(handle->value().IsError());
  }
}

// CA-1: the host goes with transfers pending, the source comes, or goes, afterwards.
TEST_F(TensorTransferTest, TheHostMayGoBeforeTheSource) {
  for (const bool resolves : {true, false}) {
    Restart({});
    RcRef<TensorValue> value = PendingValue();
    const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
    host_.reset();
    EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
    if (resolves) Resolve(value);
    value.reset();
  }
}

// CA-1, CA-5
TEST_F(TensorTransferTest, ThreadsTransferResolveAndCancel) {
  std::atomic<bool> stop{false};
  std::thread canceller([&] {
    while (!stop) {
      host_->CancelExecution("enough");
      std::this_thread::yield();
      host_->Restart();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user) {
    users.emplace_back([&, user] {
      const RcRef<RequestContext> request = MakeRequest();
      for (int round = 0; round < 300; ++round) {
        RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
        RcRef<TensorValue> value = round % 2 == 0 ? PendingValue() : MakeUnconstructed<Tensor>();
        const TensorHandle source = round % 2 == 0 ? HandleTo(value) : HandleTo(metadata, value);
        const TensorHandle there = source.TransferTo(Exec(request), remote_);
        const TensorHandle back = there.TransferTo(Exec(), memory_.device);
        std::thread resolver([&] {
          if (round % 2 != 0) metadata->Emplace(kTwoFloats);
          Resolve(value);
        });
        if (user == 0 && round == 200) request->Cancel("no longer wanted");
        resolver.join();
        for (const TensorHandle* handle : {&there, &back}) {
          while (!handle->IsAvailable()) std::this_thread::yield();
          ASSERT_TRUE(handle->IsConcrete() || handle->GetError().code() == StatusCode::kCancelled);
        }
      }
    });
  }
  for (std::thread& user : users) user.join();
  stop = true;
  canceller.join();
}

// ---- Long chains

constexpr int kLongChain = 100'000;

// Hands a pending tensor to and fro; the last handle.
TensorHandle ToAndFro(const ExecutionContext& exec, TensorHandle handle, const Device& here, const Device& there) {
  for (int i = 0; i < kLongChain / 2; ++i) {
    handle = handle.TransferTo(exec, there);
    handle = handle.TransferTo(exec, here);
  }
  return handle;
}

// EX-12
TEST_F(TensorTransferTest, ALongChainOfTransfersRunsOnASmallStack) {
  RunOnSmallStack([&] {
    RcRef<TensorValue> value = PendingValue();
    const TensorHandle last = ToAndFro(Exec(), HandleTo(value), memory_.device, remote_);
    EXPECT_FALSE(last.IsAvailable());
    Resolve(value);
    EXPECT_TRUE(last.IsConcrete());
  });
}

// EX-12, CA-1
TEST_F(TensorTransferTest, ALongChainOfTransfersIsCancelledOnASmallStack) {
  RunOnSmallStack([&] {
    RcRef<TensorValue> value = PendingValue();
    const TensorHandle last = ToAndFro(Exec(), HandleTo(value), memory_.device, remote_);
    host_->CancelExecution("enough");
    EXPECT_EQ(last.GetError().code(), StatusCode::kCancelled);
    EXPECT_TRUE(value->IsUnique());
  });
}

// ---- Limits

// AV-8: a conversion that loses its value, at once or later.
TEST_F(TensorTransferTest, AV8_AnAbandonedConversionIsAnError) {
  constexpr TensorType kLost{"lost"};
  ASSERT_TRUE(host_->conversions()
                  .Register(kDenseHost, kLost,
                            [](const ExecutionContext&, const Tensor&, const Device&) {
                              return AsyncValueRef<Tensor>(RcRef<AsyncValue>(MakeUnconstructed<Tensor>()));
                            })
                  .ok());
  const TensorHandle lost = Available().TransferTo(Exec(), remote_, kLost);
  ASSERT_TRUE(lost.IsError());
  EXPECT_EQ(lost.GetError().message(), "[tandem.Transfer] abandoned by its producer");

  static Producer<Tensor> producer;
  constexpr TensorType kDropped{"dropped"};
  ASSERT_TRUE(host_->conversions()
                  .Register(kDenseHost, kDropped,
                            [](const ExecutionContext&, const Tensor&, const Device&) {
                              producer = Producer<Tensor>::Make();
                              return producer.ref();
                            })
                  .ok());
  const TensorHandle dropped = Available().TransferTo(Exec(), remote_, kDropped);
  EXPECT_FALSE(dropped.IsAvailable());
  producer = Producer<Tensor>();
  ASSERT_TRUE(dropped.IsError());
  EXPECT_EQ(dropped.GetError().message(), "[tandem.Transfer] abandoned by its producer");
  EXPECT_TRUE(dropped.GetError().location().IsKnown());
}

// EX-11
TEST_F(TensorTransferTest, PendingTransfersAreBounded) {
  HostContext::Options options;
  options.work_queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  options.max_pending_ops = 2;
  Restart(std::move(options));
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle first = HandleTo(value).TransferTo(Exec(), remote_);
  const TensorHandle second = HandleTo(value).TransferTo(Exec(), remote_);
  const TensorHandle third = HandleTo(value).TransferTo(Exec(), remote_);
  EXPECT_FALSE(first.IsAvailable());
  EXPECT_FALSE(second.IsAvailable());
  EXPECT_EQ(third.GetError().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(third.GetError().op(), "tandem.Transfer");
  EXPECT_EQ(NumDiagnostics(), 1u);
  // What needs no waiting is not counted.
  EXPECT_TRUE(Available().TransferTo(Exec(), remote_).IsConcrete());
  Resolve(value);
  EXPECT_TRUE(second.IsConcrete());
  const RcRef<TensorValue> next = PendingValue();
  EXPECT_FALSE(HandleTo(next).TransferTo(Exec(), remote_).IsAvailable());
}

// EX-11
TEST_F(TensorTransferTest, BytesOfPendingTransfersAreBounded) {
  HostContext::Options options;
  options.work_queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  options.max_pending_bytes = 12;
  Restart(std::move(options));
  const RcRef<TensorValue> value = PendingValue();  // of 8 bytes
  const TensorHandle first = HandleTo(value).TransferTo(Exec(), remote_);
  EXPECT_EQ(HandleTo(value).TransferTo(Exec(), remote_).GetError().code(), StatusCode::kResourceExhausted);
  host_->CancelExecution("enough");
  host_->Restart();
  EXPECT_FALSE(HandleTo(value).TransferTo(Exec(), remote_).IsAvailable());
}

// ER-5
TEST_F(TensorTransferTest, EveryFailingAllocationIsAnError) {
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = PendingValue();
  const RcRef<TensorValue> unknown = MakeUnconstructed<Tensor>();
  const TensorHandle sources[] = {Available(), HandleTo(value), HandleTo(metadata, unknown)};
  for (const TensorHandle& source : sources) {
    for (const TensorType* type : {&kRemote, &kSlow}) {
      int errors = 0;
      const int failures = FailEachAllocation([&] {
        const TensorHandle result = source.TransferTo(Exec(), remote_, *type);
        if (result.IsError()) {
          ++errors;
          EXPECT_EQ(result.GetError().code(), StatusCode::kResourceExhausted);
        }
      });
      EXPECT_GE(failures, 1);
      // Without memory for the text of an error it is still an error.
      EXPECT_EQ(errors, failures);
    }
  }
  host_->CancelExecution("enough");
}

// ER-5
TEST_F(TensorTransferTest, MemoryMayRunOutWhenTheSourceComes) {
  for (int allowed = 0; allowed < 4; ++allowed) {
    const RcRef<TensorValue> value = PendingValue();
    const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
    value->value().TakePayload(memory_.Dense<float>({2}, {1, 2}));
    WithMemoryFor(allowed, [&] { value->SetConcrete(); });
    ASSERT_TRUE(result.IsAvailable());
    EXPECT_TRUE(result.IsConcrete() || result.GetError().code() == StatusCode::kResourceExhausted);
    EXPECT_EQ(result.IsConcrete(), allowed > 0);
  }
}

// ---- Tracing

// EX-13, TR-1, TR-2
TEST_F(TensorTransferTest, TransfersAreTraced) {
  static_cast<void>(Available().TransferTo(Exec(), remote_));
  EXPECT_EQ(host_->tracer().num_events(), 0);
  host_->StartTracing();
  static_cast<void>(Available().TransferTo(Exec(), remote_));
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle later = HandleTo(value).TransferTo(Exec(), remote_);
  EXPECT_EQ(host_->tracer().num_events(), 1);
  Resolve(value);
  EXPECT_EQ(host_->tracer().num_events(), 2);
  // Nothing is done for these.
  static_cast<void>(Available().TransferTo(Exec(), memory_.device));
  static_cast<void>(TensorHandle::MakeError(Internal("x")).TransferTo(Exec(), remote_));
  EXPECT_EQ(host_->tracer().num_events(), 2);
  const std::string json = host_->tracer().ToJson();
  EXPECT_NE(json.find(R"("name":"tandem.Transfer")"), std::string::npos);
  EXPECT_NE(json.find(R"("device":"gpu:0")"), std::string::npos);
  EXPECT_NE(json.find(R"("inputs":"f32[2]")"), std::string::npos);
  EXPECT_NE(json.find(R"("attrs":"{from = dense_host on cpu, to = remote on gpu:0}")"), std::string::npos);
  host_->StopTracing();
  static_cast<void>(Available().TransferTo(Exec(), remote_));
  EXPECT_EQ(host_->tracer().num_events(), 2);
}

// TH-9: a conversion that takes time has ended when its result is there.
TEST_F(TensorTransferTest, TH9_ASlowConversionIsTracedUntilItsEnd) {
  host_->StartTracing();
  const TensorHandle slow = Available().TransferTo(Exec(), remote_, kSlow);
  EXPECT_EQ(host_->tracer().num_events(), 0);
  slow_result->Emplace(As(kSlow, Available().tensor(), remote_, kTwoFloats));
  EXPECT_TRUE(slow.IsConcrete());
  EXPECT_EQ(host_->tracer().num_events(), 1);
  EXPECT_NE(host_->tracer().ToJson().find("{from = dense_host on cpu, to = slow on gpu:0}"), std::string::npos);
}

// TH-9: whoever asks hears of what is transferred, and of nothing else.
TEST_F(TensorTransferTest, TH9_AnObserverHearsOfEachTransfer) {
  class Observer final : public TransferObserver {
   public:
    explicit Observer(std::vector<std::string>& heard) : heard_(heard) {}
    void OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) override {
      heard_.push_back(TextOf(source, " -> ", result, " ", attrs));
    }

   private:
    std::vector<std::string>& heard_;
  };
  std::vector<std::string> heard;
  const ExecutionContext exec = Exec().WithTransferObserver(MakeRef<Observer>(heard));
  static_cast<void>(Available().TransferTo(exec, remote_));
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle later = HandleTo(value).TransferTo(exec, remote_);
  static_cast<void>(Available().TransferTo(exec, memory_.device));
  static_cast<void>(TensorHandle::MakeError(Internal("x")).TransferTo(exec, remote_));
  EXPECT_EQ(heard, (std::vector<std::string>{
                       "f32[2] on cpu -> f32[2] on gpu:0 {from = dense_host on cpu, to = remote on gpu:0}",
                       "pending f32[2] on cpu -> pending f32[2] on gpu:0 {from = cpu, to = remote on gpu:0}",
                   }));
  Resolve(value);
  EXPECT_TRUE(later.IsConcrete());
}

}  // namespace
}  // namespace tandem
