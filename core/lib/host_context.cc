// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The host: defaults, waiting, cancellation.

#include "tandem/host_context.h"

#include "deadline_watcher.h"
#include "pending_ops.h"
#include "tandem/host_tensors.h"

namespace tandem {

namespace {
HostContext::Options WithDefaults(HostContext::Options options) {
  if (options.work_queue == nullptr) {
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
    options.work_queue = CreateMultiThreadedWorkQueue();
#else
    options.work_queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
#endif
  }
  return options;
}
}  // namespace

WorkQueue& ExecutionContext::work_queue() const { return queue_ != nullptr ? *queue_ : host_->work_queue(); }

HostContext::HostContext(Options options)
    : options_(WithDefaults(std::move(options))),
      allocator_(HostAllocator::Create(options_.allocator)),
      device_("cpu", kDenseHost),
      pending_ops_(std::make_unique<PendingOps>(options_.max_pending_ops, options_.max_pending_bytes)),
      deadlines_(std::make_unique<DeadlineWatcher>(*options_.work_queue)) {
  // Fails only for a pair that is registered twice.
  static_cast<void>(RegisterHostConversions(conversions_));
}

HostContext::~HostContext() {
  CancelExecution("the runtime is being destroyed");
  Quiesce();
  deadlines_.reset();
  options_.work_queue.reset();  // its tasks may still use what is destroyed below
}

Status HostContext::EmitError(Status error) const {
  if (options_.diagnostic_handler) options_.diagnostic_handler(error);
  return error;
}

Status HostContext::Await(std::span<const AsyncValue* const> values, WorkQueue::Deadline deadline) const {
  ContinuationGuard::RunDeferred();
  deadlines_->CheckNow();
  return work_queue().Await(values, deadline);
}

Status HostContext::Await(const TensorHandle& handle) const {
  if (!handle.IsValid()) return InvalidArgument("expected a tensor to wait for, got a null handle");
  const AsyncValue* value = handle.value().value();
  TANDEM_RETURN_IF_ERROR(Await({&value, 1}));
  return handle.IsError() ? handle.GetError() : Status();
}

void HostContext::CancelExecution(std::string_view reason) {
  Status error;
  {
    const std::lock_guard lock(cancel_mutex_);
    if (cancel_reason_.ok()) cancel_reason_ = EmitError(Status::Error(StatusCode::kCancelled, reason));
    error = cancel_reason_;
    attention_.fetch_or(kCancelledBit, std::memory_order_seq_cst);
  }
  pending_ops_->Cancel(error, nullptr);
}

void HostContext::Restart() {
  const std::lock_guard lock(cancel_mutex_);
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
