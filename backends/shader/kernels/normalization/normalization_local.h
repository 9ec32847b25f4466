// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LRN and LRNGrad, in f64 (kernels/doubles.h): in f32 the sums would not be as accurate as those of the CPU.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_NORMALIZATION_NORMALIZATION_LOCAL_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_NORMALIZATION_NORMALIZATION_LOCAL_H_

#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::shader {

Status RegisterLocalNormalizationKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_NORMALIZATION_NORMALIZATION_LOCAL_H_
