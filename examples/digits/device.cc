// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The CPU's handler, or one of a GPU.

#include "digits/device.h"

#ifdef DIGITS_HAS_VULKAN
#include "tandem/vulkan/vulkan_op_handler.h"
#endif

namespace digits {

using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::eager::Runtime;

Status UseDevice([[maybe_unused]] Runtime& runtime, const std::string& device) {
  if (device == "cpu") return Status();
  if (device != "vulkan") {
    return tandem::InvalidArgument("the device must be cpu or vulkan, got '", device, "'");
  }
#ifdef DIGITS_HAS_VULKAN
  tandem::vulkan::VulkanOptions options;
  // Ops without a shader run on the CPU.
  options.fallback = &runtime.handler();
  TANDEM_ASSIGN_OR_RETURN(tandem::OpHandler* const handler,
                          tandem::vulkan::CreateVulkanOpHandler(runtime.core(), options));
  runtime.UseHandler(*handler);
  return Status();
#else
  return MakeError(StatusCode::kUnimplemented,
                   "this program was built without Vulkan: see the message about it when "
                   "the build is configured");
#endif
}

}  // namespace digits
