// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Transposing small squares; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_TRANSPOSE_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_TRANSPOSE_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_TRANSPOSE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
// Lane j of row i goes to to[j * to_stride + i], of four elements of 4 bytes each.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreTransposed(D d, V row0, V row1, V row2, V row3, hn::TFromD<D>* to, int64_t to_stride) {
  const V even0 = hn::InterleaveLower(d, row0, row2);
  const V odd0 = hn::InterleaveLower(d, row1, row3);
  const V even1 = hn::InterleaveUpper(d, row0, row2);
  const V odd1 = hn::InterleaveUpper(d, row1, row3);
  hn::StoreU(hn::InterleaveLower(d, even0, odd0), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even0, odd0), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, even1, odd1), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, even1, odd1), d, to + 3 * to_stride);
}
#endif

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
