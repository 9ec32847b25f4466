// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors of indices in shaders: which slice of a tensor each row of them names.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SLICE_NUMBERS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SLICE_NUMBERS_H_

#include <cstdint>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// Declares the buffer `indices`, only read, and a function `load_index(place: u32) -> u32` that gives 0xffffffff for
// negative numbers and those above. `dtype` is i16, u16, i32 or i64.
void DeclareIndices(ShaderBuilder& builder, DType dtype);

// Rows of `depth` indices in the first dimensions of a tensor, of which each names a slice of it.
struct SliceNumbers {
  // The last dimension of `indices` is the depth.
  SliceNumbers(const TensorMetadata& indices, const TensorShape& tensor);
  // One for each index.
  static SliceNumbers OfSegments(const TensorMetadata& segment_ids, const TensorShape& result);

  // The same with a function `slice_of(row: u32) -> u32`, which gives 0xffffffff unless all indices of the row are
  // within their dimensions; these are parameters.
  static void Declare(ShaderBuilder& builder, DType dtype, int depth);
  void AddParameters(LaunchParameters& parameters) const;

  DType dtype;
  int depth = 1;
  int64_t limits[TensorShape::kMaxRank] = {};
  int64_t count = 1;       // of rows
  int64_t num_slices = 1;  // of the tensor
  int64_t slice_size = 1;

 private:
  explicit SliceNumbers(DType index_dtype) : dtype(index_dtype) {}
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SLICE_NUMBERS_H_
