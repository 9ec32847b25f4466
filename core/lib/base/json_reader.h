// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// JsonReader: takes JSON text token by token, for readers that know what has to come.

#ifndef TANDEM_CORE_LIB_BASE_JSON_READER_H_
#define TANDEM_CORE_LIB_BASE_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/message.h"

namespace tandem {

// Over text that it may write to: strings are decoded where they are, so that neither memory nor a stack is needed,
// however long or deep the text. What a function refuses it leaves there, and the reader, appended to a message, tells
// what that is. White space before a token is skipped.
class JsonReader {
 public:
  explicit JsonReader(std::span<char> text) : text_(text) {}

  // The byte that comes next.
  size_t position() const { return at_; }
  // Whether nothing but white space is left.
  bool AtEnd();
  // Takes a bracket, a comma or a colon; whether it was there.
  bool Take(char token);
  // Whether a string comes next.
  bool IsString();
  // Takes a string: null, or what was expected at position(). The view lives as long as the text.
  const char* TakeString(std::string_view* out);
  // Takes an integer from 0 to 2^64 - 1, written in digits alone; whether it was there.
  bool TakeUnsigned(uint64_t* out);
  // Takes any number, as it is written; whether it was there. The view lives as long as the text.
  bool TakeNumber(std::string_view* out);
  // Takes a word, such as true; whether it was there.
  bool TakeWord(std::string_view word);

  friend void AppendTo(MessageBuilder& out, const JsonReader& reader);

 private:
  void SkipSpace();
  const char* TakeEscape(char** out);
  bool TakeHex4(uint32_t* out);

  std::span<char> text_;
  size_t at_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_BASE_JSON_READER_H_
