// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The launches of scatter.h in the order in which kernels need them.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SCATTER_CALLS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SCATTER_CALLS_H_

#include <cstdint>

#include "kernels/indexing/slice_numbers.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

// All elements of a tensor's buffer become 0.
void Clear(ShaderCall& call, const TensorMetadata& metadata, GpuBuffer* y);

// A temporary buffer of so many words of value 0.
GpuBuffer* MakeZeros(ShaderCall& call, int64_t words);

// Adds updates to `sums`, in blocks.
void AddInBlocks(ShaderCall& call, const SliceNumbers& numbers, DType dtype, GpuBuffer* indices, GpuBuffer* updates,
                 GpuBuffer* sums);

// `y` becomes zeros, of the metadata `result`, with updates added.
void ScatterToZeros(ShaderCall& call, const SliceNumbers& numbers, const TensorMetadata& result, GpuBuffer* indices,
                    GpuBuffer* updates, GpuBuffer* y);

// A temporary buffer with the number of the last update of each slice plus 1, or 0 if it has none.
GpuBuffer* FindLastUpdates(ShaderCall& call, const SliceNumbers& numbers, GpuBuffer* indices);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SCATTER_CALLS_H_
