// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Defaults of attributes, as definitions give them.

#ifndef TANDEM_CORE_LIB_DEFS_ATTR_DEFAULT_H_
#define TANDEM_CORE_LIB_DEFS_ATTR_DEFAULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/op_attrs.h"
#include "tandem/op_def.h"

namespace tandem::internal {

// A default: one element, or those of a list, in the member for the attribute's kind.
struct AttrDefault {
  std::vector<int64_t> ints;  // kInt, kBool
  std::vector<float> floats;
  std::vector<std::string> strings;  // kString, kFunction
  std::vector<DType> dtypes;
  std::vector<TensorShape> shapes;
};

struct ParsedAttr {
  AttrDef def;
  AttrDefault default_value;
};

// Adds the default of `attr` to `attrs` under its name, with the attribute type of its kind. False if that failed.
bool AddDefault(const ParsedAttr& attr, OpAttrs& attrs);

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_DEFS_ATTR_DEFAULT_H_
