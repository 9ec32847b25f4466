// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes, numbers and tensors of the text of programs (PR-1).

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "program_text.h"
#include "tandem/float16.h"
#include "tandem/op_attrs.h"
#include "tandem/program.h"

namespace tandem {
namespace {

using Strings = std::vector<std::string>;

// The value of attribute "a", which is `text`, if it is of type T.
template <typename T>
std::optional<T> ReadAttr(std::string_view text) {
  const OpAttrsRef attrs = ReadAttrs("{a = " + std::string(text) + "}");
  T value{};
  return attrs.Get("a", &value) ? std::optional(value) : std::nullopt;
}

template <typename T>
std::optional<std::vector<T>> ReadArray(std::string_view text) {
  const OpAttrsRef attrs = ReadAttrs("{a = " + std::string(text) + "}");
  std::span<const T> values;
  if (!attrs.GetArray("a", &values)) return std::nullopt;
  return std::vector<T>(values.begin(), values.end());
}

TEST(ProgramTextValuesTest, PR1_ScalarsOfEveryTypeAreRead) {
  EXPECT_EQ(ReadAttr<bool>("true"), true);
  EXPECT_EQ(ReadAttr<bool>("false"), false);
  EXPECT_EQ(ReadAttr<bool>("1 : i1"), true);
  EXPECT_EQ(ReadAttr<int64_t>("2"), 2);
  EXPECT_EQ(ReadAttr<int64_t>("-3 : i64"), -3);
  EXPECT_EQ(ReadAttr<int32_t>("2 : i32"), 2);
  EXPECT_EQ(ReadAttr<float>("2.5"), 2.5f);
  EXPECT_EQ(ReadAttr<float>("2 : f32"), 2.0f);
  EXPECT_EQ(ReadAttr<double>("2.5 : f64"), 2.5);
  EXPECT_EQ(ReadAttr<DType>("bf16"), DType::kBF16);
  EXPECT_EQ(ReadAttr<DType>("i1"), DType::kBool);
  EXPECT_EQ(ReadAttr<DType>("string"), DType::kString);
  EXPECT_EQ(ReadAttr<TensorShape>("shape<>"), TensorShape());
  EXPECT_EQ(ReadAttr<TensorShape>("shape<2x3>"), TensorShape({2, 3}));
}

TEST(ProgramTextValuesTest, PR1_AttributesThatReferToOtherTextAreRead) {
  const OpAttrsRef attrs = ReadAttrs("{s = \"text\", f = @name, g = @\"a b\", l = {a = 1, b = {c = \"d\"}}, e = {}}");
  std::string_view text;
  ASSERT_TRUE(attrs.Get("s", &text));
  EXPECT_EQ(text, "text");
  FunctionAttr function;
  ASSERT_TRUE(attrs.Get("f", &function));
  EXPECT_EQ(function.name, "name");
  ASSERT_TRUE(attrs.Get("g", &function));
  EXPECT_EQ(function.name, "a b");
  OpAttrsRef list;
  ASSERT_TRUE(attrs.Get("l", &list));
  int64_t number = 0;
  EXPECT_TRUE(list.Get("a", &number));
  EXPECT_EQ(number, 1);
  OpAttrsRef inner;
  ASSERT_TRUE(list.Get("b", &inner));
  ASSERT_TRUE(inner.Get("c", &text));
  EXPECT_EQ(text, "d");
  ASSERT_TRUE(attrs.Get("e", &inner));
  EXPECT_TRUE(inner.empty());
}

TEST(ProgramTextValuesTest, PR1_ArraysOfEveryTypeAreRead) {
  EXPECT_EQ(ReadArray<int64_t>("[1, -2]"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(ReadArray<int32_t>("[1, 2] : i32"), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(ReadArray<int32_t>("[1 : i32, 2 : i32]"), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(ReadArray<int32_t>("[1, 2 : i32]"), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(ReadArray<float>("[1, 2.5]"), (std::vector<float>{1, 2.5}));
  EXPECT_EQ(ReadArray<float>("[1, 2] : f32"), (std::vector<float>{1, 2}));
  EXPECT_EQ(ReadArray<double>("[1, 0.1] : f64"), (std::vector<double>{1, 0.1}));
  EXPECT_EQ(ReadArray<DType>("[f32, i1] : dtype"), (std::vector<DType>{DType::kF32, DType::kBool}));
  EXPECT_EQ(ReadArray<TensorShape>("[shape<>, shape<0x-1>]"),
            (std::vector<TensorShape>{TensorShape(), TensorShape({0, -1})}));
  const OpAttrsRef attrs = ReadAttrs(
      "{b = [true, false, 1], s = [\"x\", \"\"] : string, f = [@f, @g], l = [{a = 1}, {}] : attrs, "
      "t = [dense<1> : tensor<i32>, dense<[\"x\"]> : tensor<1xstring>] : tensor}");
  std::span<const bool> bools;
  ASSERT_TRUE(attrs.GetArray("b", &bools));
  EXPECT_TRUE(std::ranges::equal(bools, std::vector<bool>{true, false, true}));
  std::span<const std::string_view> strings;
  ASSERT_TRUE(attrs.GetArray("s", &strings));
  EXPECT_TRUE(std::ranges::equal(strings, std::vector<std::string_view>{"x", ""}));
  std::span<const FunctionAttr> functions;
  ASSERT_TRUE(attrs.GetArray("f", &functions));
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[1].name, "g");
  std::span<const OpAttrsRef> lists;
  ASSERT_TRUE(attrs.GetArray("l", &lists));
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].GetOr("a", int64_t{0}), 1);
  EXPECT_TRUE(lists[1].empty());
  std::span<const TensorAttr> tensors;
  ASSERT_TRUE(attrs.GetArray("t", &tensors));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[1].strings[0], "x");
}

TEST(ProgramTextValuesTest, PR1_EmptyArraysHaveATypeOrAreOfI64) {
  EXPECT_EQ(ReadArray<int64_t>("[]"), std::vector<int64_t>());
  EXPECT_EQ(ReadArray<int64_t>("[] : i64"), std::vector<int64_t>());
  EXPECT_EQ(ReadArray<int32_t>("[] : i32"), std::vector<int32_t>());
  EXPECT_EQ(ReadArray<float>("[] : f32"), std::vector<float>());
  EXPECT_EQ(ReadArray<double>("[] : f64"), std::vector<double>());
  EXPECT_EQ(ReadArray<DType>("[] : dtype"), std::vector<DType>());
  EXPECT_EQ(ReadArray<TensorShape>("[] : shape"), std::vector<TensorShape>());
  EXPECT_EQ(ReadArray<std::string_view>("[] : string"), std::vector<std::string_view>());
  const OpAttrsRef attrs = ReadAttrs("{b = [] : bool, t = [] : tensor, f = [] : function, l = [] : attrs}");
  const AttrType types[] = {AttrType::kBool, AttrType::kFunction, AttrType::kAttrs, AttrType::kTensor};
  ASSERT_EQ(attrs.entries().size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(attrs.entries()[i].type, types[i]);
    EXPECT_TRUE(attrs.entries()[i].is_array);
    EXPECT_EQ(attrs.entries()[i].size, 0u);
  }
}

TEST(ProgramTextValuesTest, PR1_AttributesAreSortedAndNamedByAnyText) {
  const OpAttrsRef attrs = ReadAttrs("{z = 1, \"a b\\n\" = 2, T = f32, \"\" = 3}");
  ASSERT_EQ(attrs.entries().size(), 4u);
  EXPECT_EQ(attrs.entries()[0].name, "");
  EXPECT_EQ(attrs.entries()[1].name, "T");
  EXPECT_EQ(attrs.entries()[2].name, "a b\n");
  EXPECT_EQ(attrs.entries()[3].name, "z");
  EXPECT_FALSE(ReadInstruction("corert.executeop(%h) \"op\"() {}").attrs);
}

TEST(ProgramTextValuesTest, PR1_TensorAttributesHaveAllElements) {
  const auto read = [](std::string_view text) {
    const OpAttrsRef attrs = ReadAttrs("{a = " + std::string(text) + "}");
    TensorAttr tensor;
    EXPECT_TRUE(attrs.Get("a", &tensor)) << text;
    std::vector<int32_t> elements(static_cast<size_t>(tensor.data == nullptr ? 0 : tensor.metadata.num_elements()));
    if (!elements.empty()) std::memcpy(elements.data(), tensor.data, elements.size() * sizeof(int32_t));
    Strings strings(tensor.strings.begin(), tensor.strings.end());
    return std::tuple(tensor.metadata, elements, strings);
  };
  const auto expected = [](DType dtype, TensorShape shape, std::vector<int32_t> elements, Strings strings) {
    return std::tuple(TensorMetadata(dtype, shape), elements, strings);
  };
  EXPECT_EQ(read("dense<[1, 2]> : tensor<2xi32>"), expected(DType::kI32, {2}, {1, 2}, {}));
  EXPECT_EQ(read("dense<7> : tensor<2x2xi32>"), expected(DType::kI32, {2, 2}, {7, 7, 7, 7}, {}));
  EXPECT_EQ(read("dense<\"ab\"> : tensor<3xstring>"), expected(DType::kString, {3}, {}, {"ab", "ab", "ab"}));
  EXPECT_EQ(read("dense<7> : tensor<0x2xi32>"), expected(DType::kI32, {0, 2}, {}, {}));
  EXPECT_EQ(read("dense<> : tensor<2x0xi32>"), expected(DType::kI32, {2, 0}, {}, {}));
}

TEST(ProgramTextValuesTest, PR1_ListsMayBeNestedAsDeepAsAttributesAre) {
  const auto nested = [](uint32_t depth, std::string_view innermost) {
    std::string text;
    for (uint32_t i = 0; i < depth; ++i) text += "{a = ";
    text += innermost;
    return text + std::string(depth, '}');
  };
  const ProgramInstruction deep = ReadInstruction("corert.executeop(%h) \"op\"() " + nested(kMaxAttrDepth, "1"));
  ASSERT_TRUE(deep.attrs);
  EXPECT_EQ(deep.attrs->depth(), kMaxAttrDepth);
  EXPECT_EQ(ReadInstruction("corert.executeop(%h) \"op\"() " + nested(kMaxAttrDepth, "{}")).attrs->depth(), 64u);
  EXPECT_EQ(FirstLineOfError(InFunction("corert.executeop(%h) \"op\"() " + nested(kMaxAttrDepth + 1, "1"))),
            "t.mlir:2:349: expected lists of attributes in one another at most 64 deep");
}

TEST(ProgramTextValuesTest, PR1_IntegersReachTheLimitsOfTheirTypes) {
  EXPECT_EQ(ReadAttr<int64_t>("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ReadAttr<int64_t>("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ReadAttr<int64_t>("0x7fffffffffffffff"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ReadAttr<int64_t>("-0"), 0);
  EXPECT_EQ(ReadAttr<int64_t>("00012"), 12);
  EXPECT_EQ(ReadAttr<int32_t>("-2147483648 : i32"), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(ReadAttr<int32_t>("0x1F : i32"), 31);
  EXPECT_EQ(ElementsOf<uint64_t>(ReadDense("dense<18446744073709551615> : tensor<u64>")),
            std::vector<uint64_t>{std::numeric_limits<uint64_t>::max()});
}

struct WrongNumber {
  std::string_view text;
  std::string_view what;
};

TEST(ProgramTextValuesTest, PR1_NumbersThatDoNotFitAreErrors) {
  const WrongNumber kWrong[] = {
      {"9223372036854775808", "expected -9223372036854775808 to 9223372036854775807 for i64, got 9223372036854775808"},
      {"-9223372036854775809",
       "expected -9223372036854775808 to 9223372036854775807 for i64, got -9223372036854775809"},
      {"123456789012345678901234567890",
       "expected -9223372036854775808 to 9223372036854775807 for i64, got 123456789012345678901234567890"},
      {"2147483648 : i32", "expected -2147483648 to 2147483647 for i32, got 2147483648"},
      {"2.0 : i32", "expected an integer for i32, got 2.0"},
      {"nan : i64", "expected an integer for i64, got nan"},
      {"2 : i1", "expected 0 to 1 for bool, got 2"},
      {"1e400", "expected a number that f32 can hold, got 1e400"},
      {"1e39", "expected a number that f32 can hold, got 1e39"},
      {"-1e400 : f64", "expected a number that f64 can hold, got -1e400"},
      {"0x100000000 : f32", "expected a number that f32 can hold, got 0x100000000"},
      {"0x10000000000000000 : f64", "expected a number that f64 can hold, got 0x10000000000000000"},
  };
  for (const WrongNumber& wrong : kWrong) {
    EXPECT_EQ(FirstLineOfError(InFunction("corert.executeop(%h) \"op\"() {a = " + std::string(wrong.text) + "}")),
              "t.mlir:2:34: " + std::string(wrong.what));
  }
}

uint32_t BitsOf(std::string_view text) {
  return ElementsOf<uint32_t>(ReadDense("dense<" + std::string(text) + "> : tensor<f32>")).at(0);
}
uint64_t DoubleBitsOf(std::string_view text) {
  return ElementsOf<uint64_t>(ReadDense("dense<" + std::string(text) + "> : tensor<f64>")).at(0);
}
uint16_t HalfBitsOf(std::string_view text) {
  return ElementsOf<uint16_t>(ReadDense("dense<" + std::string(text) + "> : tensor<f16>")).at(0);
}

TEST(ProgramTextValuesTest, PR1_FloatsHaveTheBitsOfTheNearestNumber) {
  EXPECT_EQ(BitsOf("0.1"), 0x3DCCCCCDu);
  EXPECT_EQ(BitsOf("-0.0"), 0x80000000u);
  EXPECT_EQ(BitsOf("-0"), 0x80000000u);
  EXPECT_EQ(BitsOf("1."), 0x3F800000u);
  EXPECT_EQ(BitsOf("1e0"), 0x3F800000u);
  EXPECT_EQ(BitsOf("100E-2"), 0x3F800000u);
  EXPECT_EQ(BitsOf("3.4028234663852886e38"), 0x7F7FFFFFu);
  EXPECT_EQ(BitsOf("340282356779733661637539395458142568447"), 0x7F7FFFFFu);  // just below the middle to 2^128
  EXPECT_EQ(BitsOf("1.401298464324817e-45"), 1u);
  EXPECT_EQ(BitsOf("7.006492321624085e-46"), 0u);  // just below half of the smallest
  EXPECT_EQ(BitsOf("7.006492321624086e-46"), 1u);  // just above
  EXPECT_EQ(BitsOf("1e-400"), 0u);
  EXPECT_EQ(BitsOf("16777217"), 0x4B800000u);  // in the middle: the even one
  EXPECT_EQ(BitsOf("16777219"), 0x4B800002u);
  EXPECT_EQ(BitsOf("16777217.0000000000000000000000001"), 0x4B800001u);
  EXPECT_EQ(DoubleBitsOf("0.1"), 0x3FB999999999999Au);
  EXPECT_EQ(DoubleBitsOf("9007199254740993"), 0x4340000000000000u);
  EXPECT_EQ(DoubleBitsOf("9007199254740993.00000000000000000000000000000000001"), 0x4340000000000001u);
  EXPECT_EQ(DoubleBitsOf("1.7976931348623157e308"), 0x7FEFFFFFFFFFFFFFu);
  EXPECT_EQ(DoubleBitsOf("4.9406564584124654e-324"), 1u);
  EXPECT_EQ(DoubleBitsOf("2.4703282292062327e-324"), 0u);
  EXPECT_EQ(DoubleBitsOf("2.4703282292062328e-324"), 1u);
  EXPECT_EQ(DoubleBitsOf("2.2250738585072011e-308"), 0x000FFFFFFFFFFFFFu);
  EXPECT_EQ(DoubleBitsOf("0." + std::string(400, '0') + "1e401"), 0x3FF0000000000000u);
  EXPECT_EQ(DoubleBitsOf("1" + std::string(400, '0') + "e-400"), 0x3FF0000000000000u);
  EXPECT_EQ(DoubleBitsOf("0e99999999999999999999"), 0u);
  EXPECT_EQ(DoubleBitsOf("1e-99999999999999999999"), 0u);
}

TEST(ProgramTextValuesTest, PR1_NanAndInfinityAndBitsAreRead) {
  EXPECT_EQ(BitsOf("nan"), 0x7FC00000u);
  EXPECT_EQ(BitsOf("inf"), 0x7F800000u);
  EXPECT_EQ(BitsOf("-inf"), 0xFF800000u);
  EXPECT_EQ(BitsOf("0x7fc00001"), 0x7FC00001u);
  EXPECT_EQ(BitsOf("0xFFFFFFFF"), 0xFFFFFFFFu);
  EXPECT_EQ(BitsOf("0x1"), 1u);
  EXPECT_EQ(DoubleBitsOf("nan"), 0x7FF8000000000000u);
  EXPECT_EQ(DoubleBitsOf("-inf"), 0xFFF0000000000000u);
  EXPECT_EQ(DoubleBitsOf("0xfff8000000000001"), 0xFFF8000000000001u);
  EXPECT_EQ(HalfBitsOf("nan"), 0x7E00u);
  EXPECT_EQ(HalfBitsOf("inf"), 0x7C00u);
  EXPECT_EQ(HalfBitsOf("0xfe01"), 0xFE01u);
  EXPECT_EQ(ElementsOf<uint16_t>(ReadDense("dense<[nan, -inf, 0x7fc1]> : tensor<3xbf16>")),
            (std::vector<uint16_t>{0x7FC0, 0xFF80, 0x7FC1}));
  const std::optional<std::vector<float>> floats = ReadArray<float>("[0x7fc00001, nan, -inf]");
  ASSERT_TRUE(floats);
  EXPECT_EQ(std::bit_cast<uint32_t>((*floats)[0]), 0x7FC00001u);
  EXPECT_EQ((*floats)[2], -std::numeric_limits<float>::infinity());
}

std::string Print(const char* format, double value) {
  char text[1600];
  const int size = std::snprintf(text, sizeof(text), format, value);
  return std::string(text, static_cast<size_t>(size));
}

// Against the C library, in texts from too short to tell the number to exact.
TEST(ProgramTextValuesTest, PR1_DecimalNumbersAreRoundedOnce) {
  std::mt19937_64 random(1);
  std::vector<std::string> numbers;
  for (int i = 0; i < 3000; ++i) {
    uint64_t bits = random();
    // Half of them of the sizes that f32 has, too.
    if (i % 2 == 0) bits = (bits & ~(uint64_t{0x7FF} << 52)) | ((0x3FF - 150 + random() % 278) << 52);
    const double value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) continue;
    static constexpr const char* kFormats[] = {"%.3e", "%.8e", "%.16e", "%.17e", "%.30e", "%.1100e"};
    numbers.push_back(Print(kFormats[i / 2 % 6], value));
    // In the middle between two of f32, and a little above.
    const auto single = std::bit_cast<uint32_t>(static_cast<float>(value));
    const double low = std::bit_cast<float>(single);
    const double high = std::bit_cast<float>(single + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    numbers.push_back(Print("%.200f", (low + high) / 2));
    numbers.push_back(numbers.back() + "00001");
    // In the middle between two of f64, and a little above.
    numbers.push_back(std::to_string((uint64_t{1} << 53) + (bits >> 11) % (uint64_t{1} << 53) / 2 * 2 + 1));
    numbers.push_back(numbers.back() + ".000000000000000000000000000000000000001");
  }
  std::string text = "dense<[0";
  for (const std::string& number : numbers) text += ", " + number;
  text += "]> : tensor<" + std::to_string(numbers.size() + 1);
  const std::vector<double> doubles = ElementsOf<double>(ReadDense(text + "xf64>"));
  ASSERT_EQ(doubles.size(), numbers.size() + 1);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double expected = std::strtod(numbers[i].c_str(), nullptr);
    ASSERT_EQ(std::bit_cast<uint64_t>(doubles[i + 1]), std::bit_cast<uint64_t>(expected)) << numbers[i];
    const float single = std::strtof(numbers[i].c_str(), nullptr);
    if (!std::isfinite(single)) continue;
    ASSERT_EQ(BitsOf(numbers[i]), std::bit_cast<uint32_t>(single)) << numbers[i];
  }
}

// The middle between two neighbours of f16 goes to the even one, and what is beside it by less than an f32 or f64 can
// tell to the nearer one.
TEST(ProgramTextValuesTest, PR1_HalvesAreRoundedFromTheDecimalText) {
  std::string text = "dense<[";
  std::vector<uint16_t> expected;
  const auto add = [&](const std::string& number, uint16_t bits) {
    if (!expected.empty()) text += ", ";
    text += number;
    expected.push_back(bits);
  };
  for (uint16_t bits = 0; bits < 0x7BFF; bits = static_cast<uint16_t>(bits + 7)) {
    const double low = Float16::FromBits(bits);
    const double high = Float16::FromBits(static_cast<uint16_t>(bits + 1));
    const std::string middle = Print("%.30f", (low + high) / 2);  // exact
    const auto above = static_cast<uint16_t>(bits + 1);
    add(Print("%.30f", low), bits);
    add(middle, bits % 2 == 0 ? bits : above);
    add(middle + "00000000000000000001", above);
    // One less in the last of the digits, and nines behind it.
    std::string below = middle;
    size_t i = below.size() - 1;
    for (; below[i] == '0' || below[i] == '.'; --i) {
      if (below[i] == '0') below[i] = '9';
    }
    --below[i];
    add(below + "99999999999999999999", bits);
  }
  const ProgramConstant constant = ReadDense(text + "]> : tensor<" + std::to_string(expected.size()) + "xf16>");
  EXPECT_EQ(ElementsOf<uint16_t>(constant), expected);
  EXPECT_EQ(HalfBitsOf("65519.99999999999999999999"), 0x7BFFu);
  EXPECT_EQ(HalfBitsOf("5.9604644775390625e-08"), 1u);   // 2^-24
  EXPECT_EQ(HalfBitsOf("2.98023223876953125e-08"), 0u);  // half of it
  EXPECT_EQ(HalfBitsOf("2.980232238769531250000000000001e-08"), 1u);
  EXPECT_EQ(HalfBitsOf("0.1"), 0x2E66u);
  EXPECT_EQ(FirstLineOfError(InFunction("%a = corert.const_dense_tensor dense<65520> : tensor<f16>")),
            "t.mlir:2:38: expected a number that f16 can hold, got 65520");
}

TEST(ProgramTextValuesTest, PR1_DenseTensorsOfEveryDTypeAreRead) {
  EXPECT_EQ(ElementsOf<uint8_t>(ReadDense("dense<[true, false, 1, 0]> : tensor<4xi1>")),
            (std::vector<uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(ElementsOf<uint8_t>(ReadDense("dense<[0, 255]> : tensor<2xu8>")), (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ(ElementsOf<int8_t>(ReadDense("dense<[-128, 127]> : tensor<2xi8>")), (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(ElementsOf<uint16_t>(ReadDense("dense<[65535]> : tensor<1xu16>")), std::vector<uint16_t>{65535});
  EXPECT_EQ(ElementsOf<int16_t>(ReadDense("dense<[-32768]> : tensor<1xi16>")), std::vector<int16_t>{-32768});
  EXPECT_EQ(ElementsOf<int32_t>(ReadDense("dense<[-2]> : tensor<1xi32>")), std::vector<int32_t>{-2});
  EXPECT_EQ(ElementsOf<uint32_t>(ReadDense("dense<[4294967295]> : tensor<1xu32>")), std::vector<uint32_t>{4294967295});
  EXPECT_EQ(ElementsOf<int64_t>(ReadDense("dense<[-3]> : tensor<1xi64>")), std::vector<int64_t>{-3});
  EXPECT_EQ(ElementsOf<uint64_t>(ReadDense("dense<[3]> : tensor<1xu64>")), std::vector<uint64_t>{3});
  EXPECT_EQ(ElementsOf<uint16_t>(ReadDense("dense<[1.0]> : tensor<1xf16>")), std::vector<uint16_t>{0x3C00});
  EXPECT_EQ(ElementsOf<uint16_t>(ReadDense("dense<[1.0]> : tensor<1xbf16>")), std::vector<uint16_t>{0x3F80});
  EXPECT_EQ(ElementsOf<float>(ReadDense("dense<[1, 2.5]> : tensor<2xf32>")), (std::vector<float>{1, 2.5}));
  EXPECT_EQ(ElementsOf<double>(ReadDense("dense<[0.1]> : tensor<1xf64>")), std::vector<double>{0.1});
  EXPECT_EQ(ElementsOf<float>(ReadDense("dense<[(1.0, -2.5), 3]> : tensor<2xc64>")),
            (std::vector<float>{1, -2.5, 3, 0}));
}

TEST(ProgramTextValuesTest, PR1_DenseTensorsAreNestedAsTheirShapeIs) {
  const ProgramConstant scalar = ReadDense("dense<5> : tensor<i32>");
  EXPECT_EQ(scalar.metadata, TensorMetadata(DType::kI32, {}));
  EXPECT_FALSE(scalar.is_splat);
  const ProgramConstant matrix = ReadDense("dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>");
  EXPECT_EQ(matrix.metadata, TensorMetadata(DType::kI32, {2, 3}));
  EXPECT_EQ(ElementsOf<int32_t>(matrix), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_FALSE(matrix.is_splat);
  const ProgramConstant cube = ReadDense("dense<[[[1], [2]], [[3], [4]]]> : tensor<2x2x1xi32>");
  EXPECT_EQ(cube.metadata, TensorMetadata(DType::kI32, {2, 2, 1}));
  EXPECT_EQ(ElementsOf<int32_t>(cube), (std::vector<int32_t>{1, 2, 3, 4}));
  const ProgramConstant splat = ReadDense("dense<0.5> : tensor<1000x1000xf32>");
  EXPECT_EQ(splat.metadata, TensorMetadata(DType::kF32, {1000, 1000}));
  EXPECT_TRUE(splat.is_splat);
  EXPECT_EQ(ElementsOf<float>(splat), std::vector<float>{0.5});
  EXPECT_TRUE(ReadDense("dense<(1.0, 2.0)> : tensor<4xc64>").is_splat);
}

TEST(ProgramTextValuesTest, PR1_EmptyTensorsAreRead) {
  for (const std::string_view text :
       {"dense<> : tensor<0x3xf32>", "dense<[]> : tensor<0x3xf32>", "dense<\"0x\"> : tensor<0x3xf32>"}) {
    const ProgramConstant constant = ReadDense(text);
    EXPECT_EQ(constant.metadata, TensorMetadata(DType::kF32, {0, 3})) << text;
    EXPECT_TRUE(constant.bytes.empty()) << text;
    EXPECT_FALSE(constant.is_splat) << text;
  }
  EXPECT_TRUE(ReadDense("dense<[[], []]> : tensor<2x0xf32>").bytes.empty());
}

TEST(ProgramTextValuesTest, PR1_HexadecimalTensorsAreLittleEndian) {
  EXPECT_EQ(ElementsOf<float>(ReadDense("dense<\"0x0000803f00000040\"> : tensor<2xf32>")), (std::vector<float>{1, 2}));
  EXPECT_EQ(ElementsOf<uint16_t>(ReadDense("dense<\"0x0102A0fF\"> : tensor<2xu16>")),
            (std::vector<uint16_t>{0x0201, 0xFFA0}));
  EXPECT_EQ(ElementsOf<float>(ReadDense("dense<\"0x0000803f00000040\"> : tensor<c64>")), (std::vector<float>{1, 2}));
  EXPECT_EQ(ElementsOf<uint8_t>(ReadDense("dense<\"0x0100\"> : tensor<2xbool>")), (std::vector<uint8_t>{1, 0}));
}

TEST(ProgramTextValuesTest, PR1_CreatedTensorsHaveTheirDType) {
  const auto read = [](std::string_view text) {
    const auto constant = ReadInstruction("%a = corert.create_dense_tensor." + std::string(text)).constant;
    return constant ? *constant : ProgramConstant();
  };
  const ProgramConstant matrix = read("f32 {shape = [2, 2], values = [1.0, 2.0, 3, 4.0 : f32]}");
  EXPECT_EQ(matrix.metadata, TensorMetadata(DType::kF32, {2, 2}));
  EXPECT_EQ(ElementsOf<float>(matrix), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_FALSE(matrix.is_splat);
  const ProgramConstant splat = read("i8 {values = [-7 : i8], shape = [2 : i64, 3 : i64]}");
  EXPECT_EQ(splat.metadata, TensorMetadata(DType::kI8, {2, 3}));
  EXPECT_EQ(ElementsOf<int8_t>(splat), std::vector<int8_t>{-7});
  EXPECT_TRUE(splat.is_splat);
  const ProgramConstant half = read("f16 {shape = shape<1>, value = 0.1}");
  EXPECT_EQ(ElementsOf<uint16_t>(half), std::vector<uint16_t>{0x2E66});
  EXPECT_FALSE(half.is_splat);
  EXPECT_EQ(ElementsOf<uint8_t>(read("i1 {shape = [2], values = [true, false]}")), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(ElementsOf<float>(read("c64 {shape = [], values = [(1.0, 2.0)]}")), (std::vector<float>{1, 2}));
  EXPECT_TRUE(read("f64 {shape = [0], values = []}").bytes.empty());
  const ProgramInstruction instruction = ReadInstruction("%a = corert.create_dense_tensor.i32 {shape = [], value = 1}");
  EXPECT_FALSE(instruction.attrs);
}

TEST(ProgramTextValuesTest, PR1_StringsHaveEscapes) {
  const ProgramInstruction instruction = ReadInstruction(
      "%a = corert.const_string_tensor {shape = [2, 2], values = [\"a\\\"b\\\\\", \"\\n\\t\\x00\\xfF\", \"\", "
      "\"\u00fc // {\"]}");
  ASSERT_NE(instruction.constant, nullptr);
  EXPECT_EQ(instruction.constant->metadata, TensorMetadata(DType::kString, {2, 2}));
  EXPECT_EQ(instruction.constant->strings, (Strings{"a\"b\\", std::string("\n\t\0\xFF", 4), "", "\xC3\xBC // {"}));
  EXPECT_TRUE(instruction.constant->bytes.empty());
  const auto splat = ReadInstruction("%a = corert.const_string_tensor {shape = [3], value = \"x\"}").constant;
  ASSERT_NE(splat, nullptr);
  EXPECT_TRUE(splat->is_splat);
  EXPECT_EQ(splat->strings, Strings{"x"});
}

}  // namespace
}  // namespace tandem
