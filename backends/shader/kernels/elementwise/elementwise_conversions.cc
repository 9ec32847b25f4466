// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What tf.Cast computes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/element_types.h"
#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/elementwise/elementwise_functions.h"

namespace tandem::shader {

namespace {

// The dtypes that elements are computed in.
enum class ElementClass : uint8_t { kF32, kI32, kU32, kBool, kF64, kI64, kU64, kC64 };
constexpr size_t kNumClasses = kMayHaveAllDTypes ? 8 : 4;

ElementClass ClassOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return ElementClass::kBool;
    case DType::kF64:
      return ElementClass::kF64;
    case DType::kI64:
      return ElementClass::kI64;
    case DType::kU64:
      return ElementClass::kU64;
    case DType::kC64:
      return ElementClass::kC64;
    default:
      break;
  }
  switch (ArithmeticDType(dtype)) {
    case DType::kI32:
      return ElementClass::kI32;
    case DType::kU32:
      return ElementClass::kU32;
    default:
      return ElementClass::kF32;
  }
}

// How `x`, of the class of the row, is said as an element of the dtype of the column. bf16 and f16 of what f32 does not
// hold are rounded once; results of narrow dtypes are in the type that these are computed in.
struct ConversionRow {
  std::string_view to[kNumDTypes];
};
#define TANDEM_FROM_F32(x)                                                                                     \
  {                                                                                                            \
    "", "u32(!is_zero(" x "))", "min(to_u32(" x "), 255u)", "clamp(to_i32(" x "), -128, 127)",                 \
        "min(to_u32(" x "), 65535u)", "clamp(to_i32(" x "), -32768, 32767)", "to_i32(" x ")", "to_u32(" x ")", \
        "i64(" x ")", "u64(" x ")", x, x, x, "f64(" x ")", "c64(" x ")", ""                                    \
  }
#define TANDEM_FROM_INTEGER(is_true, bf16)                                                                       \
  {                                                                                                              \
    "", is_true, "u32(a)", "i32(a)", "u32(a)", "i32(a)", "i32(a)", "u32(a)", "i64(a)", "u64(a)", "f32(a)", bf16, \
        "f32(a)", "f64(a)", "c64(f32(a))", ""                                                                    \
  }
constexpr ConversionRow kConversionTexts[] = {
    {TANDEM_FROM_F32("a")},
    {TANDEM_FROM_INTEGER("u32(a != 0)", "f32(bf16(a))")},
    {TANDEM_FROM_INTEGER("u32(a != 0u)", "f32(bf16(a))")},
    {TANDEM_FROM_INTEGER("a", "f32(a)")},
    {{"", "u32(!(a == 0.0))", "min(u32(a), 255u)", "clamp(i32(a), -128, 127)", "min(u32(a), 65535u)",
      "clamp(i32(a), -32768, 32767)", "i32(a)", "u32(a)", "i64(a)", "u64(a)", "f32(f16(a))", "f32(bf16(a))", "f32(a)",
      "a", "c64(f32(a))", ""}},
    {TANDEM_FROM_INTEGER("u32(a != i64(0))", "f32(bf16(a))")},
    {TANDEM_FROM_INTEGER("u32(a != u64(0u))", "f32(bf16(a))")},
    {TANDEM_FROM_F32("real_of(a)")},
};
#undef TANDEM_FROM_F32
#undef TANDEM_FROM_INTEGER

constexpr ShaderSource Conversion(std::string_view expression) { return {"tf.Cast", &ComposeElementwise, expression}; }
constexpr auto kConversions = [] {
  std::array<std::array<ShaderSource, kNumDTypes>, kNumClasses> sources{};
  for (size_t from = 0; from < kNumClasses; ++from) {
    for (size_t to = 0; to < kNumDTypes; ++to) sources[from][to] = Conversion(kConversionTexts[from].to[to]);
  }
  return sources;
}();
constexpr ShaderSource kTruncation = Conversion("truncate_for_f16(a)");
constexpr ShaderSource kTruncationToBf16 = Conversion("truncate_for_bf16(a)");
constexpr ShaderSource kTruncationFromF64[] = {Conversion("f32(f16(without_bits(a, 42u)))"),
                                               Conversion("f32(bf16(without_bits(a, 45u)))"),
                                               Conversion("f32(without_bits(a, 29u))")};

}  // namespace

const ShaderSource& ConversionSource(DType from, DType to, bool truncates) {
  if (truncates && from == DType::kF64) {
    if (to == DType::kF16) return kTruncationFromF64[0];
    if (to == DType::kBF16) return kTruncationFromF64[1];
    if (to == DType::kF32) return kTruncationFromF64[2];
  }
  if (truncates && from == DType::kF32 && to == DType::kF16) return kTruncation;
  if (truncates && from == DType::kF32 && to == DType::kBF16) return kTruncationToBf16;
  return kConversions[static_cast<size_t>(ClassOf(from))][static_cast<size_t>(to)];
}

}  // namespace tandem::shader
