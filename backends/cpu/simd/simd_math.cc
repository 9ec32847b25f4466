// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The elementary functions of arrays.

#include "simd/simd_math.h"

#include <cmath>

#include "simd/relaxed_kernels.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/simd_math.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/simd_functions-inl.h"
#include "simd/simd_math-inl.h"

// X(name, expression of the vector x with tag d, the same of a double x with functions of `math`)
#define TANDEM_FOR_EACH_MATH_FUNCTION(X)                                 \
  X(Expm1, VectorExpm1(d, x), math.expm1(x))                             \
  X(Log, VectorLog(d, x), math.log(x))                                   \
  X(Log1p, VectorLog1p(d, x), math.log1p(x))                             \
  X(Sin, VectorTrigonometric<Trigonometric::kSine>(d, x), math.sin(x))   \
  X(Cos, VectorTrigonometric<Trigonometric::kCosine>(d, x), math.cos(x)) \
  X(Tanh, VectorTanh(d, x), math.tanh(x))                                \
  X(Cosh, VectorCosh(d, x), math.cosh(x))                                \
  X(Sqrt, hn::Sqrt(x), std::sqrt(x))

// Those whose f32 is shorter for most numbers.
#define TANDEM_FOR_EACH_SHORTENED_FUNCTION(X)     \
  X(Exp, VectorExp(d, x), math.exp(x))            \
  X(Rsqrt, VectorRsqrt(d, x), 1.0 / std::sqrt(x)) \
  X(Sigmoid, VectorSigmoid(d, x), x < 0.0 ? math.exp(x) / (1.0 + math.exp(x)) : 1.0 / (1.0 + math.exp(-x)))

// Those whose f64 is computed one element after the other.
#define TANDEM_FOR_EACH_FLOAT_FUNCTION(X)                                 \
  X(Erf, VectorErf(d, x), math.erf(x))                                    \
  X(Tan, VectorTrigonometric<Trigonometric::kTangent>(d, x), math.tan(x)) \
  X(Sinh, VectorSinh(d, x), math.sinh(x))

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

// Asks four vectors at once whether `shortened` will do for them: what it gives where is_usual(d, x) is what `function`
// gives.
template <class F, class S, class P>
HWY_INLINE void MapUsually(const float* x, int64_t size, float* y, F function, S shortened, P is_usual) {
  const hn::ScalableTag<float> d;
  constexpr ptrdiff_t kLanes = HWY_LANES(float);
  const auto count = static_cast<ptrdiff_t>(size);
  const auto are_usual = [&](ptrdiff_t i) HWY_ATTR {
    const auto is_one = [&](ptrdiff_t j) HWY_ATTR { return is_usual(d, hn::LoadU(d, x + i + j * kLanes)); };
    return hn::AllTrue(d, hn::And(hn::And(is_one(0), is_one(1)), hn::And(is_one(2), is_one(3))));
  };
  ptrdiff_t i = 0;
  while (i + kLanes <= count) {
    if (i + 4 * kLanes <= count && HWY_LIKELY(are_usual(i))) {
      HWY_UNROLL(4)
      for (int j = 0; j < 4; ++j, i += kLanes) hn::StoreU(shortened(d, hn::LoadU(d, x + i)), d, y + i);
    } else {
      hn::StoreU(function(d, hn::LoadU(d, x + i)), d, y + i);
      i += kLanes;
    }
  }
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    StoreFirst(function(d, LoadFirst(d, rest, x + i)), d, rest, y + i);
  }
}

void ExpF32(const float* x, int64_t count, float* y) {
  if (kHasRelaxed && ComputeRelaxedExp(x, count, y)) return;
  MapUsually(
      x, count, y, [](auto d, auto v) HWY_ATTR { return VectorExp(d, v); },
      [](auto d, auto v) HWY_ATTR { return NormalExp(d, v); },
      [](auto d, auto v) HWY_ATTR { return ExpIsNormal(d, v); });
}
void SigmoidF32(const float* x, int64_t count, float* y) {
  if (kHasRelaxed && ComputeRelaxedSigmoid(x, count, y)) return;
  MapUsually(
      x, count, y, [](auto d, auto v) HWY_ATTR { return VectorSigmoid(d, v); },
      [](auto d, auto v) HWY_ATTR { return NormalSigmoid(d, v); },
      [](auto d, auto v) HWY_ATTR { return ExpIsNormal(d, v); });
}
void RsqrtF32(const float* x, int64_t count, float* y) {
  if constexpr (kApproximatesRsqrt) {
    MapUsually(
        x, count, y,
        [](auto d, auto v)
            HWY_ATTR { return hn::IfThenElse(IsNormalAndPositive(d, v), NormalRsqrt(d, v), VectorRsqrt(d, v)); },
        [](auto d, auto v) HWY_ATTR { return NormalRsqrt(d, v); },
        [](auto d, auto v) HWY_ATTR { return IsNormalAndPositive(d, v); });
  } else {
    MapVectors(x, count, y, [](auto d, auto v) HWY_ATTR { return VectorRsqrt(d, v); });
  }
}

TANDEM_FOR_EACH_SHORTENED_FUNCTION(TANDEM_DEFINE_DOUBLE)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DEFINE_FLOAT)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DEFINE_DOUBLE)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_DEFINE_FLOAT)

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace TANDEM_CPU_NAMESPACE {

TANDEM_FOR_EACH_SHORTENED_FUNCTION(TANDEM_EXPORT_FLOAT)
TANDEM_FOR_EACH_SHORTENED_FUNCTION(TANDEM_EXPORT_DOUBLE)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_EXPORT_FLOAT)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_EXPORT_DOUBLE)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_EXPORT_FLOAT)

namespace simd {

TANDEM_FOR_EACH_SHORTENED_FUNCTION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_SHORTENED_FUNCTION(TANDEM_DISPATCH_DOUBLE)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DISPATCH_DOUBLE)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_FLOAT_FUNCTION(TANDEM_SCALAR_DOUBLE)

}  // namespace simd
}  // namespace TANDEM_CPU_NAMESPACE

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_MATH_FUNCTION
#undef TANDEM_FOR_EACH_SHORTENED_FUNCTION
#undef TANDEM_FOR_EACH_FLOAT_FUNCTION
