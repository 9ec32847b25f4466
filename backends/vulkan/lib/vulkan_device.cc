// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "tandem/message.h"

namespace tandem::vulkan {
namespace {

constexpr char kValidationLayer[] = "VK_LAYER_KHRONOS_validation";

// The two calls that Vulkan wants for each list.
template <typename T, typename Call>
std::vector<T> List(const Call& call) {
  std::vector<T> list;
  uint32_t count = 0;
  VkResult result;
  do {
    count = 0;
    if (call(&count, static_cast<T*>(nullptr)) != VK_SUCCESS) return {};
    list.resize(count);
    result = call(&count, list.data());
    list.resize(result < 0 ? 0 : count);
  } while (result == VK_INCOMPLETE);
  return list;
}

bool Has(const std::vector<VkExtensionProperties>& extensions, std::string_view name) {
  return std::ranges::any_of(extensions, [&](const auto& extension) { return name == extension.extensionName; });
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool WantsValidation(const VulkanOptions& options) {
  if (options.validation) return *options.validation;
  const std::string value = FromEnvironment("TANDEM_VULKAN_VALIDATION");
#ifdef NDEBUG
  return value == "1";
#else
  return value != "0";
#endif
}

// The higher the better.
int Preference(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

struct VulkanDevice::Candidate {
  VkPhysicalDevice device;
  VkPhysicalDeviceProperties properties;
};

StatusOr<std::unique_ptr<VulkanDevice>> VulkanDevice::Create(const VulkanOptions& options) {
  std::unique_ptr<VulkanDevice> device(new VulkanDevice(options));
  TANDEM_RETURN_IF_ERROR(device->vk_.Load());
  TANDEM_RETURN_IF_ERROR(device->CreateInstance(WantsValidation(options)));
  std::string wanted = FromEnvironment("TANDEM_VULKAN_DEVICE");
  if (wanted.empty()) wanted = options.device;
  TANDEM_ASSIGN_OR_RETURN(const Candidate candidate, device->Choose(wanted));
  TANDEM_RETURN_IF_ERROR(device->Examine(candidate));
  TANDEM_RETURN_IF_ERROR(device->CreateDevice(candidate));
  return device;
}

VulkanDevice::~VulkanDevice() {
  if (device_ != VK_NULL_HANDLE) vk_.DestroyDevice(device_, nullptr);
  if (messenger_ != VK_NULL_HANDLE) vk_.DestroyDebugUtilsMessenger(instance_, messenger_, nullptr);
  if (instance_ != VK_NULL_HANDLE) vk_.DestroyInstance(instance_, nullptr);
}

Status VulkanDevice::CreateInstance(bool validation) {
  uint32_t version = 0;
  if (vk_.EnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_1) {
    return MakeError(StatusCode::kNotFound, "expected a Vulkan loader of version 1.1 or later, got ",
                     VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version));
  }
  const auto layers = List<VkLayerProperties>(
      [&](uint32_t* count, VkLayerProperties* list) { return vk_.EnumerateInstanceLayerProperties(count, list); });
  const auto extensions = List<VkExtensionProperties>([&](uint32_t* count, VkExtensionProperties* list) {
    return vk_.EnumerateInstanceExtensionProperties(nullptr, count, list);
  });
  validation = validation && Has(extensions, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) &&
               std::ranges::any_of(
                   layers, [](const auto& layer) { return std::string_view(layer.layerName) == kValidationLayer; });

  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pEngineName = "tandem";
  application.apiVersion = std::min<uint32_t>(version, VK_API_VERSION_1_3);
  VkDebugUtilsMessengerCreateInfoEXT messenger = {VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = OnMessage;
  messenger.pUserData = this;
  // Hazards between commands are among what it looks for.
  const VkValidationFeatureEnableEXT synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT watched = {VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, &messenger};
  watched.enabledValidationFeatureCount = 1;
  watched.pEnabledValidationFeatures = &synchronization;
  const char* layer = kValidationLayer;
  const char* wanted[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (validation) {
    const auto of_layer = List<VkExtensionProperties>([&](uint32_t* count, VkExtensionProperties* list) {
      return vk_.EnumerateInstanceExtensionProperties(kValidationLayer, count, list);
    });
    const bool watches = Has(of_layer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    info.pNext = watches ? static_cast<const void*>(&watched) : &messenger;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = watches ? 2 : 1;
    info.ppEnabledExtensionNames = wanted;
  }
  const VkResult result = vk_.CreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return MakeError(StatusCode::kNotFound, "expected a Vulkan driver to be installed, got none");
  }
  TANDEM_RETURN_IF_ERROR(ResultStatus(result, "vkCreateInstance"));
  vk_.LoadOf(instance_);
  if (!validation) return Status();
  return ResultStatus(vk_.CreateDebugUtilsMessenger(instance_, &messenger, nullptr, &messenger_),
                      "vkCreateDebugUtilsMessengerEXT");
}

StatusOr<VulkanDevice::Candidate> VulkanDevice::Choose(std::string_view wanted) const {
  const auto devices = List<VkPhysicalDevice>(
      [&](uint32_t* count, VkPhysicalDevice* list) { return vk_.EnumeratePhysicalDevices(instance_, count, list); });
  if (devices.empty()) {
    return MakeError(StatusCode::kNotFound, "expected a device with a Vulkan driver, got none");
  }
  const bool is_index = !wanted.empty() && wanted.find_first_not_of("0123456789") == std::string_view::npos;
  const std::string name = LowerCase(wanted);
  std::vector<Candidate> found;
  MessageBuilder all;
  for (size_t i = 0; i < devices.size(); ++i) {
    Candidate candidate{devices[i], {}};
    vk_.GetPhysicalDeviceProperties(devices[i], &candidate.properties);
    const std::string_view device_name = candidate.properties.deviceName;
    all.Append(i == 0 ? "" : ", ", i, ": ", device_name);
    const bool fits = is_index ? wanted == std::to_string(i) : LowerCase(device_name).find(name) != std::string::npos;
    if (fits) found.push_back(candidate);
  }
  if (found.empty()) {
    return MakeError(StatusCode::kNotFound, "expected a Vulkan device \"", wanted, "\", got ", all.view());
  }
  return *std::ranges::max_element(
      found, {}, [](const Candidate& candidate) { return Preference(candidate.properties.deviceType); });
}

Status VulkanDevice::Examine(const Candidate& candidate) {
  physical_ = candidate.device;
  properties_ = candidate.properties;
  const std::string_view name = properties_.deviceName;
  const auto lacks = [&](std::string_view what) {
    return FailedPrecondition("expected a Vulkan device with ", what, ", got ", name);
  };
  if (properties_.apiVersion < VK_API_VERSION_1_1) return lacks("Vulkan 1.1");
  vk_.GetPhysicalDeviceMemoryProperties(physical_, &memory_);

  const auto extensions = List<VkExtensionProperties>([&](uint32_t* count, VkExtensionProperties* list) {
    return vk_.EnumerateDeviceExtensionProperties(physical_, nullptr, count, list);
  });
  const bool is_1_2 = properties_.apiVersion >= VK_API_VERSION_1_2;
  const auto enable = [&](const char* extension, bool in_1_2) {
    if (in_1_2 && is_1_2) return true;
    if (!Has(extensions, extension)) return false;
    extensions_.push_back(extension);
    return true;
  };
  const bool has_timeline = enable(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, true);
  const bool has_f16 = enable(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, true);
  const bool has_push_descriptors = enable(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, false);

  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDevice16BitStorageFeatures storage16 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDeviceShaderFloat16Int8Features f16 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &storage16};
  if (has_timeline) storage16.pNext = &timeline;
  if (has_f16) f16.pNext = features.pNext, features.pNext = &f16;
  vk_.GetPhysicalDeviceFeatures2(physical_, &features);
  if (!timeline.timelineSemaphore) return lacks("timeline semaphores (Vulkan 1.2 or VK_KHR_timeline_semaphore)");

  VkPhysicalDeviceMaintenance3Properties maintenance = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &maintenance};
  VkPhysicalDevicePushDescriptorPropertiesKHR push = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroup};
  if (has_push_descriptors) push.pNext = properties.pNext, properties.pNext = &push;
  vk_.GetPhysicalDeviceProperties2(physical_, &properties);

  const VkPhysicalDeviceLimits& given = properties_.limits;
  limits_.max_storage_buffers =
      std::min({given.maxPerStageDescriptorStorageBuffers, given.maxDescriptorSetStorageBuffers, 32u});
  if (has_push_descriptors)
    limits_.max_storage_buffers = std::min(limits_.max_storage_buffers, push.maxPushDescriptors - 1);
  limits_.offset_alignment = static_cast<uint32_t>(std::max<uint64_t>(given.minStorageBufferOffsetAlignment, 4));
  limits_.max_binding_bytes = given.maxStorageBufferRange / 4 * 4;
  uint64_t largest_heap = 0;
  for (uint32_t i = 0; i < memory_.memoryHeapCount; ++i) {
    if ((memory_.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    largest_heap = std::max<uint64_t>(largest_heap, memory_.memoryHeaps[i].size);
  }
  limits_.max_buffer_bytes = std::min<uint64_t>(maintenance.maxMemoryAllocationSize, largest_heap) / 256 * 256;
  const auto& counts = given.maxComputeWorkGroupCount;
  limits_.max_workgroups = std::min({counts[0], counts[1], counts[2]});
  limits_.max_invocations = std::min({given.maxComputeWorkGroupInvocations, given.maxComputeWorkGroupSize[0],
                                      given.maxComputeWorkGroupSize[1], 1024u});
  limits_.max_workgroup_z = given.maxComputeWorkGroupSize[2];
  limits_.max_workgroup_bytes = given.maxComputeSharedMemorySize;
  limits_.is_software = properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  limits_.has_f16 = f16.shaderFloat16 && storage16.storageBuffer16BitAccess;
  constexpr VkSubgroupFeatureFlags kSubgroups =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  limits_.has_subgroups = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                          (subgroup.supportedOperations & kSubgroups) == kSubgroups;
  if (limits_.has_subgroups) limits_.min_subgroup_size = limits_.max_subgroup_size = subgroup.subgroupSize;

  // What WebGPU guarantees is what kernels are written for.
  const shader::GpuLimits least;
  if (limits_.max_storage_buffers < least.max_storage_buffers) return lacks("8 storage buffers for a shader");
  if (limits_.max_binding_bytes < least.max_binding_bytes) return lacks("storage buffers of 128 MiB");
  if (limits_.max_invocations < least.max_invocations) return lacks("workgroups of 256 invocations");
  if (limits_.max_workgroup_bytes < least.max_workgroup_bytes) return lacks("16 KiB of shared memory");
  return Status();
}

Status VulkanDevice::CreateDevice(const Candidate& candidate) {
  uint32_t count = 0;
  vk_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  // One without graphics where there is one: what draws does not wait for us then.
  int best = -1;
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    if (best < 0 || (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) best = static_cast<int>(i);
    if ((families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) break;
  }
  if (best < 0) {
    return FailedPrecondition("expected a Vulkan device with a compute queue, got ", candidate.properties.deviceName);
  }
  queue_family_ = static_cast<uint32_t>(best);
  timestamp_bits_ = families[queue_family_].timestampValidBits;

  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  timeline.timelineSemaphore = VK_TRUE;
  VkPhysicalDevice16BitStorageFeatures storage16 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  storage16.storageBuffer16BitAccess = VK_TRUE;
  VkPhysicalDeviceShaderFloat16Int8Features f16 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  f16.shaderFloat16 = VK_TRUE;
  if (limits_.has_f16) {
    storage16.pNext = &f16;
    timeline.pNext = &storage16;
  }
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &timeline};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  info.ppEnabledExtensionNames = extensions_.data();
  TANDEM_RETURN_IF_ERROR(ResultStatus(vk_.CreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice"));
  vk_.LoadOf(device_);
  vk_.GetDeviceQueue(device_, queue_family_, 0, &queue_);
  if (vk_.WaitSemaphores == nullptr || vk_.GetSemaphoreCounterValue == nullptr) {
    return Internal("expected functions of timeline semaphores of ", candidate.properties.deviceName);
  }
  return Status();
}

VkBool32 VulkanDevice::OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                 const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  const auto* device = static_cast<const VulkanDevice*>(user);
  if (device->on_message_) device->on_message_(data->pMessage);
  return VK_FALSE;
}

}  // namespace tandem::vulkan
