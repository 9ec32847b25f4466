// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CallScope: what calls run under besides their arguments: request, deadline, chain, work queue (TY-3).

#ifndef TANDEM_CALL_SCOPE_H_
#define TANDEM_CALL_SCOPE_H_

#include <chrono>
#include <source_location>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/chain.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/request_context.h"
#include "tandem/status.h"

namespace tandem::eager {

class Runtime;

// Every member has a default: as the scope around this one has it, or none.
struct CallOptions {
  // Calls can be cancelled together with others of this request, and end at its deadline.
  RcRef<RequestContext> request = nullptr;
  // Calls that have no result by then become DeadlineExceeded errors: a request of its own, instead of the one around,
  // whose deadline holds if it is earlier. Not together with `request`, which has a deadline of its own.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Calls start after what the chain stands for, and those with side effects extend it. Outlives the scope; may be null
  // in itself, at first.
  AsyncValueRef<Chain>* chain = nullptr;
  // Where long work goes instead of the runtime's queue. Outlives what is called.
  WorkQueue* queue = nullptr;
};

// While it lives, the calls of this thread on the runtime run under its options. Scopes of a thread end in the opposite
// order of their beginning, and are not kept where a coroutine may go on elsewhere.
//
//   const auto scope = rt.With({.request = request});                         // all calls of this block
//   auto y = rt.With({.deadline = soon}).Run([&] { return matMul(x, x); });   // one call, or a few
class [[nodiscard]] TANDEM_EXPORT CallScope {
 public:
  CallScope(Runtime& runtime, CallOptions options);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // What `fn` returns.
  template <typename Fn>
  decltype(auto) Run(Fn&& fn) const {
    return std::forward<Fn>(fn)();
  }

 private:
  friend class Runtime;
  // The innermost one of this thread for the runtime, or null.
  static const CallScope* Find(const Runtime& runtime);
  ExecutionContext Context(std::source_location where) const;

  Runtime& runtime_;
  CallScope* const around_;  // of this thread, for whatever runtime
  CallOptions options_;
  Status fault_;  // why calls fail
};

}  // namespace tandem::eager

#endif  // TANDEM_CALL_SCOPE_H_
