// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DeadlineWatcher: ends requests whose deadline passes while their ops are pending.

#ifndef TANDEM_CORE_LIB_DEADLINE_WATCHER_H_
#define TANDEM_CORE_LIB_DEADLINE_WATCHER_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "tandem/request_context.h"
#include "tandem/work_queue.h"

namespace tandem {

// Thread-safe. Watches from a blocking task of the queue, which lives while there is a deadline to come. Where the
// queue has no thread for that, deadlines are noticed by CheckNow.
class DeadlineWatcher {
 public:
  explicit DeadlineWatcher(WorkQueue& queue) : queue_(queue) {}
  // Forgets all deadlines and waits for the blocking task to end.
  ~DeadlineWatcher();

  // Calls `request.CheckActive()` soon after its deadline, unless Forget is called before.
  void Watch(RequestContext& request);
  // Waits while another thread is checking the request; the checking thread itself may drop its last reference.
  void Forget(RequestContext& request);
  void CheckNow();

 private:
  using Clock = RequestContext::Clock;
  void Loop();
  void CheckExpired(std::unique_lock<std::mutex>& lock);

  WorkQueue& queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, RequestContext*> deadlines_;
  RequestContext* checking_ = nullptr;
  std::thread::id checker_;
  bool watching_ = false;
  bool stop_ = false;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_DEADLINE_WATCHER_H_
