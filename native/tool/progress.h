// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Progress: how far long work is, on the terminal behind standard error.

#ifndef TANDEM_NATIVE_TOOL_PROGRESS_H_
#define TANDEM_NATIVE_TOOL_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tool/console.h"

namespace tandem::tool {

// "cpu  37 %  eta 0:04": shown once the work has taken half a second, then about ten times a second; gone at the end.
// For one thread at a time.
class Progress {
 public:
  Progress(Console& console, std::string label)
      : console_(console), label_(std::move(label)), start_(Clock::now()), last_(start_) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { console_.ShowProgress({}); }

  // `done` of `total`, in any unit.
  void Update(uint64_t done, uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  const std::string label_;
  const Clock::time_point start_;
  Clock::time_point last_;  // when it was shown
};

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_PROGRESS_H_
