// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// By the functions of C and POSIX.

#include "tool/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "tool/content.h"

namespace tandem::tool {

namespace {

// Whether a terminal may be sent colours: https://no-color.org.
bool AllowsColors() {
  const char* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

int WidthOf(std::FILE* file) {
  constexpr int kDefault = 80;
  winsize size = {};
  return ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ? kDefault : size.ws_col;
}

}  // namespace

std::string ErrorText(const Status& error) {
  std::string text = error.ToString();
  const std::string code = std::string(StatusCodeName(error.code())) + ": ";
  if (text.starts_with(code)) text.erase(0, code.size());
  return text;
}

void Console::PrintError(const Status& error) {
  // Reading a program says what stands there; what is found out later has its place alone.
  const DecodedLocation location = error.location();
  const std::string text = ErrorText(error);
  const bool is_shown = text.find('\n') != std::string::npos;
  PrintError(is_shown ? text : text + ShowPlace(std::string(location.file), {location.line, location.column}));
}

Console::Console() : output_{stdout}, error_{stderr} {
  for (Stream* stream : {&output_, &error_}) {
    stream->is_terminal = isatty(fileno(stream->file)) == 1;
    stream->has_colors = stream->is_terminal && AllowsColors();
  }
}

void Console::Print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (output_error_ != 0 || text.empty()) return;
  if (output_.is_terminal) ClearProgress();
  if (std::fwrite(text.data(), 1, text.size(), output_.file) != text.size()) output_error_ = errno;
}

void Console::PrintError(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::string line = error_.has_colors ? "\x1b[1;31mtandem:\x1b[0m " : "tandem: ";
  WriteError(line.append(text).append("\n"));
}

void Console::Log(std::string_view text) {
  const std::lock_guard lock(mutex_);
  WriteError(text);
}

// What cannot be written to standard error is lost.
void Console::WriteError(std::string_view text) {
  ClearProgress();
  // In the order in which it came, where both go to the same place.
  if (output_error_ == 0 && std::fflush(output_.file) != 0) output_error_ = errno;
  std::fwrite(text.data(), 1, text.size(), error_.file);
}

int Console::OutputWidth() const { return output_.is_terminal ? WidthOf(output_.file) : 0; }

std::string Console::Bold(std::string_view text) const {
  if (!output_.has_colors) return std::string(text);
  return "\x1b[1m" + std::string(text) + "\x1b[0m";
}

void Console::ShowProgress(std::string_view line) {
  const std::lock_guard lock(mutex_);
  ClearProgress();
  if (!error_.is_terminal || line.empty()) return;
  // One column is left free, since some terminals go to the next line when the last one is filled.
  const auto width = static_cast<size_t>(WidthOf(error_.file)) - 1;
  line = line.substr(0, width);
  std::fwrite(line.data(), 1, line.size(), error_.file);
  has_progress_ = true;
}

void Console::ClearProgress() {
  if (std::exchange(has_progress_, false)) std::fputs("\r\x1b[K", error_.file);
}

Status Console::Finish() {
  const std::lock_guard lock(mutex_);
  ClearProgress();
  if (output_error_ == 0 && std::fflush(output_.file) != 0) output_error_ = errno;
  if (output_error_ == 0 || output_error_ == EPIPE) return Status();
  return MakeError(StatusCode::kDataLoss, "standard output: expected to write all of it, got: ",
                   std::generic_category().message(output_error_));
}

}  // namespace tandem::tool
