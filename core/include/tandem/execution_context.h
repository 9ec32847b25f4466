// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ExecutionContext: what one op call runs under: host, request, location, work queue; TransferObserver: who hears of
// the transfers that calls make.

#ifndef TANDEM_EXECUTION_CONTEXT_H_
#define TANDEM_EXECUTION_CONTEXT_H_

#include <string_view>

#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/ref_counted.h"
#include "tandem/request_context.h"

namespace tandem {

class HostContext;
class TensorHandle;
class WorkQueue;

// Hears of each "tandem.Transfer" that calls make under a context with it (TH-9): handlers over others give one to the
// calls they pass on. Any thread may call it.
class TANDEM_EXPORT TransferObserver : public RefCounted<TransferObserver> {
 public:
  virtual ~TransferObserver();
  // `result` is what `source` becomes; either may be pending, the result an error. `attrs` says from what to what, such
  // as "{from = dense_host on cpu, to = dense_gpu on vulkan}". Must not block.
  virtual void OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) = 0;

 private:
  friend class RefCounted<TransferObserver>;
  void Destroy() { delete this; }
};

// Cheap to make and copy. The host, and the queue if given, outlive it.
class TANDEM_EXPORT ExecutionContext {
 public:
  ExecutionContext(HostContext& host, Location location) : host_(&host), location_(location) {}
  ExecutionContext(HostContext& host, Location location, RcRef<RequestContext> request, WorkQueue* queue = nullptr)
      : host_(&host), queue_(queue), location_(location), request_(std::move(request)) {}

  HostContext& host() const { return *host_; }
  Location location() const { return location_; }
  // Null: the call belongs to no request.
  RequestContext* request() const { return request_.get(); }
  // Ok, or why nothing of this call runs: the host or the request was cancelled, or its deadline has passed.
  Status CheckActive() const;
  // Where long work goes; the host's queue unless the call says otherwise.
  WorkQueue& work_queue() const;

  // Null: nobody asks.
  TransferObserver* transfer_observer() const { return transfer_observer_.get(); }

  ExecutionContext WithTransferObserver(RcRef<TransferObserver> observer) const {
    ExecutionContext copy = *this;
    copy.transfer_observer_ = std::move(observer);
    return copy;
  }
  ExecutionContext WithLocation(Location location) const {
    ExecutionContext copy = *this;
    copy.location_ = location;
    return copy;
  }

 private:
  HostContext* host_;
  WorkQueue* queue_ = nullptr;
  Location location_;
  RcRef<RequestContext> request_;
  RcRef<TransferObserver> transfer_observer_;
};

}  // namespace tandem

#endif  // TANDEM_EXECUTION_CONTEXT_H_
