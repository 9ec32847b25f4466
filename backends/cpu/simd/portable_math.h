// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elementary functions of f64 that give the same bits on every machine: made of sums, products, quotients and square
// roots of IEEE 754 numbers, without the C library and without fused multiply-add (NU-3).

#ifndef TANDEM_BACKENDS_CPU_SIMD_PORTABLE_MATH_H_
#define TANDEM_BACKENDS_CPU_SIMD_PORTABLE_MATH_H_

namespace tandem::cpu::portable {

// Each is computed in twice the precision and rounded at the end: the worst error is below 0.51 ULP, of subnormal
// results too. Special values are C's (Annex F), as in simd_math.h.
double Exp(double x);
double Expm1(double x);
double Log(double x);
double Log1p(double x);
double Sin(double x);
double Cos(double x);
double Tan(double x);
double Asin(double x);
double Acos(double x);
double Atan(double x);
double Atan2(double y, double x);
double Sinh(double x);
double Cosh(double x);
double Tanh(double x);
double Asinh(double x);
double Acosh(double x);
double Atanh(double x);
double Erf(double x);
double Erfc(double x);
double Pow(double x, double y);

}  // namespace tandem::cpu::portable

#endif  // TANDEM_BACKENDS_CPU_SIMD_PORTABLE_MATH_H_
