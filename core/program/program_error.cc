// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Errors with a line of the text and a mark.

#include "program_error.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/utf8.h"
#include "program_binary.h"

namespace tandem {

namespace {

// In characters: what is shown of a line, and how much of that is before the place at most, if the line is longer.
constexpr size_t kShown = 100;
constexpr size_t kShownBefore = 60;
constexpr std::string_view kCut = "...";

// Of the character that begins at a byte of the text; 1 for a byte that is of none.
size_t CharacterLength(std::string_view text, size_t offset) {
  return std::max<size_t>(Utf8SequenceLength(text, offset), 1);
}

// The characters between two offsets.
size_t CountCharacters(std::string_view text, size_t begin, size_t end) {
  size_t count = 0;
  for (size_t i = begin; i < end; i += CharacterLength(text, i)) ++count;
  return count;
}

bool CanBeShown(std::string_view text, size_t offset) {
  const auto byte = static_cast<unsigned char>(text[offset]);
  return Utf8SequenceLength(text, offset) != 0 && byte != 0x7F && (byte >= 0x20 || byte == '\t');
}

void AppendCharacter(std::string_view text, size_t offset, std::string* out) {
  if (!CanBeShown(text, offset)) {
    *out += '?';
  } else {
    out->append(text, offset, CharacterLength(text, offset));
  }
}

// The first line of the text, without the end of line that is behind the byte at `place`.
std::string_view LineAt(std::string_view text, size_t place) {
  std::string_view line = text.substr(0, text.find('\n', place));
  if (line.ends_with('\r') && place < line.size()) line.remove_suffix(1);
  return line;
}

// The line as it is shown, a newline, and the mark under the byte at `place`.
std::string ShowLine(std::string_view line, size_t place) {
  const size_t before = CountCharacters(line, 0, place);
  const size_t all = before + CountCharacters(line, place, line.size());
  const bool is_long = all > kShown;
  const size_t first = is_long ? std::min(before - std::min(before, kShownBefore), all - kShown) : 0;
  const size_t end = is_long ? first + kShown : all;
  std::string shown;
  std::string mark;
  if (first > 0) {
    shown += kCut;
    mark.append(kCut.size(), ' ');
  }
  size_t count = 0;
  for (size_t i = 0; i < line.size() && count < end; i += CharacterLength(line, i), ++count) {
    if (count < first) continue;
    AppendCharacter(line, i, &shown);
    if (i < place) mark += line[i] == '\t' ? '\t' : ' ';
  }
  if (end < all) shown += kCut;
  return shown + '\n' + mark + '^';
}

}  // namespace

ProgramPositions::ProgramPositions(std::string_view text)
    : text_(text), offset_(text.starts_with(kUtf8ByteOrderMark) ? kUtf8ByteOrderMark.size() : 0) {}

ProgramPosition ProgramPositions::At(size_t offset) {
  if (offset < offset_) *this = ProgramPositions(text_);
  while (offset_ < offset) {
    const bool is_end = text_[offset_] == '\n';
    line_ += is_end;
    column_ = is_end ? 1 : column_ + 1;
    offset_ += CharacterLength(text_, offset_);
  }
  constexpr size_t kMax = std::numeric_limits<uint32_t>::max();
  return {static_cast<uint32_t>(std::min(line_, kMax)), static_cast<uint32_t>(std::min(column_, kMax))};
}

Status ProgramTextError(std::string_view text, std::string_view file, size_t offset, std::string_view what) {
  const ProgramPosition position = ProgramPositions(text).At(offset);
  const std::string_view before = text.substr(0, offset);
  size_t begin = before.rfind('\n') + 1;  // 0 if there is none
  if (begin == 0 && text.starts_with(kUtf8ByteOrderMark)) begin = std::min(offset, kUtf8ByteOrderMark.size());
  const std::string_view line = LineAt(text.substr(begin), offset - begin);
  std::string message(file);
  message += ':' + std::to_string(position.line) + ':' + std::to_string(position.column) + ": ";
  message += what;
  message += '\n' + ShowLine(line, offset - begin);
  return Status::Error(StatusCode::kInvalidArgument, message);
}

std::string ShowProgramPlace(std::string_view text, const ProgramPosition& position) {
  if (position.line == 0 || position.column == 0 || IsBinaryProgram(std::as_bytes(std::span(text)))) return "";
  if (text.starts_with(kUtf8ByteOrderMark)) text.remove_prefix(kUtf8ByteOrderMark.size());
  for (uint32_t i = 1; i < position.line; ++i) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  text = LineAt(text, 0);
  size_t offset = 0;
  for (uint32_t i = 1; i < position.column && offset < text.size(); ++i) offset += CharacterLength(text, offset);
  return offset < text.size() ? ShowLine(text, offset) : "";
}

std::string ProgramTextExcerpt(std::string_view part, size_t max_characters) {
  std::string shown;
  size_t count = 0;
  for (size_t i = 0; i < part.size(); i += CharacterLength(part, i), ++count) {
    if (count == max_characters) return shown + "...";
    AppendCharacter(part, i, &shown);
  }
  return shown;
}

}  // namespace tandem
