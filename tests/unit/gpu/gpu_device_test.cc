// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A device that is no more than a stream: tensors there and back and to another one, events, parts of buffers, kernels
// of its own, failures (DI-4, EX-13, ER-5, TH-5, TH-6, WQ-3).

#include "tandem/gpu/gpu_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "null_stream.h"
#include "tandem/gpu/gpu_op_handler.h"
#include "test_runtime.h"

namespace tandem::gpu {
namespace {

// Whether a stream has a thread that tells of ends, where programs have threads.
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kWithAndWithoutThread[] = {false, true};
#else
constexpr bool kWithAndWithoutThread[] = {false};
#endif

// y = 2 x, by a command of the stream: written anew, or in place.
Status DoubleKernel(DeviceArg x, GpuDevice& device, NullStream& stream, KernelFrame& frame) {
  TANDEM_RETURN_IF_ERROR(device.CheckUsable(GpuDevice::BufferOf(x.tensor())));
  TANDEM_ASSIGN_OR_RETURN(Tensor y, frame.NewResult(0, {0}));
  const BufferRange from = GpuDevice::BufferOf(x.tensor()).range();
  const BufferRange to = GpuDevice::BufferOf(y).range();
  const uint64_t batch = stream.Issue([&stream, from, to, count = x.size()] {
    for (int64_t i = 0; i < count; ++i) stream.At<float>(to)[i] = 2 * stream.At<float>(from)[i];
  });
  GpuDevice::BufferOf(y).set_last_write(batch);
  frame.SetResult(0, std::move(y));
  return Status();
}

class GpuDeviceTest : public testing::Test {
 protected:
  GpuDeviceTest() : first_(*Add("first", first_controls_)), second_(*Add("second", second_controls_)) {
    rt_.Define(OpDefBuilder("t.Double").Input("x: float").Output("y: float").Metadata<&test_ops::Same>());
    EXPECT_TRUE(first_.AddKernel("t.Double", {DType::kInvalid}, MakeKernel<&DoubleKernel>()).ok());
  }

  GpuOpHandler* Add(std::string_view name, const std::shared_ptr<NullStream::Controls>& controls) {
    EXPECT_TRUE(GpuDevice::RegisterConversions(rt_.host().conversions()).ok());
    auto handler = std::make_unique<NullHandler>(name, rt_.runtime(), &rt_.cpu(), controls);
    return static_cast<GpuOpHandler*>(rt_.runtime().AddHandler(std::move(handler)));
  }

  ExecutionContext Exec() { return ExecutionContext(rt_.host(), Location::Current()); }
  TensorHandle To(const TensorHandle& handle, const Device& device) { return handle.TransferTo(Exec(), device); }
  TensorHandle ToFirst(const TensorHandle& handle) { return To(handle, first_.gpu()); }
  TensorHandle ToHost(const TensorHandle& handle) { return To(handle, rt_.host().device()); }
  std::vector<float> Values(const TensorHandle& handle) { return rt_.Values(ToHost(handle)); }
  TensorHandle Call(std::string_view op, Args args) {
    TensorHandle result;
    rt_.runtime().Execute(Exec(), op, &first_, args.span(), OpAttrsRef(), {&result, 1});
    return result;
  }

  const std::shared_ptr<NullStream::Controls> first_controls_ = std::make_shared<NullStream::Controls>();
  const std::shared_ptr<NullStream::Controls> second_controls_ = std::make_shared<NullStream::Controls>();
  TestRuntime rt_;
  GpuOpHandler& first_;
  GpuOpHandler& second_;
};

TEST_F(GpuDeviceTest, TH6_EveryDTypeTravelsThereAndBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (DTypeSize(dtype) == 0) continue;
    for (const int64_t count : {0, 1, 5, 1000}) {
      StatusOr<Tensor> host = AllocateDense({dtype, {count}}, rt_.host().device(), rt_.host().allocator());
      ASSERT_TRUE(host.ok());
      const size_t bytes = host->metadata().byte_size();
      for (size_t k = 0; k < bytes; ++k) static_cast<unsigned char*>(host->mutable_data())[k] = k % 2;
      const Tensor sent = *host;
      const TensorHandle there = ToFirst(TensorHandle::MakeAvailable(std::move(*host)));
      EXPECT_EQ(there.device(), &first_.gpu());
      const TensorHandle back = ToHost(there);
      ASSERT_TRUE(rt_.host().Await(back).ok()) << DTypeName(dtype);
      EXPECT_EQ(std::memcmp(back.tensor().data(), sent.data(), bytes), 0) << DTypeName(dtype) << " " << count;
    }
  }
  EXPECT_EQ(first_.gpu().ByteSize({DType::kBool, {5}}), 5u);
  EXPECT_EQ(GpuByteSize({DType::kBool, {5}}, BoolLayout::kWords), 20u);
}

TEST_F(GpuDeviceTest, DI4_KernelsOfItsOwnAreIssuedInOrder) {
  TensorHandle y = Call("t.Double", {ToFirst(rt_.F32({1, 2}))});
  EXPECT_TRUE(y.IsConcrete());
  EXPECT_EQ(first_.gpu().stream().counters().submits, 0u);
  const TensorHandle z = Call("t.Double", {y});
  EXPECT_EQ(Values(z), (std::vector<float>{4, 8}));
  EXPECT_EQ(first_.gpu().stream().counters().submits, 1u);
  const BufferId id = GpuDevice::BufferOf(y.tensor()).id();
  const TensorHandle taken = Call("t.Double", {std::move(y)});
  EXPECT_EQ(GpuDevice::BufferOf(taken.tensor()).id(), id);
  EXPECT_EQ(Values(taken), (std::vector<float>{4, 8}));
}

TEST_F(GpuDeviceTest, DI4a_OnlyHandlersThatProvideItTakeSuchAKernel) {
  const Status status = rt_.cpu().AddKernel("t.Double", {DType::kInvalid}, MakeKernel<&DoubleKernel>());
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "a kernel of t.Double takes a GPU device, which op handler cpu does not provide");
}

TEST_F(GpuDeviceTest, OH2_TheFallbackRunsWhatItHasNoKernelFor) {
  const TensorHandle sum = Call("t.Add", {ToFirst(rt_.F32({1, 2})), rt_.F32({3, 4})});
  EXPECT_EQ(Values(sum), (std::vector<float>{4, 6}));
  EXPECT_EQ(sum.device(), &first_.gpu());
}

TEST_F(GpuDeviceTest, TH6_FromOneDeviceToAnother) {
  const std::vector<float> many(1000, 0.5f);
  for (const bool has_thread : kWithAndWithoutThread) {
    first_controls_->has_thread = has_thread;
    const TensorHandle there = To(ToFirst(rt_.F32(many)), second_.gpu());
    EXPECT_EQ(there.device(), &second_.gpu());
    EXPECT_EQ(Values(there), many);
    // Also what is still to come.
    Promise promise = rt_.MakePromise();
    const TensorHandle late = To(ToFirst(promise.Handle()), second_.gpu());
    EXPECT_FALSE(late.IsAvailable());
    promise.Resolve(rt_.Filled(3, 7));
    EXPECT_EQ(Values(late), (std::vector<float>{7, 7, 7}));
  }
}

TEST_F(GpuDeviceTest, EX13_ATensorOfAnotherDeviceIsNoArgument) {
  EXPECT_EQ(rt_.ErrorOf(Call("t.Double", {To(rt_.F32({1, 2}), second_.gpu())})),
            "[t.Double] argument 0 (x) must be on device first, got a tensor on second; transfer it first");
}

TEST_F(GpuDeviceTest, ER5_AFailedDownloadIsTheErrorOfBothWays) {
  const TensorHandle x = ToFirst(rt_.F32(std::vector<float>(1000, 1)));
  first_controls_->download_error = Internal("the bus says no");
  for (const bool has_thread : kWithAndWithoutThread) {
    first_controls_->has_thread = has_thread;
    EXPECT_EQ(rt_.ErrorOf(ToHost(x)), "[tandem.Transfer] the bus says no");
    EXPECT_EQ(rt_.ErrorOf(To(x, second_.gpu())), "[tandem.Transfer] the bus says no");
  }
}

TEST_F(GpuDeviceTest, ER5_TheOtherDeviceMayBeTooSmall) {
  second_controls_->limits.max_buffer_bytes = 1024;
  const TensorHandle x = ToFirst(rt_.F32(std::vector<float>(1000, 1)));
  for (const bool has_thread : kWithAndWithoutThread) {
    first_controls_->has_thread = has_thread;
    EXPECT_EQ(rt_.ErrorOf(To(x, second_.gpu())),
              "[tandem.Transfer] expected a tensor of at most 1024 bytes on nothing, got one of 4000");
  }
}

TEST_F(GpuDeviceTest, ER5_WhatAFailedBatchWroteIsAnErrorAndTheRestIsNot) {
  const TensorHandle x = ToFirst(rt_.F32({1, 2}));
  first_.gpu().stream().Flush();
  const TensorHandle y = Call("t.Double", {x});
  const uint64_t batch = GpuDevice::BufferOf(y.tensor()).last_write();
  first_controls_->listener->OnBatchesFailed(batch, batch, Internal("the driver says no"));
  EXPECT_EQ(rt_.ErrorOf(ToHost(y)), "[tandem.Transfer] the driver says no");
  EXPECT_EQ(rt_.ErrorOf(To(y, second_.gpu())), "[tandem.Transfer] the driver says no");
  EXPECT_EQ(rt_.ErrorOf(Call("t.Double", {y})), "[t.Double] the driver says no");
  first_.gpu().stream().Flush();
  EXPECT_EQ(Values(Call("t.Double", {x})), (std::vector<float>{2, 4}));
}

TEST_F(GpuDeviceTest, AnEventComesAfterWhatWasIssued) {
  for (const bool has_thread : kWithAndWithoutThread) {
    first_controls_->has_thread = has_thread;
    bool is_done = false;
    static_cast<NullStream&>(first_.gpu().stream()).Issue([&] { is_done = true; });
    EXPECT_FALSE(is_done);
    const AsyncValueRef<Chain> event = first_.gpu().RecordEvent();
    EXPECT_TRUE(rt_.AwaitChain(event).ok());
    EXPECT_TRUE(is_done);
  }
  first_controls_->download_error = MakeError(StatusCode::kUnavailable, "the device is lost");
  EXPECT_EQ(rt_.AwaitChain(first_.gpu().RecordEvent()).code(), StatusCode::kUnavailable);
}

TEST_F(GpuDeviceTest, APartIsReadWithoutACopy) {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  TensorHandle x = ToFirst(rt_.F32(values));
  GpuBuffer& whole = GpuDevice::BufferOf(x.tensor());
  const RcRef<GpuBuffer> part = whole.Part(32 * 4, 8 * 4);
  // Of a part, too.
  const RcRef<GpuBuffer> inner = part->Part(4 * 4, 4 * 4);
  EXPECT_EQ(inner->offset(), 36u * 4);
  EXPECT_EQ(&inner->whole(), &whole);
  EXPECT_EQ(inner->last_write(), whole.last_write());
  TensorHandle y = TensorHandle::MakeAvailable(
      Tensor({DType::kF32, {8}}, &first_.gpu(), kDenseGpu, nullptr, RcRef<TensorStorage>(part)));
  x.reset();
  EXPECT_EQ(Values(y), (std::vector<float>{32, 33, 34, 35, 36, 37, 38, 39}));
  // TH-5: never taken over, though nobody else has it.
  const TensorHandle doubled = Call("t.Double", {y});
  EXPECT_EQ(Values(doubled), (std::vector<float>{64, 66, 68, 70, 72, 74, 76, 78}));
  EXPECT_EQ(Values(y)[0], 32);
  EXPECT_EQ(first_controls_->num_copies, 0u);
}

TEST_F(GpuDeviceTest, APartKeepsTheWholeAndThenGivesItBack) {
  TensorHandle x = ToFirst(rt_.F32(std::vector<float>(1000, 1)));
  const uint64_t bytes = first_.gpu().memory().stats().bytes_in_use;
  RcRef<GpuBuffer> part = GpuDevice::BufferOf(x.tensor()).Part(16, 16);
  x.reset();
  EXPECT_EQ(first_.gpu().memory().stats().bytes_in_use, bytes);
  part.reset();
  EXPECT_EQ(first_.gpu().memory().stats().bytes_in_use, 0u);
}

TEST_F(GpuDeviceTest, WQ3_TensorsMayOutliveTheirRuntime) {
  TensorHandle survivor;
  RcRef<GpuBuffer> part;
  {
    TestRuntime other;
    ASSERT_TRUE(GpuDevice::RegisterConversions(other.host().conversions()).ok());
    auto stream = std::make_unique<NullStream>(std::make_shared<NullStream::Controls>());
    auto memory = MakeRef<GpuMemory>(*stream, GpuMemory::Options());
    const GpuDevice device("null", std::move(stream), std::move(memory), BoolLayout::kBytes);
    survivor = other.F32({1, 2}).TransferTo(ExecutionContext(other.host(), Location::Current()), device);
    part = GpuDevice::BufferOf(survivor.tensor()).Part(0, 4);
  }
  survivor.reset();
  part.reset();
}

}  // namespace
}  // namespace tandem::gpu
