// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration of the CPU kernels, by family; each family has the file stem of its definitions in core/ops.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_KERNELS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_KERNELS_H_

#include "tandem/kernel_op_handler.h"
#include "tandem/status.h"

namespace tandem::cpu {

Status RegisterConvolutionKernels(KernelOpHandler& handler);
Status RegisterCreationKernels(KernelOpHandler& handler);
Status RegisterElementwiseKernels(KernelOpHandler& handler);
Status RegisterImageKernels(KernelOpHandler& handler);
Status RegisterIndexingKernels(KernelOpHandler& handler);
Status RegisterLinalgKernels(KernelOpHandler& handler);
Status RegisterNnKernels(KernelOpHandler& handler);
Status RegisterNormalizationKernels(KernelOpHandler& handler);
Status RegisterPoolingKernels(KernelOpHandler& handler);
Status RegisterRandomKernels(KernelOpHandler& handler);
Status RegisterReductionKernels(KernelOpHandler& handler);
Status RegisterScanKernels(KernelOpHandler& handler);
Status RegisterShapeKernels(KernelOpHandler& handler);
Status RegisterSideEffectKernels(KernelOpHandler& handler);
Status RegisterConversionKernels(KernelOpHandler& handler);
Status RegisterTestKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_KERNELS_H_
