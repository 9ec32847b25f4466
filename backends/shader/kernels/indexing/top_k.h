// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The largest elements of rows, in descending order; NaN is larger than all others.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_

#include <cstdint>
#include <vector>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// Of the input's sorted rows the first `k` elements and their places, as `indices` says.
Launch TopKTakeProgram(const TensorMetadata& input, int64_t k, DType indices, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> TopKVariants();

Status RegisterTopKKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_
