// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op definitions as data, which tools/select_ops.py writes for builds with a list of ops: what is left of a definition
// once its specs are read. Such builds have neither the parser nor documentation.

#ifndef TANDEM_CORE_LIB_DEFS_OP_DATA_H_
#define TANDEM_CORE_LIB_DEFS_OP_DATA_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/op_def.h"
#include "tandem/status.h"

namespace tandem {

// As ArgDef.
struct ArgData {
  std::string_view name;
  DType dtype;
  int8_t type_attr;
  int8_t type_list_attr;
  int8_t number_attr;
  bool any_dtype;
  bool host_input;
};

// As AttrDef, with the elements of the default: numbers, dtypes and bools, or floating-point numbers, or texts.
struct AttrData {
  std::string_view name;
  AttrKind kind;
  bool is_list;
  DTypeSet allowed_dtypes;
  std::span<const std::string_view> allowed_strings;
  bool has_minimum;
  int64_t minimum;
  bool has_default;
  bool inferred;
  std::string_view spec;
  std::span<const int64_t> default_ints;
  std::span<const float> default_floats;
  std::span<const std::string_view> default_texts;
};

// As OpDef.
struct OpData {
  std::string_view name;
  std::span<const ArgData> inputs;
  std::span<const ArgData> outputs;
  std::span<const AttrData> attrs;
  bool has_side_effects;
  OpKind kind;
  int16_t max_ulp;
  int8_t aliased_input;
  int8_t kernel_type_attr;
};

// The definition without documentation and metadata function. ResourceExhausted if memory for defaults cannot be had.
StatusOr<OpDef> MakeOpDef(const OpData& data);

// Those of this build, sorted by name; only a build with a list of ops has them.
std::span<const OpData> OpsOfBuild();

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_DEFS_OP_DATA_H_
