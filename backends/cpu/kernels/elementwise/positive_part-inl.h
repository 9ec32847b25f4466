// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// max(x, 0) of one element, for loops that the compiler turns into vectors. Included once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_POSITIVE_PART_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_POSITIVE_PART_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_POSITIVE_PART_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_POSITIVE_PART_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// +0 for -0, and NaN for NaN.
template <typename T>
HWY_INLINE T PositivePart(T x) {
#ifdef __wasm__
  // For the form below Clang 19 takes the instruction pmax, which gives -0 for -0; the sum of that and 0 is 0.
  return (x < 0 ? T{0} : x) + T{0};
#else
  return x <= 0 ? T{0} : x;
#endif
}

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
