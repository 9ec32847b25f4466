// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration of the shader kernels, by family; each family has the file stem of its definitions in core/ops.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_KERNELS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_KERNELS_H_

#include "tandem/op_families.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::shader {

// All of them.
Status RegisterKernels(ShaderOpHandler& handler);

#define TANDEM_DECLARE_FAMILY(Name) Status Register##Name##Kernels(ShaderOpHandler& handler);
#define TANDEM_NO_FAMILY(Name)
TANDEM_OP_FAMILIES(TANDEM_DECLARE_FAMILY, TANDEM_NO_FAMILY)
#undef TANDEM_DECLARE_FAMILY
#undef TANDEM_NO_FAMILY

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_KERNELS_H_
