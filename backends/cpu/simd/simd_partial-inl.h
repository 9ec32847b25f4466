// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loads and stores of the first lanes of a vector, for the ends of rows; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_PARTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_PARTIAL_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_PARTIAL_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_PARTIAL_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether masked loads and stores are single instructions that do not touch what is masked out.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
inline constexpr bool kFastMasks = true;
#else
inline constexpr bool kFastMasks = false;
#endif

// The first `count` lanes (1 to all) from memory, the others zero. T has 4 or 8 bytes.
template <class D, typename T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE V LoadFirst(D d, size_t count, const T* from) {
  if constexpr (kFastMasks) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  if (count == HWY_LANES(T)) return hn::LoadU(d, from);
  alignas(64) T lanes[HWY_LANES(T)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
}

template <class D, typename T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void StoreFirst(V v, D d, size_t count, T* to) {
  if constexpr (kFastMasks) return hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  if (count == HWY_LANES(T)) return hn::StoreU(v, d, to);
  alignas(64) T lanes[HWY_LANES(T)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
}

// The same where all lanes are usual.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadCount(D d, size_t count, const T* from) {
  return count == HWY_LANES(T) ? hn::LoadU(d, from) : LoadFirst(d, count, from);
}
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void StoreCount(hn::Vec<D> v, D d, size_t count, T* to) {
  count == HWY_LANES(T) ? hn::StoreU(v, d, to) : StoreFirst(v, d, count, to);
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
