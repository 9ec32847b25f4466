// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a machine lacks: drivers, devices, compilers, each with an error that says so; and what the toolkit's headers
// declare, where they are.

#include "cuda_device.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "cuda_prelude.h"
#include "cuda_test_fixture.h"
#include "nvrtc.h"
#include "tandem/cuda/cuda_op_handler.h"

namespace tandem::cuda {
namespace {

// A variable of the environment for the time of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* const name_;
};

void ExpectError(const Status& status, StatusCode code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << status.ToString();
  EXPECT_NE(status.message().find(text), std::string::npos) << status.ToString();
}

TEST(CudaDriverTest, AMissingDriverIsNamed) {
  const Variable variable("TANDEM_CUDA_DRIVER", "/not/there/libcuda.so.1");
  ExpectError(CreateCudaQueue({}).status(), StatusCode::kNotFound, "expected a CUDA driver, got none: /not/there/");
}

TEST(CudaDriverTest, ALibraryThatIsNoDriverIsNamed) {
  const Variable variable("TANDEM_CUDA_DRIVER", "libm.so.6");
  ExpectError(OpenDriver().status(), StatusCode::kFailedPrecondition, "expected libm.so.6 with cuGetErrorName");
}

TEST(NvrtcTest, AMissingCompilerIsNamed) {
  const Variable variable("TANDEM_NVRTC", "/not/there/libnvrtc.so");
  ExpectError(Nvrtc::Open().status(), StatusCode::kNotFound, "expected CUDA's compiler NVRTC (libnvrtc.so), got none");
}

using CudaDeviceTest = CudaTest;

TEST_F(CudaDeviceTest, ADescriptionNamesDeviceAndDriver) {
  const auto device = CudaDevice::Create(cuda_.driver(), "");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->description(), "Emulated (compute capability 9.0, driver of CUDA 13.0)");
}

TEST_F(CudaDeviceTest, NoDeviceIsNotFound) {
  cuda_.devices.clear();
  ExpectError(TryMakeQueue().status(), StatusCode::kNotFound, "expected a CUDA device, got none");
  cuda_.faults["cuInit"] = {kDriverNoDevice, 0};
  ExpectError(TryMakeQueue().status(), StatusCode::kNotFound, "expected a CUDA device, got none");
  cuda_.faults["cuInit"] = {kDriverStubLibrary, 0};
  ExpectError(TryMakeQueue().status(), StatusCode::kNotFound, "expected a CUDA driver, got the toolkit's stub of one");
}

TEST_F(CudaDeviceTest, DevicesAreChosenByIndexOrName) {
  cuda_.devices = {"NVIDIA T4", "NVIDIA H100 80GB", "NVIDIA H200"};
  const auto chosen = [&](std::string_view which) {
    const auto device = CudaDevice::Create(cuda_.driver(), which);
    return device.ok() ? (*device)->description().substr(0, (*device)->description().find(" (")) : "none";
  };
  EXPECT_EQ(chosen(""), "NVIDIA T4");
  EXPECT_EQ(chosen("1"), "NVIDIA H100 80GB");
  EXPECT_EQ(chosen("h200"), "NVIDIA H200");
  ExpectError(CudaDevice::Create(cuda_.driver(), "3").status(), StatusCode::kNotFound,
              "expected a CUDA device \"3\", got 0: NVIDIA T4, 1: NVIDIA H100 80GB, 2: NVIDIA H200");
  const Variable variable("TANDEM_CUDA_DEVICE", "H100");
  EXPECT_EQ(chosen("0"), "NVIDIA H100 80GB");
}

TEST_F(CudaDeviceTest, ADeviceThatFallsShortSaysInWhat) {
  cuda_.architecture = 70;
  ExpectError(TryMakeQueue().status(), StatusCode::kFailedPrecondition,
              "expected a device of compute capability 7.5 or later, got Emulated of 7.0");
  cuda_.architecture = 90;
  cuda_.has_pools = false;
  ExpectError(TryMakeQueue().status(), StatusCode::kFailedPrecondition,
              "expected a device with memory pools, got Emulated without");
}

TEST_F(CudaDeviceTest, ACompilerThatDoesNotKnowTheDeviceMakesPtxForAnOlderOne) {
  const Nvrtc nvrtc(cuda_.nvrtc());
  const std::string source = std::string(kCudaPrelude) + " ";
  const auto known = nvrtc.Compile(source, "x", 90, {});
  ASSERT_TRUE(known.ok());
  EXPECT_FALSE(known->is_ptx);
  const auto newer = nvrtc.Compile(source, "x", 120, {});
  ASSERT_TRUE(newer.ok());
  EXPECT_TRUE(newer->is_ptx);
  ExpectError(nvrtc.Compile(source, "x", 60, {}).status(), StatusCode::kFailedPrecondition,
              "expected an NVRTC that compiles for compute capability 6.0, got 13.0, which begins at 75");
}

TEST_F(CudaDeviceTest, ACompilerThatIsTooOldSaysSo) {
  const Nvrtc nvrtc(cuda_.nvrtc());
  EXPECT_TRUE(nvrtc.CheckVersion().ok());
  cuda_.nvrtc_major = 11;
  cuda_.nvrtc_minor = 7;
  EXPECT_TRUE(nvrtc.CheckVersion().ok());
  cuda_.nvrtc_minor = 2;
  ExpectError(nvrtc.CheckVersion(), StatusCode::kFailedPrecondition,
              "expected an NVRTC of CUDA 11.7 or later, got one of CUDA 11.2");
}

// Whatever this machine has, asking for a handler gives one, or an error that says what is missing.
TEST(CudaOpHandlerTest, IsThereOrSaysWhatIsMissing) {
  const auto queue = CreateCudaQueue({});
  if (queue.ok()) return;
  EXPECT_TRUE(queue.status().code() == StatusCode::kNotFound ||
              queue.status().code() == StatusCode::kFailedPrecondition)
      << queue.status().ToString();
  EXPECT_EQ(queue.status().message().find("expected "), 0u) << queue.status().ToString();
}

}  // namespace
}  // namespace tandem::cuda
