// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of the reductions: plain ones that the compiler turns into vectors, once per instruction set.
//
// Most come down to adding rows of numbers to a row of accumulators, which needs no reordering of additions to be done
// in vectors; stretches of floating-point numbers are left to functions written with vectors.

#include "kernels/reduction/reduction_rows.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <type_traits>

#include "kernels/op_record.h"
#include "simd/simd_math.h"
#include "simd/simd_targets.h"
#include "tandem/op_selection.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/reduction_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/reduction/reduction_load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

using Complex64 = std::complex<float>;

struct Add {
  template <typename A>
  static HWY_INLINE A Apply(A a, A b) {
    return static_cast<A>(a + b);
  }
};

struct Multiply {
  template <typename A>
  static HWY_INLINE A Apply(A a, A b) {
    // Wide enough that no product overflows a signed type by promotion.
    using Wide = std::conditional_t<std::is_integral_v<A> && sizeof(A) < 4, uint32_t, A>;
    return static_cast<A>(static_cast<Wide>(a) * static_cast<Wide>(b));
  }
  static HWY_INLINE Complex64 Apply(Complex64 a, Complex64 b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};

// A NaN is not equal to itself, and is passed on from either side.
struct Largest {
  template <typename A>
  static HWY_INLINE A Apply(A a, A b) {
    const A larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};

struct Smallest {
  template <typename A>
  static HWY_INLINE A Apply(A a, A b) {
    const A smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};

// RowReductions::rows, four at a time.
template <typename Op, typename A, typename T>
void ReduceRows(const void* data, int64_t rows, int64_t stride, int64_t cols, void* accumulators) {
  const auto* HWY_RESTRICT x = static_cast<const T*>(data);
  auto* HWY_RESTRICT to = static_cast<A*>(accumulators);
  TANDEM_COMPACT_LOOP
  for (int64_t col = 0; col < cols; ++col) to[col] = Load<A>(x[col]);
  int64_t row = 1;
  for (x += stride; row + 4 <= rows; row += 4, x += 4 * stride) {
    TANDEM_COMPACT_LOOP
    for (int64_t col = 0; col < cols; ++col) {
      const A upper = Op::Apply(Load<A>(x[col]), Load<A>(x[col + stride]));
      const A lower = Op::Apply(Load<A>(x[col + 2 * stride]), Load<A>(x[col + 3 * stride]));
      to[col] = Op::Apply(to[col], Op::Apply(upper, lower));
    }
  }
  for (; row < rows; ++row, x += stride) {
    TANDEM_COMPACT_LOOP
    for (int64_t col = 0; col < cols; ++col) to[col] = Op::Apply(to[col], Load<A>(x[col]));
  }
}

template <typename Op, typename A, typename T>
HWY_INLINE A ReduceInOrder(const T* HWY_RESTRICT x, int64_t n) {
  A result = Load<A>(x[0]);
  TANDEM_COMPACT_LOOP
  for (int64_t i = 1; i < n; ++i) result = Op::Apply(result, Load<A>(x[i]));
  return result;
}

// Products: eight of them side by side, so that they need not wait for each other.
template <typename T>
HWY_INLINE T ReduceFloats(Multiply, const T* HWY_RESTRICT x, int64_t n) {
  T products[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int64_t j = 0; j < 8; ++j) products[j] *= x[i + j];
  }
  for (; i < n; ++i) products[0] *= x[i];
  return ReduceInOrder<Multiply, T>(products, 8);
}
template <typename T>
HWY_INLINE T ReduceFloats(Add, const T* x, int64_t n) {
  return simd::Sum(x, n);
}
template <typename T>
HWY_INLINE T ReduceFloats(Largest, const T* x, int64_t n) {
  return simd::Max(x, n);
}
template <typename T>
HWY_INLINE T ReduceFloats(Smallest, const T* x, int64_t n) {
  return simd::Min(x, n);
}

template <typename Op, typename A>
HWY_INLINE A ReduceStretch(const A* HWY_RESTRICT x, int64_t n) {
  constexpr int64_t kShort = 12;
  if constexpr (std::is_floating_point_v<A>) {
    if (n > kShort) return ReduceFloats(Op(), x, n);
  }
  return ReduceInOrder<Op, A>(x, n);  // of which the compiler makes vectors for integers, since they may be reordered
}

// RowReductions::stretches.
template <typename Op, typename A, typename T>
void ReduceStretches(const void* data, int64_t count, int64_t n, void* accumulators) {
  const auto* x = static_cast<const T*>(data);
  auto* to = static_cast<A*>(accumulators);
  for (int64_t i = 0; i < count; ++i, x += n) {
    if constexpr (std::is_same_v<T, A>) {
      to[i] = ReduceStretch<Op>(x, n);
    } else {
      to[i] = ReduceInOrder<Op, A>(x, n);
    }
  }
}

// The same for halves, which are converted block by block: many short stretches or a part of a long one.
template <typename Op, typename T>
void ReduceHalfStretches(const void* data, int64_t count, int64_t n, void* accumulators) {
  constexpr int64_t kBlock = 1024;
  const auto* x = static_cast<const T*>(data);
  auto* to = static_cast<float*>(accumulators);
  float widened[kBlock];
  const auto widen = [&](int64_t size) {
    TANDEM_COMPACT_LOOP
    for (int64_t i = 0; i < size; ++i) widened[i] = Load<float>(x[i]);
    x += size;
  };
  const int64_t stretches = std::max<int64_t>(kBlock / n, 1);
  for (int64_t i = 0; i < count; i += stretches) {
    const int64_t last = std::min(i + stretches, count);
    widen(std::min((last - i) * n, kBlock));
    for (int64_t j = i; j < last; ++j) to[j] = ReduceStretch<Op>(widened + (j - i) * n, std::min(n, kBlock));
    for (int64_t done = kBlock; done < n; done += kBlock) {
      const int64_t size = std::min(kBlock, n - done);
      widen(size);
      to[i] = Op::Apply(to[i], ReduceStretch<Op>(widened, size));
    }
  }
}

template <typename T>
void Narrow(const void* accumulators, int64_t n, int64_t, void* out) {
  const auto* from = static_cast<const float*>(accumulators);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = static_cast<T>(from[i]);
}

// Means of floating-point numbers.
template <typename T, typename A>
void Divide(const void* accumulators, int64_t n, int64_t count, void* out) {
  const auto* from = static_cast<const A*>(accumulators);
  // f64 holds every count that there can be; the quotient of f32 rounds once more, which changes nothing.
  const auto divisor = static_cast<double>(count);
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] = static_cast<T>(static_cast<A>(static_cast<double>(from[i]) / divisor));
  }
}

// Means of integers, towards 0.
template <typename T>
void DivideIntegers(const void* accumulators, int64_t n, int64_t count, void* out) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  const auto* from = static_cast<const uint64_t*>(accumulators);
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] = static_cast<T>(static_cast<Wide>(from[i]) / static_cast<Wide>(count));
  }
}

template <auto kValue>
void StoreInteger(void* out) {
  *static_cast<decltype(kValue)*>(out) = kValue;
}
// Of a type that converts from float.
template <typename T, int kNumerator, int kDenominator = 1>
void StoreFloat(void* out) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  *static_cast<T*>(out) = static_cast<T>(kDenominator != 0 ? kNumerator : kNumerator == 0 ? kNan : kNumerator * kInf);
}

void StoreComplexNan(void* out) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  *static_cast<Complex64*>(out) = {kNan, kNan};
}

// Costs: about the time to read an element, and to convert it if it is not of the accumulator's type.
template <typename Op, typename A, typename T>
constexpr ReductionRows Rows(void (*empty)(void*)) {
  ReductionRows rows;
  if constexpr (kIsHalf<T>) {
    rows.elements = {&ReduceRows<Op, A, T>, &ReduceHalfStretches<Op, T>};
  } else {
    rows.elements = {&ReduceRows<Op, A, T>, &ReduceStretches<Op, A, T>};
  }
  rows.accumulators = {&ReduceRows<Op, A, A>, &ReduceStretches<Op, A, A>};
  if constexpr (kIsHalf<T>) rows.finish = &Narrow<T>;
  rows.empty = empty;
  rows.number_size = sizeof(T);
  rows.accumulator_size = sizeof(A);
  rows.cost = 0.02f * sizeof(T) + (std::is_same_v<T, A> ? 0.0f : 0.1f);
  return rows;
}

// Whether the build has kernels that reduce elements of the dtype so.
constexpr bool HasUse(ReductionOp op, DType dtype) {
  switch (op) {
    case ReductionOp::kSum:
      return IsInBuild(dtype, "tf.Sum", "tf.BiasAddGrad", "tf.Einsum");
    case ReductionOp::kMean:
      return IsInBuild(dtype, "tf.Mean");
    case ReductionOp::kProd:
      return IsInBuild(dtype, "tf.Prod");
    case ReductionOp::kMax:
      return IsInBuild(dtype, "tf.Max");
    case ReductionOp::kMin:
      return IsInBuild(dtype, "tf.Min");
    case ReductionOp::kAll:
      return IsInBuild("tf.All");
    case ReductionOp::kAny:
      return IsInBuild("tf.Any");
  }
  return false;
}

// What `make` gives, if the build has use for it; else nothing.
template <ReductionOp op, OpName name, DType dtype, typename Make>
ReductionRows IfInBuild([[maybe_unused]] Make make) {
  if constexpr (HasUse(op, dtype)) {
    return Recorded<name, dtype>(make);
  } else {
    return ReductionRows();
  }
}

// Sums and products of integers are the same for both signs, since they wrap around.
template <typename T>
ReductionRows IntegerRows(ReductionOp op) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr DType kDType = kDTypeOf<T>;
  constexpr T kZero = 0;
  constexpr T kOne = 1;
  constexpr T kLowest = std::numeric_limits<T>::min();
  constexpr T kHighest = std::numeric_limits<T>::max();
  switch (op) {
    case ReductionOp::kSum:
      return IfInBuild<ReductionOp::kSum, "tf.Sum", kDType>(
          [] { return Rows<Add, Unsigned, Unsigned>(&StoreInteger<kZero>); });
    case ReductionOp::kMean:
      return IfInBuild<ReductionOp::kMean, "tf.Mean", kDType>([] {
        ReductionRows rows = Rows<Add, uint64_t, T>(&StoreInteger<kZero>);
        rows.finish = &DivideIntegers<T>;
        return rows;
      });
    case ReductionOp::kProd:
      return IfInBuild<ReductionOp::kProd, "tf.Prod", kDType>(
          [] { return Rows<Multiply, Unsigned, Unsigned>(&StoreInteger<kOne>); });
    case ReductionOp::kMax:
      return IfInBuild<ReductionOp::kMax, "tf.Max", kDType>([] { return Rows<Largest, T, T>(&StoreInteger<kLowest>); });
    case ReductionOp::kMin:
      return IfInBuild<ReductionOp::kMin, "tf.Min", kDType>(
          [] { return Rows<Smallest, T, T>(&StoreInteger<kHighest>); });
    default:
      return ReductionRows();
  }
}

// `dtype`: that of the elements whose parts have type T.
template <typename T, DType dtype = kDTypeOf<T>>
ReductionRows FloatRows(ReductionOp op) {
  using A = Accumulator<T>;
  switch (op) {
    case ReductionOp::kSum:
      return IfInBuild<ReductionOp::kSum, "tf.Sum", dtype>([] { return Rows<Add, A, T>(&StoreFloat<T, 0>); });
    case ReductionOp::kMean:
      return IfInBuild<ReductionOp::kMean, "tf.Mean", dtype>([] {
        ReductionRows rows = Rows<Add, A, T>(&StoreFloat<T, 0, 0>);
        rows.finish = &Divide<T, A>;
        return rows;
      });
    case ReductionOp::kProd:
      return IfInBuild<ReductionOp::kProd, "tf.Prod", dtype>([] { return Rows<Multiply, A, T>(&StoreFloat<T, 1>); });
    case ReductionOp::kMax:
      return IfInBuild<ReductionOp::kMax, "tf.Max", dtype>([] { return Rows<Largest, A, T>(&StoreFloat<T, -1, 0>); });
    case ReductionOp::kMin:
      return IfInBuild<ReductionOp::kMin, "tf.Min", dtype>([] { return Rows<Smallest, A, T>(&StoreFloat<T, 1, 0>); });
    default:
      return ReductionRows();
  }
}

ReductionRows ComplexRows(ReductionOp op) {
  if (op == ReductionOp::kProd) {
    return IfInBuild<ReductionOp::kProd, "tf.Prod", DType::kC64>(
        [] { return Rows<Multiply, Complex64, Complex64>(&StoreFloat<Complex64, 1>); });
  }
  if (op != ReductionOp::kSum && op != ReductionOp::kMean) return ReductionRows();
  ReductionRows rows = FloatRows<float, DType::kC64>(op);
  if (rows.elements.rows == nullptr) return rows;
  rows.empty = op == ReductionOp::kSum ? &StoreFloat<Complex64, 0> : &StoreComplexNan;
  rows.parts = 2;
  return rows;
}

ReductionRows BoolRows(ReductionOp op) {
  constexpr bool kTrue = true;
  constexpr bool kFalse = false;
  if (op == ReductionOp::kAll) {
    return IfInBuild<ReductionOp::kAll, "tf.All", DType::kBool>(
        [] { return Rows<Smallest, uint8_t, uint8_t>(&StoreInteger<kTrue>); });
  }
  if (op == ReductionOp::kAny) {
    return IfInBuild<ReductionOp::kAny, "tf.Any", DType::kBool>(
        [] { return Rows<Largest, uint8_t, uint8_t>(&StoreInteger<kFalse>); });
  }
  return ReductionRows();
}

}  // namespace

ReductionRows RowsOf(ReductionOp op, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return BoolRows(op);
    case DType::kU8:
      return IntegerRows<uint8_t>(op);
    case DType::kI8:
      return IntegerRows<int8_t>(op);
    case DType::kU16:
      return IntegerRows<uint16_t>(op);
    case DType::kI16:
      return IntegerRows<int16_t>(op);
    case DType::kU32:
      return IntegerRows<uint32_t>(op);
    case DType::kI32:
      return IntegerRows<int32_t>(op);
    case DType::kU64:
      return IntegerRows<uint64_t>(op);
    case DType::kI64:
      return IntegerRows<int64_t>(op);
    case DType::kF16:
      return FloatRows<Float16>(op);
    case DType::kBF16:
      return FloatRows<BFloat16>(op);
    case DType::kF32:
      return FloatRows<float>(op);
    case DType::kF64:
      return FloatRows<double>(op);
    case DType::kC64:
      return ComplexRows(op);
    default:
      return ReductionRows();
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(RowsOf);
}

ReductionRows FindReductionRows(ReductionOp op, DType dtype) { return HWY_DYNAMIC_DISPATCH(RowsOf)(op, dtype); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
