// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where the elementary functions of single f64 come from: the C library, or, for exact mode, this one. Formulas that
// need them take one of the two as a template parameter.

#ifndef TANDEM_BACKENDS_CPU_SIMD_SCALAR_MATH_H_
#define TANDEM_BACKENDS_CPU_SIMD_SCALAR_MATH_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "simd/portable_math.h"
#include "tandem/kernel_run.h"

namespace tandem::cpu {

// X(function)
#define TANDEM_FOR_EACH_SCALAR_FUNCTION(X)                                                                  \
  X(Exp, exp)                                                                                               \
  X(Expm1, expm1)                                                                                           \
  X(Log, log) X(Log1p, log1p) X(Sin, sin) X(Cos, cos) X(Tan, tan) X(Asin, asin) X(Acos, acos) X(Atan, atan) \
      X(Sinh, sinh) X(Cosh, cosh) X(Tanh, tanh) X(Asinh, asinh) X(Atanh, atanh) X(Erf, erf) X(Erfc, erfc)

struct LibraryMath {
#define TANDEM_DEFINE(name, function) \
  static double name(double x) { return std::function(x); }
  TANDEM_FOR_EACH_SCALAR_FUNCTION(TANDEM_DEFINE)
#undef TANDEM_DEFINE
  // musl's gives numbers for large negative arguments.
  static double Acosh(double x) { return x < 1 ? std::numeric_limits<double>::quiet_NaN() : std::acosh(x); }
  static double Atan2(double y, double x) { return std::atan2(y, x); }
  static double Pow(double x, double y) { return std::pow(x, y); }
};

// The same bits on every machine; see portable_math.h.
struct PortableMath {
#define TANDEM_DEFINE(name, function) \
  static double name(double x) { return portable::name(x); }
  TANDEM_FOR_EACH_SCALAR_FUNCTION(TANDEM_DEFINE)
#undef TANDEM_DEFINE
  static double Acosh(double x) { return portable::Acosh(x); }
  static double Atan2(double y, double x) { return portable::Atan2(y, x); }
  static double Pow(double x, double y) { return portable::Pow(x, y); }
};
#undef TANDEM_FOR_EACH_SCALAR_FUNCTION

// y[i] = function(x[i]).
inline void MapNumbers(double (*function)(double), const double* x, int64_t count, double* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_SIMD_SCALAR_MATH_H_
