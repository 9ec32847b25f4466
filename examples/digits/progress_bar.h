// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A progress bar of one line: how much is done, how fast, how it goes, how long it will take.

#ifndef TANDEM_EXAMPLES_DIGITS_PROGRESS_BAR_H_
#define TANDEM_EXAMPLES_DIGITS_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace digits {

struct Progress {
  std::string_view label;  // "epoch 3/10"
  uint64_t done = 0;       // at most total
  uint64_t total = 1;      // at least 1
  double seconds = 0;      // since the start
  std::string_view text;   // "loss 0.231  accuracy 93.1 %"
};

// "epoch 3/10 [#####.....]  52 %  12.3k/s  loss 0.231  eta 0:04", in exactly `width` columns or fewer; the bar is drawn
// with block characters if `unicode`. Where there is not enough room the bar goes first, then the end of the line.
// Label and text are ASCII.
std::string FormatProgressBar(const Progress& progress, int width, bool unicode);

// The same without the bar, at any length.
std::string FormatProgressLine(const Progress& progress);

// Draws over its own line on a terminal, about ten times a second; elsewhere prints a line for each tenth done. One
// thread at a time.
class ProgressBar {
 public:
  ProgressBar(std::FILE* out, std::string label, uint64_t total);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Leaves the cursor at the start of a fresh line.
  ~ProgressBar();

  // `done` of `total`; the last call, with all done, is always shown.
  void Update(uint64_t done, std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  void Draw(const Progress& progress, Clock::time_point now);

  std::FILE* out_;
  std::string label_;
  uint64_t total_;
  Clock::time_point start_;
  Clock::time_point last_drawn_;
  bool is_terminal_;
  bool unicode_;
  bool is_drawn_ = false;
  uint64_t tenths_printed_ = 0;
};

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_PROGRESS_BAR_H_
