// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LaterKernels: kernels of an op handler whose code is fetched when a call first needs it.

#ifndef TANDEM_LATER_KERNELS_H_
#define TANDEM_LATER_KERNELS_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/chain.h"
#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/status.h"

namespace tandem {

// Where the code is and who waits for it. Thread-safe.
class TANDEM_EXPORT LaterKernels {
 public:
  // For which dtypes the kernels of an op come later; DType::kInvalid for that of an op without a type attribute.
  using DTypesOf = DTypeSet (*)(std::string_view op_name);

  // `fetch` is told, on the thread of the call, when a call first waits for the code, and again by the first call after
  // a failure. It is followed by Come or Fail, now or later.
  explicit LaterKernels(std::function<void()> fetch) : fetch_(std::move(fetch)) {}
  ~LaterKernels();
  LaterKernels(const LaterKernels&) = delete;
  LaterKernels& operator=(const LaterKernels&) = delete;

  bool IsHere() const { return is_here_.load(std::memory_order_acquire); }
  // Has the code fetched, unless it is. Available once it is here, or the error that it cannot be had by. Null if there
  // is no memory for waiting.
  RcRef<AsyncValue> Want();
  // The code is here; calls that wait go on.
  void Come();
  // Those calls fail with this error.
  void Fail(const Status& error);

 private:
  RcRef<ConcreteAsyncValue<Chain>> End(bool is_here);

  const std::function<void()> fetch_;
  std::atomic<bool> is_here_{false};
  std::mutex mutex_;
  RcRef<ConcreteAsyncValue<Chain>> coming_;  // null: nobody waits
};

}  // namespace tandem

#endif  // TANDEM_LATER_KERNELS_H_
