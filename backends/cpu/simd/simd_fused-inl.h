// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Multiplication and addition in one instruction where the target has it, and never for exact mode; compiled once per
// instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_FUSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_FUSED_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_FUSED_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_FUSED_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#ifdef TANDEM_SIMD_EXACT
inline constexpr bool kFuses = false;
#else
inline constexpr bool kFuses = true;
#endif

// Whether there may be kernels of relaxed SIMD (relaxed_kernels.h), which fuse where this code does not.
inline constexpr bool kHasRelaxed = HWY_TARGET == HWY_WASM;

// x * y + z; of integers, too
template <class V>
HWY_INLINE V MultiplyAdd(V x, V y, V z) {
  if constexpr (kFuses && !std::is_integral_v<hn::TFromV<V>>) {
    return hn::MulAdd(x, y, z);
  } else {
    return hn::Add(hn::Mul(x, y), z);
  }
}

// sum += x * y, for loops with almost as many sums as there are registers. Of such ones, GCC 12 lets products overwrite
// their factors instead of the sums, which takes copies and the stack.
template <class V>
HWY_INLINE void Accumulate(V x, V y, V& sum) {
#if (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3) && defined(__GNUC__) && !defined(__clang__)
  if constexpr (kFuses && std::is_same_v<hn::TFromV<V>, float>) {
    asm("vfmadd231ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(y.raw));
    return;
  }
  if constexpr (kFuses && std::is_same_v<hn::TFromV<V>, double>) {
    asm("vfmadd231pd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(y.raw));
    return;
  }
#endif
  sum = MultiplyAdd(x, y, sum);
}

// z - x * y
template <class V>
HWY_INLINE V NegMultiplyAdd(V x, V y, V z) {
  if constexpr (kFuses) {
    return hn::NegMulAdd(x, y, z);
  } else {
    return hn::Sub(z, hn::Mul(x, y));
  }
}

// x * y - z
template <class V>
HWY_INLINE V MultiplySub(V x, V y, V z) {
  if constexpr (kFuses) {
    return hn::MulSub(x, y, z);
  } else {
    return hn::Sub(hn::Mul(x, y), z);
  }
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
