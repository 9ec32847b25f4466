// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// AttrEntry: names of attribute types, printing of values.

#include "tandem/attr_entry.h"

#include "tandem/op_attrs.h"

namespace tandem {
namespace {

// Integral values get ".0", so that a float is never taken for an integer.
template <typename T>
void AppendFloat(MessageBuilder& out, T value) {
  MessageBuilder digits;
  digits.Append(value);
  out.AppendText(digits.view());
  if (digits.view().find_first_of(".en") == std::string_view::npos) out.AppendText(".0");
}

void AppendValue(MessageBuilder& out, bool value) { out.AppendText(value ? "true" : "false"); }
void AppendValue(MessageBuilder& out, int32_t value) { out.Append(value); }
void AppendValue(MessageBuilder& out, int64_t value) { out.Append(value); }
void AppendValue(MessageBuilder& out, float value) { AppendFloat(out, value); }
void AppendValue(MessageBuilder& out, double value) { AppendFloat(out, value); }
void AppendValue(MessageBuilder& out, DType value) { out.Append(value); }
void AppendValue(MessageBuilder& out, std::string_view value) { AppendQuoted(out, value); }
void AppendValue(MessageBuilder& out, const TensorShape& value) { out.Append("shape ", value); }
void AppendValue(MessageBuilder& out, const TensorAttr& value) { out.Append("tensor ", value.metadata); }
void AppendValue(MessageBuilder& out, const FunctionAttr& value) { out.Append("@", value.name); }
void AppendValue(MessageBuilder& out, const OpAttrsRef& value) { out.Append(value); }

template <typename T>
void AppendValues(MessageBuilder& out, const AttrEntry& entry) {
  const T* values = static_cast<const T*>(entry.data);
  if (!entry.is_array) return AppendValue(out, *values);
  out.AppendText("[");
  // Elements that no longer fit would not show.
  for (uint32_t i = 0; i < entry.size && out.view().size() < MessageBuilder::kCapacity; ++i) {
    if (i != 0) out.AppendText(", ");
    AppendValue(out, values[i]);
  }
  out.AppendText("]");
}

}  // namespace

std::string_view AttrTypeName(AttrType type) {
  switch (type) {
    case AttrType::kBool:
      return "bool";
    case AttrType::kI32:
      return "i32";
    case AttrType::kI64:
      return "i64";
    case AttrType::kF32:
      return "f32";
    case AttrType::kF64:
      return "f64";
    case AttrType::kDType:
      return "dtype";
    case AttrType::kString:
      return "string";
    case AttrType::kShape:
      return "shape";
    case AttrType::kTensor:
      return "tensor";
    case AttrType::kFunction:
      return "function";
    case AttrType::kAttrs:
      return "attrs";
  }
  return "invalid";
}

void AppendTo(MessageBuilder& out, const AttrEntry& entry) {
  switch (entry.type) {
    case AttrType::kBool:
      return AppendValues<bool>(out, entry);
    case AttrType::kI32:
      return AppendValues<int32_t>(out, entry);
    case AttrType::kI64:
      return AppendValues<int64_t>(out, entry);
    case AttrType::kF32:
      return AppendValues<float>(out, entry);
    case AttrType::kF64:
      return AppendValues<double>(out, entry);
    case AttrType::kDType:
      return AppendValues<DType>(out, entry);
    case AttrType::kString:
      return AppendValues<std::string_view>(out, entry);
    case AttrType::kShape:
      return AppendValues<TensorShape>(out, entry);
    case AttrType::kTensor:
      return AppendValues<TensorAttr>(out, entry);
    case AttrType::kFunction:
      return AppendValues<FunctionAttr>(out, entry);
    case AttrType::kAttrs:
      return AppendValues<OpAttrsRef>(out, entry);
  }
}

}  // namespace tandem
