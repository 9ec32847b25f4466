// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The host: defaults, waiting, cancellation.

#include "tandem/host_context.h"

#include <algorithm>

#include "execute/deadline_watcher.h"
#include "execute/pending_ops.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_run.h"

namespace tandem {

namespace {
HostContext::Options WithDefaults(HostContext::Options options) {
  if (options.work_queue == nullptr) options.work_queue = CreateMultiThreadedWorkQueue();
  return options;
}
}  // namespace

Status ExecutionContext::CheckActive() const {
  TANDEM_RETURN_IF_ERROR(host_->CheckActive());
  return request_ ? request_->CheckActive() : Status();
}

WorkQueue& ExecutionContext::work_queue() const { return queue_ != nullptr ? *queue_ : host_->work_queue(); }

HostContext::HostDevice::HostDevice() : Device("cpu", kDenseHost) {}

StatusOr<Tensor> HostContext::HostDevice::AllocateDense(const TensorMetadata& metadata, const ExecutionContext& exec,
                                                        std::string_view) const {
  return tandem::AllocateDense(metadata, *this, exec.host().allocator());
}

HostContext::HostContext(Options options)
    : options_(WithDefaults(std::move(options))),
      inline_cost_limit_(options_.inline_cost_limit),
      allocator_(HostAllocator::Create(options_.allocator)),
      pending_ops_(std::make_unique<PendingOps>(
          PendingOps::Limits{options_.max_pending_ops, options_.max_pending_bytes, options_.stall_limit})),
      deadlines_(std::make_unique<DeadlineWatcher>(*options_.work_queue)) {
  // Fails only for a pair that is registered twice.
  static_cast<void>(RegisterHostConversions(conversions_));
  if (options_.exact) {
    attention_.store(kExactBit, std::memory_order_relaxed);
    KernelRun::num_exact_hosts_.fetch_add(1, std::memory_order_relaxed);
  }
}

HostContext::~HostContext() {
  Shutdown();
  if (is_exact()) KernelRun::num_exact_hosts_.fetch_sub(1, std::memory_order_relaxed);
  deadlines_.reset();
  options_.work_queue.reset();  // its tasks may still use what is destroyed below
}

void HostContext::SetTransferObserver(RcRef<TransferObserver> observer) {
  const std::lock_guard lock(observer_mutex_);
  has_transfer_observer_.store(static_cast<bool>(observer), std::memory_order_release);
  std::swap(transfer_observer_, observer);
}

RcRef<TransferObserver> HostContext::FindTransferObserver() const {
  if (!has_transfer_observer_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(observer_mutex_);
  return transfer_observer_;
}

Status HostContext::EmitError(Status error) const {
  if (options_.diagnostic_handler) options_.diagnostic_handler(error);
  return error;
}

Status HostContext::Await(std::span<const AsyncValue* const> values, WorkQueue::Deadline deadline) const {
  ContinuationGuard::RunDeferred();
  for (;;) {
    // A request whose deadline nobody watches may hold what is awaited: then this thread looks at the time.
    const WorkQueue::Deadline next = deadlines_->CheckNow();
    Status status = work_queue().Await(values, std::min(deadline, next));
    if (status.code() != StatusCode::kDeadlineExceeded || next >= deadline) return status;
  }
}

Status HostContext::Await(const TensorHandle& handle) const {
  if (!handle.IsValid()) return InvalidArgument("expected a tensor to wait for, got a null handle");
  const AsyncValue* value = handle.value().value();
  TANDEM_RETURN_IF_ERROR(Await({&value, 1}));
  return handle.IsError() ? handle.GetError() : Status();
}

void HostContext::CheckDeadlines() const { static_cast<void>(deadlines_->CheckNow()); }
int64_t HostContext::num_pending_ops() const { return pending_ops_->num_ops(); }

void HostContext::CancelExecution(std::string_view reason) { Cancel(reason, /*tell_in_any_case=*/true); }

void HostContext::Cancel(std::string_view reason, bool tell_in_any_case) {
  Status error;
  uint32_t epoch;
  bool is_new;
  {
    const std::lock_guard lock(cancel_mutex_);
    is_new = cancel_reason_.ok();
    if (is_new) cancel_reason_ = Status::Error(StatusCode::kCancelled, reason);
    error = cancel_reason_;
    epoch = pending_ops_->epoch();
    attention_.fetch_or(kCancelledBit, std::memory_order_seq_cst);
  }
  // Without the lock: the diagnostic handler may cancel, too.
  if (is_new && (tell_in_any_case || pending_ops_->num_ops() > 0)) static_cast<void>(EmitError(error));
  pending_ops_->CancelEpoch(error, epoch);
}

void HostContext::Shutdown() {
  // What nobody waits for is not worth an error.
  Cancel("the runtime is being destroyed", /*tell_in_any_case=*/false);
  // Other threads may be in the middle of an op that a value of theirs set going.
  pending_ops_->AwaitNone();
  Quiesce();
}

void HostContext::Restart() {
  const std::lock_guard lock(cancel_mutex_);
  if (!cancel_reason_.ok()) pending_ops_->BeginEpoch();
  cancel_reason_ = Status();
  attention_.fetch_and(~kCancelledBit, std::memory_order_seq_cst);
}

Status HostContext::CheckActive() const {
  if (!IsCancelled()) return Status();
  const std::lock_guard lock(cancel_mutex_);
  return cancel_reason_;
}

void HostContext::StartTracing() { attention_.fetch_or(kTracingBit, std::memory_order_relaxed); }
void HostContext::StopTracing() { attention_.fetch_and(~kTracingBit, std::memory_order_relaxed); }

}  // namespace tandem
