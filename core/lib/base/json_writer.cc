// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers and strings as JSON.

#include "base/json_writer.h"

#include <cmath>

#include "base/utf8.h"

namespace tandem {

void JsonWriter::NewLine() {
  Separate();
  while (text_.ends_with(' ')) text_.pop_back();
  text_ += '\n';
  first_ = true;
}

void JsonWriter::Int(int64_t value) {
  constexpr int64_t kExact = int64_t{1} << 53;
  const std::string digits = std::to_string(value);
  if (value >= -kExact && value <= kExact) {
    Raw(digits);
  } else {
    String(digits);
  }
}

void JsonWriter::WriteFloat(std::string_view text, double value) {
  if (!std::isfinite(value)) {
    String(text);
  } else if (value == 0 && std::signbit(value)) {
    Raw("-0.0");  // readers take -0 for the integer 0
  } else {
    Raw(text);
  }
}

void JsonWriter::String(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  Separate();
  text_ += '"';
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8SequenceLength(text, i);
    const char c = text[i];
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (length == 1 && (c < 0x20 || c == 0x7F)) {
      text_ += "\\u00";
      text_ += kHex[c >> 4];
      text_ += kHex[c & 15];
    } else {
      text_ += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  text_ += '"';
}

}  // namespace tandem
