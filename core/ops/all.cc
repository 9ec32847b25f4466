// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration of all op families.

#include "tandem/op_families.h"

#ifdef TANDEM_OPS_AS_DATA
#include "defs/op_data.h"
#endif

namespace tandem {

Status RegisterAllOps(OpRegistry& registry) {
#define TANDEM_FAMILY(Name) &Register##Name##Ops,
  // Volatile, as `tandem-rt trim` makes 0 those of which no op is wanted.
  static Status (*const volatile kFamilies[])(OpRegistry&) = {TANDEM_OP_FAMILIES(TANDEM_FAMILY, TANDEM_FAMILY)};
#undef TANDEM_FAMILY
  for (const auto& each : kFamilies) {
    const auto family = each;
    if (family != nullptr) TANDEM_RETURN_IF_ERROR(family(registry));
  }
#ifdef TANDEM_OPS_AS_DATA
  // What was taken out of the module after it was linked (`tandem-rt trim`).
  for (const OpData& data : OpsOfBuild()) {
    if (registry.FindShared(data.name) == nullptr) registry.MarkLeftOut(data.name);
  }
#endif
  return Status();
}

}  // namespace tandem
