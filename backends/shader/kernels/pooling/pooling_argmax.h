// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPoolWithArgmax.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_POOLING_POOLING_ARGMAX_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_POOLING_POOLING_ARGMAX_H_

#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::shader {

Status RegisterPoolArgmaxKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_POOLING_POOLING_ARGMAX_H_
