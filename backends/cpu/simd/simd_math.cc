// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The elementary functions of arrays.

#include "simd/simd_math.h"

#include <cmath>

#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/simd_math.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/simd_functions-inl.h"
#include "simd/simd_math-inl.h"

// X(name, expression of the vector x with tag d, the same of a double x)
#define TANDEM_FOR_EACH_MATH_FUNCTION(X)                                                                    \
  X(Exp, VectorExp(d, x), std::exp(x))                                                                      \
  X(Expm1, VectorExpm1(d, x), std::expm1(x))                                                                \
  X(Log, VectorLog(d, x), std::log(x))                                                                      \
  X(Log1p, VectorLog1p(d, x), std::log1p(x))                                                                \
  X(Sin, VectorTrigonometric<Trigonometric::kSine>(d, x), std::sin(x))                                      \
  X(Cos, VectorTrigonometric<Trigonometric::kCosine>(d, x), std::cos(x))                                    \
  X(Tanh, VectorTanh(d, x), std::tanh(x))                                                                   \
  X(Cosh, VectorCosh(d, x), std::cosh(x))                                                                   \
  X(Sigmoid, VectorSigmoid(d, x), x < 0.0 ? std::exp(x) / (1.0 + std::exp(x)) : 1.0 / (1.0 + std::exp(-x))) \
  X(Sqrt, hn::Sqrt(x), std::sqrt(x))                                                                        \
  X(Rsqrt, hn::Div(hn::Set(d, hn::TFromD<decltype(d)>{1}), hn::Sqrt(x)), 1.0 / std::sqrt(x))

// Those whose f64 is always the library's.
#define TANDEM_FOR_EACH_FLOAT_FUNCTION(X)                                 \
  X(Erf, VectorErf(d, x), std::erf(x))                                    \
  X(Tan, VectorTrigonometric<Trigonometric::kTangent>(d, x), std::tan(x)) \
  X(Sinh, VectorSinh(d, x), std::sinh(x))

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {

TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DEFINE_FLOAT)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DEFINE_DOUBLE)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_DEFINE_FLOAT)

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tandem::cpu {

TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_EXPORT_FLOAT)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_EXPORT_DOUBLE)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_EXPORT_FLOAT)

namespace simd {

TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DISPATCH_DOUBLE)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_SCALAR_DOUBLE)

}  // namespace simd
}  // namespace tandem::cpu

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_MATH_FUNCTION
#undef TANDEM_FOR_EACH_FLOAT_FUNCTION
