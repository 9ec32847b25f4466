// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Complex functions that are the same on every machine (NU-3): their results, rounded to f32, to the bit against those
// of mpmath, so that every machine that passes this gives the same ones; and special values against C's Annex G.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <iterator>
#include <limits>

#include "complex_math_cases.h"

namespace tandem::cpu::complex_math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 0x1.921fb54442d18p+1;

bool HasBits(double part, float expected) {
  return std::bit_cast<uint32_t>(static_cast<float>(part)) == std::bit_cast<uint32_t>(expected);
}

class ComplexMathTest : public testing::TestWithParam<const ScalarMath*> {
 protected:
  static const ScalarMath& math() { return *GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Functions, ComplexMathTest, testing::Values(&kPortableMath, &kLibraryMath),
                         [](const auto& param) { return param.param == &kPortableMath ? "Portable" : "Library"; });

TEST_P(ComplexMathTest, NU3_PartsRoundToTheNearestNumbers) {
  for (const ComplexCase& each : kComplexCases) {
    const Complex128 result = each.fn(math(), {each.x[0], each.x[1]});
    EXPECT_TRUE(HasBits(result.real(), each.result[0]) && HasBits(result.imag(), each.result[1]))
        << each.name << "(" << std::hexfloat << each.x[0] << ", " << each.x[1] << ") is " << result << ", not ("
        << each.result[0] << "," << each.result[1] << ")";
  }
  for (const ComplexPowCase& each : kComplexPowCases) {
    const Complex128 result = Pow(math(), Complex128(each.x[0], each.x[1]), Complex128(each.y[0], each.y[1]));
    EXPECT_TRUE(HasBits(result.real(), each.result[0]) && HasBits(result.imag(), each.result[1]))
        << "Pow((" << std::hexfloat << each.x[0] << ", " << each.x[1] << "), (" << each.y[0] << ", " << each.y[1]
        << ")) is " << result << ", not (" << each.result[0] << "," << each.result[1] << ")";
  }
}

// Both NaN, or as good as equal and of one sign.
bool IsLike(double value, double expected) {
  if (std::isnan(value) || std::isnan(expected)) return std::isnan(value) && std::isnan(expected);
  if (std::signbit(value) != std::signbit(expected)) return false;
  return value == expected || std::fabs(value - expected) <= 4e-16 * std::fabs(expected);
}

bool AreLike(Complex128 value, Complex128 expected) {
  return IsLike(value.real(), expected.real()) && IsLike(value.imag(), expected.imag());
}

struct Special {
  Complex128 (*fn)(const ScalarMath&, Complex128);
  double x[2];
  double result[2];
};

// Without mirror images and what follows from them, which are the next tests'.
constexpr Special kSpecials[] = {
    {&Acos, {0, 0}, {kPi / 2, -0.0}},
    {&Acos, {0, kNan}, {kPi / 2, kNan}},
    {&Acos, {1, kInf}, {kPi / 2, -kInf}},
    {&Acos, {1, kNan}, {kNan, kNan}},
    {&Acos, {-kInf, 1}, {kPi, -kInf}},
    {&Acos, {kInf, 1}, {0, -kInf}},
    {&Acos, {-kInf, kInf}, {3 * kPi / 4, -kInf}},
    {&Acos, {kInf, kInf}, {kPi / 4, -kInf}},
    {&Acos, {kInf, kNan}, {kNan, -kInf}},
    {&Acos, {kNan, 1}, {kNan, kNan}},
    {&Acos, {kNan, kInf}, {kNan, -kInf}},
    {&Acos, {1, 0}, {0, -0.0}},
    {&Acos, {-1, 0}, {kPi, -0.0}},
    {&Acos, {2, 0}, {0, -1.3169578969248166}},
    {&Acos, {-2, 0}, {kPi, -1.3169578969248166}},
    {&Acosh, {0, 0}, {0, kPi / 2}},
    {&Acosh, {-0.0, 0}, {0, kPi / 2}},
    {&Acosh, {0, kNan}, {kNan, kPi / 2}},
    {&Acosh, {1, kInf}, {kInf, kPi / 2}},
    {&Acosh, {1, kNan}, {kNan, kNan}},
    {&Acosh, {-kInf, 1}, {kInf, kPi}},
    {&Acosh, {kInf, 1}, {kInf, 0}},
    {&Acosh, {-kInf, kInf}, {kInf, 3 * kPi / 4}},
    {&Acosh, {kInf, kInf}, {kInf, kPi / 4}},
    {&Acosh, {kInf, kNan}, {kInf, kNan}},
    {&Acosh, {-kInf, kNan}, {kInf, kNan}},
    {&Acosh, {kNan, 1}, {kNan, kNan}},
    {&Acosh, {kNan, kInf}, {kInf, kNan}},
    {&Asinh, {0, 0}, {0, 0}},
    {&Asinh, {1, kInf}, {kInf, kPi / 2}},
    {&Asinh, {1, kNan}, {kNan, kNan}},
    {&Asinh, {kInf, 1}, {kInf, 0}},
    {&Asinh, {kInf, kInf}, {kInf, kPi / 4}},
    {&Asinh, {kInf, kNan}, {kInf, kNan}},
    {&Asinh, {kNan, 0}, {kNan, 0}},
    {&Asinh, {kNan, 1}, {kNan, kNan}},
    {&Asinh, {kNan, kInf}, {kInf, kNan}},
    {&Asinh, {0, 2}, {1.3169578969248166, kPi / 2}},
    {&Atanh, {0, 0}, {0, 0}},
    {&Atanh, {0, kNan}, {0, kNan}},
    {&Atanh, {1, 0}, {kInf, 0}},
    {&Atanh, {1, kInf}, {0, kPi / 2}},
    {&Atanh, {1, kNan}, {kNan, kNan}},
    {&Atanh, {kInf, 1}, {0, kPi / 2}},
    {&Atanh, {kInf, kInf}, {0, kPi / 2}},
    {&Atanh, {kInf, kNan}, {0, kNan}},
    {&Atanh, {kNan, 1}, {kNan, kNan}},
    {&Atanh, {kNan, kInf}, {0, kPi / 2}},
    {&Atanh, {2, 0}, {0.5493061443340549, kPi / 2}},
    {&Cosh, {0, 0}, {1, 0}},
    {&Cosh, {0, kInf}, {kNan, 0}},
    {&Cosh, {0, kNan}, {kNan, 0}},
    {&Cosh, {1, kInf}, {kNan, kNan}},
    {&Cosh, {1, kNan}, {kNan, kNan}},
    {&Cosh, {kInf, 0}, {kInf, 0}},
    {&Cosh, {kInf, 2}, {-kInf, kInf}},
    {&Cosh, {kInf, kInf}, {kInf, kNan}},
    {&Cosh, {kInf, kNan}, {kInf, kNan}},
    {&Cosh, {kNan, 0}, {kNan, 0}},
    {&Cosh, {kNan, 1}, {kNan, kNan}},
    {&Sinh, {0, 0}, {0, 0}},
    {&Sinh, {0, kInf}, {0, kNan}},
    {&Sinh, {0, kNan}, {0, kNan}},
    {&Sinh, {1, kInf}, {kNan, kNan}},
    {&Sinh, {1, kNan}, {kNan, kNan}},
    {&Sinh, {kInf, 0}, {kInf, 0}},
    {&Sinh, {kInf, 2}, {-kInf, kInf}},
    {&Sinh, {kInf, kInf}, {kInf, kNan}},
    {&Sinh, {kInf, kNan}, {kInf, kNan}},
    {&Sinh, {kNan, 0}, {kNan, 0}},
    {&Sinh, {kNan, 1}, {kNan, kNan}},
    {&Tanh, {0, 0}, {0, 0}},
    {&Tanh, {0, kInf}, {0, kNan}},
    {&Tanh, {0, kNan}, {0, kNan}},
    {&Tanh, {1, kInf}, {kNan, kNan}},
    {&Tanh, {1, kNan}, {kNan, kNan}},
    {&Tanh, {kInf, 1}, {1, 0}},
    {&Tanh, {kInf, 2}, {1, -0.0}},
    {&Tanh, {kInf, kInf}, {1, 0}},
    {&Tanh, {kInf, kNan}, {1, 0}},
    {&Tanh, {kNan, 0}, {kNan, 0}},
    {&Tanh, {kNan, 1}, {kNan, kNan}},
    {&Exp, {0, 0}, {1, 0}},
    {&Exp, {-0.0, 0}, {1, 0}},
    {&Exp, {1, kInf}, {kNan, kNan}},
    {&Exp, {1, kNan}, {kNan, kNan}},
    {&Exp, {kInf, 0}, {kInf, 0}},
    {&Exp, {-kInf, 2}, {-0.0, 0}},
    {&Exp, {kInf, 2}, {-kInf, kInf}},
    {&Exp, {-kInf, kInf}, {0, 0}},
    {&Exp, {kInf, kInf}, {kInf, kNan}},
    {&Exp, {-kInf, kNan}, {0, 0}},
    {&Exp, {kInf, kNan}, {kInf, kNan}},
    {&Exp, {kNan, 0}, {kNan, 0}},
    {&Exp, {kNan, 1}, {kNan, kNan}},
    {&Log, {-0.0, 0}, {-kInf, kPi}},
    {&Log, {0, 0}, {-kInf, 0}},
    {&Log, {-1, 0}, {0, kPi}},
    {&Log, {1, kInf}, {kInf, kPi / 2}},
    {&Log, {1, kNan}, {kNan, kNan}},
    {&Log, {-kInf, 1}, {kInf, kPi}},
    {&Log, {kInf, 1}, {kInf, 0}},
    {&Log, {-kInf, kInf}, {kInf, 3 * kPi / 4}},
    {&Log, {kInf, kInf}, {kInf, kPi / 4}},
    {&Log, {kInf, kNan}, {kInf, kNan}},
    {&Log, {kNan, 1}, {kNan, kNan}},
    {&Log, {kNan, kInf}, {kInf, kNan}},
    {&Sqrt, {0, 0}, {0, 0}},
    {&Sqrt, {-0.0, 0}, {0, 0}},
    {&Sqrt, {-4, 0}, {0, 2}},
    {&Sqrt, {1, kInf}, {kInf, kInf}},
    {&Sqrt, {kNan, kInf}, {kInf, kInf}},
    {&Sqrt, {1, kNan}, {kNan, kNan}},
    {&Sqrt, {-kInf, 1}, {0, kInf}},
    {&Sqrt, {kInf, 1}, {kInf, 0}},
    {&Sqrt, {-kInf, kNan}, {kNan, kInf}},
    {&Sqrt, {kInf, kNan}, {kInf, kNan}},
    {&Sqrt, {kNan, 1}, {kNan, kNan}},
    // Not C's.
    {&Rsqrt, {0, 0}, {kInf, kNan}},
    {&Rsqrt, {4, 0}, {0.5, -0.0}},
    {&Rsqrt, {-4, 0}, {0, -0.5}},
    {&Rsqrt, {kInf, 1}, {0, -0.0}},
    {&Expm1, {0, 0}, {0, 0}},
    {&Expm1, {-kInf, 0}, {-1, 0}},
    {&Expm1, {kInf, 2}, {-kInf, kInf}},
    {&Expm1, {1, kInf}, {kNan, kNan}},
    {&Log1p, {0, 0}, {0, 0}},
    {&Log1p, {-1, 0}, {-kInf, 0}},
    {&Log1p, {-2, 0}, {0, kPi}},
    {&Log1p, {-kInf, 1}, {kInf, kPi}},
    {&Log1p, {kNan, 1}, {kNan, kNan}},
    {&Sigmoid, {0, 0}, {0.5, 0}},
    {&Sigmoid, {kInf, 1}, {1, 0}},
    {&Sigmoid, {-kInf, 1}, {0, 0}},
    {&Sigmoid, {-1000, 1}, {0, 0}},
    {&Sigmoid, {kNan, 1}, {kNan, kNan}},
};

TEST_P(ComplexMathTest, NU3_SpecialValuesAreThoseOfC) {
  for (size_t i = 0; i < std::size(kSpecials); ++i) {
    const Special& each = kSpecials[i];
    EXPECT_PRED2(AreLike, each.fn(math(), {each.x[0], each.x[1]}), Complex128(each.result[0], each.result[1]))
        << "row " << i << ", of " << each.x[0] << " and " << each.x[1];
  }
}

TEST_P(ComplexMathTest, NU3_PowOfZeroIsThatOfRealNumbers) {
  EXPECT_PRED2(AreLike, Pow(math(), Complex128(0, 0), Complex128(0, 0)), Complex128(1, 0));
  EXPECT_PRED2(AreLike, Pow(math(), Complex128(0, 0), Complex128(2, 0)), Complex128(0, 0));
  EXPECT_PRED2(AreLike, Pow(math(), Complex128(-0.0, 0), Complex128(-1, 0)), Complex128(-kInf, 0));
}

// The same, where C leaves the sign of a part beside a NaN open.
bool AreLikeButForOpenSigns(Complex128 value, Complex128 expected) {
  if (!std::isnan(expected.real()) && !std::isnan(expected.imag())) return AreLike(value, expected);
  return IsLike(std::fabs(value.real()), std::fabs(expected.real())) &&
         IsLike(std::fabs(value.imag()), std::fabs(expected.imag()));
}

constexpr double kParts[] = {0, 0.5, 1, 2, 3, 1e-30, 1e30, kInf, kNan};

TEST_P(ComplexMathTest, NU3_ConjugatesHaveConjugateResults) {
  for (const auto fn : {&Sqrt, &Rsqrt, &Exp, &Expm1, &Log, &Log1p, &Sin, &Cos, &Tan, &Asin, &Acos, &Atan, &Sinh, &Cosh,
                        &Tanh, &Asinh, &Acosh, &Atanh}) {
    for (const double size : kParts) {
      for (const double im : kParts) {
        for (const double re : {size, -size}) {
          const Complex128 result = fn(math(), {re, im});
          EXPECT_PRED2(AreLikeButForOpenSigns, fn(math(), {re, -im}), Complex128(result.real(), -result.imag()))
              << "of " << re << " and " << im;
        }
      }
    }
  }
}

TEST_P(ComplexMathTest, NU3_OddFunctionsAreOdd) {
  for (const auto fn : {&Sin, &Tan, &Asin, &Atan, &Sinh, &Tanh, &Asinh, &Atanh}) {
    for (const double re : kParts) {
      for (const double im : kParts) {
        const Complex128 result = fn(math(), {re, im});
        EXPECT_PRED2(AreLikeButForOpenSigns, fn(math(), {-re, -im}), Complex128(-result.real(), -result.imag()))
            << "of " << re << " and " << im;
      }
    }
  }
}

// sin(z) = -i sinh(i z), and so on.
TEST_P(ComplexMathTest, NU3_CircularFunctionsAreHyperbolicOnesTurned) {
  constexpr Complex128 (*kPairs[][2])(const ScalarMath&, Complex128) = {
      {&Sin, &Sinh}, {&Tan, &Tanh}, {&Asin, &Asinh}, {&Atan, &Atanh}};
  for (const double re : kParts) {
    for (const double im : kParts) {
      for (const auto& [circular, hyperbolic] : kPairs) {
        const Complex128 turned = hyperbolic(math(), {-im, re});
        EXPECT_PRED2(AreLikeButForOpenSigns, circular(math(), {re, im}), Complex128(turned.imag(), -turned.real()))
            << "of " << re << " and " << im;
      }
      EXPECT_PRED2(AreLikeButForOpenSigns, Cos(math(), {re, im}), Cosh(math(), {-im, re}))
          << "of " << re << " and " << im;
    }
  }
}

}  // namespace
}  // namespace tandem::cpu::complex_math
