// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Batch: commands that are handed to a Vulkan device together, and what they need until they are done.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_BATCH_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_BATCH_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tandem/gpu/linked_queue.h"
#include "tandem/growing_array.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/status.h"
#include "vulkan_device.h"
#include "vulkan_memory.h"
#include "vulkan_pipeline.h"

namespace tandem::vulkan {

// What a BufferId is the address of. Guarded by the queue's mutex.
struct VulkanBuffer {
  DevicePiece piece;
  LastUse last_use;
  // The number of barriers before the last command that writes, and that reads: the same number still means a hazard.
  uint64_t last_write = 0;
  uint64_t last_read = 0;
  VulkanBuffer* next_dead = nullptr;
  // Of all buffers of the queue.
  VulkanBuffer* previous = nullptr;
  VulkanBuffer* next = nullptr;
};

struct BufferSlice {
  DeviceBlock* block = nullptr;
  uint64_t offset = 0;

  void* data() const { return static_cast<char*>(block->mapped) + offset; }
};

// What is to be called when the batch is done, and what is read before, if anything.
struct PendingDownload {
  BufferSlice from;
  void* to = nullptr;
  uint64_t bytes = 0;
  gpu::Stream::Done done;
};

struct Batch {
  uint64_t number = 0;
  Status error;  // why it was not submitted
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  uint32_t num_commands = 0;
  uint32_t num_dispatches = 0;
  VkPipeline bound = VK_NULL_HANDLE;

  // The last one is being filled.
  gpu::LinkedQueue<DeviceBlock> to_device;
  gpu::LinkedQueue<DeviceBlock> from_device;
  // Without push descriptors; reset and used again with the batch. The one at `pool_in_use` is being filled.
  GrowingArray<VkDescriptorPool> descriptor_pools;
  size_t pool_in_use = 0;

  // While there is a trace: times when each command ended, and before the first when that began; see VulkanTimes.
  VkQueryPool times = VK_NULL_HANDLE;  // made when it is first needed
  GrowingArray<std::string_view> timed_ops;
  uint32_t num_times = 0;
  std::chrono::steady_clock::time_point submitted;

  PendingDownload download;  // the last command, if there is one
  // What died since, and is still used. Linked, since what dies must not need memory.
  VulkanBuffer* dead_buffers = nullptr;
  gpu::LinkedQueue<PipelineHandle> dead_pipelines;
  std::unique_ptr<Batch> next;
};

// A batch to record commands into, with nothing else yet.
StatusOr<std::unique_ptr<Batch>> MakeBatch(const VulkanDevice& device);
void DestroyBatch(const VulkanDevice& device, const Batch& batch);
// Makes one that is done ready for use again.
void ResetBatch(const VulkanDevice& device, Batch& batch);

// Has the batch's next dispatches use the buffers in `infos`, as the layout's update template takes them.
Status BindDescriptors(const VulkanDevice& device, Batch& batch, const PipelineLayout& layout,
                       const VkDescriptorBufferInfo* infos);

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_BATCH_H_
