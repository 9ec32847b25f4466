// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// HostVector: the short integer vectors that metadata functions read from host inputs: shapes, permutations, offsets.

#ifndef TANDEM_CORE_OPS_HOST_VECTOR_H_
#define TANDEM_CORE_OPS_HOST_VECTOR_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/metadata_function.h"
#include "tandem/status.h"
#include "tandem/tensor_shape.h"

namespace tandem {

// At most one number for each dimension that a tensor may have.
struct HostVector {
  int size = 0;
  int64_t values[TensorShape::kMaxRank] = {};

  int64_t operator[](int i) const { return values[i]; }
  std::span<const int64_t> span() const { return {values, static_cast<size_t>(size)}; }
};

// The content of `input`. InvalidArgument, calling it `name`, if it is no vector or is longer than kMaxRank.
inline StatusOr<HostVector> ReadHostVector(const HostInput& input, std::string_view name) {
  if (input.metadata().rank() != 1) {
    return InvalidArgument(name, " must be a vector, got ", name, ": ", input.metadata());
  }
  if (input.size() > TensorShape::kMaxRank) {
    return InvalidArgument(name, " must have at most ", TensorShape::kMaxRank, " elements, got ", name, ": ",
                           input.metadata());
  }
  HostVector result;
  result.size = static_cast<int>(input.size());
  for (int i = 0; i < result.size; ++i) result.values[i] = input.Int(i);
  return result;
}

// The same for a vector that must have one number for each dimension of `tensor`, which is called `tensor_name`.
inline StatusOr<HostVector> ReadHostVectorFor(const HostInput& input, std::string_view name,
                                              const TensorMetadata& tensor, std::string_view tensor_name) {
  if (input.metadata().rank() == 1 && input.size() == tensor.rank()) return ReadHostVector(input, name);
  return InvalidArgument(name, " must have one element for each dimension of ", tensor_name, ", got ", tensor_name,
                         ": ", tensor, ", ", name, ": ", input.metadata());
}

// The shape that `input` spells out: sizes of at least 0, whose product has a limit.
inline StatusOr<TensorShape> ReadHostShape(const HostInput& input, std::string_view name) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector sizes, ReadHostVector(input, name));
  const TensorShape shape(sizes.span());
  if (shape.IsValid()) return shape;
  for (const int64_t size : sizes.span()) {
    if (size < 0) return InvalidArgument("sizes must be at least 0, got ", name, ": ", shape);
  }
  return InvalidArgument("there must be at most 2^63-1 elements, got ", name, ": ", shape);
}

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_HOST_VECTOR_H_
