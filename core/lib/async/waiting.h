// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How threads wait in a work queue: awake for a while (SpinWait), for a value (AwaitEvent), to be called to help
// (SleeperList), for all tasks to be done (TaskCount).

#ifndef TANDEM_CORE_LIB_ASYNC_WAITING_H_
#define TANDEM_CORE_LIB_ASYNC_WAITING_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>

#include "tandem/async_value.h"
#include "tandem/function_ref.h"
#include "tandem/status.h"
#include "tandem/work_queue.h"

namespace tandem::internal {

// A wait for something that is likely to come before a thread could be put to sleep and woken, each of which takes some
// ten microseconds.
class SpinWait {
 public:
  explicit SpinWait(std::chrono::microseconds most = std::chrono::microseconds(50)) : most_(most) {}

  // Waits a moment; false when it has waited for so long that the thread should rather sleep.
  bool Pause();

 private:
  std::chrono::microseconds most_;
  int num_pauses_ = 0;
  std::chrono::steady_clock::time_point until_;
};

// What one thread sleeps on. Ends once: by the value it was given to as a waiter, or by a call of Run.
class AwaitEvent final : public Waiter {
 public:
  enum class Outcome { kPending, kReady, kDropped, kCalled, kDeadline };

  // For the stack: the owner must not leave before the event has ended.
  AwaitEvent() = default;
  // For a waiting thread that may leave earlier: the thread and the value each hold it. Null if memory is exhausted.
  static AwaitEvent* NewShared();
  // Gives up the thread's hold of a shared event.
  void Release();

  void Run() override { End(Outcome::kReady); }
  void Drop() override { End(Outcome::kDropped); }

  // Makes Wait return kCalled, once.
  void Call();
  // Blocks. kReady or kDropped once the event has ended, kCalled after Call, kDeadline past `deadline`.
  Outcome Wait(WorkQueue::Deadline deadline);
  // Without the lock, which the caller takes, by Wait or as who waits for all tasks, before the event may go.
  bool HasEnded() const { return outcome_.load(std::memory_order_acquire) != Outcome::kPending; }

 private:
  friend class SleeperList;
  friend class TaskCount;
  void End(Outcome outcome);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<Outcome> outcome_{Outcome::kPending};  // changed under the lock
  bool called_ = false;
  int holders_ = 0;  // 0 for an event on the stack

  bool listed_ = false;  // guarded by the SleeperList
  AwaitEvent* previous_sleeper_ = nullptr;
  AwaitEvent* next_sleeper_ = nullptr;

  bool is_in_task_ = false;  // this and the next guarded by the TaskCount
  AwaitEvent* next_quiescer_ = nullptr;
};

// Threads asleep on an event that may be called to run tasks. Thread-safe.
class SleeperList {
 public:
  void Push(AwaitEvent& event);
  // False if the event was taken out by CallOne before.
  bool Remove(AwaitEvent& event);
  // Takes the longest sleeper out and calls it; false if there is none.
  bool CallOne();

 private:
  std::mutex mutex_;
  AwaitEvent* first_ = nullptr;
  AwaitEvent* last_ = nullptr;
};

// Counts tasks queued or running, and lets threads wait until there are none. Thread-safe.
class TaskCount {
 public:
  explicit TaskCount(const WorkQueue* queue) : queue_(queue) {}

  void Add() { unfinished_.fetch_add(1, std::memory_order_relaxed); }
  bool AnyUnfinished() const { return unfinished_.load(std::memory_order_relaxed) > 0; }
  void Finish() {
    unfinished_.fetch_sub(1, std::memory_order_seq_cst);
    if (quiescers_.load(std::memory_order_seq_cst) > 0) EndQuiesceIfDone();
  }
  // Calls `sleep` with an event that ends when no task is left but those that are waiting in here themselves.
  void WaitForNone(FunctionRef<void(AwaitEvent&)> sleep);

 private:
  void EndQuiesceIfDone();
  void EndQuiesceIfDoneLocked();

  const WorkQueue* const queue_;
  std::atomic<int> unfinished_{0};
  std::atomic<int> quiescers_{0};
  std::mutex mutex_;
  int waiting_tasks_ = 0;  // of the unfinished ones, those inside WaitForNone
  AwaitEvent* quiescer_list_ = nullptr;
};

// Awaits the values with `sleep`, which must return when its event has ended or the deadline has passed.
Status AwaitEach(std::span<const AsyncValue* const> values, WorkQueue::Deadline deadline,
                 FunctionRef<AwaitEvent::Outcome(AwaitEvent&, WorkQueue::Deadline)> sleep);

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_ASYNC_WAITING_H_
