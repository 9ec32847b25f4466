// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Names of dtypes.

#include "tandem/dtype.h"

namespace tandem {

namespace {
struct Names {
  std::string_view tandem;
  std::string_view tensorflow;
};
constexpr Names kNames[kNumDTypes] = {
    {"invalid", ""},   {"bool", "bool"},  {"u8", "uint8"},      {"i8", "int8"},
    {"u16", "uint16"}, {"i16", "int16"},  {"i32", "int32"},     {"u32", "uint32"},
    {"i64", "int64"},  {"u64", "uint64"}, {"f16", "half"},      {"bf16", "bfloat16"},
    {"f32", "float"},  {"f64", "double"}, {"c64", "complex64"}, {"string", "string"},
};
}  // namespace

std::string_view DTypeName(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return i < std::size(kNames) ? kNames[i].tandem : "invalid";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (name == kNames[i].tandem || name == kNames[i].tensorflow) return static_cast<DType>(i);
  }
  return std::nullopt;
}

void AppendTo(MessageBuilder& out, DType dtype) { out.AppendText(DTypeName(dtype)); }

void AppendTo(MessageBuilder& out, DTypeSet dtypes) {
  out.AppendText("{");
  bool first = true;
  for (int i = 1; i < kNumDTypes; ++i) {
    if (!dtypes.Contains(static_cast<DType>(i))) continue;
    if (!first) out.AppendText(", ");
    first = false;
    out.AppendText(kNames[i].tandem);
  }
  out.AppendText("}");
}

}  // namespace tandem
