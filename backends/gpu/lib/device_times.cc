// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/gpu/device_times.h"

#include <algorithm>

namespace tandem::gpu {

namespace {

int64_t Nanoseconds(DeviceTimes::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

void DeviceTimes::Record(const Command& command, Clock::time_point issued, Clock::time_point seen) {
  int64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    const int64_t least = Nanoseconds(issued) - command.began;
    offset_ = has_offset_ ? std::max(offset_, least) : least;
    // Clocks drift.
    offset = offset_ = std::min(offset_, Nanoseconds(seen) - command.ended);
    has_offset_ = true;
  }
  const auto on_host = [&](int64_t time) {
    return Clock::time_point(std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(time + offset)));
  };
  host_.tracer().Record({command.op, device_, {}, {}, {}, on_host(command.began), on_host(command.ended)});
}

}  // namespace tandem::gpu
