// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The shape of a result that has more dimensions or more elements than its inputs, and the errors where that is too
// many.

#ifndef TANDEM_CORE_OPS_RESULT_SHAPE_H_
#define TANDEM_CORE_OPS_RESULT_SHAPE_H_

#include <cstdint>
#include <string_view>

#include "tandem/status.h"
#include "tandem/tensor_metadata.h"
#include "tandem/tensor_shape.h"

namespace tandem {

// InvalidArgument, calling it `name`, if `input` has so many dimensions that it cannot get one more.
inline Status CheckHasRoom(std::string_view name, const TensorMetadata& input) {
  if (input.rank() < TensorShape::kMaxRank) return Status();
  return InvalidArgument(name, " must have at most ", TensorShape::kMaxRank - 1, " dimensions, got ", name, ": ",
                         input);
}

// `shape` with one more dimension, at `axis`. Invalid if it had as many as a shape may have.
inline TensorShape InsertDim(const TensorShape& shape, int axis, int64_t dim) {
  TensorShape result;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i == axis) result.Append(dim);
    if (i < shape.rank()) result.Append(shape.dim(i));
  }
  return result;
}

// InvalidArgument if the result, whose dimensions are at least 0 and not too many, has too many elements. `given` says
// what it follows from, by the names of the arguments.
template <typename... Given>
Status CheckElementCount(const TensorShape& result, const Given&... given) {
  if (result.IsValid()) return Status();
  return InvalidArgument("the result must have at most 2^63-1 elements, got ", given...);
}

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_RESULT_SHAPE_H_
