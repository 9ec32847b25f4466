// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LocationTexts: locations that come as text, such as those of language bindings and of program files.

#ifndef TANDEM_LOCATION_TEXTS_H_
#define TANDEM_LOCATION_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "tandem/export.h"
#include "tandem/location.h"

namespace tandem {

// The texts that calls gave as their locations, each kept once, as long as this object. Of long texts the end is kept,
// which tells most, and of more texts than kMaxTexts none. Thread-safe.
class TANDEM_EXPORT LocationTexts final : public LocationDecoder {
 public:
  LocationTexts() = default;
  ~LocationTexts();
  LocationTexts(const LocationTexts&) = delete;
  LocationTexts& operator=(const LocationTexts&) = delete;

  static constexpr size_t kMaxTexts = 65536;
  static constexpr size_t kMaxBytes = 1024;

  // "FILE", "FILE:LINE" or "FILE:LINE:COLUMN". Unknown for an empty text, and if memory is exhausted.
  Location Intern(std::string_view text);
  DecodedLocation Decode(uintptr_t data) const override;

 private:
  struct Entry;
  static constexpr size_t kNumBuckets = 1024;
  std::mutex mutex_;
  Entry* buckets_[kNumBuckets] = {};
  size_t size_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_LOCATION_TEXTS_H_
