// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elementary functions of arrays, vectorised for the instruction set of the processor at hand.

#ifndef TANDEM_BACKENDS_CPU_SIMD_SIMD_MATH_H_
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_MATH_H_

#include <cstdint>

namespace tandem::cpu::simd {

// y[i] = f(x[i]) for i < count. y may be x; otherwise they must not overlap. No alignment is needed. Thread-safe;
// meant to be called for the ranges of a ParallelFor. The result for an element does not depend on its place.
//
// Special values are C's (Annex F): NaN gives NaN, overflow infinity, underflow a subnormal or zero rounded once, odd
// functions keep the sign of zero, log(0) = -inf, log(-1) = NaN, expm1(-inf) = -1, sin(inf) = NaN. Floating-point
// exception flags mean nothing.
//
// Worst error in ULP of the result, on every instruction set (the unit tests measure it by dense sweeps); f64 without a
// number is the C++ library's. In exact mode (NU-3) f64 functions are those of portable_math.h, and f32 functions
// compute the same without fused operations; their errors are within the bounds, too:
//            f32   f64   method
//   Exp      1.0   1.0   x = k ln 2 + r, polynomial for e^r, scaling by 2^k in two steps
//   Expm1    1.5   2.0   the same, keeping e^r - 1
//   Log      1.0   1.0   x = 2^k m, m in [sqrt(1/2), sqrt(2)), series in (m - 1) / (m + 1) as in fdlibm's e_log.c
//   Log1p    1.0   1.0   the same for 1 + x, with a correction for the rounding of that sum as in fdlibm's s_log1p.c
//   Sin,Cos  1.6   2.5   reduction by pi/2 in parts after Cody and Waite, of f32 in f64 but below 2^12 where the
//                        instruction set fuses; std::sin, std::cos for |x| > 2^20 and, in f64, next to multiples of
//                        pi/2
//   Tanh     3.5   2.5   from Expm1, as in fdlibm's s_tanh.c
//   Sigmoid  2.5   2.5   from Exp(-|x|)
//   Erf      1.5         x + x P(x^2) below 1, 1 - exp(-Q(|x|)) above; f64: std::erf
//   Sqrt     0.5   0.5   the processor's instruction
//   Rsqrt    1.5   1.5   1 / Sqrt; f32 on AVX2 and AVX-512: from the processor's approximation
//   Tan      3.8         sine over cosine
//   Sinh     2.0         a polynomial below 1, e^x / 2 - e^-x / 2 above
//   Cosh     2.0   2.0   e^x / 2 + e^-x / 2
//   Asin     2.5         x + x P(x^2) up to 1/2; pi/2 - 2 asin(sqrt((1 - x) / 2)) above
//   Acos     1.5         from the same
//   Atan     1.8         x + x P(x^2) up to 1; pi/2 - atan(1 / x) above
//   Atan2    1.8         from Atan of the smaller over the larger
//   Asinh    2.0         from Log1p, as in fdlibm's s_asinh.c; so are the next two
//   Acosh    2.2
//   Atanh    2.2
//   Softplus 2.0   2.0   from Exp and Log1p
//   Elu      1.5   2.0   from Expm1
//   Selu     2.0   2.0   the same
//   Gelu     3.5   4.0   x Phi(x), the tail of Phi as e^(-x^2/2) R(x) with an exponent in two parts; f64: std::erfc
//   GeluTanh 3.5   3.5   x / (1 + e^-2u), with an exponent in f64; f64: in twice the precision
// Polynomials are minimax in the relative error of the function, found with Remez' algorithm. Where the instruction
// set has no vectors of f64 (WebAssembly), f64 is the C++ library's.
void Exp(const float* x, int64_t count, float* y);
void Exp(const double* x, int64_t count, double* y);
void Expm1(const float* x, int64_t count, float* y);
void Expm1(const double* x, int64_t count, double* y);
void Log(const float* x, int64_t count, float* y);
void Log(const double* x, int64_t count, double* y);
void Log1p(const float* x, int64_t count, float* y);
void Log1p(const double* x, int64_t count, double* y);
void Sin(const float* x, int64_t count, float* y);
void Sin(const double* x, int64_t count, double* y);
void Cos(const float* x, int64_t count, float* y);
void Cos(const double* x, int64_t count, double* y);
void Tanh(const float* x, int64_t count, float* y);
void Tanh(const double* x, int64_t count, double* y);
void Sigmoid(const float* x, int64_t count, float* y);
void Sigmoid(const double* x, int64_t count, double* y);
void Erf(const float* x, int64_t count, float* y);
void Erf(const double* x, int64_t count, double* y);
void Sqrt(const float* x, int64_t count, float* y);
void Sqrt(const double* x, int64_t count, double* y);
void Rsqrt(const float* x, int64_t count, float* y);
void Rsqrt(const double* x, int64_t count, double* y);
void Tan(const float* x, int64_t count, float* y);
void Tan(const double* x, int64_t count, double* y);
void Sinh(const float* x, int64_t count, float* y);
void Sinh(const double* x, int64_t count, double* y);
void Cosh(const float* x, int64_t count, float* y);
void Cosh(const double* x, int64_t count, double* y);
void Asin(const float* x, int64_t count, float* y);
void Asin(const double* x, int64_t count, double* y);
void Acos(const float* x, int64_t count, float* y);
void Acos(const double* x, int64_t count, double* y);
void Atan(const float* x, int64_t count, float* y);
void Atan(const double* x, int64_t count, double* y);
void Asinh(const float* x, int64_t count, float* y);
void Asinh(const double* x, int64_t count, double* y);
void Acosh(const float* x, int64_t count, float* y);
void Acosh(const double* x, int64_t count, double* y);
void Atanh(const float* x, int64_t count, float* y);
void Atanh(const double* x, int64_t count, double* y);
// The angle of the point (x[i], y[i]), in [-pi, pi].
void Atan2(const float* y, const float* x, int64_t count, float* out);
void Atan2(const double* y, const double* x, int64_t count, double* out);

// Activations: log(1 + e^x); e^x - 1 below 0, else x; that with self-normalising constants; x Phi(x), where Phi is the
// normal distribution; and the same with tanh for Phi. The limits at infinity are those of the functions.
void Softplus(const float* x, int64_t count, float* y);
void Softplus(const double* x, int64_t count, double* y);
void Elu(const float* x, int64_t count, float* y);
void Elu(const double* x, int64_t count, double* y);
void Selu(const float* x, int64_t count, float* y);
void Selu(const double* x, int64_t count, double* y);
void Gelu(const float* x, int64_t count, float* y);
void Gelu(const double* x, int64_t count, double* y);
void GeluTanh(const float* x, int64_t count, float* y);
void GeluTanh(const double* x, int64_t count, double* y);

// For rows of `cols` contiguous elements, row after row: e^x / sum(e^x) and x - log(sum(e^x)), computed relative to the
// row's maximum, so that nothing overflows. A row with NaN or +inf, or with nothing but -inf, becomes NaN (the
// log-softmax of -inf in another row is -inf). y may be x.
void Softmax(const float* x, int64_t rows, int64_t cols, float* y);
void Softmax(const double* x, int64_t rows, int64_t cols, double* y);
void LogSoftmax(const float* x, int64_t rows, int64_t cols, float* y);
void LogSoftmax(const double* x, int64_t rows, int64_t cols, double* y);

// The sum, by pairs of blocks: the error bound grows with log(count), not with count. 0 if count is 0. The order of
// additions depends on count alone: number i goes to lane i modulo 64 (f32; f64: 32), and the lanes are added by
// halves.
float Sum(const float* x, int64_t count);
double Sum(const double* x, int64_t count);

// The largest and the smallest element; NaN if there is one. -inf and inf if count is 0.
float Max(const float* x, int64_t count);
double Max(const double* x, int64_t count);
float Min(const float* x, int64_t count);
double Min(const double* x, int64_t count);

}  // namespace tandem::cpu::simd

#endif  // TANDEM_BACKENDS_CPU_SIMD_SIMD_MATH_H_
