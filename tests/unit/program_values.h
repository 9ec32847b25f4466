// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes and constants of every kind, for tests of the forms of programs.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_VALUES_H_
#define TANDEM_TESTS_UNIT_PROGRAM_VALUES_H_

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "program_builder.h"

namespace tandem {

// Text with bytes that formats of text stumble over: zero, quotes, ends of lines, what is no UTF-8, and what is.
inline std::string AwkwardText() {
  return std::string("a\0\"\\\n\r\t\x01\x7f%@#{}//", 16) + "\xff\xc3( \xc3\xa9\xf0\x9f\x98\x80";
}

// Every type of attribute as a scalar, an array and an empty array; each array begins with the scalar's value.
template <typename T>
void SetEachWay(OpAttrs& attrs, const std::string& name, const std::vector<T>& values) {
  EXPECT_TRUE(attrs.Set(name, values[0]));
  EXPECT_TRUE(attrs.SetArray(name + "s", std::span<const T>(values)));
  EXPECT_TRUE(attrs.SetArray(name + ".none", std::span<const T>()));
}

// Floating-point numbers that are told by their bits alone, or by all their digits.
inline std::vector<uint32_t> FloatBits() {
  return {0x7fc00001,  // a NaN with other bits than the usual one's
          0x7fc00000,  // that one
          0xffc00000,  // and with a sign
          0x7f800001,  // one that signals
          0x80000000, 0x00000000, 0x7f800000, 0xff800000, 0x00000001, 0x80000003, 0x007fffff,
          0x7f7fffff, 0x3dcccccd, 0x3f800000, 0xc0490fdb, 0x4b800001, 0x501502f9};
}
inline std::vector<uint64_t> DoubleBits() {
  return {0x7ff8000000000001, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0x8000000000000000,
          0x0000000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x0000000000000001, 0x800fffffffffffff,
          0x7fefffffffffffff, 0x3fb999999999999a, 0x3ff0000000000000, 0x44b52d02c7e14af6, 0xc00921fb54442d18};
}

// The bits as they are, which copies of floats need not keep on every processor.
template <typename T, typename Bits>
void SetBitsEachWay(OpAttrs& attrs, const std::string& name, const std::vector<Bits>& bits) {
  const std::span<const T> values(reinterpret_cast<const T*>(bits.data()), bits.size());
  EXPECT_TRUE(attrs.Set(name, values[0]));
  EXPECT_TRUE(attrs.SetArray(name + "s", values));
  EXPECT_TRUE(attrs.SetArray(name + ".none", values.first(0)));
}

inline RcRef<const FrozenOpAttrs> EveryAttribute() {
  OpAttrs attrs;
  const bool bools[] = {true, false};
  EXPECT_TRUE(attrs.Set("bool", bools[0]) && attrs.SetArray("bools", std::span<const bool>(bools)) &&
              attrs.SetArray("bool.none", std::span<const bool>()));
  SetEachWay<int32_t>(attrs, "i32", {-1, INT32_MIN, INT32_MAX, 0});
  SetEachWay<int64_t>(attrs, "i64", {-64, INT64_MIN, INT64_MAX, 0, 63, 64});
  SetBitsEachWay<float>(attrs, "f32", FloatBits());
  SetBitsEachWay<double>(attrs, "f64", DoubleBits());
  std::vector<DType> dtypes;
  for (int i = 1; i < kNumDTypes; ++i) dtypes.push_back(static_cast<DType>(i));
  SetEachWay<DType>(attrs, "dtype", dtypes);
  const std::string awkward = AwkwardText();
  const std::string large(70, 'x');
  SetEachWay<std::string_view>(attrs, "string", {awkward, "", large, "0x00", "SAME", awkward});
  SetEachWay<TensorShape>(attrs, "shape",
                          {{2, -1}, {}, {0}, {1, 0, 5, 7, 1, 1, 1, 1}, {INT64_MIN, INT64_MAX}, {int64_t{1} << 40}});
  const uint16_t halves[] = {0x3c00, 0x0001, 0x7e01, 0x8000};
  const std::string_view strings[] = {awkward, large};
  const uint8_t many[70] = {0, 1, 255};
  SetEachWay<TensorAttr>(attrs, "tensor",
                         {{{DType::kF16, {2, 2}}, halves, {}},
                          {{DType::kString, {2, 1}}, nullptr, strings},
                          {{DType::kU8, {7, 10}}, many, {}},
                          {{DType::kF32, {3, 0}}, nullptr, {}},
                          {{DType::kI8, {}}, many, {}},
                          {{DType::kString, {0, 1}}, nullptr, {}}});
  SetEachWay<FunctionAttr>(attrs, "function", {{"main"}, {awkward}, {large}, {""}});
  OpAttrs innermost;
  EXPECT_TRUE(innermost.Set(awkward, int64_t{1}) && innermost.Set("", true));
  OpAttrs inner;
  EXPECT_TRUE(inner.Set("inner", OpAttrsRef(innermost)) && inner.Set("none", OpAttrsRef()));
  SetEachWay<OpAttrsRef>(attrs, "attrs", {OpAttrsRef(inner), OpAttrsRef(), OpAttrsRef(innermost)});
  EXPECT_TRUE(attrs.Set(awkward, std::string_view(large)) && attrs.Set(large, 1.5f));
  return Frozen(attrs);
}

// Constants of every dtype, of several forms.
inline std::vector<std::shared_ptr<const ProgramConstant>> EveryConstant() {
  std::vector<uint16_t> halves = {0x0000, 0x8000, 0x0001, 0x83ff, 0x3c00, 0x3555, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
  halves.insert(halves.end(), {0xfe00, 0x7c01, 0x7fff, 0x7fc0, 0x7f80, 0xff80, 0x3f80, 0x7f7f, 0x7fc1, 0x0080});
  const std::vector<uint32_t> floats = FloatBits();
  std::vector<std::shared_ptr<const ProgramConstant>> all = {
      Constant<uint8_t>(DType::kBool, {3}, {1, 0, 1}),
      Constant<uint8_t>(DType::kU8, {2, 2}, {0, 1, 128, 255}),
      Constant<uint8_t>(DType::kI8, {2, 2, 1}, {0, 1, 128, 255}),
      Constant<uint16_t>(DType::kU16, {3}, {0, 32768, 65535}),
      Constant<uint16_t>(DType::kI16, {3}, {0, 32768, 65535}),
      Constant<uint32_t>(DType::kI32, {3}, {0, 0x80000000, 0xffffffff}),
      Constant<uint32_t>(DType::kU32, {3}, {0, 0x80000000, 0xffffffff}),
      Constant<uint64_t>(DType::kI64, {1, 3}, {0, uint64_t{1} << 63, ~uint64_t{0}}),
      Constant<uint64_t>(DType::kU64, {3, 1}, {0, uint64_t{1} << 63, ~uint64_t{0}}),
      Constant(DType::kF16, {static_cast<int64_t>(halves.size())}, halves),
      Constant(DType::kBF16, {static_cast<int64_t>(halves.size())}, halves),
      Constant(DType::kF32, {static_cast<int64_t>(floats.size())}, floats),
      Constant(DType::kF64, {5, 3}, DoubleBits()),
      Constant(DType::kC64, {2, 4}, std::vector<uint32_t>(floats.begin(), floats.begin() + 16)),
      Constant<uint32_t>(DType::kF32, {}, {0x3fc00000}),
      Constant<uint32_t>(DType::kF32, {0}, {}),
      Constant<uint32_t>(DType::kC64, {int64_t{1} << 24, 0, 3}, {}),
      Splat<uint32_t>(DType::kF32, {1 << 12, 1 << 12}, 0x7fc00001),
      Splat<uint16_t>(DType::kF16, {0}, 0x3c00),
      Splat<uint64_t>(DType::kC64, {2}, 0x40000000'3f800000),
      Splat<uint8_t>(DType::kBool, {2, 2}, 1),
      Splat<uint8_t>(DType::kU8, {1}, 1),
  };
  std::vector<uint64_t> many(65);
  for (size_t i = 0; i < many.size(); ++i) many[i] = uint64_t{i} << 56 | i;
  all.push_back(Constant(DType::kU64, {5, 13}, many));
  return all;
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_VALUES_H_
