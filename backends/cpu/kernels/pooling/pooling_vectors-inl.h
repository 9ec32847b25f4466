// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The vectors that pooling computes with, once per instruction set: included between Highway's target changes.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_VECTORS_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_VECTORS_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_VECTORS_INL_H_
#endif

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/compact.h"
#include "kernels/reduction/reduction_load-inl.h"
#include "simd/simd_partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Elements of type T as vectors, of at most kMaxLanes lanes, of the type that they are computed in.
template <typename T, int64_t kMaxLanes = HWY_LANES(Accumulator<T>)>
struct PoolVectors {
  using A = Accumulator<T>;
  using D = hn::CappedTag<A, static_cast<size_t>(kMaxLanes)>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr int64_t kLanes = kMaxLanes;

  static HWY_INLINE V Load(const T* from) {
    if constexpr (std::is_same_v<T, A>) {
      return hn::LoadU(D(), from);
    } else {
      return LoadHalves(from);
    }
  }
  // Reads `n` elements, fewer than there are lanes.
  static HWY_INLINE V LoadFirst(const T* from, int64_t n) {
    if constexpr (std::is_same_v<T, A> && sizeof(A) >= 4) {
      return tandem::cpu::HWY_NAMESPACE::LoadFirst(D(), static_cast<size_t>(n), from);
    } else {
      T elements[kLanes] = {};
      std::copy_n(from, n, elements);
      return Load(elements);
    }
  }
  static HWY_INLINE V LoadNumbers(const A* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void Store(V v, A* to) { hn::StoreU(v, D(), to); }
  static HWY_INLINE void StoreFirst(V v, A* to, int64_t n) {
    if constexpr (sizeof(A) >= 4) {
      tandem::cpu::HWY_NAMESPACE::StoreFirst(v, D(), static_cast<size_t>(n), to);
    } else {
      A elements[kLanes];
      Store(v, elements);
      std::copy_n(elements, n, to);
    }
  }
  // Of memory that was just stored to, by vectors that begin elsewhere: Highway's pointers promise the compiler that
  // this does not happen, and GCC 12 then reads before it stores.
  static HWY_INLINE V LoadSums(const A* from) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return hn::LoadU(D(), from);
  }
  static HWY_INLINE V Set(A value) { return hn::Set(D(), value); }
  static HWY_INLINE V Add(V x, V y) { return hn::Add(x, y); }
  static HWY_INLINE V Div(V x, V y) { return hn::Div(x, y); }
  // The larger, or NaN if one is.
  static HWY_INLINE V Larger(V x, V y) {
    if constexpr (std::is_floating_point_v<A>) {
      return hn::IfThenElse(hn::Or(hn::Gt(y, x), hn::IsNaN(y)), y, x);
    } else {
      return hn::Max(x, y);
    }
  }
  // The larger, the first if neither is; either if one is NaN.
  static HWY_INLINE V LargerNumber(V x, V y) {
#if HWY_TARGET == HWY_WASM
    // A comparison and a choice in one instruction; what Max does about NaN takes several.
    if constexpr (std::is_same_v<A, float>) return V{wasm_f32x4_pmax(x.raw, y.raw)};
#endif
    return hn::Max(y, x);
  }
  // The elements at even and at odd places of two vectors' worth.
  static HWY_INLINE void LoadPairs(const T* from, V& even, V& odd) {
    if constexpr (std::is_same_v<T, A>) return LoadNumberPairs(from, even, odd);
#if HWY_TARGET == HWY_SCALAR
    even = Load(from);
    odd = Load(from + 1);
#else
    const V lower = Load(from);
    const V upper = Load(from + kLanes);
    even = hn::ConcatEven(D(), upper, lower);
    odd = hn::ConcatOdd(D(), upper, lower);
#endif
  }
  static HWY_INLINE void LoadNumberPairs(const A* from, V& even, V& odd) { hn::LoadInterleaved2(D(), from, even, odd); }
  static HWY_INLINE void StorePairs(V even, V odd, A* to) { hn::StoreInterleaved2(even, odd, D(), to); }
  // In all lanes but the first `n`.
  static HWY_INLINE M AllAfter(int64_t n) { return hn::Not(hn::FirstN(D(), static_cast<size_t>(n))); }
  static HWY_INLINE bool HasNan(V v) {
    if constexpr (std::is_floating_point_v<A>) {
      return !hn::AllFalse(D(), hn::IsNaN(v));
    } else {
      return false;
    }
  }
  // Where both are the same number or both are NaN; has_nan: HasNan(y).
  static HWY_INLINE M IsSame(V x, V y, bool has_nan) {
    M result = hn::Eq(x, y);
    if constexpr (std::is_floating_point_v<A>) {
      if (HWY_UNLIKELY(has_nan)) result = hn::Or(result, hn::And(hn::IsNaN(x), hn::IsNaN(y)));
    }
    return result;
  }
  static HWY_INLINE M And(M x, M y) { return hn::And(x, y); }
  static HWY_INLINE M AndNot(M x, M y) { return hn::AndNot(x, y); }
  static HWY_INLINE V OnlyWhere(M mask, V v) { return hn::IfThenElseZero(mask, v); }
  static HWY_INLINE V Select(M mask, V yes, V no) { return hn::IfThenElse(mask, yes, no); }
  // The first lane where `mask` is true, or -1.
  static HWY_INLINE int64_t FirstOf(M mask) { return static_cast<int64_t>(hn::FindFirstTrue(D(), mask)); }

 private:
  static HWY_INLINE V LoadHalves(const T* from) {
    const hn::RebindToUnsigned<D> bits;
    const hn::Rebind<uint16_t, D> half;
    if constexpr (std::is_same_v<T, BFloat16>) {
      const auto loaded = hn::PromoteTo(bits, hn::LoadU(half, &from->bits));
      return hn::BitCast(D(), hn::ShiftLeft<16>(loaded));
    } else {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
      const hn::Rebind<hwy::float16_t, D> f16;
      return hn::PromoteTo(D(), hn::BitCast(f16, hn::LoadU(half, &from->bits)));
#else
      // As Widen does.
      const auto loaded = hn::PromoteTo(bits, hn::LoadU(half, &from->bits));
      const auto magnitude = hn::And(loaded, hn::Set(bits, 0x7FFFu));
      const auto value = hn::Mul(hn::BitCast(D(), hn::ShiftLeft<13>(magnitude)), hn::Set(D(), 0x1p112f));
      const auto special = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(bits, 0x7BFFu)), hn::Set(bits, 0x7F800000u));
      const auto sign = hn::ShiftLeft<16>(hn::And(loaded, hn::Set(bits, 0x8000u)));
      return hn::BitCast(D(), hn::Or(hn::Or(hn::BitCast(bits, value), special), sign));
#endif
    }
  }
};

// The same for single numbers, where there are no vectors of a type, or too much code for them.
template <typename T>
struct PoolNumbers {
  using A = Accumulator<T>;
  using V = A;
  using M = bool;
  static constexpr int64_t kLanes = 1;
  static V Load(const T* from) { return tandem::cpu::HWY_NAMESPACE::Load<A>(*from); }
  static V LoadFirst(const T* from, int64_t) { return Load(from); }
  static void StoreFirst(V v, A* to, int64_t) { *to = v; }
  static V LoadNumbers(const A* from) { return *from; }
  static V LoadSums(const A* from) { return *from; }
  static void Store(V v, A* to) { *to = v; }
  static V Set(A value) { return value; }
  static V Add(V x, V y) { return x + y; }
  static V Div(V x, V y) { return x / y; }
  static V Larger(V x, V y) { return y > x || y != y ? y : x; }
  static V LargerNumber(V x, V y) { return y > x ? y : x; }
  static void LoadPairs(const T* from, V& even, V& odd) {
    even = Load(from);
    odd = Load(from + 1);
  }
  static void LoadNumberPairs(const A* from, V& even, V& odd) {
    even = from[0];
    odd = from[1];
  }
  static void StorePairs(V even, V odd, A* to) {
    to[0] = even;
    to[1] = odd;
  }
  static M AllAfter(int64_t n) { return n == 0; }
  static bool HasNan(V v) { return v != v; }
  static M IsSame(V x, V y, bool) { return x == y || (x != x && y != y); }
  static M And(M x, M y) { return x && y; }
  static M AndNot(M x, M y) { return !x && y; }
  static V OnlyWhere(M mask, V v) { return mask ? v : A{0}; }
  static V Select(M mask, V yes, V no) { return mask ? yes : no; }
  static int64_t FirstOf(M mask) { return mask ? 0 : -1; }
};

template <typename T>
using PoolOps = std::conditional_t<(std::is_same_v<T, double> && !HWY_HAVE_FLOAT64) || kIsCompact<T>, PoolNumbers<T>,
                                   PoolVectors<T>>;

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
