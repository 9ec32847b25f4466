// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The Vulkan module's entry.

#include "vulkan_module.h"

#include <string_view>

#include "tandem/export.h"
#include "tandem/host_tensors.h"
#include "tandem/version.h"
#include "tandem/vulkan/vulkan_op_handler.h"

extern "C" TANDEM_EXPORT void tandem_vulkan_module(tandem::VulkanModuleCall* call);

void tandem_vulkan_module(tandem::VulkanModuleCall* call) {
  using tandem::FailedPrecondition;
  if (std::string_view(call->version) != TANDEM_VERSION_STRING) {
    call->error = FailedPrecondition("expected ", tandem::kVulkanModuleFile, " of version ", call->version, ", got ",
                                     TANDEM_VERSION_STRING);
    return;
  }
  if (call->dense_host != &tandem::kDenseHost) {
    call->error = FailedPrecondition(
        "expected a program that links the shared library, got one that has another copy of Tandem in it");
    return;
  }
  const tandem::VulkanHandlerOptions& given = *call->options;
  tandem::vulkan::VulkanOptions options;
  options.device = given.device;
  options.fallback = given.fallback;
  options.memory.memory_limit = given.memory_limit;
  options.memory.cache_limit = given.cache_limit;
  options.cache_folder = given.cache_folder;
  const auto handler = tandem::vulkan::CreateVulkanOpHandler(*call->runtime, options);
  if (handler.ok()) {
    call->handler = *handler;
  } else {
    call->error = handler.status();
  }
}
