// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the shared library and its Vulkan module know of each other.

#ifndef TANDEM_VULKAN_LOADER_VULKAN_MODULE_H_
#define TANDEM_VULKAN_LOADER_VULKAN_MODULE_H_

#include "tandem/core_runtime.h"
#include "tandem/op_handler.h"
#include "tandem/status.h"
#include "tandem/tensor.h"
#include "tandem/vulkan.h"

namespace tandem {

// With the version that the library's own name has, so that several can be installed side by side.
inline constexpr char kVulkanModuleFile[] = "libtandem_vulkan.so." TANDEM_SO_VERSION;
inline constexpr char kVulkanModuleSymbol[] = "tandem_vulkan_module";

// The first members never change, so that a module of any version can refuse a library of any other.
struct VulkanModuleCall {
  const char* version;           // of the library
  const TensorType* dense_host;  // the library's; another one in the module means that there are two libraries
  CoreRuntime* runtime;
  const VulkanHandlerOptions* options;
  OpHandler* handler = nullptr;  // the result, if `error` is ok
  Status error;
};
using VulkanModuleEntry = void (*)(VulkanModuleCall* call);

}  // namespace tandem

#endif  // TANDEM_VULKAN_LOADER_VULKAN_MODULE_H_
