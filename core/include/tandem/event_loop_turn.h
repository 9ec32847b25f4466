// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EventLoopTurn: what the thread of an event loop computes at once rather than hand it over.

#ifndef TANDEM_EVENT_LOOP_TURN_H_
#define TANDEM_EVENT_LOOP_TURN_H_

#include <chrono>

#include "tandem/export.h"

namespace tandem {

// Who waits on an event loop for a result of the work queue gets it a turn of the loop later, which takes longer than
// many a kernel. So while one of these is alive on it, a thread runs work of up to kMostTimesLimit times the host's
// inline cost limit at once, shared with the queue's workers, until it has done so for kLength. Then it hands over as
// others do, until the next turn begins.
class TANDEM_EXPORT EventLoopTurn {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double kMostTimesLimit = 20;
  static constexpr std::chrono::milliseconds kLength{8};

  // To be destroyed on the same thread.
  EventLoopTurn();
  ~EventLoopTurn();
  EventLoopTurn(const EventLoopTurn&) = delete;
  EventLoopTurn& operator=(const EventLoopTurn&) = delete;

  // The loop has come round.
  static void Begin();
  // Whether the calling thread is to run work at once whose cost is above `limit`.
  static bool Takes(double cost, double limit);
  // The same at a time that is no earlier than that of any call before.
  static bool TakesAt(Clock::time_point now, double cost, double limit);
};

}  // namespace tandem

#endif  // TANDEM_EVENT_LOOP_TURN_H_
