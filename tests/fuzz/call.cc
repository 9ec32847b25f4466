// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls to attribute sets, and to and from text. Elements are written as the hexadecimal digits of their bytes and
// numbers of attributes as "%a", so that what is read back is the same, bit for bit.

#include "call.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tandem::fuzz {
namespace {

using nlohmann::json;

constexpr std::array kKindNames = {"dense", "scalar", "sparse", "null", "error", "shared"};
constexpr std::array kWayNames = {"external", "moved", "made_op", "queued", "threads", "pending", "pending_metadata"};
constexpr std::array kChainNames = {"none", "ready", "pending", "error"};
constexpr std::array kRequestNames = {"none", "live", "cancelled", "past", "cancelled_late"};
constexpr int kNumAttrTypes = static_cast<int>(AttrType::kAttrs) + 1;

template <typename Names>
size_t IndexOf(const Names& names, const std::string& name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return i;
  }
  throw std::runtime_error("unknown name \"" + name + "\"");
}

std::string HexOf(const std::vector<std::byte>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<int>(byte) >> 4];
    text += kDigits[static_cast<int>(byte) & 15];
  }
  return text;
}

std::vector<std::byte> BytesOf(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

json JsonOf(const TensorShape& shape) { return std::vector<int64_t>(shape.dims().begin(), shape.dims().end()); }

TensorShape ShapeOf(const json& dims) {
  TensorShape shape;
  for (const json& dim : dims) shape.Append(dim.get<int64_t>());
  return shape;
}

json JsonOf(const TensorSpec& tensor) {
  json object = {{"dtype", std::string(DTypeName(tensor.metadata.dtype))}, {"shape", JsonOf(tensor.metadata.shape)}};
  if (tensor.metadata.dtype == DType::kString) {
    object["strings"] = tensor.strings;
  } else {
    object["bytes"] = HexOf(tensor.bytes);
  }
  return object;
}

TensorSpec TensorOf(const json& object) {
  TensorSpec tensor;
  tensor.metadata = {ParseDType(object.at("dtype").get<std::string>()).value_or(DType::kInvalid),
                     ShapeOf(object.at("shape"))};
  if (object.contains("strings")) tensor.strings = object["strings"].get<std::vector<std::string>>();
  if (object.contains("bytes")) tensor.bytes = BytesOf(object["bytes"]);
  return tensor;
}

json JsonOf(const AttrSpec& attr) {
  json object = {{"name", attr.name}, {"type", std::string(AttrTypeName(attr.type))}, {"array", attr.is_array}};
  if (!attr.integers.empty()) object["integers"] = attr.integers;
  for (const double real : attr.reals) {
    char text[64];
    std::snprintf(text, sizeof(text), "%a", real);
    object["reals"].push_back(text);
  }
  if (!attr.texts.empty()) object["texts"] = attr.texts;
  for (const TensorShape& shape : attr.shapes) object["shapes"].push_back(JsonOf(shape));
  for (const TensorSpec& tensor : attr.tensors) object["tensors"].push_back(JsonOf(tensor));
  for (const AttrSpec& inner : attr.nested) object["nested"].push_back(JsonOf(inner));
  return object;
}

AttrType AttrTypeOfName(const std::string& name) {
  for (int i = 0; i < kNumAttrTypes; ++i) {
    if (AttrTypeName(static_cast<AttrType>(i)) == name) return static_cast<AttrType>(i);
  }
  throw std::runtime_error("unknown attribute type \"" + name + "\"");
}

AttrSpec AttrOf(const json& object) {
  AttrSpec attr;
  attr.name = object.at("name");
  attr.type = AttrTypeOfName(object.at("type"));
  attr.is_array = object.at("array");
  const auto list = [&](const char* key) { return object.contains(key) ? object[key] : json::array(); };
  attr.integers = list("integers").get<std::vector<int64_t>>();
  for (const json& real : list("reals")) attr.reals.push_back(std::strtod(real.get<std::string>().c_str(), nullptr));
  attr.texts = list("texts").get<std::vector<std::string>>();
  for (const json& shape : list("shapes")) attr.shapes.push_back(ShapeOf(shape));
  for (const json& tensor : list("tensors")) attr.tensors.push_back(TensorOf(tensor));
  for (const json& inner : list("nested")) attr.nested.push_back(AttrOf(inner));
  return attr;
}

// Any scalar needs an element.
template <typename T>
void SetValues(const AttrSpec& spec, const T* values, size_t size, OpAttrs& attrs) {
  if (spec.is_array) {
    attrs.SetArray(spec.name, std::span<const T>(values, size));
  } else if (size > 0) {
    attrs.Set(spec.name, values[0]);
  }
}

template <typename T, typename From>
void SetConverted(const AttrSpec& spec, const std::vector<From>& from, OpAttrs& attrs) {
  const std::unique_ptr<T[]> values(new T[from.size()]());
  for (size_t i = 0; i < from.size(); ++i) values[i] = static_cast<T>(from[i]);
  SetValues(spec, values.get(), from.size(), attrs);
}

void SetTexts(const AttrSpec& spec, OpAttrs& attrs) {
  const std::vector<std::string_view> views(spec.texts.begin(), spec.texts.end());
  if (spec.type == AttrType::kString) return SetValues(spec, views.data(), views.size(), attrs);
  std::vector<FunctionAttr> functions;
  for (const std::string_view view : views) functions.push_back({view});
  SetValues(spec, functions.data(), functions.size(), attrs);
}

void SetTensors(const AttrSpec& spec, OpAttrs& attrs) {
  std::vector<std::vector<std::string_view>> strings;
  std::vector<TensorAttr> tensors;
  for (const TensorSpec& tensor : spec.tensors) strings.emplace_back(tensor.strings.begin(), tensor.strings.end());
  for (size_t i = 0; i < spec.tensors.size(); ++i) {
    tensors.push_back({spec.tensors[i].metadata, spec.tensors[i].bytes.data(), strings[i]});
  }
  SetValues(spec, tensors.data(), tensors.size(), attrs);
}

void SetAttr(const AttrSpec& spec, OpAttrs& attrs) {
  switch (spec.type) {
    case AttrType::kBool:
      return SetConverted<bool>(spec, spec.integers, attrs);
    case AttrType::kI32:
      return SetConverted<int32_t>(spec, spec.integers, attrs);
    case AttrType::kI64:
      return SetConverted<int64_t>(spec, spec.integers, attrs);
    case AttrType::kDType:
      return SetConverted<DType>(spec, spec.integers, attrs);
    case AttrType::kF32:
      return SetConverted<float>(spec, spec.reals, attrs);
    case AttrType::kF64:
      return SetConverted<double>(spec, spec.reals, attrs);
    case AttrType::kString:
    case AttrType::kFunction:
      return SetTexts(spec, attrs);
    case AttrType::kShape:
      return SetValues(spec, spec.shapes.data(), spec.shapes.size(), attrs);
    case AttrType::kTensor:
      return SetTensors(spec, attrs);
    case AttrType::kAttrs:
      break;
  }
  OpAttrs nested;
  SetAttrs(spec.nested, nested);
  attrs.Set(spec.name, OpAttrsRef(nested));
}

template <typename T, typename To>
void CopyValues(const AttrEntry& entry, std::vector<To>& to) {
  const auto* values = static_cast<const T*>(entry.data);
  for (uint32_t i = 0; i < entry.size; ++i) to.push_back(static_cast<To>(values[i]));
}

AttrSpec SpecOf(const AttrEntry& entry) {
  AttrSpec spec{.name = std::string(entry.name), .type = entry.type, .is_array = entry.is_array};
  switch (entry.type) {
    case AttrType::kBool:
      CopyValues<bool>(entry, spec.integers);
      break;
    case AttrType::kI32:
      CopyValues<int32_t>(entry, spec.integers);
      break;
    case AttrType::kI64:
      CopyValues<int64_t>(entry, spec.integers);
      break;
    case AttrType::kDType:
      CopyValues<DType>(entry, spec.integers);
      break;
    case AttrType::kF32:
      CopyValues<float>(entry, spec.reals);
      break;
    case AttrType::kF64:
      CopyValues<double>(entry, spec.reals);
      break;
    case AttrType::kString:
      CopyValues<std::string_view>(entry, spec.texts);
      break;
    case AttrType::kShape:
      CopyValues<TensorShape>(entry, spec.shapes);
      break;
    case AttrType::kFunction:
      for (uint32_t i = 0; i < entry.size; ++i) {
        spec.texts.emplace_back(static_cast<const FunctionAttr*>(entry.data)[i].name);
      }
      break;
    case AttrType::kTensor:
      for (uint32_t i = 0; i < entry.size; ++i) {
        const TensorAttr& attr = static_cast<const TensorAttr*>(entry.data)[i];
        TensorSpec tensor{.metadata = attr.metadata, .bytes = {}, .strings = {}};
        const auto* bytes = static_cast<const std::byte*>(attr.data);
        if (bytes != nullptr) tensor.bytes.assign(bytes, bytes + attr.metadata.byte_size());
        tensor.strings.assign(attr.strings.begin(), attr.strings.end());
        spec.tensors.push_back(std::move(tensor));
      }
      break;
    case AttrType::kAttrs:
      if (entry.size > 0) spec.nested = SpecsOf(static_cast<const OpAttrsRef*>(entry.data)[0]);
      break;
  }
  return spec;
}

}  // namespace

void SetAttrs(const std::vector<AttrSpec>& specs, OpAttrs& attrs) {
  for (const AttrSpec& spec : specs) SetAttr(spec, attrs);
}

std::vector<AttrSpec> SpecsOf(const OpAttrsRef& attrs) {
  std::vector<AttrSpec> specs;
  for (const AttrEntry& entry : attrs.entries()) specs.push_back(SpecOf(entry));
  return specs;
}

std::string TextOf(const Call& call) {
  json object = {{"op", call.op},
                 {"inputs", json::array()},
                 {"attrs", json::array()},
                 {"results", call.num_results},
                 {"chain", kChainNames[static_cast<size_t>(call.chain)]},
                 {"request", kRequestNames[static_cast<size_t>(call.request)]},
                 {"way", kWayNames[static_cast<size_t>(call.way)]}};
  for (const InputSpec& input : call.inputs) {
    json one = {{"kind", kKindNames[static_cast<size_t>(input.kind)]}};
    if (input.kind <= InputKind::kSparse) one["tensor"] = JsonOf(input.tensor);
    object["inputs"].push_back(one);
  }
  for (const AttrSpec& attr : call.attrs) object["attrs"].push_back(JsonOf(attr));
  if (call.fails_input) object["fails_input"] = true;
  if (!call.then.empty()) object["then"] = call.then;
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Call ParseCall(std::string_view text) {
  const json object = json::parse(text);
  Call call;
  call.op = object.at("op");
  for (const json& input : object.at("inputs")) {
    InputSpec& spec = call.inputs.emplace_back();
    spec.kind = static_cast<InputKind>(IndexOf(kKindNames, input.at("kind")));
    if (input.contains("tensor")) spec.tensor = TensorOf(input["tensor"]);
  }
  for (const json& attr : object.at("attrs")) call.attrs.push_back(AttrOf(attr));
  call.num_results = object.at("results");
  call.chain = static_cast<ChainKind>(IndexOf(kChainNames, object.at("chain")));
  call.request = static_cast<RequestKind>(IndexOf(kRequestNames, object.at("request")));
  call.way = static_cast<Way>(IndexOf(kWayNames, object.at("way")));
  call.fails_input = object.value("fails_input", false);
  call.then = object.value("then", "");
  return call;
}

}  // namespace tandem::fuzz
