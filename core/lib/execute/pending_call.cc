// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The states of a pending call (EX-8, EX-11, CA-2).

#include "execute/pending_call.h"

#include <utility>

#include "tandem/host_context.h"

namespace tandem {

PendingCall::PendingCall(const ExecutionContext& exec, std::string_view name)
    : pending_(exec.host().pending_ops()), name_(name), location_(exec.location()), exec_(exec) {}

Status PendingCall::Tell(const Status& error) const {
  return exec_.host().EmitError(error.WithContext(name_, location_));
}

void PendingCall::Start(int64_t bytes, bool is_silent) {
  const Progress::Scope scope(pending_.progress());
  bytes_ = bytes;
  if (const Status active = pending_.Add(*this, exec_); !active.ok()) {
    return Fail(is_silent ? active.WithContext(name_, location_) : Tell(active));
  }
  Advance();
}

void PendingCall::Run() {
  if (!Move(State::kWaiting, State::kAdvancing)) return DropRef();
  const Progress::Scope scope(pending_.progress());
  is_continuation_ = !is_queued_;
  if (is_continuation_) return Advance();
  EndElsewhere();
  if (!exec_.host().MayBegin(bytes_)) return Enqueue();
  if (TryBegin()) RunQueued();
}

void PendingCall::WaitFor(AsyncValue* value) {
  // Once the call is in kWaiting, cancellation may drop its inputs, so this thread needs a reference of its own.
  const RcRef<AsyncValue> awaited = RcRef<AsyncValue>::Share(value);
  if (!Move(State::kAdvancing, State::kWaiting)) return Fail(cancel_reason_);
  awaited->AndThen(*this);
}

void PendingCall::Enqueue() {
  is_queued_ = true;
  BeginElsewhere();
  // Once the call is in kWaiting it may be cancelled, and with it the host gone before the queue has taken the task.
  PendingOps& pending = pending_;
  WorkQueue& queue = exec_.work_queue();
  pending.Hold();
  if (Move(State::kAdvancing, State::kWaiting)) {
    queue.AddTask(static_cast<Task&>(*this));
  } else {
    Fail(cancel_reason_);
  }
  pending.Release(0);
}

bool PendingCall::TryBegin() {
  if (Move(State::kAdvancing, State::kStarted)) return true;
  Fail(cancel_reason_);
  return false;
}

bool PendingCall::TryClaim() {
  if (!Move(State::kWaiting, State::kAdvancing)) return false;
  AddRef();
  return true;
}

void PendingCall::Unclaim() {
  if (!Move(State::kAdvancing, State::kWaiting)) return Fail(cancel_reason_);
  DropRef();
}

void PendingCall::Cancel(const Status& reason) {
  cancel_reason_ = reason.WithContext(name_, location_);
  for (State state = state_.load(std::memory_order_acquire); state == State::kWaiting || state == State::kAdvancing;) {
    const State next = state == State::kWaiting ? State::kDone : State::kCancelRequested;
    if (!state_.compare_exchange_weak(state, next, std::memory_order_acq_rel)) continue;
    if (next == State::kDone) {
      const Progress::Scope scope(pending_.progress());
      AddRef();
      Fail(cancel_reason_);
    }
    return;
  }
}

void PendingCall::Fail(const Status& error) {
  const Status reason = error;  // may be a member, or belong to an input
  DropInputs();
  Leave();
  SetError(reason);
  DropRef();
}

void PendingCall::Leave() {
  state_.store(State::kDone, std::memory_order_release);
  pending_.Remove(*this);
  // The call may stay in the list of a value that comes much later; it keeps no request alive until then.
  exec_ = ExecutionContext(exec_.host(), location_);
  Progress& progress = pending_.progress();
  const bool was_elsewhere = std::exchange(is_elsewhere_, false);
  pending_.Release(bytes_);
  if (was_elsewhere) progress.End(Progress::kElsewhere);
}

void PendingCall::BeginElsewhere() {
  if (!std::exchange(is_elsewhere_, true)) pending_.progress().Begin(Progress::kElsewhere);
}

void PendingCall::EndElsewhere() {
  if (std::exchange(is_elsewhere_, false)) pending_.progress().End(Progress::kElsewhere);
}

}  // namespace tandem
