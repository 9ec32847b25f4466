// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Comparison of numbers, against distances that are worked out by hand (NU-1).

#include "tandem/tensor_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "host_values.h"

namespace tandem {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Result {
  std::vector<NumberDifference> differences;
  double worst_ulp;
};

template <typename T>
Result Compare(const std::vector<T>& expected, const std::vector<T>& actual, const TensorTolerance& tolerance = {}) {
  Result result;
  const int64_t parts = kDTypeOf<T> == DType::kC64 ? 2 : 1;
  result.worst_ulp =
      CompareNumbers(kDTypeOf<T>, expected.data(), actual.data(), static_cast<int64_t>(expected.size()) * parts,
                     tolerance, [&](const NumberDifference& difference) { result.differences.push_back(difference); });
  return result;
}
// Whether one number passes for another.
template <typename T>
bool Passes(double expected, double actual, const TensorTolerance& tolerance = {}) {
  const auto number = [](double value) {
    if constexpr (sizeof(T) == 2) return T(static_cast<float>(value));
    return static_cast<T>(value);
  };
  return Compare<T>({number(expected)}, {number(actual)}, tolerance).differences.empty();
}

TEST(TensorComparisonTest, NU1_DistanceOfNeighbours) {
  EXPECT_EQ(UlpOf(1, DType::kF32), 0x1p-23);
  EXPECT_EQ(UlpOf(-3, DType::kF32), 0x1p-22);
  EXPECT_EQ(UlpOf(1, DType::kC64), 0x1p-23);
  EXPECT_EQ(UlpOf(1, DType::kF64), 0x1p-52);
  EXPECT_EQ(UlpOf(1, DType::kF16), 0x1p-10);
  EXPECT_EQ(UlpOf(1, DType::kBF16), 0x1p-7);
  EXPECT_EQ(UlpOf(0, DType::kF32), 0x1p-149);
  EXPECT_EQ(UlpOf(0x1p-140, DType::kF32), 0x1p-149);
  EXPECT_EQ(UlpOf(0, DType::kF64), 0x1p-1074);
  EXPECT_EQ(UlpOf(0, DType::kF16), 0x1p-24);
  EXPECT_EQ(UlpOf(0, DType::kBF16), 0x1p-133);
  EXPECT_EQ(UlpOf(100, DType::kI32), 1);
}

TEST(TensorComparisonTest, NU1_InUlpOfTheExpectedNumber) {
  EXPECT_TRUE(Passes<float>(1, 1));
  EXPECT_FALSE(Passes<float>(1, 1 + 0x1p-23));
  EXPECT_TRUE(Passes<float>(1, 1 + 0x1p-23, {.ulp = 1}));
  EXPECT_FALSE(Passes<float>(1, 1 + 0x1p-22, {.ulp = 1}));
  EXPECT_TRUE(Passes<double>(1, 1 + 0x1p-52, {.ulp = 1}));
  EXPECT_FALSE(Passes<double>(1, 1 + 0x1p-51, {.ulp = 1}));
  EXPECT_TRUE(Passes<Float16>(1, 1 + 0x1p-10, {.ulp = 1}));
  EXPECT_TRUE(Passes<BFloat16>(1, 1 + 0x1p-7, {.ulp = 1}));
  EXPECT_FALSE(Passes<BFloat16>(1, 1 + 0x1p-6, {.ulp = 1}));
  // Across a power of two: below 1 neighbours are 2^-24 apart.
  EXPECT_FALSE(Passes<float>(1 - 0x1p-24, 1 + 0x1p-23, {.ulp = 2}));
  EXPECT_TRUE(Passes<float>(1 - 0x1p-24, 1 + 0x1p-23, {.ulp = 2, .at_larger = true}));
}

TEST(TensorComparisonTest, NU1_AbsoluteAndOfTheLargest) {
  EXPECT_TRUE(Passes<float>(1, 1.25, {.abs = 0.25}));
  EXPECT_FALSE(Passes<float>(1, 1.5, {.abs = 0.25}));
  const TensorTolerance of_largest = {.of_largest = 0.125};
  EXPECT_TRUE(Compare<float>({0, 8, -1}, {1, 8, -2}, of_largest).differences.empty());
  EXPECT_EQ(Compare<float>({0, 4, -1}, {1, 4, -1}, of_largest).differences.size(), 1u);
  // Only what is finite has a size.
  EXPECT_EQ(Compare<float>({0, static_cast<float>(kInf)}, {1, static_cast<float>(kInf)}, of_largest).differences.size(),
            1u);
  EXPECT_TRUE(Compare<float>({0, -8, static_cast<float>(kNan)}, {1, -8, static_cast<float>(kNan)}, of_largest)
                  .differences.empty());
}

TEST(TensorComparisonTest, NU1_NumbersThatAreNotFinite) {
  const TensorTolerance wide = {.ulp = 1e30, .abs = 1e30};
  EXPECT_TRUE(Passes<float>(kNan, kNan));
  EXPECT_TRUE(Passes<float>(kInf, kInf));
  for (const auto& [expected, actual] :
       {std::pair(kNan, 0.0), {0.0, kNan}, {kInf, 3e38}, {3e38, kInf}, {kInf, -kInf}, {kInf, kNan}}) {
    EXPECT_FALSE(Passes<float>(expected, actual, wide)) << expected << " " << actual;
    const Result result = Compare<double>({expected}, {actual}, wide);
    ASSERT_EQ(result.differences.size(), 1u);
    EXPECT_EQ(result.differences[0].error, kInf);
    EXPECT_EQ(result.worst_ulp, 0);
  }
}

TEST(TensorComparisonTest, NU1_SignsOfZeros) {
  EXPECT_TRUE(Passes<float>(0, -0.0));
  EXPECT_FALSE(Passes<float>(0, -0.0, {.ulp = 5, .signed_zeros = true}));
  EXPECT_TRUE(Passes<float>(-0.0, -0.0, {.signed_zeros = true}));
}

TEST(TensorComparisonTest, NU1_Integers) {
  EXPECT_TRUE(Passes<int32_t>(5, 5));
  EXPECT_FALSE(Passes<int32_t>(5, 6));
  EXPECT_TRUE(Passes<int32_t>(5, 6, {.ulp = 1}));
  EXPECT_TRUE(Passes<uint8_t>(5, 7, {.abs = 2}));
  EXPECT_FALSE(Passes<uint8_t>(5, 8, {.ulp = 1, .abs = 2}));
  // Equal as doubles.
  const Result result = Compare<int64_t>({INT64_MAX}, {INT64_MAX - 1});
  ASSERT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.differences[0].error, 1);
  EXPECT_EQ(result.differences[0].ulp, 0);
  // As bytes, and never with a tolerance: not every true is 1.
  const uint8_t expected[] = {1, 0};
  const uint8_t actual[] = {2, 0};
  int count = 0;
  CompareNumbers(DType::kBool, expected, actual, 2, {.ulp = 9, .abs = 9}, [&](const NumberDifference&) { ++count; });
  EXPECT_EQ(count, 1);
}

TEST(TensorComparisonTest, NU1_PartsOfComplexNumbers) {
  using Complex = std::complex<float>;
  const Result result = Compare<Complex>({{1, 2}, {3, 4}}, {{1, 2}, {3, 4.5f}});
  ASSERT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.differences[0].number, 3);
  EXPECT_EQ(result.differences[0].error, 0.5);
  // At the size of the larger part, if that is asked for.
  EXPECT_FALSE(Compare<Complex>({{1, 0}}, {{1, 0x1p-23f}}, {.ulp = 1}).differences.empty());
  EXPECT_TRUE(Compare<Complex>({{1, 0}}, {{1, 0x1p-23f}}, {.ulp = 1, .at_larger = true}).differences.empty());
}

TEST(TensorComparisonTest, NU1_DifferencesAreToldInOrder) {
  const Result result = Compare<float>({1, 2, 3, 0}, {1 + 0x1p-22f, 2, 3.5f, 0x1p-149f}, {.ulp = 1});
  ASSERT_EQ(result.differences.size(), 2u);
  EXPECT_EQ(result.differences[0].number, 0);
  EXPECT_EQ(result.differences[0].ulp, 2);
  EXPECT_EQ(result.differences[1].number, 2);
  EXPECT_EQ(result.differences[1].ulp, 0x1p21);
  EXPECT_EQ(result.worst_ulp, 0x1p21);
  // Passed or not.
  EXPECT_EQ(Compare<float>({1}, {1 + 0x1p-23f}, {.ulp = 4}).worst_ulp, 1);
  EXPECT_EQ(Compare<float>({1}, {1 + 0x1p-23f}, {.abs = 1}).worst_ulp, 0);
  EXPECT_TRUE(Compare<float>({}, {}).differences.empty());
}

TEST(TensorComparisonTest, NU1_AtAnyAddress) {
  const double value = 1.5;
  unsigned char bytes[sizeof(double) + 1];
  std::memcpy(bytes + 1, &value, sizeof(value));
  int count = 0;
  CompareNumbers(DType::kF64, &value, bytes + 1, 1, {}, [&](const NumberDifference&) { ++count; });
  EXPECT_EQ(count, 0);
}

TEST(TensorComparisonTest, NU1_WhatADefinitionStates) {
  OpDef def;
  EXPECT_EQ(StatedUlp(def, DType::kF32), -1);
  EXPECT_EQ(StatedUlp(def, DType::kC64), -1);
  def.max_ulp = 3;
  EXPECT_EQ(StatedUlp(def, DType::kF32), 3);
  EXPECT_EQ(StatedUlp(def, DType::kF64), 3);
  EXPECT_EQ(StatedUlp(def, DType::kF16), 1);
  EXPECT_EQ(StatedUlp(def, DType::kBF16), 1);
  EXPECT_EQ(StatedUlp(def, DType::kC64), 4);
  def.max_ulp = 0;
  EXPECT_EQ(StatedUlp(def, DType::kF16), 0);
}

template <typename T>
std::string ElementText(T value) {
  MessageBuilder text;
  AppendElement(text, kDTypeOf<T>, &value, 0);
  return std::string(text.view());
}

TEST(TensorComparisonTest, TextOfElementsAndPlaces) {
  EXPECT_EQ(ElementText(true), "1");
  EXPECT_EQ(ElementText(int8_t{-5}), "-5");
  EXPECT_EQ(ElementText(uint8_t{65}), "65");
  EXPECT_EQ(ElementText(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(ElementText(Float16(1.5f)), "1.5");
  EXPECT_EQ(ElementText(BFloat16(-2.0f)), "-2");
  EXPECT_EQ(ElementText(0.1f), "0.1");
  EXPECT_EQ(ElementText(0.1), "0.1");
  EXPECT_EQ(ElementText(std::complex<float>(1, -2)), "(1, -2)");
  const std::pair<TensorShape, std::pair<int64_t, std::string>> places[] = {
      {{}, {0, "[]"}}, {{5}, {4, "[4]"}}, {{2, 3, 4}, {23, "[1,2,3]"}}, {{2, 3, 4}, {5, "[0,1,1]"}}};
  for (const auto& [shape, place] : places) {
    MessageBuilder text;
    AppendPosition(text, shape, place.first);
    EXPECT_EQ(text.view(), place.second);
  }
}

}  // namespace
}  // namespace tandem
