// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RunWhenReady: a function to be called when several async values are there.

#ifndef TANDEM_RUN_WHEN_READY_H_
#define TANDEM_RUN_WHEN_READY_H_

#include <new>
#include <span>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/export.h"
#include "tandem/ref_counted.h"
#include "tandem/small_array.h"

namespace tandem {

namespace internal {

// Waits for one value after the other, then calls the function of the derived class and deletes itself.
class TANDEM_EXPORT ReadyWaiter : public Waiter {
 public:
  // False if memory is exhausted.
  [[nodiscard]] bool Init(std::span<AsyncValue* const> values);
  void Run() final;
  void Drop() final { delete this; }

 protected:
  virtual ~ReadyWaiter();
  virtual void Call() = 0;

 private:
  SmallArray<RcRef<AsyncValue>, 2> values_;
  size_t next_ = 0;  // the first one that has not been seen to be there
};

}  // namespace internal

// Calls `fn()` once, when each of `values` is concrete or an error, which `fn` looks at itself: before this function
// returns if all of them are there, otherwise on the thread that makes the last one available; it must not block, and
// may call ops. The values are kept alive until then. False, and `fn` is never called, if memory is exhausted. This
// waits for no host and no request, unlike an op; who is to be cancelled with them asks ExecutionContext::CheckActive
// in `fn`. Thread-safe.
template <typename F>
[[nodiscard]] bool RunWhenReady(std::span<AsyncValue* const> values, F fn) {
  class Callable final : public internal::ReadyWaiter {
   public:
    explicit Callable(F&& fn) : fn_(std::move(fn)) {}

   private:
    void Call() override { fn_(); }

    F fn_;
  };
  auto* waiter = new (std::nothrow) Callable(std::move(fn));
  if (waiter == nullptr) return false;
  if (!waiter->Init(values)) {
    waiter->Drop();
    return false;
  }
  waiter->Run();
  return true;
}

}  // namespace tandem

#endif  // TANDEM_RUN_WHEN_READY_H_
