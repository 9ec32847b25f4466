// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is wrong with a machine, and what becomes of tensors and other handlers when a device is lost (ER-5).

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cuda_handler.h"
#include "cuda_test_fixture.h"
#include "tandem/eager.h"
#include "tandem/ops.h"

namespace tandem::cuda {
namespace {

class OldDriverTest : public testing::Test {
 protected:
  OldDriverTest() { setenv("TANDEM_CUDA_DRIVER", TANDEM_FAKE_DRIVER, 1); }
  ~OldDriverTest() override {
    unsetenv("TANDEM_CUDA_DRIVER");
    unsetenv("TANDEM_FAKE_DRIVER_VERSION");
  }
};

TEST_F(OldDriverTest, ADriverThatIsTooOldSaysSo) {
  setenv("TANDEM_FAKE_DRIVER_VERSION", "11010", 1);
  const Status status = OpenDriver().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "expected a driver of CUDA 11.2 or later, got one of CUDA 11.1");
  // The handler is not made, and says the same.
  const auto rt = std::move(*eager::Runtime::Create({.num_threads = 1}));
  EXPECT_EQ(CreateCudaOpHandler(rt->core(), {}).status().message(), status.message());
  EXPECT_EQ(rt->core().FindHandler("cuda"), nullptr);
}

TEST_F(OldDriverTest, ADriverThatLacksAFunctionNamesIt) {
  setenv("TANDEM_FAKE_DRIVER_VERSION", "13000", 1);
  const Status status = OpenDriver().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("cuDeviceGetCount"), std::string::npos) << status.ToString();
  EXPECT_EQ(OpenGraphFunctions().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(OldDriverTest, ADriverThatDoesNotKnowItsVersionSaysSo) {
  EXPECT_NE(OpenDriver().status().message().find("expected cuDriverGetVersion to succeed"), std::string::npos);
}

class CudaFailuresTest : public CudaTest {
 protected:
  CudaFailuresTest()
      : rt_(std::move(*eager::Runtime::Create({.num_threads = 1, .on_diagnostic = [](const Status&) {}}))) {
    MakeQueue();
    handler_ = *AddCudaOpHandler(rt_->core(), std::move(queue_), {});
  }
  eager::Tensor OnDevice(float value) { return rt_->FromValues<float>({value, value}, {2}).To(*handler_->device()); }

  std::unique_ptr<eager::Runtime> rt_;
  shader::ShaderOpHandler* handler_ = nullptr;
};

TEST_F(CudaFailuresTest, ER5_AKernelsFaultMakesHandlesErrorsAndLeavesTheRest) {
  const auto add = [&] {
    auto pipeline = handler_->gpu().queue().CreatePipeline(AddShader());
    std::promise<void> made;
    EXPECT_TRUE(pipeline.AndThen([&made] { made.set_value(); }));
    made.get_future().wait();
    return RcRef<shader::Pipeline>(*pipeline);
  }();
  const eager::Tensor x = OnDevice(1), y = OnDevice(2);
  ASSERT_TRUE(x.Await().ok());
  ASSERT_TRUE(y.Await().ok());
  cuda_.kernels["tandem_test_Add"].run = [](void**) { return 719; };
  const gpu::BufferRange buffers[] = {gpu::GpuDevice::BufferOf(x.handle().tensor()).range(),
                                      gpu::GpuDevice::BufferOf(y.handle().tensor()).range()};
  const uint32_t words[2] = {2, 0};
  ASSERT_TRUE(handler_->gpu().queue().Dispatch(*add, buffers, words, {1, 1, 1}, {"test.Add", Location()}).ok());
  const Status lost = y.ToVector<float>().status();
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
  EXPECT_NE(lost.ToString().find("the last ops issued are test.Add"), std::string::npos) << lost.ToString();
  // All tensors there, and new ones; on the host nothing has happened.
  EXPECT_EQ(x.ToVector<float>().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(OnDevice(3).Await().code(), StatusCode::kUnavailable);
  EXPECT_EQ(*neg(rt_->FromValues<float>({1, 2}, {2})).ToVector<float>(), (std::vector<float>{-1, -2}));
}

TEST_F(CudaFailuresTest, ER5_OutOfMemoryIsAnErrorOfOneTensor) {
  cuda_.capacity = cuda_.bytes_in_use + (64 << 10);
  const eager::Tensor large = rt_->FromBytes(DType::kU8, std::vector<std::byte>(128 << 10), {128 << 10});
  const Status status = large.To(*handler_->device()).Await();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("bytes of memory of Emulated"), std::string::npos) << status.ToString();
  EXPECT_EQ(*OnDevice(4).ToVector<float>(), (std::vector<float>{4, 4}));
}

}  // namespace
}  // namespace tandem::cuda
