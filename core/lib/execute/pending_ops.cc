// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Admission and cancellation of pending ops.

#include "execute/pending_ops.h"

#include <chrono>

#include "base/this_thread.h"
#include "execute/pending_call.h"
#include "tandem/host_context.h"
#include "tandem/request_context.h"

namespace tandem {

namespace {

// Whether this thread is running queued work to make room; ops that it issues meanwhile do not nest another such loop.
thread_local constinit bool makes_room = false;

// Runs queued work until `done`; false if none is left.
template <typename Done>
bool RunTasksUntil(WorkQueue& queue, Done done) {
  makes_room = true;
  bool is_done = false;
  while (!is_done && queue.RunOneTask()) {
    ContinuationGuard::RunDeferred();
    is_done = done();
  }
  makes_room = false;
  return is_done;
}

}  // namespace

int64_t PendingOps::CountBytes(std::span<const TensorMetadata> results) {
  constexpr uint64_t kMost = uint64_t{1} << 42;
  uint64_t bytes = 0;
  for (const TensorMetadata& result : results)
    bytes = std::min(kMost, bytes + std::min<uint64_t>(kMost, result.byte_size()));
  return static_cast<int64_t>(bytes);
}

bool PendingOps::TryAdmit(int64_t bytes, int64_t times_the_limit) {
  const int64_t ops_before = ops_.fetch_add(kOneOp, std::memory_order_relaxed) / kOneOp;
  const int64_t bytes_before = num_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (ops_before == 0 ||
      (ops_before / times_the_limit < limits_.max_ops && bytes_before / times_the_limit <= limits_.max_bytes - bytes)) {
    return true;
  }
  // Wakes nobody: that would only make others try as much in vain.
  num_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  ops_.fetch_sub(kOneOp, std::memory_order_relaxed);
  return false;
}

Status PendingOps::NoRoom(int64_t bytes, std::string_view reason) const {
  return ResourceExhausted("expected at most ", limits_.max_ops, " pending ops (max_pending_ops) and ",
                           limits_.max_bytes, " bytes of pending results (max_pending_bytes), got one more op with ",
                           bytes, " bytes", reason);
}

Status PendingOps::Admit(const ExecutionContext& exec, int64_t bytes) {
  if (TryAdmit(bytes)) [[likely]]
    return Status();
  WorkQueue& queue = exec.work_queue();
  // A continuation, an op, or work that is run to make room must leave the stack before others can go on: it does not
  // wait.
  const bool is_nested = makes_room || ContinuationGuard::IsInside() || Progress::Scope::IsInside();
  if (!is_nested) {
    ContinuationGuard::RunDeferred();
    if (RunTasksUntil(queue, [&] { return TryAdmit(bytes); })) return Status();
  }
  if (is_nested || queue.IsWorkerThread()) {
    if (TryAdmit(bytes, 2)) return Status();
  } else if (queue.MayBlock()) {
    return AwaitRoom(exec, bytes);
  }
  return NoRoom(bytes, "; await some results before issuing more");
}

Status PendingOps::AwaitRoom(const ExecutionContext& exec, int64_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kInterval(10);
  std::unique_lock lock(room_mutex_);
  BeginWaitLocked();
  Status result;
  uint64_t wakes = num_wakes_;
  Clock::time_point woken = Clock::now();
  for (int idle_looks = 0;;) {
    if (num_wakes_ != wakes) {
      wakes = num_wakes_;
      woken = Clock::now();
      idle_looks = 0;
    }
    lock.unlock();
    // Not under the lock: this may end the request, which then cancels its ops.
    result = exec.CheckActive();
    bool is_over = !result.ok() || TryAdmit(bytes) || RunTasksUntil(exec.work_queue(), [&] { return TryAdmit(bytes); });
    const Progress::State state = progress_.state();
    // Once more, since what has ended by now may have made room after the last try.
    is_over = is_over || (state == Progress::State::kNothing && TryAdmit(bytes));
    lock.lock();
    if (is_over) break;
    // Twice: between the waiters of a value that comes from outside, its thread runs none of them.
    idle_looks = state == Progress::State::kNothing && num_wakes_ == wakes ? idle_looks + 1 : 0;
    const bool is_stalled = state == Progress::State::kElsewhere && Clock::now() - woken >= limits_.stall;
    if (idle_looks == 2 || is_stalled) {
      result = NoRoom(bytes, is_stalled ? ", and work queues, devices and asynchronous kernels end none of the others"
                                        : ", and all others wait for values from outside: provide these first");
      break;
    }
    // Looks again now and then: time may end the request, and another thread may have queued work that only we run.
    room_.wait_for(lock, kInterval, [&] { return num_wakes_ != wakes; });
  }
  EndWaitLocked();
  return result;
}

void PendingOps::BeginWaitLocked() {
  if (num_waiting_++ == 0) ops_.fetch_or(kSomeoneWaits, std::memory_order_acq_rel);
}
void PendingOps::EndWaitLocked() {
  if (--num_waiting_ == 0) ops_.fetch_and(~kSomeoneWaits, std::memory_order_acq_rel);
}

void PendingOps::Release(int64_t bytes) {
  num_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  int64_t ops = ops_.load(std::memory_order_relaxed);
  while ((ops & kSomeoneWaits) == 0) {
    if (ops_.compare_exchange_weak(ops, ops - kOneOp, std::memory_order_acq_rel)) return;
  }
  // Who waits for the last op destroys this object, but not before the lock is free again.
  const std::lock_guard lock(room_mutex_);
  ops_.fetch_sub(kOneOp, std::memory_order_acq_rel);
  ++num_wakes_;
  room_.notify_all();
}

void PendingOps::WakeAll() {
  const std::lock_guard lock(room_mutex_);
  ++num_wakes_;
  room_.notify_all();
}

void PendingOps::AwaitLull(const WorkQueue& queue, std::chrono::nanoseconds moment) const {
  using Clock = std::chrono::steady_clock;
  constexpr int kMostMoments = 8;
  const Clock::time_point now = Clock::now();
  const Clock::time_point last = now + kMostMoments * moment;
  Clock::time_point until = now + moment;
  uint32_t seen = next_number_.load(std::memory_order_relaxed);
  while (queue.IsBeingCalled() && Clock::now() < until) {
    internal::Pause();
    const uint32_t number = next_number_.load(std::memory_order_relaxed);
    if (number == seen) continue;
    seen = number;
    until = std::min(last, Clock::now() + 2 * moment);
  }
}

void PendingOps::AwaitNone() {
  std::unique_lock lock(room_mutex_);
  BeginWaitLocked();
  room_.wait(lock, [this] { return ops_.load(std::memory_order_acquire) < kOneOp; });
  EndWaitLocked();
}

Status PendingOps::Add(PendingCall& call, const ExecutionContext& exec) {
  call.number_ = next_number_.fetch_add(1, std::memory_order_relaxed);
  Shard& shard = shards_[call.number_ % kNumShards];
  const std::lock_guard lock(shard.mutex);
  call.epoch_ = epoch();
  // Cancelling first says so and then takes each shard's lock: either it finds this op, or this call sees the reason.
  // Deadlines are left to others, since to end a request takes these locks, too.
  TANDEM_RETURN_IF_ERROR(exec.host().CheckActive());
  if (exec.request() != nullptr) TANDEM_RETURN_IF_ERROR(exec.request()->CheckNotEnded());
  call.previous_ = nullptr;
  call.next_ = shard.first;
  if (shard.first != nullptr) shard.first->previous_ = &call;
  shard.first = &call;
  call.linked_ = true;
  return Status();
}

void PendingOps::Remove(PendingCall& call) {
  Shard& shard = shards_[call.number_ % kNumShards];
  const std::lock_guard lock(shard.mutex);
  if (!call.linked_) return;
  call.linked_ = false;
  (call.previous_ == nullptr ? shard.first : call.previous_->next_) = call.next_;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
}

void PendingOps::Cancel(const Status& reason, const RequestContext* request, uint32_t epoch) {
  for (Shard& shard : shards_) {
    PendingCall* cancelled = nullptr;
    {
      const std::lock_guard lock(shard.mutex);
      for (PendingCall* call = shard.first; call != nullptr;) {
        PendingCall* next = call->next_;
        // Epochs may wrap around.
        if (request != nullptr ? call->exec_.request() == request : static_cast<int32_t>(epoch - call->epoch_) >= 0) {
          (call->previous_ == nullptr ? shard.first : call->previous_->next_) = next;
          if (next != nullptr) next->previous_ = call->previous_;
          call->linked_ = false;
          call->AddRef();
          call->next_cancelled_ = cancelled;
          cancelled = call;
        }
        call = next;
      }
    }
    // Outside the lock: continuations of the outputs may issue and end ops.
    while (cancelled != nullptr) {
      PendingCall* call = cancelled;
      cancelled = call->next_cancelled_;
      call->Cancel(reason);
      call->DropRef();
    }
  }
  WakeAll();
}

}  // namespace tandem
