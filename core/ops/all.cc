// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration of all op families.

#include "tandem/op_families.h"

namespace tandem {

Status RegisterAllOps(OpRegistry& registry) {
#define TANDEM_FAMILY(Name) &Register##Name##Ops,
  constexpr Status (*kFamilies[])(OpRegistry&) = {TANDEM_OP_FAMILIES(TANDEM_FAMILY, TANDEM_FAMILY)};
#undef TANDEM_FAMILY
  for (const auto family : kFamilies) TANDEM_RETURN_IF_ERROR(family(registry));
  return Status();
}

}  // namespace tandem
