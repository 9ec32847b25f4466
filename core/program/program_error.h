// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where in the text of a program something stands, and errors that show it.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_ERROR_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/program.h"
#include "tandem/status.h"

namespace tandem {

// How a text may begin; it is no part of the first line.
inline constexpr std::string_view kUtf8ByteOrderMark = "\xEF\xBB\xBF";

// Lines and columns of offsets into a text. A column counts characters of UTF-8; so does each byte that is of none. The
// text must outlive it.
class ProgramPositions {
 public:
  explicit ProgramPositions(std::string_view text);

  // Of the byte at `offset`, which may be the end. Offsets that ascend cost one walk over the text altogether; one that
  // is before the last begins a walk of its own.
  ProgramPosition At(size_t offset);

 private:
  std::string_view text_;
  size_t offset_;
  size_t line_ = 1;
  size_t column_ = 1;
};

// InvalidArgument "FILE:LINE:COLUMN: WHAT" for what is wrong at a byte of `text` or at its end; then, on lines of their
// own, the line of the text, cut around the place if it is long, and a mark under the place.
Status ProgramTextError(std::string_view text, std::string_view file, size_t offset, std::string_view what);

// A part of a text as an error shows it: '?' for what is no character that can be shown, and "..." in the place of what
// is behind the first `max_characters`.
std::string ProgramTextExcerpt(std::string_view part, size_t max_characters);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_ERROR_H_
