// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory of a Vulkan device: pieces of large blocks for tensors, and mapped chunks for what goes to and fro.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_MEMORY_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_MEMORY_H_

#include <cstdint>
#include <memory>

#include "free_ranges.h"
#include "tandem/gpu/linked_queue.h"
#include "tandem/status.h"
#include "vulkan_device.h"

namespace tandem::vulkan {

// A VkBuffer with memory of its own.
struct DeviceBlock {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t size = 0;
  void* mapped = nullptr;  // of chunks
  FreeRanges free;         // of tensors' blocks
  uint64_t used = 0;       // bytes
  std::unique_ptr<DeviceBlock> next;
};

// A part of a block.
struct DevicePiece {
  DeviceBlock* block = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Tensors' memory. Giving it back needs none of the host. Not thread-safe.
class BlockAllocator {
 public:
  explicit BlockAllocator(const VulkanDevice& device);
  ~BlockAllocator();
  BlockAllocator(const BlockAllocator&) = delete;
  BlockAllocator& operator=(const BlockAllocator&) = delete;

  // ResourceExhausted if the device has no more; then empty blocks have been given back. Also if the host has none.
  StatusOr<DevicePiece> Allocate(uint64_t bytes);
  void Free(const DevicePiece& piece);

 private:
  StatusOr<DeviceBlock*> AddBlock(uint64_t size);
  void Remove(const DeviceBlock& block);
  void RemoveEmpty();

  const VulkanDevice& device_;
  const uint64_t alignment_;
  uint64_t block_size_;
  gpu::LinkedQueue<DeviceBlock> blocks_;
};

// Mapped memory, given out in chunks of powers of two that are used again. Not thread-safe.
class ChunkPool {
 public:
  // For writing by the host, or for reading.
  enum class Use : uint8_t { kToDevice, kFromDevice };
  ChunkPool(const VulkanDevice& device, Use use) : device_(device), use_(use) {}
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // A chunk of at least `bytes`, its `used` 0.
  StatusOr<std::unique_ptr<DeviceBlock>> Take(uint64_t bytes);
  void Give(std::unique_ptr<DeviceBlock> chunk);

 private:
  static constexpr uint64_t kLeastChunk = uint64_t{1} << 18;
  static constexpr uint64_t kMostKept = uint64_t{1} << 27;  // bytes

  const VulkanDevice& device_;
  const Use use_;
  gpu::LinkedQueue<DeviceBlock> free_;
  uint64_t kept_ = 0;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_MEMORY_H_
