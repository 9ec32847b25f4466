// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cumulative sums and products, once per instruction set. Of contiguous f32 and f64, registers of 16 bytes are scanned
// by shifting, so that only one addition in as many elements as two of them hold waits for the one before.

#include "kernels/scan/scan_rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "simd/simd_targets.h"
#include "tandem/op_selection.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scan/scan_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise/elementwise_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
template <typename T>
inline constexpr bool kHasRegisters = false;
#else
template <typename T>
inline constexpr bool kHasRegisters = std::is_same_v<T, float> || (HWY_HAVE_FLOAT64 && std::is_same_v<T, double>);
#endif

// Integers are unsigned here: those of two bytes and less are computed in 32 bits, where products cannot overflow.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T> && (sizeof(T) < 4), uint32_t, T>;

struct Sum {
  template <typename T>
  static HWY_INLINE T Start() {
    return T{};
  }
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return static_cast<T>(Wide<T>(x) + Wide<T>(y));
  }
  static HWY_INLINE Complex64 Apply(Complex64 x, Complex64 y) { return {x.re + y.re, x.im + y.im}; }
  template <class V>
  static HWY_INLINE V ApplyVector(V x, V y) {
    return hn::Add(x, y);
  }
};

struct Product {
  template <typename T>
  static HWY_INLINE T Start() {
    T one{};
    if constexpr (std::is_same_v<T, Complex64>) {
      one.re = 1;
    } else {
      one = 1;
    }
    return one;
  }
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return static_cast<T>(Wide<T>(x) * Wide<T>(y));
  }
  static HWY_INLINE Complex64 Apply(Complex64 x, Complex64 y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
  template <class V>
  static HWY_INLINE V ApplyVector(V x, V y) {
    return hn::Mul(x, y);
  }
};

template <typename Op, typename T>
void Combine(const void* x, const void* y, void* out) {
  const T left = x == nullptr ? Op::template Start<T>() : LoadElement<T>(x, 0);
  const T right = y == nullptr ? Op::template Start<T>() : LoadElement<T>(y, 0);
  StoreElement(Op::Apply(left, right), out, 0);
}

// Elements [first, n) in the order of the scan, of which those before come to `sum`.
template <typename Op, typename T>
T AlongOneByOne(const void* x, void* out, int64_t first, int64_t n, ScanOrder order, T start, T sum) {
  for (int64_t i = first; i < n; ++i) {
    const int64_t at = order.reverse ? n - 1 - i : i;
    const T before = sum;
    sum = Op::Apply(sum, LoadElement<T>(x, at));
    if (out != nullptr) StoreElement(Op::Apply(start, order.exclusive ? before : sum), out, at);
  }
  return sum;
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// 16 bytes of f32 or f64.
template <typename T>
struct VectorRegister {
  using D = hn::FixedTag<T, 16 / sizeof(T)>;
  using V = hn::Vec<D>;
  static constexpr int64_t kLanes = 16 / sizeof(T);

  static HWY_INLINE V Load(const T* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void Store(V v, T* to) { hn::StoreU(v, D(), to); }
  static HWY_INLINE V Set(T value) { return hn::Set(D(), value); }
  static HWY_INLINE V Reverse(V v) { return hn::Reverse(D(), v); }
  static HWY_INLINE V SpreadLast(V v) { return hn::Broadcast<kLanes - 1>(v); }
  static HWY_INLINE T First(V v) { return hn::GetLane(v); }
  // The elements kCount lanes further on, behind as many of `first`; kZero: which are 0.
  template <int kCount, bool kZero = false>
  static HWY_INLINE V Shift(V first, V v) {
    if constexpr (kZero) return hn::ShiftLeftLanes<kCount>(D(), v);
    return hn::IfThenElse(hn::FirstN(D(), kCount), first, hn::ShiftLeftLanes<kCount>(D(), v));
  }
  template <typename Op>
  static HWY_INLINE V Apply(V x, V y) {
    return Op::ApplyVector(x, y);
  }
};

#endif  // registers

// The same, where there are none.
template <typename T>
struct PlainRegister {
  static constexpr int64_t kLanes = 16 / sizeof(T);
  struct V {
    T lanes[kLanes];
  };

  static HWY_INLINE V Load(const T* from) {
    V v;
    std::memcpy(v.lanes, from, sizeof(v.lanes));
    return v;
  }
  static HWY_INLINE void Store(V v, T* to) { std::memcpy(to, v.lanes, sizeof(v.lanes)); }
  static HWY_INLINE V Set(T value) {
    V v;
    std::fill_n(v.lanes, kLanes, value);
    return v;
  }
  static HWY_INLINE V Reverse(V v) {
    std::reverse(v.lanes, v.lanes + kLanes);
    return v;
  }
  static HWY_INLINE V SpreadLast(V v) { return Set(v.lanes[kLanes - 1]); }
  static HWY_INLINE T First(V v) { return v.lanes[0]; }
  template <int kCount, bool kZero = false>
  static HWY_INLINE V Shift(V first, V v) {
    for (int64_t i = kCount; i < kLanes; ++i) first.lanes[i] = v.lanes[i - kCount];
    return first;
  }
  template <typename Op>
  static HWY_INLINE V Apply(V x, V y) {
    for (int64_t i = 0; i < kLanes; ++i) x.lanes[i] = Op::Apply(x.lanes[i], y.lanes[i]);
    return x;
  }
};

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
template <typename T>
using Register = PlainRegister<T>;
#else
template <typename T>
using Register = std::conditional_t<kHasRegisters<T>, VectorRegister<T>, PlainRegister<T>>;
#endif

// The scan of a register's own elements.
template <typename Op, class R, typename T, class V = typename R::V>
HWY_INLINE V ScanRegister(V v) {
  constexpr bool kZero = std::is_same_v<Op, Sum>;
  const V neutral = R::Set(Op::template Start<T>());
  v = R::template Apply<Op>(R::template Shift<1, kZero>(neutral, v), v);
  if constexpr (R::kLanes == 4) v = R::template Apply<Op>(R::template Shift<2, kZero>(neutral, v), v);
  return v;
}

// As many elements as whole pairs of registers hold; gives their number, and what they come to in `sum`.
template <typename Op, bool kReverse, bool kExclusive, class R, typename T>
int64_t AlongRegisters(const T* x, T* out, int64_t n, T start, T& sum) {
  using V = typename R::V;
  constexpr int64_t kLanes = R::kLanes;
  const V offset = R::Set(start);
  V carry = R::Set(sum);
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const int64_t first = kReverse ? n - i - kLanes : i;
    const int64_t second = kReverse ? first - kLanes : i + kLanes;
    const V x0 = R::Load(x + first);
    const V x1 = R::Load(x + second);
    const V own0 = ScanRegister<Op, R, T>(kReverse ? R::Reverse(x0) : x0);
    const V own1 = R::template Apply<Op>(R::SpreadLast(own0), ScanRegister<Op, R, T>(kReverse ? R::Reverse(x1) : x1));
    V y0 = R::template Apply<Op>(carry, own0);
    V y1 = R::template Apply<Op>(carry, own1);
    const V next = R::SpreadLast(y1);
    if constexpr (kExclusive) {
      y1 = R::template Shift<1>(R::SpreadLast(y0), y1);
      y0 = R::template Shift<1>(carry, y0);
    }
    carry = next;
    if (out == nullptr) continue;
    y0 = R::template Apply<Op>(offset, y0);
    y1 = R::template Apply<Op>(offset, y1);
    R::Store(kReverse ? R::Reverse(y0) : y0, out + first);
    R::Store(kReverse ? R::Reverse(y1) : y1, out + second);
  }
  sum = R::First(carry);
  return i;
}

template <typename Op, typename T>
void Along(const void* x, void* out, int64_t n, ScanOrder order, const void* start_at, void* total) {
  const T start = start_at == nullptr ? Op::template Start<T>() : LoadElement<T>(start_at, 0);
  T sum = Op::template Start<T>();
  int64_t done = 0;
  // Sums of floating-point numbers depend on the order of additions, which must not depend on the target.
  if constexpr (std::is_floating_point_v<T>) {
    using R = Register<T>;
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(out);
    if (order.reverse) {
      done = order.exclusive ? AlongRegisters<Op, true, true, R>(from, to, n, start, sum)
                             : AlongRegisters<Op, true, false, R>(from, to, n, start, sum);
    } else {
      done = order.exclusive ? AlongRegisters<Op, false, true, R>(from, to, n, start, sum)
                             : AlongRegisters<Op, false, false, R>(from, to, n, start, sum);
    }
  }
  sum = AlongOneByOne<Op, T>(x, out, done, n, order, start, sum);
  if (total != nullptr) StoreElement(sum, total, 0);
}

// One row: adds it to the sums, and writes them before or after.
template <typename Op, typename T, bool kExclusive>
HWY_INLINE void AcrossRow(const T* x, T* out, int64_t width, T* HWY_RESTRICT sums) {
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < width; ++i) {
    const T before = sums[i];
    const T after = Op::Apply(before, LoadElement<T>(x, i));
    sums[i] = after;
    StoreElement(kExclusive ? before : after, out, i);
  }
}

template <typename Op, typename T>
void Across(const void* x, void* out, int64_t n, int64_t stride, int64_t width, ScanOrder order) {
  constexpr int64_t kWidth = 2048 / sizeof(T);
  alignas(64) T sums[kWidth];
  const int64_t step = order.reverse ? -stride : stride;
  StopPoll poll(kPollElements);
  for (int64_t col = 0; col < width; col += kWidth) {
    const int64_t count = std::min(kWidth, width - col);
    for (int64_t i = 0; i < count; ++i) sums[i] = Op::template Start<T>();
    const T* from = static_cast<const T*>(x) + col + (order.reverse ? (n - 1) * stride : 0);
    T* to = static_cast<T*>(out) + col + (order.reverse ? (n - 1) * stride : 0);
    for (int64_t row = 0; row < n; ++row, from += step, to += step) {
      if (poll.Stops(count)) return;
      order.exclusive ? AcrossRow<Op, T, true>(from, to, count, sums) : AcrossRow<Op, T, false>(from, to, count, sums);
    }
  }
}

// Those for elements of the dtypes, if the build has kernels for any.
template <typename Op, typename T, DType... dtypes>
ScanRows MakeRows() {
  constexpr const char* kOp = std::is_same_v<Op, Sum> ? "tf.Cumsum" : "tf.Cumprod";
  if constexpr ((IsInBuild(dtypes, kOp) || ...)) {
    constexpr auto kMake = []() -> ScanRows {
      return {&Along<Op, T>, &Across<Op, T>, &Combine<Op, T>, kHasRegisters<T> ? 0.4f : 1.2f};
    };
    if constexpr (std::is_same_v<Op, Sum>) {
      return Recorded<"tf.Cumsum", dtypes...>(kMake);
    } else {
      return Recorded<"tf.Cumprod", dtypes...>(kMake);
    }
  } else {
    return {};
  }
}

template <typename Op>
ScanRows FindFor(DType dtype) {
  switch (dtype) {
    case DType::kU8:
    case DType::kI8:
      return MakeRows<Op, uint8_t, DType::kU8, DType::kI8>();
    case DType::kU16:
    case DType::kI16:
      return MakeRows<Op, uint16_t, DType::kU16, DType::kI16>();
    case DType::kU32:
    case DType::kI32:
      return MakeRows<Op, uint32_t, DType::kU32, DType::kI32>();
    case DType::kU64:
    case DType::kI64:
      return MakeRows<Op, uint64_t, DType::kU64, DType::kI64>();
    case DType::kF32:
      return MakeRows<Op, float, DType::kF32, DType::kF16, DType::kBF16>();
    case DType::kF64:
      return MakeRows<Op, double, DType::kF64>();
    case DType::kC64:
      return MakeRows<Op, Complex64, DType::kC64>();
    default:
      return {};
  }
}

}  // namespace

ScanRows FindRows(ScanOp op, DType dtype) { return op == ScanOp::kSum ? FindFor<Sum>(dtype) : FindFor<Product>(dtype); }

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(FindRows);
}

ScanRows FindScanRows(ScanOp op, DType dtype) { return HWY_DYNAMIC_DISPATCH(FindRows)(op, dtype); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
