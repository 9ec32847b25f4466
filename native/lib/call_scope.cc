// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scopes of a thread.

#include "tandem/call_scope.h"

#include <algorithm>

#include "tandem/eager.h"

namespace tandem::eager {

namespace {

constinit thread_local CallScope* innermost_scope = nullptr;

}  // namespace

CallScope::CallScope(Runtime& runtime, CallOptions options)
    : runtime_(runtime), around_(innermost_scope), options_(std::move(options)) {
  using Time = std::chrono::steady_clock::time_point;
  if (options_.request && options_.deadline != Time::max()) {
    fault_ = InvalidArgument("expected a request or a deadline, got both");
  } else if (options_.request && &options_.request->host() != &runtime.host()) {
    fault_ = InvalidArgument("expected a request of this runtime, got one of another");
  }
  if (const CallScope* outer = Find(runtime)) {
    if (fault_.ok()) fault_ = outer->fault_;
    if (options_.chain == nullptr) options_.chain = outer->options_.chain;
    if (options_.queue == nullptr) options_.queue = outer->options_.queue;
    if (!options_.request) {
      if (options_.deadline == Time::max()) options_.request = outer->options_.request;
      if (outer->options_.request) options_.deadline = std::min(options_.deadline, outer->options_.request->deadline());
    }
  }
  if (fault_.ok() && !options_.request && options_.deadline != Time::max()) {
    StatusOr<RcRef<RequestContext>> request =
        RequestContext::Create(runtime.host(), {.deadline = options_.deadline, .data = nullptr});
    if (request.ok()) {
      options_.request = std::move(*request);
    } else {
      fault_ = request.status();
    }
  }
  innermost_scope = this;
}

CallScope::~CallScope() { innermost_scope = around_; }

const CallScope* CallScope::Find(const Runtime& runtime) {
  const CallScope* scope = innermost_scope;
  while (scope != nullptr && &scope->runtime_ != &runtime) scope = scope->around_;
  return scope;
}

ExecutionContext CallScope::Context(std::source_location where) const {
  return ExecutionContext(runtime_.host(), where, options_.request, options_.queue);
}

}  // namespace tandem::eager
