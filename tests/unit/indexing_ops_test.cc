// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GatherV2, Unique and Where on the CPU handler.

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "failing_heap.h"
#include "op_test_fixture.h"

namespace tandem {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class IndexingOpsTest : public OpTest {
 protected:
  TensorHandle I32(std::initializer_list<int32_t> values) {
    return Dense<int32_t>({static_cast<int64_t>(values.size())}, values);
  }
  // 0, 1, 2, ...
  TensorHandle Counting(const TensorShape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return Dense<float>(shape, values);
  }
};

TEST_F(IndexingOpsTest, GatherPicksRows) {
  const TensorHandle y = Run("tf.GatherV2", {Counting({4, 3}), I32({3, 0, 3}), Scalar<int32_t>(0)});
  EXPECT_EQ(MetadataOf(y), "f32[3,3]");
  EXPECT_EQ(Values<float>(y), (std::vector<float>{9, 10, 11, 0, 1, 2, 9, 10, 11}));
}

TEST_F(IndexingOpsTest, GatherAlongOtherAxes) {
  const TensorHandle x = Counting({2, 3, 2});
  const TensorHandle y = Run("tf.GatherV2", {x, I32({2, 0}), Scalar<int64_t>(1)});
  EXPECT_EQ(MetadataOf(y), "f32[2,2,2]");
  EXPECT_EQ(Values<float>(y), (std::vector<float>{4, 5, 0, 1, 10, 11, 6, 7}));
  EXPECT_EQ(Values<float>(Run("tf.GatherV2", {x, I32({1}), Scalar<int32_t>(-1)})),
            (std::vector<float>{1, 3, 5, 7, 9, 11}));
}

TEST_F(IndexingOpsTest, GatherTakesIndicesOfAnyShape) {
  const TensorHandle x = Counting({4});
  const TensorHandle scalar = Run("tf.GatherV2", {x, Scalar<int64_t>(2), Scalar<int32_t>(0)});
  EXPECT_EQ(MetadataOf(scalar), "f32[]");
  EXPECT_EQ(Values<float>(scalar), (std::vector<float>{2}));
  const TensorHandle matrix = Run("tf.GatherV2", {x, Dense<int16_t>({2, 2}, {3, 2, 1, 0}), Scalar<int32_t>(0)});
  EXPECT_EQ(MetadataOf(matrix), "f32[2,2]");
  EXPECT_EQ(Values<float>(matrix), (std::vector<float>{3, 2, 1, 0}));
}

TEST_F(IndexingOpsTest, GatherWithinBatches) {
  const TensorHandle y =
      Run("tf.GatherV2", {Counting({2, 3}), Dense<int32_t>({2, 2}, {2, 0, 1, 1}), Scalar<int32_t>(1)},
          Attrs("batch_dims", 1));
  EXPECT_EQ(MetadataOf(y), "f32[2,2]");
  EXPECT_EQ(Values<float>(y), (std::vector<float>{2, 0, 4, 4}));
  // params [2, 2, 3, 2], one batch dimension, one outer dimension, slices of two
  for (const int batch_dims : {1, -1}) {
    const TensorHandle z =
        Run("tf.GatherV2", {Counting({2, 2, 3, 2}), Dense<int32_t>({2, 1}, {2, 1}), Scalar<int32_t>(2)},
            Attrs("batch_dims", batch_dims));
    EXPECT_EQ(MetadataOf(z), "f32[2,2,1,2]");
    EXPECT_EQ(Values<float>(z), (std::vector<float>{4, 5, 10, 11, 14, 15, 20, 21})) << batch_dims;
  }
}

// Slices of 1 to 48 bytes, which are copied in different ways.
template <typename T>
class IndexingOpsDTypeTest : public IndexingOpsTest {};
using GatheredTypes =
    testing::Types<bool, uint8_t, int16_t, Float16, BFloat16, uint32_t, float, int64_t, double, std::complex<float>>;
TYPED_TEST_SUITE(IndexingOpsDTypeTest, GatheredTypes);

TYPED_TEST(IndexingOpsDTypeTest, GatherOfEverySliceSize) {
  constexpr size_t kRows = 300;
  std::vector<int32_t> indices(5000);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int32_t>(i * 37 % kRows);
  for (const size_t row : {1u, 2u, 3u, 4u, 6u}) {
    const size_t row_bytes = row * sizeof(TypeParam);
    std::vector<std::byte> bytes(kRows * row_bytes);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 13 % 2);
    const TensorMetadata metadata(kDTypeOf<TypeParam>, {kRows, static_cast<int64_t>(row)});
    const TensorHandle y = this->Run(
        "tf.GatherV2", {this->Available(MakeDense(metadata, bytes, this->host().device(), this->host().allocator())),
                        this->template Dense<int32_t>({5000}, indices), this->template Scalar<int32_t>(0)});
    ASSERT_EQ(this->MetadataOf(y), TextOf(TensorMetadata(metadata.dtype, {5000, static_cast<int64_t>(row)})));
    const auto* out = static_cast<const std::byte*>(y.tensor().data());
    for (size_t i = 0; i < indices.size(); ++i) {
      const std::byte* expected = bytes.data() + static_cast<size_t>(indices[i]) * row_bytes;
      ASSERT_EQ(std::memcmp(out + i * row_bytes, expected, row_bytes), 0) << i;
    }
  }
}

TEST_F(IndexingOpsTest, GatherInParallel) {
  std::vector<int64_t> indices(200000);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * 7919 % 1000);
  const std::vector<float> values =
      Values<float>(Run("tf.GatherV2", {Counting({3, 1000}), Dense<int64_t>({200000}, indices), Scalar<int32_t>(1)}));
  ASSERT_EQ(values.size(), 600000u);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<float>(i / 200000 * 1000) + static_cast<float>(indices[i % 200000]));
  }
}

TEST_F(IndexingOpsTest, GatherOfStringsScalarHostAndEmptyTensors) {
  EXPECT_EQ(StringValues(Run("tf.GatherV2", {Strings({3}, {"a", "b", "c"}), I32({2, 2, 0}), Scalar<int32_t>(0)})),
            (std::vector<std::string>{"c", "c", "a"}));
  const TensorHandle spread = Run("tf.GatherV2", {Spread<float>({3, 2}, 5), I32({1}), Scalar<int32_t>(0)});
  EXPECT_TRUE(spread.tensor().IsA(kScalarHost));
  EXPECT_EQ(MetadataOf(spread), "f32[1,2]");
  EXPECT_EQ(MetadataOf(Run("tf.GatherV2", {Counting({0, 2}), I32({}), Scalar<int32_t>(0)})), "f32[0,2]");
  EXPECT_EQ(MetadataOf(Run("tf.GatherV2", {Counting({2, 0}), I32({1}), Scalar<int32_t>(0)})), "f32[1,0]");
}

TEST_F(IndexingOpsTest, GatherNamesTheFirstIndexOutOfRange) {
  const TensorHandle x = Counting({4, 3});
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {x, Dense<int32_t>({2, 2}, {0, 3, 4, -1}), Scalar<int32_t>(0)})),
            "[tf.GatherV2] indices must be in [0, 4), got 4 at position [1,0]");
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {x, Scalar<int64_t>(-1), Scalar<int32_t>(1)})),
            "[tf.GatherV2] indices must be in [0, 3), got -1 at position []");
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {Counting({0}), I32({0}), Scalar<int32_t>(0)})),
            "[tf.GatherV2] indices must be in [0, 0), got 0 at position [0]");
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {Spread<float>({2}, 1), I32({2}), Scalar<int32_t>(0)})),
            "[tf.GatherV2] indices must be in [0, 2), got 2 at position [0]");
}

TEST_F(IndexingOpsTest, GatherRejectsAxesAndBatchesThatDoNotFit) {
  const TensorHandle x = Counting({2, 3});
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {x, I32({0}), Scalar<int32_t>(2)})),
            "[tf.GatherV2] axis must be in [-2, 2), got 2");
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {Scalar<float>(1), I32({0}), Scalar<int32_t>(0)})),
            "[tf.GatherV2] params must have at least one dimension, got params: f32[]");
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {x, I32({0, 0}), Scalar<int32_t>(0)}, Attrs("batch_dims", 1))),
            "[tf.GatherV2] batch_dims must be at most axis and the rank of indices, got batch_dims: 1, axis: 0, "
            "params: f32[2,3], indices: i32[2]");
  EXPECT_EQ(ErrorOf(Run("tf.GatherV2", {x, I32({0, 0, 0}), Scalar<int32_t>(1)}, Attrs("batch_dims", 1))),
            "[tf.GatherV2] params and indices must agree in the first 1 dimensions, got params: f32[2,3], indices: "
            "i32[3]");
}

// MD-3: the shapes of the results come with their data.
TEST_F(IndexingOpsTest, UniqueKeepsTheOrderOfFirstAppearance) {
  const std::vector<TensorHandle> results = RunN("tf.Unique", {I32({3, 1, 3, 3, 2, 1})}, 2);
  EXPECT_EQ(MetadataOf(results[0]), "i32[3]");
  EXPECT_EQ(Values<int32_t>(results[0]), (std::vector<int32_t>{3, 1, 2}));
  EXPECT_EQ(Values<int32_t>(results[1]), (std::vector<int32_t>{0, 1, 0, 0, 2, 1}));
}

TEST_F(IndexingOpsTest, UniqueOfEveryDType) {
  const std::vector<int64_t> numbers = {0, 1, 0, 1, 1};
#define TANDEM_UNIQUE_CASE(name, type)                                                                           \
  {                                                                                                              \
    const type zero(0);                                                                                          \
    const type one(1);                                                                                           \
    const type content[] = {one, zero, one, zero, zero};                                                         \
    const std::vector<TensorHandle> results =                                                                    \
        RunN("tf.Unique", {Dense<type>({5}, std::span<const type>(content))}, 2, Attrs("out_idx", DType::kI64)); \
    EXPECT_EQ(MetadataOf(results[0]), TextOf(DType::name, "[2]"));                                               \
    const std::vector<double> y = Doubles(results[0]);                                                           \
    EXPECT_EQ(y.front(), 1);                                                                                     \
    EXPECT_EQ(y.back(), 0);                                                                                      \
    EXPECT_EQ(Values<int64_t>(results[1]), numbers) << #type;                                                    \
  }
  TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_UNIQUE_CASE)
#undef TANDEM_UNIQUE_CASE
}

TEST_F(IndexingOpsTest, UniqueOfStrings) {
  const std::vector<TensorHandle> results =
      RunN("tf.Unique", {Strings({6}, {"b", "", "longer than eight", "b", "", "longer than eigh"})}, 2);
  EXPECT_EQ(StringValues(results[0]), (std::vector<std::string>{"b", "", "longer than eight", "longer than eigh"}));
  EXPECT_EQ(Values<int32_t>(results[1]), (std::vector<int32_t>{0, 1, 2, 0, 1, 3}));
}

// With nothing in it, a tensor may have any number of what lies outside of the axis.
TEST_F(IndexingOpsTest, UniqueOfNothingEnds) {
  const std::vector<float> nothing;
  const TensorHandle no_slices = Dense<float>({int64_t{1} << 40, 0, 3}, nothing);
  EXPECT_EQ(MetadataOf(RunN("tf.UniqueV2", {no_slices, I32({1})}, 2)[0]), "f32[1099511627776,0,3]");
  const TensorHandle empty_slices = Dense<float>({int64_t{1} << 40, 4, 0}, nothing);
  const std::vector<TensorHandle> results = RunN("tf.UniqueV2", {empty_slices, I32({1})}, 2);
  EXPECT_EQ(MetadataOf(results[0]), "f32[1099511627776,1,0]");
  EXPECT_EQ(Values<int32_t>(results[1]), (std::vector<int32_t>{0, 0, 0, 0}));
}

TEST_F(IndexingOpsTest, UniqueComparesLikeEquality) {
  const std::vector<TensorHandle> results =
      RunN("tf.Unique", {Dense<double>({6}, {0.0, -0.0, kNan, 1, kNan, -0.0})}, 2);
  EXPECT_EQ(MetadataOf(results[0]), "f64[4]");
  EXPECT_FALSE(std::signbit(Values<double>(results[0])[0]));
  EXPECT_EQ(Values<int32_t>(results[1]), (std::vector<int32_t>{0, 0, 1, 2, 3, 0}));
  const Float16 halves[] = {Float16(-0.0f), Float16(0.0f)};
  EXPECT_EQ(MetadataOf(RunN("tf.Unique", {Dense<Float16>({2}, std::span(halves))}, 2)[0]), "f16[1]");
  const std::complex<float> complexes[] = {{0.0f, 1}, {-0.0f, 1}, {1, 0.0f}};
  EXPECT_EQ(MetadataOf(RunN("tf.Unique", {Dense<std::complex<float>>({3}, std::span(complexes))}, 2)[0]), "c64[2]");
}

TEST_F(IndexingOpsTest, UniqueOfManyNans) {
  const std::vector<double> values(100000, kNan);
  const std::vector<TensorHandle> results = RunN("tf.Unique", {Dense<double>({100000}, values)}, 2);
  EXPECT_EQ(MetadataOf(results[0]), "f64[100000]");
}

TEST_F(IndexingOpsTest, UniqueOfManyElements) {
  std::vector<int64_t> values(50000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * i % 20011) << 32;
  std::vector<int64_t> distinct;
  std::vector<int32_t> numbers;
  std::map<int64_t, int32_t> known;
  for (const int64_t value : values) {
    const auto [entry, is_new] = known.emplace(value, static_cast<int32_t>(known.size()));
    if (is_new) distinct.push_back(value);
    numbers.push_back(entry->second);
  }
  const std::vector<TensorHandle> results = RunN("tf.Unique", {Dense<int64_t>({50000}, values)}, 2);
  EXPECT_EQ(Values<int64_t>(results[0]), distinct);
  EXPECT_EQ(Values<int32_t>(results[1]), numbers);
}

TEST_F(IndexingOpsTest, UniqueOfNothingAndOfAMatrix) {
  const std::vector<TensorHandle> results = RunN("tf.Unique", {Dense<float>({0}, {})}, 2);
  EXPECT_EQ(MetadataOf(results[0]), "f32[0]");
  EXPECT_EQ(MetadataOf(results[1]), "i32[0]");
  const std::vector<TensorHandle> errors = RunN("tf.Unique", {Counting({2, 2})}, 2);
  EXPECT_EQ(ErrorOf(errors[0]), "[tf.Unique] x must be a vector, got x: f32[2,2]");
  EXPECT_EQ(ErrorOf(errors[1]), ErrorOf(errors[0]));
}

// MD-3
TEST_F(IndexingOpsTest, WhereListsIndicesInOrder) {
  const TensorHandle y = Run("tf.Where", {Dense<bool>({2, 3}, {true, false, true, false, false, true})});
  EXPECT_EQ(MetadataOf(y), "i64[3,2]");
  EXPECT_EQ(Values<int64_t>(y), (std::vector<int64_t>{0, 0, 0, 2, 1, 2}));
}

TEST_F(IndexingOpsTest, WhereOfEveryDType){
#define TANDEM_WHERE_CASE(name, type)                                                               \
  {                                                                                                 \
    const type content[] = {type(1), type(0), type(1)};                                             \
    EXPECT_EQ(Values<int64_t>(Run("tf.Where", {Dense<type>({3}, std::span<const type>(content))})), \
              (std::vector<int64_t>{0, 2}))                                                         \
        << #type;                                                                                   \
  }
    TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_WHERE_CASE)
#undef TANDEM_WHERE_CASE
}

TEST_F(IndexingOpsTest, WhereOfSpecialValues) {
  EXPECT_EQ(Values<int64_t>(Run("tf.Where", {Dense<double>({5}, {0.0, -0.0, kNan, 5e-324, -1})})),
            (std::vector<int64_t>{2, 3, 4}));
  const Float16 halves[] = {Float16(-0.0f), Float16(-1.0f)};
  EXPECT_EQ(Values<int64_t>(Run("tf.Where", {Dense<Float16>({2}, std::span(halves))})), (std::vector<int64_t>{1}));
  const std::complex<float> complexes[] = {{-0.0f, -0.0f}, {0, 1}, {1, 0}};
  EXPECT_EQ(Values<int64_t>(Run("tf.Where", {Dense<std::complex<float>>({3}, std::span(complexes))})),
            (std::vector<int64_t>{1, 2}));
}

TEST_F(IndexingOpsTest, WhereOfScalarsScalarHostAndEmptyTensors) {
  EXPECT_EQ(MetadataOf(Run("tf.Where", {Scalar<bool>(true)})), "i64[1,0]");
  EXPECT_EQ(MetadataOf(Run("tf.Where", {Scalar<bool>(false)})), "i64[0,0]");
  EXPECT_EQ(MetadataOf(Run("tf.Where", {Dense<float>({3, 0}, {})})), "i64[0,2]");
  EXPECT_EQ(Values<int64_t>(Run("tf.Where", {Spread<float>({2}, 1)})), (std::vector<int64_t>{0, 1}));
}

TEST_F(IndexingOpsTest, WhereInParallel) {
  std::vector<float> values(300007);
  std::vector<int64_t> expected;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 7 == 3 || i % 1000 == 0 ? 1.0f : 0.0f;
    if (values[i] != 0) expected.push_back(static_cast<int64_t>(i));
  }
  EXPECT_EQ(Values<int64_t>(Run("tf.Where", {Dense<float>({300007}, values)})), expected);
  std::vector<int64_t> pairs;
  values.resize(300000);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) pairs.insert(pairs.end(), {static_cast<int64_t>(i / 3), static_cast<int64_t>(i % 3)});
  }
  EXPECT_EQ(Values<int64_t>(Run("tf.Where", {Dense<float>({100000, 3}, values)})), pairs);
}

// ER-5: each allocation of Unique, whose table grows, fails once; either result is then an error.
TEST_F(IndexingOpsTest, EveryAllocationOfUniqueMayFail) {
  std::vector<int32_t> values(200);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  const TensorHandle numbers = Dense<int32_t>({200}, values);
  const TensorHandle strings = Strings({3}, {"a", "b", "a"});
  for (const TensorHandle* x : {&numbers, &strings}) {
    const int failures = FailEachAllocation([&] {
      const std::vector<TensorHandle> results = RunN("tf.Unique", {*x}, 2);
      for (const TensorHandle& result : results) {
        const StatusCode code = ErrorCodeOf(result);
        EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kResourceExhausted);
      }
    });
    EXPECT_GT(failures, 3);
  }
  EXPECT_EQ(MetadataOf(RunN("tf.Unique", {numbers}, 2)[0]), "i32[200]") << "the runtime is usable afterwards";
}

}  // namespace
}  // namespace tandem
