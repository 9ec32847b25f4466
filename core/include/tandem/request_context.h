// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RequestContext: a group of op calls that can be cancelled, and given a deadline, together.

#ifndef TANDEM_REQUEST_CONTEXT_H_
#define TANDEM_REQUEST_CONTEXT_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>

#include "tandem/export.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"

namespace tandem {

class HostContext;

// Thread-safe. The host must outlive it.
class TANDEM_EXPORT RequestContext : public RefCounted<RequestContext> {
 public:
  using Clock = std::chrono::steady_clock;

  // What a request has from the start.
  struct Options {
    Clock::time_point deadline = Clock::time_point::max();
    std::shared_ptr<void> data;  // whatever the request carries along; kernels find it by `data()`
  };
  // Where the queue has threads for it, a pending op fails at the deadline; elsewhere when the queue is next run.
  static StatusOr<RcRef<RequestContext>> Create(HostContext& host, Options options);

  // Makes the outputs of this request's pending ops Cancelled errors at once and of its later ops immediately (CA-3).
  // The first reason counts.
  void Cancel(std::string_view reason);

  // Ok, or why no more ops of this request run: cancelled or past its deadline. Long kernels poll this (CA-4).
  Status CheckActive();
  // The same without looking at the time: ends nothing.
  Status CheckNotEnded() const;
  // Whether CheckActive would give an error; ends nothing.
  bool IsOver() const {
    return ended_.load(std::memory_order_acquire) ||
           (deadline() != Clock::time_point::max() && Clock::now() >= deadline());
  }

  HostContext& host() const { return host_; }
  void* data() const { return options_.data.get(); }
  Clock::time_point deadline() const { return options_.deadline; }

 private:
  friend class RefCounted<RequestContext>;
  friend class DeadlineWatcher;
  RequestContext(HostContext& host, Options options) : host_(host), options_(std::move(options)) {}
  ~RequestContext();
  // Sets the reason if there is none yet and cancels the pending ops.
  Status End(Status reason);

  HostContext& host_;
  const Options options_;
  std::atomic<bool> ended_{false};
  mutable std::mutex mutex_;
  Status reason_;

  // Of the DeadlineWatcher.
  bool is_watched_ = false;
  RequestContext* earlier_ = nullptr;
  RequestContext* later_ = nullptr;
};

}  // namespace tandem

#endif  // TANDEM_REQUEST_CONTEXT_H_
