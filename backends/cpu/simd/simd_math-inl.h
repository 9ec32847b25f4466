// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The elementary functions of simd_math.h for one vector; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_MATH_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_MATH_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_MATH_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "simd/exp_constants.h"
#include "simd/scalar_math.h"
#include "simd/simd_fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Constants of the reductions, and coefficients, lowest degree first; e is a polynomial's largest error relative to the
// function that it serves.
template <typename T>
struct MathConstants;

template <>
struct MathConstants<float> : FloatExpConstants {
  static constexpr float kExpm1Least = -18.0f;  // e^x - 1 rounds to -1
  static constexpr float kTanhLimit = 9.1f;     // tanh rounds to 1
  static constexpr float kTiny = 0x1p-13f;      // sin x and log(1 + x) are x to within half an ULP below its square
  // As kExpm1, for e^r; e = 2^-28. Chosen such that e^x is off by less than an ULP where products are rounded, too.
  static constexpr float kExp[] = {0x1.000000p-1f, 0x1.55548ep-3f, 0x1.55563ep-5f, 0x1.123472p-7f, 0x1.6b2c1ap-10f};
  // (2^f - 1) / f for |f| <= 1/2; e = 2^-26.
  static constexpr float kExp2m1[] = {0x1.62e430p-1f, 0x1.ebfbdep-3f,  0x1.c6af6ep-5f,
                                      0x1.3b2ba2p-7f, 0x1.5f07b2p-10f, 0x1.430764p-13f};
  // (2 artanh(s) / s - 2) / z in z = s^2, for |s| <= 0.172; e = 2^-30.
  static constexpr float kLog[] = {0x1.55557ap-1f, 0x1.995e9cp-2f, 0x1.31e678p-2f};
  // (sin(r) / r - 1) / z in z = r^2, for |r| <= pi/4; e = 2^-28.
  static constexpr float kSin[] = {-0x1.555546p-3f, 0x1.110756p-7f, -0x1.994b40p-13f};
  // (cos(r) - 1 + z/2) / z^2 in z = r^2, for |r| <= pi/4; e = 2^-33.
  static constexpr float kCos[] = {0x1.55554ap-5f, -0x1.6c0c82p-10f, 0x1.99ff40p-16f};
  // (sinh(x) / x - 1) / z in z = x^2, for |x| <= 1; e = 2^-34.
  static constexpr float kSinh[] = {0x1.555556p-3f, 0x1.111134p-7f, 0x1.9ffe92p-13f, 0x1.7a15b6p-19f};
};

template <>
struct MathConstants<double> {
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr double kRounding = 0x1.8p52;
  static constexpr double kExpOverflow = 710.0;
  static constexpr double kExpUnderflow = -746.0;
  static constexpr double kExpm1Least = -38.0;
  static constexpr double kExpNormal = 708.0;
  static constexpr double kTanhLimit = 20.0;
  static constexpr double kTiny = 0x1p-28;
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  // As above, with e = 2^-61, 2^-59, 2^-58 and 2^-64.
  static constexpr double kExpm1[] = {0x1.0000000000000p-1,  0x1.5555555555559p-3,  0x1.555555555555ap-5,
                                      0x1.111111110f699p-7,  0x1.6c16c16c14440p-10, 0x1.a01a01afeeff0p-13,
                                      0x1.a01a01b0bbebdp-16, 0x1.71ddf8383da13p-19, 0x1.27e4c596df9b7p-22,
                                      0x1.af5ef2e26d772p-26, 0x1.1f95724f7a876p-29};
  static constexpr double kLog[] = {0x1.5555555555593p-1, 0x1.999999997fb2fp-2, 0x1.2492494217c5fp-2,
                                    0x1.c71c51e7dd727p-3, 0x1.7466463115dfep-3, 0x1.39a0f49f99580p-3,
                                    0x1.2f0d91daaa638p-3};
  static constexpr double kSin[] = {-0x1.5555555555549p-3, 0x1.111111110f841p-7,   -0x1.a01a019c0a255p-13,
                                    0x1.71de3570fae11p-19, -0x1.ae5e60c2d5f74p-26, 0x1.5d915da0e156cp-33};
  static constexpr double kCos[] = {0x1.555555555554cp-5,   -0x1.6c16c16c15140p-10, 0x1.a01a019cab749p-16,
                                    -0x1.27e4f8053414ep-22, 0x1.1ee9e890fa1ddp-29,  -0x1.8facd17c1a88ap-37};
};

template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>, size_t kCount>
HWY_INLINE V Polynomial(D d, V x, const T (&coefficients)[kCount]) {
  V sum = hn::Set(d, coefficients[kCount - 1]);
  HWY_UNROLL(12)
  for (size_t i = kCount - 1; i > 0; --i) sum = MultiplyAdd(sum, x, hn::Set(d, coefficients[i - 1]));
  return sum;
}

// Both keep NaN. The instructions of AVX give the second operand if there is one.
inline constexpr bool kSecondIfNan = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtLeast(D d, V x, hn::TFromD<D> limit) {
  const V v = hn::Set(d, limit);
  return kSecondIfNan ? hn::Max(v, x) : hn::IfThenElse(hn::Lt(x, v), v, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtMost(D d, V x, hn::TFromD<D> limit) {
  const V v = hn::Set(d, limit);
  return kSecondIfNan ? hn::Min(v, x) : hn::IfThenElse(hn::Gt(x, v), v, x);
}

// ---- Exponential functions.

// 2^k for an integer k in the exponent's range, which may be given by any value congruent to it in the low bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowerOfTwo(D d, V k_plus_rounding) {
  using C = MathConstants<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const auto k = hn::BitCast(di, k_plus_rounding);
  return hn::BitCast(d, hn::ShiftLeft<C::kMantissaBits>(hn::Add(k, hn::Set(di, C::kBias))));
}

// x = k ln 2 + r with |r| <= ln(2)/2; gives r, k as a floating-point number, and k + kRounding.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceExponent(D d, V x, V& k, V& k_plus_rounding) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  const V rounding = hn::Set(d, C::kRounding);
  k_plus_rounding = MultiplyAdd(x, hn::Set(d, static_cast<T>(1.4426950408889634)), rounding);
  k = hn::Sub(k_plus_rounding, rounding);
  const V r = NegMultiplyAdd(k, hn::Set(d, C::kLn2High), x);
  return NegMultiplyAdd(k, hn::Set(d, C::kLn2Low), r);
}

// The same, but gives e^r - 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReducedExpm1(D d, V x, V& k) {
  V unused;
  const V r = ReduceExponent(d, x, k, unused);
  return MultiplyAdd(hn::Mul(r, r), Polynomial(d, r, MathConstants<hn::TFromD<D>>::kExpm1), r);
}

// A polynomial whose last four terms are taken by pairs, so that what waits for x is a shorter chain.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>, size_t kCount>
HWY_INLINE V PairedPolynomial(D d, V x, V square, const T (&coefficients)[kCount]) {
  const auto c = [&](size_t i) HWY_ATTR { return hn::Set(d, coefficients[i]); };
  V sum =
      MultiplyAdd(MultiplyAdd(c(kCount - 1), x, c(kCount - 2)), square, MultiplyAdd(c(kCount - 3), x, c(kCount - 4)));
  HWY_UNROLL(8)
  for (size_t i = kCount - 4; i > 0; --i) sum = MultiplyAdd(sum, x, c(i - 1));
  return sum;
}

// e^r for |r| <= ln(2)/2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOfRest(D d, V r) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  const V square = hn::Mul(r, r);
  V p;
  if constexpr (sizeof(T) == 8) {
    p = Polynomial(d, r, C::kExpm1);
  } else if constexpr (kFuses && HWY_NATIVE_FMA) {
    p = PairedPolynomial(d, r, square, C::kExpm1);
  } else {
    p = PairedPolynomial(d, r, square, C::kExp);  // a product and a sum less
  }
  return hn::Add(MultiplyAdd(square, p, r), hn::Set(d, T{1}));
}

// y 2^k, rounded once, for a whole k of at most twice the exponent's range and y near 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Scale(D d, V y, V k) {
  using T = hn::TFromD<D>;
  // Two factors, since 2^k alone may be out of range; the first product is exact.
  const V rounding = hn::Set(d, MathConstants<T>::kRounding);
  const V half_rounded = MultiplyAdd(k, hn::Set(d, T{0.5}), rounding);
  const V rest_rounded = hn::Add(hn::Sub(k, hn::Sub(half_rounded, rounding)), rounding);
  return hn::Mul(hn::Mul(y, PowerOfTwo(d, half_rounded)), PowerOfTwo(d, rest_rounded));
}

// e^x where it is a normal number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NormalExp(D d, V x) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  const hn::RebindToSigned<D> di;
  V k, k_plus_rounding;
  const V y = ExpOfRest(d, ReduceExponent(d, x, k, k_plus_rounding));
  const auto whole = hn::ShiftLeft<C::kMantissaBits>(hn::BitCast(di, k_plus_rounding));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, y), whole));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE auto ExpIsNormal(D d, V x) {
  return hn::Lt(hn::Abs(x), hn::Set(d, MathConstants<hn::TFromD<D>>::kExpNormal));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorExp(D d, V x) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  if (HWY_LIKELY(hn::AllTrue(d, ExpIsNormal(d, x)))) return NormalExp(d, x);
  x = AtMost(d, AtLeast(d, x, C::kExpUnderflow), C::kExpOverflow);
  V k, unused;
  const V y = ExpOfRest(d, ReduceExponent(d, x, k, unused));
  return Scale(d, y, k);
}

// e^x / 2 for x >= 0, which is in range a little longer than e^x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V HalfExp(D d, V x) {
  using T = hn::TFromD<D>;
  V k, unused;
  const V y = ExpOfRest(d, ReduceExponent(d, AtMost(d, x, MathConstants<T>::kExpOverflow + T{1.5}), k, unused));
  return Scale(d, y, hn::Sub(k, hn::Set(d, T{1})));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorExpm1(D d, V x) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  const V half = hn::Set(d, T{0.5});
  const V sign = hn::And(x, hn::SignBit(d));
  x = AtMost(d, AtLeast(d, x, C::kExpm1Least), C::kExpOverflow);
  V k;
  const V p = ReducedExpm1(d, x, k);
  // 2 (2^(k-1) p + (2^(k-1) - 1/2)): in this form k may be as large as it gets before the result overflows.
  const V scale = PowerOfTwo(d, hn::Add(k, hn::Set(d, C::kRounding - T{1})));
  const V y = MultiplyAdd(scale, p, hn::Sub(scale, half));
  const V result = hn::IfThenElse(hn::Eq(k, hn::Zero(d)), p, hn::Add(y, y));
  return hn::Or(result, sign);  // for -0; any other result has this sign
}

// f32: m / (m + 2) with m = e^-2|x| - 1 = 2^k (2^f - 1) + (2^k - 1), since e^-2|x| = 2^(k + f).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V FloatTanh(D d, V x) {
  using C = MathConstants<float>;
  const V a = AtMost(d, hn::Abs(x), C::kTanhLimit);
  const V to_exponent = hn::Set(d, -2.885390082f);  // -2 / ln 2
  // With the exponent's bias, so that the low bits of the sum are those of the exponent of 2^k.
  const V rounding = hn::Set(d, C::kRounding + C::kBias);
  const V rounded = MultiplyAdd(a, to_exponent, rounding);
  const V f = MultiplySub(a, to_exponent, hn::Sub(rounded, rounding));
  const hn::RebindToSigned<D> di;
  const V scale = hn::BitCast(d, hn::ShiftLeft<C::kMantissaBits>(hn::BitCast(di, rounded)));
  const V from_fraction = hn::Mul(f, Polynomial(d, f, C::kExp2m1));
  const V m = MultiplyAdd(scale, from_fraction, hn::Sub(scale, hn::Set(d, 1.0f)));
  return hn::CopySign(hn::Div(m, hn::Add(m, hn::Set(d, 2.0f))), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V DoubleTanh(D d, V x) {
  const V one = hn::Set(d, 1.0);
  const V two = hn::Set(d, 2.0);
  const V a = AtMost(d, hn::Abs(x), MathConstants<double>::kTanhLimit);
  // Below 1, -t / (t + 2) with t = e^-2a - 1; from 1 on, 1 - 2 / (t + 2) with t = e^2a - 1.
  const auto small = hn::Lt(a, one);
  const V twice = hn::Add(a, a);
  const V t = VectorExpm1(d, hn::IfThenElse(small, hn::Neg(twice), twice));
  const V q = hn::Div(hn::IfThenElse(small, hn::Neg(t), two), hn::Add(t, two));
  return hn::CopySign(hn::IfThenElse(small, q, hn::Sub(one, q)), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorTanh(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return FloatTanh(d, x);
  } else {
    return DoubleTanh(d, x);
  }
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorCosh(D d, V x) {
  const V e = HalfExp(d, hn::Abs(x));
  return hn::Add(e, hn::Div(hn::Set(d, hn::TFromD<D>{0.25}), e));
}

// f32.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorSinh(D d, V x) {
  const V a = hn::Abs(x);
  const V e = HalfExp(d, a);
  const V large = hn::Sub(e, hn::Div(hn::Set(d, 0.25f), e));
  const V z = hn::Mul(x, x);
  const V small = MultiplyAdd(hn::Mul(x, z), Polynomial(d, z, MathConstants<float>::kSinh), x);
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, 1.0f)), small, hn::CopySign(large, x));
}

// Where e^-x is a normal number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NormalSigmoid(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  return hn::Div(one, hn::Add(one, NormalExp(d, hn::Neg(x))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorSigmoid(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  if (HWY_LIKELY(hn::AllTrue(d, ExpIsNormal(d, x)))) return NormalSigmoid(d, x);
  // Where e^-x would overflow, e^x / (1 + e^x); elsewhere as above, since a result must not depend on its neighbours.
  const auto far = hn::Le(x, hn::Set(d, -MathConstants<hn::TFromD<D>>::kExpNormal));
  const V e = VectorExp(d, hn::IfThenElse(far, x, hn::Neg(x)));
  return hn::Div(hn::IfThenElse(far, e, one), hn::Add(one, e));
}

// ---- Logarithms.

// positive = 2^k m with m in [sqrt(1/2), sqrt(2)), for normal numbers.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SplitExponent(D d, V positive, V& k) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  const hn::RebindToUnsigned<D> du;
  // Moving the exponent's step from powers of two to odd powers of sqrt(2).
  const T sqrt_half = static_cast<T>(0.70710678118654752);
  const auto step = hn::Sub(hn::BitCast(du, hn::Set(d, T{1})), hn::BitCast(du, hn::Set(d, sqrt_half)));
  const auto exponent = hn::ShiftRight<C::kMantissaBits>(hn::Add(hn::BitCast(du, positive), step));
  // An integer below 2^kMantissaBits, put into the mantissa of 2^kMantissaBits, makes their sum.
  constexpr T kMantissaUnit = static_cast<T>(uint64_t{1} << C::kMantissaBits);
  const V shifted = hn::BitCast(d, hn::Or(exponent, hn::BitCast(du, hn::Set(d, kMantissaUnit))));
  k = hn::Sub(shifted, hn::Set(d, kMantissaUnit + static_cast<T>(C::kBias)));
  using TU = hn::TFromD<decltype(du)>;
  const auto removed = hn::ShiftLeft<C::kMantissaBits>(hn::Sub(exponent, hn::Set(du, static_cast<TU>(C::kBias))));
  return hn::BitCast(d, hn::Sub(hn::BitCast(du, positive), removed));
}

// k ln 2 + log(1 + f) + correction, for 1 + f in [sqrt(1/2), sqrt(2)) and a tiny correction.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CombineLog(D d, V k, V f, V correction) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  const V s = hn::Div(f, hn::Add(hn::Set(d, T{2}), f));
  const V z = hn::Mul(s, s);
  const V series = hn::Mul(z, Polynomial(d, z, C::kLog));
  const V half_square = hn::Mul(hn::Mul(hn::Set(d, T{0.5}), f), f);
  const V low = MultiplyAdd(k, hn::Set(d, C::kLn2Low), correction);
  const V small = hn::Sub(half_square, MultiplyAdd(s, hn::Add(half_square, series), low));
  return MultiplyAdd(k, hn::Set(d, C::kLn2High), hn::Sub(f, small));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorLog(D d, V x) {
  using T = hn::TFromD<D>;
  using Limits = std::numeric_limits<T>;
  constexpr int kShift = MathConstants<T>::kMantissaBits + 2;
  const V infinity = hn::Set(d, Limits::infinity());
  const auto subnormal = hn::Lt(x, hn::Set(d, Limits::min()));
  const V scaled = hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, static_cast<T>(uint64_t{1} << kShift))), x);
  V k;
  const V m = SplitExponent(d, scaled, k);
  k = hn::Sub(k, hn::IfThenElseZero(subnormal, hn::Set(d, static_cast<T>(kShift))));
  const V y = CombineLog(d, k, hn::Sub(m, hn::Set(d, T{1})), hn::Zero(d));
  // Infinity and NaN stand for themselves, zero gives -inf, negative numbers NaN.
  const V nan_if_negative = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, Limits::quiet_NaN()), x);
  const V special = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), nan_if_negative);
  return hn::IfThenElse(hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, infinity)), y, special);
}

// log(1 + x) + shift ln 2, for a whole shift, which is 0 where x is not large.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ShiftedLog1p(D d, V x, V shift) {
  using T = hn::TFromD<D>;
  using Limits = std::numeric_limits<T>;
  const V one = hn::Set(d, T{1});
  const V infinity = hn::Set(d, Limits::infinity());
  const V u = hn::Add(one, x);
  V k;
  const V m = SplitExponent(d, u, k);
  // What rounding took from 1 + x, relative to it.
  const V lost = hn::IfThenElse(hn::Lt(x, one), hn::Sub(x, hn::Sub(u, one)), hn::Sub(one, hn::Sub(u, x)));
  const auto near_zero = hn::Eq(k, hn::Zero(d));
  const V correction = hn::IfThenElse(near_zero, hn::Zero(d), hn::Div(lost, u));
  const V f = hn::IfThenElse(near_zero, x, hn::Sub(m, one));
  const V y = CombineLog(d, hn::Add(k, shift), f, correction);
  const V minus_one = hn::Neg(one);
  const V nan_if_below = hn::IfThenElse(hn::Lt(x, minus_one), hn::Set(d, Limits::quiet_NaN()), x);
  const V special = hn::IfThenElse(hn::Eq(x, minus_one), hn::Neg(infinity), nan_if_below);
  const auto regular = hn::And(hn::Gt(x, minus_one), hn::Lt(x, infinity));
  const auto tiny = hn::Lt(hn::Abs(x), hn::Set(d, MathConstants<T>::kTiny * MathConstants<T>::kTiny));
  return hn::IfThenElse(tiny, x, hn::IfThenElse(regular, y, special));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorLog1p(D d, V x) {
  return ShiftedLog1p(d, x, hn::Zero(d));
}

// ---- Sine, cosine and tangent.

enum class Trigonometric { kSine, kCosine, kTangent };

// Beyond it, arguments are left to the C++ library.
inline constexpr double kTrigonometricLimit = 0x1p20;

// x = k pi/2 + r, |r| <= pi/4 (and a little), for |x| up to the limit, in f64: 33 bits of pi/2 at a time, so that
// multiples of the first two parts are exact.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceByHalfPi(D d, V x, V& k) {
  const V rounding = hn::Set(d, MathConstants<double>::kRounding);
  k = hn::Sub(MultiplyAdd(x, hn::Set(d, 0x1.45f306dc9c883p-1), rounding), rounding);
  V r = NegMultiplyAdd(k, hn::Set(d, 0x1.921fb544p0), x);
  r = NegMultiplyAdd(k, hn::Set(d, 0x1.0b4611a6p-34), r);
  return NegMultiplyAdd(k, hn::Set(d, 0x1.3198a2e037073p-69), r);
}

#if HWY_TARGET == HWY_SCALAR || !HWY_HAVE_FLOAT64
// The same without vectors of f64.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceFloat(D d, V x, V& k) {
  alignas(64) float from[HWY_LANES(float)], rest[HWY_LANES(float)], multiple[HWY_LANES(float)];
  hn::Store(x, d, from);
  for (int i = 0; i < static_cast<int>(HWY_LANES(float)); ++i) {
    const double value = from[i];
    const double q = value * 0x1.45f306dc9c883p-1 + 0x1.8p52 - 0x1.8p52;
    rest[i] = static_cast<float>(value - q * 0x1.921fb544p0 - q * 0x1.0b4611a6p-34 - q * 0x1.3198a2e037073p-69);
    multiple[i] = static_cast<float>(q);
  }
  k = hn::Load(d, multiple);
  return hn::Load(d, rest);
}
#else
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceFloat(D d, V x, V& k) {
  const hn::Half<D> half;
  const hn::Rebind<double, decltype(half)> wide;
  auto k_low = hn::Zero(wide), k_high = hn::Zero(wide);
  const auto low = ReduceByHalfPi(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x)), k_low);
  const auto high = ReduceByHalfPi(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x)), k_high);
  k = hn::Combine(d, hn::DemoteTo(half, k_high), hn::DemoteTo(half, k_low));
  return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
}
#endif

// f32: where the processor multiplies and adds in one instruction, up to kNearLimit.
inline constexpr bool kReducesNear = kFuses && HWY_NATIVE_FMA;
inline constexpr float kNearLimit = 4096.0f;

// The same for |x| <= kNearLimit in f32, with pi/2 in three parts. What is left after the first is exact; what rounding
// takes from the product with the second, and from the difference, is added to the third's.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceNear(D d, V x, V& k) {
  const V rounding = hn::Set(d, MathConstants<float>::kRounding);
  k = hn::Sub(MultiplyAdd(x, hn::Set(d, 0x1.45f306p-1f), rounding), rounding);
  const V first = NegMultiplyAdd(k, hn::Set(d, 0x1.921fb6p0f), x);
  const V middle = hn::Set(d, 0x1.777a5cp-25f);
  const V added = hn::Mul(k, middle);
  const V second = hn::Add(first, added);
  const V lost = hn::Add(hn::Sub(added, hn::Sub(second, first)), MultiplySub(k, middle, added));
  return hn::Add(second, MultiplyAdd(k, hn::Set(d, 0x1.ee59dap-50f), lost));
}

template <Trigonometric kFunction>
double Precisely(double x) {
  // Not by MathOfRun, as a module that has this would then have all functions of f64.
  const bool exact = KernelRun::IsExact();
  if constexpr (kFunction == Trigonometric::kSine) return exact ? portable::Sin(x) : std::sin(x);
  if constexpr (kFunction == Trigonometric::kCosine) return exact ? portable::Cos(x) : std::cos(x);
  return exact ? portable::Tan(x) : std::tan(x);
}

// y, with the lanes that `mask` says replaced by what the library gives.
template <Trigonometric kFunction, class D, class M, class V = hn::Vec<D>>
HWY_NOINLINE V ReplaceTrigonometric(D d, M mask, V x, V y) {
  using T = hn::TFromD<D>;
  alignas(64) T arguments[HWY_LANES(T)], results[HWY_LANES(T)], replaced[HWY_LANES(T)];
  hn::Store(x, d, arguments);
  hn::Store(y, d, results);
  hn::Store(hn::IfThenElseZero(mask, hn::Set(d, T{1})), d, replaced);
  for (size_t i = 0; i < HWY_LANES(T); ++i) {
    if (replaced[i] != T{0}) results[i] = static_cast<T>(Precisely<kFunction>(static_cast<double>(arguments[i])));
  }
  return hn::Load(d, results);
}

// Of r with |r| <= pi/4.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SineAndCosine(D d, V r, V& cosine) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  const V z = hn::Mul(r, r);
  const V almost = NegMultiplyAdd(z, hn::Set(d, T{0.5}), hn::Set(d, T{1}));
  cosine = MultiplyAdd(hn::Mul(z, z), Polynomial(d, z, C::kCos), almost);
  return MultiplyAdd(hn::Mul(z, r), Polynomial(d, z, C::kSin), r);
}

// Of x = k pi/2 + r.
template <Trigonometric kFunction, class D, class V = hn::Vec<D>>
HWY_INLINE V ReducedTrigonometric(D d, V x, V k, V r) {
  using T = hn::TFromD<D>;
  using C = MathConstants<T>;
  constexpr bool kCosine = kFunction == Trigonometric::kCosine;
  const hn::RebindToSigned<D> di;
  V cosine;
  const V sine = SineAndCosine(d, r, cosine);
  // The quadrant is in the low bits; the cosine is the sine of the next one.
  auto quadrant = hn::BitCast(di, hn::Add(k, hn::Set(d, C::kRounding)));
  if (kCosine) quadrant = hn::Add(quadrant, hn::Set(di, 1));
  const auto odd = hn::RebindMask(d, hn::Eq(hn::And(quadrant, hn::Set(di, 1)), hn::Set(di, 1)));
  V y;
  if constexpr (kFunction == Trigonometric::kTangent) {
    y = hn::Div(hn::IfThenElse(odd, cosine, sine), hn::IfThenElse(odd, hn::Neg(sine), cosine));
  } else {
    const auto sign = hn::BitCast(d, hn::ShiftLeft<8 * sizeof(T) - 2>(hn::And(quadrant, hn::Set(di, 2))));
    y = hn::Xor(hn::IfThenElse(odd, cosine, sine), sign);
  }
  return kCosine ? y : hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, C::kTiny)), x, y);
}

template <Trigonometric kFunction, class D, class V = hn::Vec<D>>
HWY_INLINE V VectorTrigonometric(D d, V x) {
  using T = hn::TFromD<D>;
  const auto are_up_to = [&](T limit) HWY_ATTR { return hn::Le(hn::Abs(x), hn::Set(d, limit)); };
  V k, r;
  if constexpr (sizeof(T) == 8) {
    r = ReduceByHalfPi(d, x, k);
  } else if constexpr (kReducesNear) {
    r = ReduceNear(d, x, k);
    const auto near = are_up_to(kNearLimit);
    if (HWY_LIKELY(hn::AllTrue(d, near))) return ReducedTrigonometric<kFunction>(d, x, k, r);
    V far_k;
    r = hn::IfThenElse(near, r, ReduceFloat(d, x, far_k));
    k = hn::IfThenElse(near, k, far_k);
  } else {
    r = ReduceFloat(d, x, k);
  }
  const V y = ReducedTrigonometric<kFunction>(d, x, k, r);
  auto unfit = hn::Not(are_up_to(static_cast<T>(kTrigonometricLimit)));
  if constexpr (sizeof(T) == 8) {  // cancellation leaves too few bits next to multiples of pi/2
    unfit = hn::Or(unfit, hn::And(hn::Lt(hn::Abs(r), hn::Set(d, 0x1p-9)), hn::Ne(k, hn::Zero(d))));
  }
  return hn::AllFalse(d, unfit) ? y : ReplaceTrigonometric<kFunction>(d, unfit, x, y);
}

// ---- Reciprocal of the square root.

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorRsqrt(D d, V x) {
  return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Sqrt(x));
}

// f32: where the processor has an approximation to 11 bits or more, and multiplies and adds in one instruction.
inline constexpr bool kApproximatesRsqrt = kFuses && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3);

template <class D, class V = hn::Vec<D>>
HWY_INLINE auto IsNormalAndPositive(D d, V x) {
  return hn::And(hn::Ge(x, hn::Set(d, 0x1p-126f)), hn::Lt(x, hn::Set(d, std::numeric_limits<float>::infinity())));
}

// Of such a number: y (1 + e/2 + 3 e^2 / 8), which leaves an error of 5 e^3 / 16, where e = 1 - x y^2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NormalRsqrt(D d, V x) {
  const V y = hn::ApproximateReciprocalSqrt(x);
  const V e = NegMultiplyAdd(hn::Mul(x, y), y, hn::Set(d, 1.0f));
  return MultiplyAdd(hn::Mul(y, e), MultiplyAdd(e, hn::Set(d, 0.375f), hn::Set(d, 0.5f)), y);
}

// ---- Error function, f32.

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorErf(D d, V x) {
  // erf(x) / x - 1 in x^2, for |x| <= 1; e = 2^-29.
  static constexpr float kSmall[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2d20p-4f, -0x1.b7fbb4p-6f,
                                     0x1.5419f6p-8f, -0x1.a485ecp-11f, 0x1.4ae4cep-14f};
  // -log(1 - erf(x)) in x, for x in [1, 3.95]; e = 2^-29 relative to erf.
  static constexpr float kLarge[] = {0x1.6626acp-12f, 0x1.2088e8p+0f, 0x1.46baf4p-1f,  0x1.a65306p-4f,
                                     -0x1.65cb02p-6f, 0x1.825a0cp-9f, -0x1.86dbfep-13f};
  const V one = hn::Set(d, 1.0f);
  const V a = AtMost(d, hn::Abs(x), 3.95f);  // where erf rounds to 1
  const V small = MultiplyAdd(x, Polynomial(d, hn::Mul(x, x), kSmall), x);
  // The exponent is above -16.
  const V large = hn::Sub(one, NormalExp(d, hn::Neg(Polynomial(d, a, kLarge))));
  // Of NaN, `small` is NaN.
  return hn::IfThenElse(hn::Ge(a, one), hn::CopySign(large, x), small);
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
