// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PendingCall: something that a host has begun and that waits, for async values or in the work queue. How it waits, is
// cancelled and counts as pending is written here once, for ops, transfers, late values and casts.

#ifndef TANDEM_CORE_LIB_EXECUTE_PENDING_CALL_H_
#define TANDEM_CORE_LIB_EXECUTE_PENDING_CALL_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "execute/pending_ops.h"
#include "tandem/async_value.h"
#include "tandem/execution_context.h"
#include "tandem/ref_counted.h"
#include "tandem/work_queue.h"

namespace tandem {

// A derived class says in Advance what it waits for and how it ends. One thread at a time works on a call, and that
// thread alone touches what the derived class holds: whoever has begun it, what it waited for, the queue, or who
// cancels it. Everyone who may still call it holds a reference.
class PendingCall : public RefCounted<PendingCall>, public Waiter, public Task {
 public:
  // For a call that PendingOps counts, by Admit with `bytes` or by Hold. Gives up the caller's reference. If the host
  // or the request is cancelled already, the call fails, and the diagnostic handler is told unless `is_silent`.
  void Start(int64_t bytes = 0, bool is_silent = false);

  void Run() final;  // as a Waiter, and as a Task
  void Drop() final { DropRef(); }

  // Calls are counted, modulo 2^32, as they start.
  uint32_t number() const { return number_; }

 protected:
  // `name`, of the op for errors, lives as long as the call.
  PendingCall(const ExecutionContext& exec, std::string_view name);
  virtual ~PendingCall() = default;

  // What can be done by now; called anew each time that something the call has waited for is there. Its last step is
  // WaitFor, Enqueue, Fail, or, at the end of what the call does, Leave and Release.
  virtual void Advance() = 0;
  // What a call does in the queue; as Advance, after TryBegin.
  virtual void RunQueued() {}
  // Drops what the call was given.
  virtual void DropInputs() = 0;
  // Makes its outputs this error.
  virtual void SetError(const Status& error) = 0;

  void WaitFor(AsyncValue* value);
  void Enqueue();
  // From here on the call cannot be cancelled. False: it was before, and has failed.
  [[nodiscard]] bool TryBegin();
  // Ends the call by an error that has been told.
  void Fail(const Status& error);

  // For who runs a call that waits together with the one that it waits for. If the call still waits, whoever claims it
  // works on it, with a reference of its own, until Unclaim, or, after BeginClaimed, to its end. Nobody else may end
  // what it waits for meanwhile.
  [[nodiscard]] bool TryClaim();
  // It waits on, or fails if it was cancelled meanwhile.
  void Unclaim();
  // From here on the call cannot be cancelled. False: it was before, and is to be unclaimed.
  [[nodiscard]] bool BeginClaimed() { return Move(State::kAdvancing, State::kStarted); }
  // Whether the call is run by the value that it waited for, rather than by the queue or by who issued it.
  bool is_continuation() const { return is_continuation_; }
  bool is_queued() const { return is_queued_; }
  // What Start was given.
  int64_t bytes() const { return bytes_; }

  // The call is no longer pending. Nothing of the host is used after this.
  void Leave();
  // Gives up the reference of whoever works on the call: the last step after Leave.
  void Release() { DropRef(); }
  // Counts the call as work that goes on outside of the host's threads (EX-11), until it leaves.
  void BeginElsewhere();

  // Completes a new error and tells the diagnostic handler.
  Status Tell(const Status& error) const;

  const ExecutionContext& exec() const { return exec_; }
  std::string_view name() const { return name_; }
  Location location() const { return location_; }

 private:
  friend class RefCounted<PendingCall>;
  friend class PendingOps;
  enum class State : uint8_t { kWaiting, kAdvancing, kCancelRequested, kStarted, kDone };

  // Fails the call, unless it has begun.
  void Cancel(const Status& reason);
  bool Move(State from, State to) { return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel); }
  void EndElsewhere();

  std::atomic<State> state_{State::kAdvancing};
  bool is_continuation_ = false;
  bool is_queued_ = false;
  bool is_elsewhere_ = false;
  PendingOps& pending_;
  int64_t bytes_ = 0;
  const std::string_view name_;
  const Location location_;
  ExecutionContext exec_;  // without its request once the call is over
  Status cancel_reason_;   // written before kCancelRequested

  // Of PendingOps, from Add to Remove.
  PendingCall* previous_ = nullptr;
  PendingCall* next_ = nullptr;
  PendingCall* next_cancelled_ = nullptr;
  uint32_t number_ = 0;
  uint32_t epoch_ = 0;
  bool linked_ = false;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_PENDING_CALL_H_
