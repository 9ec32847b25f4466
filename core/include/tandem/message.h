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
#include <type_traits>

#include "tandem/export.h"

namespace tandem {

class MessageBuilder;

// A value that a message is to tell, as an address and what appends it: calls with many parts are then calls of one
// function, where a function for each list of types would be several KB of code. Lives no longer than the value.
class MessagePart {
 public:
  template <typename T>
  explicit MessagePart(const T& value);

  void AppendTo(MessageBuilder& out) const { append_(out, value_); }

 private:
  void (*append_)(MessageBuilder& out, const void* value);
  const void* value_;
};

// Appends text to a fixed buffer; what does not fit is cut, at a character of UTF-8, and the text then ends in "...". A
// type takes part by an overload `void AppendTo(MessageBuilder&, const T&)` in its own namespace.
class TANDEM_EXPORT MessageBuilder {
 public:
  static constexpr size_t kCapacity = 1536;

  MessageBuilder() = default;
  MessageBuilder(const MessageBuilder&) = delete;
  MessageBuilder& operator=(const MessageBuilder&) = delete;

  template <typename... Parts>
  [[gnu::always_inline]] MessageBuilder& Append(const Parts&... parts) {
    const MessagePart all[] = {MessagePart(parts)...};
    AppendParts(all, sizeof...(parts));
    return *this;
  }
  void AppendParts(const MessagePart* parts, size_t num_parts);
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

namespace internal {
TANDEM_EXPORT void AppendCString(MessageBuilder& out, const void* text);
template <typename T>
void AppendValue(MessageBuilder& out, const void* value) {
  AppendTo(out, *static_cast<const T*>(value));
}
}  // namespace internal

// Literals, which have as many types as lengths, are their own addresses.
template <typename T>
MessagePart::MessagePart(const T& value) {
  if constexpr (std::is_array_v<T>) {
    static_assert(std::is_same_v<std::remove_extent_t<T>, char>, "expected a literal");
    append_ = &internal::AppendCString;
    value_ = value;
  } else {
    append_ = &internal::AppendValue<T>;
    value_ = &value;
  }
}

// "[1,2,3]"
TANDEM_EXPORT void AppendTo(MessageBuilder& out, std::span<const int64_t> values);

// The text in double quotes and on one line: quotes, backslashes and control characters are escaped as in C.
TANDEM_EXPORT void AppendQuoted(MessageBuilder& out, std::string_view text);

}  // namespace tandem

#endif  // TANDEM_MESSAGE_H_
