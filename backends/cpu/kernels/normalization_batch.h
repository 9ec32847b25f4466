// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels of FusedBatchNormV3.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_BATCH_H_
#define TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_BATCH_H_

#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

Status RegisterBatchNormKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_BATCH_H_
