// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Digits drawn from strokes: reproducible, balanced, in their frame, varied, and learnable without being trivial.

#include "digits/drawn_digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace digits {
namespace {

std::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

DigitSet Draw(uint32_t count, uint64_t seed) {
  auto digits = DrawDigits(count, seed);
  EXPECT_TRUE(digits.ok()) << digits.status().message();
  return std::move(digits).value();
}

int SquaredDistance(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  int sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// The first numbers of the reference implementation's demonstration, seeded with 42 and 54.
TEST(Pcg32Test, GivesTheReferenceNumbers) {
  Pcg32 random(42, 54);
  for (uint32_t expected : {0xa15c02b7u, 0x7b47f409u, 0xba1d3330u, 0x83d2f293u, 0xbfa4784bu, 0xcbed606eu}) {
    EXPECT_EQ(random.Next(), expected);
  }
}

TEST(Pcg32Test, StaysWithinItsBounds) {
  Pcg32 random(1, 2);
  bool seen[7] = {};
  for (int i = 0; i < 1000; ++i) {
    const uint32_t value = random.Below(7);
    ASSERT_LT(value, 7u);
    seen[value] = true;
    const float uniform = random.Uniform(-2, 3);
    ASSERT_GE(uniform, -2);
    ASSERT_LE(uniform, 3);
    ASSERT_LE(std::abs(random.Normal(2)), 7);
  }
  EXPECT_EQ(std::count(std::begin(seen), std::end(seen), true), 7);
}

TEST(DrawnDigitsTest, TheSameSeedGivesTheSameDigits) {
  const DigitSet a = Draw(50, 7), b = Draw(50, 7);
  EXPECT_EQ(AsText(a.images.bytes()), AsText(b.images.bytes()));
  EXPECT_EQ(AsText(a.labels.bytes()), AsText(b.labels.bytes()));
}

TEST(DrawnDigitsTest, AnotherSeedGivesOtherDigits) {
  const DigitSet a = Draw(50, 7), b = Draw(50, 8);
  EXPECT_NE(AsText(a.labels.bytes()), AsText(b.labels.bytes()));
  for (size_t i = 0; i < a.count; ++i) {
    for (size_t j = 0; j < b.count; ++j) EXPECT_NE(AsText(a.image(i)), AsText(b.image(j)));
  }
}

TEST(DrawnDigitsTest, HasEveryDigitEquallyOftenInRandomOrder) {
  const DigitSet digits = Draw(205, 1);
  int counts[kNumClasses] = {};
  int in_turn = 0;
  for (size_t i = 0; i < digits.count; ++i) {
    ++counts[digits.label(i)];
    in_turn += digits.label(i) == static_cast<int>(i % kNumClasses);
  }
  for (int count : counts) EXPECT_TRUE(count == 20 || count == 21) << count;
  EXPECT_LT(in_turn, 60);
}

TEST(DrawnDigitsTest, DrawsNothingWhenAskedFor) {
  const DigitSet digits = Draw(0, 1);
  EXPECT_EQ(digits.count, 0u);
  EXPECT_EQ(digits.images.size(), 0u);
}

TEST(DrawnDigitsTest, PutsDarkStrokesOnLightPaperInsideTheFrame) {
  const DigitSet digits = Draw(200, 3);
  ASSERT_EQ(digits.rows, kDrawnSize);
  ASSERT_EQ(digits.cols, kDrawnSize);
  for (size_t i = 0; i < digits.count; ++i) {
    const std::span<const uint8_t> image = digits.image(i);
    const auto inked = std::count_if(image.begin(), image.end(), [](uint8_t pixel) { return pixel > 128; });
    EXPECT_GT(inked, 15) << i;
    EXPECT_LT(inked, 350) << i;
    int corners = 0;
    for (size_t corner : {size_t{0}, kDrawnSize - 1, image.size() - kDrawnSize, image.size() - 1}) {
      corners += image[corner];
    }
    EXPECT_LT(corners, 100) << i;
  }
}

// Half tones at the edges of strokes, which a drawing without anti-aliasing would lack.
TEST(DrawnDigitsTest, SmoothsTheEdgesOfStrokes) {
  const DigitSet digits = Draw(20, 4);
  for (size_t i = 0; i < digits.count; ++i) {
    const std::span<const uint8_t> image = digits.image(i);
    EXPECT_GT(std::count_if(image.begin(), image.end(), [](uint8_t pixel) { return pixel > 48 && pixel < 176; }), 5);
  }
}

// The nearest of 1,000 drawn digits is mostly the right one, and the mean image of a digit often is not.
TEST(DrawnDigitsTest, CanBeLearntButNotByTheirMeansAlone) {
  const DigitSet train = Draw(1000, 1), test = Draw(200, 2);
  std::vector<uint8_t> means(kNumClasses * kDrawnSize * kDrawnSize);
  for (int digit = 0; digit < kNumClasses; ++digit) {
    for (size_t pixel = 0; pixel < kDrawnSize * kDrawnSize; ++pixel) {
      int sum = 0;
      for (size_t i = 0; i < train.count; ++i) sum += train.label(i) == digit ? train.image(i)[pixel] : 0;
      means[static_cast<size_t>(digit) * kDrawnSize * kDrawnSize + pixel] = static_cast<uint8_t>(sum / 100);
    }
  }
  int nearest_right = 0, mean_right = 0;
  for (size_t i = 0; i < test.count; ++i) {
    std::vector<std::pair<int, int>> neighbours, mean_distances;
    for (size_t j = 0; j < train.count; ++j) {
      neighbours.emplace_back(SquaredDistance(test.image(i), train.image(j)), train.label(j));
    }
    for (int digit = 0; digit < kNumClasses; ++digit) {
      const std::span<const uint8_t> all = means;
      const auto mean = all.subspan(static_cast<size_t>(digit) * kDrawnSize * kDrawnSize, kDrawnSize * kDrawnSize);
      mean_distances.emplace_back(SquaredDistance(test.image(i), mean), digit);
    }
    nearest_right += std::min_element(neighbours.begin(), neighbours.end())->second == test.label(i);
    mean_right += std::min_element(mean_distances.begin(), mean_distances.end())->second == test.label(i);
  }
  EXPECT_GE(nearest_right, 160);
  EXPECT_LE(mean_right, 170);
}

}  // namespace
}  // namespace digits
