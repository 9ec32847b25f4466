// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensor handles: null and errors, metadata, text, buffers taken over (TH-1 to TH-5, TH-7).

#include "tandem/tensor_handle.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "host_values.h"
#include "tandem/core_runtime.h"
#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/metadata_functions.h"

namespace tandem {
namespace {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

const TensorMetadata kTwoFloats(DType::kF32, {2});

class TensorHandleTest : public testing::Test {
 protected:
  TensorHandle Available() const { return TensorHandle::MakeAvailable(host_.Dense<float>({2}, {1, 2})); }

  // Of a tensor whose metadata is known.
  TensorHandle HandleTo(const RcRef<TensorValue>& value) const {
    return TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &host_.device);
  }
  TensorHandle HandleTo(const RcRef<MetadataValue>& metadata, const RcRef<TensorValue>& value) const {
    return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata)),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &host_.device);
  }
  RcRef<TensorValue> PendingValue() const {
    return MakeRef<TensorValue>(TensorValue::Constructed{}, kTwoFloats, &host_.device);
  }
  static void Resolve(TensorValue& value) {
    value.value().UseInlineData(kDenseHost);
    value.SetConcrete();
  }

  const HostMemory host_;
};

// ---- Null

// TH-2
TEST_F(TensorHandleTest, DefaultIsNull) {
  TensorHandle null;
  EXPECT_FALSE(null.IsValid());
  EXPECT_EQ(null.device(), nullptr);
  EXPECT_FALSE(null.CopyRef().IsValid());
  null.reset();
  TensorHandle other = std::move(null);
  EXPECT_FALSE(other.IsValid());
  null = std::move(other);
  EXPECT_FALSE(null.IsValid());
  null = Available();
  EXPECT_TRUE(null.IsValid());
}

// TH-2
TEST_F(TensorHandleTest, MovedFromIsNull) {
  TensorHandle first = Available();
  TensorHandle second = std::move(first);
  EXPECT_FALSE(first.IsValid());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.device(), nullptr);
  TensorHandle third;
  third = std::move(second);
  EXPECT_FALSE(second.IsValid());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(third.IsConcrete());
  EXPECT_EQ(third.device(), &host_.device);
  third.reset();
  EXPECT_FALSE(third.IsValid());
}

// TH-2
TEST_F(TensorHandleTest, SurvivesMovingToItself) {
  TensorHandle handle = Available();
  TensorHandle& alias = handle;
  handle = std::move(alias);
  if (handle.IsValid()) {
    EXPECT_TRUE(handle.IsConcrete());
  }
}

// TH-2
TEST_F(TensorHandleTest, IsMoveOnly) {
  static_assert(!std::is_copy_constructible_v<TensorHandle> && !std::is_copy_assignable_v<TensorHandle>);
  static_assert(std::is_nothrow_move_constructible_v<TensorHandle> && std::is_nothrow_move_assignable_v<TensorHandle>);
}

// TH-2
TEST_F(TensorHandleTest, CopyRefSharesTheTensor) {
  const TensorHandle handle = Available();
  TensorHandle copy;
  EXPECT_EQ(CountAllocations([&] { copy = handle.CopyRef(); }), 0);
  EXPECT_EQ(&copy.tensor(), &handle.tensor());
  EXPECT_EQ(copy.device(), handle.device());
}

// TH-3
TEST_F(TensorHandleTest, IsThreeWords) {
  EXPECT_EQ(sizeof(TensorHandle), 3 * sizeof(void*));
  EXPECT_LE(sizeof(TensorHandle), sizeof(void*) == 8 ? 40u : 32u);
}

// ---- Metadata

// TH-1: one async value holds the tensor and its metadata.
TEST_F(TensorHandleTest, KnownMetadataNeedsNoValueOfItsOwn) {
  const int64_t before = AsyncValue::NumLive();
  const TensorHandle handle = Available();
  EXPECT_EQ(AsyncValue::NumLive(), AsyncValue::CountsLive() ? before + 1 : before);
  EXPECT_TRUE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
  EXPECT_EQ(handle.metadata_value(), handle.value().value());
}

// TH-1
TEST_F(TensorHandleTest, AConstructedTensorsMetadataIsKnown) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle handle = HandleTo(value);
  EXPECT_FALSE(handle.IsAvailable());
  ASSERT_TRUE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
  Resolve(*value);
  EXPECT_TRUE(handle.IsConcrete());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
}

// TH-1
TEST_F(TensorHandleTest, PendingMetadataComesBeforeTheTensor) {
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle handle = HandleTo(metadata, value);
  EXPECT_FALSE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata_value(), metadata.get());
  metadata->Emplace(kTwoFloats);
  ASSERT_TRUE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
  EXPECT_FALSE(handle.IsAvailable());
  value->Emplace(host_.Dense<float>({2}, {1, 2}));
  EXPECT_TRUE(handle.IsConcrete());
}

// TH-1: metadata is ready whenever the tensor is.
TEST_F(TensorHandleTest, ATensorBringsItsMetadata) {
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle handle = HandleTo(metadata, value);
  value->Emplace(host_.Dense<float>({2}, {1, 2}));
  ASSERT_TRUE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
}

// TH-1
TEST_F(TensorHandleTest, AnIndirectTensorsMetadataIsKnownOnceItIsResolved) {
  auto indirect = MakeRef<IndirectAsyncValue>();
  const TensorHandle handle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(indirect)), &host_.device);
  EXPECT_FALSE(handle.IsMetadataAvailable());
  indirect->ForwardTo(Available().value().CopyRef().TakeValue());
  ASSERT_TRUE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
}

// ---- Errors

// TH-4
TEST_F(TensorHandleTest, AnErrorHandleIsAnErrorWithoutPlaceOrMetadata) {
  const Status error = Internal("x");
  const TensorHandle handle = TensorHandle::MakeError(error);
  EXPECT_TRUE(handle.IsValid());
  EXPECT_TRUE(handle.IsAvailable());
  EXPECT_TRUE(handle.IsError());
  EXPECT_FALSE(handle.IsConcrete());
  EXPECT_EQ(handle.GetError(), error);
  EXPECT_FALSE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.device(), nullptr);
  EXPECT_EQ(handle.CopyRef().GetError(), error);
}

// TH-4
TEST_F(TensorHandleTest, KnownMetadataStaysReadableInAnError) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle handle = HandleTo(value);
  value->SetError(Internal("x"));
  EXPECT_TRUE(handle.IsError());
  ASSERT_TRUE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
}

// TH-4
TEST_F(TensorHandleTest, MetadataThatCameBeforeTheErrorStaysReadable) {
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle handle = HandleTo(metadata, value);
  metadata->Emplace(kTwoFloats);
  value->SetError(Internal("x"));
  EXPECT_TRUE(handle.IsError());
  ASSERT_TRUE(handle.IsMetadataAvailable());
  EXPECT_EQ(handle.metadata(), kTwoFloats);
}

// TH-4
TEST_F(TensorHandleTest, AnErrorInTheMetadataIsOneOfTheHandle) {
  const Status error = Internal("bad shape");
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle handle = HandleTo(metadata, value);
  EXPECT_FALSE(handle.IsError());
  metadata->SetError(error);
  EXPECT_TRUE(handle.IsError());
  EXPECT_TRUE(handle.IsAvailable());
  EXPECT_FALSE(handle.IsConcrete());
  EXPECT_EQ(handle.GetError(), error);
  EXPECT_FALSE(handle.IsMetadataAvailable());
  EXPECT_EQ(TextOf(handle), "error: bad shape");
  value->SetError(error);
  EXPECT_EQ(handle.GetError(), error);
}

// ER-5
TEST_F(TensorHandleTest, WithoutMemoryHandlesAreErrors) {
  const Tensor tensor = host_.Dense<float>({2}, {1, 2});
  EXPECT_EQ(WithoutMemory([&] { return TensorHandle::MakeAvailable(tensor); }).GetError(), Status::OutOfMemory());
  EXPECT_EQ(WithoutMemory([] { return TensorHandle::MakeError(Status::OutOfMemory()); }).GetError(),
            Status::OutOfMemory());
}

// ---- Text

// TH-7
TEST_F(TensorHandleTest, TextTellsTheStatesApart) {
  EXPECT_EQ(TextOf(TensorHandle()), "null");
  EXPECT_EQ(TextOf(Available()), "f32[2] on cpu");
  EXPECT_EQ(TextOf(TensorHandle::MakeError(Status::Error(StatusCode::kInternal, "it broke", "tf.Add"))),
            "error: [tf.Add] it broke");
  const RcRef<TensorValue> value = PendingValue();
  EXPECT_EQ(TextOf(HandleTo(value)), "pending f32[2] on cpu");
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  EXPECT_EQ(TextOf(HandleTo(metadata, MakeUnconstructed<Tensor>())), "pending, metadata pending on cpu");
  metadata->Emplace(kTwoFloats);
  EXPECT_EQ(TextOf(HandleTo(metadata, MakeUnconstructed<Tensor>())), "pending f32[2] on cpu");
}

// TH-7
TEST_F(TensorHandleTest, TextOfAnErrorWithMetadataIsTheError) {
  const RcRef<TensorValue> value = PendingValue();
  value->SetError(Internal("it broke"));
  EXPECT_EQ(TextOf(HandleTo(value)), "error: it broke");
}

// TH-7
TEST_F(TensorHandleTest, TextIsNeverHalfOfTwoStates) {
  for (int round = 0; round < 300; ++round) {
    const RcRef<TensorValue> value = PendingValue();
    std::thread writer([&] { Resolve(*value); });
    const TensorHandle handle = HandleTo(value);
    std::string text;
    do {
      std::this_thread::yield();
      text = TextOf(handle);
      ASSERT_TRUE(text == "pending f32[2] on cpu" || text == "f32[2] on cpu") << text;
    } while (text != "f32[2] on cpu");
    writer.join();
  }
}

// ---- Handles in op calls

TensorMetadata Widen(const TensorMetadata& x) { return {DType::kF64, x.shape}; }

// Adds one; takes its argument's memory over if it may.
Status IncrementKernel(DenseArg x, KernelFrame& frame) {
  auto* y = frame.ForwardOrAllocateResult<float>(0, {0});
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = x.data<float>()[i] + 1;
  return Status();
}
Status WidenKernel(DenseArg x, KernelFrame& frame) {
  auto* y = frame.ForwardOrAllocateResult<double>(0, {0});
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = x.data<float>()[i];
  return Status();
}
StatusOr<Tensor> FailKernel(DenseArg) { return InvalidArgument("never works"); }
StatusOr<Tensor> CopyKernel(const Tensor& x) { return x; }

class HandleInOpTest : public TensorHandleTest {
 protected:
  HandleInOpTest() : runtime_(Options()) {
    auto handler =
        std::make_unique<KernelOpHandler>("host", runtime_, nullptr, host_.device, KernelOpHandler::Policy());
    EXPECT_TRUE(
        runtime_.registry()
            .RegisterAll({
                OpDefBuilder("test.Increment").Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>(),
                OpDefBuilder("test.Widen").Input("x: float").Output("y: double").Metadata<&Widen>(),
                OpDefBuilder("test.Copy").Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>(),
                OpDefBuilder("test.Fail").Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>(),
                OpDefBuilder("test.FailWithoutMetadata").Input("x: float").Output("y: float"),
            })
            .ok());
    EXPECT_TRUE(handler->AddKernel("test.Increment", MakeKernel<&IncrementKernel>()).ok());
    EXPECT_TRUE(handler->AddKernel("test.Widen", MakeKernel<&WidenKernel>()).ok());
    EXPECT_TRUE(handler->AddKernel("test.Copy", MakeKernel<&CopyKernel>()).ok());
    EXPECT_TRUE(handler->AddKernel("test.Fail", MakeKernel<&FailKernel>()).ok());
    EXPECT_TRUE(handler->AddKernel("test.FailWithoutMetadata", MakeKernel<&FailKernel>()).ok());
    handler_ = runtime_.AddHandler(std::move(handler));
  }

  static HostContext::Options Options() {
    HostContext::Options options;
    options.work_queue = CreateMultiThreadedWorkQueue(2);
    options.inline_cost_limit = 1'000'000;
    return options;
  }
  TensorHandle Run(std::string_view op, TensorHandle arg) {
    TensorHandle result;
    runtime_.Execute(op, handler_, Location::Current(), {&arg, 1}, OpAttrsRef(), {&result, 1});
    return result;
  }
  Tensor LargeTensor(RcRef<TensorStorage> storage = nullptr) const {
    const TensorMetadata metadata(DType::kF32, {100});
    StatusOr<Tensor> tensor = AllocateDense(metadata, host_.device, *host_.allocator);
    std::fill_n(static_cast<float*>(tensor->mutable_data()), 100, 1.0f);
    if (storage) return Tensor(metadata, &host_.device, kDenseHost, tensor->mutable_data(), std::move(storage));
    return *std::move(tensor);
  }

  CoreRuntime runtime_;
  OpHandler* handler_;
};

// TH-5
TEST_F(HandleInOpTest, TheLastReferencesBufferIsTakenOver) {
  TensorHandle arg = TensorHandle::MakeAvailable(LargeTensor());
  const void* data = arg.tensor().data();
  const TensorHandle result = Run("test.Increment", std::move(arg));
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_EQ(result.tensor().data(), data);
  EXPECT_EQ(Elements<float>(result.tensor()), std::vector<float>(100, 2.0f));
}

// TH-5
TEST_F(HandleInOpTest, ABufferThatAnotherHandleSeesIsNotTakenOver) {
  const TensorHandle kept = TensorHandle::MakeAvailable(LargeTensor());
  const TensorHandle result = Run("test.Increment", kept.CopyRef());
  EXPECT_NE(result.tensor().data(), kept.tensor().data());
  EXPECT_EQ(Elements<float>(kept.tensor()), std::vector<float>(100, 1.0f));
  EXPECT_EQ(Elements<float>(result.tensor()), std::vector<float>(100, 2.0f));
}

// TH-5: another tensor over the same storage, be it a slice or a copy.
TEST_F(HandleInOpTest, ABufferThatAnotherTensorSharesIsNotTakenOver) {
  const Tensor parent = LargeTensor();
  const TensorHandle result = Run("test.Increment", TensorHandle::MakeAvailable(parent));
  EXPECT_NE(result.tensor().data(), parent.data());
  EXPECT_EQ(Elements<float>(parent), std::vector<float>(100, 1.0f));
}

// TH-5
TEST_F(HandleInOpTest, ExternalMemoryIsNotTakenOver) {
  std::vector<float> memory(100, 1.0f);
  bool released = false;
  StatusOr<RcRef<HostBuffer>> buffer =
      HostAllocator::WrapExternal(memory.data(), memory.size() * sizeof(float), [&] { released = true; });
  ASSERT_TRUE(buffer.ok());
  const Tensor tensor({DType::kF32, {100}}, &host_.device, kDenseHost, memory.data(), *std::move(buffer));
  TensorHandle arg = TensorHandle::MakeAvailable(tensor);
  // The tensor above still shares the buffer; one alone does not help either.
  const TensorHandle first = Run("test.Increment", std::move(arg));
  EXPECT_NE(first.tensor().data(), static_cast<void*>(memory.data()));
  EXPECT_EQ(memory, std::vector<float>(100, 1.0f));
  EXPECT_FALSE(released);
}

// TH-5
TEST_F(HandleInOpTest, TheOnlyReferenceToExternalMemoryIsNotTakenOver) {
  std::vector<float> memory(100, 1.0f);
  bool released = false;
  TensorHandle arg = [&] {
    StatusOr<RcRef<HostBuffer>> buffer =
        HostAllocator::WrapExternal(memory.data(), memory.size() * sizeof(float), [&] { released = true; });
    return TensorHandle::MakeAvailable(
        Tensor({DType::kF32, {100}}, &host_.device, kDenseHost, memory.data(), *std::move(buffer)));
  }();
  const TensorHandle result = Run("test.Increment", std::move(arg));
  EXPECT_NE(result.tensor().data(), static_cast<void*>(memory.data()));
  EXPECT_EQ(memory, std::vector<float>(100, 1.0f));
  EXPECT_TRUE(released);
}

// TH-5
TEST_F(HandleInOpTest, ABufferForElementsOfAnotherSizeIsNotTakenOver) {
  TensorHandle arg = TensorHandle::MakeAvailable(LargeTensor());
  const TensorHandle result = Run("test.Widen", std::move(arg));
  ASSERT_TRUE(result.IsConcrete());
  EXPECT_EQ(Elements<double>(result.tensor()), std::vector<double>(100, 1.0));
}

// TH-5
TEST_F(HandleInOpTest, APendingArgumentsBufferIsTakenOverToo) {
  auto value = MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {100}), &host_.device);
  const TensorHandle result = Run("test.Increment", HandleTo(value));
  ASSERT_FALSE(result.IsAvailable());
  Tensor tensor = LargeTensor();
  const void* data = tensor.data();
  value->value().TakePayload(std::move(tensor));
  value.release()->SetConcreteAndDropRef();
  ASSERT_TRUE(runtime_.host().Await(result).ok());
  EXPECT_EQ(result.tensor().data(), data);
  EXPECT_EQ(Elements<float>(result.tensor()), std::vector<float>(100, 2.0f));
}

// TH-5: nobody sees a tensor change, or its metadata be written, while it becomes available.
TEST_F(HandleInOpTest, ThreadsReadMetadataWhileTheKernelGivesItsResult) {
  for (int round = 0; round < 100; ++round) {
    const RcRef<TensorValue> value = PendingValue();
    const TensorHandle result = Run("test.Copy", HandleTo(value));
    std::thread writer([&] { Resolve(*value); });
    do {
      std::this_thread::yield();
      ASSERT_TRUE(result.IsMetadataAvailable());
      ASSERT_EQ(result.metadata(), kTwoFloats);
    } while (!result.IsAvailable());
    writer.join();
    ASSERT_TRUE(result.IsConcrete());
  }
}

// TH-4
TEST_F(HandleInOpTest, AFailedOpsMetadataStaysReadable) {
  const TensorHandle result = Run("test.Fail", Available());
  EXPECT_EQ(result.GetError().message(), "[test.Fail] never works");
  ASSERT_TRUE(result.IsMetadataAvailable());
  EXPECT_EQ(result.metadata(), kTwoFloats);
}

// TH-4, MD-3: what was never known is not made up.
TEST_F(HandleInOpTest, AFailedOpWithoutMetadataFunctionHasNone) {
  const TensorHandle at_once = Run("test.FailWithoutMetadata", Available());
  EXPECT_TRUE(at_once.IsError());
  EXPECT_FALSE(at_once.IsMetadataAvailable());

  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle later = Run("test.FailWithoutMetadata", HandleTo(value));
  EXPECT_FALSE(later.IsMetadataAvailable());
  Resolve(*value);
  ASSERT_FALSE(runtime_.host().Await(later).ok());
  EXPECT_FALSE(later.IsMetadataAvailable());
}

// TH-4, ER-1
TEST_F(HandleInOpTest, AnOpOnAnErrorIsThatError) {
  const Status error = Internal("x");
  EXPECT_EQ(Run("test.Increment", TensorHandle::MakeError(error)).GetError(), error);

  // The metadata's error reaches the op though the tensor stays pending.
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle late = Run("test.Increment", HandleTo(metadata, value));
  EXPECT_FALSE(late.IsAvailable());
  metadata->SetError(error);
  EXPECT_EQ(runtime_.host().Await(late), error);
  EXPECT_EQ(Run("test.Increment", HandleTo(metadata, value)).GetError(), error);
  value->SetError(error);
}

}  // namespace
}  // namespace tandem
