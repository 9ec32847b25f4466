// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shape ops of one tensor, against index arithmetic written out one element at a time.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "shape_test_fixture.h"

namespace tandem {
namespace {

using ShapeOpsTest = ShapeTest;
template <typename T>
using ShapeOpsDTypeTest = ShapeDTypeTest<T>;
TYPED_TEST_SUITE(ShapeOpsDTypeTest, MovedTypes);

// --- Reshape, ExpandDims, Squeeze ---

TEST_F(ShapeOpsTest, ReshapeSharesTheBuffer) {
  const TensorHandle x = Counting<float>({6, 20});
  const TensorHandle y = Run("tf.Reshape", {x, I32({4, 30})});
  EXPECT_EQ(MetadataOf(y), "f32[4,30]");
  EXPECT_EQ(DataOf(x), DataOf(y));
}

TEST_F(ShapeOpsTest, ReshapeKeepsTheElements) {
  Index positions(6);
  std::iota(positions.begin(), positions.end(), 0);
  ExpectElements<float>(Run("tf.Reshape", {Counting<float>({2, 3}), I32({3, 2})}), {3, 2}, positions);
}

TEST_F(ShapeOpsTest, ReshapeInfersASize) {
  const TensorHandle x = Counting<float>({2, 3, 4});
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {x, I32({-1})})), "f32[24]");
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {x, I32({6, -1})})), "f32[6,4]");
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {x, I32({2, -1, 12})})), "f32[2,1,12]");
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {Counting<float>({0, 3}), I32({-1, 5})})), "f32[0,5]");
}

TEST_F(ShapeOpsTest, ReshapeTakesScalarsAndEmptyTensors) {
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {Counting<float>({1, 1}), I32({})})), "f32[]");
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {Counting<float>({}), I32({1, 1, 1, 1, 1, 1, 1, 1})})),
            "f32[1,1,1,1,1,1,1,1]");
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {Counting<float>({0, 3}), I32({7, 0})})), "f32[7,0]");
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {Counting<float>({4}), Dense<int64_t>({2}, {2, 2})})), "f32[2,2]");
  EXPECT_EQ(MetadataOf(Run("tf.Reshape", {Counting<float>({4}), Spread<int32_t>({2}, 2)})), "f32[2,2]");
}

TEST_F(ShapeOpsTest, ReshapeKeepsScalarHostTensorsUnexpanded) {
  const TensorHandle y = Run("tf.Reshape", {Spread<float>({2, 3}, 5), I32({6})});
  EXPECT_TRUE(y.tensor().IsA(kScalarHost));
  EXPECT_EQ(Values<float>(y), std::vector<float>(6, 5));
}

TEST_F(ShapeOpsTest, ReshapeTakesStrings) {
  const TensorHandle y = Run("tf.Reshape", {Strings({4}, {"a", "", "ccc", "d"}), I32({2, -1})});
  EXPECT_EQ(MetadataOf(y), "string[2,2]");
  EXPECT_EQ(StringValues(y), (std::vector<std::string>{"a", "", "ccc", "d"}));
}

// MD-2
TEST_F(ShapeOpsTest, ReshapeRejectsShapesThatDoNotFit) {
  const TensorHandle x = Counting<float>({2, 3});
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {x, I32({4, 2})})),
            "[tf.Reshape] tensor and shape must have the same number of elements, got tensor: f32[2,3], shape: [4,2]");
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {x, I32({4, -1})})),
            "[tf.Reshape] tensor and shape must have the same number of elements, got tensor: f32[2,3], shape: [4,-1]");
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {x, I32({-1, -1})})),
            "[tf.Reshape] sizes must be at least 0, or -1 for one of them, got shape: [-1,-1]");
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {x, I32({-2, 3})})),
            "[tf.Reshape] sizes must be at least 0, or -1 for one of them, got shape: [-2,3]");
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {Counting<float>({0}), I32({0, -1})})),
            "[tf.Reshape] the other sizes must not be 0 where one is -1, got shape: [0,-1]");
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {x, Dense<int32_t>({1, 2}, {2, 3})})),
            "[tf.Reshape] shape must be a vector, got shape: i32[1,2]");
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {x, I32({1, 1, 1, 1, 1, 1, 1, 2, 3})})),
            "[tf.Reshape] shape must have at most 8 elements, got shape: i32[9]");
}

// TH-8
TEST_F(ShapeOpsTest, ReshapeRejectsSizesThatOverflow) {
  const int64_t huge = int64_t{1} << 40;
  const TensorHandle y = Run("tf.Reshape", {Counting<float>({1}), Dense<int64_t>({2}, {huge, huge})});
  EXPECT_EQ(ErrorCodeOf(y), StatusCode::kInvalidArgument);
}

// TH-5: a buffer that another tensor still shares is not taken over, and one that nobody else has is.
TEST_F(ShapeOpsTest, SharedBuffersAreNotForwarded) {
  TensorHandle x = Counting<float>({8, 8});
  TensorHandle y = Run("tf.Reshape", {x, I32({64})});
  const void* data = DataOf(x);
  TensorHandle zeros = Run("tf.ZerosLike", {std::move(y)});
  EXPECT_NE(DataOf(zeros), data);
  EXPECT_EQ(Values<float>(x)[63], 64);
  y = Run("tf.Reshape", {std::move(x), I32({64})});
  zeros = Run("tf.ZerosLike", {std::move(y)});
  EXPECT_EQ(DataOf(zeros), data);
}

TEST_F(ShapeOpsTest, ExpandDimsInsertsADimension) {
  const TensorHandle x = Counting<float>({2, 3});
  EXPECT_EQ(MetadataOf(Run("tf.ExpandDims", {x, Scalar<int32_t>(0)})), "f32[1,2,3]");
  EXPECT_EQ(MetadataOf(Run("tf.ExpandDims", {x, Scalar<int32_t>(2)})), "f32[2,3,1]");
  EXPECT_EQ(MetadataOf(Run("tf.ExpandDims", {x, Scalar<int64_t>(-1)})), "f32[2,3,1]");
  EXPECT_EQ(MetadataOf(Run("tf.ExpandDims", {x, I32({-3})})), "f32[1,2,3]");
  EXPECT_EQ(MetadataOf(Run("tf.ExpandDims", {Strings({}, {"a"}), I32({0})})), "string[1]");
  EXPECT_EQ(ErrorOf(Run("tf.ExpandDims", {x, Scalar<int32_t>(3)})), "[tf.ExpandDims] dim must be in [-3, 3), got 3");
  EXPECT_EQ(ErrorOf(Run("tf.ExpandDims", {x, I32({0, 1})})),
            "[tf.ExpandDims] expected one integer for dim, got i32[2]");
}

TEST_F(ShapeOpsTest, ExpandDimsRejectsANinthDimension) {
  const TensorHandle y = Run("tf.ExpandDims", {Counting<float>({1, 1, 1, 1, 1, 1, 1, 1}), Scalar<int32_t>(0)});
  EXPECT_EQ(ErrorCodeOf(y), StatusCode::kInvalidArgument);
}

TEST_F(ShapeOpsTest, SqueezeRemovesDimensionsOfSizeOne) {
  const TensorHandle x = Counting<float>({1, 2, 1, 3, 1});
  EXPECT_EQ(MetadataOf(Run("tf.Squeeze", {x})), "f32[2,3]");
  EXPECT_EQ(MetadataOf(Run("tf.Squeeze", {x}, Attrs("squeeze_dims", Index{0, -1}))), "f32[2,1,3]");
  EXPECT_EQ(MetadataOf(Run("tf.Squeeze", {x}, Attrs("squeeze_dims", Index{2, 2}))), "f32[1,2,3,1]");
  EXPECT_EQ(ErrorOf(Run("tf.Squeeze", {x}, Attrs("squeeze_dims", Index{1}))),
            "[tf.Squeeze] dimensions to squeeze must be 1, got input: f32[1,2,1,3,1], squeeze_dims: [1]");
  EXPECT_EQ(ErrorOf(Run("tf.Squeeze", {x}, Attrs("squeeze_dims", Index{5}))),
            "[tf.Squeeze] elements of squeeze_dims must be in [-5, 5), got 5");
}

TEST_F(ShapeOpsTest, SparseTensorsMustBeConvertedFirst) {
  const TensorHandle sparse = Run("tandem.ToSparseCoo", {Counting<float>({2, 3})});
  EXPECT_EQ(ErrorOf(Run("tf.Reshape", {sparse, I32({6})})),
            "[tf.Reshape] argument 0 (tensor) must be a dense tensor, got f32[2,3] as sparse_coo_host");
}

// --- Transpose ---

Index TransposedPositions(const Index& shape, const Index& perm, Index* result_shape) {
  result_shape->clear();
  for (const int64_t axis : perm) result_shape->push_back(shape[static_cast<size_t>(axis)]);
  Index positions;
  ForEachIndex(*result_shape, [&](const Index& index) {
    Index source(shape.size());
    for (size_t d = 0; d < perm.size(); ++d) source[static_cast<size_t>(perm[d])] = index[d];
    positions.push_back(Position(shape, source));
  });
  return positions;
}

TYPED_TEST(ShapeOpsDTypeTest, TransposeOfEveryPermutation) {
  for (const Index& shape : {Index{2, 3, 4}, Index{5, 1, 2, 3}, Index{3, 2, 8, 2}}) {
    Index perm(shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    do {
      Index result_shape;
      const Index positions = TransposedPositions(shape, perm, &result_shape);
      this->template ExpectElements<TypeParam>(
          this->Run("tf.Transpose", {this->template Counting<TypeParam>(shape), this->I32(perm)}), result_shape,
          positions, TextOf(TensorShape(shape), " by ", TensorShape(perm)));
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

// Whole tiles, tiles at both edges, planes inside larger tensors, rows of a few bytes.
TYPED_TEST(ShapeOpsDTypeTest, TransposeOfTiles) {
  struct Case {
    Index shape;
    Index perm;
  };
  const Case cases[] = {{{128, 64}, {1, 0}},
                        {{131, 70}, {1, 0}},
                        {{3, 200}, {1, 0}},
                        {{200, 3}, {1, 0}},
                        {{3, 65, 66}, {0, 2, 1}},
                        {{65, 3, 66}, {2, 1, 0}},
                        {{66, 65, 2}, {1, 0, 2}},
                        {{66, 65, 2, 2}, {1, 2, 0, 3}},
                        {{2, 66, 3, 65}, {0, 3, 2, 1}},
                        {{40, 30, 20}, {2, 0, 1}}};
  for (const Case& c : cases) {
    Index result_shape;
    const Index positions = TransposedPositions(c.shape, c.perm, &result_shape);
    this->template ExpectElements<TypeParam>(
        this->Run("tf.Transpose", {this->template Counting<TypeParam>(c.shape), this->I32(c.perm)}), result_shape,
        positions, TextOf(TensorShape(c.shape), " by ", TensorShape(c.perm)));
  }
}

TEST_F(ShapeOpsTest, TransposeInParallel) {
  Index result_shape;
  const Index positions = TransposedPositions({700, 900}, {1, 0}, &result_shape);
  ExpectElements<float>(Run("tf.Transpose", {Counting<float>({700, 900}), I32({1, 0})}), result_shape, positions);
}

TEST_F(ShapeOpsTest, TransposeOfRankEightAndZero) {
  const Index shape = {2, 1, 3, 2, 1, 2, 2, 3};
  const Index perm = {7, 2, 5, 0, 1, 4, 3, 6};
  Index result_shape;
  const Index positions = TransposedPositions(shape, perm, &result_shape);
  ExpectElements<float>(Run("tf.Transpose", {Counting<float>(shape), I32(perm)}), result_shape, positions);
  ExpectElements<float>(Run("tf.Transpose", {Counting<float>({}), I32({})}), {}, {0});
  EXPECT_EQ(MetadataOf(Run("tf.Transpose", {Counting<float>({2, 0, 3}), I32({2, 1, 0})})), "f32[3,0,2]");
}

TEST_F(ShapeOpsTest, TransposeThatMovesNothingShares) {
  const TensorHandle x = Counting<float>({16, 1, 16});
  const TensorHandle y = Run("tf.Transpose", {x, I32({1, 0, 2})});
  EXPECT_EQ(MetadataOf(y), "f32[1,16,16]");
  EXPECT_EQ(DataOf(x), DataOf(y));
}

TEST_F(ShapeOpsTest, TransposeOfStringsAndScalarHostTensors) {
  EXPECT_EQ(StringValues(Run("tf.Transpose", {Strings({2, 3}, {"a", "b", "c", "d", "e", "f"}), I32({1, 0})})),
            (std::vector<std::string>{"a", "d", "b", "e", "c", "f"}));
  const TensorHandle y = Run("tf.Transpose", {Spread<float>({2, 3}, 1), I32({1, 0})});
  EXPECT_TRUE(y.tensor().IsA(kScalarHost));
  EXPECT_EQ(MetadataOf(y), "f32[3,2]");
}

TEST_F(ShapeOpsTest, TransposeRejectsWhatIsNoPermutation) {
  const TensorHandle x = Counting<float>({2, 3});
  EXPECT_EQ(ErrorOf(Run("tf.Transpose", {x, I32({0, 0})})),
            "[tf.Transpose] perm must have each of the dimensions of x once, got x: f32[2,3], perm: [0,0]");
  EXPECT_EQ(ErrorOf(Run("tf.Transpose", {x, I32({0, 2})})),
            "[tf.Transpose] perm must have each of the dimensions of x once, got x: f32[2,3], perm: [0,2]");
  EXPECT_EQ(ErrorOf(Run("tf.Transpose", {x, I32({0})})),
            "[tf.Transpose] perm must have one element for each dimension of x, got x: f32[2,3], perm: i32[1]");
}

// --- Tile, Pad, BroadcastTo ---

TYPED_TEST(ShapeOpsDTypeTest, TileRepeatsEachDimension) {
  const Index shape = {2, 1, 3};
  for (const Index& multiples : {Index{1, 1, 1}, Index{2, 1, 1}, Index{1, 3, 1}, Index{1, 1, 2}, Index{3, 2, 4},
                                 Index{2, 0, 1}, Index{1, 40, 30}}) {
    Index result_shape(3);
    for (size_t d = 0; d < 3; ++d) result_shape[d] = shape[d] * multiples[d];
    Index positions;
    ForEachIndex(result_shape, [&](Index index) {
      for (size_t d = 0; d < 3; ++d) index[d] %= shape[d];
      positions.push_back(Position(shape, index));
    });
    this->template ExpectElements<TypeParam>(
        this->Run("tf.Tile", {this->template Counting<TypeParam>(shape), this->I32(multiples)}), result_shape,
        positions, TextOf(TensorShape(multiples)));
  }
}

TEST_F(ShapeOpsTest, TileOfRankEight) {
  const TensorHandle y =
      Run("tf.Tile", {Counting<float>({2, 2, 2, 2, 2, 2, 2, 2}), Dense<int16_t>({8}, {2, 1, 2, 1, 2, 1, 2, 2})});
  EXPECT_EQ(MetadataOf(y), "f32[4,2,4,2,4,2,4,4]");
  Index positions;
  ForEachIndex({4, 2, 4, 2, 4, 2, 4, 4}, [&](Index index) {
    for (int64_t& i : index) i %= 2;
    positions.push_back(Position({2, 2, 2, 2, 2, 2, 2, 2}, index));
  });
  ExpectElements<float>(y, {4, 2, 4, 2, 4, 2, 4, 4}, positions);
}

TEST_F(ShapeOpsTest, TileOfStringsAndWrongMultiples) {
  EXPECT_EQ(StringValues(Run("tf.Tile", {Strings({2}, {"a", "b"}), I32({2})})),
            (std::vector<std::string>{"a", "b", "a", "b"}));
  EXPECT_EQ(ErrorOf(Run("tf.Tile", {Counting<float>({2}), I32({-1})})),
            "[tf.Tile] multiples must be at least 0 and dimensions at most 2^63-1, got input: f32[2], multiples: [-1]");
  EXPECT_EQ(ErrorOf(Run("tf.Tile", {Counting<float>({2}), I32({1, 1})})),
            "[tf.Tile] multiples must have one element for each dimension of input, got input: f32[2], multiples: "
            "i32[2]");
}

// TH-8
TEST_F(ShapeOpsTest, TileRejectsSizesThatOverflow) {
  const TensorHandle y = Run("tf.Tile", {Counting<float>({4}), Dense<int64_t>({1}, {int64_t{1} << 61})});
  EXPECT_EQ(ErrorOf(y),
            "[tf.Tile] multiples must be at least 0 and dimensions at most 2^63-1, got input: f32[4], multiples: "
            "[2305843009213693952]");
}

TYPED_TEST(ShapeOpsDTypeTest, PadSurroundsWithZeros) {
  const Index shape = {2, 3, 2};
  for (const Index& paddings : {Index{0, 0, 0, 0, 0, 0}, Index{1, 0, 0, 2, 0, 0}, Index{0, 0, 1, 1, 0, 0},
                                Index{0, 0, 0, 0, 2, 1}, Index{1, 2, 3, 0, 0, 1}, Index{50, 20, 30, 7, 8, 9}}) {
    Index result_shape(3);
    for (size_t d = 0; d < 3; ++d) result_shape[d] = shape[d] + paddings[2 * d] + paddings[2 * d + 1];
    Index positions;
    ForEachIndex(result_shape, [&](Index index) {
      bool inside = true;
      for (size_t d = 0; d < 3; ++d) {
        index[d] -= paddings[2 * d];
        inside = inside && index[d] >= 0 && index[d] < shape[d];
      }
      positions.push_back(inside ? Position(shape, index) : -1);
    });
    const std::vector<int32_t> content(paddings.begin(), paddings.end());
    this->template ExpectElements<TypeParam>(this->Run("tf.Pad", {this->template Counting<TypeParam>(shape),
                                                                  this->template Dense<int32_t>({3, 2}, content)}),
                                             result_shape, positions, TextOf(std::span<const int64_t>(paddings)));
  }
}

TEST_F(ShapeOpsTest, PadOfStringsScalarsAndEmptyTensors) {
  EXPECT_EQ(StringValues(Run("tf.Pad", {Strings({1}, {"a"}), Dense<int32_t>({1, 2}, {1, 1})})),
            (std::vector<std::string>{"", "a", ""}));
  EXPECT_EQ(Values<float>(Run("tf.Pad", {Scalar<float>(3), Dense<int32_t>({0, 2}, {})})), (std::vector<float>{3}));
  EXPECT_EQ(Values<float>(Run("tf.Pad", {Counting<float>({0}), Dense<int32_t>({1, 2}, {1, 1})})),
            (std::vector<float>{0, 0}));
  EXPECT_EQ(Values<float>(Run("tf.Pad", {Spread<float>({2}, 4), Dense<int32_t>({1, 2}, {1, 0})})),
            (std::vector<float>{0, 4, 4}));
}

TEST_F(ShapeOpsTest, PadRejectsWrongPaddings) {
  EXPECT_EQ(ErrorOf(Run("tf.Pad", {Counting<float>({2}), Dense<int32_t>({1, 2}, {1, -1})})),
            "[tf.Pad] paddings must be at least 0 and dimensions at most 2^63-1, got input: f32[2], paddings of "
            "dimension 0: [1,-1]");
  EXPECT_EQ(
      ErrorOf(Run("tf.Pad", {Counting<float>({2}), I32({1, 1})})),
      "[tf.Pad] paddings must have two elements for each dimension of input, got input: f32[2], paddings: i32[2]");
}

TYPED_TEST(ShapeOpsDTypeTest, BroadcastToRepeatsDimensions) {
  struct Case {
    Index from;
    Index to;
  };
  const Case cases[] = {{{}, {2, 3}},       {{3}, {2, 3}},          {{2, 1}, {2, 3}},          {{1, 1}, {4, 5}},
                        {{2, 3}, {2, 3}},   {{2, 1, 3}, {2, 4, 3}}, {{1, 3, 1}, {5, 2, 3, 4}}, {{1}, {0}},
                        {{60, 1}, {60, 70}}};
  for (const Case& c : cases) {
    Index positions;
    ForEachIndex(c.to, [&](const Index& index) {
      Index source(index.end() - static_cast<std::ptrdiff_t>(c.from.size()), index.end());
      for (size_t d = 0; d < source.size(); ++d) source[d] = c.from[d] == 1 ? 0 : source[d];
      positions.push_back(Position(c.from, source));
    });
    this->template ExpectElements<TypeParam>(
        this->Run("tf.BroadcastTo", {this->template Counting<TypeParam>(c.from), this->I32(c.to)}), c.to, positions,
        TextOf(TensorShape(c.from), " to ", TensorShape(c.to)));
  }
}

TEST_F(ShapeOpsTest, BroadcastToRejectsWhatDoesNotFit) {
  EXPECT_EQ(ErrorOf(Run("tf.BroadcastTo", {Counting<float>({3}), I32({2})})),
            "[tf.BroadcastTo] input must be broadcastable to shape, got input: f32[3], shape: [2]");
  EXPECT_EQ(ErrorOf(Run("tf.BroadcastTo", {Counting<float>({1, 3}), I32({3})})),
            "[tf.BroadcastTo] input must be broadcastable to shape, got input: f32[1,3], shape: [3]");
  EXPECT_EQ(ErrorOf(Run("tf.BroadcastTo", {Counting<float>({1}), I32({-1})})),
            "[tf.BroadcastTo] sizes must be at least 0, got shape: [-1]");
}

// --- Shape, Size, Rank ---

TEST_F(ShapeOpsTest, ShapeSizeAndRankDescribeATensor) {
  const TensorHandle x = Counting<float>({2, 0, 3});
  EXPECT_EQ(Values<int32_t>(Run("tf.Shape", {x})), (std::vector<int32_t>{2, 0, 3}));
  EXPECT_EQ(Values<int64_t>(Run("tf.Shape", {x}, Attrs("out_type", DType::kI64))), (std::vector<int64_t>{2, 0, 3}));
  EXPECT_EQ(MetadataOf(Run("tf.Shape", {Scalar<float>(1)})), "i32[0]");
  EXPECT_EQ(Values<int32_t>(Run("tf.Size", {Counting<float>({2, 3})})), (std::vector<int32_t>{6}));
  EXPECT_EQ(Values<int64_t>(Run("tf.Size", {x}, Attrs("out_type", DType::kI64))), (std::vector<int64_t>{0}));
  EXPECT_EQ(Values<int32_t>(Run("tf.Rank", {x})), (std::vector<int32_t>{3}));
  EXPECT_EQ(Values<int32_t>(Run("tf.Rank", {Strings({}, {"a"})})), (std::vector<int32_t>{0}));
}

TEST_F(ShapeOpsTest, ShapeAndSizeMustFitInTheirDType) {
  if (sizeof(void*) == 4) GTEST_SKIP() << "no tensor is that large";
  const TensorHandle x = Spread<uint8_t>({int64_t{1} << 31}, 0);
  EXPECT_EQ(ErrorOf(Run("tf.Shape", {x})),
            "[tf.Shape] dimensions must fit in i32, got input: u8[2147483648]; set out_type to i64");
  EXPECT_EQ(ErrorOf(Run("tf.Size", {x})),
            "[tf.Size] the number of elements must fit in i32, got input: u8[2147483648]; set out_type to i64");
  EXPECT_EQ(Values<int64_t>(Run("tf.Size", {x}, Attrs("out_type", DType::kI64))),
            (std::vector<int64_t>{int64_t{1} << 31}));
}

}  // namespace
}  // namespace tandem
