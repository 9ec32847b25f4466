// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Waiting and running tasks on the thread of an event loop.

#include "event_loop_queue.h"

namespace tandem::js {

bool EventLoopQueue::RunFor(std::chrono::duration<double, std::milli> time, FunctionRef<bool()> stop) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  while (queue_->RunOneTask()) {
    ContinuationGuard::RunDeferred();
    if (stop() || Clock::now() - begin >= time) return true;
  }
  return false;
}

Status EventLoopQueue::Await(std::span<const AsyncValue* const> values, Deadline deadline) {
  return MayBlock() ? queue_->Await(values, deadline) : CheckAvailable(values);
}

}  // namespace tandem::js
