// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Complex functions, made of real ones: with those of portable_math.h they give the same bits on every machine (NU-3).

#ifndef TANDEM_BACKENDS_CPU_SIMD_COMPLEX_MATH_H_
#define TANDEM_BACKENDS_CPU_SIMD_COMPLEX_MATH_H_

#include <cmath>
#include <complex>

#include "simd/scalar_math.h"

namespace tandem::cpu {

using Complex128 = std::complex<double>;

// By Smith, "Algorithm 116: complex division" (1962), so that infinite parts do not make everything NaN; by 0 as the
// real parts do.
inline Complex128 Divide(Complex128 x, Complex128 y) {
  const double re = y.real();
  const double im = y.imag();
  if (re == 0 && im == 0) return {x.real() / std::fabs(re), x.imag() / std::fabs(re)};
  if (std::fabs(re) >= std::fabs(im)) {
    const double ratio = im / re;
    const double scale = re + im * ratio;
    return {(x.real() + x.imag() * ratio) / scale, (x.imag() - x.real() * ratio) / scale};
  }
  const double ratio = re / im;
  const double scale = im + re * ratio;
  return {(x.real() * ratio + x.imag()) / scale, (x.imag() * ratio - x.real()) / scale};
}

namespace complex_math {

// For arguments whose parts are f32 numbers, of the real functions `math`. Each part of the result, rounded to f32, is
// within 1 ULP, however small it is beside the other one, except that
// - the error of Pow is relative to the number, not to each part, and grows with the logarithm times the exponent;
// - where the real part of Expm1 or Sigmoid changes its sign, its error is 2^-52 of the terms that cancel.
// Special values and branch cuts are C's (Annex G), with the signs of glibc where C leaves them open.
Complex128 Sqrt(const ScalarMath& math, Complex128 z);
Complex128 Rsqrt(const ScalarMath& math, Complex128 z);
Complex128 Exp(const ScalarMath& math, Complex128 z);
Complex128 Expm1(const ScalarMath& math, Complex128 z);
Complex128 Log(const ScalarMath& math, Complex128 z);
Complex128 Log1p(const ScalarMath& math, Complex128 z);
Complex128 Sin(const ScalarMath& math, Complex128 z);
Complex128 Cos(const ScalarMath& math, Complex128 z);
Complex128 Tan(const ScalarMath& math, Complex128 z);
Complex128 Asin(const ScalarMath& math, Complex128 z);
Complex128 Acos(const ScalarMath& math, Complex128 z);
Complex128 Atan(const ScalarMath& math, Complex128 z);
Complex128 Sinh(const ScalarMath& math, Complex128 z);
Complex128 Cosh(const ScalarMath& math, Complex128 z);
Complex128 Tanh(const ScalarMath& math, Complex128 z);
Complex128 Asinh(const ScalarMath& math, Complex128 z);
Complex128 Acosh(const ScalarMath& math, Complex128 z);
Complex128 Atanh(const ScalarMath& math, Complex128 z);
Complex128 Sigmoid(const ScalarMath& math, Complex128 z);
Complex128 Pow(const ScalarMath& math, Complex128 x, Complex128 y);

}  // namespace complex_math
}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_SIMD_COMPLEX_MATH_H_
