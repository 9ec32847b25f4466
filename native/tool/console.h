// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Console: where the tool's results, errors and progress go, and what is known of it.

#ifndef TANDEM_NATIVE_TOOL_CONSOLE_H_
#define TANDEM_NATIVE_TOOL_CONSOLE_H_

#include <cstdio>
#include <mutex>
#include <source_location>
#include <string>
#include <string_view>

#include "tandem/status.h"

namespace tandem::tool {

// For calls that put their caller's place into errors: a place in the tool's own sources tells its user nothing.
inline constexpr std::source_location kNowhere{};

// An error as the tool shows it: what Status::ToString says, without the name of the code.
std::string ErrorText(const Status& error);

// Standard output and standard error of the process. Thread-safe.
class Console {
 public:
  Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // To standard output, whose reader may go before the end: then the rest is dropped.
  void Print(std::string_view text);
  // "tandem: TEXT" and a newline to standard error.
  void PrintError(std::string_view text);
  // The same, and the line of the file where it happened, if there is one.
  void PrintError(const Status& error);
  // The text as it is to standard error.
  void Log(std::string_view text);

  // Whether someone looks at it.
  bool output_is_terminal() const { return output_.is_terminal; }
  bool error_is_terminal() const { return error_.is_terminal; }
  // Columns of the terminal behind standard output; 0 if there is none.
  int OutputWidth() const;
  // The text for standard output, in bold type on a terminal that has colours.
  std::string Bold(std::string_view text) const;

  // Shows a line on the terminal behind standard error in place of the last such line; nothing if there is no terminal.
  // An empty line takes it away, as does whatever is written next.
  void ShowProgress(std::string_view line);

  // Writes what is buffered. Ok if all that was printed has been written, or its reader did not want it.
  Status Finish();

 private:
  struct Stream {
    std::FILE* file;
    bool is_terminal = false;
    bool has_colors = false;
  };
  void WriteError(std::string_view text);
  void ClearProgress();

  Stream output_;
  Stream error_;
  std::mutex mutex_;
  bool has_progress_ = false;
  int output_error_ = 0;  // errno of the first failure
};

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_CONSOLE_H_
