// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Slices of a tensor by index. What an index outside of the tensor names is zero.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_GATHER_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_GATHER_H_

#include <cstdint>
#include <vector>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// tf.GatherV2, with `axis` and `batch_dims` at least 0: of params, indices and the result.
Launch GatherProgram(const TensorMetadata& params, const TensorMetadata& indices, int axis, int batch_dims,
                     const GpuLimits& limits);
// tf.GatherNd: the same buffers.
Launch GatherNdProgram(const TensorMetadata& params, const TensorMetadata& indices, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> GatherVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_GATHER_H_
