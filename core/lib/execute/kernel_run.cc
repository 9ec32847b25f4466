// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What running kernels ask: has anybody cancelled, and must the results be exact?

#include "tandem/kernel_run.h"

#include "base/this_thread.h"
#include "execute/pending_ops.h"
#include "tandem/host_context.h"

namespace tandem {

constinit std::atomic<int> KernelRun::num_exact_hosts_{0};

KernelRun::KernelRun(const ExecutionContext& exec)
    : exec_(exec), before_(internal::this_thread.run), epoch_(exec.host().pending_ops().epoch()) {
  internal::this_thread.run = this;
}

KernelRun::~KernelRun() { internal::this_thread.run = before_; }

bool KernelRun::IsStopped() {
  KernelRun* const run = internal::this_thread.run;
  return run != nullptr && run->Poll();
}

bool KernelRun::IsOfExactHost() {
  const KernelRun* const run = internal::this_thread.run;
  return run != nullptr && run->exec_.host().is_exact();
}

HostAllocator* KernelRun::Allocator() {
  const KernelRun* const run = internal::this_thread.run;
  return run == nullptr ? nullptr : &run->exec_.host().allocator();
}

bool KernelRun::Poll() {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  HostContext& host = exec_.host();
  const RequestContext* const request = exec_.request();
  const bool is_wanted = !host.IsCancelled() && host.pending_ops().epoch() == epoch_ &&
                         (request == nullptr || !request->IsOver()) && host.MayGoOn();
  if (is_wanted) return false;
  stopped_.store(true, std::memory_order_relaxed);
  return true;
}

Status KernelRun::Reason() const {
  TANDEM_RETURN_IF_ERROR(exec_.CheckActive());
  // By the host, which has been restarted since, or which may not go on.
  return Status::Error(StatusCode::kCancelled, "cancelled while it ran");
}

}  // namespace tandem
