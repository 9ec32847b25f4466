// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpRegistry::ToJson: the registry's description of itself. In UTF-8 (what is not UTF-8 becomes U+FFFD), one op a line,
// sorted by name, equal registries giving equal bytes:
//
//   {"format": 1, "ops": [
//   {"name": "tf.MatMul", "doc": TEXT, "side_effects": BOOL, "metadata": BOOL, "host_inputs": BOOL,
//    "kernel_type_attr": NAME, "kind": "elementwise" | "reduction" | "layout", "max_ulp": INT,
//    "aliased_input": INT,
//    "inputs": [ARG, ...], "outputs": [ARG, ...], "attrs": [ATTR, ...]},
//   ...
//   ]}
//
// "metadata" says whether there is a metadata function, "host_inputs" whether any input is one. "kernel_type_attr",
// "kind" and "aliased_input" are absent if there is none; OpKind and OpDef::aliased_input say what they mean. Inputs,
// outputs and attributes are in the order of the definition.
//
//   ARG   {"name": NAME, "dtype": DTYPE | "type_attr": NAME | "type_list_attr": NAME | "any_dtype": true,
//          "number_attr": NAME, "host_input": BOOL}
//         Exactly one of the four says what the elements are. With "number_attr" it is as many tensors as that
//         attribute says, with "type_list_attr" one for each dtype; "number_attr" is else absent.
//   ATTR  {"name": NAME, "kind": "type" | "int" | "float" | "bool" | "string" | "shape" | "tensor" | "func" | "any",
//          "list": BOOL, "inferred": BOOL, "allowed": [DTYPE or TEXT, ...], "minimum": INT, "default": VALUE,
//          "spec": TEXT}
//         "allowed" is there for types, and for strings of a set; "minimum" (of a list: of its length) and "default"
//         only if the definition has one. A call must set an attribute that is neither inferred nor has a default.
//   VALUE is by kind a dtype's name, a number, a number, true or false, a text, an array of dimensions (-1 unknown),
//         or a function's name; of a list an array of these. Floats are the shortest that round to the same f32, or
//         one of the texts "nan", "inf", "-inf"; integers beyond 2^53 in magnitude, also minima, are decimal texts.
//
// DTYPE is Tandem's name ("f32"). The format's number changes when what is there changes meaning, not for additions.

#include "base/json_writer.h"
#include "tandem/attrs_json.h"
#include "tandem/op_registry.h"

namespace tandem {
namespace {

std::string_view KindName(AttrKind kind) {
  constexpr std::string_view kNames[] = {"type", "int", "float", "bool", "string", "shape", "tensor", "func", "any"};
  return kNames[static_cast<int>(kind)];
}

std::string_view KindName(OpKind kind) {
  constexpr std::string_view kNames[] = {"other", "elementwise", "reduction", "layout"};
  return kNames[static_cast<int>(kind)];
}

void WriteValue(JsonWriter& out, bool value) { out.Bool(value); }
void WriteValue(JsonWriter& out, int64_t value) { out.Int(value); }
void WriteValue(JsonWriter& out, float value) { out.Float(value); }
void WriteValue(JsonWriter& out, DType value) { out.String(DTypeName(value)); }
void WriteValue(JsonWriter& out, std::string_view value) { out.String(value); }
void WriteValue(JsonWriter& out, FunctionAttr value) { out.String(value.name); }
void WriteValue(JsonWriter& out, const TensorShape& value) {
  out.Open('[');
  for (int64_t dim : value.dims()) out.Int(dim);
  out.Close(']');
}

template <typename T>
void WriteValues(JsonWriter& out, const AttrEntry& entry) {
  const std::span<const T> values(static_cast<const T*>(entry.data), entry.size);
  if (!entry.is_array) return WriteValue(out, values[0]);
  out.Open('[');
  for (const T& value : values) WriteValue(out, value);
  out.Close(']');
}

// Of the attribute's own type.
void WriteAttrValue(JsonWriter& out, const AttrDef& attr, const AttrEntry& entry) {
  switch (attr.kind) {
    case AttrKind::kType:
      return WriteValues<DType>(out, entry);
    case AttrKind::kInt:
      return WriteValues<int64_t>(out, entry);
    case AttrKind::kFloat:
      return WriteValues<float>(out, entry);
    case AttrKind::kBool:
      return WriteValues<bool>(out, entry);
    case AttrKind::kString:
      return WriteValues<std::string_view>(out, entry);
    case AttrKind::kShape:
      return WriteValues<TensorShape>(out, entry);
    case AttrKind::kFunction:
      return WriteValues<FunctionAttr>(out, entry);
    case AttrKind::kTensor:
    case AttrKind::kAny:
      break;  // definitions give these no default, and AttrsToJson leaves them out
  }
}

void WriteAttr(JsonWriter& out, const OpDef& def, const AttrDef& attr) {
  out.Open('{');
  out.Key("name").String(attr.name);
  out.Key("kind").String(KindName(attr.kind));
  out.Key("list").Bool(attr.is_list);
  out.Key("inferred").Bool(attr.inferred);
  if (attr.kind == AttrKind::kType || !attr.allowed_strings.empty()) {
    out.Key("allowed").Open('[');
    for (int i = 0; attr.kind == AttrKind::kType && i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (attr.allowed_dtypes.Contains(dtype)) out.String(DTypeName(dtype));
    }
    for (const std::string& text : attr.allowed_strings) out.String(text);
    out.Close(']');
  }
  if (attr.has_minimum) out.Key("minimum").Int(attr.minimum);
  if (attr.has_default) WriteAttrValue(out.Key("default"), attr, *def.defaults->Find(attr.name));
  out.Key("spec").String(attr.spec);
  out.Close('}');
}

void WriteArgs(JsonWriter& out, const OpDef& def, const std::vector<ArgDef>& args) {
  out.Open('[');
  for (const ArgDef& arg : args) {
    out.Open('{');
    out.Key("name").String(arg.name);
    if (arg.dtype != DType::kInvalid) out.Key("dtype").String(DTypeName(arg.dtype));
    if (arg.type_attr >= 0) out.Key("type_attr").String(def.attrs[arg.type_attr].name);
    if (arg.type_list_attr >= 0) out.Key("type_list_attr").String(def.attrs[arg.type_list_attr].name);
    if (arg.any_dtype) out.Key("any_dtype").Bool(true);
    if (arg.number_attr >= 0) out.Key("number_attr").String(def.attrs[arg.number_attr].name);
    out.Key("host_input").Bool(arg.host_input);
    out.Close('}');
  }
  out.Close(']');
}

void WriteOp(JsonWriter& out, const OpDef& def) {
  out.Open('{');
  out.Key("name").String(def.name);
  out.Key("doc").String(def.doc);
  out.Key("side_effects").Bool(def.has_side_effects);
  out.Key("metadata").Bool(def.metadata != nullptr);
  out.Key("host_inputs").Bool(def.has_host_inputs);
  if (def.kernel_type_attr >= 0) out.Key("kernel_type_attr").String(def.attrs[def.kernel_type_attr].name);
  if (def.kind != OpKind::kOther) out.Key("kind").String(KindName(def.kind));
  if (def.max_ulp >= 0) out.Key("max_ulp").Int(def.max_ulp);
  if (def.aliased_input >= 0) out.Key("aliased_input").Int(def.aliased_input);
  out.Key("inputs");
  WriteArgs(out, def, def.inputs);
  out.Key("outputs");
  WriteArgs(out, def, def.outputs);
  out.Key("attrs").Open('[');
  for (const AttrDef& attr : def.attrs) WriteAttr(out, def, attr);
  out.Close(']');
  out.Close('}');
}

}  // namespace

std::string OpRegistry::ToJson() const {
  JsonWriter out;
  out.Open('{');
  out.Key("format").Int(1);
  out.Key("ops").Open('[');
  for (const OpDef* def : List()) {
    out.NewLine();
    WriteOp(out, *def);
  }
  std::string text = std::move(out).Take();
  return text + "\n]}\n";
}

std::string AttrsToJson(const OpDef& def, const OpAttrsRef& attrs) {
  JsonWriter out;
  out.Open('{');
  for (const AttrDef& attr : def.attrs) {
    const AttrEntry* const entry = attrs.Find(attr.name);
    if (entry == nullptr || attr.kind == AttrKind::kTensor || attr.kind == AttrKind::kAny) continue;
    WriteAttrValue(out.Key(attr.name), attr, *entry);
  }
  out.Close('}');
  return std::move(out).Take();
}

}  // namespace tandem
