// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels of LRN and LRNGrad.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_LOCAL_H_
#define TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_LOCAL_H_

#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

Status RegisterLocalNormalizationKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_LOCAL_H_
