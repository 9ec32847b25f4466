// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Bincount and DenseBincount. Integers that have no bin, negative ones among them, do not count.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_COUNTING_BINCOUNT_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_COUNTING_BINCOUNT_H_

#include <cstdint>
#include <vector>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_op_handler.h"

namespace tandem::shader {

Status RegisterBincountKernels(ShaderOpHandler& handler);

// For tests: one of each kind.
std::vector<ShaderVariant> BincountVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_COUNTING_BINCOUNT_H_
