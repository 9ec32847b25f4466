// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Batch: commands that are handed to a Vulkan device together, and what they need until they are done.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_BATCH_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_BATCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/shader/gpu_queue.h"
#include "tandem/status.h"
#include "vulkan_device.h"
#include "vulkan_memory.h"

namespace tandem::vulkan {

// What a BufferId is the address of. Guarded by the queue's mutex.
struct VulkanBuffer {
  DevicePiece piece;
  uint64_t last_use = 0;  // the last batch with a command that uses it
  // The number of barriers before the last command that writes, and that reads: the same number still means a hazard.
  uint64_t last_write = 0;
  uint64_t last_read = 0;
};

struct BufferSlice {
  DeviceBlock* block = nullptr;
  uint64_t offset = 0;

  void* data() const { return static_cast<char*>(block->mapped) + offset; }
};

struct PendingDownload {
  BufferSlice from;
  void* to;
  uint64_t bytes;
  shader::GpuQueue::Done done;
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
  std::vector<std::unique_ptr<DeviceBlock>> to_device;
  std::vector<std::unique_ptr<DeviceBlock>> from_device;
  // Without push descriptors; reset and used again with the batch. The one at `pool_in_use` is being filled.
  std::vector<VkDescriptorPool> descriptor_pools;
  size_t pool_in_use = 0;

  std::vector<PendingDownload> downloads;
  std::vector<VulkanBuffer*> dead_buffers;
  std::vector<VkPipeline> dead_pipelines;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_BATCH_H_
