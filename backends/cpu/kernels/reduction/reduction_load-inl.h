// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the loops of reductions share, once per instruction set: included between Highway's target changes.

#if defined(TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_LOAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_LOAD_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_LOAD_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_LOAD_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "tandem/float16.h"

// The compiler is not to add copies of the loop that follows: rows are long, and there are many functions.
#undef TANDEM_COMPACT_LOOP
#ifdef __clang__
#define TANDEM_COMPACT_LOOP _Pragma("clang loop unroll(disable)")
#else
#define TANDEM_COMPACT_LOOP _Pragma("GCC unroll 1")
#endif

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <typename T>
using Accumulator = std::conditional_t<kIsHalf<T>, float, T>;

template <typename T>
HWY_INLINE T Widen(T x) {
  return x;
}
HWY_INLINE float Widen(BFloat16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }
// Without branches: the exponent is rebiased by a multiplication, which also normalises subnormals.
HWY_INLINE float Widen(Float16 x) {
  const uint32_t magnitude = x.bits & 0x7FFFu;
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7C00u ? 0x7F800000u : 0u;
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | special | sign);
}

// An element as an accumulator; integers are extended by their sign.
template <typename A, typename T>
HWY_INLINE A Load(T x) {
  return static_cast<A>(Widen(x));
}

}  // namespace
}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard, per target
