// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration of the shader kernels, by family; each family has the file stem of its definitions in core/ops.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_KERNELS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_KERNELS_H_

#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::shader {

// All of them.
Status RegisterKernels(ShaderOpHandler& handler);

Status RegisterConvolutionKernels(ShaderOpHandler& handler);
Status RegisterCreationKernels(ShaderOpHandler& handler);
Status RegisterElementwiseKernels(ShaderOpHandler& handler);
Status RegisterImageKernels(ShaderOpHandler& handler);
Status RegisterIndexingKernels(ShaderOpHandler& handler);
Status RegisterLinalgKernels(ShaderOpHandler& handler);
Status RegisterNnKernels(ShaderOpHandler& handler);
Status RegisterNormalizationKernels(ShaderOpHandler& handler);
Status RegisterPoolingKernels(ShaderOpHandler& handler);
Status RegisterRandomKernels(ShaderOpHandler& handler);
Status RegisterReductionKernels(ShaderOpHandler& handler);
Status RegisterScanKernels(ShaderOpHandler& handler);
Status RegisterShapeKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_KERNELS_H_
