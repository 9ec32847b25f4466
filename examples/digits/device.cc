// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The CPU's handler, or one of a GPU.

#include "digits/device.h"

#ifdef DIGITS_HAS_CUDA
#include "tandem/cuda/cuda_op_handler.h"
#endif
#ifdef DIGITS_HAS_VULKAN
#include "tandem/vulkan/vulkan_op_handler.h"
#endif

namespace digits {

using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::eager::Runtime;

namespace {

[[maybe_unused]] Status LeftOut(const char* what) {
  return MakeError(StatusCode::kUnimplemented, "this program was built without ", what,
                   ": see the message about it when the build is configured");
}

// With ops that have no kernel there run on the CPU.
tandem::StatusOr<tandem::OpHandler*> MakeHandler([[maybe_unused]] Runtime& runtime, const std::string& device) {
  if (device == "vulkan") {
#ifdef DIGITS_HAS_VULKAN
    tandem::vulkan::VulkanOptions options;
    options.fallback = &runtime.handler();
    TANDEM_ASSIGN_OR_RETURN(tandem::OpHandler* const handler,
                            tandem::vulkan::CreateVulkanOpHandler(runtime.core(), options));
    return handler;
#else
    return LeftOut("Vulkan");
#endif
  }
  if (device == "cuda") {
#ifdef DIGITS_HAS_CUDA
    tandem::cuda::CudaOptions options;
    options.fallback = &runtime.handler();
    TANDEM_ASSIGN_OR_RETURN(tandem::OpHandler* const handler,
                            tandem::cuda::CreateCudaOpHandler(runtime.core(), options));
    return handler;
#else
    return LeftOut("CUDA");
#endif
  }
  return tandem::InvalidArgument("the device must be cpu, vulkan or cuda, got '", device, "'");
}

}  // namespace

Status UseDevice(Runtime& runtime, const std::string& device) {
  if (device == "cpu") return Status();
  TANDEM_ASSIGN_OR_RETURN(tandem::OpHandler* const handler, MakeHandler(runtime, device));
  runtime.UseHandler(*handler);
  return Status();
}

}  // namespace digits
