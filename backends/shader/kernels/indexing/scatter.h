// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Slices put or added where indices say. An update whose indices are outside of the tensor is left out.
//
// Sums do not depend on how invocations are scheduled: what goes to one slice is added up in the order of the updates.
// For few of them each element of the result goes through all; more are taken in blocks, one after the other: a block's
// updates are linked to a list for each slice, then ordered, then added by the first of each list.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SCATTER_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SCATTER_H_

#include <cstdint>
#include <vector>

#include "kernels/indexing/slice_numbers.h"
#include "tandem/shader/launch.h"

namespace tandem::shader {

// What the result of a direct scatter begins with.
enum class ScatterStart : uint8_t { kZero, kTensor, kResult };

// Whether going through all updates for each element is little enough work.
bool IsDirectScatter(const SliceNumbers& numbers);
// Of indices, updates, the tensor with kTensor, and the result, which is read first with kResult.
Launch ScatterDirectProgram(const SliceNumbers& numbers, DType dtype, ScatterStart start, const GpuLimits& limits);

// Updates [first, first + count).
struct UpdateBlock {
  int64_t first;
  int64_t count;
};
// How many updates a block has; the last one may have fewer.
int64_t UpdateBlockSize(const SliceNumbers& numbers, DType dtype);
// Of indices, and as results a word for each slice, all 0 before the first block, and one for each update of a block.
Launch ScatterLinkProgram(const SliceNumbers& numbers, const UpdateBlock& block, const GpuLimits& limits);
// Of indices, the two above, and one more word for each update of a block as the result.
Launch ScatterOrderProgram(const SliceNumbers& numbers, const UpdateBlock& block, const GpuLimits& limits);
// Of indices, updates, the result of the last one, and as results the words of slices and the sums.
Launch ScatterAddProgram(const SliceNumbers& numbers, DType dtype, const UpdateBlock& block, const GpuLimits& limits);

// Of indices and the number of the last update of each slice plus 1; all 0 before.
Launch ScatterClaimProgram(const SliceNumbers& numbers, const GpuLimits& limits);
// Whether slices of these elements are put in place, and not merged.
bool IsPutInPlace(const SliceNumbers& numbers, DType dtype);
// Of indices, updates, the claims, and the result, which has the tensor.
Launch ScatterPutProgram(const SliceNumbers& numbers, DType dtype, const GpuLimits& limits);
// Of the tensor, updates, the claims, and the result.
Launch ScatterMergeProgram(const SliceNumbers& numbers, DType dtype, const GpuLimits& limits);

// Of a buffer whose first `words` words become 0.
Launch ZeroProgram(int64_t words, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> ScatterVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SCATTER_H_
