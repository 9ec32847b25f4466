// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The work queue without threads of its own: tasks run in the calls that wait for something.

#include <chrono>
#include <mutex>

#include "async/waiting.h"
#include "base/this_thread.h"
#include "tandem/work_queue.h"

namespace tandem {

namespace {

using internal::AwaitEvent;
using Outcome = AwaitEvent::Outcome;

bool IsPast(WorkQueue::Deadline deadline) {
  return deadline != WorkQueue::Deadline::max() && std::chrono::steady_clock::now() >= deadline;
}

class SingleThreadedWorkQueue final : public WorkQueue {
 public:
  explicit SingleThreadedWorkQueue(bool may_block) : may_block_(may_block) {}
  ~SingleThreadedWorkQueue() override { Quiesce(); }

  using WorkQueue::AddTask;
  void AddTask(Task& task) override;
  bool AddBlockingTask(std::function<void()>) override { return false; }
  Status Await(std::span<const AsyncValue* const> values, Deadline deadline) override;
  void Quiesce() override;
  bool RunOneTask() override { return RunTask(/*only_short=*/false); }
  bool HelpWith(const AsyncValue& value, Deadline until) override;
  int ParallelismLevel() const override { return 1; }
  bool IsWorkerThread() const override;
  bool MayBlock() const override { return may_block_; }

 private:
  bool RunTask(bool only_short);
  Status AwaitWithoutBlocking(const AsyncValue& value, Deadline deadline);
  Outcome Sleep(AwaitEvent& event, Deadline deadline);
  bool HasTask();

  const bool may_block_;
  internal::TaskCount count_{this};
  internal::SleeperList sleepers_;
  std::mutex mutex_;
  TaskList tasks_;
};

void SingleThreadedWorkQueue::AddTask(Task& task) {
  count_.Add();
  {
    std::lock_guard lock(mutex_);
    tasks_.PushBack(task);
  }
  // Whoever goes to sleep joins the sleepers first and looks at the tasks then.
  sleepers_.CallOne();
}

// The first one in the queue, if it is to be run.
bool SingleThreadedWorkQueue::RunTask(bool only_short) {
  Task* task;
  {
    std::lock_guard lock(mutex_);
    if (only_short && (tasks_.empty() || !tasks_.front()->is_short())) return false;
    task = tasks_.PopFront();
  }
  if (task == nullptr) return false;
  {
    internal::TaskScope scope(this);
    task->Run();
  }
  count_.Finish();
  return true;
}

bool SingleThreadedWorkQueue::HelpWith(const AsyncValue& value, Deadline until) {
  while (!value.IsAvailable() && !IsPast(until) && RunTask(/*only_short=*/true)) ContinuationGuard::RunDeferred();
  return value.IsAvailable();
}

bool SingleThreadedWorkQueue::HasTask() {
  std::lock_guard lock(mutex_);
  return !tasks_.empty();
}

Outcome SingleThreadedWorkQueue::Sleep(AwaitEvent& event, Deadline deadline) {
  Outcome outcome = Outcome::kCalled;
  while (outcome == Outcome::kCalled) {
    // Continuations that this thread has put off may be what it is about to wait for.
    ContinuationGuard::RunDeferred();
    if (event.HasEnded() || IsPast(deadline)) {
      outcome = event.Wait(deadline);
    } else if (!RunOneTask()) {
      sleepers_.Push(event);
      if (!HasTask()) outcome = event.Wait(deadline);
      sleepers_.Remove(event);
    }
  }
  // A call that came too late for this thread goes to the next one.
  if (HasTask()) sleepers_.CallOne();
  return outcome;
}

Status SingleThreadedWorkQueue::AwaitWithoutBlocking(const AsyncValue& value, Deadline deadline) {
  while (!value.IsAvailable()) {
    ContinuationGuard::RunDeferred();
    if (IsPast(deadline)) {
      return MakeError(StatusCode::kDeadlineExceeded, "the awaited value is still pending at the deadline");
    }
    if (!RunOneTask() && !value.IsAvailable()) {
      return FailedPrecondition(
          "expected a value that queued tasks make available, but it is still pending and this thread must not block: "
          "await its promise instead");
    }
  }
  return Status();
}

Status SingleThreadedWorkQueue::Await(std::span<const AsyncValue* const> values, Deadline deadline) {
  if (may_block_) {
    return internal::AwaitEach(values, deadline,
                               [this](AwaitEvent& event, Deadline until) { return Sleep(event, until); });
  }
  for (const AsyncValue* value : values) TANDEM_RETURN_IF_ERROR(AwaitWithoutBlocking(*value, deadline));
  return Status();
}

void SingleThreadedWorkQueue::Quiesce() {
  count_.WaitForNone([this](AwaitEvent& event) {
    if (may_block_) {
      Sleep(event, Deadline::max());
      return;
    }
    // Only tasks that another thread took by RunOneTask can be missing when none is queued: they end soon.
    while (!event.HasEnded()) {
      ContinuationGuard::RunDeferred();
      RunOneTask();
    }
  });
}

bool SingleThreadedWorkQueue::IsWorkerThread() const {
  for (const internal::TaskFrame* frame = internal::this_thread.top_task; frame != nullptr; frame = frame->below) {
    if (frame->queue == this) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<WorkQueue> CreateSingleThreadedWorkQueue(bool may_block) {
  return std::make_unique<SingleThreadedWorkQueue>(may_block);
}

}  // namespace tandem
