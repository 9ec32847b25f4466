// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Token: a word of a kernel's text, with the line it is in.

#ifndef TANDEM_BACKENDS_SHADER_NATIVE_WGSL_TOKENS_H_
#define TANDEM_BACKENDS_SHADER_NATIVE_WGSL_TOKENS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tandem/status.h"

namespace tandem::shader {

struct Token {
  enum class Kind : uint8_t { kIdentifier, kNumber, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;  // part of the text that was read; empty at the end
  int line = 0;           // from 1
};

// The words of a text, without comments, and one of kind kEnd behind them. Fails at a character that no word has, and
// at a comment without an end; the error says the line.
StatusOr<std::vector<Token>> ReadTokens(std::string_view text);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_NATIVE_WGSL_TOKENS_H_
