// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/vulkan/vulkan_op_handler.h"

#include <utility>

#include "tandem/device_report.h"
#include "vulkan_device.h"
#include "vulkan_queue.h"

namespace tandem::vulkan {

namespace {

StatusOr<std::unique_ptr<VulkanQueue>> MakeQueue(const VulkanOptions& options) {
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<VulkanDevice> device, VulkanDevice::Create(options));
  return VulkanQueue::Create(std::move(device), options.cache_folder);
}

}  // namespace

StatusOr<std::unique_ptr<shader::ShaderQueue>> CreateVulkanQueue(const VulkanOptions& options) {
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<VulkanQueue> queue, MakeQueue(options));
  return std::unique_ptr<shader::ShaderQueue>(std::move(queue));
}

StatusOr<shader::ShaderOpHandler*> CreateVulkanOpHandler(CoreRuntime& runtime, const VulkanOptions& options) {
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<VulkanQueue> queue, MakeQueue(options));
  queue->ShowTimes(runtime.host());
  DeviceReport report = {{"device", std::string(queue->adapter_name()), "", ""}};
  if (queue->device().timestamp_bits() == 0) {
    report.push_back({"timestamps", "", "traces have the host's times alone", "the device has none"});
  }
  shader::ShaderOpHandlerOptions handler;
  handler.name = "vulkan";
  handler.asks_ahead = true;
  handler.memory = options.memory;
  handler.fallback = options.fallback;
  TANDEM_ASSIGN_OR_RETURN(shader::ShaderOpHandler* const made,
                          shader::CreateShaderOpHandler(runtime, std::move(queue), handler));
  TANDEM_RETURN_IF_ERROR(made->TakeUserShaders());
  if (!AddDeviceReport(runtime, made->gpu(), std::move(report))) return Status::OutOfMemory();
  return made;
}

}  // namespace tandem::vulkan
