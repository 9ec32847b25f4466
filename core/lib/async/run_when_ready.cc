// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/run_when_ready.h"

namespace tandem::internal {

ReadyWaiter::~ReadyWaiter() = default;

bool ReadyWaiter::Init(std::span<AsyncValue* const> values) {
  if (!values_.Init(values.size())) return false;
  for (size_t i = 0; i < values.size(); ++i) values_[i] = RcRef<AsyncValue>::Share(values[i]);
  return true;
}

void ReadyWaiter::Run() {
  for (; next_ < values_.size(); ++next_) {
    if (values_[next_]->IsAvailable()) continue;
    // This may be called, and gone, before AndThen returns.
    const RcRef<AsyncValue> awaited = values_[next_];
    return awaited->AndThen(*this);
  }
  Call();
  delete this;
}

}  // namespace tandem::internal
