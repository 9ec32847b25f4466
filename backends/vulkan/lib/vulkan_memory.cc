// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_memory.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace tandem::vulkan {
namespace {

constexpr uint64_t kLargestBlock = uint64_t{64} << 20;

uint64_t RoundUp(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

// The first memory type that the buffer may have and that has all of these properties; the driver's order is its
// preference. -1: none.
int FindMemoryType(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed, VkMemoryPropertyFlags wanted) {
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return static_cast<int>(i);
  }
  return -1;
}

void DestroyBlock(const VulkanDevice& device, const DeviceBlock& block) {
  if (block.buffer != VK_NULL_HANDLE) device.vk().DestroyBuffer(device.handle(), block.buffer, nullptr);
  if (block.memory != VK_NULL_HANDLE) device.vk().FreeMemory(device.handle(), block.memory, nullptr);
}

// Fills in `block`; `kinds` are sets of properties, the best first.
Status CreateBlock(const VulkanDevice& device, uint64_t size, VkBufferUsageFlags usage,
                   std::initializer_list<VkMemoryPropertyFlags> kinds, DeviceBlock& block) {
  const VulkanFunctions& vk = device.vk();
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = size;
  info.usage = usage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  TANDEM_RETURN_IF_ERROR(
      ResultStatus(vk.CreateBuffer(device.handle(), &info, nullptr, &block.buffer), "vkCreateBuffer"));
  VkMemoryRequirements needs = {};
  vk.GetBufferMemoryRequirements(device.handle(), block.buffer, &needs);
  int type = -1;
  bool mapped = false;
  for (VkMemoryPropertyFlags kind : kinds) {
    if (type < 0) type = FindMemoryType(device.memory(), needs.memoryTypeBits, kind);
    mapped = (kind & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
  }
  if (type < 0) return Internal("expected a type of memory for buffers of ", device.properties().deviceName);
  VkMemoryAllocateInfo allocation = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = static_cast<uint32_t>(type);
  TANDEM_RETURN_IF_ERROR(
      ResultStatus(vk.AllocateMemory(device.handle(), &allocation, nullptr, &block.memory), "vkAllocateMemory"));
  TANDEM_RETURN_IF_ERROR(
      ResultStatus(vk.BindBufferMemory(device.handle(), block.buffer, block.memory, 0), "vkBindBufferMemory"));
  if (mapped) {
    TANDEM_RETURN_IF_ERROR(
        ResultStatus(vk.MapMemory(device.handle(), block.memory, 0, VK_WHOLE_SIZE, 0, &block.mapped), "vkMapMemory"));
  }
  block.size = size;
  return Status();
}

StatusOr<std::unique_ptr<DeviceBlock>> MakeBlock(const VulkanDevice& device, uint64_t size, VkBufferUsageFlags usage,
                                                 std::initializer_list<VkMemoryPropertyFlags> kinds) {
  std::unique_ptr<DeviceBlock> block(new (std::nothrow) DeviceBlock);
  if (block == nullptr) return Status::OutOfMemory();
  if (const Status status = CreateBlock(device, size, usage, kinds, *block); !status.ok()) {
    DestroyBlock(device, *block);
    return status;
  }
  return block;
}

}  // namespace

BlockAllocator::BlockAllocator(const VulkanDevice& device)
    : device_(device),
      // Also keeps tensors apart by cache lines.
      alignment_(std::max<uint64_t>(device.properties().limits.minStorageBufferOffsetAlignment, 64)),
      block_size_(std::min(kLargestBlock, std::bit_floor(device.limits().max_buffer_bytes))) {}

BlockAllocator::~BlockAllocator() {
  while (!blocks_.empty()) Remove(*blocks_.first());
}

StatusOr<DeviceBlock*> BlockAllocator::AddBlock(uint64_t size) {
  constexpr VkBufferUsageFlags kUsage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  auto made = MakeBlock(device_, size, kUsage, {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT});
  if (!made.ok()) {
    RemoveEmpty();
    made = MakeBlock(device_, size, kUsage, {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT});
  }
  TANDEM_RETURN_IF_ERROR(made.status());
  DeviceBlock* const block = made->get();
  blocks_.PushBack(std::move(*made));
  if (!block->free.Reserve()) {
    Remove(*block);
    return Status::OutOfMemory();
  }
  block->free.GiveAll(size);
  return block;
}

StatusOr<DevicePiece> BlockAllocator::Allocate(uint64_t bytes) {
  const uint64_t size = RoundUp(bytes, alignment_);
  // A large one has a block of its own, which is gone with it.
  const bool is_large = size > block_size_ / 4;
  DeviceBlock* block = is_large ? nullptr : blocks_.first();
  size_t range = FreeRanges::kNone;
  for (; block != nullptr; block = block->next.get()) {
    range = block->free.Find(size);
    if (range != FreeRanges::kNone) break;
  }
  if (block == nullptr) {
    StatusOr<DeviceBlock*> added = AddBlock(is_large ? size : block_size_);
    // Where there is no more for a block there may be for this one.
    if (!added.ok() && !is_large) added = AddBlock(size);
    TANDEM_RETURN_IF_ERROR(added.status());
    block = *added;
    range = 0;
  }
  if (!block->free.Reserve()) return Status::OutOfMemory();
  block->used += size;
  return DevicePiece{block, block->free.Take(range, size), size};
}

void BlockAllocator::Free(const DevicePiece& piece) {
  DeviceBlock& block = *piece.block;
  block.used -= piece.size;
  block.free.Give(piece.offset, piece.size);
  if (block.used > 0) return;
  // One empty block of the usual size is kept.
  bool is_kept = block.size == block_size_;
  for (const DeviceBlock* other = blocks_.first(); other != nullptr; other = other->next.get()) {
    if (other != &block && other->used == 0 && other->size == block_size_) is_kept = false;
  }
  if (!is_kept) Remove(block);
}

void BlockAllocator::Remove(const DeviceBlock& block) { DestroyBlock(device_, *blocks_.Remove(block)); }

void BlockAllocator::RemoveEmpty() {
  for (DeviceBlock* block = blocks_.first(); block != nullptr;) {
    const DeviceBlock& candidate = *std::exchange(block, block->next.get());
    if (candidate.used == 0) Remove(candidate);
  }
}

ChunkPool::~ChunkPool() {
  while (!free_.empty()) DestroyBlock(device_, *free_.PopFront());
}

StatusOr<std::unique_ptr<DeviceBlock>> ChunkPool::Take(uint64_t bytes) {
  for (DeviceBlock* kept = free_.first(); kept != nullptr; kept = kept->next.get()) {
    if (kept->size < bytes || kept->size / 4 > std::max(bytes, kLeastChunk)) continue;
    kept_ -= kept->size;
    kept->used = 0;
    return free_.Remove(*kept);
  }
  const uint64_t size = std::max(kLeastChunk, bytes > kMostKept ? bytes : std::bit_ceil(bytes));
  constexpr VkMemoryPropertyFlags kMapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (use_ == Use::kFromDevice) {
    return MakeBlock(device_, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                     {kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kMapped});
  }
  return MakeBlock(device_, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, {kMapped});
}

void ChunkPool::Give(std::unique_ptr<DeviceBlock> chunk) {
  if (kept_ + chunk->size > kMostKept) return DestroyBlock(device_, *chunk);
  kept_ += chunk->size;
  free_.PushBack(std::move(chunk));
}

}  // namespace tandem::vulkan
