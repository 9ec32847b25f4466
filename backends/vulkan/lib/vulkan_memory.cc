// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>
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

void DestroyBlock(const VulkanDevice& device, DeviceBlock& block) {
  if (block.buffer != VK_NULL_HANDLE) device.vk().DestroyBuffer(device.handle(), block.buffer, nullptr);
  if (block.memory != VK_NULL_HANDLE) device.vk().FreeMemory(device.handle(), block.memory, nullptr);
  block = DeviceBlock();
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
  auto block = std::make_unique<DeviceBlock>();
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
  for (const auto& block : blocks_) DestroyBlock(device_, *block);
}

StatusOr<DeviceBlock*> BlockAllocator::AddBlock(uint64_t size) {
  constexpr VkBufferUsageFlags kUsage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  auto block = MakeBlock(device_, size, kUsage, {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT});
  if (!block.ok()) {
    RemoveEmpty();
    block = MakeBlock(device_, size, kUsage, {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT});
  }
  TANDEM_RETURN_IF_ERROR(block.status());
  (*block)->free.emplace(0, size);
  blocks_.push_back(std::move(*block));
  return blocks_.back().get();
}

StatusOr<DevicePiece> BlockAllocator::Allocate(uint64_t bytes) {
  const uint64_t size = RoundUp(bytes, alignment_);
  // A large one has a block of its own, which is gone with it.
  if (size > block_size_ / 4) {
    TANDEM_ASSIGN_OR_RETURN(DeviceBlock* const block, AddBlock(size));
    block->free.clear();
    block->used = size;
    return DevicePiece{block, 0, size};
  }
  DeviceBlock* block = nullptr;
  std::map<uint64_t, uint64_t>::iterator place;
  const auto find = [&](DeviceBlock& in) {
    place = std::ranges::find_if(in.free, [&](const auto& range) { return range.second >= size; });
    return place != in.free.end();
  };
  for (const auto& candidate : blocks_) {
    if (!find(*candidate)) continue;
    block = candidate.get();
    break;
  }
  if (block == nullptr) {
    StatusOr<DeviceBlock*> added = AddBlock(block_size_);
    // Where there is no more for a block there may be for this one.
    if (!added.ok()) added = AddBlock(size);
    TANDEM_RETURN_IF_ERROR(added.status());
    block = *added;
    find(*block);
  }
  const auto [offset, available] = *place;
  block->free.erase(place);
  if (available > size) block->free.emplace(offset + size, available - size);
  block->used += size;
  return DevicePiece{block, offset, size};
}

void BlockAllocator::Free(const DevicePiece& piece) {
  DeviceBlock& block = *piece.block;
  block.used -= piece.size;
  auto [place, added] = block.free.emplace(piece.offset, piece.size);
  if (const auto next = std::next(place); next != block.free.end() && place->first + place->second == next->first) {
    place->second += next->second;
    block.free.erase(next);
  }
  if (place != block.free.begin()) {
    const auto previous = std::prev(place);
    if (previous->first + previous->second == place->first) {
      previous->second += place->second;
      block.free.erase(place);
    }
  }
  if (block.used > 0) return;
  // One empty block of the usual size is kept.
  const bool is_usual = block.size == block_size_;
  const auto others = std::ranges::count_if(blocks_, [&](const auto& other) {
    return other.get() != &block && other->used == 0 && other->size == block_size_;
  });
  if (is_usual && others == 0) return;
  Remove(static_cast<size_t>(std::ranges::find(blocks_, &block, [](const auto& other) { return other.get(); }) -
                             blocks_.begin()));
}

void BlockAllocator::Remove(size_t i) {
  DestroyBlock(device_, *blocks_[i]);
  blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
}

void BlockAllocator::RemoveEmpty() {
  for (size_t i = blocks_.size(); i-- > 0;) {
    if (blocks_[i]->used == 0) Remove(i);
  }
}

ChunkPool::~ChunkPool() {
  for (const auto& chunk : free_) DestroyBlock(device_, *chunk);
}

StatusOr<std::unique_ptr<DeviceBlock>> ChunkPool::Take(uint64_t bytes) {
  const auto fits = [&](const auto& chunk) {
    return chunk->size >= bytes && chunk->size / 4 <= std::max(bytes, kLeastChunk);
  };
  if (const auto found = std::ranges::find_if(free_, fits); found != free_.end()) {
    std::unique_ptr<DeviceBlock> chunk = std::move(*found);
    free_.erase(found);
    kept_ -= chunk->size;
    chunk->used = 0;
    return chunk;
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
  free_.push_back(std::move(chunk));
}

}  // namespace tandem::vulkan
