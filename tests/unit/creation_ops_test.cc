// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Const, Fill, Range, ZerosLike, OnesLike, OneHot and Identity on the CPU handler.

#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "op_test_fixture.h"

namespace tandem {
namespace {

class CreationOpsTest : public OpTest {
 protected:
  TensorHandle I32(std::initializer_list<int32_t> values) {
    return Dense<int32_t>({static_cast<int64_t>(values.size())}, values);
  }
  template <typename T>
  TensorHandle Range(T start, T limit, T delta) {
    return Run("tf.Range", {Scalar<T>(start), Scalar<T>(limit), Scalar<T>(delta)});
  }
};

#define TANDEM_DTYPE_CASE(name, type) DType::name,
constexpr DType kFixedDTypes[] = {TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_DTYPE_CASE)};
#undef TANDEM_DTYPE_CASE

TEST_F(CreationOpsTest, ConstGivesACopyOfItsValue) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const TensorHandle x =
      Run("tf.Const", {}, Attrs("value", TensorAttr{{DType::kF32, {2, 3}}, values.data(), {}}, "dtype", DType::kF32));
  values[0] = 7;
  EXPECT_EQ(MetadataOf(x), "f32[2,3]");
  EXPECT_EQ(Values<float>(x), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(CreationOpsTest, ConstOfEveryDType) {
  const std::vector<uint64_t> bits(20, 0x0101010101010101u);
  for (const DType dtype : kFixedDTypes) {
    const TensorHandle x =
        Run("tf.Const", {}, Attrs("value", TensorAttr{{dtype, {20}}, bits.data(), {}}, "dtype", dtype));
    ASSERT_EQ(MetadataOf(x), TextOf(dtype, "[20]"));
    EXPECT_EQ(std::memcmp(x.tensor().data(), bits.data(), 20 * DTypeSize(dtype)), 0) << TextOf(dtype);
  }
}

TEST_F(CreationOpsTest, ConstOfStringsAndOfNothing) {
  const std::string_view strings[] = {"a", "", "long enough to need memory of its own"};
  const TensorHandle x =
      Run("tf.Const", {}, Attrs("value", TensorAttr{{DType::kString, {3}}, nullptr, strings}, "dtype", DType::kString));
  EXPECT_EQ(StringValues(x), (std::vector<std::string>(std::begin(strings), std::end(strings))));
  EXPECT_EQ(MetadataOf(Run("tf.Const", {},
                           Attrs("value", TensorAttr{{DType::kF32, {0, 3}}, nullptr, {}}, "dtype", DType::kF32))),
            "f32[0,3]");
}

TEST_F(CreationOpsTest, ConstRejectsValuesThatAreNotWhatTheySay) {
  const float value = 1;
  EXPECT_EQ(
      ErrorOf(Run("tf.Const", {}, Attrs("value", TensorAttr{{DType::kF32, {}}, &value, {}}, "dtype", DType::kI32))),
      "[tf.Const] value must be of the dtype that attribute dtype says, got value: f32[], dtype: i32");
  EXPECT_EQ(
      ErrorOf(Run("tf.Const", {}, Attrs("value", TensorAttr{{DType::kF32, {2}}, nullptr, {}}, "dtype", DType::kF32))),
      "[tf.Const] value must come with its elements, got f32[2] without");
}

TEST_F(CreationOpsTest, FillKeepsItsValueOnce) {
  const TensorHandle x = Run("tf.Fill", {I32({1000, 1000}), Scalar<float>(2.5f)});
  EXPECT_EQ(MetadataOf(x), "f32[1000,1000]");
  EXPECT_TRUE(x.tensor().IsA(kScalarHost));
  EXPECT_EQ(Values<float>(Run("tf.Fill", {I32({2, 2}), Scalar<float>(2.5f)})), std::vector<float>(4, 2.5f));
  EXPECT_EQ(Values<float>(Run("tf.Fill", {I32({}), Spread<float>({}, 2.5f)})), std::vector<float>(1, 2.5f));
  EXPECT_EQ(Values<int32_t>(Run("tf.Fill", {Dense<int64_t>({2}, {3, 0}), Scalar<int32_t>(2)})),
            (std::vector<int32_t>{}));
}

TEST_F(CreationOpsTest, FillOfStrings) {
  EXPECT_EQ(StringValues(Run("tf.Fill", {I32({3}), Strings({}, {"ab"})})),
            (std::vector<std::string>{"ab", "ab", "ab"}));
}

TEST_F(CreationOpsTest, FillRejectsWrongShapesAndValues) {
  EXPECT_EQ(ErrorOf(Run("tf.Fill", {I32({2, -1}), Scalar<float>(1)})),
            "[tf.Fill] sizes must be at least 0, got dims: [2,-1]");
  EXPECT_EQ(ErrorOf(Run("tf.Fill", {I32({2}), Dense<float>({1}, {1})})),
            "[tf.Fill] value must be a scalar, got value: f32[1]");
  EXPECT_EQ(ErrorOf(Run("tf.Fill", {Scalar<int32_t>(2), Scalar<float>(1)})),
            "[tf.Fill] dims must be a vector, got dims: i32[]");
}

// TH-8
TEST_F(CreationOpsTest, FillRejectsSizesThatOverflow) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(ErrorOf(Run("tf.Fill", {Dense<int64_t>({2}, {huge, huge}), Scalar<float>(1)})),
            "[tf.Fill] there must be at most 2^63-1 elements, got dims: [1099511627776,1099511627776]");
}

TEST_F(CreationOpsTest, RangeOfIntegers) {
  EXPECT_EQ(Values<int32_t>(Range<int32_t>(3, 18, 5)), (std::vector<int32_t>{3, 8, 13}));
  EXPECT_EQ(Values<int32_t>(Range<int32_t>(3, 18, 4)), (std::vector<int32_t>{3, 7, 11, 15}));
  EXPECT_EQ(Values<int32_t>(Range<int32_t>(3, -3, -2)), (std::vector<int32_t>{3, 1, -1}));
  EXPECT_EQ(Values<int32_t>(Range<int32_t>(3, 3, 1)), (std::vector<int32_t>{}));
  EXPECT_EQ(Values<int8_t>(Range<int8_t>(-128, 127, 100)), (std::vector<int8_t>{-128, -28, 72}));
  EXPECT_EQ(Values<int16_t>(Range<int16_t>(5, 7, 1)), (std::vector<int16_t>{5, 6}));
  EXPECT_EQ(Values<uint16_t>(Range<uint16_t>(65533, 65535, 1)), (std::vector<uint16_t>{65533, 65534}));
  EXPECT_EQ(Values<uint32_t>(Range<uint32_t>(4000000000u, 4000000002u, 1)),
            (std::vector<uint32_t>{4000000000u, 4000000001u}));
}

TEST_F(CreationOpsTest, RangeOverTheWholeOfInt64) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Values<int64_t>(Range<int64_t>(kMin, kMax, kMax)), (std::vector<int64_t>{kMin, -1, kMax - 1}));
  EXPECT_EQ(Values<int64_t>(Range<int64_t>(kMax, kMin, kMin)), (std::vector<int64_t>{kMax, -1}));
  EXPECT_EQ(
      ErrorOf(Range<int64_t>(kMin, kMax, 1)),
      TextOf("[tf.Range] there must be at most 2^63-1 elements, got start: ", kMin, ", limit: ", kMax, ", delta: 1"));
}

TEST_F(CreationOpsTest, RangeOfFloatingPointNumbers) {
  EXPECT_EQ(Doubles(Range<float>(0, 1, 0.25f)), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(Doubles(Range<double>(1, -1, -0.5)), (std::vector<double>{1, 0.5, 0, -0.5}));
  EXPECT_EQ(Doubles(Range<Float16>(Float16(1), Float16(4), Float16(1.5f))), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(Doubles(Range<BFloat16>(BFloat16(1), BFloat16(4), BFloat16(1.5f))), (std::vector<double>{1, 2.5}));
  // The count is that of the dtype's own arithmetic: 0.3f / 0.1f rounds to 3.
  EXPECT_EQ(MetadataOf(Range<float>(0, 0.3f, 0.1f)), "f32[3]");
}

TEST_F(CreationOpsTest, RangeDoesNotAccumulateRoundingErrors) {
  const std::vector<float> values = Values<float>(Range<float>(0, 10000, 0.1f));
  ASSERT_EQ(values.size(), 100000u);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<float>(static_cast<double>(i) * static_cast<double>(0.1f)));
  }
}

TEST_F(CreationOpsTest, RangeRejectsStepsThatDoNotLeadToTheLimit) {
  EXPECT_EQ(ErrorOf(Range<int32_t>(1, 2, 0)), "[tf.Range] delta must not be 0, got start: 1, limit: 2, delta: 0");
  EXPECT_EQ(ErrorOf(Range<int32_t>(3, 1, 1)),
            "[tf.Range] limit must be at least start where delta is positive, got start: 3, limit: 1, delta: 1");
  EXPECT_EQ(ErrorOf(Range<float>(1, 3, -0.5f)),
            "[tf.Range] limit must be at most start where delta is negative, got start: 1, limit: 3, delta: -0.5");
  EXPECT_EQ(ErrorOf(Range<float>(0, std::numeric_limits<float>::infinity(), 1)),
            "[tf.Range] there must be at most 2^63-1 elements, got start: 0, limit: inf, delta: 1");
  EXPECT_EQ(ErrorOf(Range<float>(0, std::numeric_limits<float>::quiet_NaN(), 1)),
            "[tf.Range] there must be at most 2^63-1 elements, got start: 0, limit: nan, delta: 1");
  EXPECT_EQ(ErrorOf(Run("tf.Range", {I32({0, 1}), Scalar<int32_t>(1), Scalar<int32_t>(1)})),
            "[tf.Range] start, limit and delta must have one element each, got start: i32[2], limit: i32[], delta: "
            "i32[]");
}

// MD-6: as where the argument is still pending, when what kind of tensor it will be is not known.
TEST_F(CreationOpsTest, MD6_AttributesAreCheckedBeforeTheKindOfAHostArgument) {
  const TensorHandle sparse = Run("tandem.ToSparseCoo", {Scalar<float>(5)});
  OpAttrs attrs;
  attrs.Set("Tidx", DType::kF64);
  EXPECT_EQ(ErrorOf(Run("tf.Range", {Scalar<float>(0), sparse, Scalar<float>(1)}, attrs)),
            "[tf.Range] attribute Tidx must be f32 like the arguments, got f64");
  EXPECT_EQ(ErrorOf(Run("tf.Range", {Scalar<float>(0), sparse, Scalar<float>(1)})),
            "[tf.Range] argument 1 (limit) must be a dense tensor on the host, got f32[] as sparse_coo_host");
}

TEST_F(CreationOpsTest, ZerosLikeAndOnesLikeOfEveryDType) {
  const std::vector<std::byte> bytes(100 * 8, std::byte{1});
  for (const DType dtype : kFixedDTypes) {
    const TensorMetadata metadata(dtype, {100});
    const TensorHandle x = Available(
        MakeDense(metadata, std::span(bytes).first(metadata.byte_size()), host().device(), host().allocator()));
    const size_t numbers = dtype == DType::kC64 ? 200 : 100;  // as doubles
    EXPECT_EQ(Doubles(Run("tf.ZerosLike", {x})), std::vector<double>(numbers, 0)) << TextOf(dtype);
    std::vector<double> ones(numbers, 1);
    for (size_t i = 1; dtype == DType::kC64 && i < numbers; i += 2) ones[i] = 0;
    EXPECT_EQ(Doubles(Run("tf.OnesLike", {x})), ones) << TextOf(dtype);
  }
}

TEST_F(CreationOpsTest, ZerosLikeTakesStringsScalarHostAndSparseTensors) {
  EXPECT_EQ(StringValues(Run("tf.ZerosLike", {Strings({2}, {"a", "b"})})), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(Values<float>(Run("tf.ZerosLike", {Spread<float>({3}, 2)})), std::vector<float>(3, 0));
  EXPECT_EQ(Values<float>(Run("tf.OnesLike", {Run("tandem.ToSparseCoo", {Dense<float>({2}, {0, 5})})})),
            std::vector<float>(2, 1));
  EXPECT_EQ(MetadataOf(Run("tf.OnesLike", {Dense<float>({0}, {})})), "f32[0]");
  EXPECT_EQ(ErrorCodeOf(Run("tf.OnesLike", {Strings({}, {"a"})})), StatusCode::kInvalidArgument);
}

// TH-5
TEST_F(CreationOpsTest, OnesLikeTakesOverABufferThatNobodyElseHas) {
  TensorHandle x = Dense<float>({100}, std::vector<float>(100, 3));
  const void* data = x.tensor().data();
  EXPECT_NE(Run("tf.OnesLike", {x}).tensor().data(), data);
  EXPECT_EQ(Values<float>(x)[0], 3);
  const TensorHandle y = Run("tf.OnesLike", {std::move(x)});
  EXPECT_EQ(y.tensor().data(), data);
  EXPECT_EQ(Values<float>(y), std::vector<float>(100, 1));
}

TEST_F(CreationOpsTest, OneHotAlongTheLastAxis) {
  const TensorHandle y =
      Run("tf.OneHot", {I32({0, 2, -1, 3}), Scalar<int32_t>(3), Scalar<float>(5), Scalar<float>(-1)});
  EXPECT_EQ(MetadataOf(y), "f32[4,3]");
  EXPECT_EQ(Values<float>(y), (std::vector<float>{5, -1, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1}));
}

TEST_F(CreationOpsTest, OneHotAlongEachAxis) {
  const std::vector<int64_t> indices = {0, 1, 2, 3, 2, 1};  // [2, 3]
  for (int axis = 0; axis <= 2; ++axis) {
    const TensorHandle y =
        Run("tf.OneHot", {Dense<int64_t>({2, 3}, indices), Scalar<int32_t>(4), Scalar<int32_t>(1), Scalar<int32_t>(0)},
            Attrs("axis", axis));
    std::vector<int64_t> shape = {2, 3};
    shape.insert(shape.begin() + axis, 4);
    EXPECT_EQ(MetadataOf(y), TextOf(TensorMetadata(DType::kI32, TensorShape(shape))));
    std::vector<int32_t> expected;
    for (int64_t a = 0; a < shape[0]; ++a) {
      for (int64_t b = 0; b < shape[1]; ++b) {
        for (int64_t c = 0; c < shape[2]; ++c) {
          std::vector<int64_t> position = {a, b, c};
          const int64_t hot = position[static_cast<size_t>(axis)];
          position.erase(position.begin() + axis);
          expected.push_back(indices[static_cast<size_t>(position[0] * 3 + position[1])] == hot);
        }
      }
    }
    EXPECT_EQ(Values<int32_t>(y), expected) << "axis " << axis;
  }
}

TEST_F(CreationOpsTest, OneHotOfEveryIndexDTypeAndOfStrings) {
  const std::vector<double> expected = {0, 1, 0};
  const TensorHandle depth = Scalar<int32_t>(3);
  EXPECT_EQ(Doubles(Run("tf.OneHot", {Scalar<uint8_t>(1), depth, Scalar<double>(1), Scalar<double>(0)})), expected);
  EXPECT_EQ(Doubles(Run("tf.OneHot", {Scalar<int8_t>(1), depth, Scalar<bool>(true), Scalar<bool>(false)})), expected);
  EXPECT_EQ(Doubles(Run("tf.OneHot", {Scalar<int32_t>(1), depth, Scalar<uint8_t>(1), Scalar<uint8_t>(0)})), expected);
  EXPECT_EQ(
      Doubles(Run("tf.OneHot", {Scalar<int64_t>(1), depth, Scalar<Float16>(Float16(1)), Scalar<Float16>(Float16(0))})),
      expected);
  EXPECT_EQ(StringValues(Run("tf.OneHot", {Scalar<int64_t>(1), depth, Strings({}, {"on"}), Strings({}, {"off"})})),
            (std::vector<std::string>{"off", "on", "off"}));
  EXPECT_EQ(Doubles(Run("tf.OneHot",
                        {Spread<int64_t>({2}, 0), Scalar<int32_t>(1), Spread<float>({}, 2), Spread<float>({}, 0)})),
            (std::vector<double>{2, 2}));
}

TEST_F(CreationOpsTest, OneHotOfDepthZeroAndOfNoIndices) {
  EXPECT_EQ(MetadataOf(Run("tf.OneHot", {I32({1, 2}), Scalar<int32_t>(0), Scalar<float>(1), Scalar<float>(0)})),
            "f32[2,0]");
  EXPECT_EQ(MetadataOf(Run("tf.OneHot", {I32({}), Scalar<int32_t>(3), Scalar<float>(1), Scalar<float>(0)})),
            "f32[0,3]");
}

TEST_F(CreationOpsTest, OneHotInParallel) {
  std::vector<int32_t> indices(20000);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int32_t>(i % 20);
  const std::vector<float> values = Values<float>(
      Run("tf.OneHot", {Dense<int32_t>({20000}, indices), Scalar<int32_t>(20), Scalar<float>(1), Scalar<float>(0)}));
  ASSERT_EQ(values.size(), 400000u);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i / 20 % 20 == i % 20 ? 1 : 0) << i;
}

TEST_F(CreationOpsTest, OneHotRejectsWrongArguments) {
  const TensorHandle one = Scalar<float>(1);
  EXPECT_EQ(ErrorOf(Run("tf.OneHot", {I32({1}), Scalar<int32_t>(-1), one, one})),
            "[tf.OneHot] depth must be at least 0, got -1");
  EXPECT_EQ(ErrorOf(Run("tf.OneHot", {I32({1}), Scalar<int32_t>(2), one, one}, Attrs("axis", 2))),
            "[tf.OneHot] axis must be in [-1, 1], got 2");
  EXPECT_EQ(ErrorOf(Run("tf.OneHot", {I32({1}), Scalar<int32_t>(2), one, Dense<float>({1}, {0})})),
            "[tf.OneHot] on_value and off_value must be scalars, got on_value: f32[], off_value: f32[1]");
}

TEST_F(CreationOpsTest, IdentitySharesTensorsOfEveryType) {
  const TensorHandle x = Dense<float>({100}, std::vector<float>(100, 3));
  EXPECT_EQ(Run("tf.Identity", {x}).tensor().data(), x.tensor().data());
  EXPECT_EQ(Values<float>(Run("tf.Identity", {Scalar<float>(3)})), (std::vector<float>{3}));
  EXPECT_EQ(StringValues(Run("tf.Identity", {Strings({1}, {"a"})})), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(Run("tf.Identity", {Spread<float>({5}, 1)}).tensor().IsA(kScalarHost));
  EXPECT_TRUE(Run("tf.Identity", {Run("tandem.ToSparseCoo", {x})}).tensor().IsA(kSparseCooHost));
}

}  // namespace
}  // namespace tandem
