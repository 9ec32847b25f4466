// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels of LayerNormGrad.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_LAYER_GRAD_H_
#define TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_LAYER_GRAD_H_

#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

Status RegisterLayerNormGradKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_LAYER_GRAD_H_
