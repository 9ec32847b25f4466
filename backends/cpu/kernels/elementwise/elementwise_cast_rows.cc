// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conversions between element types, once per instruction set. Any pair of types takes one row, or two by way of a type
// in between that loses nothing; integers of the same size share their rows.

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/elementwise_rows.h"
#include "kernels/op_record.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_cast_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise/elementwise_loops-inl.h"
#include "simd/simd_bf16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Between integers (To is unsigned; wraps around) and to floating point.
template <typename To>
struct Convert {
  template <typename From>
  static HWY_INLINE To Apply(From x) {
    return static_cast<To>(x);
  }
};

struct ToBool {
  template <typename From>
  static HWY_INLINE uint8_t Apply(From x) {
    return x != From{0};
  }
};

// Floating point to integer: the limits of the integer beyond them, 0 for NaN. Converts what is in range in any case
// and corrects it by masks, since the compiler would make a branch around the conversion.
template <typename To>
struct Saturate {
  template <typename From>
  static HWY_INLINE To Apply(From x) {
    // An integer at least as wide that has vector conversions.
    using Wide = std::conditional_t<(sizeof(To) < 4), int32_t, To>;
    using Bits = std::make_unsigned_t<Wide>;
    constexpr To kMax = std::numeric_limits<To>::max();
    constexpr int kLostBits = std::numeric_limits<To>::digits - std::numeric_limits<From>::digits;
    constexpr To kLastBits =
        kLostBits > 0 ? static_cast<To>(kMax >> std::max(kLostBits, 0) << std::max(kLostBits, 0)) : kMax;
    constexpr From kFirst = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From kLast = static_cast<From>(kLastBits);  // the last that From represents
    const From from_first = x > kFirst ? x : kFirst;
    const From in_range = from_first < kLast ? from_first : kLast;
    const Bits is_above = Bits{0} - static_cast<Bits>(x > kLast);
    const Bits is_number = Bits{0} - static_cast<Bits>(x == x);
    const auto converted = static_cast<Bits>(static_cast<Wide>(in_range));
    return static_cast<To>((converted | (is_above & static_cast<Bits>(kMax))) & is_number);
  }
};

struct ToComplex {
  static HWY_INLINE Complex64 Apply(float x) { return {x, 0.0f}; }
};

struct RealPart {
  static HWY_INLINE float Apply(Complex64 x) { return x.re; }
};

// Clears low bits of the fraction; NaN stays.
template <typename Bits, int kCount>
struct ClearBits {
  static HWY_INLINE Bits Apply(Bits x) {
    constexpr Bits kInfinity = sizeof(Bits) == 4 ? Bits{0x7F800000u} : static_cast<Bits>(0x7FF0000000000000u);
    constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
    const Bits cleared = static_cast<Bits>(x >> kCount << kCount);
    return (x & ~kSign) > kInfinity ? x : cleared;
  }
};

// To f32 so that rounding the outcome once more, to f16 or bf16, gives what rounding `x` at once would: an inexact
// result gets an odd last bit, on the side of 0 (Boldo and Melquiond, "When double rounding is odd", 2004).
HWY_INLINE float RoundToOdd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const bool is_beyond = x > 0 ? back > x : back < x;
  const bool is_inexact = (back != x) & (x == x);
  bits -= is_beyond ? 1 : 0;
  bits |= is_inexact ? 1 : 0;
  return std::bit_cast<float>(bits);
}

// An integer that has the same sign and rounds in the same way, but that a double holds exactly: of more than 53 bits,
// the low ones are replaced by one that says whether any was set.
template <typename Int>
HWY_INLINE double ToDoubleOdd(Int x) {
  if constexpr (sizeof(Int) < 8) {
    return x;
  } else {
    constexpr uint64_t kLow = (uint64_t{1} << 12) - 1;
    const bool is_negative = x < 0;
    const auto magnitude = is_negative ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    const uint64_t sticky = (magnitude & kLow) != 0 ? kLow + 1 : 0;
    const auto exact = static_cast<double>(magnitude >> 53 == 0 ? magnitude : (magnitude & ~kLow) | sticky);
    return is_negative ? -exact : exact;
  }
}

template <typename Half>
struct ToHalf {
  static HWY_INLINE Half Apply(float x) { return Half(x); }
  static HWY_INLINE Half Apply(double x) { return Half(RoundToOdd(x)); }
  template <typename Int>
  static HWY_INLINE Half Apply(Int x) {
    return Half(RoundToOdd(ToDoubleOdd(x)));
  }
};

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_WASM && !HWY_HAVE_SCALABLE
// Calls convert(elements, results) for as many elements as a vector has of f32, with what is left in a buffer.
template <typename From, typename To, class Fn>
HWY_INLINE void ForEachVector(const void* const* operands, void* out, int64_t n, Fn convert) {
  constexpr int64_t kLanes = HWY_LANES(float);
  const auto* x = static_cast<const From*>(operands[0]);
  auto* to = static_cast<To*>(out);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) convert(x + i, to + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  HWY_ALIGN From from_buffer[kLanes] = {};
  HWY_ALIGN To to_buffer[kLanes];
  std::memcpy(from_buffer, x + i, rest * sizeof(From));
  convert(from_buffer, to_buffer);
  std::memcpy(to + i, to_buffer, rest * sizeof(To));
}
#endif

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// These have instructions for f16.
void F16ToF32Row(const void* const* operands, void* out, int64_t n) {
  ForEachVector<hwy::float16_t, float>(operands, out, n, [](const hwy::float16_t* x, float* to) HWY_ATTR {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, x)), d, to);
  });
}

void F32ToF16Row(const void* const* operands, void* out, int64_t n) {
  ForEachVector<float, hwy::float16_t>(operands, out, n, [](const float* x, hwy::float16_t* to) HWY_ATTR {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, x)), half, to);
  });
}
#else
constexpr Row F16ToF32Row = &UnaryRow<Convert<float>, Float16>;
constexpr Row F32ToF16Row = &UnaryRow<ToHalf<Float16>, float>;
#endif

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_WASM && !HWY_HAVE_SCALABLE
// What Saturate gives, for integers of 8 and 16 bits: in f32 within their limits, which it represents, then demoted.
template <typename To>
void F32ToNarrowRow(const void* const* operands, void* out, int64_t n) {
  ForEachVector<float, To>(operands, out, n, [](const float* x, To* to) HWY_ATTR {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> whole;
    const hn::Rebind<To, decltype(d)> narrow;
    const auto v = hn::LoadU(d, x);
    const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
    const auto at_least = hn::Max(number, hn::Set(d, static_cast<float>(std::numeric_limits<To>::min())));
    const auto in_range = hn::Min(at_least, hn::Set(d, static_cast<float>(std::numeric_limits<To>::max())));
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(whole, in_range)), narrow, to);
  });
}

void F32ToBF16Row(const void* const* operands, void* out, int64_t n) {
  ForEachVector<float, uint16_t>(operands, out, n, [](const float* x, uint16_t* to) HWY_ATTR {
    const hn::ScalableTag<float> d;
    StoreBF16(hn::LoadU(d, x), d, to);
  });
}
#else
template <typename To>
constexpr Row F32ToNarrowRow = &UnaryRow<Saturate<To>, float>;
constexpr Row F32ToBF16Row = &UnaryRow<ToHalf<BFloat16>, float>;
#endif

// The rows from integers, and what they can be taken for: the sign matters only where the result is wider.
template <typename From>
void FillFromInteger(Row* to) {
  constexpr size_t kSize = sizeof(From);
  const auto set = [to](DType u, DType i, Row row) { to[static_cast<size_t>(u)] = to[static_cast<size_t>(i)] = row; };
  if constexpr (kSize != 1) set(DType::kU8, DType::kI8, &UnaryRow<Convert<uint8_t>, std::make_unsigned_t<From>>);
  if constexpr (kSize < 2) set(DType::kU16, DType::kI16, &UnaryRow<Convert<uint16_t>, From>);
  if constexpr (kSize > 2) {
    set(DType::kU16, DType::kI16, &UnaryRow<Convert<uint16_t>, std::make_unsigned_t<From>>);
  }
  if constexpr (kSize < 4) set(DType::kU32, DType::kI32, &UnaryRow<Convert<uint32_t>, From>);
  if constexpr (kSize > 4) {
    set(DType::kU32, DType::kI32, &UnaryRow<Convert<uint32_t>, std::make_unsigned_t<From>>);
  }
  if constexpr (kSize < 8) set(DType::kU64, DType::kI64, &UnaryRow<Convert<uint64_t>, From>);
  to[static_cast<size_t>(DType::kBool)] = &UnaryRow<ToBool, std::make_unsigned_t<From>>;
  to[static_cast<size_t>(DType::kF32)] = &UnaryRow<Convert<float>, From>;
  to[static_cast<size_t>(DType::kF64)] = &UnaryRow<Convert<double>, From>;
  if constexpr (kSize >= 4) {
    to[static_cast<size_t>(DType::kF16)] = &UnaryRow<ToHalf<Float16>, From>;
    to[static_cast<size_t>(DType::kBF16)] = &UnaryRow<ToHalf<BFloat16>, From>;
  }
}

template <typename From, typename To>
constexpr Row SaturatingRow() {
  if constexpr (std::is_same_v<From, float> && sizeof(To) <= 2) {
    return F32ToNarrowRow<To>;
  } else {
    return &UnaryRow<Saturate<To>, From>;
  }
}

template <typename From>
void FillFromFloat(Row* to) {
  to[static_cast<size_t>(DType::kBool)] = &UnaryRow<ToBool, From>;
  to[static_cast<size_t>(DType::kU8)] = SaturatingRow<From, uint8_t>();
  to[static_cast<size_t>(DType::kI8)] = SaturatingRow<From, int8_t>();
  to[static_cast<size_t>(DType::kU16)] = SaturatingRow<From, uint16_t>();
  to[static_cast<size_t>(DType::kI16)] = SaturatingRow<From, int16_t>();
  to[static_cast<size_t>(DType::kU32)] = &UnaryRow<Saturate<uint32_t>, From>;
  to[static_cast<size_t>(DType::kI32)] = &UnaryRow<Saturate<int32_t>, From>;
  to[static_cast<size_t>(DType::kU64)] = &UnaryRow<Saturate<uint64_t>, From>;
  to[static_cast<size_t>(DType::kI64)] = &UnaryRow<Saturate<int64_t>, From>;
  to[static_cast<size_t>(DType::kF16)] = &UnaryRow<ToHalf<Float16>, From>;
  to[static_cast<size_t>(DType::kBF16)] = &UnaryRow<ToHalf<BFloat16>, From>;
}

// Ops whose kernels convert their arguments (kernels/converted.h).
constexpr bool IsAnyInBuild(const auto&... ops) { return (IsInBuild(ops) || ...); }
constexpr bool kHasConvertingKernels = IsAnyInBuild(
    "tf.Multinomial", "tf.StatelessMultinomial", "tf.MaxPoolWithArgmax", "tf.Dilation2D", "tf.Dilation2DBackpropInput",
    "tf.Dilation2DBackpropFilter", "tf.CropAndResize", "tf.ResizeNearestNeighborGrad", "tf.ImageProjectiveTransformV3");

// Whether the build casts from the dtype, itself or by way of f32.
constexpr bool CastsFrom(DType dtype) {
  if (kHasConvertingKernels && kDTypesInBuild.Contains(dtype)) return true;
  if (dtype != DType::kF32) return IsInBuild(dtype, "tf.Cast");
  return IsInBuild("tf.Cast") && !(DTypesInBuild("tf.Cast") & (kFloatDTypes | DTypeSet{DType::kC64})).IsEmpty();
}

// From elements that are computed with as T.
template <DType dtype, typename T>
void FillFrom(CastRows& rows) {
  if constexpr (CastsFrom(dtype)) {
    Row* const to = rows.direct[static_cast<size_t>(dtype)].data();
    if constexpr (std::is_integral_v<T>) {
      FillFromInteger<T>(to);
    } else {
      FillFromFloat<T>(to);
    }
  }
}

void SetRow(CastRows& rows, DType from, DType to, Row row) {
  rows.direct[static_cast<size_t>(from)][static_cast<size_t>(to)] = row;
}

void FillCasts(CastRows& rows) {
  FillFrom<DType::kBool, uint8_t>(rows);
  FillFrom<DType::kU8, uint8_t>(rows);
  FillFrom<DType::kI8, int8_t>(rows);
  FillFrom<DType::kU16, uint16_t>(rows);
  FillFrom<DType::kI16, int16_t>(rows);
  FillFrom<DType::kU32, uint32_t>(rows);
  FillFrom<DType::kI32, int32_t>(rows);
  FillFrom<DType::kU64, uint64_t>(rows);
  FillFrom<DType::kI64, int64_t>(rows);
  FillFrom<DType::kF32, float>(rows);
  FillFrom<DType::kF64, double>(rows);
  SetRow(rows, DType::kBool, DType::kU8, &UnaryRow<Convert<uint8_t>, uint8_t>);
  SetRow(rows, DType::kBool, DType::kI8, &UnaryRow<Convert<uint8_t>, uint8_t>);
  const auto set_same = [&rows](DType u, DType i, Row row) {
    SetRow(rows, u, i, row);
    SetRow(rows, i, u, row);
  };
  set_same(DType::kU8, DType::kI8, &UnaryRow<Convert<uint8_t>, uint8_t>);
  set_same(DType::kU16, DType::kI16, &UnaryRow<Convert<uint16_t>, uint16_t>);
  set_same(DType::kU32, DType::kI32, &UnaryRow<Convert<uint32_t>, uint32_t>);
  set_same(DType::kU64, DType::kI64, &UnaryRow<Convert<uint64_t>, uint64_t>);
  SetRow(rows, DType::kF32, DType::kF64, &UnaryRow<Convert<double>, float>);
  SetRow(rows, DType::kF64, DType::kF32, &UnaryRow<Convert<float>, double>);
  SetRow(rows, DType::kF32, DType::kC64, &UnaryRow<ToComplex, float>);
  SetRow(rows, DType::kC64, DType::kF32, &UnaryRow<RealPart, Complex64>);
  rows.clear_f32_for_f16 = &UnaryRow<ClearBits<uint32_t, 13>, uint32_t>;
  rows.clear_f32_for_bf16 = &UnaryRow<ClearBits<uint32_t, 16>, uint32_t>;
  rows.clear_f64_for_f16 = &UnaryRow<ClearBits<uint64_t, 42>, uint64_t>;
  rows.clear_f64_for_bf16 = &UnaryRow<ClearBits<uint64_t, 45>, uint64_t>;
  rows.clear_f64_for_f32 = &UnaryRow<ClearBits<uint64_t, 29>, uint64_t>;
}

}  // namespace

void FillCastRows(CastRows& rows) {
  if constexpr (IsInBuild("tf.Cast") || kHasConvertingKernels) {
    using Fill = void (*)(CastRows&);
    const Fill fill = Recorded<
        "tf.Cast tf.Multinomial tf.StatelessMultinomial tf.MaxPoolWithArgmax tf.Dilation2D "
        "tf.Dilation2DBackpropInput tf.Dilation2DBackpropFilter tf.CropAndResize "
        "tf.ResizeNearestNeighborGrad tf.ImageProjectiveTransformV3">([]() -> Fill { return &FillCasts; });
    if (fill != nullptr) fill(rows);  // else left out of the module
  }
  // Kernels of other ops compute f16 and bf16 in f32.
  if constexpr (kDTypesInBuild.Contains(DType::kF16)) {
    SetRow(rows, DType::kF16, DType::kF32, F16ToF32Row);
    SetRow(rows, DType::kF32, DType::kF16, F32ToF16Row);
  }
  if constexpr (kDTypesInBuild.Contains(DType::kBF16)) {
    SetRow(rows, DType::kBF16, DType::kF32, &UnaryRow<Convert<float>, BFloat16>);
    SetRow(rows, DType::kF32, DType::kBF16, F32ToBF16Row);
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {

HWY_EXPORT(FillCastRows);

// Null if the narrower type has room for the whole fraction.
Row ClearRow(const CastRows& rows, DType from, DType to) {
  if (from == DType::kF32 && to == DType::kF16) return rows.clear_f32_for_f16;
  if (from == DType::kF32 && to == DType::kBF16) return rows.clear_f32_for_bf16;
  if (from == DType::kF64 && to == DType::kF16) return rows.clear_f64_for_f16;
  if (from == DType::kF64 && to == DType::kBF16) return rows.clear_f64_for_bf16;
  if (from == DType::kF64 && to == DType::kF32) return rows.clear_f64_for_f32;
  return nullptr;
}

DType RealPartOf(DType dtype) { return dtype == DType::kC64 ? DType::kF32 : dtype; }

}  // namespace

CastRows::CastRows() { HWY_DYNAMIC_DISPATCH(FillCastRows)(*this); }

RowFunction CastRows::Function(DType from, DType to, bool truncate) const {
  RowFunction function;
  const Row clear = truncate ? ClearRow(*this, RealPartOf(from), RealPartOf(to)) : nullptr;
  if (clear == nullptr) {
    function.row = Direct(from, to);
    if (function.row != nullptr) return function;
    function.widen = Direct(from, DType::kF32);
    function.widened_size = sizeof(float);
    function.row = Direct(DType::kF32, to);
    return function;
  }
  // At most one of the two is complex.
  const DType real_from = RealPartOf(from);
  const DType real_to = RealPartOf(to);
  function.widened_size = static_cast<uint8_t>(DTypeSize(real_from));
  if (from != real_from) {
    function.widen = Direct(from, real_from);
    function.row = clear;
    function.narrow = Direct(real_from, to);
    function.unnarrowed_size = function.widened_size;
    return function;
  }
  function.widen = clear;
  function.row = Direct(real_from, real_to);
  if (to == real_to) return function;
  function.narrow = Direct(real_to, to);
  function.unnarrowed_size = static_cast<uint8_t>(DTypeSize(real_to));
  return function;
}

}  // namespace tandem::cpu
#endif  // HWY_ONCE
