// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Multinomial and StatelessMultinomial, which are defined in f64 (kernels/doubles.h).

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_MULTINOMIAL_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_MULTINOMIAL_H_

#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::shader {

Status RegisterMultinomialKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_MULTINOMIAL_H_
