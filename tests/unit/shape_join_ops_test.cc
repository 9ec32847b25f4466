// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that join tensors and take them apart, against index arithmetic written out one element at a time.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "shape_test_fixture.h"

namespace tandem {
namespace {

using ShapeJoinOpsTest = ShapeTest;
template <typename T>
using ShapeJoinOpsDTypeTest = ShapeDTypeTest<T>;
TYPED_TEST_SUITE(ShapeJoinOpsDTypeTest, MovedTypes);

// --- ConcatV2, Pack ---

TYPED_TEST(ShapeJoinOpsDTypeTest, ConcatAlongEachAxis) {
  for (const int axis : {0, 1, 2, -1, -3}) {
    const auto dim = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    Index shape = {2, 3, 4};
    // The parts are cut out of the expected result.
    Index whole = shape;
    whole[dim] = 9;
    std::vector<TensorHandle> args;
    int64_t begin = 0;
    for (const int64_t size : {4, 0, 5}) {
      shape[dim] = size;
      std::vector<TypeParam> part;
      ForEachIndex(shape, [&](Index index) {
        index[dim] += begin;
        part.push_back(Element<TypeParam>(Position(whole, index)));
      });
      const std::unique_ptr<TypeParam[]> content(new TypeParam[part.size()]);
      std::copy(part.begin(), part.end(), content.get());
      args.push_back(
          this->template Dense<TypeParam>(TensorShape(shape), std::span<const TypeParam>(content.get(), part.size())));
      begin += size;
    }
    args.push_back(this->template Scalar<int32_t>(axis));
    Index positions(static_cast<size_t>(Count(whole)));
    std::iota(positions.begin(), positions.end(), 0);
    this->template ExpectElements<TypeParam>(this->Run("tf.ConcatV2", std::move(args)), whole, positions);
  }
}

TEST_F(ShapeJoinOpsTest, ConcatOfManyTensors) {
  std::vector<TensorHandle> args;
  std::vector<float> expected;
  for (int i = 0; i < 40; ++i) {
    args.push_back(Spread<float>({2}, static_cast<float>(i)));
    expected.insert(expected.end(), 2, static_cast<float>(i));
  }
  args.push_back(Scalar<int32_t>(0));
  EXPECT_EQ(Values<float>(Run("tf.ConcatV2", std::move(args))), expected);
}

TEST_F(ShapeJoinOpsTest, ConcatOfStrings) {
  EXPECT_EQ(StringValues(Run("tf.ConcatV2",
                             {Strings({2, 1}, {"a", "b"}), Strings({2, 2}, {"c", "", "e", "f"}), Scalar<int32_t>(1)})),
            (std::vector<std::string>{"a", "c", "", "b", "e", "f"}));
}

TEST_F(ShapeJoinOpsTest, ConcatRejectsWhatDoesNotFit) {
  const TensorHandle x = Counting<float>({2, 3});
  EXPECT_EQ(ErrorOf(Run("tf.ConcatV2", {x, Counting<float>({3, 3}), Scalar<int32_t>(1)})),
            "[tf.ConcatV2] values must have the same shape except for dimension 1, got values[0]: f32[2,3], "
            "values[1]: f32[3,3]");
  EXPECT_EQ(ErrorOf(Run("tf.ConcatV2", {x, Counting<float>({3}), Scalar<int32_t>(0)})),
            "[tf.ConcatV2] values must have the same shape except for dimension 0, got values[0]: f32[2,3], "
            "values[1]: f32[3]");
  EXPECT_EQ(ErrorOf(Run("tf.ConcatV2", {x, x, Scalar<int32_t>(2)})), "[tf.ConcatV2] axis must be in [-2, 2), got 2");
  EXPECT_EQ(ErrorOf(Run("tf.ConcatV2", {Scalar<float>(1), Scalar<float>(2), Scalar<int32_t>(0)})),
            "[tf.ConcatV2] values must have at least one dimension, got values[0]: f32[]");
}

TEST_F(ShapeJoinOpsTest, PackStacksAlongANewDimension) {
  const TensorHandle a = Dense<int32_t>({3}, {1, 2, 3});
  const TensorHandle b = Dense<int32_t>({3}, {4, 5, 6});
  EXPECT_EQ(Values<int32_t>(Run("tf.Pack", {a, b})), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  const TensorHandle columns = Run("tf.Pack", {a, b}, Attrs("axis", -1));
  EXPECT_EQ(MetadataOf(columns), "i32[3,2]");
  EXPECT_EQ(Values<int32_t>(columns), (std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Values<int32_t>(Run("tf.Pack", {Scalar<int32_t>(7)})), (std::vector<int32_t>{7}));
  EXPECT_EQ(StringValues(Run("tf.Pack", {Strings({}, {"a"}), Strings({}, {"b"})})),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(MetadataOf(Run("tf.Pack", {Counting<float>({0, 2}), Counting<float>({0, 2})})), "f32[2,0,2]");
  EXPECT_EQ(ErrorOf(Run("tf.Pack", {a, Counting<int32_t>({2})})),
            "[tf.Pack] values must have the same shape, got values[0]: i32[3], values[1]: i32[2]");
  EXPECT_EQ(ErrorOf(Run("tf.Pack", {a, b}, Attrs("axis", 2))), "[tf.Pack] axis must be in [-2, 2), got 2");
}

// --- Split, Unpack, Slice ---

TYPED_TEST(ShapeJoinOpsDTypeTest, SplitAlongEachAxis) {
  const Index shape = {4, 6, 2};
  for (const int axis : {0, 1, -1}) {
    const auto dim = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    Index part = shape;
    part[dim] /= 2;
    const std::vector<TensorHandle> results =
        this->RunN("tf.Split", {this->template Scalar<int32_t>(axis), this->template Counting<TypeParam>(shape)}, 2,
                   Attrs("num_split", 2));
    for (int64_t i = 0; i < 2; ++i) {
      Index positions;
      ForEachIndex(part, [&](Index index) {
        index[dim] += i * part[dim];
        positions.push_back(Position(shape, index));
      });
      this->template ExpectElements<TypeParam>(results[static_cast<size_t>(i)], part, positions);
    }
  }
}

TEST_F(ShapeJoinOpsTest, SplitOfStringsScalarHostAndEmptyTensors) {
  std::vector<TensorHandle> results =
      RunN("tf.Split", {Scalar<int32_t>(1), Strings({2, 2}, {"a", "b", "c", "d"})}, 2, Attrs("num_split", 2));
  EXPECT_EQ(StringValues(results[0]), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(StringValues(results[1]), (std::vector<std::string>{"b", "d"}));
  results = RunN("tf.Split", {Scalar<int32_t>(0), Spread<float>({4}, 3)}, 2, Attrs("num_split", 2));
  EXPECT_TRUE(results[1].tensor().IsA(kScalarHost));
  EXPECT_EQ(Values<float>(results[1]), (std::vector<float>{3, 3}));
  results = RunN("tf.Split", {Scalar<int32_t>(0), Counting<float>({4, 0})}, 2, Attrs("num_split", 2));
  EXPECT_EQ(MetadataOf(results[1]), "f32[2,0]");
}

TEST_F(ShapeJoinOpsTest, SplitRejectsPartsOfUnequalSize) {
  EXPECT_EQ(ErrorOf(RunN("tf.Split", {Scalar<int32_t>(1), Counting<float>({2, 5})}, 3, Attrs("num_split", 3))[2]),
            "[tf.Split] dimension 1 of value must be divisible by num_split, got value: f32[2,5], num_split: 3");
  EXPECT_EQ(ErrorOf(RunN("tf.Split", {Scalar<int32_t>(0), Scalar<float>(1)}, 1, Attrs("num_split", 1))[0]),
            "[tf.Split] value must have at least one dimension, got value: f32[]");
}

TEST_F(ShapeJoinOpsTest, UnpackTakesATensorApart) {
  const TensorHandle x = Dense<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  std::vector<TensorHandle> rows = RunN("tf.Unpack", {x}, 2, Attrs("num", 2));
  EXPECT_EQ(MetadataOf(rows[1]), "i32[3]");
  EXPECT_EQ(Values<int32_t>(rows[1]), (std::vector<int32_t>{4, 5, 6}));
  const std::vector<TensorHandle> columns = RunN("tf.Unpack", {x}, 3, Attrs("num", 3, "axis", -1));
  EXPECT_EQ(Values<int32_t>(columns[2]), (std::vector<int32_t>{3, 6}));
  EXPECT_EQ(ErrorOf(RunN("tf.Unpack", {x}, 3, Attrs("num", 3))[0]),
            "[tf.Unpack] dimension 0 of value must be num, got value: i32[2,3], num: 3");
}

TYPED_TEST(ShapeJoinOpsDTypeTest, SliceOfEveryBlock) {
  const Index shape = {3, 2, 4};
  const TensorHandle x = this->template Counting<TypeParam>(shape);
  ForEachIndex(shape, [&](const Index& begin) {
    Index rest(3);
    for (size_t d = 0; d < 3; ++d) rest[d] = shape[d] - begin[d] + 1;
    ForEachIndex(rest, [&](const Index& size) {
      Index positions;
      ForEachIndex(size, [&](Index index) {
        for (size_t d = 0; d < 3; ++d) index[d] += begin[d];
        positions.push_back(Position(shape, index));
      });
      this->template ExpectElements<TypeParam>(this->Run("tf.Slice", {x, this->I32(begin), this->I32(size)}), size,
                                               positions, TextOf(TensorShape(begin), TensorShape(size)));
    });
  });
}

TEST_F(ShapeJoinOpsTest, SliceTakesTheRestForMinusOne) {
  const TensorHandle y =
      Run("tf.Slice", {Counting<int32_t>({3, 4}), Dense<int64_t>({2}, {1, 3}), Dense<int64_t>({2}, {-1, -1})});
  EXPECT_EQ(MetadataOf(y), "i32[2,1]");
  EXPECT_EQ(Values<int32_t>(y), (std::vector<int32_t>{8, 12}));
}

TEST_F(ShapeJoinOpsTest, SliceOfStringsAndScalarHostTensors) {
  EXPECT_EQ(StringValues(Run("tf.Slice", {Strings({3}, {"a", "b", "c"}), I32({1}), I32({2})})),
            (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(StringValues(Run("tf.Slice", {Strings({2}, {"a", "b"}), I32({0}), I32({2})})),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(Run("tf.Slice", {Spread<float>({9}, 1), I32({1}), I32({2})}).tensor().IsA(kScalarHost));
}

TEST_F(ShapeJoinOpsTest, SliceMustLieWithinTheInput) {
  const TensorHandle x = Counting<float>({2, 3});
  for (const auto& [begin, size] :
       std::vector<std::pair<Index, Index>>{{{0, 2}, {1, 2}}, {{3, 0}, {0, 1}}, {{-1, 0}, {1, 1}}, {{0, 0}, {-2, 1}}}) {
    EXPECT_EQ(ErrorOf(Run("tf.Slice", {x, I32(begin), I32(size)})),
              TextOf("[tf.Slice] the slice must lie within input, got input: f32[2,3], begin: ", TensorShape(begin),
                     ", size: ", TensorShape(size)));
  }
  EXPECT_EQ(ErrorOf(Run("tf.Slice", {x, I32({0}), I32({1, 1})})),
            "[tf.Slice] begin must have one element for each dimension of input, got input: f32[2,3], begin: i32[1]");
}

TEST_F(ShapeJoinOpsTest, LargeAlignedSlicesShareTheParentsMemory) {
  const TensorHandle x = Counting<float>({64, 64});
  const auto* data = static_cast<const std::byte*>(DataOf(x));
  EXPECT_EQ(DataOf(Run("tf.Slice", {x, I32({16, 0}), I32({32, 64})})), data + 16 * 64 * 4);
  EXPECT_NE(DataOf(Run("tf.Slice", {x, I32({16, 0}), I32({32, 63})})), data + 16 * 64 * 4);
  const std::vector<TensorHandle> halves = RunN("tf.Split", {Scalar<int32_t>(0), x}, 2, Attrs("num_split", 2));
  EXPECT_EQ(DataOf(halves[1]), data + 32 * 64 * 4);
  EXPECT_EQ(Values<float>(halves[1])[0], 32 * 64 + 1);
}

TEST_F(ShapeJoinOpsTest, SlicesThatAreNotAlignedAreCopied) {
  const TensorHandle x = Counting<float>({100, 63});
  const TensorHandle y = Run("tf.Slice", {x, I32({1, 0}), I32({50, 63})});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(DataOf(y)) % kTensorDataAlignment, 0u);
  EXPECT_EQ(Values<float>(y)[0], 64);
}

// TH-5: neither a slice nor its parent is overwritten while the other is alive; the last one standing may be.
TEST_F(ShapeJoinOpsTest, SlicesAndTheirParentAreNotForwarded) {
  TensorHandle x = Counting<float>({64, 64});
  TensorHandle slice = Run("tf.Slice", {x, I32({32, 0}), I32({32, 64})});
  const void* slice_data = DataOf(slice);
  EXPECT_NE(DataOf(Run("tf.ZerosLike", {slice})), slice_data);
  const void* parent_data = DataOf(x);
  EXPECT_NE(DataOf(Run("tf.ZerosLike", {std::move(x)})), parent_data);
  EXPECT_EQ(Values<float>(slice)[0], 32 * 64 + 1) << "the slice keeps the parent's memory alive";
  EXPECT_EQ(DataOf(Run("tf.ZerosLike", {std::move(slice)})), slice_data);
}

// ER-5: with strings, which need memory for views as well as for results.
TEST_F(ShapeJoinOpsTest, EveryAllocationMayFail) {
  const TensorHandle x = Strings({2, 2}, {"a", "b", "c", "d"});
  const TensorHandle zero = Scalar<int32_t>(0);
  const TensorHandle swapped = I32({1, 0});
  const TensorHandle twice = I32({2, 1});
  const TensorHandle one = I32({1, 1});
  const TensorHandle paddings = Dense<int32_t>({2, 2}, {1, 0, 0, 1});
  const TensorHandle spread = Spread<float>({50, 2}, 1);
  const OpAttrsRef two = Attrs("num_split", 2);
  const auto expect_value_or_out_of_memory = [&](std::string_view op, const std::function<OpArgs()>& args,
                                                 int num_results = 1, const OpAttrsRef& attrs = {}) {
    const int failures = FailEachAllocation([&] {
      for (const TensorHandle& result : RunN(op, args(), num_results, attrs)) {
        const StatusCode code = ErrorCodeOf(result);
        EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kResourceExhausted) << op;
      }
    });
    EXPECT_GT(failures, 1) << op;
  };
  expect_value_or_out_of_memory("tf.Transpose", [&] { return OpArgs(x, swapped); });
  expect_value_or_out_of_memory("tf.ConcatV2", [&] { return OpArgs(x, x, zero); });
  expect_value_or_out_of_memory("tf.ConcatV2", [&] { return OpArgs(spread, spread, zero); });
  expect_value_or_out_of_memory("tf.Pack", [&] { return OpArgs(x, x); });
  expect_value_or_out_of_memory(
      "tf.Split", [&] { return OpArgs(zero, x); }, 2, two);
  expect_value_or_out_of_memory("tf.Slice", [&] { return OpArgs(x, one, one); });
  expect_value_or_out_of_memory("tf.Tile", [&] { return OpArgs(x, twice); });
  expect_value_or_out_of_memory("tf.Pad", [&] { return OpArgs(x, paddings); });
}

}  // namespace
}  // namespace tandem
