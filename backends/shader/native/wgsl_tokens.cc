// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "wgsl_tokens.h"

#include <algorithm>
#include <array>

namespace tandem::shader {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

// Longer ones first.
constexpr std::array<std::string_view, 27> kLongSymbols = {
    "<<=", ">>=", "->", "++", "--", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=",
    "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "{",  "}",  "(",  ")",  "[",  "]"};
constexpr std::string_view kShortSymbols = "<>=!+-*/%&|^~.,;:@";

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Token>> Read() {
    std::vector<Token> tokens;
    while (true) {
      TANDEM_RETURN_IF_ERROR(SkipSpace());
      if (at_ == text_.size()) break;
      const size_t begin = at_;
      Token::Kind kind = Token::Kind::kSymbol;
      if (IsNameStart(text_[at_])) {
        kind = Token::Kind::kIdentifier;
        while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
      } else if (IsDigit(text_[at_]) || (text_[at_] == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
        kind = Token::Kind::kNumber;
        SkipNumber();
      } else if (!SkipSymbol()) {
        return InvalidArgument("line ", line_, ": expected a character of the kernels' language, got ",
                               int{static_cast<unsigned char>(text_[at_])});
      }
      tokens.push_back({kind, text_.substr(begin, at_ - begin), line_});
    }
    tokens.push_back({Token::Kind::kEnd, {}, line_});
    return tokens;
  }

 private:
  Status SkipSpace() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        TANDEM_RETURN_IF_ERROR(SkipBlockComment());
      } else {
        break;
      }
    }
    return Status();
  }

  // They nest.
  Status SkipBlockComment() {
    const int begin = line_;
    int depth = 0;
    do {
      if (at_ >= text_.size()) return InvalidArgument("line ", begin, ": expected an end of the comment, got none");
      if (text_.substr(at_, 2) == "/*") {
        ++depth;
        at_ += 2;
      } else if (text_.substr(at_, 2) == "*/") {
        --depth;
        at_ += 2;
      } else {
        if (text_[at_] == '\n') ++line_;
        ++at_;
      }
    } while (depth > 0);
    return Status();
  }

  // All letters, digits and points that follow, and the sign of an exponent; the compiler judges it.
  void SkipNumber() {
    const bool is_hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool is_exponent = is_hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
      if (!IsNamePart(c) && c != '.') break;
      ++at_;
      if (is_exponent && at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    }
  }

  bool SkipSymbol() {
    for (std::string_view symbol : kLongSymbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      at_ += symbol.size();
      return true;
    }
    if (kShortSymbols.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

StatusOr<std::vector<Token>> ReadTokens(std::string_view text) { return Reader(text).Read(); }

}  // namespace tandem::shader
