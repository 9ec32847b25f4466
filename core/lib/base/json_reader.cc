// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "base/json_reader.h"

#include <charconv>
#include <system_error>

#include "base/utf8.h"

namespace tandem {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOfNumber(char c) { return IsDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

char* WriteUtf8(char* out, uint32_t code) {
  if (code < 0x80) {
    *out++ = static_cast<char>(code);
    return out;
  }
  if (code < 0x800) {
    *out++ = static_cast<char>(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      *out++ = static_cast<char>(0xE0 | code >> 12);
    } else {
      *out++ = static_cast<char>(0xF0 | code >> 18);
      *out++ = static_cast<char>(0x80 | (code >> 12 & 0x3F));
    }
    *out++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
  }
  *out++ = static_cast<char>(0x80 | (code & 0x3F));
  return out;
}

}  // namespace

void JsonReader::SkipSpace() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool JsonReader::AtEnd() {
  SkipSpace();
  return at_ == text_.size();
}

bool JsonReader::Take(char token) {
  if (AtEnd() || text_[at_] != token) return false;
  ++at_;
  return true;
}

bool JsonReader::IsString() { return !AtEnd() && text_[at_] == '"'; }

bool JsonReader::TakeHex4(uint32_t* out) {
  if (text_.size() - at_ < 4) return false;
  const char* const end = text_.data() + at_ + 4;
  // No sign would be taken for an unsigned integer.
  if (std::from_chars(text_.data() + at_, end, *out, 16).ptr != end) return false;
  at_ += 4;
  return true;
}

// Behind a backslash.
const char* JsonReader::TakeEscape(char** out) {
  static constexpr std::string_view kEscapes = "\"\\/bfnrt";
  static constexpr char kMeanings[] = "\"\\/\b\f\n\r\t";
  if (at_ < text_.size() && text_[at_] == 'u') {
    ++at_;
    uint32_t code = 0;
    if (!TakeHex4(&code)) return "four hexadecimal digits";
    if (code >= 0xD800 && code < 0xE000) {
      uint32_t low = 0;
      const bool is_pair = code < 0xDC00 && text_.size() - at_ >= 6 && text_[at_] == '\\' && text_[at_ + 1] == 'u';
      at_ += is_pair ? 2 : 0;
      if (!is_pair || !TakeHex4(&low) || low < 0xDC00 || low >= 0xE000) return "both halves of a UTF-16 pair";
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *out = WriteUtf8(*out, code);
    return nullptr;
  }
  const size_t which = at_ < text_.size() ? kEscapes.find(text_[at_]) : kEscapes.npos;
  if (which == kEscapes.npos) return "an escape of JSON";
  ++at_;
  *(*out)++ = kMeanings[which];
  return nullptr;
}

const char* JsonReader::TakeString(std::string_view* out) {
  if (!IsString()) return "a string";
  char* const begin = text_.data() + ++at_;
  // What is decoded is never longer than what it was written as.
  char* end = begin;
  const std::string_view text(text_.data(), text_.size());
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      *out = {begin, static_cast<size_t>(end - begin)};
      return nullptr;
    }
    if (c == '\\') {
      ++at_;
      if (const char* expected = TakeEscape(&end)) return expected;
      continue;
    }
    if (static_cast<unsigned char>(c) < 0x20) return "control characters of strings as escapes";
    const size_t length = Utf8SequenceLength(text, at_);
    if (length == 0) return "UTF-8";
    for (size_t i = 0; i < length; ++i) *end++ = text_[at_++];
  }
  return "the end of a string";
}

bool JsonReader::TakeUnsigned(uint64_t* out) {
  SkipSpace();
  size_t end = at_;
  while (end < text_.size() && IsDigit(text_[end])) ++end;
  const bool has_leading_zero = end - at_ > 1 && text_[at_] == '0';
  if (end == at_ || has_leading_zero || (end < text_.size() && IsOfNumber(text_[end]))) return false;
  if (std::from_chars(text_.data() + at_, text_.data() + end, *out).ec != std::errc()) return false;
  at_ = end;
  return true;
}

bool JsonReader::TakeNumber(std::string_view* out) {
  SkipSpace();
  size_t end = at_;
  const auto take_any = [&](std::string_view chars) {
    const bool has = end < text_.size() && chars.find(text_[end]) != chars.npos;
    end += has ? 1 : 0;
    return has;
  };
  const auto take_digits = [&] {
    const size_t begin = end;
    while (end < text_.size() && IsDigit(text_[end])) ++end;
    return end - begin;
  };
  take_any("-");
  const size_t begin = end;
  const size_t num_digits = take_digits();
  bool is_number = num_digits == 1 || (num_digits > 1 && text_[begin] != '0');
  if (is_number && take_any(".")) is_number = take_digits() > 0;
  if (is_number && take_any("eE")) {
    take_any("+-");
    is_number = take_digits() > 0;
  }
  if (!is_number || (end < text_.size() && IsOfNumber(text_[end]))) return false;
  *out = {text_.data() + at_, end - at_};
  at_ = end;
  return true;
}

bool JsonReader::TakeWord(std::string_view word) {
  SkipSpace();
  const std::string_view rest = std::string_view(text_.data(), text_.size()).substr(at_);
  if (!rest.starts_with(word) || (rest.size() > word.size() && IsLetter(rest[word.size()]))) return false;
  at_ += word.size();
  return true;
}

void AppendTo(MessageBuilder& out, const JsonReader& reader) {
  constexpr size_t kMaxShown = 32;
  const std::string_view rest = std::string_view(reader.text_.data(), reader.text_.size()).substr(reader.at_);
  const auto run = [rest](auto is_part) {
    size_t size = 0;
    while (size < rest.size() && size < kMaxShown && is_part(rest[size])) ++size;
    return rest.substr(0, size);
  };
  if (rest.empty()) {
    out.Append("the end of the text");
  } else if (rest[0] == '"') {
    out.Append("text");
  } else if (rest[0] == '{') {
    out.Append("an object");
  } else if (rest[0] == '[') {
    out.Append("an array");
  } else if (IsDigit(rest[0]) || rest[0] == '-') {
    out.Append("the number ", run(IsOfNumber));
  } else if (IsLetter(rest[0])) {
    out.Append(run(IsLetter));
  } else if (rest[0] > ' ' && rest[0] < '\x7f') {
    out.Append('\'', rest[0], '\'');
  } else {
    out.Append("byte ", static_cast<int>(static_cast<unsigned char>(rest[0])));
  }
}

}  // namespace tandem
