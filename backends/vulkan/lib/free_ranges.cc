// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "free_ranges.h"

#include <algorithm>

namespace tandem::vulkan {

size_t FreeRanges::Find(uint64_t size) const {
  const Range* const found = std::ranges::find_if(ranges_, [size](const Range& r) { return r.end - r.begin >= size; });
  return found == ranges_.end() ? kNone : static_cast<size_t>(found - ranges_.begin());
}

uint64_t FreeRanges::Take(size_t range, uint64_t size) {
  ++num_pieces_;
  const uint64_t offset = ranges_[range].begin;
  ranges_[range].begin += size;
  if (ranges_[range].begin == ranges_[range].end) Remove(range);
  return offset;
}

void FreeRanges::Give(uint64_t offset, uint64_t size) {
  --num_pieces_;
  const uint64_t end = offset + size;
  const auto i = static_cast<size_t>(std::ranges::lower_bound(ranges_, offset, {}, &Range::begin) - ranges_.begin());
  const bool joins_previous = i > 0 && ranges_[i - 1].end == offset;
  const bool joins_next = i < ranges_.size() && ranges_[i].begin == end;
  if (joins_previous && joins_next) {
    ranges_[i - 1].end = ranges_[i].end;
    Remove(i);
  } else if (joins_previous) {
    ranges_[i - 1].end = end;
  } else if (joins_next) {
    ranges_[i].begin = offset;
  } else {
    static_cast<void>(ranges_.Insert(i, {offset, end}));
  }
}

void FreeRanges::Remove(size_t range) {
  std::move(ranges_.begin() + range + 1, ranges_.end(), ranges_.begin() + range);
  ranges_.TakeLast();
}

}  // namespace tandem::vulkan
