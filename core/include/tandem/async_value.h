// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// AsyncValue: a reference-counted value that becomes available later, exactly once, as a T or as an error.

#ifndef TANDEM_ASYNC_VALUE_H_
#define TANDEM_ASYNC_VALUE_H_

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"

namespace tandem {

class PendingOp;

// A continuation, linked into the value it waits for without an allocation. It must stay alive until `Run` or `Drop` is
// called; exactly one of them is, once, and it may free the waiter.
class TANDEM_EXPORT Waiter {
 public:
  // The value is available. Called on the thread that made it so.
  virtual void Run() = 0;
  // The value was destroyed while still pending: nothing will come any more.
  virtual void Drop() = 0;
  // The call of an op that waits here, which others may run with theirs (PR-6); null for every other waiter.
  virtual PendingOp* AsPendingOp() { return nullptr; }

 protected:
  ~Waiter() = default;

 private:
  friend class AsyncValue;
  friend class ContinuationGuard;
  Waiter* next_ = nullptr;
};

// Life of a value: unconstructed -> constructed -> concrete or error; constructed may be skipped. "Available" means
// concrete or error; these are final (AV-1). All methods may be called from any thread unless they say otherwise.
class TANDEM_EXPORT AsyncValue {
 public:
  enum class State : uint8_t { kUnconstructed = 0, kConstructed = 1, kConcrete = 2, kError = 3 };

  AsyncValue(const AsyncValue&) = delete;
  AsyncValue& operator=(const AsyncValue&) = delete;

  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void DropRef() const {
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }
  // True if the caller's reference is the only one.
  bool IsUnique() const { return refs_.load(std::memory_order_acquire) == 1; }

  State state() const { return static_cast<State>(waiters_and_state_.load(std::memory_order_acquire) & kStateMask); }
  bool IsAvailable() const { return state() >= State::kConcrete; }
  bool IsConcrete() const { return state() == State::kConcrete; }
  bool IsError() const { return state() == State::kError; }

  // Whether the value holds its T, be it pending, concrete or an error that came later.
  bool HasContent() const { return state() != State::kUnconstructed && Resolved()->constructed_; }

  // The error; the state must be kError.
  const Status& GetError() const {
    assert(IsError());
    return Resolved()->error_;
  }

  // The value itself, or the one an indirect value was resolved to.
  const AsyncValue* Resolved() const { return forward_ == nullptr ? this : forward_; }
  AsyncValue* Resolved() { return forward_ == nullptr ? this : forward_; }

  // Runs `waiter` at once if available, else when the value becomes so, on the resolving thread, after at most
  // ContinuationGuard::kMaxDepth nested continuations (AV-3, AV-4).
  void AndThen(Waiter& waiter);

  // The same for a callable `void()`. False if no memory could be had for keeping it (which is needed if the value is
  // pending, or the nesting too deep): then it was not and will never be called. It is destroyed uncalled if the value
  // is destroyed while pending.
  template <std::invocable F>
  [[nodiscard]] bool AndThen(F&& fn);

  // Ends the pending state with an error. The value must be pending.
  void SetError(Status error);

  // These two are for whoever is to end the pending value, and has not begun to.

  // Calls `fn(Waiter&)` for those that wait, the latest first, until it is false. More may come meanwhile, none goes.
  template <std::predicate<Waiter&> F>
  void VisitWaiters(F fn) const {
    auto* waiter = reinterpret_cast<Waiter*>(waiters_and_state_.load(std::memory_order_acquire) & ~kStateMask);
    while (waiter != nullptr && fn(*waiter)) waiter = waiter->next_;
  }
  // Whether there are no more references and waiters than these, which are the caller's own: then nobody else can reach
  // the value, and nobody will.
  bool IsKnownOnlyBy(uint32_t refs, uint32_t waiters) const {
    // In this order: whoever waits without a reference had one when it began to.
    if (refs_.load(std::memory_order_acquire) != refs) return false;
    VisitWaiters([&](Waiter&) { return waiters-- != 0; });
    return waiters == 0;
  }

  // Live values in this process, and whether they are counted in this build (AV-6).
  static int64_t NumLive();
  static bool CountsLive();

 protected:
  AsyncValue() { CountLive(1); }
  AsyncValue(State state, bool constructed)
      : constructed_(constructed), waiters_and_state_(static_cast<uintptr_t>(state)) {
    CountLive(1);
  }
  virtual ~AsyncValue() {
    CountLive(-1);
    const uintptr_t word = waiters_and_state_.load(std::memory_order_relaxed);
    if (word > kStateMask) [[unlikely]]
      DropWaiters(word);
  }

  // Publishes the final state and runs the waiters; the second form drops the caller's reference in between.
  void Publish(State state);
  void PublishAndDropRef(State state);
  // The same for a value that no other thread can have seen, and that has no waiters: a plain store.
  void PublishUnshared(State state) {
    assert(waiters_and_state_.load(std::memory_order_relaxed) <= 1);
    waiters_and_state_.store(static_cast<uintptr_t>(state), std::memory_order_release);
  }
  // unconstructed -> constructed; waiters stay.
  void MarkConstructed();

  bool constructed_ = false;       // whether a T lives in the derived class
  Status error_;                   // written before kError is published
  AsyncValue* forward_ = nullptr;  // of an indirect value: written before its final state is published; owned

 private:
  static constexpr uintptr_t kStateMask = 3;
  static_assert(alignof(Waiter) >= 4, "the state is kept in the low bits of a waiter's address");

#ifdef TANDEM_LEAK_ACCOUNTING
  static void CountLive(int delta);
#else
  static void CountLive(int) {}
#endif

  // Sets the final state; the waiters in the order they came, linked.
  Waiter* Seal(State state);
  // Tells the waiters of a value that died pending, in the order they came.
  static void DropWaiters(uintptr_t word);
  // The waiters in `word`, linked in the order they came.
  static Waiter* InOrder(uintptr_t word);

  mutable std::atomic<uint32_t> refs_{1};
  std::atomic<uintptr_t> waiters_and_state_{0};
};

// Bounds the nesting of continuations. While a thread is kMaxDepth deep, further waiters join a list of the thread that
// the outermost level runs before it returns: a chain of any length resolves with bounded stack and no allocation. The
// same holds for chains of values that are destroyed while pending.
class TANDEM_EXPORT ContinuationGuard {
 public:
  static constexpr int kMaxDepth = 16;

  // Whether this thread is running a continuation: others may be due that run only when it returns.
  static bool IsInside();

  // Calls `fn(Waiter&)` for those that this thread is to run right after `running`, which it is running, until it is
  // false.
  template <std::predicate<Waiter&> F>
  static void VisitNext(const Waiter& running, F fn) {
    for (Waiter* waiter = running.next_; waiter != nullptr && fn(*waiter);) waiter = waiter->next_;
  }

  // Runs what this thread has put off. Whoever is about to wait inside a continuation calls it first, since what it
  // waits for may be among them.
  static void RunDeferred();

 private:
  friend class AsyncValue;
  // Runs the list of waiters linked by `next_`.
  static void RunAll(Waiter* waiters);
  // Begins a level of nesting, or is false at kMaxDepth. Leave ends it, and runs what is put off if it was the
  // outermost.
  static bool Enter();
  static void Leave();
  // Drops the list of waiters linked by `next_`.
  static void DropAll(Waiter* waiters);
};

// The value without its type: an error usable as any AsyncValueRef<T>.
class TANDEM_EXPORT ErrorAsyncValue final : public AsyncValue {
 public:
  explicit ErrorAsyncValue(Status error) : AsyncValue(State::kError, false) { error_ = std::move(error); }
};

// An AsyncValue that holds a T in place.
template <typename T>
class TANDEM_EXPORT ConcreteAsyncValue : public AsyncValue {
 public:
  // Unconstructed.
  ConcreteAsyncValue() {}
  // Constructed, but not yet available.
  struct Constructed {};
  template <typename... Args>
  explicit ConcreteAsyncValue(Constructed, Args&&... args)
      : AsyncValue(State::kConstructed, true), value_(std::forward<Args>(args)...) {}
  // Available.
  struct Available {};
  template <typename... Args>
  explicit ConcreteAsyncValue(Available, Args&&... args)
      : AsyncValue(State::kConcrete, true), value_(std::forward<Args>(args)...) {}

  // Constructs the T while the value stays pending. Only the producer calls it, once.
  template <typename... Args>
  T& Construct(Args&&... args) {
    assert(!constructed_);
    new (&value_) T(std::forward<Args>(args)...);
    constructed_ = true;
    MarkConstructed();
    return value_;
  }
  // Ends the pending state of a constructed value.
  void SetConcrete() {
    assert(constructed_);
    Publish(State::kConcrete);
  }
  // The same, giving up the producer's reference before the waiters run, so that one of them may find the value unique
  // and take over its content. Use instead of SetConcrete and DropRef.
  void SetConcreteAndDropRef() {
    assert(constructed_);
    PublishAndDropRef(State::kConcrete);
  }
  // The same while the producer holds the only reference.
  void SetConcreteUnshared() {
    assert(constructed_);
    PublishUnshared(State::kConcrete);
  }
  template <typename... Args>
  void Emplace(Args&&... args) {
    Construct(std::forward<Args>(args)...);
    SetConcrete();
  }

  // `HasContent()` must be true; an error keeps what was constructed before it.
  T& value() {
    assert(constructed_);
    return value_;
  }
  const T& value() const {
    assert(constructed_);
    return value_;
  }

 protected:
  ~ConcreteAsyncValue() override {
    if (constructed_) value_.~T();
  }

 private:
  union {
    T value_;
  };
};

// Resolves once to another value (AV-2).
class TANDEM_EXPORT IndirectAsyncValue final : public AsyncValue {
 public:
  IndirectAsyncValue() = default;
  // Follows `target`: becomes available when it does, with the same content. Chains of indirect values collapse, so
  // that one step leads to the content. Called once, instead of SetError. Takes over one reference.
  void ForwardTo(RcRef<AsyncValue> target);

 private:
  ~IndirectAsyncValue() override;
  class Link;
  void Finish(AsyncValue* target);
};

// A typed reference to an async value, or null. What it points to is a ConcreteAsyncValue<T>, an ErrorAsyncValue, or an
// IndirectAsyncValue leading to one of them.
template <typename T>
class AsyncValueRef {
 public:
  AsyncValueRef() = default;
  explicit AsyncValueRef(RcRef<AsyncValue> value) : value_(std::move(value)) {}

  // An already available value or error. When memory is exhausted all of them give the out-of-memory error value.
  template <typename... Args>
  static AsyncValueRef MakeAvailable(Args&&... args) {
    return OrOutOfMemory(new (std::nothrow) ConcreteAsyncValue<T>(typename ConcreteAsyncValue<T>::Available{},
                                                                  std::forward<Args>(args)...));
  }
  static AsyncValueRef MakeError(Status error) {
    return OrOutOfMemory(new (std::nothrow) ErrorAsyncValue(std::move(error)));
  }

  bool IsValid() const { return static_cast<bool>(value_); }
  bool IsAvailable() const { return value_->IsAvailable(); }
  bool IsConcrete() const { return value_->IsConcrete(); }
  bool IsError() const { return value_->IsError(); }
  const Status& GetError() const { return value_->GetError(); }

  // The content; the state must be kConcrete.
  const T& get() const {
    assert(IsConcrete());
    return static_cast<const ConcreteAsyncValue<T>*>(value_->Resolved())->value();
  }
  const T* operator->() const { return &get(); }
  const T& operator*() const { return get(); }
  // The content if there is one already, even if the value is pending or an error; else null.
  const T* FindContent() const {
    if (!value_->HasContent()) return nullptr;
    return &static_cast<const ConcreteAsyncValue<T>*>(value_->Resolved())->value();
  }

  void AndThen(Waiter& waiter) const { value_->AndThen(waiter); }
  template <std::invocable F>
  [[nodiscard]] bool AndThen(F&& fn) const {
    return value_->AndThen(std::forward<F>(fn));
  }

  AsyncValueRef CopyRef() const { return AsyncValueRef(value_); }
  AsyncValue* value() const { return value_.get(); }
  RcRef<AsyncValue> TakeValue() && { return std::move(value_); }
  void reset() { value_.reset(); }

 private:
  static AsyncValueRef OrOutOfMemory(AsyncValue* value);
  RcRef<AsyncValue> value_;
};

// The ready-made ResourceExhausted value; adds a reference.
TANDEM_EXPORT RcRef<AsyncValue> OutOfMemoryAsyncValue();

template <typename T>
AsyncValueRef<T> AsyncValueRef<T>::OrOutOfMemory(AsyncValue* value) {
  return AsyncValueRef(value != nullptr ? RcRef<AsyncValue>::Take(value) : OutOfMemoryAsyncValue());
}

// A pending value; null when memory is exhausted. Whoever has it must end it: what produces values for others holds a
// Producer.
template <typename T>
RcRef<ConcreteAsyncValue<T>> MakeUnconstructed() {
  return MakeRef<ConcreteAsyncValue<T>>();
}

namespace internal {
// The error of a value that nobody will end.
TANDEM_EXPORT Status AbandonedError(std::string_view op, Location location);
}  // namespace internal

// The producer's side of a value that is still to come, or null. Ends the value once; if it goes away before, the value
// becomes the error "abandoned by its producer" (AV-8). Move-only, so that a closure that keeps it, run or not, sees to
// that. For one thread at a time.
template <typename T>
class Producer {
 public:
  Producer() = default;
  // Of a value of which nothing is known yet; null when memory is exhausted.
  static Producer Make() { return Producer(MakeRef<ConcreteAsyncValue<T>>()); }
  // Of one whose T is there, though not ready: of a tensor, its metadata is known.
  template <typename... Args>
  static Producer MakeConstructed(Args&&... args) {
    using Value = ConcreteAsyncValue<T>;
    return Producer(MakeRef<Value>(typename Value::Constructed{}, std::forward<Args>(args)...));
  }
  Producer(Producer&& other) noexcept = default;
  Producer& operator=(Producer&& other) noexcept {
    if (this != &other) {
      Abandon();
      value_ = std::move(other.value_);
      op_ = other.op_;
      location_ = other.location_;
    }
    return *this;
  }
  ~Producer() { Abandon(); }

  explicit operator bool() const { return static_cast<bool>(value_); }

  // What an abandoned value's error says of itself; without it, a kernel's value gets op and location of its call. `op`
  // must live as long as the producer.
  void Describe(std::string_view op, Location location) {
    op_ = op;
    location_ = location;
  }

  // The consumers' side; adds a reference. The rest is for a producer that is not null, too.
  AsyncValueRef<T> ref() const { return AsyncValueRef<T>(RcRef<AsyncValue>(value_)); }
  // What was constructed.
  T& value() { return value_->value(); }
  template <typename... Args>
  T& Construct(Args&&... args) {
    return value_->Construct(std::forward<Args>(args)...);
  }

  // These end the value and leave null. The producer's reference is gone before the waiters run, so that one of them
  // may find the value unique and take over its content.
  void SetConcrete() { std::move(value_).release()->SetConcreteAndDropRef(); }
  template <typename... Args>
  void Emplace(Args&&... args) {
    Construct(std::forward<Args>(args)...);
    SetConcrete();
  }
  void SetError(Status error) {
    const RcRef<ConcreteAsyncValue<T>> value = std::move(value_);
    value->SetError(std::move(error));
  }

 private:
  explicit Producer(RcRef<ConcreteAsyncValue<T>> value) : value_(std::move(value)) {}
  void Abandon() {
    if (value_) SetError(internal::AbandonedError(op_, location_));
  }

  RcRef<ConcreteAsyncValue<T>> value_;
  std::string_view op_;
  Location location_;
};

namespace internal {
template <typename F>
class CallableWaiter final : public Waiter {
 public:
  explicit CallableWaiter(F fn) : fn_(std::move(fn)) {}
  void Run() override {
    F fn = std::move(fn_);
    delete this;
    fn();
  }
  void Drop() override { delete this; }

 private:
  F fn_;
};
}  // namespace internal

template <std::invocable F>
bool AsyncValue::AndThen(F&& fn) {
  if (IsAvailable() && ContinuationGuard::Enter()) {
    std::forward<F>(fn)();
    ContinuationGuard::Leave();
    return true;
  }
  auto* waiter = new (std::nothrow) internal::CallableWaiter<std::remove_cvref_t<F>>(std::forward<F>(fn));
  if (waiter == nullptr) return false;
  AndThen(*waiter);
  return true;
}

}  // namespace tandem

#endif  // TANDEM_ASYNC_VALUE_H_
