// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels that move elements without looking at them share: elements by size, strided copies, shared memory.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SHAPE_MOVEMENT_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SHAPE_MOVEMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tandem/kernel.h"

namespace tandem::cpu {

// The elements of an argument as bytes. Dense tensors are read in place, scalar host tensors expanded; of strings the
// elements are views into the tensor.
class ElementSource {
 public:
  // InvalidArgument for other types of tensors; ResourceExhausted.
  Status Init(KernelFrame& frame, size_t arg);

  // The dense tensor read in place; null for strings.
  const Tensor* dense() const { return dense_; }
  const std::byte* data() const { return data_; }
  size_t element_size() const { return element_size_; }

 private:
  const Tensor* dense_ = nullptr;
  const std::byte* data_ = nullptr;
  size_t element_size_ = 0;
  std::unique_ptr<Tensor> expanded_;
  std::unique_ptr<std::string_view[]> strings_;
};

// The elements of a result to be written, by the same rules.
class ElementSink {
 public:
  // Memory for result `i`, by its metadata. False after a failure, which is then already the result's error.
  [[nodiscard]] bool Init(KernelFrame& frame, size_t i);
  // After all elements are written; makes the tensor of a string result.
  void Finish(KernelFrame& frame);

  std::byte* data() const { return data_; }

 private:
  size_t result_ = 0;
  std::byte* data_ = nullptr;
  std::unique_ptr<std::string_view[]> strings_;
};

// A copy of elements from one strided view of memory to another. A dimension's stride may be 0 in the source.
class StridedCopy {
 public:
  // Tiling splits every dimension in two.
  static constexpr int kMaxRank = 2 * TensorShape::kMaxRank;
  // No dimension of a tensor that is being moved is larger than this, and no stride either.
  explicit StridedCopy(size_t element_size) : element_size_(static_cast<ptrdiff_t>(element_size)) {}

  // Adds the next dimension inwards; strides in elements. At most kMaxRank dimensions that are not of size 1.
  void AddDim(int64_t size, int64_t dst_stride, int64_t src_stride);

  // Copies, in parallel if it is large. The views must not overlap.
  void Run(const KernelFrame& frame, void* dst, const void* src) const;

 private:
  struct Dim {
    int64_t size;
    ptrdiff_t dst_stride;  // bytes
    ptrdiff_t src_stride;
  };
  class Walk;

  void RunContiguous(const KernelFrame& frame, std::byte* dst, const std::byte* src) const;
  bool RunTransposed(const KernelFrame& frame, std::byte* dst, const std::byte* src) const;
  void RunStrided(const KernelFrame& frame, std::byte* dst, const std::byte* src) const;

  ptrdiff_t element_size_;
  int rank_ = 0;
  bool empty_ = false;
  Dim dims_[kMaxRank];  // outermost first; adjacent ones that could be one are one; none of size 1
};

// Bytes copied per nanosecond by one core, about.
inline constexpr double kCopyBytesPerNanosecond = 10;

// The same elements under another metadata with as many elements of the same dtype; shares the storage.
Tensor WithMetadata(const Tensor& tensor, const TensorMetadata& metadata);

// Whether `size` bytes at `offset` of a dense tensor are better shared than copied: they keep the alignment that tensor
// data has, and are large enough to be worth keeping the whole storage alive.
bool MayShare(const Tensor& dense, size_t offset, size_t size);
// The tensor that has the elements at `offset` bytes of `dense` on; MayShare must have allowed it.
Tensor MakeView(const Tensor& dense, const TensorMetadata& metadata, size_t offset);

// If argument `arg` is a scalar host tensor: makes every result one, with the same value, and returns true.
bool SpreadScalar(KernelFrame& frame, size_t arg);

// Cost of a kernel that writes each element of its results once.
double MovementCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SHAPE_MOVEMENT_H_
