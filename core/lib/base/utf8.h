// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which bytes are characters of UTF-8.

#ifndef TANDEM_CORE_LIB_BASE_UTF8_H_
#define TANDEM_CORE_LIB_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace tandem {

// Length of the UTF-8 sequence that starts at byte `i` of the text, which is one of its bytes, by table 3-7 of the
// Unicode standard; 0 if it is ill-formed.
inline size_t Utf8SequenceLength(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t k = 2; k < length; ++k) {
    if (byte(k) < 0x80 || byte(k) > 0xBF) return 0;
  }
  return length;
}

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_BASE_UTF8_H_
