// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A hash table with open addressing, which is made anew when it is full.

#include "program_recording_table.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tandem {

namespace {

size_t HashOf(const AsyncValue& value) {
  // Addresses differ above the lowest bits, by a little.
  const uint64_t address = reinterpret_cast<uintptr_t>(&value);
  return static_cast<size_t>((address * 0x9E3779B97F4A7C15u) >> 32);
}

}  // namespace

KnownValues::Entry& KnownValues::PlaceOf(const AsyncValue& value) const {
  size_t i = HashOf(value);
  for (;; ++i) {
    Entry& entry = entries_[i & mask_];
    if (!entry.value || entry.value.get() == &value) return entry;
  }
}

uint32_t KnownValues::Find(const AsyncValue& value) const {
  return entries_ == nullptr ? kNone : PlaceOf(value).number;
}

bool KnownValues::Reserve(size_t count, Entries& dropped) {
  if (count <= limit_ - size_) return true;
  const size_t num_places = entries_ == nullptr ? 0 : mask_ + 1;
  // A value that is referred to here alone stays so.
  const auto is_in_use = [](const Entry& entry) { return entry.value && !entry.value->IsUnique(); };
  const size_t in_use = static_cast<size_t>(std::count_if(entries_.get(), entries_.get() + num_places, is_in_use));
  if (count > SIZE_MAX / (8 * sizeof(Entry)) - in_use) return false;
  const size_t limit = std::max({kMinLimit, 2 * in_use, in_use + count});
  size_t grown_size = 2 * kMinLimit;
  while (grown_size < 2 * limit) grown_size *= 2;
  Entries grown(new (std::nothrow) Entry[grown_size]);
  if (grown == nullptr) return false;
  dropped = std::exchange(entries_, std::move(grown));
  mask_ = grown_size - 1;
  limit_ = limit;
  size_ = 0;
  for (size_t i = 0; i < num_places; ++i) {
    Entry& entry = dropped[i];
    // One that has become unused in between is dropped the earlier.
    if (!is_in_use(entry)) continue;
    Entry& place = PlaceOf(*entry.value);
    place = std::move(entry);
    ++size_;
  }
  return true;
}

void KnownValues::Insert(AsyncValue& value, uint32_t number) {
  Entry& place = PlaceOf(value);
  place.value = RcRef<AsyncValue>::Share(&value);
  place.number = number;
  ++size_;
}

}  // namespace tandem
