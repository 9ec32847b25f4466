// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Printing of attributes, alone and in sets, as error messages and logs show them (OH-3: sorted).

#include "tandem/attr_entry.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/op_attrs.h"

namespace tandem {
namespace {

using std::string_view_literals::operator""sv;

std::string Print(const OpAttrsRef& attrs) {
  MessageBuilder text;
  text.Append(attrs);
  return std::string(text.view());
}

// OH-3
TEST(AttrEntryTest, SortsByName) {
  OpAttrs attrs;
  attrs.Set("keep_dims", true);
  attrs.Set("axis", int64_t{1});
  attrs.Set("", false);
  EXPECT_EQ(Print(attrs), "{ = false, axis = 1, keep_dims = true}");
  EXPECT_EQ(Print(attrs.Freeze()), Print(attrs));
  EXPECT_EQ(Print(OpAttrsRef()), "{}");
}

TEST(AttrEntryTest, ScalarsOfEveryType) {
  constexpr float tensor_data[4] = {};
  OpAttrs inner;
  inner.Set("x", int32_t{-5});
  OpAttrs attrs;
  attrs.Set("attrs", OpAttrsRef(inner));
  attrs.Set("bool", false);
  attrs.Set("dtype", DType::kBF16);
  attrs.Set("f32", 0.1f);
  attrs.Set("f64", -3.0);
  attrs.Set("function", FunctionAttr{"body"});
  attrs.Set("i64", std::numeric_limits<int64_t>::min());
  attrs.Set("shape", TensorShape({2, 3}));
  attrs.Set("string", "text");
  attrs.Set("tensor", TensorAttr{TensorMetadata(DType::kF32, {2, 2}), tensor_data, {}});
  EXPECT_EQ(Print(attrs),
            "{attrs = {x = -5}, bool = false, dtype = bf16, f32 = 0.1, f64 = -3.0, function = @body, "
            "i64 = -9223372036854775808, shape = shape [2,3], string = \"text\", tensor = tensor f32[2,2]}");
}

TEST(AttrEntryTest, Arrays) {
  OpAttrs attrs;
  attrs.SetArray<int64_t>("a", std::array<int64_t, 2>{1, 2});
  attrs.SetArray<float>("b", std::array<float, 2>{1.0f, 2.5f});
  attrs.SetArray<std::string_view>("c", std::array<std::string_view, 2>{"x", ""});
  attrs.SetArray<TensorShape>("d", std::array<TensorShape, 2>{TensorShape({2, 3}), TensorShape()});
  attrs.SetArray<bool>("e", {});
  attrs.SetArray<OpAttrsRef>("f", std::array<OpAttrsRef, 2>{});
  EXPECT_EQ(Print(attrs),
            "{a = [1, 2], b = [1.0, 2.5], c = [\"x\", \"\"], d = [shape [2,3], shape []], e = [], f = [{}, {}]}");
}

TEST(AttrEntryTest, FloatsReadBackAsFloats) {
  OpAttrs attrs;
  attrs.SetArray<float>("f", std::array<float, 5>{1.0f, 16777216.0f, 1e30f, std::numeric_limits<float>::infinity(),
                                                  std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(Print(attrs), "{f = [1.0, 16777216.0, 1e+30, inf, nan]}");
}

TEST(AttrEntryTest, StringsAreEscaped) {
  OpAttrs attrs;
  attrs.Set("s", "a\"b\\c\n\t\r\x01\x7F\0\xC3\xA9"sv);
  EXPECT_EQ(Print(attrs), "{s = \"a\\\"b\\\\c\\n\\t\\r\\x01\\x7f\\x00\xC3\xA9\"}");
}

TEST(AttrEntryTest, LongSetsAreCut) {
  OpAttrs attrs;
  const std::vector<int64_t> values(100000, 1);
  attrs.SetArray<int64_t>("a", values);
  for (int i = 0; i < 1000; ++i) attrs.Set("b" + std::to_string(i), int64_t{i});
  const std::string text = Print(attrs);
  EXPECT_EQ(text.size(), MessageBuilder::kCapacity);
  EXPECT_TRUE(text.ends_with("..."));
}

TEST(AttrEntryTest, TypeNames) {
  EXPECT_EQ(AttrTypeName(AttrType::kBool), "bool");
  EXPECT_EQ(AttrTypeName(AttrType::kI64), "i64");
  EXPECT_EQ(AttrTypeName(AttrType::kDType), "dtype");
  EXPECT_EQ(AttrTypeName(AttrType::kAttrs), "attrs");
}

}  // namespace
}  // namespace tandem
