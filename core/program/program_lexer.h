// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The tokens of the text of programs, and errors about them.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_LEXER_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "program_error.h"
#include "tandem/message.h"
#include "tandem/program.h"
#include "tandem/status.h"

namespace tandem {

struct ProgramToken {
  enum class Kind : uint8_t {
    kEnd,         // of the text
    kIdentifier,  // tfrt.call
    kNumber,      // -1.5e3, 0x1f, -inf; not nan and inf, which are identifiers
    kString,      // "text"
    kValue,       // %name, %name#2
    kSymbol,      // @name, @"name"
    kType,        // !tfrt.chain
    kArrow,       // ->
    kDimensions,  // 2x3xf32, behind "shape<" and "tensor<"
    kSymbolic,    // any other character
    kBad,         // none; `wrong` says why
  };
  static constexpr uint32_t kNoIndex = UINT32_MAX;

  Kind kind = Kind::kEnd;
  bool has_escapes = false;       // of what is in quotes
  bool opens_dimensions = false;  // the '<' behind "shape" or "tensor"
  uint32_t index = kNoIndex;      // behind the # of a value; a number that is too large for any becomes kNoIndex - 1
  size_t offset = 0;
  std::string_view text = {};     // as it is written
  std::string_view content = {};  // the name of a value or symbol, what is between quotes, escapes as they are written
  std::string_view wrong = {};    // what was expected, if it is kBad
};

// What is between the quotes of a string or symbol, or the name of a symbol without them.
std::string Unescape(const ProgramToken& token);

// The tokens of a text, from one to the next; what errors show; and how much more than its own size a text may make its
// reader allocate. The views it is given must outlive it.
class ProgramTokens {
 public:
  using Kind = ProgramToken::Kind;

  ProgramTokens(std::string_view text, std::string_view file);

  // The current one. That of the end of the text is placed where the last one before it ends.
  const ProgramToken& token() const { return token_; }
  bool Is(Kind kind) const { return token_.kind == kind; }
  bool Is(char symbol) const { return Is(Kind::kSymbolic) && token_.text[0] == symbol; }
  bool IsWord(std::string_view word) const { return Is(Kind::kIdentifier) && token_.text == word; }

  // To the next token.
  void Next();
  // To the next if the current one is the symbol.
  bool Take(char symbol);
  // The same, or an error about what was expected: "','", or `what` if it is given.
  Status Expect(char symbol, std::string_view what = {});

  // A place to come back to.
  struct Mark {
    ProgramToken token;
    size_t end;
  };
  Mark Here() const { return {token_, end_}; }
  void Return(const Mark& mark);

  // "expected WHAT, got 'x'" at the current token.
  Status Unexpected(std::string_view what) const;
  // "expected A or B, got 'x'"
  template <typename... Parts>
  [[gnu::noinline]] Status Wrong(size_t offset, const Parts&... parts) const {
    MessageBuilder what;
    what.Append(parts...);
    return ProgramTextError(text_, file_, offset, what.view());
  }
  // As an error shows it: cut if it is long.
  static std::string Shown(std::string_view name) { return ProgramTextExcerpt(name, kMaxShown); }

  // For what a text has stand for more than its own size; an error at the offset if that becomes too much altogether.
  Status Claim(size_t offset, uint64_t bytes);
  // Costs little for offsets that ascend.
  ProgramPosition PositionOf(size_t offset) { return positions_.At(offset); }
  uint32_t LineOf(size_t offset) const { return ProgramPositions(text_).At(offset).line; }

 private:
  static constexpr size_t kMaxShown = 64;  // characters of a token

  void SkipSpace();
  // The token that begins at end_.
  ProgramToken Read();
  ProgramToken ReadDimensions() const;
  ProgramToken ReadNumber();
  ProgramToken ReadString();
  ProgramToken ReadValue();
  ProgramToken ReadNamed(Kind kind, std::string_view wrong);
  // A token of the kind up to `end`, without moving.
  ProgramToken Make(Kind kind, size_t end) const;
  ProgramToken Bad(size_t offset, std::string_view wrong) const;
  // The character at the offset; 0 at the end.
  char At(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  size_t SkipDigits(size_t offset) const;
  size_t SkipIdentifier(size_t offset) const;

  const std::string_view text_;
  const std::string_view file_;
  ProgramPositions positions_;
  uint64_t claimable_;  // bytes
  size_t end_ = 0;      // of the current token
  ProgramToken token_;
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_LEXER_H_
