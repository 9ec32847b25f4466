// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Float16 and BFloat16 against a reference that computes in double with ldexp and nearbyint: every 16-bit value, every
// tie between neighbours, and floats of every exponent.

#include "tandem/float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

namespace tandem {
namespace {

// A 16-bit format: one sign bit, then exponent and mantissa.
struct Format {
  int mantissa_bits;
  int min_exponent;  // of normal numbers
  int max_exponent;
};
constexpr Format kHalf = {10, -14, 15};
constexpr Format kBrain = {7, -126, 127};

// The value of 16 bits, by the definition of the format.
double ReferenceValue(uint16_t bits, const Format& format) {
  const int mantissa_range = 1 << format.mantissa_bits;
  const int mantissa = bits % mantissa_range;
  const int exponent = (bits & 0x7FFF) / mantissa_range;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int all_ones = format.max_exponent - format.min_exponent + 2;
  if (exponent == all_ones) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, format.min_exponent - format.mantissa_bits);
  return sign * std::ldexp(mantissa_range + mantissa, exponent - 1 + format.min_exponent - format.mantissa_bits);
}

// The value of the format that is nearest to `value` (not NaN), ties to even.
double ReferenceRound(double value, const Format& format) {
  if (value == 0 || std::isinf(value)) return value;
  int exponent;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int quantum = std::max(exponent - 1, format.min_exponent) - format.mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  return std::fabs(rounded) >= std::ldexp(1.0, format.max_exponent + 1) ? std::copysign(HUGE_VAL, value) : rounded;
}

template <typename T>
constexpr Format kFormatOf = std::is_same_v<T, Float16> ? kHalf : kBrain;

template <typename T>
class Float16Test : public testing::Test {
 protected:
  static constexpr Format kFormat = kFormatOf<T>;

  // Compares with the reference, the sign of zero included.
  static testing::AssertionResult RoundsRight(float value) {
    const T rounded(value);
    const double expected = ReferenceRound(value, kFormat);
    const double got = ReferenceValue(rounded.bits, kFormat);
    if (got == expected && std::signbit(got) == std::signbit(expected)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << std::hexfloat << value << " gave " << got << ", expected " << expected;
  }
};
using Types = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(Float16Test, Types);

TYPED_TEST(Float16Test, EveryValueConvertsToFloatExactly) {
  for (int bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = TypeParam::FromBits(static_cast<uint16_t>(bits));
    const double expected = ReferenceValue(static_cast<uint16_t>(bits), this->kFormat);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << std::hex << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << std::hex << bits;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << std::hex << bits;
  }
}

TYPED_TEST(Float16Test, EveryValueComesBackFromFloat) {
  const auto quiet_bit = static_cast<uint16_t>(1 << (this->kFormat.mantissa_bits - 1));
  for (int i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = TypeParam::FromBits(bits);
    // A NaN keeps sign and payload, and is quiet.
    const uint16_t expected = std::isnan(value) ? static_cast<uint16_t>(bits | quiet_bit) : bits;
    ASSERT_EQ(TypeParam(value).bits, expected) << std::hex << i;
  }
}

TYPED_TEST(Float16Test, NeighboursTiesAndTheFloatsBesideThemRound) {
  const auto infinity =
      static_cast<uint16_t>(((1 << (15 - this->kFormat.mantissa_bits)) - 1) << this->kFormat.mantissa_bits);
  for (int i = 0; i < infinity; ++i) {
    const double low = ReferenceValue(static_cast<uint16_t>(i), this->kFormat);
    const double high = i + 1 < infinity ? ReferenceValue(static_cast<uint16_t>(i + 1), this->kFormat)
                                         : std::ldexp(1.0, this->kFormat.max_exponent + 1);
    const auto tie = static_cast<float>((low + high) / 2);
    // Exact, but for the smallest of the brain format, whose half is no float.
    const float floats[] = {std::nextafter(static_cast<float>(low), HUGE_VALF), std::nextafter(tie, 0.0f), tie,
                            std::nextafter(tie, HUGE_VALF), std::nextafter(static_cast<float>(high), 0.0f)};
    for (const float value : floats) {
      ASSERT_TRUE(this->RoundsRight(value));
      ASSERT_TRUE(this->RoundsRight(-value));
    }
  }
}

TYPED_TEST(Float16Test, FloatsOfEveryExponentRound) {
  std::mt19937 random(7);
  for (uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (int i = 0; i < 2000; ++i) {
      // Few bits set or few bits clear are as likely as a random mantissa.
      uint32_t mantissa = random();
      if (i % 3 == 0) mantissa &= random() & random() & random();
      if (i % 3 == 1) mantissa |= random() | random() | random();
      const uint32_t sign = i % 2 == 0 ? 0 : 0x80000000u;
      ASSERT_TRUE(this->RoundsRight(std::bit_cast<float>(sign | (exponent << 23) | (mantissa & 0x7FFFFF))));
    }
  }
}

TYPED_TEST(Float16Test, ZerosKeepTheirSign) {
  EXPECT_EQ(TypeParam(0.0f).bits, 0u);
  EXPECT_EQ(TypeParam(-0.0f).bits, 0x8000u);
}

TYPED_TEST(Float16Test, TheSmallestFloatsAreZero) {
  EXPECT_TRUE(this->RoundsRight(std::numeric_limits<float>::denorm_min()));
  EXPECT_TRUE(this->RoundsRight(-std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, 0u);
}

TYPED_TEST(Float16Test, EveryNanStaysNan) {
  for (const uint32_t sign : {0u, 0x80000000u}) {
    for (int bit = 0; bit < 23; ++bit) {
      const TypeParam value(std::bit_cast<float>(sign | 0x7F800000u | (1u << bit)));
      EXPECT_TRUE(std::isnan(ReferenceValue(value.bits, this->kFormat))) << bit;
      EXPECT_EQ(value.bits >> 15, sign >> 31);
    }
  }
}

TEST(Float16LimitsTest, HalfOverflowsHalfwayToTheNextPowerOfTwo) {
  EXPECT_EQ(static_cast<float>(Float16(65504.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Float16(std::nextafter(65520.0f, 0.0f))), 65504.0f);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7C00u);
  EXPECT_EQ(Float16(-65520.0f).bits, 0xFC00u);
  EXPECT_EQ(Float16(std::numeric_limits<float>::max()).bits, 0x7C00u);
  EXPECT_EQ(Float16(std::numeric_limits<float>::infinity()).bits, 0x7C00u);
}

TEST(Float16LimitsTest, HalfSubnormalsRoundToEven) {
  EXPECT_EQ(Float16(0x1p-24f).bits, 1u);
  EXPECT_EQ(Float16(0x1p-25f).bits, 0u);  // a tie with zero
  EXPECT_EQ(Float16(std::nextafter(0x1p-25f, 1.0f)).bits, 1u);
  EXPECT_EQ(Float16(0x1.8p-24f).bits, 2u);        // a tie between 1 and 2
  EXPECT_EQ(Float16(0x1.ff8p-15f).bits, 0x3FFu);  // the largest subnormal
  EXPECT_EQ(Float16(0x1.ffcp-15f).bits, 0x400u);  // a tie with the smallest normal number
}

TEST(Float16LimitsTest, BrainOverflowsToInfinity) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7F80u);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7F7F7FFFu)).bits, 0x7F7Fu);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7F7F8000u)).bits, 0x7F80u);
}

TEST(Float16LimitsTest, ConvertsInConstantExpressions) {
  static_assert(Float16(1.5f).bits == 0x3E00);
  static_assert(Float16(0x1p-20f).bits == 0x0010);
  static_assert(BFloat16(-2.0f).bits == 0xC000);
  static_assert(Float16::FromBits(0x3C00) == 1.0f && BFloat16::FromBits(0x3F80) == 1.0f);
  static_assert(Float16::FromBits(0x0001) == 0x1p-24f);
}

}  // namespace
}  // namespace tandem
