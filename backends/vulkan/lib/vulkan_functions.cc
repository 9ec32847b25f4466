// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_functions.h"

#include <dlfcn.h>

namespace tandem::vulkan {

Status VulkanFunctions::Load() {
  // Drivers keep threads and thread-local data: the library is never closed.
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) library = dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    return MakeError(StatusCode::kNotFound, "expected the Vulkan loader libvulkan.so.1 to be installed: ",
                     reason == nullptr ? "it cannot be opened" : reason);
  }
  GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (GetInstanceProcAddr == nullptr) {
    return MakeError(StatusCode::kNotFound, "expected libvulkan.so.1 to have vkGetInstanceProcAddr");
  }
#define TANDEM_LOAD(name) name = reinterpret_cast<PFN_vk##name>(GetInstanceProcAddr(nullptr, "vk" #name));
  TANDEM_VULKAN_LOADER_FUNCTIONS(TANDEM_LOAD)
#undef TANDEM_LOAD
  if (EnumerateInstanceVersion == nullptr) {
    return MakeError(StatusCode::kNotFound, "expected a Vulkan loader of version 1.1 or later, got 1.0");
  }
  return Status();
}

void VulkanFunctions::LoadOf(VkInstance instance) {
#define TANDEM_LOAD(name) name = reinterpret_cast<PFN_vk##name>(GetInstanceProcAddr(instance, "vk" #name));
  TANDEM_VULKAN_INSTANCE_FUNCTIONS(TANDEM_LOAD)
#undef TANDEM_LOAD
  CreateDebugUtilsMessenger = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      GetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
  DestroyDebugUtilsMessenger = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
      GetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
}

void VulkanFunctions::LoadOf(VkDevice device) {
#define TANDEM_LOAD(name) name = reinterpret_cast<PFN_vk##name>(GetDeviceProcAddr(device, "vk" #name));
  TANDEM_VULKAN_DEVICE_FUNCTIONS(TANDEM_LOAD)
#undef TANDEM_LOAD
  const auto load = [&](const char* name, const char* extension_name) {
    const PFN_vkVoidFunction core = GetDeviceProcAddr(device, name);
    return core != nullptr ? core : GetDeviceProcAddr(device, extension_name);
  };
  WaitSemaphores = reinterpret_cast<PFN_vkWaitSemaphores>(load("vkWaitSemaphores", "vkWaitSemaphoresKHR"));
  GetSemaphoreCounterValue = reinterpret_cast<PFN_vkGetSemaphoreCounterValue>(
      load("vkGetSemaphoreCounterValue", "vkGetSemaphoreCounterValueKHR"));
  CmdPushDescriptorSetWithTemplate = reinterpret_cast<PFN_vkCmdPushDescriptorSetWithTemplateKHR>(
      GetDeviceProcAddr(device, "vkCmdPushDescriptorSetWithTemplateKHR"));
}

std::string_view ResultName(VkResult result) {
  switch (result) {
#define TANDEM_NAME(name) \
  case name:              \
    return #name;
    TANDEM_NAME(VK_SUCCESS)
    TANDEM_NAME(VK_NOT_READY)
    TANDEM_NAME(VK_TIMEOUT)
    TANDEM_NAME(VK_INCOMPLETE)
    TANDEM_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    TANDEM_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    TANDEM_NAME(VK_ERROR_INITIALIZATION_FAILED)
    TANDEM_NAME(VK_ERROR_DEVICE_LOST)
    TANDEM_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    TANDEM_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    TANDEM_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    TANDEM_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    TANDEM_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    TANDEM_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    TANDEM_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    TANDEM_NAME(VK_ERROR_FRAGMENTATION)
    TANDEM_NAME(VK_ERROR_INVALID_SHADER_NV)
    TANDEM_NAME(VK_ERROR_UNKNOWN)
#undef TANDEM_NAME
    default:
      return "another result";
  }
}

Status ResultStatus(VkResult result, std::string_view call) {
  switch (result) {
    case VK_SUCCESS:
      return Status();
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_MEMORY_MAP_FAILED:
      return ResourceExhausted(call, " gave ", ResultName(result));
    case VK_ERROR_DEVICE_LOST:
      return MakeError(StatusCode::kUnavailable, "the device is lost: ", call, " gave ", ResultName(result));
    default:
      return Internal(call, " gave ", ResultName(result), " (", static_cast<int>(result), ")");
  }
}

}  // namespace tandem::vulkan
