// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration of the CPU kernels, by family; each family has the file stem of its definitions in core/ops.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_KERNELS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_KERNELS_H_

#include "tandem/kernel_op_handler.h"
#include "tandem/op_families.h"
#include "tandem/status.h"

namespace tandem::cpu {

#define TANDEM_DECLARE_FAMILY(Name) Status Register##Name##Kernels(KernelOpHandler& handler);
TANDEM_OP_FAMILIES(TANDEM_DECLARE_FAMILY, TANDEM_DECLARE_FAMILY)
#undef TANDEM_DECLARE_FAMILY

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_KERNELS_H_
