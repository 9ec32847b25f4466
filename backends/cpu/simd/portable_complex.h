// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Complex functions that give the same bits on every machine, made of those of portable_math.h (NU-3).

#ifndef TANDEM_BACKENDS_CPU_SIMD_PORTABLE_COMPLEX_H_
#define TANDEM_BACKENDS_CPU_SIMD_PORTABLE_COMPLEX_H_

#include <cmath>
#include <complex>

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

namespace portable {

// For arguments whose parts are f32 numbers. Each part of the result, rounded to f32, is within 1 ULP, however small it
// is beside the other one, except that
// - the error of Pow is relative to the number, not to each part, and grows with the logarithm times the exponent;
// - where the real part of Expm1 or Sigmoid changes its sign, its error is 2^-52 of the terms that cancel.
// Special values and branch cuts are C's (Annex G), with the signs of glibc where C leaves them open.
Complex128 Sqrt(Complex128 z);
Complex128 Rsqrt(Complex128 z);
Complex128 Exp(Complex128 z);
Complex128 Expm1(Complex128 z);
Complex128 Log(Complex128 z);
Complex128 Log1p(Complex128 z);
Complex128 Sin(Complex128 z);
Complex128 Cos(Complex128 z);
Complex128 Tan(Complex128 z);
Complex128 Asin(Complex128 z);
Complex128 Acos(Complex128 z);
Complex128 Atan(Complex128 z);
Complex128 Sinh(Complex128 z);
Complex128 Cosh(Complex128 z);
Complex128 Tanh(Complex128 z);
Complex128 Asinh(Complex128 z);
Complex128 Acosh(Complex128 z);
Complex128 Atanh(Complex128 z);
Complex128 Sigmoid(Complex128 z);
Complex128 Pow(Complex128 x, Complex128 y);

}  // namespace portable
}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_SIMD_PORTABLE_COMPLEX_H_
