// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The typed form of metadata functions and its erasure (MD-5), and host inputs.

#include "tandem/metadata_function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tandem/host_tensors.h"

namespace tandem {
namespace {

const TensorMetadata kA(DType::kF32, {2, 3});
const TensorMetadata kB(DType::kI32, {5});
const TensorMetadata kC(DType::kF64, {});

// Calls `fn` with these arguments; no host inputs unless `values` has some.
Status Call(MetadataFunction fn, std::vector<const TensorMetadata*> args, std::span<TensorMetadata> results,
            const OpAttrsRef& attrs = OpAttrsRef(), std::vector<const Tensor*> values = {}) {
  values.resize(args.size());
  return fn(MetadataFrame{args, values, attrs, results});
}

TensorMetadata Second(const TensorMetadata&, const TensorMetadata& b) { return b; }

TEST(MetadataFunctionTest, MD5_ArgumentsComeInOrder) {
  TensorMetadata result;
  EXPECT_TRUE(Call(EraseMetadataFunction<&Second>(), {&kA, &kB}, {&result, 1}).ok());
  EXPECT_EQ(result, kB);
}

TensorMetadata SecondOfMany(const OpAttrsRef&, TensorMetadata, const OpAttrsRef&, TensorMetadata b) { return b; }

TEST(MetadataFunctionTest, MD5_AttributesTakeNoArgumentWhereverTheyStand) {
  TensorMetadata result;
  EXPECT_TRUE(Call(EraseMetadataFunction<&SecondOfMany>(), {&kA, &kB}, {&result, 1}).ok());
  EXPECT_EQ(result, kB);
}

StatusOr<TensorMetadata> WithDType(const TensorMetadata& x, const OpAttrsRef& attrs) {
  DType dtype;
  if (!attrs.Get("dtype", &dtype)) return InvalidArgument("no dtype");
  return TensorMetadata(dtype, x.shape);
}

TEST(MetadataFunctionTest, MD5_AttributesAreReadable) {
  OpAttrs attrs;
  attrs.Set("dtype", DType::kBool);
  TensorMetadata result;
  EXPECT_TRUE(Call(EraseMetadataFunction<&WithDType>(), {&kA}, {&result, 1}, attrs).ok());
  EXPECT_EQ(result, TensorMetadata(DType::kBool, {2, 3}));
}

TEST(MetadataFunctionTest, MD2_ErrorOfStatusOrIsTheFunctionsError) {
  TensorMetadata result;
  const Status status = Call(EraseMetadataFunction<&WithDType>(), {&kA}, {&result, 1});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "no dtype");
  EXPECT_EQ(result, TensorMetadata());
}

StatusOr<std::array<TensorMetadata, 2>> Swapped(const TensorMetadata& a, const TensorMetadata& b) {
  if (a == b) return InvalidArgument("expected two different ones");
  return std::array<TensorMetadata, 2>{b, a};
}

TEST(MetadataFunctionTest, MD5_SeveralResultsAsAnArray) {
  TensorMetadata results[2];
  EXPECT_TRUE(Call(EraseMetadataFunction<&Swapped>(), {&kA, &kB}, results).ok());
  EXPECT_EQ(results[0], kB);
  EXPECT_EQ(results[1], kA);
  EXPECT_EQ(Call(EraseMetadataFunction<&Swapped>(), {&kA, &kA}, results).message(), "expected two different ones");
}

Status FillAll(const TensorMetadata& x, std::span<TensorMetadata> results) {
  for (TensorMetadata& result : results) result = x;
  return results.size() == 3 ? Status() : InvalidArgument("expected 3 results, got ", results.size());
}

TEST(MetadataFunctionTest, MD5_ResultsAsASpan) {
  TensorMetadata results[3];
  EXPECT_TRUE(Call(EraseMetadataFunction<&FillAll>(), {&kC}, results).ok());
  for (const TensorMetadata& result : results) EXPECT_EQ(result, kC);
  EXPECT_EQ(Call(EraseMetadataFunction<&FillAll>(), {&kC}, {results, 2}).message(), "expected 3 results, got 2");
}

TensorMetadata LastOfRest(const TensorMetadata&, VariadicMetadata rest) {
  return rest.size() == 0 ? TensorMetadata() : rest[rest.size() - 1];
}

TEST(MetadataFunctionTest, MD5_VariadicParameterTakesTheRemainingArguments) {
  TensorMetadata result;
  EXPECT_TRUE(Call(EraseMetadataFunction<&LastOfRest>(), {&kA, &kB, &kC}, {&result, 1}).ok());
  EXPECT_EQ(result, kC);
  EXPECT_TRUE(Call(EraseMetadataFunction<&LastOfRest>(), {&kA}, {&result, 1}).ok());
  EXPECT_EQ(result, TensorMetadata());
}

Status CountInFrame(const MetadataFrame& frame) {
  frame.results[0] = TensorMetadata(DType::kI64, {static_cast<int64_t>(frame.args.size())});
  return Status();
}

TEST(MetadataFunctionTest, MD5_WholeFrame) {
  TensorMetadata result;
  EXPECT_TRUE(Call(EraseMetadataFunction<&CountInFrame>(), {&kA, &kB}, {&result, 1}).ok());
  EXPECT_EQ(result, TensorMetadata(DType::kI64, {2}));
}

StatusOr<TensorMetadata> DimOf(const TensorMetadata& x, HostInput axis) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t value, axis.Scalar("axis"));
  return TensorMetadata(axis.metadata().dtype, {x.dim(static_cast<int>(value))});
}

// A dense tensor of one dimension with these elements.
template <typename T>
Tensor Dense(const std::vector<T>& elements) {
  Tensor tensor(TensorMetadata(kDTypeOf<T>, {static_cast<int64_t>(elements.size())}), nullptr);
  std::copy(elements.begin(), elements.end(), static_cast<T*>(tensor.UseInlineData(kDenseHost)));
  return tensor;
}

// A scalar host tensor: one value for the whole shape.
template <typename T>
Tensor Broadcast(T value, const TensorShape& shape) {
  Tensor tensor(TensorMetadata(kDTypeOf<T>, shape), nullptr);
  std::memcpy(tensor.UseInlineData(kScalarHost), &value, sizeof(T));
  return tensor;
}

HostInput InputOf(const Tensor& tensor) { return HostInput(tensor.metadata(), &tensor); }

TEST(MetadataFunctionTest, MD5_HostInputGivesTheContentOfItsArgument) {
  const Tensor axis = Dense<int32_t>({1});
  TensorMetadata result;
  EXPECT_TRUE(
      Call(EraseMetadataFunction<&DimOf>(), {&kA, &axis.metadata()}, {&result, 1}, OpAttrsRef(), {nullptr, &axis})
          .ok());
  EXPECT_EQ(result, TensorMetadata(DType::kI32, {3}));
}

template <typename T>
class HostInputTest : public testing::Test {};
using IntTypes = testing::Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
TYPED_TEST_SUITE(HostInputTest, IntTypes);

TYPED_TEST(HostInputTest, IntReadsElementsOfEveryIntegerDType) {
  const auto lowest = std::numeric_limits<TypeParam>::lowest();
  const Tensor tensor = Dense<TypeParam>({TypeParam{7}, lowest, TypeParam{100}});
  const HostInput input = InputOf(tensor);
  EXPECT_EQ(input.size(), 3);
  EXPECT_EQ(input.Int(0), 7);
  EXPECT_EQ(input.Int(1), static_cast<int64_t>(lowest));
  EXPECT_EQ(input.Int(2), 100);
}

TYPED_TEST(HostInputTest, EveryElementOfAScalarHostTensorIsItsValue) {
  const Tensor tensor = Broadcast<TypeParam>(TypeParam{42}, {3});
  const HostInput input = InputOf(tensor);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(input.Int(i), 42);
}

TYPED_TEST(HostInputTest, ScalarReadsTheOnlyElement) {
  const Tensor dense = Dense<TypeParam>({TypeParam{9}});
  const Tensor broadcast = Broadcast<TypeParam>(TypeParam{9}, {1, 1});
  for (const Tensor* tensor : {&dense, &broadcast}) {
    const StatusOr<int64_t> value = InputOf(*tensor).Scalar("axis");
    ASSERT_TRUE(value.ok()) << value.status().ToString();
    EXPECT_EQ(*value, 9);
  }
}

TEST(HostInputErrorTest, LargeUnsignedValuesSaturate) {
  const Tensor tensor = Dense<uint64_t>({UINT64_MAX, uint64_t{1} << 63, INT64_MAX});
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(InputOf(tensor).Int(i), INT64_MAX);
}

TEST(HostInputErrorTest, ER2_ScalarOfSeveralElementsOrNone) {
  EXPECT_EQ(InputOf(Dense<int32_t>({1, 2})).Scalar("axis").status().message(),
            "expected one integer for axis, got i32[2]");
  EXPECT_EQ(InputOf(Dense<int64_t>({})).Scalar("size").status().message(), "expected one integer for size, got i64[0]");
}

TEST(HostInputErrorTest, ER2_ScalarThatIsNoInteger) {
  const StatusOr<int64_t> value = InputOf(Dense<float>({1.0f})).Scalar("axis");
  EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(value.status().message(), "expected one integer for axis, got f32[1]");
}

// What a definition is checked against.

Status ManyParameters(const TensorMetadata&, HostInput, const OpAttrsRef&, HostInput, VariadicMetadata,
                      std::span<TensorMetadata>) {
  return Status();
}

TEST(MetadataSignatureTest, CountsArgumentsAndMarksHostInputs) {
  constexpr MetadataSignature kSignature = MetadataSignatureOf<&ManyParameters>();
  EXPECT_EQ(kSignature.num_args, 3);
  EXPECT_EQ(kSignature.host_args, 0b110u);
  EXPECT_TRUE(kSignature.takes_all);
  EXPECT_EQ(kSignature.num_results, -1);
}

TEST(MetadataSignatureTest, CountsResults) {
  EXPECT_EQ(MetadataSignatureOf<&Second>().num_results, 1);
  EXPECT_EQ(MetadataSignatureOf<&WithDType>().num_results, 1);
  EXPECT_EQ(MetadataSignatureOf<&Swapped>().num_results, 2);
  EXPECT_EQ(MetadataSignatureOf<&FillAll>().num_results, -1);
  EXPECT_EQ(MetadataSignatureOf<&CountInFrame>().num_results, -1);
  EXPECT_FALSE(MetadataSignatureOf<&Second>().takes_all);
}

}  // namespace
}  // namespace tandem
