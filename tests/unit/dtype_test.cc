// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DTypes: numbers, names, sizes, C++ types, sets.

#include "tandem/dtype.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace tandem {
namespace {

struct Row {
  DType dtype;
  int number;
  std::string_view name;
  std::string_view tensorflow;
  size_t size;
};
// Numbers are part of the binary formats.
constexpr Row kRows[] = {
    {DType::kBool, 1, "bool", "bool", 1},
    {DType::kU8, 2, "u8", "uint8", 1},
    {DType::kI8, 3, "i8", "int8", 1},
    {DType::kU16, 4, "u16", "uint16", 2},
    {DType::kI16, 5, "i16", "int16", 2},
    {DType::kI32, 6, "i32", "int32", 4},
    {DType::kU32, 7, "u32", "uint32", 4},
    {DType::kI64, 8, "i64", "int64", 8},
    {DType::kU64, 9, "u64", "uint64", 8},
    {DType::kF16, 10, "f16", "half", 2},
    {DType::kBF16, 11, "bf16", "bfloat16", 2},
    {DType::kF32, 12, "f32", "float", 4},
    {DType::kF64, 13, "f64", "double", 8},
    {DType::kC64, 14, "c64", "complex64", 8},
    {DType::kString, 15, "string", "string", 0},
};

template <typename T>
std::string Text(const T& value) {
  MessageBuilder out;
  out.Append(value);
  return std::string(out.view());
}

TEST(DTypeTest, NumbersNamesAndSizes) {
  ASSERT_EQ(std::size(kRows) + 1, static_cast<size_t>(kNumDTypes));
  for (const Row& row : kRows) {
    EXPECT_EQ(static_cast<int>(row.dtype), row.number);
    EXPECT_EQ(DTypeName(row.dtype), row.name);
    EXPECT_EQ(DTypeSize(row.dtype), row.size) << row.name;
    EXPECT_EQ(ParseDType(row.name), row.dtype);
    EXPECT_EQ(ParseDType(row.tensorflow), row.dtype);
    EXPECT_EQ(Text(row.dtype), row.name);
  }
}

TEST(DTypeTest, InvalidHasANameThatIsNotParsed) {
  EXPECT_EQ(DTypeName(DType::kInvalid), "invalid");
  EXPECT_EQ(DTypeName(static_cast<DType>(16)), "invalid");
  EXPECT_EQ(DTypeName(static_cast<DType>(255)), "invalid");
  EXPECT_EQ(DTypeSize(DType::kInvalid), 0u);
  EXPECT_EQ(static_cast<int>(DType::kInvalid), 0);
}

TEST(DTypeTest, OtherNamesAreNotParsed) {
  for (const std::string_view name :
       {"", " ", "invalid", "F32", "f32 ", "f3", "f322", "float32x", "DT_FLOAT", "none"}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
  EXPECT_EQ(ParseDType(std::string_view("f32\0", 4)), std::nullopt);
}

TEST(DTypeTest, EachCppTypeHasItsDType) {
  static_assert(kDTypeOf<bool> == DType::kBool);
  static_assert(kDTypeOf<uint8_t> == DType::kU8 && kDTypeOf<int8_t> == DType::kI8);
  static_assert(kDTypeOf<uint16_t> == DType::kU16 && kDTypeOf<int16_t> == DType::kI16);
  static_assert(kDTypeOf<uint32_t> == DType::kU32 && kDTypeOf<int32_t> == DType::kI32);
  static_assert(kDTypeOf<uint64_t> == DType::kU64 && kDTypeOf<int64_t> == DType::kI64);
  static_assert(kDTypeOf<Float16> == DType::kF16 && kDTypeOf<BFloat16> == DType::kBF16);
  static_assert(kDTypeOf<float> == DType::kF32 && kDTypeOf<double> == DType::kF64);
  static_assert(kDTypeOf<std::complex<float>> == DType::kC64);
#define TANDEM_EXPECT_SIZE(name, type) EXPECT_EQ(DTypeSize(DType::name), sizeof(type)) << #name;
  TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_EXPECT_SIZE)
#undef TANDEM_EXPECT_SIZE
}

TEST(DTypeTest, TheListHasEveryDTypeOfFixedSize) {
  std::set<DType> listed;
#define TANDEM_LIST(name, type) listed.insert(DType::name);
  TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_LIST)
#undef TANDEM_LIST
  EXPECT_EQ(listed.size(), static_cast<size_t>(kNumDTypes) - 2);
  EXPECT_FALSE(listed.contains(DType::kInvalid));
  EXPECT_FALSE(listed.contains(DType::kString));
}

TEST(DTypeSetTest, HoldsWhatItIsGiven) {
  constexpr DTypeSet kEmpty;
  static_assert(kEmpty.IsEmpty() && kEmpty.Size() == 0);
  DTypeSet set = {DType::kF32, DType::kString, DType::kF32};
  EXPECT_EQ(set.Size(), 2);
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(set.Contains(dtype), dtype == DType::kF32 || dtype == DType::kString);
    EXPECT_FALSE(kEmpty.Contains(dtype));
  }
  set.Insert(DType::kBool);
  EXPECT_EQ(set, (DTypeSet{DType::kBool, DType::kF32, DType::kString}));
}

TEST(DTypeSetTest, MayHoldInvalid) {
  // Kernels of ops without a type attribute are kept under it.
  EXPECT_TRUE(DTypeSet{DType::kInvalid}.Contains(DType::kInvalid));
  EXPECT_EQ(DTypeSet{DType::kInvalid}.Size(), 1);
}

TEST(DTypeSetTest, AllIsEverythingButInvalid) {
  EXPECT_EQ(DTypeSet::All().Size(), kNumDTypes - 1);
  EXPECT_FALSE(DTypeSet::All().Contains(DType::kInvalid));
  EXPECT_TRUE(DTypeSet::All().Contains(DType::kString));
}

TEST(DTypeSetTest, UnionAndIntersection) {
  const DTypeSet a = {DType::kI8, DType::kI16};
  const DTypeSet b = {DType::kI16, DType::kI32};
  EXPECT_EQ(a | b, (DTypeSet{DType::kI8, DType::kI16, DType::kI32}));
  EXPECT_EQ(a & b, DTypeSet{DType::kI16});
  EXPECT_TRUE((a & DTypeSet{DType::kBool}).IsEmpty());
}

TEST(DTypeSetTest, NamedSets) {
  EXPECT_EQ(kFloatDTypes.Size(), 4);
  EXPECT_EQ(kIntDTypes.Size(), 8);
  EXPECT_EQ(kRealDTypes.Size(), 12);
  EXPECT_EQ(kNumericDTypes.Size(), 13);
  EXPECT_TRUE((kSignedIntDTypes & kUnsignedIntDTypes).IsEmpty());
  EXPECT_FALSE(kNumericDTypes.Contains(DType::kBool));
  EXPECT_FALSE(kNumericDTypes.Contains(DType::kString));
}

TEST(DTypeSetTest, TextIsInOrderOfNumbers) {
  EXPECT_EQ(Text(DTypeSet()), "{}");
  EXPECT_EQ(Text(DTypeSet{DType::kF64, DType::kF32}), "{f32, f64}");
  EXPECT_EQ(Text(DTypeSet::All()), "{bool, u8, i8, u16, i16, i32, u32, i64, u64, f16, bf16, f32, f64, c64, string}");
}

}  // namespace
}  // namespace tandem
