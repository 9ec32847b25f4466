// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Vulkan's functions, found at run time: a machine without Vulkan runs everything else.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_FUNCTIONS_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_FUNCTIONS_H_

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <string_view>

#include "tandem/status.h"

namespace tandem::vulkan {

// clang-format off
#define TANDEM_VULKAN_LOADER_FUNCTIONS(F) \
  F(CreateInstance) F(EnumerateInstanceVersion) F(EnumerateInstanceLayerProperties) \
  F(EnumerateInstanceExtensionProperties)

#define TANDEM_VULKAN_INSTANCE_FUNCTIONS(F) \
  F(DestroyInstance) F(EnumeratePhysicalDevices) F(GetPhysicalDeviceProperties) F(GetPhysicalDeviceProperties2) \
  F(GetPhysicalDeviceFeatures2) F(GetPhysicalDeviceMemoryProperties) F(GetPhysicalDeviceQueueFamilyProperties) \
  F(EnumerateDeviceExtensionProperties) F(CreateDevice) F(GetDeviceProcAddr)

#define TANDEM_VULKAN_DEVICE_FUNCTIONS(F) \
  F(DestroyDevice) F(GetDeviceQueue) F(DeviceWaitIdle) F(QueueSubmit) \
  F(AllocateMemory) F(FreeMemory) F(MapMemory) F(BindBufferMemory) F(CreateBuffer) F(DestroyBuffer) \
  F(GetBufferMemoryRequirements) F(CreateSemaphore) F(DestroySemaphore) \
  F(CreateCommandPool) F(DestroyCommandPool) F(ResetCommandPool) F(AllocateCommandBuffers) \
  F(BeginCommandBuffer) F(EndCommandBuffer) F(CmdBindPipeline) F(CmdBindDescriptorSets) F(CmdDispatch) \
  F(CmdPipelineBarrier) F(CmdCopyBuffer) F(CmdPushConstants) \
  F(CreateShaderModule) F(DestroyShaderModule) F(CreateComputePipelines) F(DestroyPipeline) \
  F(CreatePipelineCache) F(DestroyPipelineCache) F(GetPipelineCacheData) \
  F(CreatePipelineLayout) F(DestroyPipelineLayout) F(CreateDescriptorSetLayout) F(DestroyDescriptorSetLayout) \
  F(CreateDescriptorUpdateTemplate) F(DestroyDescriptorUpdateTemplate) F(UpdateDescriptorSetWithTemplate) \
  F(CreateDescriptorPool) F(DestroyDescriptorPool) F(ResetDescriptorPool) F(AllocateDescriptorSets) \
  F(CreateQueryPool) F(DestroyQueryPool) F(GetQueryPoolResults) F(CmdResetQueryPool) F(CmdWriteTimestamp)
// clang-format on

// Members are named without their "vk".
struct VulkanFunctions {
#define TANDEM_DECLARE(name) PFN_vk##name name = nullptr;
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  TANDEM_VULKAN_LOADER_FUNCTIONS(TANDEM_DECLARE)
  TANDEM_VULKAN_INSTANCE_FUNCTIONS(TANDEM_DECLARE)
  TANDEM_VULKAN_DEVICE_FUNCTIONS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
  // Of Vulkan 1.2, or of the extension.
  PFN_vkWaitSemaphores WaitSemaphores = nullptr;
  PFN_vkGetSemaphoreCounterValue GetSemaphoreCounterValue = nullptr;
  // Null without the extension.
  PFN_vkCmdPushDescriptorSetWithTemplateKHR CmdPushDescriptorSetWithTemplate = nullptr;
  PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessenger = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessenger = nullptr;

  // Opens the loader, which then stays in the process. NotFound if there is none.
  Status Load();
  void LoadOf(VkInstance instance);
  void LoadOf(VkDevice device);
};

// "VK_ERROR_DEVICE_LOST"
std::string_view ResultName(VkResult result);

// An error of the given call; success is ok. Lack of memory is ResourceExhausted, a lost device Unavailable.
Status ResultStatus(VkResult result, std::string_view call);

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_FUNCTIONS_H_
