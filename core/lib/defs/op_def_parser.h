// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The grammar of argument and attribute specs of op definitions, one spec at a time.

#ifndef TANDEM_CORE_LIB_DEFS_OP_DEF_PARSER_H_
#define TANDEM_CORE_LIB_DEFS_OP_DEF_PARSER_H_

#include <string>
#include <string_view>

#include "defs/attr_default.h"
#include "tandem/op_def.h"
#include "tandem/status.h"

namespace tandem::internal {

// "name: type" or "name: number * type", the words not yet looked up.
struct ParsedArg {
  std::string name;
  std::string number;  // empty if there is none
  std::string type;
};

// Errors say what is wrong with the spec, without repeating it. `out` keeps what was read before the fault, so that
// the name is known whenever it could be read. Thread-safe.
Status ParseArgSpec(std::string_view spec, ParsedArg* out);
Status ParseAttrSpec(std::string_view spec, ParsedAttr* out);

// Whether `name` has the form of an op's name: two or more parts of letters, digits and underscores joined by dots,
// none starting with a digit.
bool IsOpName(std::string_view name);

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_DEFS_OP_DEF_PARSER_H_
