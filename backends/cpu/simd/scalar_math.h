// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where the elementary functions of single f64 come from: the C library, or, for exact mode, this one. Formulas that
// need them take one of the two.

#ifndef TANDEM_BACKENDS_CPU_SIMD_SCALAR_MATH_H_
#define TANDEM_BACKENDS_CPU_SIMD_SCALAR_MATH_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "simd/portable_math.h"
#include "tandem/kernel_run.h"

namespace tandem::cpu {

// X(name here, name in portable_math.h)
#define TANDEM_FOR_EACH_SCALAR_FUNCTION(X) \
  X(exp, Exp)                              \
  X(expm1, Expm1)                          \
  X(log, Log)                              \
  X(log1p, Log1p)                          \
  X(sin, Sin)                              \
  X(cos, Cos)                              \
  X(tan, Tan)                              \
  X(asin, Asin)                            \
  X(acos, Acos)                            \
  X(atan, Atan)                            \
  X(sinh, Sinh)                            \
  X(cosh, Cosh)                            \
  X(tanh, Tanh)                            \
  X(asinh, Asinh)                          \
  X(atanh, Atanh)                          \
  X(erf, Erf)                              \
  X(erfc, Erfc)

struct SineAndCosine {
  double sin;
  double cos;
};

struct ScalarMath {
#define TANDEM_DECLARE(name, portable_name) double (*name)(double);
  TANDEM_FOR_EACH_SCALAR_FUNCTION(TANDEM_DECLARE)
#undef TANDEM_DECLARE
  double (*acosh)(double);
  double (*atan2)(double y, double x);
  double (*pow)(double x, double y);
  SineAndCosine (*sincos)(double);
};

inline constexpr ScalarMath kLibraryMath = {
#define TANDEM_LIST(name, portable_name) .name = [](double x) { return std::name(x); },
    TANDEM_FOR_EACH_SCALAR_FUNCTION(TANDEM_LIST)
#undef TANDEM_LIST
        // musl's gives numbers for large negative arguments.
        .acosh = [](double x) { return x < 1 ? std::numeric_limits<double>::quiet_NaN() : std::acosh(x); },
    .atan2 = [](double y, double x) { return std::atan2(y, x); },
    .pow = [](double x, double y) { return std::pow(x, y); },
    .sincos =
        [](double x) {
          return SineAndCosine{std::sin(x), std::cos(x)};
        },
};

// The same bits on every machine; see portable_math.h.
inline constexpr ScalarMath kPortableMath = {
#define TANDEM_LIST(name, portable_name) .name = &portable::portable_name,
    TANDEM_FOR_EACH_SCALAR_FUNCTION(TANDEM_LIST)
#undef TANDEM_LIST
        .acosh = &portable::Acosh,
    .atan2 = &portable::Atan2,
    .pow = &portable::Pow,
    .sincos =
        [](double x) {
          return SineAndCosine{portable::Sin(x), portable::Cos(x)};
        },
};
#undef TANDEM_FOR_EACH_SCALAR_FUNCTION

// For the kernel that this thread works for.
inline const ScalarMath& MathOfRun() { return KernelRun::IsExact() ? kPortableMath : kLibraryMath; }

// y[i] = function(math, x[i]).
inline void MapNumbers(double (*function)(const ScalarMath& math, double x), const double* x, int64_t count,
                       double* y) {
  const ScalarMath& math = MathOfRun();
  for (int64_t i = 0; i < count; ++i) y[i] = function(math, x[i]);
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_SIMD_SCALAR_MATH_H_
