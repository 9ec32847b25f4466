// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Mostly after Kahan, "Branch Cuts for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit" (1987); the
// logarithm near 1 after Hull, Fairgrieve and Tang, "Implementing complex elementary functions using exception
// handling" (1994). Formulas add only terms of one sign, or such that are exact for f32 numbers: each part is accurate
// by itself. Operators of std::complex are not used, since compilers differ in them. Nor may the compiler contract
// products and sums (-ffp-contract=off).

#include "simd/complex_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/scalar_math.h"

namespace tandem::cpu::complex_math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalfPi = 0x1.921fb54442d18p+0;

bool IsInfinite(Complex128 z) { return std::isinf(z.real()) || std::isinf(z.imag()); }

// Circular functions are hyperbolic ones turned by a quarter, in the direction that gives glibc's signs.
Complex128 TimesI(Complex128 z) { return {-z.imag(), z.real()}; }
Complex128 OverI(Complex128 z) { return {z.imag(), -z.real()}; }

// A product as Annex G has it: infinite if a factor is, whatever else that one is.
Complex128 Product(Complex128 x, Complex128 y) {
  const double re = x.real() * y.real() - x.imag() * y.imag();
  const double im = x.real() * y.imag() + x.imag() * y.real();
  if (!std::isnan(re) || !std::isnan(im) || !(IsInfinite(x) || IsInfinite(y))) return {re, im};
  const auto limited = [](Complex128 z, double part) {
    if (IsInfinite(z)) return std::copysign(std::isinf(part) ? 1.0 : 0.0, part);
    return std::isnan(part) ? std::copysign(0.0, part) : part;
  };
  const double a = limited(x, x.real());
  const double b = limited(x, x.imag());
  const double c = limited(y, y.real());
  const double d = limited(y, y.imag());
  return {kInfinity * (a * c - b * d), kInfinity * (a * d + b * c)};
}

// a + b + c, accurate also where they nearly cancel: with the errors of both sums (Knuth).
double Sum(double a, double b, double c) {
  const double first = a + b;
  const double b_rounded = first - a;
  const double first_error = (a - (first - b_rounded)) + (b - b_rounded);
  const double second = first + c;
  const double c_rounded = second - first;
  const double second_error = (first - (second - c_rounded)) + (c - c_rounded);
  return second + (first_error + second_error);
}

// e^x, given e^x - 1.
double PowerOf(const ScalarMath& math, double x, double growth) { return x > -1 ? growth + 1 : math.exp(x); }

}  // namespace

Complex128 Sqrt(const ScalarMath&, Complex128 z) {
  const double re = z.real();
  const double im = z.imag();
  if (std::isinf(im)) return {kInfinity, im};
  if (std::isinf(re)) {
    const double rest = 0 * std::fabs(im);  // or NaN
    return re > 0 ? Complex128(re, std::copysign(rest, im)) : Complex128(rest, std::copysign(kInfinity, im));
  }
  const double larger = std::sqrt((std::fabs(re) + std::sqrt(re * re + im * im)) / 2);
  if (larger == 0) return {0, im};
  const double smaller = im / (2 * larger);
  return re < 0 ? Complex128(std::fabs(smaller), std::copysign(larger, im)) : Complex128(larger, smaller);
}

// By -0 zeros get the signs that numbers beside them have.
Complex128 Rsqrt(const ScalarMath& math, Complex128 z) { return Divide({1, -0.0}, Sqrt(math, z)); }

Complex128 Exp(const ScalarMath& math, Complex128 z) {
  const double im = z.imag();
  const double power = math.exp(z.real());
  if (im == 0) return {power, im};
  if (std::isinf(z.real()) && !std::isfinite(im)) {
    return power == 0 ? Complex128(0, std::copysign(0.0, im)) : Complex128(kInfinity, kNan);
  }
  const auto [sin, cos] = math.sincos(im);
  return {power * cos, power * sin};
}

Complex128 Expm1(const ScalarMath& math, Complex128 z) {
  const double half = math.sin(z.imag() / 2);
  const double growth = math.expm1(z.real());
  const auto [sin, cos] = math.sincos(z.imag());
  return {growth * cos - 2 * half * half, PowerOf(math, z.real(), growth) * sin};
}

Complex128 Log(const ScalarMath& math, Complex128 z) {
  const double angle = math.atan2(z.imag(), z.real());
  if (IsInfinite(z)) return {kInfinity, angle};
  if (std::isnan(angle)) return {kNan, kNan};
  const double larger = std::max(std::fabs(z.real()), std::fabs(z.imag()));
  const double smaller = std::min(std::fabs(z.real()), std::fabs(z.imag()));
  const double norm = larger * larger + smaller * smaller;
  const bool is_near_1 = norm > 0.5 && norm < 2;
  return {(is_near_1 ? math.log1p((larger - 1) * (larger + 1) + smaller * smaller) : math.log(norm)) / 2, angle};
}

Complex128 Log1p(const ScalarMath& math, Complex128 z) {
  const double re = z.real();
  const double im = z.imag();
  // |1 + z|^2 - 1
  const double excess = Sum(2 * re, im * im, re * re);
  if (!(std::fabs(excess) < 0.5)) return Log(math, Complex128(re + 1, im));
  return {math.log1p(excess) / 2, math.atan2(im, re + 1)};
}

Complex128 Sin(const ScalarMath& math, Complex128 z) { return TimesI(Sinh(math, OverI(z))); }
Complex128 Cos(const ScalarMath& math, Complex128 z) { return Cosh(math, TimesI(z)); }
Complex128 Tan(const ScalarMath& math, Complex128 z) { return OverI(Tanh(math, TimesI(z))); }
Complex128 Atan(const ScalarMath& math, Complex128 z) { return OverI(Atanh(math, TimesI(z))); }
Complex128 Asinh(const ScalarMath& math, Complex128 z) { return OverI(Asin(math, TimesI(z))); }

Complex128 Sinh(const ScalarMath& math, Complex128 z) {
  const double re = z.real();
  const double im = z.imag();
  if (im == 0) return {math.sinh(re), im};
  if (!std::isfinite(im) && (re == 0 || std::isinf(re))) return {re == 0 ? re : kInfinity, kNan};
  const auto [sin, cos] = math.sincos(im);
  return {math.sinh(re) * cos, math.cosh(re) * sin};
}

Complex128 Cosh(const ScalarMath& math, Complex128 z) {
  const double re = z.real();
  const double im = z.imag();
  if (im == 0) return {math.cosh(re), std::isnan(re) ? im : im * std::copysign(1.0, re)};
  if (!std::isfinite(im) && re == 0) return {kNan, 0};
  if (!std::isfinite(im) && std::isinf(re)) return {kInfinity, kNan};
  const auto [sin, cos] = math.sincos(im);
  return {math.cosh(re) * cos, math.sinh(re) * sin};
}

Complex128 Tanh(const ScalarMath& math, Complex128 z) {
  const double re = z.real();
  const double im = z.imag();
  if (im == 0) return {math.tanh(re), im};
  if (!std::isfinite(im)) {
    if (std::isinf(re)) return {std::copysign(1.0, re), std::copysign(0.0, im)};
    return {re == 0 ? re : kNan, kNan};
  }
  const double tangent = math.tan(im);
  const double squared_secant = 1 + tangent * tangent;
  if (std::fabs(re) > 22) {  // tanh(re) rounds to 1
    return {std::copysign(1.0, re), 4 * math.exp(-2 * std::fabs(re)) * (tangent / squared_secant)};
  }
  const double sinh = math.sinh(re);
  const double scale = 1 + squared_secant * sinh * sinh;
  return {squared_secant * std::sqrt(1 + sinh * sinh) * sinh / scale, tangent / scale};
}

Complex128 Asin(const ScalarMath& math, Complex128 z) {
  const double re = z.real();
  const double im = z.imag();
  if (IsInfinite(z)) return {math.atan2(re, std::fabs(im)), std::copysign(kInfinity, im)};
  if (std::isnan(im)) return {re == 0 ? re : kNan, kNan};
  const Complex128 below = Sqrt(math, Complex128(1 - re, -im));
  const Complex128 above = Sqrt(math, Complex128(1 + re, im));
  return {math.atan2(re, below.real() * above.real() - below.imag() * above.imag()),
          math.asinh(below.real() * above.imag() - below.imag() * above.real())};
}

Complex128 Acos(const ScalarMath& math, Complex128 z) {
  const double re = z.real();
  const double im = z.imag();
  if (IsInfinite(z)) return {math.atan2(std::fabs(im), re), std::copysign(kInfinity, -im)};
  if (std::isnan(im)) return {re == 0 ? kHalfPi : kNan, kNan};
  const Complex128 below = Sqrt(math, Complex128(1 - re, -im));
  const Complex128 above = Sqrt(math, Complex128(1 + re, im));
  return {2 * math.atan2(below.real(), above.real()),
          math.asinh(above.real() * below.imag() - above.imag() * below.real())};
}

Complex128 Acosh(const ScalarMath& math, Complex128 z) {
  const Complex128 angle = Acos(math, z);
  return {std::fabs(angle.imag()), std::copysign(angle.real(), z.imag())};
}

Complex128 Atanh(const ScalarMath& math, Complex128 z) {
  const double im = z.imag();
  if (IsInfinite(z)) return {std::copysign(0.0, z.real()), std::isnan(im) ? im : std::copysign(kHalfPi, im)};
  if (z.real() == 0 && std::isnan(im)) return z;
  const double size = std::fabs(z.real());
  const double below = 1 - size;
  return {std::copysign(math.log1p(4 * size / (below * below + im * im)) / 4, z.real()),
          math.atan2(2 * im, below * (1 + size) - im * im) / 2};
}

// Of e^-|re|, so that nothing overflows, and with a sum of squares as the denominator.
Complex128 Sigmoid(const ScalarMath& math, Complex128 z) {
  const bool is_right = z.real() > 0;
  if (std::isinf(z.real())) return {is_right ? 1.0 : 0.0, 0};
  const double x = -std::fabs(z.real());
  const double growth = math.expm1(x);
  const double power = PowerOf(math, x, growth);
  const auto [sin, cos] = math.sincos(z.imag());
  double cosine_and_1 = cos + 1;
  double cosine_and_power = cos + power;
  if (cos < -0.5) {
    const double half = math.cos(z.imag() / 2);
    cosine_and_1 = 2 * half * half;
    cosine_and_power = cosine_and_1 + growth;
  }
  const double scale = growth * growth + 2 * power * cosine_and_1;  // |1 + e^(x + i im)|^2
  const double re = is_right ? power * cosine_and_1 - growth : power * cosine_and_power;
  return {re / scale, power * sin / scale};
}

Complex128 Pow(const ScalarMath& math, Complex128 x, Complex128 y) {
  // The logarithm of 0 would give NaN.
  if (x.real() == 0 && x.imag() == 0 && y.imag() == 0) return {math.pow(x.real(), y.real()), 0};
  return Exp(math, Product(y, Log(math, x)));
}

}  // namespace tandem::cpu::complex_math
