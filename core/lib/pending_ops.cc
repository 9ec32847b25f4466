// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Admission and cancellation of pending ops.

#include "pending_ops.h"

#include "tandem/host_context.h"

namespace tandem {

namespace {
// The reason not to run anything for this call, or ok.
Status CheckCallActive(const ExecutionContext& exec) {
  TANDEM_RETURN_IF_ERROR(exec.host().CheckActive());
  return exec.request() == nullptr ? Status() : exec.request()->CheckActive();
}
}  // namespace

bool PendingOps::TryAdmit(int64_t bytes) {
  const int64_t ops_before = num_ops_.fetch_add(1, std::memory_order_relaxed);
  const int64_t bytes_before = num_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (ops_before == 0 || (ops_before < max_ops_ && bytes <= max_bytes_ - bytes_before)) return true;
  num_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  num_ops_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

Status PendingOps::Admit(const ExecutionContext& exec, int64_t bytes) {
  if (TryAdmit(bytes)) [[likely]] return Status();
  WorkQueue& queue = exec.work_queue();
  ContinuationGuard::RunDeferred();
  // Running queued work here makes room without anybody's help.
  while (queue.RunOneTask()) {
    if (TryAdmit(bytes)) return Status();
  }
  if (queue.IsWorkerThread()) {
    // A worker must not wait for other workers. The overshoot is bounded: one op a worker.
    num_ops_.fetch_add(1, std::memory_order_relaxed);
    num_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return Status();
  }
  if (!queue.MayBlock()) {
    return ResourceExhausted("expected at most ", max_ops_, " pending ops and ", max_bytes_,
                             " bytes of pending results, got one more op with ", bytes,
                             " bytes; await some results before issuing more");
  }
  std::unique_lock lock(room_mutex_);
  num_waiting_.fetch_add(1, std::memory_order_seq_cst);
  Status active;
  while (!TryAdmit(bytes)) {
    active = CheckCallActive(exec);
    if (!active.ok()) break;
    // Wakes now and then: another thread may have queued work on a queue that nobody runs but us.
    room_.wait_for(lock, std::chrono::milliseconds(10));
    lock.unlock();
    while (queue.RunOneTask()) {
    }
    lock.lock();
  }
  num_waiting_.fetch_sub(1, std::memory_order_relaxed);
  return active;
}

void PendingOps::Release(int64_t bytes) {
  num_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  num_ops_.fetch_sub(1, std::memory_order_seq_cst);
  if (num_waiting_.load(std::memory_order_seq_cst) == 0) [[likely]] return;
  const std::lock_guard lock(room_mutex_);
  room_.notify_all();
}

Status PendingOps::Add(CancellableOp& op, const ExecutionContext& exec) {
  op.shard_ = next_shard_.fetch_add(1, std::memory_order_relaxed) % kNumShards;
  Shard& shard = shards_[op.shard_];
  const std::lock_guard lock(shard.mutex);
  // Cancelling first says so and then takes each shard's lock: either it finds this op, or this call sees the reason.
  TANDEM_RETURN_IF_ERROR(CheckCallActive(exec));
  op.previous_ = nullptr;
  op.next_ = shard.first;
  if (shard.first != nullptr) shard.first->previous_ = &op;
  shard.first = &op;
  op.linked_ = true;
  return Status();
}

void PendingOps::Remove(CancellableOp& op) {
  Shard& shard = shards_[op.shard_];
  const std::lock_guard lock(shard.mutex);
  if (!op.linked_) return;
  op.linked_ = false;
  (op.previous_ == nullptr ? shard.first : op.previous_->next_) = op.next_;
  if (op.next_ != nullptr) op.next_->previous_ = op.previous_;
}

void PendingOps::Cancel(const Status& reason, const RequestContext* request) {
  for (Shard& shard : shards_) {
    CancellableOp* cancelled = nullptr;
    {
      const std::lock_guard lock(shard.mutex);
      for (CancellableOp* op = shard.first; op != nullptr;) {
        CancellableOp* next = op->next_;
        if (request == nullptr || op->request() == request) {
          (op->previous_ == nullptr ? shard.first : op->previous_->next_) = next;
          if (next != nullptr) next->previous_ = op->previous_;
          op->linked_ = false;
          op->AddRef();
          op->next_cancelled_ = cancelled;
          cancelled = op;
        }
        op = next;
      }
    }
    // Outside the lock: continuations of the outputs may issue and end ops.
    while (cancelled != nullptr) {
      CancellableOp* op = cancelled;
      cancelled = op->next_cancelled_;
      op->Cancel(reason);
      op->DropRef();
    }
  }
  const std::lock_guard lock(room_mutex_);
  room_.notify_all();
}

}  // namespace tandem
