// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tf.Cast on the CPU: every pair of dtypes, rounding, saturation.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "elementwise_test_fixture.h"

namespace tandem {
namespace {

using ElementwiseCastTest = ElementwiseTest;

TEST_F(ElementwiseCastTest, CastBetweenAllTypesKeepsSmallNumbers) {
  const std::vector<double> x = {0, 1, 1, 0, 1};
  ForEachType(FixedSizeTypes(), [&]<typename From>() {
    ForEachType(FixedSizeTypes(), [&]<typename To>() {
      const TensorHandle result = Run("tf.Cast", {Numbers<From>({5}, x)}, Attrs("DstT", kDTypeOf<To>));
      EXPECT_EQ(MetadataOf(result), NameOf<To>() + "[5]");
      const std::vector<double> expected =
          std::is_same_v<To, Complex> ? std::vector<double>{0, 0, 1, 0, 1, 0, 0, 0, 1, 0} : x;
      EXPECT_EQ(Doubles(result), expected) << NameOf<From>() << " to " << NameOf<To>();
    });
  });
}

template <typename To, typename From>
std::vector<To> Wrapped(const std::vector<From>& from) {
  std::vector<To> to;
  for (From value : from) to.push_back(static_cast<To>(value));
  return to;
}

TEST_F(ElementwiseCastTest, CastBetweenIntegersWrapsAround) {
  ForEachType(IntTypes(), [&]<typename From>() {
    std::vector<From> x = {std::numeric_limits<From>::min(), std::numeric_limits<From>::max(), From{0}, From{100}};
    for (int i = 0; i < 70; ++i) x.push_back(static_cast<From>(0x9E3779B97F4A7C15u * static_cast<uint64_t>(i + 1)));
    ForEachType(IntTypes(), [&]<typename To>() {
      const TensorHandle result =
          Run("tf.Cast", {Dense<From>({static_cast<int64_t>(x.size())}, x)}, Attrs("DstT", kDTypeOf<To>));
      EXPECT_EQ(Values<To>(result), (Wrapped<To>(x))) << NameOf<From>() << " to " << NameOf<To>();
    });
  });
}

TEST_F(ElementwiseCastTest, CastFromFloatSaturatesAndNanGivesZero) {
  ForEachType(Types<float, double>(), [&]<typename From>() {
    ForEachType(IntTypes(), [&]<typename To>() {
      const From end = std::ldexp(From{1}, std::numeric_limits<To>::digits);  // the first beyond the largest
      const From last = std::nextafter(end, From{0});
      const From first = static_cast<From>(std::numeric_limits<To>::min());
      const From inf = std::numeric_limits<From>::infinity();
      const std::vector<From> x = {kNan,      -kNan,   inf,      -inf,       end,         last,     first,
                                   first - 1, 2 * end, -2 * end, From(1.75), From(-0.75), From(2.5)};
      constexpr To kMin = std::numeric_limits<To>::min();
      constexpr To kMax = std::numeric_limits<To>::max();
      const std::vector<To> expected = {0, 0, kMax, kMin, kMax, static_cast<To>(last), kMin, kMin, kMax, kMin, 1, 0, 2};
      const TensorHandle result = Run("tf.Cast", {Dense<From>({13}, x)}, Attrs("DstT", kDTypeOf<To>));
      EXPECT_EQ(Values<To>(result), expected) << NameOf<From>() << " to " << NameOf<To>();
    });
  });
}

TEST_F(ElementwiseCastTest, CastFromIntegersToFloatRoundsToNearest) {
  const std::vector<int64_t> x = {(int64_t{1} << 24) + 1,
                                  (int64_t{1} << 24) + 3,
                                  -(int64_t{1} << 60) - 1,
                                  (int64_t{1} << 53) + 1,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
  EXPECT_EQ(Values<float>(Run("tf.Cast", {Dense<int64_t>({6}, x)}, Attrs("DstT", DType::kF32))),
            (std::vector<float>{0x1p24f, 0x1p24f + 4, -0x1p60f, 0x1p53f, 0x1p63f, -0x1p63f}));
  EXPECT_EQ(Values<double>(Run("tf.Cast", {Dense<int64_t>({6}, x)}, Attrs("DstT", DType::kF64))),
            (std::vector<double>{0x1p24 + 1, 0x1p24 + 3, -0x1p60, 0x1p53, 0x1p63, -0x1p63}));
  const uint64_t big = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(Values<float>(Run("tf.Cast", {Scalar<uint64_t>(big)}, Attrs("DstT", DType::kF32))),
            (std::vector<float>{0x1p64f}));
}

TEST_F(ElementwiseCastTest, CastToHalfPrecisionRoundsOnce) {
  // Next to the middle of two numbers of the result's type, nearer than f32 can tell.
  const std::vector<double> x = {
      1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-8 + 0x1p-40, 65519.9999999, 65520, 0x1p-25,
      0x1p-25 + 0x1p-60,     -1e300,      kNan};
  const std::vector<double> to_f16 = {1 + 0x1p-10, 1, 1 + 0x1p-9, 1 + 0x1p-8, 65504, kInf, 0, 0x1p-24, -kInf, kNan};
  ExpectSame(Doubles(Run("tf.Cast", {Dense<double>({10}, x)}, Attrs("DstT", DType::kF16))), to_f16, "f16");
  ExpectSame(Doubles(Run("tf.Cast", {Dense<double>({3}, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1 + 0x3p-8})},
                         Attrs("DstT", DType::kBF16))),
             {1 + 0x1p-7, 1, 1 + 0x1p-6}, "bf16");
  ExpectSame(Doubles(Run("tf.Cast",
                         {Dense<int64_t>(
                             {3}, {(int64_t{1} << 62) + (int64_t{1} << 54) + 1, (int64_t{1} << 62) + (int64_t{1} << 54),
                                   -(int64_t{1} << 62) - (int64_t{1} << 54) - 1})},
                         Attrs("DstT", DType::kBF16))),
             {0x1p62 + 0x1p55, 0x1p62, -0x1p62 - 0x1p55}, "i64 to bf16");
  ExpectSame(Doubles(Run("tf.Cast", {Dense<int32_t>({2}, {65519, 65520})}, Attrs("DstT", DType::kF16))), {65504, kInf},
             "i32 to f16");
}

TEST_F(ElementwiseCastTest, CastFromFloatDoesNotDependOnPlaceOrLength) {
  // What each gives as u8 and as i8; at every place of a vector and in what is left of one.
  const std::vector<float> x = {-0.5f, 255.9f, 300, -129, 1e20f, -1e20f, kNan, 127.9f, -128.9f, 200, kInf};
  const std::vector<uint8_t> as_u8 = {0, 255, 255, 0, 255, 0, 0, 127, 0, 200, 255};
  const std::vector<int8_t> as_i8 = {0, 127, 127, -128, 127, -128, 0, 127, -128, 127, 127};
  for (size_t length = 1; length <= 70; ++length) {
    std::vector<float> from;
    std::vector<uint8_t> to_u8;
    std::vector<int8_t> to_i8;
    for (size_t i = 0; i < length; ++i) {
      from.push_back(x[i % x.size()]);
      to_u8.push_back(as_u8[i % x.size()]);
      to_i8.push_back(as_i8[i % x.size()]);
    }
    const TensorHandle tensor = Dense<float>({static_cast<int64_t>(length)}, from);
    EXPECT_EQ(Values<uint8_t>(Run("tf.Cast", {tensor.CopyRef()}, Attrs("DstT", DType::kU8))), to_u8) << length;
    EXPECT_EQ(Values<int8_t>(Run("tf.Cast", {tensor.CopyRef()}, Attrs("DstT", DType::kI8))), to_i8) << length;
  }
}

TEST_F(ElementwiseCastTest, CastFromF32ToBF16RoundsToNearestEven) {
  // Every bf16 number, and what lies between it and the next: just above it, around the middle, just below the next.
  constexpr uint32_t kBetween[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  std::vector<float> x;
  for (uint32_t upper = 0; upper < 65536; ++upper) {
    for (const uint32_t lower : kBetween) x.push_back(std::bit_cast<float>(upper << 16 | lower));
  }
  const TensorHandle tensor = Dense<float>({static_cast<int64_t>(x.size())}, x);
  const std::vector<BFloat16> result =
      Values<BFloat16>(Run("tf.Cast", {tensor.CopyRef()}, Attrs("DstT", DType::kBF16)));
  ASSERT_EQ(result.size(), x.size());
  int64_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    const double got = static_cast<float>(result[i]);
    if (std::isnan(value)) {
      wrong += !std::isnan(got);
      continue;
    }
    if (std::isinf(value)) {
      wrong += got != value;
      continue;
    }
    // 8 bits of fraction, and fewer for subnormal numbers; nearbyint rounds to even.
    const int exponent = value == 0 ? -126 : std::max(std::ilogb(value), -126);
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, 7 - exponent)), exponent - 7);
    const double expected = std::fabs(rounded) >= 0x1p128 ? std::copysign(kInf, value) : rounded;
    wrong += got != expected || std::signbit(got) != std::signbit(value);
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(ElementwiseCastTest, CastOfEveryHalfPrecisionNumberIsExact) {
  std::vector<Float16> halves(65536);
  std::vector<BFloat16> bfloats(65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    halves[i] = Float16::FromBits(static_cast<uint16_t>(i));
    bfloats[i] = BFloat16::FromBits(static_cast<uint16_t>(i));
  }
  const OpAttrsRef to_f32 = Attrs("DstT", DType::kF32);
  const std::vector<float> from_f16 = Values<float>(Run("tf.Cast", {Dense<Float16>({65536}, halves)}, to_f32));
  const std::vector<float> from_bf16 = Values<float>(Run("tf.Cast", {Dense<BFloat16>({65536}, bfloats)}, to_f32));
  int64_t wrong = 0;
  for (uint32_t i = 0; i < 65536; ++i) {
    const int exponent = static_cast<int>(i >> 10 & 31);
    const double fraction = i & 1023;
    const double sign = (i & 0x8000) != 0 ? -1 : 1;
    const double expected = exponent == 31  ? (fraction == 0 ? sign * kInf : kNan)
                            : exponent == 0 ? sign * std::ldexp(fraction, -24)
                                            : sign * std::ldexp(1024 + fraction, exponent - 25);
    wrong += std::isnan(expected) ? !std::isnan(from_f16[i])
                                  : from_f16[i] != expected || std::signbit(from_f16[i]) != (sign < 0);
    const uint32_t bits = std::bit_cast<uint32_t>(from_bf16[i]);
    wrong += std::isnan(from_bf16[i]) ? (i & 0x7FFF) <= 0x7F80 : bits != i << 16;
  }
  EXPECT_EQ(wrong, 0);
  // And back.
  const std::vector<Float16> back =
      Values<Float16>(Run("tf.Cast", {Dense<float>({65536}, from_f16)}, Attrs("DstT", DType::kF16)));
  for (uint32_t i = 0; i < 65536; ++i) wrong += back[i].bits != i && !std::isnan(from_f16[i]);
  EXPECT_EQ(wrong, 0);
}

TEST_F(ElementwiseCastTest, CastDropsTheImaginaryPart) {
  const std::vector<Complex> x = {{2.5f, 7}, {0, 3}, {-1, 0}};
  const auto cast = [&](DType to) { return Doubles(Run("tf.Cast", {Dense<Complex>({3}, x)}, Attrs("DstT", to))); };
  EXPECT_EQ(cast(DType::kF32), (std::vector<double>{2.5, 0, -1}));
  EXPECT_EQ(cast(DType::kF16), (std::vector<double>{2.5, 0, -1}));
  EXPECT_EQ(cast(DType::kI32), (std::vector<double>{2, 0, -1}));
  EXPECT_EQ(cast(DType::kBool), (std::vector<double>{1, 0, 1}));
}

TEST_F(ElementwiseCastTest, CastToBoolOfNanIsTrue) {
  ForEachType(FloatTypes(), [&]<typename T>() {
    EXPECT_EQ(Doubles(Run("tf.Cast", {Numbers<T>({4}, {kNan, -0.0, 0.5, 0})}, Attrs("DstT", DType::kBool))),
              (std::vector<double>{1, 0, 1, 0}));
  });
}

TEST_F(ElementwiseCastTest, CastCanTruncate) {
  const auto cast = [&](TensorHandle x, DType to) {
    return Doubles(Run("tf.Cast", {std::move(x)}, Attrs("DstT", to, "Truncate", true)));
  };
  const std::vector<double> x = {1 + 0x1.8p-7, -1 - 0x1.8p-7, 1 + 0x1.8p-10, 1 + 0x1.8p-23, kInf, kNan};
  const TensorShape shape = {6};
  ExpectSame(cast(Numbers<double>(shape, x), DType::kBF16), {1 + 0x1p-7, -1 - 0x1p-7, 1, 1, kInf, kNan}, "f64 to bf16");
  ExpectSame(cast(Numbers<float>(shape, x), DType::kBF16), {1 + 0x1p-7, -1 - 0x1p-7, 1, 1, kInf, kNan}, "f32 to bf16");
  ExpectSame(cast(Numbers<double>(shape, x), DType::kF16), {x[0], x[1], 1 + 0x1p-10, 1, kInf, kNan}, "f64 to f16");
  ExpectSame(cast(Numbers<float>(shape, x), DType::kF16), {x[0], x[1], 1 + 0x1p-10, 1, kInf, kNan}, "f32 to f16");
  ExpectSame(cast(Numbers<double>(shape, x), DType::kF32), {x[0], x[1], x[2], 1 + 0x1p-23, kInf, kNan}, "f64 to f32");
  ExpectSame(cast(Numbers<Complex>({1}, {1 + 0x1.8p-10}), DType::kF16), {1 + 0x1p-10}, "c64 to f16");
  ExpectSame(cast(Numbers<double>({1}, {1 + 0x1.8p-23}), DType::kC64), {1 + 0x1p-23, 0}, "f64 to c64");
  ExpectSame(cast(Numbers<float>({1}, {2.75}), DType::kI32), {2}, "f32 to i32");
}

TEST_F(ElementwiseCastTest, CastToTheSameTypeSharesTheMemory) {
  const TensorHandle x = Dense<float>({100}, std::vector<float>(100, 3.0f));
  const TensorHandle y = Run("tf.Cast", {x}, Attrs("DstT", DType::kF32));
  ASSERT_TRUE(host().Await(y).ok());
  EXPECT_EQ(y.tensor().data(), x.tensor().data());
}

}  // namespace
}  // namespace tandem
