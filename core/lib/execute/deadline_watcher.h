// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DeadlineWatcher: ends requests whose deadline passes while their ops are pending.

#ifndef TANDEM_CORE_LIB_EXECUTE_DEADLINE_WATCHER_H_
#define TANDEM_CORE_LIB_EXECUTE_DEADLINE_WATCHER_H_

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tandem/request_context.h"
#include "tandem/work_queue.h"

namespace tandem {

// Thread-safe. Watches from a background task of the queue, which lives while there is a deadline to come. Where the
// queue has no thread for that, deadlines are noticed by CheckNow. Requests are linked without an allocation.
class DeadlineWatcher {
 public:
  using Clock = RequestContext::Clock;

  explicit DeadlineWatcher(WorkQueue& queue) : queue_(queue) {}
  // Waits for the background task to end. Every request has been forgotten.
  ~DeadlineWatcher();

  // Calls `request.CheckActive()` soon after its deadline, unless Forget is called before.
  void Watch(RequestContext& request);
  // Waits while another thread is checking the request; the checking thread itself may drop its last reference.
  void Forget(RequestContext& request);
  // Ends the requests whose deadline has passed, unless another thread is at it. Returns the next deadline that nobody
  // watches; the maximum if there is none.
  Clock::time_point CheckNow();

 private:
  void Loop();
  void CheckExpired(std::unique_lock<std::mutex>& lock);
  void UnlinkLocked(RequestContext& request);

  WorkQueue& queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // In order of their deadlines.
  RequestContext* first_ = nullptr;
  RequestContext* last_ = nullptr;
  RequestContext* checking_ = nullptr;
  std::thread::id checker_;
  bool watching_ = false;
  bool stop_ = false;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_DEADLINE_WATCHER_H_
