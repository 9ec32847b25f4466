// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shapes and metadata: counts and sizes checked for overflow (TH-8), broadcasting, axes, text (ER-2).

#include "tandem/tensor_shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tandem/tensor_metadata.h"

namespace tandem {
namespace {

constexpr int64_t kMax = INT64_MAX;

template <typename T>
std::string Text(const T& value) {
  MessageBuilder out;
  out.Append(value);
  return std::string(out.view());
}

TEST(TensorShapeTest, DefaultIsAScalar) {
  const TensorShape shape;
  EXPECT_EQ(shape.rank(), 0);
  EXPECT_EQ(shape.num_elements(), 1);
  EXPECT_TRUE(shape.IsValid());
  EXPECT_TRUE(shape.dims().empty());
  EXPECT_EQ(Text(shape), "[]");
}

TEST(TensorShapeTest, CountsElements) {
  const TensorShape shape = {2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.dim(2), 4);
  EXPECT_EQ(shape.num_elements(), 24);
  EXPECT_TRUE(shape.Validate().ok());
  EXPECT_EQ(Text(shape), "[2,3,4]");
  const std::vector<int64_t> dims = {5, 6};
  EXPECT_EQ(TensorShape(std::span<const int64_t>(dims)).num_elements(), 30);
}

TEST(TensorShapeTest, AZeroDimensionMakesItEmptyWhereverItStands) {
  EXPECT_EQ((TensorShape{0, 3}).num_elements(), 0);
  EXPECT_EQ((TensorShape{3, 0}).num_elements(), 0);
  EXPECT_EQ((TensorShape{0, 0}).num_elements(), 0);
  EXPECT_TRUE((TensorShape{3, 0, 2}).IsValid());
}

// TH-8
TEST(TensorShapeTest, TheLargestCountIsValid) {
  EXPECT_EQ((TensorShape{kMax}).num_elements(), kMax);
  EXPECT_EQ((TensorShape{1, kMax, 1}).num_elements(), kMax);
  // 2^63-1 = 7 * 1317624576693539401
  EXPECT_EQ((TensorShape{7, 1317624576693539401}).num_elements(), kMax);
  EXPECT_EQ((TensorShape{int64_t{1} << 31, int64_t{1} << 31}).num_elements(), int64_t{1} << 62);
}

// TH-8
TEST(TensorShapeTest, ALargerCountIsInvalid) {
  const TensorShape shapes[] = {
      {int64_t{1} << 32, int64_t{1} << 31},
      {int64_t{1} << 32, int64_t{1} << 32},
      {kMax, 2},
      {2, kMax},
      {8, 1317624576693539401},
      {65536, 65536, 65536, 65536},
      {kMax, kMax, kMax, kMax, kMax, kMax, kMax, kMax},
  };
  for (const TensorShape& shape : shapes) {
    EXPECT_FALSE(shape.IsValid()) << Text(shape);
    EXPECT_EQ(shape.num_elements(), 0);
    const Status status = shape.Validate();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "shape " + Text(shape) + " must have at most 2^63-1 elements");
  }
}

// TH-8: zero dimensions hide no overflow, before it or after it.
TEST(TensorShapeTest, OverflowBesideAZeroIsInvalid) {
  EXPECT_FALSE((TensorShape{0, kMax, 2}).IsValid());
  EXPECT_FALSE((TensorShape{kMax, 0, 2}).IsValid());
  EXPECT_FALSE((TensorShape{kMax, 2, 0}).IsValid());
  EXPECT_TRUE((TensorShape{0, kMax}).IsValid());
}

// TH-8
TEST(TensorShapeTest, NegativeDimensionsAreInvalid) {
  for (const int64_t dim : {int64_t{-1}, int64_t{-2}, INT64_MIN}) {
    const TensorShape shape = {2, dim, 3};
    EXPECT_FALSE(shape.IsValid());
    EXPECT_EQ(shape.num_elements(), 0);
    EXPECT_EQ(shape.Validate().message(), "dimension 1 of shape " + Text(shape) + " must not be negative");
  }
  EXPECT_FALSE((TensorShape{-1, -1}).IsValid());
  EXPECT_FALSE((TensorShape{-1, 0}).IsValid());
  EXPECT_FALSE((TensorShape{0, -1}).IsValid());
}

// TH-8
TEST(TensorShapeTest, TooManyDimensionsAreInvalid) {
  TensorShape shape = {1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_TRUE(shape.IsValid());
  shape.Append(1);
  EXPECT_FALSE(shape.IsValid());
  EXPECT_EQ(shape.rank(), TensorShape::kMaxRank);
  EXPECT_EQ(shape.num_elements(), 0);
  EXPECT_EQ(shape.Validate().message(),
            "a shape must have at most 8 dimensions, got one that begins with [1,1,1,1,1,1,1,1]");
}

// TH-8
TEST(TensorShapeTest, TooManyDimensionsStayInvalid) {
  TensorShape shape;
  for (int i = 0; i < 100; ++i) shape.Append(2);
  EXPECT_FALSE(shape.IsValid());
  shape.SetDim(0, 1);
  EXPECT_FALSE(shape.IsValid());
  EXPECT_FALSE(shape.Validate().ok());
  shape.Append(0);
  EXPECT_FALSE(shape.IsValid());
}

TEST(TensorShapeTest, SettingADimensionCountsAgain) {
  TensorShape shape = {2, 3};
  shape.SetDim(0, 5);
  EXPECT_EQ(shape.num_elements(), 15);
  shape.SetDim(1, -1);
  EXPECT_FALSE(shape.IsValid());
  shape.SetDim(1, 0);
  EXPECT_TRUE(shape.IsValid());
  EXPECT_EQ(shape.num_elements(), 0);
  shape.SetDim(1, 4);
  EXPECT_EQ(shape.num_elements(), 20);
  shape.SetDim(0, kMax);
  EXPECT_FALSE(shape.IsValid());
}

TEST(TensorShapeTest, AppendingAfterAnInvalidDimensionStaysInvalid) {
  TensorShape shape = {-1};
  shape.Append(4);
  EXPECT_FALSE(shape.IsValid());
  TensorShape overflow = {kMax, kMax};
  overflow.Append(0);
  EXPECT_FALSE(overflow.IsValid());
}

TEST(TensorShapeTest, EqualityComparesEveryDimension) {
  EXPECT_EQ((TensorShape{2, 3}), (TensorShape{2, 3}));
  EXPECT_FALSE((TensorShape{2, 3}) == (TensorShape{3, 2}));
  EXPECT_FALSE((TensorShape{6}) == (TensorShape{2, 3}));
  EXPECT_FALSE((TensorShape{1}) == TensorShape());
  EXPECT_FALSE((TensorShape{0, 2}) == (TensorShape{0, 3}));
  EXPECT_EQ((TensorShape{-1, 2}), (TensorShape{-1, 2}));
}

struct BroadcastCase {
  TensorShape a, b, expected;
};

TEST(BroadcastTest, StretchesOnesFromTheLastDimension) {
  const BroadcastCase cases[] = {
      {{}, {}, {}},
      {{}, {2, 3}, {2, 3}},
      {{3}, {2, 3}, {2, 3}},
      {{2, 1}, {1, 3}, {2, 3}},
      {{4, 1, 3}, {2, 1}, {4, 2, 3}},
      {{1, 1, 1}, {5}, {1, 1, 5}},
      {{0}, {1}, {0}},
      {{2, 0}, {1, 1}, {2, 0}},
      {{7, 7, 7, 7, 7, 7, 7, 7}, {1}, {7, 7, 7, 7, 7, 7, 7, 7}},
  };
  for (const BroadcastCase& c : cases) {
    for (const auto& result : {BroadcastShapes(c.a, c.b), BroadcastShapes(c.b, c.a)}) {
      ASSERT_TRUE(result.ok()) << Text(c.a) << Text(c.b);
      EXPECT_EQ(*result, c.expected) << Text(*result);
      EXPECT_EQ(result->num_elements(), c.expected.num_elements());
    }
  }
}

TEST(BroadcastTest, ShapesThatDoNotFitAreNamed) {
  EXPECT_EQ(BroadcastShapes({2, 3}, {4}).status().message(), "shapes must be broadcast compatible, got [2,3] and [4]");
  EXPECT_EQ(BroadcastShapes({4}, {2, 3}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(BroadcastShapes({0}, {2}).ok());
  EXPECT_FALSE(BroadcastShapes({2, 1, 3}, {3, 1, 3}).ok());
}

// TH-8: two shapes that exist may broadcast to one that cannot.
TEST(BroadcastTest, OverflowIsAnInvalidShape) {
  const auto result = BroadcastShapes({int64_t{1} << 40, 1}, {1, int64_t{1} << 40});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->IsValid());
}

// TH-8
TEST(BroadcastTest, AnInvalidShapeGivesNoValidOne) {
  TensorShape too_long;
  for (int i = 0; i < 9; ++i) too_long.Append(1);
  const auto result = BroadcastShapes(too_long, {5});
  EXPECT_TRUE(!result.ok() || !result->IsValid());
  const auto negative = BroadcastShapes({-1, 3}, {1, 3});
  EXPECT_TRUE(!negative.ok() || !negative->IsValid());
}

TEST(NormalizeAxisTest, CountsNegativeAxesFromTheEnd) {
  EXPECT_EQ(*NormalizeAxis(0, 3, "axis"), 0);
  EXPECT_EQ(*NormalizeAxis(2, 3, "axis"), 2);
  EXPECT_EQ(*NormalizeAxis(-1, 3, "axis"), 2);
  EXPECT_EQ(*NormalizeAxis(-3, 3, "axis"), 0);
}

TEST(NormalizeAxisTest, AxesOutOfRangeAreNamed) {
  EXPECT_EQ(NormalizeAxis(3, 3, "axis").status().message(), "axis must be in [-3, 3), got 3");
  EXPECT_EQ(NormalizeAxis(-4, 3, "split_dim").status().message(), "split_dim must be in [-3, 3), got -4");
  for (const int64_t axis : {int64_t{0}, int64_t{-1}, kMax, INT64_MIN}) {
    EXPECT_FALSE(NormalizeAxis(axis, 0, "axis").ok());
  }
  EXPECT_FALSE(NormalizeAxis(int64_t{1} << 32, 3, "axis").ok());
}

TEST(TensorMetadataTest, TextIsDTypeAndShape) {
  EXPECT_EQ(Text(TensorMetadata(DType::kF32, {2, 3})), "f32[2,3]");
  EXPECT_EQ(Text(TensorMetadata(DType::kString, {})), "string[]");
  EXPECT_EQ(Text(TensorMetadata()), "invalid[]");
}

TEST(TensorMetadataTest, KnowsItsBytes) {
  EXPECT_EQ(TensorMetadata(DType::kF32, {2, 3}).byte_size(), 24u);
  EXPECT_EQ(TensorMetadata(DType::kC64, {}).byte_size(), 8u);
  EXPECT_EQ(TensorMetadata(DType::kU8, {0, 5}).byte_size(), 0u);
  EXPECT_EQ(TensorMetadata(DType::kString, {10}).byte_size(), 0u);
}

// TH-8: bytes are limited by what this target can address, on 32 bits as on 64.
TEST(TensorMetadataTest, WhatCannotBeAddressedIsInvalid) {
  constexpr int64_t kMost = PTRDIFF_MAX / 8;
  for (const DType dtype : {DType::kU8, DType::kF64, DType::kString}) {
    const TensorMetadata largest(dtype, {kMost});
    EXPECT_TRUE(largest.IsValid());
    EXPECT_TRUE(largest.Validate().ok());
    EXPECT_LE(largest.byte_size(), static_cast<size_t>(PTRDIFF_MAX));
    const TensorMetadata too_large(dtype, {kMost + 1});
    EXPECT_FALSE(too_large.IsValid());
    EXPECT_EQ(too_large.Validate().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(too_large.Validate().message(), "tensor " + Text(too_large) +
                                                  " is too large to be addressed, the limit is " +
                                                  std::to_string(kMost) + " elements");
  }
  // 2^32 elements of 8 bytes are 2^35 bytes, which wrap around to 0 on 32 bits.
  const TensorMetadata wraps(DType::kF64, {65536, 65536});
  EXPECT_EQ(wraps.IsValid(), sizeof(void*) == 8);
}

// TH-8
TEST(TensorMetadataTest, InvalidShapesAndDTypesAreInvalid) {
  EXPECT_EQ(TensorMetadata(DType::kInvalid, {2}).Validate().message(),
            "a tensor must have a dtype, got [2] without one");
  EXPECT_FALSE(TensorMetadata(DType::kInvalid, {2}).IsValid());
  EXPECT_EQ(TensorMetadata(DType::kF32, {-1}).Validate().message(), "dimension 0 of shape [-1] must not be negative");
  EXPECT_FALSE(TensorMetadata(DType::kF32, {kMax, kMax}).IsValid());
  EXPECT_TRUE(TensorMetadata(DType::kF32, {0, kMax}).IsValid());
}

TEST(TensorMetadataTest, EqualityComparesDTypeAndShape) {
  EXPECT_EQ(TensorMetadata(DType::kF32, {2}), TensorMetadata(DType::kF32, {2}));
  EXPECT_FALSE(TensorMetadata(DType::kF32, {2}) == TensorMetadata(DType::kI32, {2}));
  EXPECT_FALSE(TensorMetadata(DType::kF32, {2}) == TensorMetadata(DType::kF32, {2, 1}));
}

}  // namespace
}  // namespace tandem
