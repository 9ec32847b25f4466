// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FreeRanges: which parts of a block of memory are free.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_FREE_RANGES_H_
#define TANDEM_BACKENDS_VULKAN_LIB_FREE_RANGES_H_

#include <cstddef>
#include <cstdint>

#include "tandem/growing_array.h"

namespace tandem::vulkan {

// All is taken at first. Giving pieces back needs no memory: room for what that may take is made before they are taken.
// Not thread-safe.
class FreeRanges {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // Room for one more piece to be taken. False if memory is exhausted.
  [[nodiscard]] bool Reserve() { return ranges_.Reserve(num_pieces_ + 2); }
  // The first range of at least so many bytes; kNone if there is none.
  size_t Find(uint64_t size) const;
  // The front of the range that was found, after Reserve; gives its offset.
  uint64_t Take(size_t range, uint64_t size);
  // A piece that was taken.
  void Give(uint64_t offset, uint64_t size);
  // All of the block, of which no piece was taken, after Reserve.
  void GiveAll(uint64_t size) { static_cast<void>(ranges_.Append({0, size})); }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
  };

  void Remove(size_t range);

  GrowingArray<Range> ranges_;  // by offset; neighbours are one, so that there is at most one more than pieces
  size_t num_pieces_ = 0;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_FREE_RANGES_H_
