// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KnownValues: numbers by async value, of those that somebody still refers to.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_TABLE_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tandem/async_value.h"
#include "tandem/ref_counted.h"

namespace tandem {

// Holds a reference to each async value, so that no other one gets its address. Those that nobody else refers to, which
// can never be asked for again, go when room is made: at that time at most as many as are kept, or a few. Not
// thread-safe.
class KnownValues {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    RcRef<AsyncValue> value;
    uint32_t number = kNone;
  };
  // What is no longer needed, for the caller to drop, which may run code of others: not under a lock.
  using Entries = std::unique_ptr<Entry[]>;

  // kNone if it is not known.
  uint32_t Find(const AsyncValue& value) const;

  // Room for `count` more. False if memory is exhausted.
  [[nodiscard]] bool Reserve(size_t count, Entries& dropped);
  // Of a value that is not known; room has been made.
  void Insert(AsyncValue& value, uint32_t number);

 private:
  static constexpr size_t kMinLimit = 8;

  // The place of the value, or the free one where it would be. There is a free one.
  Entry& PlaceOf(const AsyncValue& value) const;

  Entries entries_;
  size_t mask_ = 0;
  size_t size_ = 0;
  size_t limit_ = 0;  // how many there may be; at most half the places
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_TABLE_H_
