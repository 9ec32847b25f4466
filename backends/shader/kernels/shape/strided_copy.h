// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Copies in which each element of a dense result has its place in the input at regular distances.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_STRIDED_COPY_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_STRIDED_COPY_H_

#include <cstdint>
#include <vector>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor_shape.h"

namespace tandem::shader {

// Element [p, q, ...] of the result is that of the input at offset + p * stride of p + q * stride of q ...
class StridedCopy {
 public:
  static constexpr int kMaxDims = 2 * TensorShape::kMaxRank;
  struct Dim {
    int64_t size;
    int64_t stride;  // 0 repeats, negative goes backwards
  };

  explicit StridedCopy(int64_t offset = 0) : offset_(offset) {}

  // The next dimension of the result inwards; becomes part of the one before if the two are like one.
  void AddDim(int64_t size, int64_t stride);
  void AddOffset(int64_t elements) { offset_ += elements; }

  int64_t count() const { return count_; }
  int64_t offset() const { return offset_; }
  int rank() const { return rank_; }
  const Dim& dim(int i) const { return dims_[i]; }
  // Whether the result is a stretch of the input.
  bool IsStretch() const { return count_ <= 1 || (rank_ == 1 && dims_[0].stride == 1); }

 private:
  friend Launch StridedCopyProgram(StridedCopy copy, uint32_t element_bytes, const GpuLimits& limits);
  // Moves more bytes at a time where that can be; gives the size of elements then.
  uint32_t Widen(uint32_t element_bytes);

  int64_t offset_;
  int64_t count_ = 1;
  int rank_ = 0;
  Dim dims_[kMaxDims] = {};
};

// Of input x and result y.
Launch StridedCopyProgram(StridedCopy copy, uint32_t element_bytes, const GpuLimits& limits);

// For tests: what the shaders of this file are composed of, one of each kind.
std::vector<ShaderVariant> StridedCopyVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_STRIDED_COPY_H_
