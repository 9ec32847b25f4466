// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Running a test with each instruction set that this processor has and the CPU kernels are compiled for.

#ifndef TANDEM_TESTS_UNIT_INSTRUCTION_SETS_H_
#define TANDEM_TESTS_UNIT_INSTRUCTION_SETS_H_

#include <gtest/gtest.h>

#include <cstdint>

#ifdef __x86_64__
#include "hwy/targets.h"
#endif

namespace tandem::cpu {

// Runs `test`, which is given its name, once with each instruction set.
template <typename F>
void ForEachInstructionSet(F test) {
#ifdef __x86_64__
  for (const int64_t target : {HWY_SCALAR, HWY_AVX2, HWY_AVX3}) {
    hwy::SetSupportedTargetsForTest(0);
    if (target != HWY_SCALAR && (hwy::SupportedTargets() & target) == 0) continue;
    const char* const name = target == HWY_SCALAR ? "baseline" : hwy::TargetName(target);
    SCOPED_TRACE(name);
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    test(name);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#else
  test("static");
#endif
}

}  // namespace tandem::cpu

#endif  // TANDEM_TESTS_UNIT_INSTRUCTION_SETS_H_
