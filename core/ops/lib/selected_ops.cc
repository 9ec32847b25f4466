// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration in a build with a list of ops: definitions of data, with their metadata functions.

#include "../op_definition.h"

#ifdef TANDEM_OPS_AS_DATA

#include <algorithm>

#include "defs/op_data.h"

namespace tandem {

Status RegisterOps(OpRegistry& registry, std::initializer_list<OpDefinition> ops) {
  const std::span<const OpData> definitions = OpsOfBuild();
  for (const OpDefinition& op : ops) {
    if (op.name() == nullptr) continue;
    const std::string_view name = op.name();
    const auto data = std::ranges::lower_bound(definitions, name, {}, &OpData::name);
    if (data == definitions.end() || data->name != name) return Internal("core/ops/definitions.json lacks ", name);
    TANDEM_ASSIGN_OR_RETURN(OpDef def, MakeOpDef(*data));
    def.metadata = op.metadata();
    if (def.kind == OpKind::kElementwise) def.expressions = ElementExpressionsOf(name);
    TANDEM_RETURN_IF_ERROR(registry.Register(std::move(def)));
  }
  return Status();
}

}  // namespace tandem

#endif  // TANDEM_OPS_AS_DATA
