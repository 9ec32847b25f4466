// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_batch.h"

#include <algorithm>
#include <new>

namespace tandem::vulkan {
namespace {

constexpr uint32_t kSetsInPool = 256;

}  // namespace

StatusOr<std::unique_ptr<Batch>> MakeBatch(const VulkanDevice& device) {
  const VulkanFunctions& vk = device.vk();
  std::unique_ptr<Batch> batch(new (std::nothrow) Batch);
  if (batch == nullptr) return Status::OutOfMemory();
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = device.queue_family();
  TANDEM_RETURN_IF_ERROR(
      ResultStatus(vk.CreateCommandPool(device.handle(), &pool, nullptr, &batch->pool), "vkCreateCommandPool"));
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = batch->pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  const VkResult result = vk.AllocateCommandBuffers(device.handle(), &info, &batch->commands);
  if (result == VK_SUCCESS) return batch;
  vk.DestroyCommandPool(device.handle(), batch->pool, nullptr);
  return ResultStatus(result, "vkAllocateCommandBuffers");
}

void DestroyBatch(const VulkanDevice& device, const Batch& batch) {
  const VulkanFunctions& vk = device.vk();
  for (VkDescriptorPool pool : batch.descriptor_pools) vk.DestroyDescriptorPool(device.handle(), pool, nullptr);
  vk.DestroyQueryPool(device.handle(), batch.times, nullptr);
  vk.DestroyCommandPool(device.handle(), batch.pool, nullptr);
}

void ResetBatch(const VulkanDevice& device, Batch& batch) {
  const VulkanFunctions& vk = device.vk();
  vk.ResetCommandPool(device.handle(), batch.pool, 0);
  for (VkDescriptorPool pool : batch.descriptor_pools) vk.ResetDescriptorPool(device.handle(), pool, 0);
  batch.pool_in_use = 0;
  batch.num_commands = batch.num_dispatches = 0;
  batch.bound = VK_NULL_HANDLE;
  batch.num_times = 0;
  batch.timed_ops.clear();
  batch.error = Status();
}

Status BindDescriptors(const VulkanDevice& device, Batch& batch, const PipelineLayout& layout,
                       const VkDescriptorBufferInfo* infos) {
  const VulkanFunctions& vk = device.vk();
  if (device.has_push_descriptors()) {
    vk.CmdPushDescriptorSetWithTemplate(batch.commands, layout.update, layout.pipeline, 0, infos);
    return Status();
  }
  VkDescriptorSet set = VK_NULL_HANDLE;
  VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout.set;
  VkResult result = VK_ERROR_OUT_OF_POOL_MEMORY;
  for (; batch.pool_in_use < batch.descriptor_pools.size(); ++batch.pool_in_use) {
    info.descriptorPool = batch.descriptor_pools[batch.pool_in_use];
    result = vk.AllocateDescriptorSets(device.handle(), &info, &set);
    if (result == VK_SUCCESS) break;
  }
  if (result != VK_SUCCESS) {
    if (!batch.descriptor_pools.Reserve(batch.descriptor_pools.size() + 1)) return Status::OutOfMemory();
    const uint32_t most = device.limits().max_storage_buffers;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsInPool * std::min(most, 4u)},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSetsInPool}};
    VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = kSetsInPool;
    pool.poolSizeCount = 2;
    pool.pPoolSizes = sizes;
    TANDEM_RETURN_IF_ERROR(ResultStatus(vk.CreateDescriptorPool(device.handle(), &pool, nullptr, &info.descriptorPool),
                                        "vkCreateDescriptorPool"));
    static_cast<void>(batch.descriptor_pools.Append(info.descriptorPool));
    TANDEM_RETURN_IF_ERROR(
        ResultStatus(vk.AllocateDescriptorSets(device.handle(), &info, &set), "vkAllocateDescriptorSets"));
  }
  vk.UpdateDescriptorSetWithTemplate(device.handle(), set, layout.update, infos);
  vk.CmdBindDescriptorSets(batch.commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout.pipeline, 0, 1, &set, 0, nullptr);
  return Status();
}

}  // namespace tandem::vulkan
