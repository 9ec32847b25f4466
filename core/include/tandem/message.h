// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MessageBuilder: error text put together on the stack, so that reporting an error needs no allocation of its own.

#ifndef TANDEM_MESSAGE_H_
#define TANDEM_MESSAGE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/export.h"

namespace tandem {

// Appends text to a fixed buffer; what does not fit is cut, at a character of UTF-8, and the text then ends in "...". A
// type takes part by an overload `void AppendTo(MessageBuilder&, const T&)` in its own namespace.
class TANDEM_EXPORT MessageBuilder {
 public:
  static constexpr size_t kCapacity = 1536;

  MessageBuilder() = default;
  MessageBuilder(const MessageBuilder&) = delete;
  MessageBuilder& operator=(const MessageBuilder&) = delete;

  template <typename... Parts>
  MessageBuilder& Append(const Parts&... parts) {
    (AppendTo(*this, parts), ...);
    return *this;
  }
  void AppendText(std::string_view text);

  std::string_view view() const { return {text_, size_}; }

 private:
  size_t size_ = 0;
  char text_[kCapacity];
};

inline void AppendTo(MessageBuilder& out, std::string_view text) { out.AppendText(text); }
inline void AppendTo(MessageBuilder& out, const char* text) { out.AppendText(text); }
inline void AppendTo(MessageBuilder& out, char c) { out.AppendText({&c, 1}); }
TANDEM_EXPORT void AppendTo(MessageBuilder& out, bool value);
// Shortest text that reads back as the same value; "nan", "inf", "-inf".
TANDEM_EXPORT void AppendTo(MessageBuilder& out, double value);
TANDEM_EXPORT void AppendTo(MessageBuilder& out, float value);

namespace internal {
TANDEM_EXPORT void AppendSigned(MessageBuilder& out, int64_t value);
TANDEM_EXPORT void AppendUnsigned(MessageBuilder& out, uint64_t value);
}  // namespace internal

template <std::integral Int>
void AppendTo(MessageBuilder& out, Int value) {
  if constexpr (std::signed_integral<Int>) {
    internal::AppendSigned(out, value);
  } else {
    internal::AppendUnsigned(out, value);
  }
}

// "[1,2,3]"
TANDEM_EXPORT void AppendTo(MessageBuilder& out, std::span<const int64_t> values);

// The text in double quotes and on one line: quotes, backslashes and control characters are escaped as in C.
TANDEM_EXPORT void AppendQuoted(MessageBuilder& out, std::string_view text);

}  // namespace tandem

#endif  // TANDEM_MESSAGE_H_
