// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Decoding of C++ call sites.

#include "tandem/location.h"

namespace tandem::internal {

constinit const SourceLocationDecoder kSourceLocationDecoder;

DecodedLocation SourceLocationDecoder::Decode(uintptr_t data) const {
  std::source_location site;
  std::memcpy(static_cast<void*>(&site), &data, sizeof(data));
  return {site.file_name(), site.line(), site.column()};
}

}  // namespace tandem::internal
