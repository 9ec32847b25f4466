// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Activations of neural networks for one vector; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_ACTIVATIONS_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_ACTIVATIONS_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_ACTIVATIONS_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "simd/simd_fused-inl.h"
#include "simd/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

// log(1 + e^x) as max(x, 0) + log(1 + e^-|x|).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorSoftplus(D d, V x) {
  const V positive = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), x);
  return hn::Add(positive, VectorLog1p(d, VectorExp(d, hn::Neg(hn::Abs(x)))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorElu(D d, V x) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), VectorExpm1(d, x), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorSelu(D d, V x) {
  using T = hn::TFromD<D>;
  const V scale = hn::Set(d, static_cast<T>(1.0507009873554804934));
  const V scale_alpha = hn::Set(d, static_cast<T>(1.7580993408473768600));
  const auto negative = hn::Lt(x, hn::Zero(d));
  return hn::Mul(hn::IfThenElse(negative, scale_alpha, scale), hn::IfThenElse(negative, VectorExpm1(d, x), x));
}

// ---- Gaussian error linear units, f32.

// x Phi(x), where for a >= 0 Phi(a) = 1/2 + a P(a^2) and a Phi(-a) = e^(-a^2/2) H(a) a / (a + 2.5).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorGelu(D d, V x) {
  using C = MathConstants<float>;
  // P, for a <= 1; e = 2^-31.
  static constexpr float kCentre[] = {0x1.988454p-2f,   -0x1.105826p-4f, 0x1.46cc3ep-7f,
                                      -0x1.36d8aep-10f, 0x1.d9c172p-14f, -0x1.f4d366p-18f};
  // H in (a - 2.5) / (a + 2.5), for a in [1, 15]; e = 2^-27.5.
  static constexpr float kTail[] = {0x1.69cee6p-1f, -0x1.bc19cep-2f, 0x1.0e4f92p-3f,
                                    0x1.2ecae2p-7f, -0x1.0cb568p-6f, -0x1.ac03aep-10f,
                                    0x1.5850aep-9f, 0x1.7a9a08p-11f, -0x1.27d358p-11f};
  const hn::RebindToUnsigned<D> du;
  const V one = hn::Set(d, 1.0f);
  const V half = hn::Set(d, 0.5f);
  const V a = AtMost(d, hn::Abs(x), 15.0f);  // from where on a Phi(-a) rounds to 0
  // -a^2/2 in two parts, the first exact: the square of the upper half of the bits.
  const V high = hn::BitCast(d, hn::And(hn::BitCast(du, a), hn::Set(du, 0xFFFFF000u)));
  const V square = hn::Mul(hn::Mul(high, hn::Neg(half)), high);
  const V rest = hn::Mul(hn::Mul(half, hn::Sub(high, a)), hn::Add(high, a));
  // Their exponential as (1 + expm1) 2^k, as in ReducedExpm1.
  const V rounding = hn::Set(d, C::kRounding);
  const V rounded = MultiplyAdd(square, hn::Set(d, 1.44269504f), rounding);
  const V k = hn::Sub(rounded, rounding);
  const V r =
      hn::Add(NegMultiplyAdd(k, hn::Set(d, C::kLn2Low), NegMultiplyAdd(k, hn::Set(d, C::kLn2High), square)), rest);
  const V expm1 = MultiplyAdd(hn::Mul(r, r), Polynomial(d, r, C::kExpm1), r);
  const V w = hn::Div(a, hn::Add(a, hn::Set(d, 2.5f)));
  const V h = hn::Mul(w, Polynomial(d, hn::Sub(hn::Add(w, w), one), kTail));
  // Two factors, since k may be as low as -163; the first product is exact.
  const V scale = PowerOfTwo(d, hn::Add(rounded, hn::Set(d, 64.0f)));
  const V tail = hn::Mul(hn::Mul(MultiplyAdd(h, expm1, h), scale), hn::Set(d, 0x1p-64f));
  const V outside = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(tail), hn::Sub(x, tail));
  const V phi = MultiplyAdd(x, Polynomial(d, hn::Mul(x, x), kCentre), half);
  return hn::IfThenElse(hn::Lt(a, one), hn::Mul(x, phi), outside);
}

// The exponent of the approximate form, a times these (see VectorGeluTanh).
inline constexpr double kGeluLinear = -0x1.9884533d43651p0;
inline constexpr double kGeluCubic = -0x1.2444f2a4d8b4bp-4;

#if HWY_TARGET == HWY_SCALAR || !HWY_HAVE_FLOAT64
// As below, without vectors of f64.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceGeluExponent(D d, V a, V& k) {
  alignas(64) float from[HWY_LANES(float)], rest[HWY_LANES(float)], multiple[HWY_LANES(float)];
  hn::Store(a, d, from);
  for (size_t i = 0; i < HWY_LANES(float); ++i) {
    const double value = from[i];
    const double y = value * (kGeluLinear + value * value * kGeluCubic);
    const double q = y * 0x1.71547652b82fep0 + 0x1.8p52 - 0x1.8p52;
    rest[i] = static_cast<float>(y - q * 0x1.62e42fefa39efp-1);
    multiple[i] = static_cast<float>(q);
  }
  k = hn::Load(d, multiple);
  return hn::Load(d, rest);
}
#else
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceGeluExponentWide(D d, V a, V& k) {
  const V y = hn::Mul(a, MultiplyAdd(hn::Mul(a, a), hn::Set(d, kGeluCubic), hn::Set(d, kGeluLinear)));
  const V rounding = hn::Set(d, MathConstants<double>::kRounding);
  k = hn::Sub(MultiplyAdd(y, hn::Set(d, 0x1.71547652b82fep0), rounding), rounding);
  return NegMultiplyAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), y);
}

// a (linear + cubic a^2) = k ln 2 + r with |r| <= ln(2)/2; gives r. Where it is large, f32 has too few bits for it.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceGeluExponent(D d, V a, V& k) {
  const hn::Half<D> half;
  const hn::Rebind<double, decltype(half)> wide;
  auto k_low = hn::Zero(wide), k_high = hn::Zero(wide);
  const auto low = ReduceGeluExponentWide(wide, hn::PromoteTo(wide, hn::LowerHalf(half, a)), k_low);
  const auto high = ReduceGeluExponentWide(wide, hn::PromoteTo(wide, hn::UpperHalf(half, a)), k_high);
  k = hn::Combine(d, hn::DemoteTo(half, k_high), hn::DemoteTo(half, k_low));
  return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
}
#endif

// x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorGeluTanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V a = AtMost(d, hn::Abs(x), 12.0f);  // from where on e^-2u times a rounds to 0
  V k;
  const V r = ReduceGeluExponent(d, a, k);
  const V e = hn::Add(MultiplyAdd(hn::Mul(r, r), Polynomial(d, r, MathConstants<float>::kExpm1), r), one);
  const auto negative = hn::Lt(x, hn::Zero(d));
  // Powers of 2 that leave no trace in the sum need not be exact.
  const V visible_k = AtLeast(d, k, -100.0f);
  const V sum = MultiplyAdd(e, PowerOfTwo(d, hn::Add(visible_k, hn::Set(d, MathConstants<float>::kRounding))), one);
  const V y = hn::Div(hn::IfThenElse(negative, hn::Mul(e, a), x), sum);
  return hn::IfThenElse(negative, hn::Neg(Scale(d, y, k)), y);
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
