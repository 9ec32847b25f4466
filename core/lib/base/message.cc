// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Error text on the stack: formatting of numbers and quoted text, and the cut at capacity.

#include "tandem/message.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/shortest_text.h"

namespace tandem {

void MessageBuilder::AppendParts(const MessagePart* parts, size_t num_parts) {
  for (size_t i = 0; i < num_parts; ++i) parts[i].AppendTo(*this);
}

void MessageBuilder::AppendText(std::string_view text) {
  const size_t room = kCapacity - size_;
  if (text.size() <= room) {
    std::copy(text.begin(), text.end(), text_ + size_);
    size_ += text.size();
    return;
  }
  std::copy_n(text.begin(), room, text_ + size_);
  size_ = kCapacity;
  size_t cut = kCapacity - 3;
  // Not inside a character, which has up to three continuation bytes.
  for (int i = 0; i < 3 && (static_cast<unsigned char>(text_[cut]) & 0xC0) == 0x80; ++i) --cut;
  std::fill(text_ + cut, text_ + kCapacity, '.');
}

namespace {
template <typename Number>
void AppendNumber(MessageBuilder& out, Number value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  out.AppendText({digits, static_cast<size_t>(end - digits)});
}

template <typename Float>
void AppendFloat(MessageBuilder& out, Float value) {
  if (std::isnan(value)) {
    out.AppendText("nan");
  } else if (std::isinf(value)) {
    out.AppendText(value < 0 ? "-inf" : "inf");
  } else {
#ifdef TANDEM_SMALL
    char text[internal::kMaxShortestText];
    const char* end = internal::ShortestText(value, text);
    out.AppendText({text, static_cast<size_t>(end - text)});
#else
    AppendNumber(out, value);
#endif
  }
}
}  // namespace

void AppendTo(MessageBuilder& out, bool value) { out.AppendText(value ? "true" : "false"); }
void AppendTo(MessageBuilder& out, double value) { AppendFloat(out, value); }
void AppendTo(MessageBuilder& out, float value) { AppendFloat(out, value); }

void AppendTo(MessageBuilder& out, std::span<const int64_t> values) {
  out.AppendText("[");
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.AppendText(",");
    internal::AppendSigned(out, values[i]);
  }
  out.AppendText("]");
}

void AppendQuoted(MessageBuilder& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.Append('"');
  for (const char c : text) {
    if (out.view().size() == MessageBuilder::kCapacity) break;
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.Append('\\', c);
    } else if (c == '\n') {
      out.Append("\\n");
    } else if (c == '\t') {
      out.Append("\\t");
    } else if (c == '\r') {
      out.Append("\\r");
    } else if (byte < 0x20 || byte == 0x7F) {
      out.Append("\\x", kHex[byte >> 4], kHex[byte & 0xF]);
    } else {
      out.Append(c);
    }
  }
  out.Append('"');
}

namespace internal {
void AppendCString(MessageBuilder& out, const void* text) { out.AppendText(static_cast<const char*>(text)); }
void AppendSigned(MessageBuilder& out, int64_t value) { AppendNumber(out, value); }
void AppendUnsigned(MessageBuilder& out, uint64_t value) { AppendNumber(out, value); }
}  // namespace internal

}  // namespace tandem
