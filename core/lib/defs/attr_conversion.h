// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers in attributes that are stored as another type than the definition's.

#ifndef TANDEM_CORE_LIB_DEFS_ATTR_CONVERSION_H_
#define TANDEM_CORE_LIB_DEFS_ATTR_CONVERSION_H_

#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/status.h"

namespace tandem {

// The dtype of elements that attributes of this type can be: of bool, i32, i64, f32, f64 and string; else kInvalid.
DType ElementDType(AttrType type);

// The attributes of a call with all numbers as the definition `def` has them, where nothing is lost by that: i32
// becomes i64; i32 and i64 that an f32 holds exactly become f32; f64 becomes the nearest f32, unless it is too large
// for one. Lists likewise. Frozen; empty if there is nothing to convert, or if something cannot be. Fails only for want
// of memory.
StatusOr<OpAttrsRef> ConvertAttrs(const OpDef& def, const OpAttrsRef& attrs);

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_DEFS_ATTR_CONVERSION_H_
