// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// VulkanDevice: an instance, the device chosen in it, and what that can do.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_DEVICE_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/shader/shader_queue.h"
#include "tandem/status.h"
#include "tandem/vulkan/vulkan_op_handler.h"
#include "vulkan_functions.h"

namespace tandem::vulkan {

class VulkanDevice {
 public:
  // See CreateVulkanQueue.
  static StatusOr<std::unique_ptr<VulkanDevice>> Create(const VulkanOptions& options);
  ~VulkanDevice();
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;

  const VulkanFunctions& vk() const { return vk_; }
  // For tests, which put functions that fail in the place of the driver's.
  VulkanFunctions& functions() { return vk_; }
  VkDevice handle() const { return device_; }
  // Of the one queue; whoever submits to it holds a lock.
  VkQueue queue() const { return queue_; }
  uint32_t queue_family() const { return queue_family_; }

  // Of the queue's counter of time; 0: there is none.
  uint32_t timestamp_bits() const { return timestamp_bits_; }
  const VkPhysicalDeviceProperties& properties() const { return properties_; }
  const VkPhysicalDeviceMemoryProperties& memory() const { return memory_; }
  const shader::GpuLimits& limits() const { return limits_; }
  bool has_push_descriptors() const { return vk_.CmdPushDescriptorSetWithTemplate != nullptr; }

 private:
  struct Candidate;

  explicit VulkanDevice(const VulkanOptions& options) : on_message_(options.on_message) {}
  Status CreateInstance(bool validation);
  StatusOr<Candidate> Choose(std::string_view wanted) const;
  // Fills in limits and features; FailedPrecondition if the device falls short.
  Status Examine(const Candidate& candidate);
  Status CreateDevice(const Candidate& candidate);
  static VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                  VkDebugUtilsMessageTypeFlagsEXT types,
                                                  const VkDebugUtilsMessengerCallbackDataEXT* data, void* user);

  VulkanFunctions vk_;
  const std::function<void(std::string_view)> on_message_;

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t queue_family_ = 0;
  uint32_t timestamp_bits_ = 0;

  VkPhysicalDeviceProperties properties_ = {};
  VkPhysicalDeviceMemoryProperties memory_ = {};
  shader::GpuLimits limits_;
  std::vector<const char*> extensions_;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_DEVICE_H_
