// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "raw_vulkan.h"

#include <cstdio>
#include <cstdlib>

namespace tandem::bench {
namespace {

void Check(VkResult result) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "Vulkan gave %d\n", static_cast<int>(result));
  std::abort();
}

}  // namespace

RawVulkan::RawVulkan(const std::string& device_name, const std::vector<uint32_t>& spirv, uint64_t buffer_bytes)
    : buffer_bytes_(buffer_bytes) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                         .pApplicationInfo = &application};
  Check(vkCreateInstance(&instance, nullptr, &instance_));
  std::array<VkPhysicalDevice, 16> devices;
  uint32_t count = devices.size();
  vkEnumeratePhysicalDevices(instance_, &count, devices.data());
  for (uint32_t i = 0; i < count; ++i) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    if (device_name == properties.deviceName) physical_ = devices[i];
  }
  std::array<VkQueueFamilyProperties, 16> families;
  count = families.size();
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  for (uint32_t i = count; i-- > 0;) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) family_ = i;
  }
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = family_,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  Check(vkCreateDevice(physical_, &device, nullptr, &device_));
  vkGetDeviceQueue(device_, family_, 0, &queue_);

  const VkBufferUsageFlags usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  for (size_t i = 0; i < 2; ++i) {
    buffers_[i] = MakeBuffer(buffer_bytes, usage, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, memories_[i]);
  }
  buffers_[2] = MakeBuffer(256, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                           VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, memories_[2]);
  void* mapped;
  Check(vkMapMemory(device_, memories_[2], 0, VK_WHOLE_SIZE, 0, &mapped));
  mapped_ = static_cast<const float*>(mapped);
  MakePipeline(spirv);
  MakeSets();

  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = family_};
  Check(vkCreateCommandPool(device_, &pool, nullptr, &command_pool_));
  const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = command_pool_,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  Check(vkAllocateCommandBuffers(device_, &commands, &commands_));
  const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  Check(vkCreateFence(device_, &fence, nullptr, &fence_));
}

RawVulkan::~RawVulkan() {
  vkDestroyFence(device_, fence_, nullptr);
  vkDestroyCommandPool(device_, command_pool_, nullptr);
  vkDestroyDescriptorPool(device_, pool_, nullptr);
  vkDestroyPipeline(device_, pipeline_, nullptr);
  vkDestroyPipelineLayout(device_, layout_, nullptr);
  vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    vkDestroyBuffer(device_, buffers_[i], nullptr);
    vkFreeMemory(device_, memories_[i], nullptr);
  }
  vkDestroyDevice(device_, nullptr);
  vkDestroyInstance(instance_, nullptr);
}

VkBuffer RawVulkan::MakeBuffer(uint64_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags properties,
                               VkDeviceMemory& memory) {
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage};
  VkBuffer buffer;
  Check(vkCreateBuffer(device_, &info, nullptr, &buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_, buffer, &needs);
  VkPhysicalDeviceMemoryProperties types;
  vkGetPhysicalDeviceMemoryProperties(physical_, &types);
  VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  for (uint32_t i = types.memoryTypeCount; i-- > 0;) {
    const bool fits = (types.memoryTypes[i].propertyFlags & properties) == properties;
    if (fits && (needs.memoryTypeBits >> i & 1) != 0) allocation.memoryTypeIndex = i;
  }
  Check(vkAllocateMemory(device_, &allocation, nullptr, &memory));
  Check(vkBindBufferMemory(device_, buffer, memory, 0));
  return buffer;
}

void RawVulkan::MakePipeline(const std::vector<uint32_t>& spirv) {
  std::array<VkDescriptorSetLayoutBinding, 2> bindings = {};
  for (uint32_t i = 0; i < 2; ++i) {
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  const VkDescriptorSetLayoutCreateInfo set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings.data()};
  Check(vkCreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_));
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 8};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &set_layout_,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &range};
  Check(vkCreatePipelineLayout(device_, &layout, nullptr, &layout_));
  const VkShaderModuleCreateInfo module_info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                .codeSize = spirv.size() * sizeof(uint32_t),
                                                .pCode = spirv.data()};
  VkShaderModule module;
  Check(vkCreateShaderModule(device_, &module_info, nullptr, &module));
  const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                      .module = module,
                                                      .pName = "main"},
                                            .layout = layout_};
  Check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_));
  vkDestroyShaderModule(device_, module, nullptr);
}

void RawVulkan::MakeSets() {
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4};
  const VkDescriptorPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 2, .poolSizeCount = 1, .pPoolSizes = &size};
  Check(vkCreateDescriptorPool(device_, &pool, nullptr, &pool_));
  const std::array<VkDescriptorSetLayout, 2> layouts = {set_layout_, set_layout_};
  const VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = pool_,
                                            .descriptorSetCount = 2,
                                            .pSetLayouts = layouts.data()};
  Check(vkAllocateDescriptorSets(device_, &sets, sets_.data()));
  for (uint32_t i = 0; i < 2; ++i) {
    const VkDescriptorBufferInfo infos[] = {{buffers_[i], 0, VK_WHOLE_SIZE}, {buffers_[1 - i], 0, VK_WHOLE_SIZE}};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = sets_[i],
                                        .descriptorCount = 2,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = infos};
    vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  }
}

float RawVulkan::Run(int count, bool dependent, uint32_t workgroups, const std::array<uint32_t, 2>& parameters) {
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                          .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  Check(vkResetCommandPool(device_, command_pool_, 0));
  Check(vkBeginCommandBuffer(commands_, &begin));
  vkCmdFillBuffer(commands_, buffers_[0], 0, buffer_bytes_, 0);
  const VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT};
  const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  const auto wait = [&] { vkCmdPipelineBarrier(commands_, stages, stages, 0, 1, &barrier, 0, nullptr, 0, nullptr); };
  wait();
  vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  for (int i = 0; i < count; ++i) {
    const VkDescriptorSet* set = &sets_[dependent ? static_cast<size_t>(i & 1) : 0];
    vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, set, 0, nullptr);
    vkCmdPushConstants(commands_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, parameters.data());
    vkCmdDispatch(commands_, workgroups, 1, 1);
    if (dependent) wait();
  }
  wait();
  const VkBufferCopy region = {0, 0, 4};
  vkCmdCopyBuffer(commands_, buffers_[dependent ? static_cast<size_t>(count & 1) : 1], buffers_[2], 1, &region);
  Check(vkEndCommandBuffer(commands_));
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands_};
  Check(vkQueueSubmit(queue_, 1, &submit, fence_));
  Check(vkWaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX));
  Check(vkResetFences(device_, 1, &fence_));
  return mapped_[0];
}

}  // namespace tandem::bench
