// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lays out the parts of the line and decides when it is worth drawing.

#include "digits/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "digits/terminal.h"

namespace digits {
namespace {

double Fraction(const Progress& progress) {
  return std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(std::max<uint64_t>(progress.total, 1)));
}

// "950/s", "12.3k/s", "1.2M/s"
std::string FormatRate(const Progress& progress) {
  const double rate = progress.seconds > 0 ? static_cast<double>(progress.done) / progress.seconds : 0;
  char text[32];
  if (rate >= 999'950) {
    std::snprintf(text, sizeof(text), "%.1fM/s", rate / 1e6);
  } else if (rate >= 999.5) {
    std::snprintf(text, sizeof(text), "%.1fk/s", rate / 1e3);
  } else {
    std::snprintf(text, sizeof(text), "%.0f/s", rate);
  }
  return text;
}

// "0:04", "1:02:03"
std::string FormatDuration(double seconds) {
  const auto whole = static_cast<unsigned long>(std::min(std::ceil(seconds), 1e9));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof(text), "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof(text), "%lu:%02lu", whole / 60, whole % 60);
  }
  return text;
}

// All that stands behind the bar.
std::string FormatNumbers(const Progress& progress) {
  const double fraction = Fraction(progress);
  char percent[16];
  std::snprintf(percent, sizeof(percent), "%3d %%", static_cast<int>(fraction * 100));
  std::string line = std::string(percent) + "  " + FormatRate(progress);
  if (!progress.text.empty()) line.append("  ").append(progress.text);
  if (fraction >= 1) return line + "  in " + FormatDuration(progress.seconds);
  if (fraction <= 0) return line;
  return line + "  eta " + FormatDuration(progress.seconds * (1 - fraction) / fraction);
}

std::string DrawBar(double fraction, int columns, bool unicode) {
  std::string bar;
  if (!unicode) {
    const int filled = static_cast<int>(fraction * columns);
    for (int i = 0; i < columns; ++i) bar += i < filled ? '#' : '.';
    return bar;
  }
  static constexpr const char* kEighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  const int filled = static_cast<int>(fraction * columns * 8);
  for (int i = 0; i < columns; ++i) bar += kEighths[std::clamp(filled - 8 * i, 0, 8)];
  return bar;
}

}  // namespace

std::string FormatProgressBar(const Progress& progress, int width, bool unicode) {
  constexpr int kMinBar = 8, kMaxBar = 32;
  constexpr int kFrame = 5;  // " [" and "]  "
  const std::string numbers = FormatNumbers(progress);
  const int room = width - kFrame - static_cast<int>(progress.label.size() + numbers.size());
  if (room < kMinBar) return FormatProgressLine(progress).substr(0, static_cast<size_t>(std::max(width, 0)));
  std::string line(progress.label);
  line += unicode ? " ▕" : " [";
  line += DrawBar(Fraction(progress), std::min(room, kMaxBar), unicode);
  line += unicode ? "▏ " : "] ";
  return line + " " + numbers;
}

std::string FormatProgressLine(const Progress& progress) {
  return std::string(progress.label) + "  " + FormatNumbers(progress);
}

ProgressBar::ProgressBar(std::FILE* out, std::string label, uint64_t total)
    : out_(out),
      label_(std::move(label)),
      total_(std::max<uint64_t>(total, 1)),
      start_(Clock::now()),
      last_drawn_(start_),
      is_terminal_(IsTerminal(out)),
      unicode_(LocaleIsUtf8()) {}

ProgressBar::~ProgressBar() {
  if (is_drawn_) std::fputc('\n', out_);
}

void ProgressBar::Update(uint64_t done, std::string_view text) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const Progress progress = {label_, std::min(done, total_), total_, seconds, text};
  if (is_terminal_) {
    if (done >= total_ || !is_drawn_ || now - last_drawn_ >= std::chrono::milliseconds(100)) Draw(progress, now);
    return;
  }
  const auto tenths = static_cast<uint64_t>(Fraction(progress) * 10);
  if (tenths <= tenths_printed_) return;
  tenths_printed_ = tenths;
  std::fprintf(out_, "%s\n", FormatProgressLine(progress).c_str());
  std::fflush(out_);
}

void ProgressBar::Draw(const Progress& progress, Clock::time_point now) {
  // One column is left free, since some terminals go to the next line when the last one is filled.
  const std::string line = FormatProgressBar(progress, TerminalWidth(out_) - 1, unicode_);
  std::fprintf(out_, "\r%s\x1b[K", line.c_str());  // back to the start; clear what is left of the line before
  std::fflush(out_);
  is_drawn_ = true;
  last_drawn_ = now;
}

}  // namespace digits
