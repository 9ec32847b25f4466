// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// NameTable: names to shared objects, read without locks by any number of threads while entries are added.

#ifndef TANDEM_NAME_TABLE_H_
#define TANDEM_NAME_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>

#include "tandem/ref_counted.h"

namespace tandem {

namespace internal {
// Mixes length and up to 16 bytes of both ends; op names differ there.
inline uint64_t HashName(std::string_view name) {
  uint64_t head = 0;
  uint64_t tail = 0;
  if (name.size() >= 8) {
    std::memcpy(&head, name.data(), 8);
    std::memcpy(&tail, name.data() + name.size() - 8, 8);
  } else {
    // Overlapping pieces cover 4 to 7 bytes, single bytes 1 to 3: no loop, no read out of bounds.
    if (name.size() >= 4) {
      uint32_t low, high;
      std::memcpy(&low, name.data(), 4);
      std::memcpy(&high, name.data() + name.size() - 4, 4);
      head = low;
      tail = high;
    } else if (!name.empty()) {
      head = static_cast<unsigned char>(name[0]);
      tail = static_cast<unsigned char>(name[name.size() / 2]) << 8 | static_cast<unsigned char>(name.back());
    }
  }
  uint64_t hash = (head ^ name.size()) * 0x9E3779B97F4A7C15u + tail;
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93u;
  return hash ^ (hash >> 29);
}
}  // namespace internal

// T has `name()` and is reference-counted; the table shares ownership. An entry may be replaced, but not removed.
// Readers see an entry whole or not at all; what was replaced or outgrown is kept until the end, since readers may
// still be in it.
template <typename T>
class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  ~NameTable() {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (size_t i = 0; slots != nullptr && i <= slots->mask; ++i) {
      if (T* entry = slots->entries[i].load(std::memory_order_relaxed)) entry->DropRef();
    }
  }

  // Null if absent.
  T* Find(std::string_view name) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    if (slots == nullptr) return nullptr;
    for (size_t i = static_cast<size_t>(internal::HashName(name));; ++i) {
      T* entry = slots->entries[i & slots->mask].load(std::memory_order_acquire);
      if (entry == nullptr || entry->name() == name) return entry;
    }
  }

  // The entry of that name: `entry`, or the one that was there before unless `may_replace(*existing)`. Null if memory
  // is exhausted.
  T* Insert(RcRef<T> entry) {
    return Insert(std::move(entry), [](const T&) { return false; });
  }
  template <typename Predicate>
  T* Insert(RcRef<T> entry, Predicate may_replace) {
    const std::lock_guard lock(mutex_);
    if (T* existing = Find(entry->name()))
      return may_replace(*existing) ? Replace(*existing, std::move(entry)) : existing;
    Slots* slots = slots_.load(std::memory_order_relaxed);
    if (slots == nullptr || (size_ + 1) * 2 > slots->mask) slots = Grow(slots);
    if (slots == nullptr) return nullptr;
    ++size_;
    T* inserted = entry.release();
    Put(*slots, inserted);
    return inserted;
  }

 private:
  struct Slots {
    size_t mask = 0;
    std::unique_ptr<std::atomic<T*>[]> entries;
    std::unique_ptr<Slots> outgrown;
  };
  struct Replaced {
    RcRef<T> entry;
    std::unique_ptr<Replaced> next;
  };

  T* Replace(T& existing, RcRef<T> entry) {
    std::unique_ptr<Replaced> replaced(new (std::nothrow) Replaced);
    if (replaced == nullptr) return nullptr;
    Slots& slots = *slots_.load(std::memory_order_relaxed);
    size_t i = static_cast<size_t>(internal::HashName(entry->name()));
    while (slots.entries[i & slots.mask].load(std::memory_order_relaxed) != &existing) ++i;
    T* const inserted = entry.release();
    slots.entries[i & slots.mask].store(inserted, std::memory_order_release);
    replaced->entry = RcRef<T>::Take(&existing);
    replaced->next = std::move(replaced_);
    replaced_ = std::move(replaced);
    return inserted;
  }

  static void Put(Slots& slots, T* entry) {
    size_t i = static_cast<size_t>(internal::HashName(entry->name()));
    while (slots.entries[i & slots.mask].load(std::memory_order_relaxed) != nullptr) ++i;
    slots.entries[i & slots.mask].store(entry, std::memory_order_release);
  }

  Slots* Grow(const Slots* old) {
    const size_t capacity = old == nullptr ? 64 : (old->mask + 1) * 2;
    std::unique_ptr<Slots> grown(new (std::nothrow) Slots);
    if (grown == nullptr) return nullptr;
    grown->entries.reset(new (std::nothrow) std::atomic<T*>[capacity]());
    if (grown->entries == nullptr) return nullptr;
    grown->mask = capacity - 1;
    for (size_t i = 0; old != nullptr && i <= old->mask; ++i) {
      if (T* entry = old->entries[i].load(std::memory_order_relaxed)) Put(*grown, entry);
    }
    grown->outgrown = std::move(owned_);
    owned_ = std::move(grown);
    slots_.store(owned_.get(), std::memory_order_release);
    return owned_.get();
  }

  std::atomic<Slots*> slots_{nullptr};
  std::mutex mutex_;
  size_t size_ = 0;
  std::unique_ptr<Slots> owned_;
  std::unique_ptr<Replaced> replaced_;
};

}  // namespace tandem

#endif  // TANDEM_NAME_TABLE_H_
