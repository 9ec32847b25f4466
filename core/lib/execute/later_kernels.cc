// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Waiting for the code of kernels.

#include "tandem/later_kernels.h"

namespace tandem {

LaterKernels::~LaterKernels() { Fail(MakeError(StatusCode::kCancelled, "the code of the op is no longer waited for")); }

RcRef<AsyncValue> LaterKernels::Want() {
  RcRef<ConcreteAsyncValue<Chain>> coming;
  {
    const std::lock_guard lock(mutex_);
    if (coming_) return RcRef<AsyncValue>(coming_);
    coming = coming_ = MakeUnconstructed<Chain>();
  }
  if (!coming) return RcRef<AsyncValue>();
  // It may have come meanwhile, and then nobody else ends the value.
  if (IsHere()) {
    Come();
  } else {
    fetch_();
  }
  return RcRef<AsyncValue>(std::move(coming));
}

RcRef<ConcreteAsyncValue<Chain>> LaterKernels::End(bool is_here) {
  const std::lock_guard lock(mutex_);
  if (is_here) is_here_.store(true, std::memory_order_release);
  return std::exchange(coming_, nullptr);
}

void LaterKernels::Come() {
  if (const auto coming = End(/*is_here=*/true)) coming->Emplace();
}

void LaterKernels::Fail(const Status& error) {
  if (const auto coming = End(/*is_here=*/false)) coming->SetError(error);
}

}  // namespace tandem
