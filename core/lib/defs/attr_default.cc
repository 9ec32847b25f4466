// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// AddDefault: the default of an attribute as a value.

#include "defs/attr_default.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

namespace tandem::internal {

namespace {
template <typename T>
bool AddValues(const AttrDef& def, std::span<const T> values, OpAttrs& attrs) {
  return def.is_list ? attrs.SetArray(def.name, values) : attrs.Set(def.name, values[0]);
}
}  // namespace

bool AddDefault(const ParsedAttr& attr, OpAttrs& attrs) {
  const AttrDef& def = attr.def;
  const AttrDefault& value = attr.default_value;
  switch (def.kind) {
    case AttrKind::kType:
      return AddValues<DType>(def, value.dtypes, attrs);
    case AttrKind::kInt:
      return AddValues<int64_t>(def, value.ints, attrs);
    case AttrKind::kFloat:
      return AddValues<float>(def, value.floats, attrs);
    case AttrKind::kShape:
      return AddValues<TensorShape>(def, value.shapes, attrs);
    case AttrKind::kBool: {
      const auto bools = std::make_unique<bool[]>(value.ints.size());
      std::copy(value.ints.begin(), value.ints.end(), bools.get());
      return AddValues<bool>(def, {bools.get(), value.ints.size()}, attrs);
    }
    case AttrKind::kString: {
      const std::vector<std::string_view> views(value.strings.begin(), value.strings.end());
      return AddValues<std::string_view>(def, views, attrs);
    }
    case AttrKind::kFunction: {
      std::vector<FunctionAttr> names;
      for (const std::string& name : value.strings) names.push_back({name});
      return AddValues<FunctionAttr>(def, names, attrs);
    }
    case AttrKind::kTensor:
    case AttrKind::kAny:
      break;
  }
  return false;
}

}  // namespace tandem::internal
