// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// WorkQueue: where work runs that is too long for the calling thread.

#ifndef TANDEM_WORK_QUEUE_H_
#define TANDEM_WORK_QUEUE_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/export.h"
#include "tandem/status.h"

namespace tandem {

// Whether a program of this build may have threads.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

// Up to which cost, about nanoseconds, work counts as short: a thread that must not be kept for long may run it, in a
// fourth of a frame of 60 a second.
inline constexpr int64_t kShortCost = 4'000'000;

// A unit of work that is linked into the queue without an allocation. It must stay alive until Run is called, which
// may free it.
class TANDEM_EXPORT Task {
 public:
  virtual void Run() = 0;
  // Whether a thread that must not be kept for long may run it, too (see kShortCost).
  bool is_short() const { return is_short_; }

 protected:
  ~Task() = default;
  // Before it is added to a queue.
  void set_short(bool is_short) { is_short_ = is_short; }

 private:
  friend class TaskList;
  Task* next_ = nullptr;
  bool is_short_ = false;
};

// First-in, first-out list of tasks; not thread-safe.
class TaskList {
 public:
  bool empty() const { return head_ == nullptr; }
  const Task* front() const { return head_; }
  void PushBack(Task& task) {
    task.next_ = nullptr;
    (tail_ == nullptr ? head_ : tail_->next_) = &task;
    tail_ = &task;
  }
  Task* PopFront() {
    Task* task = head_;
    if (task != nullptr) {
      head_ = task->next_;
      if (head_ == nullptr) tail_ = nullptr;
    }
    return task;
  }

 private:
  Task* head_ = nullptr;
  Task* tail_ = nullptr;
};

// All methods may be called from any thread, tasks included, unless they say otherwise. The destructor quiesces; it
// must not run in a task of the queue.
class TANDEM_EXPORT WorkQueue {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  virtual ~WorkQueue() = default;

  // Runs `task` some time later on a worker. Tasks must not block other than by Await.
  virtual void AddTask(Task& task) = 0;
  // The same for a callable. It runs at once, on the calling thread, if no memory can be had to keep it.
  template <std::invocable F>
  void AddTask(F&& fn);

  // The same for a part of a kernel's work, which calls nobody's code but the kernel's and waits for nothing: a thread
  // that waits in Await may run it as well.
  virtual void AddHelpingTask(Task& task) { AddTask(task); }

  // Runs `fn`, which may block (file or network input, waiting for a timer), apart from the workers. False if this
  // queue has no threads for that or cannot get one; `fn` was then not run.
  [[nodiscard]] virtual bool AddBlockingTask(std::function<void()> fn) = 0;
  // The same for work that goes on until its owner ends it, before the queue is destroyed: Quiesce does not wait for
  // it.
  [[nodiscard]] virtual bool AddBackgroundTask(std::function<void()>) { return false; }

  // Returns when all values are available (AV-7), errors included; the caller holds references to them. Queued tasks
  // run meanwhile even if this thread is the only worker: another thread stands in for it, or it runs them itself where
  // no thread can be had. FailedPrecondition if this thread can neither wait nor make progress (a browser's main
  // thread); DeadlineExceeded past `deadline`.
  virtual Status Await(std::span<const AsyncValue* const> values, Deadline deadline = Deadline::max()) = 0;

  // Returns when no task is queued or running, blocking ones included. Inside a task, that task and others that are
  // inside Quiesce do not count.
  virtual void Quiesce() = 0;

  // Runs one queued task on the calling thread; false if none was queued. For helping, and for event loops.
  virtual bool RunOneTask() = 0;

  // For a thread that must not be made to wait and holds no locks, before it goes on to something else: runs short
  // tasks, those of kernels among them, until `value` is available, there is none left and comes none within some ten
  // microseconds, or `until` has passed. Whether the value is available.
  // By default nobody helps.
  virtual bool HelpWith(const AsyncValue& value, Deadline until);

  // How many tasks can run at the same time; at least 1.
  virtual int ParallelismLevel() const = 0;
  // Whether a thread is looking for tasks right now, so that to share work with it costs a microsecond rather than a
  // wake-up, which takes some ten: smaller parts of a kernel's work are then worth it.
  virtual bool HasReadyHelper() const { return false; }
  // The same for a kernel of ten microseconds or more that would share its work with such a thread. Where there is none
  // and kernels keep asking, one is woken for those that come next.
  virtual bool RequestHelper() { return HasReadyHelper(); }
  // A short kernel had to wait for its helpers so long that its caller would have done it sooner alone: other programs
  // want the cores, too.
  virtual void ReportLateHelper() {}
  // Whether a thread other than the workers has lately added tasks and not awaited anything since, so that it may be
  // about to add more.
  virtual bool IsBeingCalled() const { return false; }
  // Whether the calling thread is one of this queue's workers; in a single-threaded queue, whether it is in a task.
  virtual bool IsWorkerThread() const = 0;
  // Whether a non-worker thread may be made to wait (false on a browser's main thread).
  virtual bool MayBlock() const = 0;
};

// What Await does on a thread that must not wait: ok, or FailedPrecondition if a value is pending.
TANDEM_EXPORT Status CheckAvailable(std::span<const AsyncValue* const> values);

// A queue that runs its tasks inside Await, Quiesce and RunOneTask on whatever thread calls these. With `may_block`
// false, Await fails where it would have to wait for something that no queued task brings about.
TANDEM_EXPORT std::unique_ptr<WorkQueue> CreateSingleThreadedWorkQueue(bool may_block = true);

// Workers on Eigen's work-stealing thread pool. `num_threads` <= 0 means one per core; there are fewer if the system
// gives no more. If it gives none the queue is a single-threaded one; so it is where a program cannot have threads
// (WebAssembly built without them), with `may_block` false, since what that would wait for can never come.
TANDEM_EXPORT std::unique_ptr<WorkQueue> CreateMultiThreadedWorkQueue(int num_threads = 0);

// What AddTask makes of a callable.
namespace internal {
template <typename F>
class CallableTask final : public Task {
 public:
  explicit CallableTask(F fn) : fn_(std::move(fn)) {}
  void Run() override {
    F fn = std::move(fn_);
    delete this;
    fn();
  }

 private:
  F fn_;
};
}  // namespace internal

template <std::invocable F>
void WorkQueue::AddTask(F&& fn) {
  using Callable = internal::CallableTask<std::remove_cvref_t<F>>;
  if (auto* task = new (std::nothrow) Callable(std::forward<F>(fn))) {
    AddTask(static_cast<Task&>(*task));
  } else {
    std::forward<F>(fn)();
  }
}

}  // namespace tandem

#endif  // TANDEM_WORK_QUEUE_H_
