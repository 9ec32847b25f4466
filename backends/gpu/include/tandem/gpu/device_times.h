// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DeviceTimes: what a device's own clock says of commands, in a host's traces (TR-2).

#ifndef TANDEM_GPU_DEVICE_TIMES_H_
#define TANDEM_GPU_DEVICE_TIMES_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "tandem/export.h"
#include "tandem/host_context.h"

namespace tandem::gpu {

// Thread-safe.
class TANDEM_EXPORT DeviceTimes {
 public:
  using Clock = std::chrono::steady_clock;

  // `device` is the row's name. `host` outlives this.
  DeviceTimes(HostContext& host, std::string_view device) : host_(host), device_(device) {}

  // Whether commands are to be timed.
  bool IsWanted() const { return host_.IsTracing(); }

  // When a command was executed, in nanoseconds of the device's clock, which may begin anywhere.
  struct Command {
    std::string_view op;
    int64_t began = 0;
    int64_t ended = 0;
  };
  // Records it. Nothing ties the two clocks together but that a command begins after it was issued, and has ended when
  // that is seen: it is shown as early as it and those before it can have been.
  void Record(const Command& command, Clock::time_point issued, Clock::time_point seen);

 private:
  HostContext& host_;
  const std::string device_;
  std::mutex mutex_;
  bool has_offset_ = false;
  int64_t offset_ = 0;  // from the device's clock to the host's
};

}  // namespace tandem::gpu

#endif  // TANDEM_GPU_DEVICE_TIMES_H_
