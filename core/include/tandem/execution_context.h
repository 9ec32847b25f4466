// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ExecutionContext: what one op call runs under: host, request, location, work queue.

#ifndef TANDEM_EXECUTION_CONTEXT_H_
#define TANDEM_EXECUTION_CONTEXT_H_

#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/ref_counted.h"
#include "tandem/request_context.h"

namespace tandem {

class HostContext;
class WorkQueue;

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
};

}  // namespace tandem

#endif  // TANDEM_EXECUTION_CONTEXT_H_
