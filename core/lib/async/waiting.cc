// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Waiting for values, for calls to help and for the end of all tasks.

#include "async/waiting.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/this_thread.h"

namespace tandem::internal {

using Outcome = AwaitEvent::Outcome;

AwaitEvent* AwaitEvent::NewShared() {
  auto* event = new (std::nothrow) AwaitEvent;
  if (event != nullptr) event->holders_ = 2;
  return event;
}

bool SpinWait::Pause() {
  constexpr int kPausesALook = 32;  // at the clock, which costs as much as a pause
  if (num_pauses_++ % kPausesALook == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (num_pauses_ == 1) until_ = now + most_;
    if (now >= until_) {
      --num_pauses_;  // the next one looks again, and finds the same
      return false;
    }
  }
  internal::Pause();
  return true;
}

void AwaitEvent::Release() {
  mutex_.lock();
  const bool last = --holders_ == 0;
  mutex_.unlock();
  if (last) delete this;
}

void AwaitEvent::End(Outcome outcome) {
  mutex_.lock();
  outcome_.store(outcome, std::memory_order_release);
  // Under the lock: an event on the stack may be gone as soon as it is released.
  changed_.notify_one();
  const bool last = holders_ > 0 && --holders_ == 0;
  mutex_.unlock();
  if (last) delete this;
}

void AwaitEvent::Call() {
  std::lock_guard lock(mutex_);
  called_ = true;
  changed_.notify_one();
}

Outcome AwaitEvent::Wait(WorkQueue::Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto awake = [this] { return HasEnded() || called_; };
  if (deadline == WorkQueue::Deadline::max()) {
    changed_.wait(lock, awake);
  } else {
    changed_.wait_until(lock, deadline, awake);
  }
  if (HasEnded()) return outcome_;
  return std::exchange(called_, false) ? Outcome::kCalled : Outcome::kDeadline;
}

void SleeperList::Push(AwaitEvent& event) {
  std::lock_guard lock(mutex_);
  event.listed_ = true;
  event.previous_sleeper_ = last_;
  event.next_sleeper_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_sleeper_) = &event;
  last_ = &event;
}

bool SleeperList::Remove(AwaitEvent& event) {
  std::lock_guard lock(mutex_);
  if (!std::exchange(event.listed_, false)) return false;
  (event.previous_sleeper_ == nullptr ? first_ : event.previous_sleeper_->next_sleeper_) = event.next_sleeper_;
  (event.next_sleeper_ == nullptr ? last_ : event.next_sleeper_->previous_sleeper_) = event.previous_sleeper_;
  return true;
}

bool SleeperList::CallOne() {
  std::lock_guard lock(mutex_);
  AwaitEvent* event = first_;
  if (event == nullptr) return false;
  first_ = event->next_sleeper_;
  (first_ == nullptr ? last_ : first_->previous_sleeper_) = nullptr;
  event->listed_ = false;
  // Under the lock: the sleeper takes it before it leaves, so the event lives until then.
  event->Call();
  return true;
}

void TaskCount::WaitForNone(FunctionRef<void(AwaitEvent&)> sleep) {
  // The tasks under this call on the stack cannot end before it does. A call further down has marked its own.
  int own_tasks = 0;
  TaskFrame* const top = this_thread.top_task;
  TaskFrame* marked_until = top;
  AwaitEvent event;
  for (; marked_until != nullptr; marked_until = marked_until->below) {
    if (marked_until->queue != queue_) continue;
    event.is_in_task_ = true;
    if (marked_until->waits_for_all) break;
    marked_until->waits_for_all = true;
    ++own_tasks;
  }
  {
    std::lock_guard lock(mutex_);
    waiting_tasks_ += own_tasks;
    event.next_quiescer_ = quiescer_list_;
    quiescer_list_ = &event;
    quiescers_.fetch_add(1, std::memory_order_seq_cst);
    EndQuiesceIfDoneLocked();
  }
  sleep(event);
  {
    std::lock_guard lock(mutex_);
    waiting_tasks_ -= own_tasks;
    quiescers_.fetch_sub(1, std::memory_order_relaxed);
  }
  for (TaskFrame* frame = top; frame != marked_until; frame = frame->below) {
    if (frame->queue == queue_) frame->waits_for_all = false;
  }
}

void TaskCount::EndQuiesceIfDone() {
  std::lock_guard lock(mutex_);
  EndQuiesceIfDoneLocked();
}

// Tasks that wait here do not wait for each other; a thread outside waits for them, too.
void TaskCount::EndQuiesceIfDoneLocked() {
  const int unfinished = unfinished_.load(std::memory_order_seq_cst);
  if (unfinished != waiting_tasks_) return;
  AwaitEvent** link = &quiescer_list_;
  while (AwaitEvent* event = *link) {
    if (unfinished == 0 || event->is_in_task_) {
      *link = event->next_quiescer_;
      event->Run();
    } else {
      link = &event->next_quiescer_;
    }
  }
}

namespace {

Status ToStatus(Outcome outcome) {
  switch (outcome) {
    case Outcome::kReady:
      return Status();
    case Outcome::kDropped:
      return FailedPrecondition("expected the caller of await to hold a reference, but the value was destroyed");
    default:
      return MakeError(StatusCode::kDeadlineExceeded, "the awaited value is still pending at the deadline");
  }
}

// Without memory for an event that could be left behind, looks again every millisecond.
Status Poll(const AsyncValue& value, WorkQueue::Deadline deadline,
            FunctionRef<Outcome(AwaitEvent&, WorkQueue::Deadline)> sleep) {
  while (!value.IsAvailable()) {
    AwaitEvent never;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return ToStatus(Outcome::kDeadline);
    sleep(never, std::min(deadline, now + std::chrono::milliseconds(1)));
  }
  return Status();
}

}  // namespace

Status AwaitEach(std::span<const AsyncValue* const> values, WorkQueue::Deadline deadline,
                 FunctionRef<Outcome(AwaitEvent&, WorkQueue::Deadline)> sleep) {
  // From the back: what was started last is likely to end last, and the rest is then there without another sleep.
  for (size_t i = values.size(); i-- > 0;) {
    if (values[i]->IsAvailable()) continue;
    // To wait for a value does not change what others see of it.
    auto& value = const_cast<AsyncValue&>(*values[i]);
    if (deadline == WorkQueue::Deadline::max()) {
      AwaitEvent event;
      value.AndThen(event);
      TANDEM_RETURN_IF_ERROR(ToStatus(sleep(event, deadline)));
    } else if (AwaitEvent* event = AwaitEvent::NewShared()) {
      value.AndThen(*event);
      const Outcome outcome = sleep(*event, deadline);
      event->Release();
      TANDEM_RETURN_IF_ERROR(ToStatus(outcome));
    } else {
      TANDEM_RETURN_IF_ERROR(Poll(value, deadline, sleep));
    }
  }
  return Status();
}

}  // namespace tandem::internal

namespace tandem {

bool WorkQueue::HelpWith(const AsyncValue& value, Deadline) { return value.IsAvailable(); }

Status CheckAvailable(std::span<const AsyncValue* const> values) {
  for (const AsyncValue* value : values) {
    if (!value->IsAvailable()) {
      return FailedPrecondition(
          "expected a value that is available, but it is still pending and this thread must not block: await its "
          "promise instead");
    }
  }
  return Status();
}

}  // namespace tandem
