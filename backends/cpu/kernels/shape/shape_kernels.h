// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the shape family, a file each.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_KERNELS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_KERNELS_H_

#include "tandem/kernel_op_handler.h"
#include "tandem/status.h"

namespace tandem::cpu {

Status RegisterShapeBatchKernels(KernelOpHandler& handler);
Status RegisterShapePadKernels(KernelOpHandler& handler);
Status RegisterShapePartKernels(KernelOpHandler& handler);
Status RegisterShapeSliceKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_KERNELS_H_
