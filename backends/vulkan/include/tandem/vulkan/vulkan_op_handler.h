// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler of GPUs, by Vulkan.

#ifndef TANDEM_VULKAN_VULKAN_OP_HANDLER_H_
#define TANDEM_VULKAN_VULKAN_OP_HANDLER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/gpu/gpu_memory.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/status.h"

namespace tandem::vulkan {

struct VulkanOptions {
  // Which device: its index in the loader's order, or a part of its name in any case. Empty: the first discrete one,
  // else integrated, virtual, of the CPU. TANDEM_VULKAN_DEVICE in the environment comes first.
  std::string device;

  // Whether Vulkan's validation layer watches, where it is installed. Default: in builds with asserts, and where
  // TANDEM_VULKAN_VALIDATION=1 is in the environment.
  std::optional<bool> validation{};
  // Hears the layer's warnings and errors, on the thread that caused them. Must not call the device.
  std::function<void(std::string_view)> on_message{};

  // Where compiled shaders are kept from one run to the next. Default: TANDEM_VULKAN_CACHE in the environment, else
  // `tandem` in the user's cache folder (XDG_CACHE_HOME, or .cache in HOME); "off" keeps none.
  std::string cache_folder;

  // For the op handler.
  gpu::GpuMemory::Options memory{};
  OpHandler* fallback = nullptr;
};

// A queue of a device that has compute and timeline semaphores (Vulkan 1.2, or 1.1 with VK_KHR_timeline_semaphore).
// NotFound if there is no loader, no driver, or no such device; FailedPrecondition, naming what it lacks, if the device
// falls short of what shaders need.
TANDEM_EXPORT StatusOr<std::unique_ptr<shader::ShaderQueue>> CreateVulkanQueue(const VulkanOptions& options);

// Makes the handler "vulkan" on such a queue and adds it to the runtime.
TANDEM_EXPORT StatusOr<shader::ShaderOpHandler*> CreateVulkanOpHandler(CoreRuntime& runtime,
                                                                       const VulkanOptions& options);

}  // namespace tandem::vulkan

#endif  // TANDEM_VULKAN_VULKAN_OP_HANDLER_H_
