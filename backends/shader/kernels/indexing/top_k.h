// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The largest elements of rows, in descending order; NaN is larger than all others.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_

#include <cstdint>
#include <vector>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// Elements of a row that are each compared with all others. Sorting longer ones is left to the host.
inline constexpr int64_t kMaxTopKRow = 4096;

// Of the input, whose last dimension has 1 to kMaxTopKRow elements, the values and the indices as i32.
Launch TopKProgram(const TensorMetadata& input, int64_t k, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> TopKVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_
