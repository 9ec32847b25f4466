// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/kernels.h"

namespace tandem::shader {

Status RegisterKernels(ShaderOpHandler& handler) {
#define TANDEM_FAMILY(Name) &Register##Name##Kernels,
#define TANDEM_NO_FAMILY(Name)
  constexpr Status (*kFamilies[])(ShaderOpHandler&) = {TANDEM_OP_FAMILIES(TANDEM_FAMILY, TANDEM_NO_FAMILY)};
#undef TANDEM_FAMILY
#undef TANDEM_NO_FAMILY
  for (const auto family : kFamilies) TANDEM_RETURN_IF_ERROR(family(handler));
  return Status();
}

}  // namespace tandem::shader
