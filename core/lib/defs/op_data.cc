// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Definitions made of data.

#include "defs/op_data.h"

#include <memory>
#include <string>

#include "defs/attr_default.h"

namespace tandem {

namespace {

ArgDef MakeArg(const ArgData& data) {
  ArgDef arg;
  arg.name = data.name;
  arg.dtype = data.dtype;
  arg.type_attr = data.type_attr;
  arg.type_list_attr = data.type_list_attr;
  arg.number_attr = data.number_attr;
  arg.any_dtype = data.any_dtype;
  arg.host_input = data.host_input;
  return arg;
}

AttrDef MakeAttr(const AttrData& data) {
  AttrDef attr;
  attr.name = data.name;
  attr.kind = data.kind;
  attr.is_list = data.is_list;
  attr.allowed_dtypes = data.allowed_dtypes;
  attr.allowed_strings.assign(data.allowed_strings.begin(), data.allowed_strings.end());
  attr.has_minimum = data.has_minimum;
  attr.minimum = data.minimum;
  attr.has_default = data.has_default;
  attr.inferred = data.inferred;
  attr.spec = data.spec;
  return attr;
}

internal::AttrDefault MakeDefault(const AttrData& data) {
  internal::AttrDefault value;
  value.ints.assign(data.default_ints.begin(), data.default_ints.end());
  value.floats.assign(data.default_floats.begin(), data.default_floats.end());
  value.strings.assign(data.default_texts.begin(), data.default_texts.end());
  if (data.kind == AttrKind::kType) {
    for (const int64_t dtype : data.default_ints) value.dtypes.push_back(static_cast<DType>(dtype));
  }
  return value;
}

}  // namespace

StatusOr<OpDef> MakeOpDef(const OpData& data) {
  OpDef def;
  def.own_name = std::make_shared<const std::string>(data.name);
  def.name = *def.own_name;
  for (const ArgData& input : data.inputs) {
    def.inputs.push_back(MakeArg(input));
    def.has_host_inputs = def.has_host_inputs || input.host_input;
  }
  for (const ArgData& output : data.outputs) def.outputs.push_back(MakeArg(output));
  OpAttrs defaults;
  for (const AttrData& attr : data.attrs) {
    def.attrs.push_back(MakeAttr(attr));
    if (attr.has_default && !internal::AddDefault({def.attrs.back(), MakeDefault(attr)}, defaults)) {
      return Status::OutOfMemory();
    }
  }
  if (!defaults.empty()) {
    def.defaults = FrozenOpAttrs::Create(defaults.entries());
    if (!def.defaults) return Status::OutOfMemory();
  }
  def.has_side_effects = data.has_side_effects;
  def.kind = data.kind;
  def.max_ulp = data.max_ulp;
  def.aliased_input = data.aliased_input;
  def.kernel_type_attr = data.kernel_type_attr;
  return def;
}

}  // namespace tandem
