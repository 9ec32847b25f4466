// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The attributes of a case, typed by the op's definition.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_CASE_ATTRS_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_CASE_ATTRS_H_

#include <nlohmann/json.hpp>

#include "tandem/op_attrs.h"
#include "tandem/op_def.h"

namespace tandem::conformance {

// Sets the fields of the object `json`. A value that is not of the kind that the definition says, or of an attribute
// that it does not have, gets the type its JSON looks like (integers i64, other numbers f32), so that wrong calls can
// be made. Attributes of any kind are {"dtype": ..., "data": ...} with a list or one value. `def` may be null. Throws
// std::runtime_error for what is no attribute at all.
void SetAttrs(const nlohmann::json& json, const OpDef* def, OpAttrs& attrs);

// How many results a call of the op has; `num_args` arguments and the attributes decide where the definition leaves it
// open.
int CountResults(const OpDef& def, const OpAttrs& attrs, size_t num_args);

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_CASE_ATTRS_H_
