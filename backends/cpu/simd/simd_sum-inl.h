// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Sums whose order of additions depends on their number alone (NU-1); compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_SUM_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_SUM_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_SUM_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/polls.h"
#include "simd/simd_fused-inl.h"
#include "simd/simd_partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The lanes of a vector: the first half plus the second half, until one is left.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::TFromD<D> SumByHalves([[maybe_unused]] D d, V v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(d) > 1) {
    const hn::Half<D> half;
    return SumByHalves(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

// Numbers are added up in as many lanes as four of the widest vectors have, whatever the width of this target's: number
// i goes to lane i modulo this.
template <typename T>
inline constexpr int64_t kSumLanes = 256 / sizeof(T);
// So many a lane, so that rounding errors stay small; longer rows are halved until they are this short.
template <typename T>
inline constexpr int64_t kSumBlock = 32 * kSumLanes<T>;

#ifdef TANDEM_SMALL
inline constexpr bool kIsSmallCode = true;
#else
inline constexpr bool kIsSmallCode = false;
#endif

// The sums of a short row's terms, kSums of them. Terms is SumVectors or SumNumbers (below) and
//   AddTo(V (&sums)[kSums], int64_t i): adds the terms of the numbers from i on, one to each lane;
//   AddFirstTo(V (&sums)[kSums], size_t n, int64_t i): the same for `n` numbers, fewer than there are lanes; adds 0, or
//     nothing, to the other lanes.
template <class Terms, typename T = typename Terms::T, int kSums = Terms::kSums>
HWY_INLINE void SumBlock(const Terms& terms, int64_t first_number, int64_t end_of_numbers, T* sums) {
  using V = typename Terms::V;
  // As wide as a pointer: a wider index would be converted for each access.
  const auto begin = static_cast<ptrdiff_t>(first_number);
  const auto end = static_cast<ptrdiff_t>(end_of_numbers);
  constexpr int64_t kLanes = Terms::kLanes;
  constexpr int64_t kVectors = kSumLanes<T> / kLanes;
  // As many vectors at a time as registers hold beside what the terms need.
  constexpr int64_t kGroup = std::min<int64_t>(kVectors, kIsSmallCode || kLanes == 1 ? 4 / kSums : 8 / kSums);
  alignas(64) T lanes[kSums][kSumLanes<T>];
  // Lanes that get no number need not be looked at: a sum that begins with 0 is never -0, so adding 0 changes nothing.
  ptrdiff_t width = kSumLanes<T>;
  while (width / 2 >= end - begin && width > kGroup * kLanes) width /= 2;
  for (ptrdiff_t first = 0; first < width; first += kGroup * kLanes) {
    V group[kGroup][kSums];
    HWY_UNROLL(8)
    for (int64_t j = 0; j < kGroup; ++j) {
      for (int s = 0; s < kSums; ++s) group[j][s] = Terms::Zero();
    }
    ptrdiff_t i = begin + first;
    for (; i + kGroup * kLanes <= end; i += kSumLanes<T>) {
      HWY_UNROLL(8)
      for (int64_t j = 0; j < kGroup; ++j) terms.AddTo(group[j], i + j * kLanes);
    }
    if constexpr (kGroup == kVectors) {
      // Without a rest, everything stays in registers.
      if (i == end) {
        HWY_UNROLL(3)
        for (int64_t half = kGroup / 2; half > 0; half /= 2) {
          HWY_UNROLL(4)
          for (int64_t j = 0; j < half; ++j) {
            for (int s = 0; s < kSums; ++s) group[j][s] = Terms::Add(group[j][s], group[j + half][s]);
          }
        }
        for (int s = 0; s < kSums; ++s) sums[s] = Terms::Sum(group[0][s]);
        return;
      }
    }
    HWY_UNROLL(8)
    for (int64_t j = 0; j < kGroup; ++j) {
      for (int s = 0; s < kSums; ++s) Terms::Store(group[j][s], lanes[s] + first + j * kLanes);
    }
    // The rest, fewer than a group, where it lies: short code for what happens once a row.
    for (T* to = lanes[0] + first; i < end; i += kLanes, to += kLanes) {
      V last[kSums];
      for (int s = 0; s < kSums; ++s) last[s] = Terms::Load(to + s * kSumLanes<T>);
      if (end - i >= kLanes) {
        terms.AddTo(last, i);
      } else {
        terms.AddFirstTo(last, static_cast<size_t>(end - i), i);
      }
      for (int s = 0; s < kSums; ++s) Terms::Store(last[s], to + s * kSumLanes<T>);
    }
  }
  for (int s = 0; s < kSums; ++s) {
    for (ptrdiff_t half = width / 2; half >= kLanes; half /= 2) {
      for (ptrdiff_t j = 0; j < half; j += kLanes) {
        Terms::Store(Terms::Add(Terms::Load(lanes[s] + j), Terms::Load(lanes[s] + j + half)), lanes[s] + j);
      }
    }
    sums[s] = Terms::Sum(Terms::Load(lanes[s]));
  }
}

// The same for a row of any length: by pairs of blocks, so that the error bound grows with its logarithm. Something
// once the kernel is to end.
template <class Terms, typename T = typename Terms::T, int kSums = Terms::kSums>
HWY_NOINLINE void SumTerms(const Terms& terms, int64_t begin, int64_t end, T* sums) {
  const int64_t count = end - begin;
  if (count <= kSumBlock<T>) return SumBlock(terms, begin, end, sums);
  if (count > kPollElements && KernelRun::IsStopped()) {
    std::fill_n(sums, kSums, T{0});
    return;
  }
  const int64_t middle = begin + (count / 2 + kSumBlock<T> - 1) / kSumBlock<T> * kSumBlock<T>;
  T more[kSums];
  SumTerms(terms, begin, middle, sums);
  SumTerms(terms, middle, end, more);
  for (int s = 0; s < kSums; ++s) sums[s] += more[s];
}

// ---- Vectors and numbers to make Terms of.

template <typename Number>
struct SumVectors {
  using T = Number;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int64_t kLanes = HWY_LANES(T);
  static HWY_INLINE V Zero() { return hn::Zero(D()); }
  static HWY_INLINE V Set(T value) { return hn::Set(D(), value); }
  static HWY_INLINE V Load(const T* from) { return hn::Load(D(), from); }
  static HWY_INLINE V LoadAny(const T* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE V LoadFirst(size_t n, const T* from) {
    return TANDEM_CPU_NAMESPACE::HWY_NAMESPACE::LoadFirst(D(), n, from);
  }
  static HWY_INLINE void Store(V v, T* to) { hn::Store(v, D(), to); }
  static HWY_INLINE V Add(V x, V y) { return hn::Add(x, y); }
  static HWY_INLINE V Subtract(V x, V y) { return hn::Sub(x, y); }
  static HWY_INLINE V AddProduct(V x, V y, V sum) { return MultiplyAdd(x, y, sum); }
  // `yes` in the first `n` lanes, else `no`.
  static HWY_INLINE V SelectFirst(size_t n, V yes, V no) { return hn::IfThenElse(hn::FirstN(D(), n), yes, no); }
  static HWY_INLINE T Sum(V v) { return SumByHalves(D(), v); }
};

// Where there are no vectors.
template <typename Number>
struct SumNumbers {
  using T = Number;
  using V = T;
  static constexpr int64_t kLanes = 1;
  static HWY_INLINE V Zero() { return 0; }
  static HWY_INLINE V Set(T value) { return value; }
  static HWY_INLINE V Load(const T* from) { return *from; }
  static HWY_INLINE V LoadAny(const T* from) { return *from; }
  static HWY_INLINE V LoadFirst(size_t, const T* from) { return *from; }
  static HWY_INLINE void Store(V v, T* to) { *to = v; }
  static HWY_INLINE V Add(V x, V y) { return x + y; }
  static HWY_INLINE V Subtract(V x, V y) { return x - y; }
  static HWY_INLINE V AddProduct(V x, V y, V sum) { return x * y + sum; }
  static HWY_INLINE V SelectFirst(size_t, V yes, V) { return yes; }
  static HWY_INLINE T Sum(V v) { return v; }
};

template <typename T>
inline constexpr bool kHasSumVectors = !std::is_same_v<T, double> || HWY_HAVE_FLOAT64;

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
