// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which instruction set kernels use: the best that the processor has, or a lesser one that the environment names.

#ifndef TANDEM_BACKENDS_CPU_CPU_TARGET_H_
#define TANDEM_BACKENDS_CPU_CPU_TARGET_H_

#include "tandem/status.h"

namespace tandem::cpu {

// Makes kernels use nothing better than what TANDEM_CPU_TARGET names, if it is set: "scalar" or "sse2" (x86's
// baseline), "avx2", "avx512", "neon". For the whole process; so it comes before any kernel runs, and the same name
// each time: FailedPrecondition otherwise. InvalidArgument for another name, NotFound for what this machine or build
// lacks. WebAssembly has one instruction set and no such variable.
Status LimitCpuTarget();

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_CPU_TARGET_H_
