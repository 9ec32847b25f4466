// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The waiter list of async values and the bounded nesting of continuations.

#include "tandem/async_value.h"

namespace tandem {

namespace {

#ifdef TANDEM_LEAK_ACCOUNTING
constinit std::atomic<int64_t> num_live{0};
#endif

// What a thread that is resolving values keeps track of; the platform has no other place for it.
struct Continuations {
  int depth = 0;
  Waiter* deferred = nullptr;       // first of the waiters that are due but too deep to run
  Waiter** deferred_end = nullptr;  // where the next one is linked; null while the list is empty
  bool dropping = false;
  Waiter* to_drop = nullptr;  // of values that died while a waiter of another was told so
};
thread_local constinit Continuations continuations;

// Never freed: `AddRef` and `DropRef` only move its count, which starts far from zero.
ErrorAsyncValue& SharedOutOfMemory() {
  static ErrorAsyncValue* const value = [] {
    alignas(ErrorAsyncValue) static unsigned char memory[sizeof(ErrorAsyncValue)];
    return new (memory) ErrorAsyncValue(Status::OutOfMemory());
  }();
  return *value;
}

}  // namespace

#ifdef TANDEM_LEAK_ACCOUNTING
void AsyncValue::CountLive(int delta) { num_live.fetch_add(delta, std::memory_order_relaxed); }
int64_t AsyncValue::NumLive() {
  SharedOutOfMemory();  // counted once, from here on at the latest
  return num_live.load(std::memory_order_relaxed) - 1;
}
bool AsyncValue::CountsLive() { return true; }
#else
int64_t AsyncValue::NumLive() { return 0; }
bool AsyncValue::CountsLive() { return false; }
#endif

void AsyncValue::DropWaiters(uintptr_t word) { ContinuationGuard::DropAll(InOrder(word)); }

void AsyncValue::AndThen(Waiter& waiter) {
  uintptr_t word = waiters_and_state_.load(std::memory_order_acquire);
  while ((word & kStateMask) < static_cast<uintptr_t>(State::kConcrete)) {
    waiter.next_ = reinterpret_cast<Waiter*>(word & ~kStateMask);
    const uintptr_t with_waiter = reinterpret_cast<uintptr_t>(&waiter) | (word & kStateMask);
    if (waiters_and_state_.compare_exchange_weak(word, with_waiter, std::memory_order_acq_rel,
                                                 std::memory_order_acquire)) {
      return;
    }
  }
  waiter.next_ = nullptr;
  ContinuationGuard::RunAll(&waiter);
}

Waiter* AsyncValue::Seal(State state) {
  const uintptr_t word = waiters_and_state_.exchange(static_cast<uintptr_t>(state), std::memory_order_acq_rel);
  assert((word & kStateMask) < static_cast<uintptr_t>(State::kConcrete) && "a value becomes available only once");
  return InOrder(word);
}

Waiter* AsyncValue::InOrder(uintptr_t word) {
  auto* waiter = reinterpret_cast<Waiter*>(word & ~kStateMask);
  Waiter* in_order = nullptr;  // the list has the latest waiter first
  while (waiter != nullptr) {
    Waiter* next = waiter->next_;
    waiter->next_ = in_order;
    in_order = waiter;
    waiter = next;
  }
  return in_order;
}

void AsyncValue::Publish(State state) {
  if (Waiter* waiters = Seal(state)) ContinuationGuard::RunAll(waiters);
}

void AsyncValue::PublishAndDropRef(State state) {
  Waiter* waiters = Seal(state);
  DropRef();
  if (waiters != nullptr) ContinuationGuard::RunAll(waiters);
}

void AsyncValue::MarkConstructed() {
  // Only the producer changes the state; waiters may be pushed at the same time and are kept.
  waiters_and_state_.fetch_or(static_cast<uintptr_t>(State::kConstructed), std::memory_order_acq_rel);
}

void AsyncValue::SetError(Status error) {
  assert(!error.ok());
  error_ = std::move(error);
  Publish(State::kError);
}

bool ContinuationGuard::IsInside() { return continuations.depth > 0; }

bool ContinuationGuard::Enter() {
  if (continuations.depth >= kMaxDepth) return false;
  ++continuations.depth;
  return true;
}

void ContinuationGuard::Leave() {
  // Deferred waiters run one level deep, so that each of them has the full depth for its own continuations.
  if (continuations.depth == 1) RunDeferred();
  --continuations.depth;
}

void ContinuationGuard::RunAll(Waiter* waiters) {
  if (!Enter()) {
    Continuations& thread = continuations;
    (thread.deferred_end == nullptr ? thread.deferred : *thread.deferred_end) = waiters;
    while (waiters->next_ != nullptr) waiters = waiters->next_;
    thread.deferred_end = &waiters->next_;
    return;
  }
  while (waiters != nullptr) {
    Waiter* next = waiters->next_;
    waiters->Run();
    waiters = next;
  }
  Leave();
}

void ContinuationGuard::RunDeferred() {
  Continuations& thread = continuations;
  while (thread.deferred != nullptr) {
    Waiter* due = thread.deferred;
    thread.deferred = due->next_;
    if (thread.deferred == nullptr) thread.deferred_end = nullptr;
    due->Run();
  }
}

void ContinuationGuard::DropAll(Waiter* waiters) {
  Continuations& thread = continuations;
  if (waiters == nullptr) return;
  Waiter* last = waiters;
  while (last->next_ != nullptr) last = last->next_;
  last->next_ = thread.to_drop;
  thread.to_drop = waiters;
  // What a dropped waiter held may have been the last reference to a value with waiters of its own.
  if (thread.dropping) return;
  thread.dropping = true;
  while (Waiter* waiter = thread.to_drop) {
    thread.to_drop = waiter->next_;
    waiter->Drop();
  }
  thread.dropping = false;
}

// Waits for the target on behalf of an indirect value. Holds references to both until then.
class IndirectAsyncValue::Link final : public Waiter {
 public:
  Link(IndirectAsyncValue* value, RcRef<AsyncValue> target)
      : value_(RcRef<IndirectAsyncValue>::Share(value)), target_(std::move(target)) {}
  void Run() override {
    const RcRef<IndirectAsyncValue> value = std::move(value_);
    const RcRef<AsyncValue> target = std::move(target_);
    delete this;
    value->Finish(target.get());
  }
  void Drop() override { delete this; }

 private:
  RcRef<IndirectAsyncValue> value_;
  RcRef<AsyncValue> target_;
};

IndirectAsyncValue::~IndirectAsyncValue() {
  if (forward_ != nullptr) forward_->DropRef();
}

void IndirectAsyncValue::ForwardTo(RcRef<AsyncValue> target) {
  if (target->IsAvailable()) return Finish(target.get());
  AsyncValue& awaited = *target;
  auto* link = new (std::nothrow) Link(this, std::move(target));
  if (link == nullptr) return SetError(Status::OutOfMemory());
  awaited.AndThen(*link);
}

void IndirectAsyncValue::Finish(AsyncValue* target) {
  AsyncValue* content = target->Resolved();
  content->AddRef();
  forward_ = content;
  Publish(content->state());
}

Status internal::AbandonedError(std::string_view op, Location location) {
  return Status::Error(StatusCode::kCancelled, "abandoned by its producer", op, location);
}

RcRef<AsyncValue> OutOfMemoryAsyncValue() { return RcRef<AsyncValue>::Share(&SharedOutOfMemory()); }

}  // namespace tandem
