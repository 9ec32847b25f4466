// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reductions in the order of the ranks, as the op library of MPI's collectives computes them.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/reduction.h"
#include "tandem/float16.h"

namespace tandem::mpi {
namespace {

template <typename T>
std::vector<T> Reduced(tandem_dtype dtype, Reduction reduction, const std::vector<T>& parts, size_t num_parts) {
  std::vector<T> result(parts.size() / num_parts);
  Reduce(dtype, reduction, parts.data(), num_parts, result.size(), result.data());
  return result;
}

TEST(MpiReductionTest, SumsAreFromTheLeft) {
  // 1e8 swallows each 3 by itself, but not their sum.
  EXPECT_EQ(Reduced<float>(TANDEM_F32, Reduction::kSum, {1e8f, 3, 3}, 3), (std::vector<float>{(1e8f + 3.0f) + 3.0f}));
  EXPECT_EQ(Reduced<float>(TANDEM_F32, Reduction::kSum, {3, 3, 1e8f}, 3), (std::vector<float>{6.0f + 1e8f}));
}

TEST(MpiReductionTest, MoreThanABlock) {
  constexpr size_t kCount = 1300, kParts = 3;
  std::vector<double> parts(kCount * kParts), expected(kCount);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = static_cast<double>(i % 997) * 0.5;
  for (size_t i = 0; i < kCount; ++i) expected[i] = (parts[i] + parts[kCount + i] + parts[2 * kCount + i]) / 3;
  EXPECT_EQ(Reduced(TANDEM_F64, Reduction::kMean, parts, kParts), expected);
}

TEST(MpiReductionTest, HalvesAreRoundedOnce) {
  // 2048 + 1 is 2048 in f16, but 2048 + 1 + 1 is 2050.
  const std::vector<Float16> parts = {Float16(2048), Float16(1), Float16(1)};
  EXPECT_EQ(float{Reduced(TANDEM_F16, Reduction::kSum, parts, 3)[0]}, 2050);
  const std::vector<BFloat16> coarse = {BFloat16(256), BFloat16(1), BFloat16(1)};
  EXPECT_EQ(float{Reduced(TANDEM_BF16, Reduction::kSum, coarse, 3)[0]}, 258);
}

TEST(MpiReductionTest, IntegersWrap) {
  EXPECT_EQ(Reduced<int8_t>(TANDEM_I8, Reduction::kSum, {127, 1}, 2), std::vector<int8_t>{-128});
  EXPECT_EQ(Reduced<int32_t>(TANDEM_I32, Reduction::kProd, {-65536, 65536}, 2), std::vector<int32_t>{0});
  EXPECT_EQ(Reduced<int64_t>(TANDEM_I64, Reduction::kSum, {INT64_MAX, 1}, 2), std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(Reduced<int16_t>(TANDEM_I16, Reduction::kProd, {-3, 5}, 2), std::vector<int16_t>{-15});
}

TEST(MpiReductionTest, LeastAndMost) {
  EXPECT_EQ(Reduced<int32_t>(TANDEM_I32, Reduction::kMin, {1, -7, -2, 5}, 2), (std::vector<int32_t>{-2, -7}));
  EXPECT_EQ(Reduced<uint64_t>(TANDEM_U64, Reduction::kMax, {1, UINT64_MAX}, 2), std::vector<uint64_t>{UINT64_MAX});
  EXPECT_EQ(Reduced<float>(TANDEM_F32, Reduction::kMax, {1, -7, -2, 5}, 2), (std::vector<float>{1, 5}));
}

TEST(MpiReductionTest, ANanIsTheLeastAndTheMost) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Reduction reduction : {Reduction::kMin, Reduction::kMax}) {
    for (const float value : Reduced<float>(TANDEM_F32, reduction, {nan, 1, 2, 1, nan, 2, 1, 2, nan}, 3)) {
      EXPECT_TRUE(std::isnan(value));
    }
  }
}

TEST(MpiReductionTest, WhatCanBeReduced) {
  EXPECT_TRUE(CanReduce(TANDEM_F16, Reduction::kMean));
  EXPECT_FALSE(CanReduce(TANDEM_I32, Reduction::kMean));
  EXPECT_TRUE(CanReduce(TANDEM_U64, Reduction::kMax));
  for (const tandem_dtype dtype : std::initializer_list<tandem_dtype>{TANDEM_BOOL, TANDEM_C64, TANDEM_STRING, 0, 99}) {
    EXPECT_FALSE(CanReduce(dtype, Reduction::kSum)) << dtype;
  }
  EXPECT_EQ(ReductionOf("median"), Reduction::kNone);
}

}  // namespace
}  // namespace tandem::mpi
