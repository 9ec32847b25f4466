// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// StridedCopy: copies elements of one size between two strided views of memory: what most shape ops come down to.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_STRIDED_COPY_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_STRIDED_COPY_H_

#include <cstddef>
#include <cstdint>

#include "tandem/kernel.h"

namespace tandem::cpu {

class StridedCopy {
 public:
  // Tiling splits every dimension in two.
  static constexpr int kMaxRank = 2 * TensorShape::kMaxRank;

  // Elements of 1, 2, 4, 8 or 16 bytes, at any alignment.
  explicit StridedCopy(size_t element_size) : element_size_(static_cast<ptrdiff_t>(element_size)) {}

  // Adds the next dimension inwards; strides in elements, 0 in the source to repeat it. At most kMaxRank dimensions
  // that are not of size 1.
  void AddDim(int64_t size, int64_t dst_stride, int64_t src_stride);

  // Whether both views are the same elements in the same order without gaps.
  bool IsPlain() const { return !empty_ && (rank_ == 0 || (rank_ == 1 && IsContiguous(dims_[0]))); }

  // Copies, in parallel if it is large. The two views must not overlap.
  void Run(const KernelFrame& frame, void* dst, const void* src) const;

  struct Dim {
    int64_t size;
    ptrdiff_t dst_stride;  // bytes
    ptrdiff_t src_stride;
  };

 private:
  bool IsContiguous(const Dim& dim) const { return dim.dst_stride == element_size_ && dim.src_stride == element_size_; }

  ptrdiff_t element_size_;
  int rank_ = 0;
  bool empty_ = false;
  Dim dims_[kMaxRank];  // outermost first, none of size 1; neighbours that can be one dimension are one
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_STRIDED_COPY_H_
