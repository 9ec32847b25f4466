// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The elementary functions of arrays.

#include "kernels/simd_math.h"

#include <cmath>

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_math.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"
#include "kernels/simd_partial-inl.h"

// X(name, expression of the vector x with tag d, the same of a double x)
#define TANDEM_FOR_EACH_MATH_FUNCTION(X)                                                                    \
  X(Exp, VectorExp(d, x), std::exp(x))                                                                      \
  X(Expm1, VectorExpm1(d, x), std::expm1(x))                                                                \
  X(Log, VectorLog(d, x), std::log(x))                                                                      \
  X(Log1p, VectorLog1p(d, x), std::log1p(x))                                                                \
  X(Sin, VectorTrigonometric<false>(d, x), std::sin(x))                                                     \
  X(Cos, VectorTrigonometric<true>(d, x), std::cos(x))                                                      \
  X(Tanh, VectorTanh(d, x), std::tanh(x))                                                                   \
  X(Sigmoid, VectorSigmoid(d, x), x < 0.0 ? std::exp(x) / (1.0 + std::exp(x)) : 1.0 / (1.0 + std::exp(-x))) \
  X(Sqrt, hn::Sqrt(x), std::sqrt(x))                                                                        \
  X(Rsqrt, hn::Div(hn::Set(d, hn::TFromD<decltype(d)>{1}), hn::Sqrt(x)), 1.0 / std::sqrt(x))

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

template <typename T, typename F>
HWY_INLINE void MapVectors(const T* x, int64_t count, T* y, F function) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(function(d, hn::LoadU(d, x + i)), d, y + i);
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    StoreFirst(function(d, LoadFirst(d, rest, x + i)), d, rest, y + i);
  }
}

}  // namespace

#define TANDEM_DEFINE_FLOAT(name, vector, scalar)                                                 \
  void name##F32(const float* from, int64_t count, float* to) {                                   \
    MapVectors(from, count, to, []([[maybe_unused]] auto d, auto x) HWY_ATTR { return vector; }); \
  }
#if HWY_HAVE_FLOAT64
#define TANDEM_DEFINE_DOUBLE(name, vector, scalar)                                                \
  void name##F64(const double* from, int64_t count, double* to) {                                 \
    MapVectors(from, count, to, []([[maybe_unused]] auto d, auto x) HWY_ATTR { return vector; }); \
  }
#else
#define TANDEM_DEFINE_DOUBLE(name, vector, scalar)                \
  void name##F64(const double* from, int64_t count, double* to) { \
    for (int64_t i = 0; i < count; ++i) {                         \
      const double x = from[i];                                   \
      to[i] = scalar;                                             \
    }                                                             \
  }
#endif

TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DEFINE_FLOAT)
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DEFINE_DOUBLE)
TANDEM_DEFINE_FLOAT(Erf, VectorErf(d, x), unused)

#undef TANDEM_DEFINE_FLOAT
#undef TANDEM_DEFINE_DOUBLE

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tandem::cpu {

#define TANDEM_EXPORT_FUNCTION(name, vector, scalar) \
  HWY_EXPORT(name##F32);                             \
  HWY_EXPORT(name##F64);
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_EXPORT_FUNCTION)
#undef TANDEM_EXPORT_FUNCTION
HWY_EXPORT(ErfF32);

namespace simd {

#define TANDEM_DEFINE_FUNCTION(name, vector, scalar)                                                   \
  void name(const float* x, int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(name##F32)(x, count, y); } \
  void name(const double* x, int64_t count, double* y) { HWY_DYNAMIC_DISPATCH(name##F64)(x, count, y); }
TANDEM_FOR_EACH_MATH_FUNCTION(TANDEM_DEFINE_FUNCTION)
#undef TANDEM_DEFINE_FUNCTION

void Erf(const float* x, int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(ErfF32)(x, count, y); }
void Erf(const double* x, int64_t count, double* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::erf(x[i]);
}

}  // namespace simd
}  // namespace tandem::cpu

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_MATH_FUNCTION
