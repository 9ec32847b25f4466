// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rounding vectors of f32 to bf16; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_BF16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_BF16_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_BF16_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_BF16_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_WASM && !HWY_HAVE_SCALABLE
HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Writes the bits that BFloat16's constructor gives: to the nearest, ties to even; a NaN becomes quiet.
template <class D>
HWY_INLINE void StoreBF16(hn::Vec<D> v, D d, uint16_t* to) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> narrow;
  const auto bits = hn::BitCast(du, v);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto to_even = hn::Add(hn::And(upper, hn::Set(du, 1)), hn::Set(du, 0x7FFF));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, to_even));
  const auto quiet = hn::Or(upper, hn::Set(du, 0x40));
  const auto is_number = hn::RebindMask(du, hn::Eq(v, v));
  const auto result = hn::IfThenElse(is_number, rounded, quiet);
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(di, result)), narrow, to);
}

}  // namespace
}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target guard
