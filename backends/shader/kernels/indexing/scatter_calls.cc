// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/scatter_calls.h"

#include <algorithm>

#include "kernels/creation/fill_words.h"
#include "kernels/indexing/scatter.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

void Clear(ShaderCall& call, const TensorMetadata& metadata, GpuBuffer* y) {
  call.Run(ZeroProgram(static_cast<int64_t>(WordsOf(metadata)), call.limits()), {y});
}

GpuBuffer* MakeZeros(ShaderCall& call, int64_t words) {
  GpuBuffer* buffer = call.Temporary(static_cast<uint64_t>(words) * kWordBytes);
  call.Run(ZeroProgram(words, call.limits()), {buffer});
  return buffer;
}

void AddInBlocks(ShaderCall& call, const SliceNumbers& numbers, DType dtype, GpuBuffer* indices, GpuBuffer* updates,
                 GpuBuffer* sums) {
  const int64_t size = std::min(UpdateBlockSize(numbers, dtype), numbers.count);
  GpuBuffer* heads = MakeZeros(call, numbers.num_slices);
  GpuBuffer* previous = call.Temporary(static_cast<uint64_t>(size) * kWordBytes);
  GpuBuffer* next = call.Temporary(static_cast<uint64_t>(size) * kWordBytes);
  for (int64_t first = 0; call.ok() && first < numbers.count; first += size) {
    const UpdateBlock block = {first, std::min(size, numbers.count - first)};
    call.Run(ScatterLinkProgram(numbers, block, call.limits()), {indices, heads, previous});
    call.Run(ScatterOrderProgram(numbers, block, call.limits()), {indices, heads, previous, next});
    call.Run(ScatterAddProgram(numbers, dtype, block, call.limits()), {indices, updates, next, heads, sums});
  }
}

void ScatterToZeros(ShaderCall& call, const SliceNumbers& numbers, const TensorMetadata& result, GpuBuffer* indices,
                    GpuBuffer* updates, GpuBuffer* y) {
  if (IsDirectScatter(numbers)) {
    call.Run(ScatterDirectProgram(numbers, result.dtype, ScatterStart::kZero, call.limits()), {indices, updates, y});
    return;
  }
  Clear(call, result, y);
  AddInBlocks(call, numbers, result.dtype, indices, updates, y);
}

GpuBuffer* FindLastUpdates(ShaderCall& call, const SliceNumbers& numbers, GpuBuffer* indices) {
  GpuBuffer* winners = MakeZeros(call, numbers.num_slices);
  call.Run(ScatterClaimProgram(numbers, call.limits()), {indices, winners});
  return winners;
}

}  // namespace tandem::shader
