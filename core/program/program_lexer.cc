// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tokens, read one by one.

#include "program_lexer.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/utf8.h"

namespace tandem {

namespace {

// What a text may claim: something, and a multiple of its size.
constexpr uint64_t kClaimable = uint64_t{4} << 20;
constexpr uint64_t kClaimablePerByte = 16;

// Independent of the C locale, unlike <cctype>.
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool BeginsIdentifier(char c) { return IsLetter(c) || c == '_'; }
bool IsInIdentifier(char c) { return BeginsIdentifier(c) || IsDigit(c) || c == '$' || c == '.' || c == '-'; }
bool IsInDimensions(char c) { return IsLetter(c) || IsDigit(c) || c == '-'; }

unsigned HexValue(char c) {
  if (IsDigit(c)) return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>((c | 0x20) - 'a' + 10);
}

}  // namespace

std::string Unescape(const ProgramToken& token) {
  const std::string_view content = token.content;
  if (!token.has_escapes) return std::string(content);
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] != '\\') {
      text += content[i];
      continue;
    }
    switch (content[++i]) {
      case 'n':
        text += '\n';
        break;
      case 't':
        text += '\t';
        break;
      case 'x':
        text += static_cast<char>(HexValue(content[i + 1]) << 4 | HexValue(content[i + 2]));
        i += 2;
        break;
      default:
        text += content[i];
    }
  }
  return text;
}

ProgramTokens::ProgramTokens(std::string_view text, std::string_view file)
    : text_(text), file_(file), positions_(text), claimable_(kClaimable + kClaimablePerByte * text.size()) {
  if (text.starts_with(kUtf8ByteOrderMark)) end_ = kUtf8ByteOrderMark.size();
  token_.offset = end_;
  Next();
}

void ProgramTokens::SkipSpace() {
  for (;;) {
    const char c = At(end_);
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      ++end_;
    } else if (c == '/' && At(end_ + 1) == '/') {
      end_ = std::min(text_.find('\n', end_), text_.size());
    } else {
      return;
    }
  }
}

void ProgramTokens::Next() {
  const size_t last_end = end_;
  SkipSpace();
  if (end_ == text_.size()) {
    // What is missing is missed where the text stops saying something.
    if (!Is(Kind::kEnd)) token_ = {.offset = last_end};
    return;
  }
  const bool is_in_dimensions = token_.opens_dimensions && IsInDimensions(At(end_));
  const bool may_open_dimensions = IsWord("shape") || IsWord("tensor");
  token_ = is_in_dimensions ? ReadDimensions() : Read();
  token_.opens_dimensions = may_open_dimensions && Is('<');
  end_ = token_.offset + token_.text.size();
}

bool ProgramTokens::Take(char symbol) {
  if (!Is(symbol)) return false;
  Next();
  return true;
}

Status ProgramTokens::Expect(char symbol, std::string_view what) {
  if (Take(symbol)) return Status();
  const char quoted[] = {'\'', symbol, '\''};
  return Unexpected(what.empty() ? std::string_view(quoted, std::size(quoted)) : what);
}

void ProgramTokens::Return(const Mark& mark) {
  token_ = mark.token;
  end_ = mark.end;
}

Status ProgramTokens::Unexpected(std::string_view what) const {
  if (Is(Kind::kBad)) return Wrong(token_.offset, "expected ", token_.wrong);
  if (Is(Kind::kEnd)) return Wrong(token_.offset, "expected ", what, ", got the end of the text");
  return Wrong(token_.offset, "expected ", what, ", got '", Shown(token_.text), "'");
}

Status ProgramTokens::Claim(size_t offset, uint64_t bytes) {
  if (bytes <= claimable_) {
    claimable_ -= bytes;
    return Status();
  }
  return Wrong(offset, "expected a text that stands for at most ", kClaimable, " bytes and ", kClaimablePerByte,
               " for each of its own, got more up to here");
}

ProgramToken ProgramTokens::Make(Kind kind, size_t end) const {
  const std::string_view text = text_.substr(end_, end - end_);
  return {.kind = kind, .offset = end_, .text = text, .content = text};
}

ProgramToken ProgramTokens::Bad(size_t offset, std::string_view wrong) const {
  return {.kind = Kind::kBad, .offset = offset, .wrong = wrong};
}

ProgramToken ProgramTokens::Read() {
  const char c = At(end_);
  if (BeginsIdentifier(c)) return Make(Kind::kIdentifier, SkipIdentifier(end_));
  if (c == '%') return ReadValue();
  if (c == '"') return ReadString();
  if (c == '-' && At(end_ + 1) == '>') return Make(Kind::kArrow, end_ + 2);
  if (IsDigit(c) || c == '-') return ReadNumber();
  if (c == '@')
    return ReadNamed(Kind::kSymbol, "a name of letters, digits, '_', '$', '.' and '-' or in quotes after '@'");
  if (c == '!') return ReadNamed(Kind::kType, "the name of a type after '!'");
  return Make(Kind::kSymbolic, end_ + std::max<size_t>(Utf8SequenceLength(text_, end_), 1));
}

size_t ProgramTokens::SkipDigits(size_t offset) const {
  while (IsDigit(At(offset))) ++offset;
  return offset;
}

size_t ProgramTokens::SkipIdentifier(size_t offset) const {
  // The '-' of "->" is not part of it.
  while (IsInIdentifier(At(offset)) && !(At(offset) == '-' && At(offset + 1) == '>')) ++offset;
  return offset;
}

ProgramToken ProgramTokens::ReadNumber() {
  static constexpr std::string_view kWrong = "a number such as 12, -1.5e-3 or 0x1f";
  const size_t begin = end_ + (At(end_) == '-');
  size_t end = begin;
  if (At(begin) == '0' && At(begin + 1) == 'x' && begin == end_) {
    end = begin + 2;
    while (IsHexDigit(At(end))) ++end;
    if (end == begin + 2) return Bad(end_, kWrong);
  } else if (text_.substr(begin, 3) == "inf" && begin != end_) {
    end = begin + 3;
  } else {
    end = SkipDigits(begin);
    if (end == begin) return Bad(end_, kWrong);
    if (At(end) == '.') end = SkipDigits(end + 1);
    if (At(end) == 'e' || At(end) == 'E') {
      const size_t sign = end + 1;
      const size_t power = sign + (At(sign) == '+' || At(sign) == '-');
      end = SkipDigits(power);
      if (end == power) return Bad(end_, kWrong);
    }
  }
  if (IsInIdentifier(At(end))) return Bad(end_, kWrong);
  return Make(Kind::kNumber, end);
}

ProgramToken ProgramTokens::ReadDimensions() const {
  size_t end = end_;
  while (IsInDimensions(At(end))) ++end;
  return Make(Kind::kDimensions, end);
}

ProgramToken ProgramTokens::ReadString() {
  bool has_escapes = false;
  size_t i = end_ + 1;
  while (At(i) != '"') {
    if (i >= text_.size() || text_[i] == '\n' || text_[i] == '\r') {
      return Bad(end_, "a string with a closing '\"' on its line");
    }
    const size_t length = Utf8SequenceLength(text_, i);
    if (length == 0) return Bad(i, "characters of UTF-8 in a string, or \\xHH for a byte that is none");
    if (text_[i] != '\\') {
      i += length;
      continue;
    }
    has_escapes = true;
    const char c = At(i + 1);
    if (c == 'x' && IsHexDigit(At(i + 2)) && IsHexDigit(At(i + 3))) {
      i += 4;
    } else if (c == '"' || c == '\\' || c == 'n' || c == 't') {
      i += 2;
    } else {
      return Bad(i,
                 "one of \\\", \\\\, \\n, \\t and \\xHH, with two hexadecimal digits, after a backslash in a string");
    }
  }
  ProgramToken token = Make(Kind::kString, i + 1);
  token.content = token.text.substr(1, token.text.size() - 2);
  token.has_escapes = has_escapes;
  return token;
}

ProgramToken ProgramTokens::ReadValue() {
  static constexpr std::string_view kWrong = "a name of letters, digits, '_', '$', '.' and '-', or a number, after '%'";
  const size_t begin = end_ + 1;
  const bool is_number = IsDigit(At(begin));
  size_t end = is_number ? SkipDigits(begin) : begin;
  if (BeginsIdentifier(At(begin))) end = SkipIdentifier(begin);
  if (end == begin || (is_number && BeginsIdentifier(At(end)))) return Bad(end_, kWrong);
  const size_t name_size = end - begin;
  uint32_t index = ProgramToken::kNoIndex;
  if (At(end) == '#') {
    const size_t number = end + 1;
    end = SkipDigits(number);
    if (end == number) return Bad(end_, "the number of a result after '#'");
    const auto read = std::from_chars(text_.data() + number, text_.data() + end, index);
    if (read.ec != std::errc() || index == ProgramToken::kNoIndex) index = ProgramToken::kNoIndex - 1;
  }
  ProgramToken token = Make(Kind::kValue, end);
  token.content = token.text.substr(1, name_size);
  token.index = index;
  return token;
}

ProgramToken ProgramTokens::ReadNamed(Kind kind, std::string_view wrong) {
  if (kind == Kind::kSymbol && At(end_ + 1) == '"') {
    const size_t begin = end_++;
    ProgramToken token = ReadString();
    end_ = begin;
    if (token.kind == Kind::kBad) return token;
    token.kind = kind;
    token.offset = begin;
    token.text = text_.substr(begin, token.text.size() + 1);
    return token;
  }
  if (!BeginsIdentifier(At(end_ + 1))) return Bad(end_, wrong);
  ProgramToken token = Make(kind, SkipIdentifier(end_ + 1));
  token.content.remove_prefix(1);
  return token;
}

}  // namespace tandem
