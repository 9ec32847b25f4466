// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// From rows of indices to numbers of slices.

#include "kernels/indexing/indexing_rows.h"

#include <algorithm>
#include <span>
#include <type_traits>

namespace tandem::cpu {

bool SliceNumbers::Allocate() {
  numbers_ = TaskArray<int64_t>(size_);
  data_ = numbers_.get();
  return data_ != nullptr;
}

template <typename Index>
Status SliceNumbers::Fill(const DenseArg& indices, const TensorShape& shape, int depth) {
  const Index* row = indices.data<Index>();
  bool valid = true;
  if (depth == 1) {
    valid = AreInRange(row, size_, shape.dim(0));
    TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
    if constexpr (std::is_same_v<Index, int64_t>) {
      data_ = row;
    } else if (valid) {
      if (!Allocate()) return Status::OutOfMemory();
      std::copy_n(row, size_, numbers_.get());
    }
  } else {
    if (!Allocate()) return Status::OutOfMemory();
    StopPoll poll(kPollSteps);
    for (int64_t i = 0; i < size_; ++i, row += depth) {
      if (poll.Stops()) return KernelRun::CheckWanted();
      uint64_t number = 0;
      for (int dim = 0; dim < depth; ++dim) {
        const auto index = static_cast<int64_t>(row[dim]);
        valid &= index >= 0 && index < shape.dim(dim);
        number = number * static_cast<uint64_t>(shape.dim(dim)) + static_cast<uint64_t>(index);
      }
      numbers_[static_cast<size_t>(i)] = static_cast<int64_t>(number);
    }
  }
  if (valid) return Status();
  const auto is_valid = [&](const Index* at) {
    for (int dim = 0; dim < depth; ++dim) {
      const auto index = static_cast<int64_t>(at[dim]);
      if (index < 0 || index >= shape.dim(dim)) return false;
    }
    return true;
  };
  int64_t first = 0;
  row = indices.data<Index>();
  for (; is_valid(row); ++first) row += depth;
  int64_t given[TensorShape::kMaxRank];
  for (int dim = 0; dim < depth; ++dim) given[dim] = static_cast<int64_t>(row[dim]);
  const auto rank = static_cast<size_t>(depth);
  return InvalidArgument("indices must lie within dimensions ", shape.dims().first(rank), ", got ",
                         std::span<const int64_t>(given, rank), " at position ",
                         Position(indices.shape(), indices.shape().rank() - 1, first).span());
}

Status SliceNumbers::Init(const DenseArg& indices, const TensorShape& shape) {
  const TensorShape& given = indices.shape();
  const int rank = given.rank() - 1;
  const auto depth = static_cast<int>(given.dim(rank));
  size_ = 1;
  for (int i = 0; i < rank; ++i) size_ *= given.dim(i);
  for (int i = 0; i < shape.rank(); ++i) (i < depth ? num_slices_ : slice_size_) *= shape.dim(i);
  switch (indices.dtype()) {
    case DType::kI16:
      return Fill<int16_t>(indices, shape, depth);
    case DType::kU16:
      return Fill<uint16_t>(indices, shape, depth);
    case DType::kI32:
      return Fill<int32_t>(indices, shape, depth);
    default:
      return Fill<int64_t>(indices, shape, depth);
  }
}

}  // namespace tandem::cpu
