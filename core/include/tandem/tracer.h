// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tracer: records what ran when, for chrome://tracing and Perfetto.

#ifndef TANDEM_TRACER_H_
#define TANDEM_TRACER_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "tandem/export.h"
#include "tandem/message.h"

namespace tandem {

// One op that ran.
struct TraceEvent {
  using Clock = std::chrono::steady_clock;

  std::string_view name;  // op
  std::string_view device;
  std::string_view inputs;    // "f32[2,3], f32[3]"
  std::string_view attrs;     // "{axis = 1}"
  Clock::time_point called;   // when Execute was called; none: a device has executed it, by its own clock
  Clock::time_point started;  // when the kernel began; `called`..`started` is time in the queue or waiting for inputs
  Clock::time_point ended;
};

// Thread-safe. Memory that cannot be had drops events, and the count of these is in the output.
class TANDEM_EXPORT Tracer {
 public:
  Tracer() = default;
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Copies what the event's views show.
  void Record(const TraceEvent& event);
  void Clear();
  int64_t num_events() const;

  // Chrome's trace event format (TR-2), times in microseconds since the first call recorded.
  std::string ToJson() const;

 private:
  struct Entry;
  mutable std::mutex mutex_;
  Entry* first_ = nullptr;
  Entry* last_ = nullptr;
  int64_t num_events_ = 0;
  int64_t num_dropped_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_TRACER_H_
