// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The inverses of trigonometric and hyperbolic functions, of arrays; f64 is the C++ library's.

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

// X(name, expression of the vector x of f32 with tag d, the same of a double x)
#define TANDEM_FOR_EACH_INVERSE_FUNCTION(X)   \
  X(Asin, VectorAsin(d, x), std::asin(x))     \
  X(Acos, VectorAcos(d, x), std::acos(x))     \
  X(Atan, VectorAtan(d, x), std::atan(x))     \
  X(Asinh, VectorAsinh(d, x), std::asinh(x))  \
  X(Acosh, VectorAcosh(d, x), ScalarAcosh(x)) \
  X(Atanh, VectorAtanh(d, x), std::atanh(x))

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {

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

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tandem::cpu {

TANDEM_FOR_EACH_INVERSE_FUNCTION(TANDEM_EXPORT_FLOAT)
HWY_EXPORT(Atan2F32);

namespace simd {

// musl's gives numbers for large negative arguments.
static double ScalarAcosh(double x) { return x < 1 ? std::numeric_limits<double>::quiet_NaN() : std::acosh(x); }

TANDEM_FOR_EACH_INVERSE_FUNCTION(TANDEM_DISPATCH_FLOAT)
TANDEM_FOR_EACH_INVERSE_FUNCTION(TANDEM_SCALAR_DOUBLE)

void Atan2(const float* y, const float* x, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(Atan2F32)(y, x, count, out);
}
void Atan2(const double* y, const double* x, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::atan2(y[i], x[i]);
}

}  // namespace simd
}  // namespace tandem::cpu

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_INVERSE_FUNCTION
