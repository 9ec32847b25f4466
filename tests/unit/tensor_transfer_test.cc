// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorHandle::TransferTo: sources in every state, conversions that take time or fail, long chains, limits (TH-6,
// TH-9, AV-8, EX-11, EX-12, EX-13, ER-3 to ER-5).

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "host_values.h"
#include "small_stack.h"
#include "tandem/host_context.h"
#include "tandem/tensor_handle.h"
#include "tensor_transfer_test_fixture.h"

namespace tandem {
namespace {

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

}  // namespace
}  // namespace tandem
