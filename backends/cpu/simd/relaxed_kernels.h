// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels for WebAssembly ask for before they compute by themselves.

#ifndef TANDEM_BACKENDS_CPU_SIMD_RELAXED_KERNELS_H_
#define TANDEM_BACKENDS_CPU_SIMD_RELAXED_KERNELS_H_

#include <cstdint>

#include "relaxed/relaxed_calls.h"

namespace tandem::cpu {

// Has kernels for WebAssembly that need not be exact use them in the whole process; null: none. To be called before the
// first kernel runs, and always with the same ones, since results have other last bits with them.
void SetRelaxedKernels(RelaxedKernels kernels);

// What SetRelaxedKernels was given, for the kernel that this thread works for; null if that must be exact, too.
RelaxedKernels GetRelaxedKernels();

// What follows has them compute, and is false if there are none, or they do not take as many numbers. `y` may be `x`.
bool ComputeRelaxedExp(const float* x, int64_t count, float* y);
bool ComputeRelaxedSigmoid(const float* x, int64_t count, float* y);
bool ComputeRelaxedSoftmax(const float* x, int64_t rows, int64_t cols, float* y);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_SIMD_RELAXED_KERNELS_H_
