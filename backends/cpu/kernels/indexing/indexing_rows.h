// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels with index tensors share: rows of indices as the numbers of slices, and the parts of the family.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_INDEXING_INDEXING_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_INDEXING_INDEXING_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "kernels/polls.h"
#include "kernels/task_memory.h"
#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/status.h"

namespace tandem::cpu {

// A position in a tensor's dimensions, for error texts: the one of element `i` in row-major order.
class Position {
 public:
  Position(const TensorShape& shape, int64_t i) : Position(shape, shape.rank(), i) {}
  // In the first `rank` dimensions alone.
  Position(const TensorShape& shape, int rank, int64_t i) : rank_(rank) {
    for (int dim = rank; dim-- > 0;) {
      index_[dim] = i % shape.dim(dim);
      i /= shape.dim(dim);
    }
  }
  std::span<const int64_t> span() const { return {index_, static_cast<size_t>(rank_)}; }

 private:
  int rank_;
  int64_t index_[TensorShape::kMaxRank];
};

// A tensor taken as slices, one for each index into its first dimensions, numbered in row-major order; and which of
// them the rows of an index tensor stand for.
class SliceNumbers {
 public:
  // The last dimension of `indices`, integers, has the indices into the first dimensions of `shape`. InvalidArgument if
  // one of them is out of range; ResourceExhausted.
  Status Init(const DenseArg& indices, const TensorShape& shape);

  int64_t num_slices() const { return num_slices_; }
  int64_t slice_size() const { return slice_size_; }  // elements
  // One number for each row of the indices.
  int64_t size() const { return size_; }
  // Valid as long as the index tensor, which it may be.
  const int64_t* data() const { return data_; }

 private:
  // False if memory is exhausted.
  bool Allocate();
  template <typename Index>
  Status Fill(const DenseArg& indices, const TensorShape& shape, int depth);

  int64_t num_slices_ = 1;
  int64_t slice_size_ = 1;
  int64_t size_ = 0;
  const int64_t* data_ = nullptr;
  TaskArray<int64_t> numbers_;
};

namespace internal {
// For a number of indices that takes a moment.
template <typename Index>
bool AreFewInRange(const Index* indices, int64_t count, int64_t limit) {
  using Bits = std::make_unsigned_t<Index>;
  if (limit <= 0) return count == 0;
  constexpr auto kMax = static_cast<int64_t>(std::numeric_limits<Index>::max());
  const auto last = static_cast<Bits>(std::min(limit - 1, kMax));
  bool valid = true;
  if constexpr (std::is_unsigned_v<Index>) {
    for (int64_t i = 0; i < count; ++i) valid &= indices[i] <= last;
  } else {
    // The sign bit is set where an index is negative or above the last one.
    Bits signs = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<Bits>(indices[i]);
      signs |= static_cast<Bits>(index | static_cast<Bits>(last - index));
    }
    valid = (signs >> (8 * sizeof(Bits) - 1)) == 0;
  }
  return valid;
}
}  // namespace internal

// Whether all of `count` indices are in [0, limit). Where the kernel is to end not all have been looked at; whoever
// uses them asks once more.
template <typename Index>
bool AreInRange(const Index* indices, int64_t count, int64_t limit) {
  bool valid = true;
  for (; count > kPollElements && valid && !KernelRun::IsStopped(); indices += kPollElements, count -= kPollElements) {
    valid = internal::AreFewInRange(indices, kPollElements, limit);
  }
  return valid && internal::AreFewInRange(indices, std::min(count, kPollElements), limit);
}

Status RegisterScatterKernels(KernelOpHandler& handler);  // ScatterNd, TensorScatterUpdate, UnsortedSegmentSum, ...
Status RegisterTopKKernels(KernelOpHandler& handler);
Status RegisterUniqueKernels(KernelOpHandler& handler);  // Unique, UniqueV2

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_INDEXING_INDEXING_ROWS_H_
