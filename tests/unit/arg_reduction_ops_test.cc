// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ArgMax and ArgMin, against a search of one element after the other.

#include <cmath>
#include <limits>

#include "op_test_fixture.h"

namespace tandem {
namespace {

class ArgReductionOpsTest : public OpTest {
 protected:
  template <typename T>
  TensorHandle Search(std::string_view op, const TensorShape& shape, std::type_identity_t<std::span<const T>> values,
                      int32_t dimension, const OpAttrsRef& attrs = {}) {
    return Run(op, {Dense<T>(shape, values), Scalar<int32_t>(dimension)}, attrs);
  }
};

// The first of the largest (smallest) elements along `axis`.
std::vector<int64_t> Reference(const TensorShape& shape, const std::vector<double>& values, int axis, bool smallest) {
  int64_t outer = 1;
  int64_t inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape.dim(i);
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  std::vector<int64_t> result;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto at = [&](int64_t k) { return values[static_cast<size_t>((o * shape.dim(axis) + k) * inner + i)]; };
      int64_t best = 0;
      for (int64_t k = 1; k < shape.dim(axis); ++k) {
        if (smallest ? at(k) < at(best) : at(k) > at(best)) best = k;
      }
      result.push_back(best);
    }
  }
  return result;
}

template <typename T>
class ArgReductionDTypesTest : public ArgReductionOpsTest {};
using RealTypes = testing::Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Float16,
                                 BFloat16, float, double>;
TYPED_TEST_SUITE(ArgReductionDTypesTest, RealTypes);

TYPED_TEST(ArgReductionDTypesTest, EveryDimension) {
  const TensorShape shape = {5, 40, 7};
  std::vector<double> numbers;
  std::vector<TypeParam> values;
  for (int i = 0; i < 1400; ++i) {
    const int offset = std::is_unsigned_v<TypeParam> ? 0 : 50;
    numbers.push_back(i * 7919 % 101 - offset);
    values.push_back(static_cast<TypeParam>(static_cast<float>(numbers.back())));
  }
  for (int axis = 0; axis < 3; ++axis) {
    SCOPED_TRACE(axis);
    EXPECT_EQ(this->template Values<int64_t>(this->template Search<TypeParam>("tf.ArgMax", shape, values, axis)),
              Reference(shape, numbers, axis, false));
    EXPECT_EQ(this->template Values<int64_t>(this->template Search<TypeParam>("tf.ArgMin", shape, values, axis - 3)),
              Reference(shape, numbers, axis, true));
  }
}

TYPED_TEST(ArgReductionDTypesTest, LargestAndSmallestNumbers) {
  using Limits = std::numeric_limits<
      std::conditional_t<sizeof(TypeParam) == 2 && !std::is_integral_v<TypeParam>, float, TypeParam>>;
  const auto low = static_cast<TypeParam>(std::is_integral_v<TypeParam> ? Limits::min() : -Limits::infinity());
  const auto high = static_cast<TypeParam>(std::is_integral_v<TypeParam> ? Limits::max() : Limits::infinity());
  const std::vector<TypeParam> values = {low, high, low, high};
  EXPECT_EQ(this->template Values<int64_t>(this->template Search<TypeParam>("tf.ArgMax", {4}, values, 0)),
            std::vector<int64_t>{1});
  EXPECT_EQ(this->template Values<int64_t>(this->template Search<TypeParam>("tf.ArgMin", {2, 2}, values, 0)),
            (std::vector<int64_t>{0, 0}));
}

TEST_F(ArgReductionOpsTest, TheFirstOfEqualElementsCounts) {
  EXPECT_EQ(Values<int64_t>(Search<float>("tf.ArgMax", {5}, {{1, 3, 3, 2, 3}}, 0)), std::vector<int64_t>{1});
  EXPECT_EQ(Values<int64_t>(Search<float>("tf.ArgMin", {3, 2}, {{1, 0, 1, 0, 1, 0}}, 0)), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(Values<int64_t>(Search<float>("tf.ArgMax", {2}, {{-0.0f, 0.0f}}, 0)), std::vector<int64_t>{0});
  EXPECT_EQ(Values<int64_t>(Search<Float16>("tf.ArgMin", {2}, {{Float16(0.0f), Float16(-0.0f)}}, 0)),
            std::vector<int64_t>{0});
  const std::vector<uint8_t> equal(300'000, 9);
  EXPECT_EQ(Values<int64_t>(Search<uint8_t>("tf.ArgMax", {300'000}, equal, 0)), std::vector<int64_t>{0});
}

TEST_F(ArgReductionOpsTest, TheFirstNanCounts) {
  for (const std::string_view op : {"tf.ArgMax", "tf.ArgMin"}) {
    for (const int64_t n : {5, 50, 5'000, 300'000}) {
      SCOPED_TRACE(n);
      std::vector<double> values(static_cast<size_t>(n), 1);
      values[static_cast<size_t>(n / 2)] = NAN;
      values[static_cast<size_t>(n - 1)] = NAN;
      EXPECT_EQ(Values<int64_t>(Search<double>(op, {n}, values, 0)), std::vector<int64_t>{n / 2});
      const std::vector<float> as_f32(values.begin(), values.end());
      EXPECT_EQ(Values<int64_t>(Search<float>(op, {n, 1}, as_f32, 0)), std::vector<int64_t>{n / 2});
      std::vector<BFloat16> twice;
      for (const float value : as_f32) twice.insert(twice.end(), {BFloat16(2.0f), BFloat16(value)});
      EXPECT_EQ(Values<int64_t>(Search<BFloat16>(op, {n, 2}, twice, 0)), (std::vector<int64_t>{0, n / 2}));
    }
  }
}

// Shapes that are cut into chunks of rows and tiles of columns.
TEST_F(ArgReductionOpsTest, LargeShapes) {
  for (const TensorShape& shape : {TensorShape{200'000}, TensorShape{2, 150'000}, TensorShape{40'000, 5},
                                   TensorShape{2'000, 300}, TensorShape{3, 1'000, 257}}) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < shape.num_elements(); ++i) numbers.push_back(static_cast<double>(i * 7919 % 100'003));
    const std::vector<float> values(numbers.begin(), numbers.end());
    for (int axis = 0; axis < shape.rank(); ++axis) {
      SCOPED_TRACE(TextOf(shape, " axis ", axis));
      EXPECT_EQ(Values<int64_t>(Search<float>("tf.ArgMax", shape, values, axis)),
                Reference(shape, numbers, axis, false));
      EXPECT_EQ(Values<int64_t>(Search<float>("tf.ArgMin", shape, values, axis)),
                Reference(shape, numbers, axis, true));
    }
  }
}

TEST_F(ArgReductionOpsTest, Bools) {
  EXPECT_EQ(Values<int64_t>(Search<bool>("tf.ArgMax", {3}, {{false, true, true}}, 0)), std::vector<int64_t>{1});
  EXPECT_EQ(Values<int64_t>(Search<bool>("tf.ArgMin", {3}, {{true, true, false}}, 0)), std::vector<int64_t>{2});
}

TEST_F(ArgReductionOpsTest, OutputTypes) {
  const std::vector<float> values = {1, 5, 2, 7, 0, 1};
  const auto run = [&](std::string_view op, DType output_type) {
    return Search<float>(op, {2, 3}, values, 1, Attrs("output_type", output_type));
  };
  EXPECT_EQ(Values<int16_t>(run("tf.ArgMax", DType::kI16)), (std::vector<int16_t>{1, 0}));
  EXPECT_EQ(Values<uint16_t>(run("tf.ArgMax", DType::kU16)), (std::vector<uint16_t>{1, 0}));
  EXPECT_EQ(Values<int32_t>(run("tf.ArgMax", DType::kI32)), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(Values<int32_t>(run("tf.ArgMin", DType::kI32)), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(Values<int64_t>(run("tf.ArgMin", DType::kI64)), (std::vector<int64_t>{0, 1}));
}

TEST_F(ArgReductionOpsTest, DimensionMayBeOfAnySignedDType) {
  const TensorHandle x = Dense<float>({2, 2}, {1, 2, 4, 3});
  EXPECT_EQ(Values<int64_t>(Run("tf.ArgMax", {x, Scalar<int16_t>(-1)})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(Values<int64_t>(Run("tf.ArgMax", {x, Dense<int64_t>({1}, {0})})), (std::vector<int64_t>{1, 1}));
}

TEST_F(ArgReductionOpsTest, EmptyResults) {
  EXPECT_EQ(MetadataOf(Search<float>("tf.ArgMax", {0, 3}, {}, 1)), "i64[0]");
  EXPECT_EQ(MetadataOf(Search<float>("tf.ArgMax", {3, 0}, {}, 0)), "i64[0]");
}

TEST_F(ArgReductionOpsTest, WrongCalls) {  // MD-2, ER-2
  EXPECT_EQ(ErrorOf(Search<float>("tf.ArgMax", {0, 3}, {}, 0)),
            "[tf.ArgMax] dimension 0 must not be empty, got input: f32[0,3]");
  EXPECT_EQ(ErrorOf(Search<float>("tf.ArgMin", {}, {{1}}, 0)),
            "[tf.ArgMin] input must have at least one dimension, got input: f32[]");
  EXPECT_EQ(ErrorOf(Search<float>("tf.ArgMin", {1}, {{1}}, 1)), "[tf.ArgMin] dimension must be in [-1, 1), got 1");
  EXPECT_EQ(ErrorOf(Run("tf.ArgMax", {Dense<float>({1}, {1}), Dense<int32_t>({2}, {0, 0})})),
            "[tf.ArgMax] expected one integer for dimension, got i32[2]");
  const std::vector<uint8_t> long_row(32'769);
  EXPECT_EQ(ErrorOf(Search<uint8_t>("tf.ArgMax", {32'769}, long_row, 0, Attrs("output_type", DType::kI16))),
            "[tf.ArgMax] indices of dimension 0 must fit in i16, got input: u8[32769]");
  EXPECT_EQ(MetadataOf(Search<uint8_t>("tf.ArgMax", {32'768}, std::span(long_row).first(32'768), 0,
                                       Attrs("output_type", DType::kI16))),
            "i16[]");
}

}  // namespace
}  // namespace tandem
