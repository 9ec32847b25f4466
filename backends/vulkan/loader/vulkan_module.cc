// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The Vulkan module's entry; see tandem/vulkan.h for its settings.

#include <string_view>

#include "tandem/op_handler_module.h"
#include "tandem/vulkan/vulkan_op_handler.h"

namespace tandem::vulkan {
namespace {

StatusOr<OpHandler*> Create(CoreRuntime& runtime, OpHandler* fallback, const OpAttrsRef& settings) {
  std::string_view device, cache_folder;
  int64_t memory_limit = INT64_MAX;
  VulkanOptions options;
  auto cache_limit = static_cast<int64_t>(options.memory.cache_limit);
  TANDEM_RETURN_IF_ERROR(HandlerSettings(settings)
                             .Read("device", device)
                             .Read("cache_folder", cache_folder)
                             .Read("memory_limit", memory_limit)
                             .Read("cache_limit", cache_limit)
                             .Finish());
  if (memory_limit < 0 || cache_limit < 0) {
    return InvalidArgument("expected limits of 0 bytes or more, got memory_limit ", memory_limit, ", cache_limit ",
                           cache_limit);
  }
  options.device = device;
  options.cache_folder = cache_folder;
  options.fallback = fallback;
  options.memory.memory_limit = static_cast<uint64_t>(memory_limit);
  options.memory.cache_limit = static_cast<uint64_t>(cache_limit);
  TANDEM_ASSIGN_OR_RETURN(OpHandler* const handler, CreateVulkanOpHandler(runtime, options));
  return handler;
}

}  // namespace
}  // namespace tandem::vulkan

TANDEM_OP_HANDLER_MODULE(&tandem::vulkan::Create);
