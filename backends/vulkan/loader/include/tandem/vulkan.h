// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The Vulkan op handler, for programs that link the shared library: it is in a module of its own, loaded when it is
// asked for, so that a machine without Vulkan runs the rest.

#ifndef TANDEM_VULKAN_H_
#define TANDEM_VULKAN_H_

#include <cstdint>
#include <string>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/op_handler.h"
#include "tandem/status.h"

namespace tandem {

// Which device the handler is for, and what it does with what that lacks. LoadOpHandler takes the same as settings of
// these names: `device` and `cache_folder` as text, `memory_limit` and `cache_limit` as i64.
struct VulkanHandlerOptions {
  // Which device: its index in the loader's order, or a part of its name in any case. Empty: the first discrete one,
  // else integrated, virtual, of the CPU. TANDEM_VULKAN_DEVICE in the environment comes first.
  std::string device{};
  // Runs ops that the device has no kernel for, moving arguments and results (OH-2); null: such calls are errors.
  OpHandler* fallback = nullptr;
  uint64_t memory_limit = UINT64_MAX;          // bytes of tensors on the device
  uint64_t cache_limit = uint64_t{512} << 20;  // bytes of freed tensors kept for later ones
  // Where compiled shaders are kept from one run to the next. Empty: TANDEM_VULKAN_CACHE in the environment, else
  // `tandem` in the user's cache folder; "off" keeps none.
  std::string cache_folder{};
};

// Loads the module, which is beside the library and has the same version in its name (libtandem_vulkan.so.0.1), makes
// the handler "vulkan" and adds it to the runtime, which owns it; the module stays in the process. NotFound if there is
// no module, Vulkan loader, driver or such device; FailedPrecondition if the module is of another version, the program
// links the static library, or the device falls short of what shaders need.
TANDEM_EXPORT StatusOr<OpHandler*> LoadVulkanOpHandler(CoreRuntime& runtime, const VulkanHandlerOptions& options = {});

}  // namespace tandem

#endif  // TANDEM_VULKAN_H_
