// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// BlockRegions: free memory of the host allocator that is divided and joined again, so that buffers of any size get
// what was used last.

#ifndef TANDEM_CORE_LIB_TENSOR_BLOCK_REGIONS_H_
#define TANDEM_CORE_LIB_TENSOR_BLOCK_REGIONS_H_

#include <cstddef>

namespace tandem::internal {

// Regions of memory from the system, each divided into blocks. A request gets the block at the lowest address that is
// large enough: buffers that come and go stay within the same few pages then, whatever their sizes, which are in the
// caches. Free blocks are in a tree ordered by address of which no node is smaller than its children ("fast fits" of
// Stephenson, 1983). Of the newest region the end may not have been used yet, and does not count as free before it has.
// Not thread-safe; asks the system for nothing.
class BlockRegions {
 public:
  // Blocks have so much memory more than they are asked for, and than is counted.
  explicit BlockRegions(size_t header_bytes);

  // What a region must have at least that is to have a block of `size` bytes.
  size_t RegionBytes(size_t size) const;

  // A block of at least `size` bytes that has been in use before, aligned as `operator new` does; null if none is free.
  void* Take(size_t size);
  // The same, of memory that has not been used yet.
  void* TakeUnused(size_t size);
  // A new region for TakeUnused, aligned as `operator new` does.
  void Add(void* region, size_t bytes);
  // If a region in which more than `most` bytes have been used becomes free as a whole by that, it is returned and no
  // more part of this.
  void* Free(void* block, size_t most);
  // As well the region that has been free for the longest time; null if there is none.
  void* PopFreeRegion();

  // Of free blocks, and of those that are whole regions.
  size_t free_bytes() const { return free_bytes_; }
  size_t free_region_bytes() const { return free_region_bytes_; }

 private:
  struct Block;
  struct FreeBlock;

  size_t Capacity(const Block& block) const;
  void Split(Block* block, size_t bytes);
  void AddUnusedToLast();
  void NoteLast(Block* block);
  void Leave(FreeBlock* region);
  void Insert(FreeBlock* block);
  void Remove(FreeBlock* block);
  void InsertInTree(FreeBlock* block);
  void RemoveFromTree(FreeBlock* block);

  const size_t header_bytes_;
  FreeBlock* root_ = nullptr;
  // Regions that are free as a whole, by when they became so.
  FreeBlock* oldest_ = nullptr;
  FreeBlock* newest_ = nullptr;
  // The end of the newest region that has not been used yet, and the block before it, if there is one.
  char* unused_ = nullptr;
  char* unused_end_ = nullptr;
  Block* last_ = nullptr;
  size_t free_bytes_ = 0;
  size_t free_region_bytes_ = 0;
};

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_TENSOR_BLOCK_REGIONS_H_
