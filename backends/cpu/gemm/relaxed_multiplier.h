// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels for WebAssembly ask for before they multiply by themselves.

#ifndef TANDEM_BACKENDS_CPU_GEMM_RELAXED_MULTIPLIER_H_
#define TANDEM_BACKENDS_CPU_GEMM_RELAXED_MULTIPLIER_H_

#include "gemm/relaxed_product.h"

namespace tandem::cpu {

// What SetRelaxedMultiplier was given, for the kernel that this thread works for; null if that must be exact, too.
RelaxedMultiplier GetRelaxedMultiplier();

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_RELAXED_MULTIPLIER_H_
