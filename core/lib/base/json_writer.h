// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// JsonWriter: JSON text, written value by value.

#ifndef TANDEM_CORE_LIB_BASE_JSON_WRITER_H_
#define TANDEM_CORE_LIB_BASE_JSON_WRITER_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/message.h"

namespace tandem {

// Appends JSON text, in UTF-8; knows where a comma is due.
class JsonWriter {
 public:
  std::string Take() && { return std::move(text_); }

  void Open(char bracket) {
    Separate();
    text_ += bracket;
    first_ = true;
  }
  void Close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void NewLine();
  JsonWriter& Key(std::string_view key) {
    String(key);
    text_ += ": ";
    first_ = true;
    return *this;
  }
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  void Null() { Raw("null"); }
  // Integers beyond 2^53 in magnitude, which readers may round, are texts.
  void Int(int64_t value);
  // Shortest text that reads back as the same number; "nan", "inf" and "-inf" are texts.
  template <std::floating_point Number>
  void Float(Number value) {
    MessageBuilder text;
    text.Append(value);
    WriteFloat(text.view(), value);
  }
  // What is not UTF-8 becomes U+FFFD.
  void String(std::string_view text);

 private:
  void WriteFloat(std::string_view text, double value);
  void Raw(std::string_view text) {
    Separate();
    text_ += text;
  }
  void Separate() {
    if (!first_) text_ += ", ";
    first_ = false;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_BASE_JSON_WRITER_H_
