// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What ops with indices in several dimensions share, and the parts of the family.

#ifndef TANDEM_CORE_OPS_INDEXING_OPS_H_
#define TANDEM_CORE_OPS_INDEXING_OPS_H_

#include <string_view>

#include "tandem/op_registry.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// How many dimensions of `shape` the last dimension of `indices` has indices for. InvalidArgument, calling the tensor
// of that shape `name`, if these are more than there are.
inline StatusOr<int> IndexDepth(const TensorShape& shape, std::string_view name, const TensorMetadata& indices) {
  if (indices.rank() == 0) return InvalidArgument("indices must have at least one dimension, got indices: ", indices);
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth <= shape.rank()) return static_cast<int>(depth);
  return InvalidArgument("indices must have at most one index for each dimension of ", name, ", got ", name, ": ",
                         shape, ", indices: ", indices);
}

// The shape of what `indices`, each row of which picks a slice of a tensor of shape `shape`, pick together. Invalid if
// it would have too many dimensions.
inline TensorShape PickedShape(const TensorShape& shape, int depth, const TensorShape& indices) {
  TensorShape result;
  for (int i = 0; i + 1 < indices.rank(); ++i) result.Append(indices.dim(i));
  for (int i = depth; i < shape.rank(); ++i) result.Append(shape.dim(i));
  return result;
}

Status RegisterScatterOps(OpRegistry& registry);  // ScatterNd, TensorScatterUpdate, UnsortedSegmentSum, ...

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_INDEXING_OPS_H_
