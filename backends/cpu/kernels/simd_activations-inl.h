// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Activations of neural networks for one vector; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_SIMD_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_SIMD_ACTIVATIONS_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_SIMD_ACTIVATIONS_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_SIMD_ACTIVATIONS_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {

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

// A polynomial without constant term, of which e is to the power.
struct Exponent {
  double linear;
  double square;
  double cube;
};

#if HWY_TARGET == HWY_SCALAR || !HWY_HAVE_FLOAT64
// As below, without vectors of f64.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceExponent(D d, Exponent exponent, V x, V& k) {
  alignas(64) float from[HWY_LANES(float)], rest[HWY_LANES(float)], multiple[HWY_LANES(float)];
  hn::Store(x, d, from);
  for (size_t i = 0; i < HWY_LANES(float); ++i) {
    const double value = from[i];
    const double y = value * (exponent.linear + value * (exponent.square + value * exponent.cube));
    const double q = y * 0x1.71547652b82fep0 + 0x1.8p52 - 0x1.8p52;
    rest[i] = static_cast<float>(y - q * 0x1.62e42fefa39efp-1);
    multiple[i] = static_cast<float>(q);
  }
  k = hn::Load(d, multiple);
  return hn::Load(d, rest);
}
#else
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceWide(D d, Exponent exponent, V x, V& k) {
  const V inner = hn::MulAdd(x, hn::Set(d, exponent.cube), hn::Set(d, exponent.square));
  const V y = hn::Mul(x, hn::MulAdd(x, inner, hn::Set(d, exponent.linear)));
  const V rounding = hn::Set(d, MathConstants<double>::kRounding);
  k = hn::Sub(hn::MulAdd(y, hn::Set(d, 0x1.71547652b82fep0), rounding), rounding);
  return hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), y);
}

// exponent(x) = k ln 2 + r with |r| <= ln(2)/2; gives r. Where the exponent is large, f32 has too few bits for it.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReduceExponent(D d, Exponent exponent, V x, V& k) {
  const hn::Half<D> half;
  const hn::Rebind<double, decltype(half)> wide;
  auto k_low = hn::Zero(wide), k_high = hn::Zero(wide);
  const auto low = ReduceWide(wide, exponent, hn::PromoteTo(wide, hn::LowerHalf(half, x)), k_low);
  const auto high = ReduceWide(wide, exponent, hn::PromoteTo(wide, hn::UpperHalf(half, x)), k_high);
  k = hn::Combine(d, hn::DemoteTo(half, k_high), hn::DemoteTo(half, k_low));
  return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
}
#endif

// e^exponent(x) = (1 + y) 2^k; gives y.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Expm1Of(D d, Exponent exponent, V x, V& k) {
  const V r = ReduceExponent(d, exponent, x, k);
  return hn::MulAdd(hn::Mul(r, r), Polynomial(d, r, MathConstants<float>::kExp), r);
}

// x Phi(x), where for a >= 0 Phi(a) = 1/2 + a P(a^2) and a Phi(-a) = e^(-a^2/2) H(a) a / (a + 2.5).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorGelu(D d, V x) {
  // P, for a <= 1; e = 2^-31.
  static constexpr float kCentre[] = {0x1.988454p-2f,   -0x1.105826p-4f, 0x1.46cc3ep-7f,
                                      -0x1.36d8aep-10f, 0x1.d9c172p-14f, -0x1.f4d366p-18f};
  // H in (a - 2.5) / (a + 2.5), for a in [1, 15]; e = 2^-27.5.
  static constexpr float kTail[] = {0x1.69cee6p-1f, -0x1.bc19cep-2f, 0x1.0e4f92p-3f,
                                    0x1.2ecae2p-7f, -0x1.0cb568p-6f, -0x1.ac03aep-10f,
                                    0x1.5850aep-9f, 0x1.7a9a08p-11f, -0x1.27d358p-11f};
  const V one = hn::Set(d, 1.0f);
  const V a = AtMost(d, hn::Abs(x), 15.0f);  // from where on a Phi(-a) rounds to 0
  const auto is_central = hn::Lt(a, one);
  const V phi = hn::MulAdd(x, Polynomial(d, hn::Mul(x, x), kCentre), hn::Set(d, 0.5f));
  V k;
  const V expm1 = Expm1Of(d, {.linear = 0, .square = -0.5, .cube = 0}, a, k);
  const V w = hn::Div(a, hn::Add(a, hn::Set(d, 2.5f)));
  const V h = hn::Mul(w, Polynomial(d, hn::Sub(hn::Add(w, w), one), kTail));
  const V tail = Scale(d, hn::MulAdd(h, expm1, h), k);
  const V outside = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(tail), hn::Sub(x, tail));
  return hn::IfThenElse(is_central, hn::Mul(x, phi), outside);
}

// x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V VectorGeluTanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V a = AtMost(d, hn::Abs(x), 12.0f);  // from where on e^-2u times a rounds to 0
  V k;
  const V expm1 = Expm1Of(d, {.linear = -0x1.9884533d43651p0, .square = 0, .cube = -0x1.2444f2a4d8b4bp-4}, a, k);
  const V e = hn::Add(expm1, one);
  const auto negative = hn::Lt(x, hn::Zero(d));
  // Powers of 2 that leave no trace in the sum need not be exact.
  const V visible_k = AtLeast(d, k, -100.0f);
  const V sum = hn::MulAdd(e, PowerOfTwo(d, hn::Add(visible_k, hn::Set(d, MathConstants<float>::kRounding))), one);
  const V y = hn::Div(hn::IfThenElse(negative, hn::Mul(e, a), x), sum);
  return hn::IfThenElse(negative, hn::Neg(Scale(d, y, k)), y);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
