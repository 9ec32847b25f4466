// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Comparison of attributes' values.

#ifndef TANDEM_CORE_LIB_DEFS_ATTR_COMPARISON_H_
#define TANDEM_CORE_LIB_DEFS_ATTR_COMPARISON_H_

#include "tandem/attr_entry.h"

namespace tandem {

// Whether values of these types can be compared: bool, numbers, dtypes, strings, function names and shapes.
bool IsComparable(AttrType type);
// Whether two attributes, whatever their names, have the same type and value: of floating-point numbers the same bits,
// so that 0 and -0 are two. False for types that cannot be compared.
bool HaveSameValue(const AttrEntry& a, const AttrEntry& b);

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_DEFS_ATTR_COMPARISON_H_
