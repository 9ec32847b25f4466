// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#ifndef TANDEM_ATTRS_JSON_H_
#define TANDEM_ATTRS_JSON_H_

#include <string>

#include "tandem/export.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"

namespace tandem {

// The attributes of a call as a JSON object, {"axis": 1}, for kernels in other languages: those of the definition that
// the call gives or that have defaults, in its order, with values as OpRegistry::ToJson has them: a float that is not
// finite is "nan", "inf" or "-inf", an integer beyond 2^53 a decimal text. Tensors and values of any kind are left out.
TANDEM_EXPORT std::string AttrsToJson(const OpDef& def, const OpAttrsRef& attrs);

}  // namespace tandem

#endif  // TANDEM_ATTRS_JSON_H_
