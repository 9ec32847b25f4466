// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors of the C++ face: elsewhere than on the host, and read as other dtypes than their own.

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

TEST_F(EagerDeviceTest, TextsShowTheValuesThatAreElsewhere) {
  EXPECT_EQ(Numbers().To(far_device_).ToString(), "f32[3] = [1, 2, 3]");
  EXPECT_EQ(Numbers().To(far_device_).ToString(2), Numbers().ToString(2));
}

TEST_F(EagerDeviceTest, ElementsAreConvertedWhereTheyFit) {
  EXPECT_EQ(Numbers().ToVector<double>().value(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Numbers().To(far_device_).ToVector<int32_t>().value(), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(runtime_->Scalar<int64_t>(7).Item<uint8_t>().value(), 7);
  EXPECT_EQ(runtime_->Scalar<uint8_t>(1).Item<bool>().value(), true);
  EXPECT_EQ(runtime_->FromValues<float>({1, 2.5}, {2}).ToVector<int32_t>().status().message(),
            "element[1]: expected an integer for i32, got 2.5");
  EXPECT_EQ(runtime_->FromValues<int64_t>({0, 0, 0, 300}, {2, 2}).ToVector<int8_t>().status().message(),
            "element[1][1]: expected -128 to 127 for i8, got 300");
  EXPECT_EQ(runtime_->FromStrings(std::vector<std::string_view>{"1"}, {1}).ToVector<float>().status().message(),
            "element: expected numbers, got string[1]");
}

TEST_F(EagerDeviceTest, ER3_MisuseHasTheLocationOfTheCaller) {
  const Tensor x = Numbers();
  const auto line_of = [](const Status& status) { return static_cast<int>(status.location().line); };
  EXPECT_EQ(line_of(x.Values<double>().status()), __LINE__);
  EXPECT_EQ(line_of(x.To(far_device_).Values<float>().status()), __LINE__);
  EXPECT_EQ(line_of(x.Item<float>().status()), __LINE__);
  EXPECT_EQ(line_of(add(x, 0.5).ToVector<bool>().status()), __LINE__);
  EXPECT_EQ(line_of(Tensor().Await()), __LINE__);
  EXPECT_EQ(line_of(Tensor().Metadata().status()), __LINE__);
  EXPECT_EQ(line_of(Tensor().Item<float>().status()), __LINE__);
  const int line = __LINE__ + 1;
  const Tensor wrong = add(x, zeros(*runtime_, {2}));
  EXPECT_EQ(line_of(wrong.Item<float>().status()), line) << "the error of a call keeps the call's";
}

TEST_F(EagerDeviceTest, AttributesTakeNumbersOfOtherTypes) {
  const Tensor x = ones(*runtime_, {1, 2, 2, 4});
  Operand operand = x;
  OpAttrs block;
  block.Set("block_size", 2);
  EXPECT_EQ(runtime_->Execute("tf.DepthToSpace", {&operand}, block).Metadata()->shape, TensorShape({1, 4, 4, 1}));
  Operand negative = runtime_->FromValues<float>({-1}, {1});
  OpAttrs alpha;
  alpha.Set("alpha", 0.25);
  EXPECT_EQ(runtime_->Execute("tf.LeakyRelu", {&negative}, alpha).Item<float>().value(), -0.25f);
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
