// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The inverses of trigonometric and hyperbolic functions for one vector of f32; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_INVERSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_INVERSE_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_INVERSE_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_INVERSE_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"
#include "simd/simd_fused-inl.h"
#include "simd/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

// pi/2 and pi in two parts.
inline constexpr float kHalfPi = 0x1.921fb6p0f;
inline constexpr float kHalfPiLow = -0x1.777a5cp-25f;
inline constexpr float kPi = 0x1.921fb6p1f;
inline constexpr float kPiLow = -0x1.777a5cp-24f;

// ---- Arcsine and arccosine.

// For a = |x| up to 1/2, asin(a); above, asin(sqrt((1 - a) / 2)), which is half of acos(a). NaN above 1.
template <class D, class M, class V = hn::Vec<D>>
HWY_INLINE V ReducedAsin(D d, V x, M& large) {
  // (asin(s) / s - 1) / z in z = s^2, for z <= 1/4; e = 2^-27.6.
  static constexpr float kAsin[] = {0x1.5555c8p-3f, 0x1.3301ccp-4f, 0x1.7480dcp-5f, 0x1.8c0cc6p-6f, 0x1.59861ep-5f};
  const V half = hn::Set(d, 0.5f);
  const V a = hn::Abs(x);
  large = hn::Gt(a, half);
  const V z = hn::IfThenElse(large, NegMultiplyAdd(half, a, half), hn::Mul(a, a));
  const V s = hn::IfThenElse(large, hn::Sqrt(z), a);
  return MultiplyAdd(hn::Mul(s, z), Polynomial(d, z, kAsin), s);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorAsin(D d, V x) {
  hn::Mask<D> large;
  const V y = ReducedAsin(d, x, large);
  const V from_half_pi = hn::Sub(hn::Set(d, kHalfPi), hn::Sub(hn::Add(y, y), hn::Set(d, kHalfPiLow)));
  return hn::CopySign(hn::IfThenElse(large, from_half_pi, y), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorAcos(D d, V x) {
  hn::Mask<D> large;
  const V y = hn::CopySign(ReducedAsin(d, x, large), x);
  // pi/2 - y near 0; 2y from 1/2 on; pi + 2y below -1/2.
  const auto negative = hn::Lt(x, hn::Zero(d));
  const V end = hn::IfThenElseZero(negative, hn::Set(d, kPi));
  const V end_low = hn::IfThenElseZero(negative, hn::Set(d, kPiLow));
  const V base = hn::IfThenElse(large, end, hn::Set(d, kHalfPi));
  const V base_low = hn::IfThenElse(large, end_low, hn::Set(d, kHalfPiLow));
  return hn::Add(base, hn::Add(base_low, hn::IfThenElse(large, hn::Add(y, y), hn::Neg(y))));
}

// ---- Arctangent.

// Of q in [0, 1].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtanOfRatio(D d, V q) {
  // (atan(q) / q - 1) / z in z = q^2; e = 2^-28.5.
  static constexpr float kAtan[] = {-0x1.55553ep-2f, 0x1.9991fep-3f,  -0x1.2421b6p-3f, 0x1.c09a02p-4f,  -0x1.58349cp-4f,
                                    0x1.daca04p-5f,  -0x1.fed19ap-6f, 0x1.65a694p-7f,  -0x1.d63048p-10f};
  const V z = hn::Mul(q, q);
  return MultiplyAdd(hn::Mul(q, z), Polynomial(d, z, kAtan), q);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorAtan(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V a = hn::Abs(x);
  const auto large = hn::Gt(a, one);
  const V y = AtanOfRatio(d, hn::IfThenElse(large, hn::Div(one, a), a));
  const V from_half_pi = hn::Sub(hn::Set(d, kHalfPi), hn::Sub(y, hn::Set(d, kHalfPiLow)));
  return hn::CopySign(hn::IfThenElse(large, from_half_pi, y), x);
}

// The angle of the point (x, y).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorAtan2(D d, V y, V x) {
  const V zero = hn::Zero(d);
  const V abs_x = hn::Abs(x);
  const V abs_y = hn::Abs(y);
  const auto steep = hn::Gt(abs_y, abs_x);
  const V smaller = hn::IfThenElse(steep, abs_x, abs_y);
  const V larger = hn::IfThenElse(steep, abs_y, abs_x);
  // Equal ones may both be infinite, or zero.
  const V if_equal = hn::IfThenElseZero(hn::Gt(larger, zero), hn::Set(d, 1.0f));
  const V q = hn::IfThenElse(hn::Eq(smaller, larger), if_equal, hn::Div(smaller, larger));
  const V angle = AtanOfRatio(d, q);
  // pi/2 -+ angle where it is steep; else angle, or pi - angle to the left of the axis.
  const V x_sign = hn::And(x, hn::SignBit(d));
  const auto left = hn::Lt(hn::Or(x_sign, hn::Set(d, 1.0f)), zero);
  const V base = hn::IfThenElse(steep, hn::Set(d, kHalfPi), hn::IfThenElseZero(left, hn::Set(d, kPi)));
  const V base_low = hn::IfThenElse(steep, hn::Set(d, kHalfPiLow), hn::IfThenElseZero(left, hn::Set(d, kPiLow)));
  const V flipped = hn::Xor(hn::IfThenElse(steep, hn::Neg(angle), angle), x_sign);
  return hn::CopySign(hn::Add(base, hn::Add(base_low, flipped)), y);
}

// ---- Inverse hyperbolic functions.

// From here on, sqrt(x^2 + 1) and sqrt(x^2 - 1) are x.
inline constexpr float kHyperbolicLimit = 0x1p26f;

// log(1 + small), or log(2 x) where x is large.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogOfSum(D d, V small, V x) {
  const auto large = hn::Gt(x, hn::Set(d, kHyperbolicLimit));
  return ShiftedLog1p(d, hn::IfThenElse(large, x, small), hn::IfThenElseZero(large, hn::Set(d, 1.0f)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorAsinh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V a = hn::Abs(x);
  const V square = hn::Mul(a, a);
  // a + sqrt(a^2 + 1) - 1 without cancellation.
  const V small = hn::Add(a, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(square, one)))));
  return hn::CopySign(LogOfSum(d, small, a), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorAcosh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V t = hn::Sub(x, one);
  const V small = hn::Add(t, hn::Sqrt(hn::Mul(t, hn::Add(x, one))));
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Lt(x, one), nan, LogOfSum(d, small, x));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorAtanh(D d, V x) {
  const V a = hn::Abs(x);
  const V ratio = hn::Div(hn::Add(a, a), hn::Sub(hn::Set(d, 1.0f), a));
  return hn::CopySign(hn::Mul(hn::Set(d, 0.5f), VectorLog1p(d, ratio)), x);
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
