// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Requests: cancelled by their owner, or by time.

#include "tandem/request_context.h"

#include "execute/deadline_watcher.h"
#include "execute/pending_ops.h"
#include "tandem/host_context.h"

namespace tandem {

StatusOr<RcRef<RequestContext>> RequestContext::Create(HostContext& host, Options options) {
  auto request = RcRef<RequestContext>::Take(new (std::nothrow) RequestContext(host, std::move(options)));
  if (!request) return Status::OutOfMemory();
  if (request->deadline() != Clock::time_point::max()) host.deadlines().Watch(*request);
  return request;
}

RequestContext::~RequestContext() {
  if (deadline() != Clock::time_point::max()) host_.deadlines().Forget(*this);
}

void RequestContext::Cancel(std::string_view reason) {
  static_cast<void>(End(Status::Error(StatusCode::kCancelled, reason)));
}

Status RequestContext::CheckActive() {
  if (ended_.load(std::memory_order_acquire)) return CheckNotEnded();
  if (deadline() == Clock::time_point::max() || Clock::now() < deadline()) return Status();
  return End(MakeError(StatusCode::kDeadlineExceeded, "the deadline of the request has passed"));
}

Status RequestContext::CheckNotEnded() const {
  if (!ended_.load(std::memory_order_acquire)) return Status();
  const std::lock_guard lock(mutex_);
  return reason_;
}

Status RequestContext::End(Status reason) {
  HostContext& host = host_;
  {
    const std::lock_guard lock(mutex_);
    if (!reason_.ok()) return reason_;
    reason_ = reason;
    ended_.store(true, std::memory_order_release);
  }
  // Without the lock: the diagnostic handler may ask for, or cancel, this same request.
  reason = host.EmitError(std::move(reason));
  // The last reference to this request may be one of its pending ops: nothing of it is used from here on.
  host.pending_ops().CancelRequest(reason, *this);
  return reason;
}

}  // namespace tandem
