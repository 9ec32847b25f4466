// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The inverses of trigonometric and hyperbolic functions, of arrays; f64 one element after the other.

#include <cmath>
#include <limits>

#include "simd/simd_math.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/simd_inverse.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/simd_functions-inl.h"
#include "simd/simd_inverse-inl.h"

// X(name, expression of the vector x of f32 with tag d, the same of a double x with functions of `math`)
#define TANDEM_FOR_EACH_INVERSE_FUNCTION(X)  \
  X(Asin, VectorAsin(d, x), math.asin(x))    \
  X(Acos, VectorAcos(d, x), math.acos(x))    \
  X(Atan, VectorAtan(d, x), math.atan(x))    \
  X(Asinh, VectorAsinh(d, x), math.asinh(x)) \
  X(Acosh, VectorAcosh(d, x), math.acosh(x)) \
  X(Atanh, VectorAtanh(d, x), math.atanh(x))

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

TANDEM_FOR_EACH_INVERSE_FUNCTION(TANDEM_DEFINE_FLOAT)

void Atan2F32(const float* y, const float* x, int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(VectorAtan2(d, hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, out + i);
  }
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    StoreFirst(VectorAtan2(d, LoadFirst(d, rest, y + i), LoadFirst(d, rest, x + i)), d, rest, out + i);
  }
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace TANDEM_CPU_NAMESPACE {

TANDEM_FOR_EACH_INVERSE_FUNCTION(TANDEM_EXPORT_FLOAT)
HWY_EXPORT(Atan2F32);
#ifndef TANDEM_SIMD_EXACT
namespace exact::simd {
void Atan2(const float* y, const float* x, int64_t count, float* out);
}
#endif

namespace simd {

TANDEM_FOR_EACH_INVERSE_FUNCTION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_INVERSE_FUNCTION(TANDEM_SCALAR_DOUBLE)

void Atan2(const float* y, const float* x, int64_t count, float* out) {
  TANDEM_IF_EXACT(simd::Atan2(y, x, count, out));
  HWY_DYNAMIC_DISPATCH(Atan2F32)(y, x, count, out);
}
#ifndef TANDEM_SIMD_EXACT
void Atan2(const double* y, const double* x, int64_t count, double* out) {
  const auto atan2 = MathOfRun().atan2;
  for (int64_t i = 0; i < count; ++i) out[i] = atan2(y[i], x[i]);
}
#endif

}  // namespace simd
}  // namespace TANDEM_CPU_NAMESPACE

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_INVERSE_FUNCTION
