// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Location: where in the user's program an op was called, kept in two words and decoded only when an error needs it.

#ifndef TANDEM_LOCATION_H_
#define TANDEM_LOCATION_H_

#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

#include "tandem/export.h"

namespace tandem {

// A location in readable form. Line and column count from 1; 0 means unknown. The views live as long as the decoder's
// source of names (static storage for C++ call sites).
struct DecodedLocation {
  std::string_view file;
  uint32_t line = 0;
  uint32_t column = 0;

  bool IsKnown() const { return !file.empty(); }
};

// Turns the opaque word of a Location into a readable one. Implemented by whatever creates locations: C++ call sites
// (built in), program files, language bindings. Must be safe to call from any thread.
class TANDEM_EXPORT LocationDecoder {
 public:
  virtual DecodedLocation Decode(uintptr_t data) const = 0;

 protected:
  ~LocationDecoder() = default;
};

// A decoder and a word that only it understands. The decoder must outlive every use of the location; errors decode
// theirs when they are made, so an error never dangles.
class Location {
 public:
  // An unknown location.
  Location() = default;
  Location(const LocationDecoder* decoder, uintptr_t data) : decoder_(decoder), data_(data) {}
  // A C++ call site; implicit so that `std::source_location::current()` can be a default argument of type Location.
  Location(std::source_location site);  // NOLINT(google-explicit-constructor)

  // The place of the call itself.
  static Location Current(std::source_location site = std::source_location::current()) { return Location(site); }

  bool IsKnown() const { return decoder_ != nullptr; }
  DecodedLocation Decode() const { return decoder_ == nullptr ? DecodedLocation{} : decoder_->Decode(data_); }

 private:
  const LocationDecoder* decoder_ = nullptr;
  uintptr_t data_ = 0;
};

namespace internal {
// Decodes std::source_location, which both standard libraries in use implement as one pointer to static data.
class TANDEM_EXPORT SourceLocationDecoder final : public LocationDecoder {
 public:
  constexpr SourceLocationDecoder() = default;
  DecodedLocation Decode(uintptr_t data) const override;
};
TANDEM_EXPORT extern const SourceLocationDecoder kSourceLocationDecoder;
}  // namespace internal

inline Location::Location(std::source_location site) : decoder_(&internal::kSourceLocationDecoder) {
  static_assert(sizeof(site) == sizeof(data_), "source_location is expected to be one pointer to static data");
  std::memcpy(&data_, &site, sizeof(data_));
}

}  // namespace tandem

#endif  // TANDEM_LOCATION_H_
