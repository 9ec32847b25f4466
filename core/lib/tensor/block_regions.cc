// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tensor/block_regions.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>

namespace tandem::internal {

namespace {

constexpr size_t kUnit = 64;
// What is left of a block becomes one of its own if it is larger than that, and than a quarter of what is used.
constexpr size_t kMinRest = 4096;

}  // namespace

// Before each block's bytes.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) BlockRegions::Block {
  size_t size;    // with this, up to the next block or the end of the region
  Block* before;  // in the region; null for the first
  bool is_last;   // of the region, but for what has not been used yet
  bool is_free;

  Block* Next() { return is_last ? nullptr : At(size); }
  Block* At(size_t offset) { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) + offset); }
  char* End() { return reinterpret_cast<char*>(At(size)); }
};

struct BlockRegions::FreeBlock : Block {
  FreeBlock* left;  // in the tree: at lower addresses, and no larger
  FreeBlock* right;
  FreeBlock* older;  // if it is a whole region
  FreeBlock* newer;

  FreeBlock*& Side(const FreeBlock* other) { return std::less<>()(other, this) ? left : right; }
  bool IsRegion() const { return before == nullptr && is_last; }
  // Whether it belongs above the other in the tree. Among equals, chance keeps the tree balanced.
  bool IsAbove(const FreeBlock& other) const {
    return size != other.size ? size > other.size : Rank(this) > Rank(&other);
  }

 private:
  static uint32_t Rank(const FreeBlock* block) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block) / kUnit) * 2654435769u;
  }
};

BlockRegions::BlockRegions(size_t header_bytes) : header_bytes_(sizeof(Block) + header_bytes) {}

size_t BlockRegions::RegionBytes(size_t size) const {
  static_assert(sizeof(FreeBlock) <= kMinRest);
  return (std::max(size + header_bytes_, sizeof(FreeBlock)) + kUnit - 1) / kUnit * kUnit;
}

size_t BlockRegions::Capacity(const Block& block) const { return (block.size - header_bytes_) / kUnit * kUnit; }

void* BlockRegions::Take(size_t size) {
  const size_t bytes = RegionBytes(size);
  FreeBlock* block = root_;
  if (block == nullptr || block->size < bytes) return nullptr;
  while (block->left != nullptr && block->left->size >= bytes) block = block->left;
  Remove(block);
  Split(block, bytes);
  block->is_free = false;
  return static_cast<Block*>(block) + 1;
}

void* BlockRegions::TakeUnused(size_t size) {
  const size_t bytes = RegionBytes(size);
  if (static_cast<size_t>(unused_end_ - unused_) < bytes) return nullptr;
  auto* const block = new (unused_) Block{.size = bytes, .before = last_, .is_last = true, .is_free = false};
  if (last_ != nullptr && last_->is_free) {
    // It is a whole region no more.
    Remove(static_cast<FreeBlock*>(last_));
    last_->is_last = false;
    Insert(static_cast<FreeBlock*>(last_));
  } else if (last_ != nullptr) {
    last_->is_last = false;
  }
  last_ = block;
  unused_ += bytes;
  return block + 1;
}

void BlockRegions::Add(void* region, size_t bytes) {
  if (last_ != nullptr && unused_ < unused_end_) AddUnusedToLast();
  unused_ = static_cast<char*>(region);
  unused_end_ = unused_ + bytes / kUnit * kUnit;
  last_ = nullptr;
}

// What has not been used of the newest region is a block like any other from now on, or a part of the last one.
void BlockRegions::AddUnusedToLast() {
  const bool is_free = last_->is_free;
  if (is_free) Remove(static_cast<FreeBlock*>(last_));
  const size_t bytes = last_->size;
  last_->size += static_cast<size_t>(unused_end_ - unused_);
  unused_ = unused_end_;
  if (is_free) return Insert(static_cast<FreeBlock*>(last_));
  Split(last_, bytes);
}

void BlockRegions::NoteLast(Block* block) {
  if (block->End() == unused_) last_ = block;
}

// Keeps the first bytes of a block that is in no list; the rest stays free.
void BlockRegions::Split(Block* block, size_t bytes) {
  if (block->size - bytes <= std::max(kMinRest, bytes / 4)) return;
  auto* rest = new (static_cast<void*>(block->At(bytes))) FreeBlock;
  rest->size = block->size - bytes;
  rest->before = block;
  rest->is_last = block->is_last;
  block->size = bytes;
  block->is_last = false;
  if (Block* next = rest->Next()) next->before = rest;
  NoteLast(rest);
  Insert(rest);
}

void* BlockRegions::Free(void* data, size_t most) {
  Block* block = static_cast<Block*>(data) - 1;
  if (Block* next = block->Next(); next != nullptr && next->is_free) {
    Remove(static_cast<FreeBlock*>(next));
    block->size += next->size;
    block->is_last = next->is_last;
  }
  if (Block* before = block->before; before != nullptr && before->is_free) {
    Remove(static_cast<FreeBlock*>(before));
    before->size += block->size;
    before->is_last = block->is_last;
    block = before;
  }
  auto* const joined = static_cast<FreeBlock*>(block);
  NoteLast(joined);
  if (joined->IsRegion() && Capacity(*joined) > most) {
    Leave(joined);
    return joined;
  }
  if (Block* next = joined->Next()) next->before = joined;
  Insert(joined);
  return nullptr;
}

void* BlockRegions::PopFreeRegion() {
  FreeBlock* const region = oldest_;
  if (region == nullptr) return nullptr;
  Remove(region);
  Leave(region);
  return region;
}

void BlockRegions::Leave(FreeBlock* region) {
  if (region != last_) return;
  unused_ = unused_end_ = nullptr;
  last_ = nullptr;
}

void BlockRegions::Insert(FreeBlock* block) {
  block->is_free = true;
  free_bytes_ += Capacity(*block);
  InsertInTree(block);
  if (!block->IsRegion()) return;
  free_region_bytes_ += Capacity(*block);
  block->older = newest_;
  block->newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = block;
  newest_ = block;
}

void BlockRegions::Remove(FreeBlock* block) {
  free_bytes_ -= Capacity(*block);
  RemoveFromTree(block);
  if (!block->IsRegion()) return;
  free_region_bytes_ -= Capacity(*block);
  (block->older == nullptr ? oldest_ : block->older->newer) = block->newer;
  (block->newer == nullptr ? newest_ : block->newer->older) = block->older;
}

void BlockRegions::InsertInTree(FreeBlock* block) {
  FreeBlock** link = &root_;
  while (*link != nullptr && (*link)->IsAbove(*block)) link = &(*link)->Side(block);
  // What is below goes to its left and right side.
  FreeBlock* below = *link;
  *link = block;
  FreeBlock** left = &block->left;
  FreeBlock** right = &block->right;
  while (below != nullptr) {
    if (std::less<>()(below, block)) {
      *left = below;
      left = &below->right;
      below = *left;
    } else {
      *right = below;
      right = &below->left;
      below = *right;
    }
  }
  *left = nullptr;
  *right = nullptr;
}

void BlockRegions::RemoveFromTree(FreeBlock* block) {
  FreeBlock** link = &root_;
  while (*link != block) link = &(*link)->Side(block);
  // Its sides are joined, the larger one of two above.
  FreeBlock* left = block->left;
  FreeBlock* right = block->right;
  while (left != nullptr && right != nullptr) {
    if (left->IsAbove(*right)) {
      *link = left;
      link = &left->right;
      left = *link;
    } else {
      *link = right;
      link = &right->left;
      right = *link;
    }
  }
  *link = left != nullptr ? left : right;
}

}  // namespace tandem::internal
