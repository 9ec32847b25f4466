// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Activations of neural networks, of arrays.

#include <cmath>

#include "simd/simd_math.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/simd_activations.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/simd_activations-inl.h"
#include "simd/simd_functions-inl.h"

// X(name, expression of the vector x with tag d, the same of a double x with functions of `math`)
#define TANDEM_FOR_EACH_ACTIVATION(X)                                                          \
  X(Softplus, VectorSoftplus(d, x), (x > 0.0 ? x : 0.0) + math.log1p(math.exp(-std::fabs(x)))) \
  X(Elu, VectorElu(d, x), x < 0.0 ? math.expm1(x) : x)                                         \
  X(Selu, VectorSelu(d, x), x < 0.0 ? 1.7580993408473768600 * math.expm1(x) : 1.0507009873554804934 * x)

// Those whose f64 is computed one element after the other.
#define TANDEM_FOR_EACH_FLOAT_ACTIVATION(X)      \
  X(Gelu, VectorGelu(d, x), ScalarGelu(math, x)) \
  X(GeluTanh, VectorGeluTanh(d, x), ScalarGeluTanh(math, x))

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

TANDEM_FOR_EACH_ACTIVATION(TANDEM_DEFINE_FLOAT)
TANDEM_FOR_EACH_ACTIVATION(TANDEM_DEFINE_DOUBLE)
TANDEM_FOR_EACH_FLOAT_ACTIVATION(TANDEM_DEFINE_FLOAT)

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace TANDEM_CPU_NAMESPACE {

#ifndef TANDEM_SIMD_EXACT
namespace {

// x Phi(x) for x < -12, by the asymptotic series 1 - 1/x^2 + 3/x^4 - 15/x^6 + ... of Phi. x^2 is split, so that the
// exponent has all its bits; e^(-x^2/2) is the product of two factors, since it may be subnormal.
double GeluTail(const ScalarMath& math, double x) {
  const double high = static_cast<float>(x);
  const double root = math.exp(-0.25 * high * high);
  const double growth = math.expm1(-0.5 * (x - high) * (x + high));
  const double inverse_square = 1.0 / (x * x);
  double series = 1.0;
  for (int factor = 29; factor > 1; factor -= 2) series = 1.0 - factor * inverse_square * series;
  const double rest = -inverse_square * series;
  const double scaled = root * 0.3989422804014327;
  return -(scaled + scaled * (growth + rest + growth * rest)) * root;
}

double ScalarGelu(const ScalarMath& math, double x) {
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  constexpr double kSqrtHalfLow = -0x1.bdd3413b26456p-55;
  if (!(x < 0.0)) return 0.5 * x * math.erfc(-kSqrtHalf * x);
  if (x < -40.0) return -0.0;
  if (x < -12.0) return GeluTail(math, x);
  const double z = -kSqrtHalf * x;
  const double lost = std::fma(-kSqrtHalf, x, -z) - kSqrtHalfLow * x;  // in the rounding of z
  const double slope = -1.1283791670955126 * math.exp(-z * z);
  return 0.5 * x * (math.erfc(z) + slope * lost);
}

// The exponent 2u of VectorGeluTanh in two parts, since an error of it becomes a relative error of the result.
double ScalarGeluTanh(const ScalarMath& math, double x) {
  constexpr double kScale = 0x1.9884533d43651p0;  // 2 sqrt(2 / pi)
  constexpr double kScaleLow = -0x1.cbc0d30ebfd15p-54;
  constexpr double kCube = 0x1.6e4e26d4801f7p-5;  // 0.044715
  constexpr double kCubeLow = 0x1.441355475a31ap-59;
  const double a = std::fabs(x);
  if (a > 30.0) return x < 0.0 ? -0.0 : x;
  const double square = a * a;
  const double square_low = std::fma(a, a, -square);
  const double term = kCube * square;
  const double term_low = std::fma(kCube, square, -term) + kCube * square_low + kCubeLow * square;
  const double factor = 1.0 + term;
  const double shifted = factor - 1.0;
  const double factor_low = (1.0 - (factor - shifted)) + (term - shifted) + term_low;
  const double product = a * factor;
  const double product_low = std::fma(a, factor, -product) + a * factor_low;
  const double exponent = kScale * product;
  const double exponent_low = std::fma(kScale, product, -exponent) + kScale * product_low + kScaleLow * product;
  // Two factors of e^-2u, since it may be subnormal.
  const double large = exponent < 600.0 ? exponent : 600.0;
  const double e = math.exp(-large);
  const double sum = 1.0 + e;
  if (x > 0.0) return x / sum;
  const double y = x * e / sum;
  return y * (1.0 - exponent_low / sum) * math.exp(large - exponent);
}

}  // namespace
#endif

TANDEM_FOR_EACH_ACTIVATION(TANDEM_EXPORT_FLOAT)
TANDEM_FOR_EACH_ACTIVATION(TANDEM_EXPORT_DOUBLE)
TANDEM_FOR_EACH_FLOAT_ACTIVATION(TANDEM_EXPORT_FLOAT)

namespace simd {

TANDEM_FOR_EACH_ACTIVATION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_ACTIVATION(TANDEM_DISPATCH_DOUBLE)
TANDEM_FOR_EACH_FLOAT_ACTIVATION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_FLOAT_ACTIVATION(TANDEM_SCALAR_DOUBLE)

}  // namespace simd
}  // namespace TANDEM_CPU_NAMESPACE

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_ACTIVATION
#undef TANDEM_FOR_EACH_FLOAT_ACTIVATION
