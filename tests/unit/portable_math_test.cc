// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elementary functions of f64 that are the same on every machine (NU-3): their results, to the bit, against those of
// mpmath, so that every machine that passes this gives the same ones; and special values against C's.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "portable_math_cases.h"

namespace tandem::cpu::portable {
namespace {

TEST(PortableMathTest, NU3_ResultsAreTheNearestNumbers) {
  for (const Case1& each : kCases1) {
    EXPECT_EQ(std::bit_cast<uint64_t>(each.fn(each.x)), std::bit_cast<uint64_t>(each.result))
        << each.name << "(" << std::hexfloat << each.x << ") is " << each.fn(each.x) << ", not " << each.result;
  }
  for (const Case2& each : kCases2) {
    EXPECT_EQ(std::bit_cast<uint64_t>(each.fn(each.x, each.y)), std::bit_cast<uint64_t>(each.result))
        << each.name << "(" << std::hexfloat << each.x << ", " << each.y << ") is " << each.fn(each.x, each.y)
        << ", not " << each.result;
  }
}

// Equal, both NaN, or finite and next to each other: the C library's functions may be off by one place.
bool IsLike(double value, double expected) {
  if (std::isnan(value) || std::isnan(expected)) return std::isnan(value) && std::isnan(expected);
  if (value == expected) return std::signbit(value) == std::signbit(expected);
  return std::isfinite(value) && expected != 0 && std::fabs(value - expected) <= 4e-16 * std::fabs(expected);
}

TEST(PortableMathTest, NU3_SpecialValuesAreThoseOfC) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kValues[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                -0.5,
                                2,
                                -2,
                                3,
                                -3,
                                4,
                                1e22,
                                1e308,
                                -1e308,
                                1e-300,
                                -1e-300,
                                5e-324,
                                -5e-324,
                                1e-310,
                                -1e-310,
                                710,
                                -710,
                                746,
                                -746,
                                27.5,
                                28,
                                0x1p-27,
                                -0x1p-54,
                                0x1p-1022,
                                36,
                                37,
                                -40,
                                -41,
                                kNan,
                                kInfinity,
                                -kInfinity,
                                0.9999999999999999,
                                1.0000000000000002};
  struct Function {
    const char* name;
    double (*fn)(double);
    double (*expected)(double);
  };
  const Function functions[] = {
      {"Exp", &Exp, &std::exp},       {"Expm1", &Expm1, &std::expm1}, {"Log", &Log, &std::log},
      {"Log1p", &Log1p, &std::log1p}, {"Sin", &Sin, &std::sin},       {"Cos", &Cos, &std::cos},
      {"Tan", &Tan, &std::tan},       {"Asin", &Asin, &std::asin},    {"Acos", &Acos, &std::acos},
      {"Atan", &Atan, &std::atan},    {"Sinh", &Sinh, &std::sinh},    {"Cosh", &Cosh, &std::cosh},
      {"Tanh", &Tanh, &std::tanh},    {"Asinh", &Asinh, &std::asinh}, {"Acosh", &Acosh, &std::acosh},
      {"Atanh", &Atanh, &std::atanh}, {"Erf", &Erf, &std::erf},       {"Erfc", &Erfc, &std::erfc},
  };
  for (const Function& function : functions) {
    for (const double x : kValues) {
      EXPECT_PRED2(IsLike, function.fn(x), function.expected(x)) << function.name << " of " << x;
    }
  }
  for (const double x : kValues) {
    for (const double y : kValues) {
      EXPECT_PRED2(IsLike, Pow(x, y), std::pow(x, y)) << "Pow of " << x << " and " << y;
      EXPECT_PRED2(IsLike, Atan2(x, y), std::atan2(x, y)) << "Atan2 of " << x << " and " << y;
    }
  }
}

}  // namespace
}  // namespace tandem::cpu::portable
