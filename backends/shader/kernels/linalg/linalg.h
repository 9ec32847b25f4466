// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the family linalg.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_LINALG_LINALG_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_LINALG_LINALG_H_

#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::shader {

Status RegisterDiagonalKernels(ShaderOpHandler& handler);
Status RegisterEinsumKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_LINALG_LINALG_H_
