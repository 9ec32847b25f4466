// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C++ face on another device than the host's.

#include "tandem/eager.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/ops.h"
#include "tandem/tensor_conversions.h"
#include "tandem/work_queue.h"

namespace tandem::eager {
namespace {

constexpr TensorType kFar{"dense_far"};

// The other device's memory is the host's, but its tensors are of a type of their own.
AsyncValueRef<tandem::Tensor> Convert(const ExecutionContext&, const tandem::Tensor& from, const Device& target) {
  tandem::Tensor to(from.metadata(), &target);
  std::memcpy(to.UseInlineData(target.dense_type()), from.data(), from.metadata().byte_size());
  return AsyncValueRef<tandem::Tensor>::MakeAvailable(std::move(to));
}

StatusOr<tandem::Tensor> Negate(const tandem::Tensor& x, KernelFrame& frame) {
  if (!x.IsA(kFar)) return Internal("not far");
  tandem::Tensor y(frame.result_metadata(0), frame.handler().device());
  auto* data = static_cast<float*>(y.UseInlineData(kFar));
  for (int64_t i = 0; i < x.num_elements(); ++i) data[i] = -static_cast<const float*>(x.data())[i];
  return y;
}

class EagerDeviceTest : public testing::Test {
 protected:
  EagerDeviceTest()
      : far_device_("far:0", kFar),
        runtime_(std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue()}))) {
    TensorConversions& conversions = runtime_->host().conversions();
    EXPECT_TRUE(conversions.Register(kDenseHost, kFar, &Convert).ok());
    EXPECT_TRUE(conversions.Register(kFar, kDenseHost, &Convert).ok());
    auto far =
        std::make_unique<KernelOpHandler>("far", runtime_->core(), nullptr, far_device_, KernelOpHandler::Policy());
    far_ = far.get();
    EXPECT_TRUE(far_->AddKernel("tf.Neg", {DType::kF32}, MakeKernel<&Negate>()).ok());
    runtime_->core().AddHandler(std::move(far));
  }

  Tensor Numbers() { return runtime_->FromValues<float>({1, 2, 3}, {3}); }

  // Destroyed last: tensors on it may be alive as long as the runtime.
  Device far_device_;
  std::unique_ptr<Runtime> runtime_;
  KernelOpHandler* far_;
};

TEST_F(EagerDeviceTest, CallsRunOnTheHandlerThatIsUsed) {
  OpHandler& cpu = runtime_->handler();
  const Tensor there = Numbers().To(far_device_);
  EXPECT_FALSE(neg(there).Await().ok()) << "the CPU's handler does not take the other device's tensors";
  runtime_->UseHandler(*far_);
  EXPECT_EQ(&runtime_->handler(), far_);
  EXPECT_EQ(neg(there).ToVector<float>().value(), (std::vector<float>{-1, -2, -3}));
  EXPECT_FALSE(neg(Numbers()).Await().ok()) << "the handler was not told to take the host's tensors";
  runtime_->UseHandler(cpu);
  EXPECT_EQ(neg(Numbers()).ToVector<float>().value(), (std::vector<float>{-1, -2, -3}));
}

TEST_F(EagerDeviceTest, ToMovesThereAndBack) {
  const Tensor here = Numbers();
  EXPECT_EQ(&here.To(runtime_->host().device()).handle().tensor(), &here.handle().tensor()) << "it is there already";
  const Tensor there = here.To(far_device_);
  ASSERT_TRUE(there.Await().ok());
  EXPECT_EQ(there.handle().tensor().device(), &far_device_);
  const Tensor back = there.To(runtime_->host().device());
  EXPECT_EQ(back.Values<float>().value()[2], 3);
}

TEST_F(EagerDeviceTest, ValuesAreOfTheHostOnly) {
  const Tensor there = Numbers().To(far_device_);
  const Status status = there.Values<float>().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("expected a dense tensor of the host, got f32[3] as dense_far"), std::string::npos)
      << status.ToString();
  EXPECT_EQ(there.ToVector<float>().value(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(runtime_->FromValues<float>({7}, {}).To(far_device_).Item<float>().value(), 7);
}

TEST_F(EagerDeviceTest, ErrorsStayErrors) {
  const Tensor wrong = runtime_->FromValues<float>({1, 2}, {3});
  EXPECT_EQ(wrong.To(far_device_).Await(), wrong.Await());
  EXPECT_EQ(Tensor().To(far_device_).Await().code(), StatusCode::kInvalidArgument);
}

// Kernels rely on elements of bool being 0 or 1.
TEST_F(EagerDeviceTest, OfBoolOtherBytesThan0And1AreNormalizedOrRefused) {
  const std::byte bytes[] = {std::byte{0}, std::byte{1}, std::byte{2}};
  EXPECT_EQ(runtime_->FromBytes(DType::kBool, bytes, {3}).ToString(), "bool[3] = [false, true, true]");
  int released = 0;
  const auto release = [&released] { ++released; };
  EXPECT_EQ(runtime_->Wrap(DType::kBool, bytes, {3}, release).Await().message(),
            "data of bool must be bytes of 0 or 1, got 2 at index 2");
  EXPECT_EQ(released, 1);
  const Tensor right = runtime_->Wrap(DType::kBool, std::span(bytes).first(2), {2}, release);
  EXPECT_EQ(right.ToString(), "bool[2] = [false, true]");
}

}  // namespace
}  // namespace tandem::eager
