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

#include <bit>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// +0 for -0, and NaN for NaN.
template <typename T>
HWY_INLINE T PositivePart(T x) {
#ifdef __wasm__
  // For the form below, and for a mask of x <= 0, Clang 19 takes the instruction pmax with its operands in the order
  // that gives -0 for -0. This one is pmax in the other order; all bits set are a NaN.
  if constexpr (std::is_same_v<T, float>) {
    const uint32_t is_positive = uint32_t{0} - static_cast<uint32_t>(x > 0);
    const uint32_t is_nan = uint32_t{0} - static_cast<uint32_t>(x != x);
    return std::bit_cast<float>((std::bit_cast<uint32_t>(x) & is_positive) | is_nan);
  } else {
    return x > 0 ? x : x == x ? T{0} : x;
  }
#else
  return x <= 0 ? T{0} : x;
#endif
}

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
