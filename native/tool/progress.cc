// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Decides when it is worth showing, and says how long it will take.

#include "tool/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tandem::tool {

void Progress::Update(uint64_t done, uint64_t total) {
  constexpr std::chrono::milliseconds kDelay(500), kInterval(100);
  if (!console_.error_is_terminal()) return;
  const Clock::time_point now = Clock::now();
  if (now - start_ < kDelay || now - last_ < kInterval) return;
  last_ = now;
  const double fraction = total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  char text[64];
  if (fraction > 0) {
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const auto left = static_cast<unsigned long>(std::min(std::ceil(seconds * (1 - fraction) / fraction), 1e9));
    std::snprintf(text, sizeof(text), "  %3d %%  eta %lu:%02lu", static_cast<int>(fraction * 100), left / 60,
                  left % 60);
  } else {
    std::snprintf(text, sizeof(text), "    0 %%");
  }
  console_.ShowProgress(label_ + text);
}

}  // namespace tandem::tool
