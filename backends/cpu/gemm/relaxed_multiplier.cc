// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "gemm/relaxed_multiplier.h"

#include <atomic>

#include "tandem/kernel_run.h"

namespace tandem::cpu {

namespace {
std::atomic<RelaxedMultiplier> relaxed_multiplier{nullptr};
}  // namespace

void SetRelaxedMultiplier(RelaxedMultiplier multiplier) { relaxed_multiplier.store(multiplier); }

RelaxedMultiplier GetRelaxedMultiplier() {
  return KernelRun::IsExact() ? nullptr : relaxed_multiplier.load(std::memory_order_relaxed);
}

}  // namespace tandem::cpu
