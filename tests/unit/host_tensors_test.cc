// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Host tensors: making them from good and bad input, their memory, and conversions between their types (TH-8, TH-9,
// ER-5).

#include "tandem/host_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "host_values.h"

namespace tandem {
namespace {

using std::string_view_literals::operator""sv;

constexpr TensorType kForeignType{"foreign"};

class HostTensorsTest : public testing::Test {
 protected:
  Tensor Indices(int64_t count, int64_t rank, std::initializer_list<int64_t> values) const {
    return host_.Dense<int64_t>({count, rank}, values);
  }
  StatusOr<Tensor> Sparse(const TensorMetadata& metadata, Tensor indices, Tensor values) const {
    return MakeSparseCoo(metadata, std::move(indices), std::move(values), host_.device);
  }
  // What is wrong, or "ok".
  static std::string Fault(const StatusOr<Tensor>& tensor) {
    if (tensor.ok()) return "ok";
    EXPECT_EQ(tensor.status().code(), StatusCode::kInvalidArgument);
    return std::string(tensor.status().message());
  }

  const HostMemory host_;
};

// ---- Dense

// EX-10: small data lives in the tensor.
TEST_F(HostTensorsTest, SmallDataIsInTheTensor) {
  EXPECT_EQ(CountAllocations([&] {
              const StatusOr<Tensor> tensor = AllocateDense({DType::kF32, {16}}, host_.device, *host_.allocator);
              EXPECT_TRUE(tensor->IsInline());
              EXPECT_FALSE(tensor->storage());
              EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 8, 0u);
            }),
            0);
  const StatusOr<Tensor> larger = AllocateDense({DType::kF32, {17}}, host_.device, *host_.allocator);
  EXPECT_FALSE(larger->IsInline());
  EXPECT_TRUE(larger->storage());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(larger->data()) % kTensorDataAlignment, 0u);
}

TEST_F(HostTensorsTest, DenseTensorsKnowWhatTheyAre) {
  const Tensor tensor = host_.Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(tensor.HasPayload());
  EXPECT_TRUE(tensor.IsA(kDenseHost));
  EXPECT_EQ(tensor.type().name(), "dense_host");
  EXPECT_EQ(tensor.device(), &host_.device);
  EXPECT_EQ(tensor.metadata(), TensorMetadata(DType::kF32, {2, 3}));
  EXPECT_EQ(Elements<float>(tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(HostTensorsTest, EmptyTensorsNeedNoData) {
  const Tensor tensor = host_.Dense<double>({0, 5}, {});
  EXPECT_EQ(tensor.num_elements(), 0);
  EXPECT_TRUE(Elements<double>(tensor).empty());
}

// TH-8
TEST_F(HostTensorsTest, BadMetadataIsRefusedBeforeAnythingIsAllocated) {
  const auto fault = [&](const TensorMetadata& metadata) {
    const std::string text = Fault(AllocateDense(metadata, host_.device, *host_.allocator));
    const float one = 1;
    EXPECT_EQ(Fault(MakeDense(metadata, {}, host_.device, *host_.allocator)), text);
    EXPECT_EQ(Fault(MakeScalar(metadata, &one, host_.device)), text);
    return text;
  };
  EXPECT_EQ(fault({DType::kF32, {2, -1}}), "dimension 1 of shape [2,-1] must not be negative");
  EXPECT_EQ(fault({DType::kU8, {INT64_MAX, 2}}), "shape [9223372036854775807,2] must have at most 2^63-1 elements");
  EXPECT_EQ(fault({DType::kString, {2}}), "a dense tensor must have elements of fixed size, got string[2]");
  EXPECT_EQ(fault({DType::kInvalid, {2}}), "a tensor must have a dtype, got [2] without one");
  EXPECT_NE(fault({DType::kU8, {PTRDIFF_MAX}}), "ok");
  if (sizeof(void*) == 4) {
    EXPECT_NE(fault({DType::kF64, {65536, 65536}}), "ok");
  }
  EXPECT_EQ(host_.allocator->stats().num_allocations, 0u);
}

// TH-8, ER-5
TEST_F(HostTensorsTest, WhatTheSystemCannotGiveIsAnError) {
  const int64_t most = PTRDIFF_MAX / 8;
  const StatusOr<Tensor> tensor = AllocateDense({DType::kF64, {most}}, host_.device, *host_.allocator);
  EXPECT_EQ(tensor.status().code(), StatusCode::kResourceExhausted);
}

// ER-5
TEST(HostTensorsLimitTest, TheMemoryLimitIsAnError) {
  const HostMemory host({.memory_limit = 1000});
  EXPECT_TRUE(AllocateDense({DType::kU8, {1000}}, host.device, *host.allocator).ok());
  EXPECT_EQ(AllocateDense({DType::kU8, {1001}}, host.device, *host.allocator).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(ToDense(host.Scalar<double>({1000}, 1), *host.allocator).status().code(), StatusCode::kResourceExhausted);
}

TEST_F(HostTensorsTest, DenseDataMustHaveTheRightSize) {
  const std::byte bytes[9] = {};
  const auto make = [&](size_t size) {
    return MakeDense({DType::kF32, {2}}, std::span(bytes, size), host_.device, *host_.allocator);
  };
  EXPECT_TRUE(make(8).ok());
  EXPECT_EQ(Fault(make(9)), "data of f32[2] must have 8 bytes, got 9");
  EXPECT_EQ(Fault(make(7)), "data of f32[2] must have 8 bytes, got 7");
  EXPECT_EQ(Fault(make(0)), "data of f32[2] must have 8 bytes, got 0");
}

TEST_F(HostTensorsTest, DenseDataIsCopied) {
  std::vector<float> values(100, 1.0f);
  const StatusOr<Tensor> tensor =
      MakeDense({DType::kF32, {100}}, std::as_bytes(std::span(values)), host_.device, *host_.allocator);
  values.assign(100, 2.0f);
  EXPECT_EQ(Elements<float>(*tensor), std::vector<float>(100, 1.0f));
}

// ---- Copies of tensors

// TH-5
TEST_F(HostTensorsTest, OfBoolWhatIsCopiedIs0Or1) {
  for (const int64_t size : {5, 1000}) {  // in the tensor, in a buffer
    std::vector<uint8_t> bytes(static_cast<size_t>(size));
    std::vector<uint8_t> expected(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(i * 51);
      expected[i] = bytes[i] == 0 ? 0 : 1;
    }
    const auto tensor =
        MakeDense({DType::kBool, {size}}, std::as_bytes(std::span(bytes)), host_.device, *host_.allocator);
    ASSERT_TRUE(tensor.ok());
    EXPECT_TRUE(std::ranges::equal(DenseData<uint8_t>(*tensor), expected));
    EXPECT_TRUE(CheckElements(DType::kBool, std::as_bytes(std::span(expected))).ok());
    EXPECT_TRUE(CheckElements(DType::kU8, std::as_bytes(std::span(bytes))).ok());
    EXPECT_EQ(CheckElements(DType::kBool, std::as_bytes(std::span(bytes))).message(),
              "data of bool must be bytes of 0 or 1, got 51 at index 1");
  }
}

TEST_F(HostTensorsTest, CopiesShareStorage) {
  const StatusOr<Tensor> tensor = AllocateDense({DType::kF32, {100}}, host_.device, *host_.allocator);
  const Tensor copy = *tensor;
  EXPECT_EQ(copy.data(), tensor->data());
  EXPECT_EQ(copy.storage(), tensor->storage());
  EXPECT_FALSE(tensor->storage()->IsUnique());
}

TEST_F(HostTensorsTest, CopiesHaveTheirOwnSmallData) {
  auto original = std::make_unique<Tensor>(host_.Dense<int32_t>({2}, {1, 2}));
  const Tensor copy = *original;
  Tensor assigned = host_.Scalar<float>({5}, 1);
  assigned = *original;
  const Tensor moved = std::move(*original);
  original.reset();
  for (const Tensor* tensor : {&copy, const_cast<const Tensor*>(&assigned), &moved}) {
    EXPECT_TRUE(tensor->IsInline());
    EXPECT_EQ(Elements<int32_t>(*tensor), (std::vector<int32_t>{1, 2}));
    EXPECT_EQ(tensor->shape(), TensorShape{2});
  }
}

TEST_F(HostTensorsTest, AssignmentGoesBetweenSmallAndLarge) {
  const Tensor small = host_.Dense<int32_t>({2}, {1, 2});
  StatusOr<Tensor> large = AllocateDense({DType::kU8, {1000}}, host_.device, *host_.allocator);
  Tensor tensor = small;
  tensor = *large;
  EXPECT_EQ(tensor.data(), large->data());
  tensor = small;
  EXPECT_TRUE(tensor.IsInline());
  EXPECT_TRUE(large->storage()->IsUnique());
  Tensor& alias = tensor;
  tensor = alias;
  EXPECT_EQ(Elements<int32_t>(tensor), (std::vector<int32_t>{1, 2}));
  Tensor& large_alias = *large;
  *large = std::move(large_alias);
  EXPECT_TRUE(large->storage());
}

TEST_F(HostTensorsTest, AResultTakesThePayloadOfAnother) {
  for (const bool is_small : {true, false}) {
    const TensorMetadata metadata(DType::kU8, {is_small ? 10 : 1000});
    StatusOr<Tensor> source = AllocateDense(metadata, host_.device, *host_.allocator);
    std::memset(source->mutable_data(), 7, metadata.byte_size());
    Tensor result(metadata, &host_.device);
    EXPECT_FALSE(result.HasPayload());
    result.TakePayload(*source);
    EXPECT_TRUE(result.IsA(kDenseHost));
    EXPECT_EQ(result.IsInline(), is_small);
    EXPECT_EQ(result.storage(), source->storage());
    EXPECT_EQ(Elements<uint8_t>(result), std::vector<uint8_t>(metadata.byte_size(), 7));
  }
}

TEST_F(HostTensorsTest, TensorsMayOutliveTheAllocator) {
  auto host = std::make_unique<HostMemory>();
  const StatusOr<Tensor> tensor = AllocateDense({DType::kU8, {1000}}, host_.device, *host->allocator);
  const Tensor strings = host->Strings({1}, {"still here"});
  host.reset();
  std::memset(const_cast<void*>(tensor->data()), 1, 1000);
  EXPECT_EQ(StringHostView(strings)[0], "still here");
}

// ---- Scalar

TEST_F(HostTensorsTest, ScalarTensorsHoldOneValueForAnyShape) {
  const Tensor tensor = host_.Scalar<double>({1 << 20, 1 << 5}, 2.5);
  EXPECT_TRUE(tensor.IsA(kScalarHost));
  EXPECT_TRUE(tensor.IsInline());
  EXPECT_EQ(tensor.num_elements(), int64_t{1} << 25);
  EXPECT_EQ(*static_cast<const double*>(tensor.data()), 2.5);
}

// ---- Strings

TEST_F(HostTensorsTest, StringsOfEveryKindAreKept) {
  const std::string large(1 << 20, 'x');
  const std::vector<std::string_view> texts = {"", "a", "nul\0inside"sv, large, "", "\xff\xfe"};
  const Tensor tensor = host_.Strings({2, 3}, texts);
  EXPECT_TRUE(tensor.IsA(kStringHost));
  EXPECT_EQ(tensor.dtype(), DType::kString);
  const StringHostView view(tensor);
  ASSERT_EQ(view.size(), 6);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(view[i], texts[i]);
}

TEST_F(HostTensorsTest, StringTensorsMayBeEmptyOrScalar) {
  EXPECT_EQ(StringHostView(host_.Strings({0}, {})).size(), 0);
  EXPECT_EQ(StringHostView(host_.Strings({3, 0}, {})).size(), 0);
  EXPECT_EQ(StringHostView(host_.Strings({}, {"one"}))[0], "one");
}

TEST_F(HostTensorsTest, TheNumberOfStringsMustBeRight) {
  const std::string_view texts[] = {"a", "b"};
  const auto make = [&](const TensorShape& shape) { return MakeString(shape, texts, host_.device, *host_.allocator); };
  EXPECT_EQ(Fault(make({3})), "a string tensor of shape [3] must have 3 elements, got 2");
  EXPECT_EQ(Fault(make({})), "a string tensor of shape [] must have 1 elements, got 2");
  EXPECT_EQ(Fault(make({-2})), "dimension 0 of shape [-2] must not be negative");
  EXPECT_NE(Fault(make({INT64_MAX, INT64_MAX})), "ok");
}

// ---- Sparse

TEST_F(HostTensorsTest, SparseTensorsHoldIndicesAndValues) {
  const StatusOr<Tensor> tensor =
      Sparse({DType::kF32, {3, 4}}, Indices(2, 2, {0, 1, 2, 3}), host_.Dense<float>({2}, {5, 6}));
  ASSERT_EQ(Fault(tensor), "ok");
  EXPECT_TRUE(tensor->IsA(kSparseCooHost));
  EXPECT_EQ(tensor->metadata(), TensorMetadata(DType::kF32, {3, 4}));
  const Tensor copy = *tensor;
  const SparseCooView view(copy);
  EXPECT_EQ(view.num_values(), 2);
  EXPECT_EQ(Elements<int64_t>(view.indices()), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Elements<float>(view.values()), (std::vector<float>{5, 6}));
}

TEST_F(HostTensorsTest, SparseTensorsMayBeEmptyOrScalar) {
  EXPECT_EQ(Fault(Sparse({DType::kF32, {3, 4}}, Indices(0, 2, {}), host_.Dense<float>({0}, {}))), "ok");
  EXPECT_EQ(Fault(Sparse({DType::kF32, {0, 4}}, Indices(0, 2, {}), host_.Dense<float>({0}, {}))), "ok");
  EXPECT_EQ(Fault(Sparse({DType::kF32, {}}, Indices(1, 0, {}), host_.Dense<float>({1}, {5}))), "ok");
}

TEST_F(HostTensorsTest, SparseIndicesMustBeInsideTheShape) {
  const auto fault = [&](std::initializer_list<int64_t> index) {
    return Fault(Sparse({DType::kF32, {3, 4}}, Indices(1, 2, index), host_.Dense<float>({1}, {5})));
  };
  EXPECT_EQ(fault({2, 3}), "ok");
  EXPECT_EQ(fault({3, 0}), "indices of sparse f32[3,4] must be inside its shape, got [3,0] in row 0");
  EXPECT_EQ(fault({0, 4}), "indices of sparse f32[3,4] must be inside its shape, got [0,4] in row 0");
  EXPECT_EQ(fault({-1, 0}), "indices of sparse f32[3,4] must be inside its shape, got [-1,0] in row 0");
  EXPECT_NE(fault({INT64_MIN, 0}), "ok");
  EXPECT_NE(fault({0, INT64_MAX}), "ok");
}

TEST_F(HostTensorsTest, SparseIndicesMustAscend) {
  const auto fault = [&](std::initializer_list<int64_t> indices) {
    return Fault(Sparse({DType::kF32, {3, 4}}, Indices(2, 2, indices), host_.Dense<float>({2}, {5, 6})));
  };
  EXPECT_EQ(fault({0, 3, 1, 0}), "ok");
  EXPECT_EQ(fault({1, 0, 0, 3}), "indices of sparse f32[3,4] must ascend, got [0,3] in row 1");
  EXPECT_EQ(fault({1, 1, 1, 1}), "indices of sparse f32[3,4] must ascend, got [1,1] in row 1");
  EXPECT_NE(Fault(Sparse({DType::kF32, {}}, Indices(2, 0, {}), host_.Dense<float>({2}, {5, 6}))), "ok");
}

TEST_F(HostTensorsTest, SparsePartsMustFitTogether) {
  const TensorMetadata metadata(DType::kF32, {3, 4});
  const Tensor indices = Indices(2, 2, {0, 1, 2, 3});
  const Tensor values = host_.Dense<float>({2}, {5, 6});
  EXPECT_EQ(Fault(Sparse(metadata, indices, host_.Dense<int32_t>({2}, {5, 6}))),
            "values of sparse f32[3,4] must be f32 of rank 1, got i32[2]");
  EXPECT_EQ(Fault(Sparse(metadata, indices, host_.Dense<float>({2, 1}, {5, 6}))),
            "values of sparse f32[3,4] must be f32 of rank 1, got f32[2,1]");
  EXPECT_EQ(Fault(Sparse(metadata, indices, host_.Dense<float>({3}, {5, 6, 7}))),
            "indices of sparse f32[3,4] must be i64[3,2], got i64[2,2]");
  EXPECT_EQ(Fault(Sparse(metadata, Indices(2, 1, {0, 1}), values)),
            "indices of sparse f32[3,4] must be i64[2,2], got i64[2,1]");
  EXPECT_EQ(Fault(Sparse(metadata, host_.Dense<int32_t>({2, 2}, {0, 1, 2, 3}), values)),
            "indices of sparse f32[3,4] must be i64[2,2], got i32[2,2]");
  EXPECT_EQ(Fault(Sparse(metadata, indices, host_.Scalar<float>({2}, 5))),
            "indices and values of a sparse tensor must be dense, got dense_host and scalar_host");
  EXPECT_EQ(Fault(Sparse({DType::kString, {3, 4}}, indices, values)),
            "a dense tensor must have elements of fixed size, got string[3,4]");
  EXPECT_NE(Fault(Sparse({DType::kF32, {3, -4}}, indices, values)), "ok");
}

// ---- Conversions

TEST_F(HostTensorsTest, TellsHostTypes) {
  for (const TensorType* type : {&kDenseHost, &kScalarHost, &kStringHost, &kSparseCooHost}) {
    EXPECT_TRUE(IsHostType(*type)) << type->name();
  }
  EXPECT_FALSE(IsHostType(kForeignType));
}

// TH-9
TEST_F(HostTensorsTest, WhatIsOfTheTypeAlreadyIsReturned) {
  const StatusOr<Tensor> dense = AllocateDense({DType::kU8, {100}}, host_.device, *host_.allocator);
  EXPECT_EQ(ToDense(*dense, *host_.allocator)->data(), dense->data());
  const StatusOr<Tensor> sparse = ToSparseCoo(host_.Scalar<float>({3}, 1), *host_.allocator);
  EXPECT_EQ(ToSparseCoo(*sparse, *host_.allocator)->storage(), sparse->storage());
  EXPECT_TRUE(ToScalar(host_.Scalar<float>({3}, 1))->IsA(kScalarHost));
}

// Bit patterns of an element that are easily lost.
template <typename T>
std::vector<T> AwkwardValues() {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {{0, 0}, {0, -0.0f}, {1, 2}, {-0.0f, 0}};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::numeric_limits<T>::is_integer) {
    return {T{0}, T{1}, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  } else if constexpr (sizeof(T) == 2) {
    return {T(0.0f), T(-0.0f), T(1.5f), T::FromBits(0x7FC1), T::FromBits(1)};
  } else {
    return {T{0}, -T{0}, T{1.5}, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::denorm_min()};
  }
}

template <typename T>
class HostConversionTest : public HostTensorsTest {};
using ElementTypes = testing::Types<bool, uint8_t, int8_t, uint16_t, int16_t, int32_t, uint32_t, int64_t, uint64_t,
                                    Float16, BFloat16, float, double, std::complex<float>>;
TYPED_TEST_SUITE(HostConversionTest, ElementTypes);

bool HaveSameBytes(const Tensor& a, const Tensor& b) {
  return a.metadata() == b.metadata() && a.IsA(kDenseHost) && b.IsA(kDenseHost) &&
         std::memcmp(a.data(), b.data(), a.metadata().byte_size()) == 0;
}

// TH-9
TYPED_TEST(HostConversionTest, ScalarToDenseAndBackKeepsEveryBit) {
  for (const TypeParam value : AwkwardValues<TypeParam>()) {
    for (const int64_t count : {1, 2, 3, 7, 64, 1001}) {
      const Tensor scalar = this->host_.template Scalar<TypeParam>({count}, value);
      const StatusOr<Tensor> dense = ToDense(scalar, *this->host_.allocator);
      ASSERT_TRUE(dense.ok());
      ASSERT_TRUE(dense->IsA(kDenseHost));
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(std::memcmp(static_cast<const TypeParam*>(dense->data()) + i, &value, sizeof(value)), 0);
      }
      const StatusOr<Tensor> back = ToScalar(*dense);
      ASSERT_TRUE(back.ok());
      ASSERT_TRUE(back->IsA(kScalarHost));
      ASSERT_EQ(back->metadata(), scalar.metadata());
      ASSERT_EQ(std::memcmp(back->data(), &value, sizeof(value)), 0);
    }
  }
}

// TH-9: only elements whose bits are all zero are left out.
TYPED_TEST(HostConversionTest, DenseToSparseAndBackKeepsEveryBit) {
  const std::vector<TypeParam> values = AwkwardValues<TypeParam>();
  const TensorMetadata metadata(kDTypeOf<TypeParam>, {3, 5, 7});
  StatusOr<Tensor> dense = AllocateDense(metadata, this->host_.device, *this->host_.allocator);
  int64_t nonzero = 0;
  for (int64_t i = 0; i < metadata.num_elements(); ++i) {
    const TypeParam value = i % 3 == 0 ? values[static_cast<size_t>(i) % values.size()] : values[0];
    static_cast<TypeParam*>(dense->mutable_data())[i] = value;
    const unsigned char zeros[sizeof(value)] = {};
    nonzero += std::memcmp(&value, zeros, sizeof(value)) != 0;
  }
  const StatusOr<Tensor> sparse = ToSparseCoo(*dense, *this->host_.allocator);
  ASSERT_TRUE(sparse.ok()) << sparse.status().ToString();
  EXPECT_EQ(SparseCooView(*sparse).num_values(), nonzero);
  EXPECT_GT(nonzero, 0);
  const StatusOr<Tensor> back = ToDense(*sparse, *this->host_.allocator);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(HaveSameBytes(*back, *dense));
}

// TH-9
TYPED_TEST(HostConversionTest, ScalarToSparseIsAllOrNothing) {
  for (const TypeParam value : AwkwardValues<TypeParam>()) {
    const Tensor scalar = this->host_.template Scalar<TypeParam>({2, 3}, value);
    const StatusOr<Tensor> sparse = ToSparseCoo(scalar, *this->host_.allocator);
    ASSERT_TRUE(sparse.ok());
    const unsigned char zeros[sizeof(value)] = {};
    EXPECT_EQ(SparseCooView(*sparse).num_values(), std::memcmp(&value, zeros, sizeof(value)) == 0 ? 0 : 6);
    const StatusOr<Tensor> dense = ToDense(scalar, *this->host_.allocator);
    EXPECT_TRUE(HaveSameBytes(*ToDense(*sparse, *this->host_.allocator), *dense));
  }
}

TEST_F(HostTensorsTest, SparseIndicesAreRowMajorCoordinates) {
  const StatusOr<Tensor> sparse = ToSparseCoo(host_.Dense<int32_t>({2, 3}, {0, 1, 0, 2, 0, 3}), *host_.allocator);
  const SparseCooView view(*sparse);
  EXPECT_EQ(Elements<int64_t>(view.indices()), (std::vector<int64_t>{0, 1, 1, 0, 1, 2}));
  EXPECT_EQ(Elements<int32_t>(view.values()), (std::vector<int32_t>{1, 2, 3}));
}

TEST_F(HostTensorsTest, ConversionsOfEmptyAndRankZeroTensors) {
  HostAllocator& allocator = *host_.allocator;
  EXPECT_EQ(ToDense(host_.Scalar<float>({0, 2}, 1), allocator)->num_elements(), 0);
  EXPECT_EQ(SparseCooView(*ToSparseCoo(host_.Dense<float>({2, 0}, {}), allocator)).num_values(), 0);
  EXPECT_EQ(ToDense(*ToSparseCoo(host_.Dense<float>({2, 0}, {}), allocator), allocator)->shape(), (TensorShape{2, 0}));
  const StatusOr<Tensor> sparse = ToSparseCoo(host_.Dense<float>({}, {5}), allocator);
  ASSERT_TRUE(sparse.ok());
  EXPECT_EQ(Elements<float>(*ToDense(*sparse, allocator)), std::vector<float>{5});
  EXPECT_EQ(Fault(ToScalar(host_.Dense<float>({0}, {}))), "a scalar host tensor needs a value, got f32[0]");
  EXPECT_TRUE(ToScalar(host_.Dense<float>({}, {5})).ok());
}

// TH-9: converting drops nothing.
TEST_F(HostTensorsTest, OnlyEqualElementsBecomeAScalar) {
  EXPECT_EQ(
      Fault(ToScalar(host_.Dense<float>({3}, {1, 1, 2}))),
      "all elements must be equal to become a scalar host tensor, got f32[3] whose element 2 differs from the first");
  EXPECT_NE(Fault(ToScalar(host_.Dense<float>({2}, {0.0f, -0.0f}))), "ok");
  EXPECT_EQ(Fault(ToScalar(host_.Dense<float>({2}, {NAN, NAN}))), "ok");
}

TEST_F(HostTensorsTest, OtherConversionsAreErrors) {
  const Tensor strings = host_.Strings({1}, {"x"});
  EXPECT_EQ(Fault(ToDense(strings, *host_.allocator)),
            "only scalar and sparse tensors convert to dense ones, got string[1] as string_host");
  EXPECT_EQ(Fault(ToScalar(strings)),
            "only dense tensors convert to scalar host tensors, got string[1] as string_host");
  EXPECT_EQ(Fault(ToSparseCoo(strings, *host_.allocator)),
            "only dense and scalar tensors convert to sparse ones, got string[1] as string_host");
  const Tensor foreign({DType::kF32, {1}}, &host_.device, kForeignType, nullptr, nullptr);
  EXPECT_NE(Fault(ToDense(foreign, *host_.allocator)), "ok");
  EXPECT_NE(Fault(ToScalar(*ToSparseCoo(host_.Scalar<float>({3}, 1), *host_.allocator))), "ok");
}

// ER-5
TEST_F(HostTensorsTest, EveryFailingAllocationIsAnError) {
  const std::vector<float> values(100, 1.0f);
  const std::vector<std::string_view> texts(50, "some text");
  const Tensor scalar = host_.Scalar<float>({100}, 1);
  const StatusOr<Tensor> sparse = ToSparseCoo(scalar, *host_.allocator);
  // How often making the tensor fails before it is given enough memory.
  const auto count_failures = [](const auto& make) {
    int errors = 0;
    const int failures = FailEachAllocation([&] {
      const StatusOr<Tensor> tensor = make();
      if (tensor.ok()) return;
      ++errors;
      EXPECT_EQ(tensor.status().code(), StatusCode::kResourceExhausted);
    });
    EXPECT_EQ(errors, failures);
    return errors;
  };
  EXPECT_GE(count_failures([&] {
              return MakeDense({DType::kF32, {100}}, std::as_bytes(std::span(values)), host_.device, *host_.allocator);
            }),
            1);
  EXPECT_GE(count_failures([&] { return MakeString({50}, texts, host_.device, *host_.allocator); }), 1);
  EXPECT_GE(count_failures([&] { return ToDense(scalar, *host_.allocator); }), 1);
  EXPECT_GE(count_failures([&] { return ToDense(*sparse, *host_.allocator); }), 1);
  EXPECT_GE(count_failures([&] { return ToSparseCoo(scalar, *host_.allocator); }), 2);
}

}  // namespace
}  // namespace tandem
