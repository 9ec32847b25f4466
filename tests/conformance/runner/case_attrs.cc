// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// From JSON to typed attributes.

#include "case_attrs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conformance_case.h"
#include "tandem/dtype.h"
#include "tandem/tensor_shape.h"

namespace tandem::conformance {
namespace {

using nlohmann::json;

// How a scalar of the kind reads one value; empty if that is of another kind.
template <typename T>
std::optional<T> Read(AttrKind kind, const json& value);

template <>
std::optional<bool> Read(AttrKind, const json& value) {
  return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}
template <>
std::optional<int64_t> Read(AttrKind, const json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == '\0' ? std::optional<int64_t>(number) : std::nullopt;
}
template <>
std::optional<float> Read(AttrKind, const json& value) {
  return value.is_number() ? std::optional(value.get<float>()) : std::nullopt;
}
template <>
std::optional<std::string_view> Read(AttrKind, const json& value) {
  return value.is_string() ? std::optional<std::string_view>(value.get_ref<const std::string&>()) : std::nullopt;
}
template <>
std::optional<FunctionAttr> Read(AttrKind, const json& value) {
  return value.is_string() ? std::optional(FunctionAttr{value.get_ref<const std::string&>()}) : std::nullopt;
}
template <>
std::optional<DType> Read(AttrKind, const json& value) {
  return value.is_string() ? ParseDType(value.get_ref<const std::string&>()) : std::nullopt;
}
template <>
std::optional<TensorShape> Read(AttrKind, const json& value) {
  if (!value.is_array()) return std::nullopt;
  TensorShape shape;
  for (const json& dim : value) {
    const std::optional<int64_t> size = Read<int64_t>(AttrKind::kInt, dim);
    if (!size) return std::nullopt;
    shape.Append(*size);
  }
  return shape;
}

// False if the value is not of the type.
template <typename T>
bool SetAs(const std::string& name, AttrKind kind, bool is_list, const json& value, OpAttrs& attrs) {
  if (!is_list) {
    const std::optional<T> scalar = Read<T>(kind, value);
    return scalar && attrs.Set(name, *scalar);
  }
  if (!value.is_array()) return false;
  std::vector<T> list;  // vector<bool> has no data(), which is why lists of bool are set below
  for (const json& element : value) {
    const std::optional<T> scalar = Read<T>(kind, element);
    if (!scalar) return false;
    list.push_back(*scalar);
  }
  return attrs.SetArray(name, std::span<const T>(list));
}
template <>
bool SetAs<bool>(const std::string& name, AttrKind kind, bool is_list, const json& value, OpAttrs& attrs) {
  if (!is_list) {
    const std::optional<bool> scalar = Read<bool>(kind, value);
    return scalar && attrs.Set(name, *scalar);
  }
  if (!value.is_array()) return false;
  const size_t size = value.size();
  const std::unique_ptr<bool[]> list(new bool[size]);
  for (size_t i = 0; i < size; ++i) {
    const std::optional<bool> scalar = Read<bool>(kind, value[i]);
    if (!scalar) return false;
    list[i] = *scalar;
  }
  return attrs.SetArray(name, std::span<const bool>(list.get(), size));
}

bool SetTensor(const std::string& name, const json& value, OpAttrs& attrs) {
  if (!value.is_object()) return false;
  const TensorSpec tensor = ParseTensor(value);
  const std::vector<std::string_view> strings(tensor.strings.begin(), tensor.strings.end());
  return attrs.Set(name, TensorAttr{tensor.metadata, tensor.bytes.data(), strings});
}

template <typename T>
void SetElements(const std::string& name, const TensorSpec& tensor, bool is_list, OpAttrs& attrs) {
  const std::span<const T> elements(reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T));
  is_list ? attrs.SetArray(name, elements) : attrs.Set(name, elements[0]);
}

// {"dtype": "f32", "data": [1, 2]}, or one value as data.
bool SetAnyKind(const std::string& name, const json& value, OpAttrs& attrs) {
  if (!value.is_object() || !value.contains("data")) return false;
  const bool is_list = value["data"].is_array();
  const json data = is_list ? value["data"] : json::array({value["data"]});
  const TensorSpec tensor =
      ParseTensor({{"dtype", value.value("dtype", "")}, {"shape", {data.size()}}, {"data", data}});
  switch (tensor.metadata.dtype) {
    case DType::kBool:
      SetElements<bool>(name, tensor, is_list, attrs);
      return true;
    case DType::kI32:
      SetElements<int32_t>(name, tensor, is_list, attrs);
      return true;
    case DType::kI64:
      SetElements<int64_t>(name, tensor, is_list, attrs);
      return true;
    case DType::kF32:
      SetElements<float>(name, tensor, is_list, attrs);
      return true;
    case DType::kF64:
      SetElements<double>(name, tensor, is_list, attrs);
      return true;
    case DType::kString:
      return SetAs<std::string_view>(name, AttrKind::kString, is_list, is_list ? data : data[0], attrs);
    default:
      return false;
  }
}

bool SetDefined(const std::string& name, const AttrDef& def, const json& value, OpAttrs& attrs) {
  switch (def.kind) {
    case AttrKind::kBool:
      return SetAs<bool>(name, def.kind, def.is_list, value, attrs);
    case AttrKind::kInt:
      return SetAs<int64_t>(name, def.kind, def.is_list, value, attrs);
    case AttrKind::kFloat:
      return SetAs<float>(name, def.kind, def.is_list, value, attrs);
    case AttrKind::kString:
      return SetAs<std::string_view>(name, def.kind, def.is_list, value, attrs);
    case AttrKind::kFunction:
      return SetAs<FunctionAttr>(name, def.kind, def.is_list, value, attrs);
    case AttrKind::kType:
      return SetAs<DType>(name, def.kind, def.is_list, value, attrs);
    case AttrKind::kShape:
      return SetAs<TensorShape>(name, def.kind, def.is_list, value, attrs);
    case AttrKind::kTensor:
      return !def.is_list && SetTensor(name, value, attrs);
    case AttrKind::kAny:
      return SetAnyKind(name, value, attrs);
  }
  return false;
}

bool SetByLooks(const std::string& name, const json& value, OpAttrs& attrs) {
  const bool is_list = value.is_array();
  return SetAs<bool>(name, AttrKind::kBool, is_list, value, attrs) ||
         (!value.is_string() && SetAs<int64_t>(name, AttrKind::kInt, is_list, value, attrs)) ||
         SetAs<float>(name, AttrKind::kFloat, is_list, value, attrs) ||
         SetAs<std::string_view>(name, AttrKind::kString, is_list, value, attrs) || SetTensor(name, value, attrs);
}

// How many tensors an argument stands for.
int64_t SequenceLength(const ArgDef& arg, const OpDef& def, const OpAttrs& attrs, size_t num_args) {
  if (!arg.IsVariadic()) return 1;
  const int index = arg.number_attr >= 0 ? arg.number_attr : arg.type_list_attr;
  const std::string& name = def.attrs[static_cast<size_t>(index)].name;
  int64_t count = 1;
  if (const AttrEntry* given = attrs.Find(name)) {
    if (given->is_array) return given->size;
    internal::GetAttr(given, &count);
    return count;
  }
  const auto is_same = [&](const ArgDef& input) {
    return input.number_attr == arg.number_attr && input.type_list_attr == arg.type_list_attr;
  };
  const auto num_sequences = std::ranges::count_if(def.inputs, is_same);
  if (num_sequences == 0) {
    if (def.defaults) internal::GetAttr(def.defaults->Find(name), &count);
    return count;
  }
  const auto num_fixed = static_cast<int64_t>(def.inputs.size()) - num_sequences;
  return (static_cast<int64_t>(num_args) - num_fixed) / num_sequences;
}

}  // namespace

void SetAttrs(const json& object, const OpDef* def, OpAttrs& attrs) {
  for (const auto& [name, value] : object.items()) {
    const int index = def == nullptr ? -1 : def->FindAttr(name);
    if (index >= 0 && SetDefined(name, def->attrs[static_cast<size_t>(index)], value, attrs)) continue;
    if (!SetByLooks(name, value, attrs)) {
      throw std::runtime_error("attribute " + name + " cannot be " + value.dump());
    }
  }
}

int CountResults(const OpDef& def, const OpAttrs& attrs, size_t num_args) {
  constexpr int64_t kMost = 1000;  // more is a wrong call, which fails before results matter
  int64_t count = 0;
  for (const ArgDef& output : def.outputs) {
    count += std::clamp<int64_t>(SequenceLength(output, def, attrs, num_args), 0, kMost);
  }
  return static_cast<int>(count);
}

}  // namespace tandem::conformance
