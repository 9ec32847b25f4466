// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The ops that convert between the host's tensor types (TH-9).

#include <cstdint>
#include <string>
#include <vector>

#include "op_test_fixture.h"

namespace tandem {
namespace {

class ConversionOpsTest : public OpTest {};

TEST_F(ConversionOpsTest, ToDenseExpandsAScalar) {
  const TensorHandle y = Run("tandem.ToDense", {Spread<float>({2, 3}, 1.5f)});
  EXPECT_EQ(MetadataOf(y), "f32[2,3]");
  EXPECT_TRUE(y.tensor().IsA(kDenseHost));
  EXPECT_EQ(Values<float>(y), std::vector<float>(6, 1.5f));
}

TEST_F(ConversionOpsTest, ToDenseOfADenseTensorShares) {
  const TensorHandle x = Dense<float>({100}, std::vector<float>(100, 2));
  EXPECT_EQ(Run("tandem.ToDense", {x}).tensor().data(), x.tensor().data());
}

TEST_F(ConversionOpsTest, SparseTensorsKeepWhatIsNotZero) {
  const TensorHandle sparse = Run("tandem.ToSparseCoo", {Dense<int32_t>({2, 3}, {0, 5, 0, 6, 0, 7})});
  EXPECT_EQ(MetadataOf(sparse), "i32[2,3]");
  ASSERT_TRUE(sparse.tensor().IsA(kSparseCooHost));
  const SparseCooView view(sparse.tensor());
  const std::span<const int64_t> indices = DenseData<int64_t>(view.indices());
  EXPECT_EQ(std::vector<int64_t>(indices.begin(), indices.end()), (std::vector<int64_t>{0, 1, 1, 0, 1, 2}));
  const std::span<const int32_t> values = DenseData<int32_t>(view.values());
  EXPECT_EQ(std::vector<int32_t>(values.begin(), values.end()), (std::vector<int32_t>{5, 6, 7}));
}

TEST_F(ConversionOpsTest, SparseAndBackIsTheSameTensor) {
  const std::vector<float> values = {0, 1, 0, 0, -2, 0, 0, 0};
  const TensorHandle dense = Run("tandem.ToDense", {Run("tandem.ToSparseCoo", {Dense<float>({2, 2, 2}, values)})});
  EXPECT_TRUE(dense.tensor().IsA(kDenseHost));
  EXPECT_EQ(Values<float>(dense), values);
}

TEST_F(ConversionOpsTest, ToSparseCooOfAScalarHostTensor) {
  const TensorHandle sparse = Run("tandem.ToSparseCoo", {Spread<float>({2, 2}, 3)});
  EXPECT_EQ(SparseCooView(sparse.tensor()).num_values(), 4);
  EXPECT_EQ(SparseCooView(Run("tandem.ToSparseCoo", {Spread<float>({2, 2}, 0)}).tensor()).num_values(), 0);
}

// ER-5: what has no memory for each element is not looked at element by element.
TEST_F(ConversionOpsTest, ER5_VirtualTensorsOfAnySizeConvertOrFailAtOnce) {
  // With indices about as large as 32 bits can address, or much larger than any memory.
  constexpr int64_t kHuge = int64_t{1} << (sizeof(void*) == 4 ? 26 : 40);
  if (sizeof(void*) == 4) host().allocator().set_memory_limit(size_t{1} << 20);
  const TensorHandle zeros = Run("tandem.ToSparseCoo", {Spread<float>({kHuge}, 0)});
  EXPECT_EQ(MetadataOf(zeros), "f32[" + std::to_string(kHuge) + "]");
  EXPECT_EQ(SparseCooView(zeros.tensor()).num_values(), 0);
  EXPECT_EQ(ErrorCodeOf(Run("tandem.ToSparseCoo", {Spread<float>({kHuge}, 1)})), StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorCodeOf(Run("tandem.ToDense", {zeros})), StatusCode::kResourceExhausted);
  const TensorHandle filled = Run("tf.Fill", {Dense<int64_t>({2}, {kHuge / 4, 4}), Scalar<float>(2)});
  EXPECT_EQ(ErrorCodeOf(Run("tandem.ToSparseCoo", {filled})), StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorCodeOf(Run("tandem.ToDense", {filled})), StatusCode::kResourceExhausted);
  const TensorHandle scalar = Run("tandem.ToScalar", {filled});
  ASSERT_TRUE(host().Await(scalar).ok());
  EXPECT_TRUE(scalar.tensor().IsA(kScalarHost));
}

TEST_F(ConversionOpsTest, ToScalarTakesEqualElements) {
  const TensorHandle y = Run("tandem.ToScalar", {Dense<int64_t>({2, 2}, {7, 7, 7, 7})});
  EXPECT_EQ(MetadataOf(y), "i64[2,2]");
  EXPECT_TRUE(y.tensor().IsA(kScalarHost));
  EXPECT_EQ(Values<int64_t>(y), std::vector<int64_t>(4, 7));
  EXPECT_TRUE(Run("tandem.ToScalar", {Spread<float>({2}, 1)}).tensor().IsA(kScalarHost));
}

TEST_F(ConversionOpsTest, ToScalarRejectsWhatIsNotOneValue) {
  EXPECT_EQ(ErrorOf(Run("tandem.ToScalar", {Dense<float>({3}, {1, 1, 2})})),
            "[tandem.ToScalar] elements of x must be equal, bit for bit, got x: f32[3], whose element 2 "
            "differs from the first");
  EXPECT_EQ(ErrorOf(Run("tandem.ToScalar", {Dense<float>({2}, {0.0f, -0.0f})})),
            "[tandem.ToScalar] elements of x must be equal, bit for bit, got x: f32[2], whose element 1 "
            "differs from the first");
  EXPECT_EQ(ErrorOf(Run("tandem.ToScalar", {Dense<float>({0}, {})})),
            "[tandem.ToScalar] x must have at least one element, got x: f32[0]");
}

TEST_F(ConversionOpsTest, StringsHaveNoOtherForm) {
  const TensorHandle x = Strings({2}, {"a", "b"});
  EXPECT_EQ(ErrorOf(Run("tandem.ToDense", {x})),
            "[tandem.ToDense] x must be dense, scalar or sparse on the host, got x: string[2] as string_host");
  EXPECT_EQ(ErrorOf(Run("tandem.ToScalar", {x})),
            "[tandem.ToScalar] x must be dense or scalar on the host, got x: string[2] as string_host");
  EXPECT_EQ(ErrorOf(Run("tandem.ToSparseCoo", {x})),
            "[tandem.ToSparseCoo] x must be dense, scalar or sparse on the host, got x: string[2] as string_host");
}

}  // namespace
}  // namespace tandem
