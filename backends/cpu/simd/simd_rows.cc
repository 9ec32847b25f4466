// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Sums, extremes and softmax of contiguous rows.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/polls.h"
#include "simd/relaxed_kernels.h"
#include "simd/simd_math.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/simd_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/simd_math-inl.h"
#include "simd/simd_partial-inl.h"
#include "simd/simd_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

// What rows need of a vector type.
template <typename T>
struct VectorOps {
  using Sums = SumVectors<T>;
  static constexpr int64_t kLanes = HWY_LANES(T);
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static HWY_INLINE V Load(const T* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE V LoadFirst(size_t count, const T* from) { return HWY_NAMESPACE::LoadFirst(D(), count, from); }
  static HWY_INLINE void Store(V v, T* to) { hn::StoreU(v, D(), to); }
  static HWY_INLINE void StoreFirst(V v, size_t count, T* to) { HWY_NAMESPACE::StoreFirst(v, D(), count, to); }
  static HWY_INLINE V ZeroAfter(V v, size_t count) { return hn::IfThenElseZero(hn::FirstN(D(), count), v); }
  static HWY_INLINE V Set(T value) { return hn::Set(D(), value); }
  static HWY_INLINE V Add(V x, V y) { return hn::Add(x, y); }
  static HWY_INLINE V Sub(V x, V y) { return hn::Sub(x, y); }
  static HWY_INLINE V Mul(V x, V y) { return hn::Mul(x, y); }
  static HWY_INLINE V Exp(V x) { return VectorExp(D(), x); }
  static HWY_INLINE V NormalExp(V x) { return HWY_NAMESPACE::NormalExp(D(), x); }
  static HWY_INLINE V Log(V x) { return VectorLog(D(), x); }
  // Of numbers; what they make of NaN differs from target to target.
#if HWY_TARGET == HWY_WASM
  // A comparison and a choice in one instruction; what hn::Max does about NaN takes several. There are no vectors of
  // f64.
  static HWY_INLINE V Max(V x, V y) { return V{wasm_f32x4_pmax(x.raw, y.raw)}; }
  static HWY_INLINE V Min(V x, V y) { return V{wasm_f32x4_pmin(x.raw, y.raw)}; }
#else
  static HWY_INLINE V Max(V x, V y) { return hn::Max(x, y); }
  static HWY_INLINE V Min(V x, V y) { return hn::Min(x, y); }
#endif
  static HWY_INLINE T MaxOfLanes(V v) { return hn::GetLane(hn::MaxOfLanes(D(), v)); }
  static HWY_INLINE T MinOfLanes(V v) { return hn::GetLane(hn::MinOfLanes(D(), v)); }
  using Mask = hn::Mask<D>;
  static HWY_INLINE Mask IsNan(V v) { return hn::IsNaN(v); }
  static HWY_INLINE Mask Or(Mask x, Mask y) { return hn::Or(x, y); }
  static HWY_INLINE bool AnyTrue(Mask mask) { return !hn::AllFalse(D(), mask); }
};

// The same for a single number.
template <typename T>
struct ScalarOps {
  using Sums = SumNumbers<T>;
  static constexpr int64_t kLanes = 1;
  using V = T;
  static V Load(const T* from) { return *from; }
  static V LoadFirst(size_t, const T* from) { return *from; }
  static void Store(V v, T* to) { *to = v; }
  static void StoreFirst(V v, size_t, T* to) { *to = v; }
  static V ZeroAfter(V v, size_t) { return v; }
  static V Set(T value) { return value; }
  static V Add(V x, V y) { return x + y; }
  static V Sub(V x, V y) { return x - y; }
  static V Mul(V x, V y) { return x * y; }
  static V Exp(V x) { return MathOfRun().exp(x); }
  static V NormalExp(V x) { return Exp(x); }
  static V Log(V x) { return MathOfRun().log(x); }
  static V Max(V x, V y) { return x > y ? x : y; }
  static V Min(V x, V y) { return x < y ? x : y; }
  static T MaxOfLanes(V v) { return v; }
  static T MinOfLanes(V v) { return v; }
  using Mask = bool;
  static Mask IsNan(V v) { return std::isnan(v); }
  static Mask Or(Mask x, Mask y) { return x || y; }
  static bool AnyTrue(Mask mask) { return mask; }
};

template <typename T>
using RowOps = std::conditional_t<std::is_same_v<T, double> && !HWY_HAVE_FLOAT64, ScalarOps<T>, VectorOps<T>>;

// The elements themselves.
template <class Ops, class Numbers = typename Ops::Sums>
struct Elements : Numbers {
  using T = typename Numbers::T;
  using V = typename Numbers::V;
  static constexpr int kSums = 1;
  const T* x;

  HWY_INLINE void AddTo(V (&sums)[1], int64_t i) const { sums[0] = Numbers::Add(sums[0], Numbers::LoadAny(x + i)); }
  HWY_INLINE void AddFirstTo(V (&sums)[1], size_t n, int64_t i) const {
    sums[0] = Numbers::Add(sums[0], Numbers::LoadFirst(n, x + i));
  }
};

// e to the elements.
template <class Ops, class Numbers = typename Ops::Sums>
struct Exponentials : Numbers {
  using T = typename Numbers::T;
  using V = typename Numbers::V;
  static constexpr int kSums = 1;
  const T* x;

  HWY_INLINE void AddTo(V (&sums)[1], int64_t i) const {
    sums[0] = Numbers::Add(sums[0], Ops::Exp(Numbers::LoadAny(x + i)));
  }
  HWY_INLINE void AddFirstTo(V (&sums)[1], size_t n, int64_t i) const {
    const V exponential = Ops::Exp(Numbers::LoadFirst(n, x + i));
    sums[0] = Numbers::Add(sums[0], Numbers::SelectFirst(n, exponential, Numbers::Zero()));
  }
};

// e to the differences from the largest element, which are normal numbers, and left at y, which may be x.
template <class Ops, class Numbers = typename Ops::Sums>
struct NormalExponentials : Numbers {
  using T = typename Numbers::T;
  using V = typename Numbers::V;
  static constexpr int kSums = 1;
  const T* x;
  T* y;
  T largest;

  HWY_INLINE void AddTo(V (&sums)[1], int64_t i) const {
    const V exponential = Of(Numbers::LoadAny(x + i));
    Ops::Store(exponential, y + i);
    sums[0] = Numbers::Add(sums[0], exponential);
  }
  HWY_INLINE void AddFirstTo(V (&sums)[1], size_t n, int64_t i) const {
    const V exponential = Of(Numbers::LoadFirst(n, x + i));
    Ops::StoreFirst(exponential, n, y + i);
    sums[0] = Numbers::Add(sums[0], Numbers::SelectFirst(n, exponential, Numbers::Zero()));
  }

 private:
  HWY_INLINE V Of(V v) const { return Ops::NormalExp(Ops::Sub(v, Ops::Set(largest))); }
};

template <class TermsOfX, typename T>
T SumRow(const T* x, int64_t count) {
  TermsOfX terms;
  terms.x = x;
  T sum;
  SumTerms(terms, 0, count, &sum);
  return sum;
}

// The largest or smallest of the zeros in x, where -0 is smaller than 0: instructions differ in which one they choose.
template <bool kSmallest, typename T>
T ExtremeZero(const T* x, int64_t count) {
  constexpr T kExtreme = kSmallest ? -T{0} : T{0};
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < count && !poll.Stops(); ++i) {
    if (x[i] == T{0} && std::signbit(x[i]) == kSmallest) return kExtreme;
  }
  return -kExtreme;
}

// The largest or smallest of x, NaN if one is; the neutral infinity if there are none.
template <bool kSmallest, typename T, class Ops = RowOps<T>>
T Extreme(const T* x, int64_t count) {
  using V = typename Ops::V;
  constexpr int64_t kLanes = Ops::kLanes;
  const auto choose = [](V a, V b) HWY_ATTR { return kSmallest ? Ops::Min(a, b) : Ops::Max(a, b); };
  if (count < kLanes) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    T result = kSmallest ? kInfinity : -kInfinity;
    for (int64_t i = 0; i < count; ++i) {
      if (std::isnan(x[i])) return x[i];
      result = kSmallest ? ScalarOps<T>::Min(result, x[i]) : ScalarOps<T>::Max(result, x[i]);
    }
    return result == T{0} ? ExtremeZero<kSmallest>(x, count) : result;
  }
  V best0 = Ops::Load(x), best1 = best0, best2 = best0, best3 = best0;
  typename Ops::Mask nan = Ops::IsNan(best0);
  int64_t i = 0;
  while (i + 4 * kLanes <= count) {
    if (i > 0 && KernelRun::IsStopped()) return T{0};
    const int64_t end = std::min(count, i + kPollElements);
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      const V v0 = Ops::Load(x + i), v1 = Ops::Load(x + i + kLanes);
      const V v2 = Ops::Load(x + i + 2 * kLanes), v3 = Ops::Load(x + i + 3 * kLanes);
      best0 = choose(best0, v0);
      best1 = choose(best1, v1);
      best2 = choose(best2, v2);
      best3 = choose(best3, v3);
      nan = Ops::Or(nan, Ops::Or(Ops::Or(Ops::IsNan(v0), Ops::IsNan(v1)), Ops::Or(Ops::IsNan(v2), Ops::IsNan(v3))));
    }
  }
  const auto add_to_first = [&](V v) HWY_ATTR {
    best0 = choose(best0, v);
    nan = Ops::Or(nan, Ops::IsNan(v));
  };
  for (; i + kLanes <= count; i += kLanes) add_to_first(Ops::Load(x + i));
  add_to_first(Ops::Load(x + count - kLanes));  // the rest, and some elements again
  if (Ops::AnyTrue(nan)) return std::numeric_limits<T>::quiet_NaN();
  const V best = choose(choose(best0, best1), choose(best2, best3));
  const T result = kSmallest ? Ops::MinOfLanes(best) : Ops::MaxOfLanes(best);
  return result == T{0} ? ExtremeZero<kSmallest>(x, count) : result;
}

template <class Ops, typename T, class F>
HWY_INLINE void MapRow(const T* x, int64_t size, T* y, F function) {
  constexpr ptrdiff_t kLanes = Ops::kLanes;
  const auto count = static_cast<ptrdiff_t>(size);
  ptrdiff_t i = 0;
  while (i + kLanes <= count) {
    if (i > 0 && KernelRun::IsStopped()) return;
    const ptrdiff_t end = std::min<ptrdiff_t>(count, i + kPollElements / 4);
    for (; i + kLanes <= end; i += kLanes) Ops::Store(function(Ops::Load(x + i)), y + i);
  }
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    Ops::StoreFirst(function(Ops::LoadFirst(rest, x + i)), rest, y + i);
  }
}

// The largest of x, at least one number, and whether all are numbers so near to it that e to the difference is normal.
// What it says of the largest where that is not so holds but for NaN.
template <typename T>
struct Range {
  T largest;
  bool is_narrow;
};

template <typename T, class Ops = RowOps<T>>
Range<T> RangeOf(const T* x, int64_t size) {
  using V = typename Ops::V;
  constexpr ptrdiff_t kLanes = Ops::kLanes;
  constexpr ptrdiff_t kStep = 4 * kLanes;
  const auto count = static_cast<ptrdiff_t>(size);
  T largest = x[0], smallest = x[0], sum = 0;
  ptrdiff_t i = 0;
  if (count >= kStep) {
    V most[4], least[4], sums[2] = {Ops::Set(0), Ops::Set(0)};
    HWY_UNROLL(4)
    for (int j = 0; j < 4; ++j) most[j] = least[j] = Ops::Load(x + j * kLanes);
    while (i + kStep <= count) {
      if (i > 0 && KernelRun::IsStopped()) return {};
      const ptrdiff_t end = std::min<ptrdiff_t>(count, i + kPollElements);
      for (; i + kStep <= end; i += kStep) {
        HWY_UNROLL(4)
        for (int j = 0; j < 4; ++j) {
          const V v = Ops::Load(x + i + j * kLanes);
          most[j] = Ops::Max(most[j], v);
          least[j] = Ops::Min(least[j], v);
          sums[j % 2] = Ops::Add(sums[j % 2], v);
        }
      }
    }
    T lanes[kLanes];
    Ops::Store(Ops::Add(sums[0], sums[1]), lanes);
    for (ptrdiff_t width = kLanes / 2; width > 0; width /= 2) {  // not one after the other, which takes long
      for (ptrdiff_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
    }
    sum = lanes[0];
    largest = Ops::MaxOfLanes(Ops::Max(Ops::Max(most[0], most[1]), Ops::Max(most[2], most[3])));
    smallest = Ops::MinOfLanes(Ops::Min(Ops::Min(least[0], least[1]), Ops::Min(least[2], least[3])));
  }
  for (; i < count; ++i) {
    largest = ScalarOps<T>::Max(largest, x[i]);
    smallest = ScalarOps<T>::Min(smallest, x[i]);
    sum += x[i];
  }
  // The sum tells of NaN, at less cost than comparisons. It is infinite or NaN for some that have none: they take
  // longer.
  const bool is_finite = sum - sum == T{0};
  return {largest, is_finite && largest - smallest < MathConstants<T>::kExpNormal};
}

// y = e^(x - largest); gives the sum. `y` may be `x`.
template <class Ops, typename T>
T ExponentialsAndSum(const T* x, int64_t cols, T* y) {
  using V = typename Ops::V;
  const Range<T> range = RangeOf<T, Ops>(x, cols);
  if (range.is_narrow) {
    NormalExponentials<Ops> terms;
    terms.x = x;
    terms.y = y;
    terms.largest = range.largest;
    T sum;
    SumTerms(terms, 0, cols, &sum);
    return sum;
  }
  const V largest = Ops::Set(range.largest);
  MapRow<Ops>(x, cols, y, [largest](V v) HWY_ATTR { return Ops::Exp(Ops::Sub(v, largest)); });
  return SumRow<Elements<Ops>>(y, cols);
}

// y = x * factor
template <class Ops, typename T>
void ScaleRow(const T* x, int64_t size, T factor, T* y) {
  using V = typename Ops::V;
  constexpr ptrdiff_t kLanes = Ops::kLanes;
  const auto count = static_cast<ptrdiff_t>(size);
  const V scale = Ops::Set(factor);
  ptrdiff_t i = 0;
  if (count <= kPollElements) {
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      HWY_UNROLL(4)
      for (int j = 0; j < 4; ++j) Ops::Store(Ops::Mul(Ops::Load(x + i + j * kLanes), scale), y + i + j * kLanes);
    }
  }
  MapRow<Ops>(x + i, count - i, y + i, [scale](V v) HWY_ATTR { return Ops::Mul(v, scale); });
}

template <typename T, class Ops = RowOps<T>>
void SoftmaxRows(const T* x, int64_t rows, int64_t cols, T* y) {
  if (cols == 0) return;
  for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
    const T sum = ExponentialsAndSum<Ops>(x, cols, y);
    ScaleRow<Ops>(y, cols, T{1} / sum, y);
  }
}

template <typename T, class Ops = RowOps<T>>
void LogSoftmaxRows(const T* x, int64_t rows, int64_t cols, T* y) {
  using V = typename Ops::V;
  for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
    const V max = Ops::Set(Extreme<false>(x, cols));
    MapRow<Ops>(x, cols, y, [max](V v) HWY_ATTR { return Ops::Sub(v, max); });
    const V log_sum = Ops::Log(Ops::Set(SumRow<Exponentials<Ops>>(y, cols)));
    MapRow<Ops>(y, cols, y, [log_sum](V v) HWY_ATTR { return Ops::Sub(v, log_sum); });
  }
}

}  // namespace

void SoftmaxF32(const float* x, int64_t rows, int64_t cols, float* y) {
  if (kHasRelaxed && ComputeRelaxedSoftmax(x, rows, cols, y)) return;
  SoftmaxRows(x, rows, cols, y);
}
void LogSoftmaxF32(const float* x, int64_t rows, int64_t cols, float* y) { LogSoftmaxRows(x, rows, cols, y); }

#ifndef TANDEM_SIMD_EXACT
// Vectors of f64 have functions of their own, which are not those of exact mode.
void SoftmaxF64(const double* x, int64_t rows, int64_t cols, double* y) {
  KernelRun::IsExact() ? SoftmaxRows<double, ScalarOps<double>>(x, rows, cols, y) : SoftmaxRows(x, rows, cols, y);
}
void LogSoftmaxF64(const double* x, int64_t rows, int64_t cols, double* y) {
  KernelRun::IsExact() ? LogSoftmaxRows<double, ScalarOps<double>>(x, rows, cols, y) : LogSoftmaxRows(x, rows, cols, y);
}
float SumF32(const float* x, int64_t count) { return SumRow<Elements<RowOps<float>>>(x, count); }
double SumF64(const double* x, int64_t count) { return SumRow<Elements<RowOps<double>>>(x, count); }
float MaxF32(const float* x, int64_t count) { return Extreme<false>(x, count); }
double MaxF64(const double* x, int64_t count) { return Extreme<false>(x, count); }
float MinF32(const float* x, int64_t count) { return Extreme<true>(x, count); }
double MinF64(const double* x, int64_t count) { return Extreme<true>(x, count); }
#endif

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace TANDEM_CPU_NAMESPACE {

HWY_EXPORT(SoftmaxF32);
HWY_EXPORT(LogSoftmaxF32);
#ifndef TANDEM_SIMD_EXACT
HWY_EXPORT(SoftmaxF64);
HWY_EXPORT(LogSoftmaxF64);
HWY_EXPORT(SumF32);
HWY_EXPORT(SumF64);
HWY_EXPORT(MaxF32);
HWY_EXPORT(MaxF64);
HWY_EXPORT(MinF32);
HWY_EXPORT(MinF64);

namespace exact::simd {
void Softmax(const float* x, int64_t rows, int64_t cols, float* y);
void LogSoftmax(const float* x, int64_t rows, int64_t cols, float* y);
}  // namespace exact::simd
#endif

namespace simd {

void Softmax(const float* x, int64_t rows, int64_t cols, float* y) {
  TANDEM_IF_EXACT(simd::Softmax(x, rows, cols, y));
  HWY_DYNAMIC_DISPATCH(SoftmaxF32)(x, rows, cols, y);
}
void LogSoftmax(const float* x, int64_t rows, int64_t cols, float* y) {
  TANDEM_IF_EXACT(simd::LogSoftmax(x, rows, cols, y));
  HWY_DYNAMIC_DISPATCH(LogSoftmaxF32)(x, rows, cols, y);
}

#ifndef TANDEM_SIMD_EXACT
void Softmax(const double* x, int64_t rows, int64_t cols, double* y) {
  HWY_DYNAMIC_DISPATCH(SoftmaxF64)(x, rows, cols, y);
}
void LogSoftmax(const double* x, int64_t rows, int64_t cols, double* y) {
  HWY_DYNAMIC_DISPATCH(LogSoftmaxF64)(x, rows, cols, y);
}

float Sum(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(SumF32)(x, count); }
double Sum(const double* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(SumF64)(x, count); }
float Max(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(MaxF32)(x, count); }
double Max(const double* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(MaxF64)(x, count); }
float Min(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(MinF32)(x, count); }
double Min(const double* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(MinF64)(x, count); }
#endif

}  // namespace simd
}  // namespace TANDEM_CPU_NAMESPACE

#endif  // HWY_ONCE
