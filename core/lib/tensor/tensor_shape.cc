// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shapes and metadata: checked element counts, broadcasting, text.

#include "tandem/tensor_shape.h"

#include <algorithm>
#include <utility>

#include "tandem/tensor_metadata.h"

namespace tandem {

void TensorShape::Recount() {
  // Zero dimensions are left out of the overflow check's product, so that validity does not depend on their place.
  int64_t product = 1;
  bool has_zero = false;
  if (has_more_dims_) return;
  for (int64_t dim : dims()) {
    if (dim < 0 || (dim > 0 && __builtin_mul_overflow(product, dim, &product))) {
      num_elements_ = kInvalid;
      return;
    }
    has_zero |= dim == 0;
  }
  num_elements_ = has_zero ? 0 : product;
}

Status TensorShape::Validate() const {
  if (IsValid()) return Status();
  for (int i = 0; i < rank_; ++i) {
    if (dims_[i] < 0) return InvalidArgument("dimension ", i, " of shape ", *this, " must not be negative");
  }
  int64_t product = 1;
  for (int64_t dim : dims()) {
    if (dim > 0 && __builtin_mul_overflow(product, dim, &product)) {
      return InvalidArgument("shape ", *this, " must have at most 2^63-1 elements");
    }
  }
  return InvalidArgument("a shape must have at most ", kMaxRank, " dimensions, got one that begins with ", *this);
}

StatusOr<TensorShape> BroadcastShapes(const TensorShape& a, const TensorShape& b) {
  const TensorShape& longer = a.rank() >= b.rank() ? a : b;
  const TensorShape& shorter = a.rank() >= b.rank() ? b : a;
  const int offset = longer.rank() - shorter.rank();
  TensorShape result = longer;
  for (int i = 0; i < shorter.rank(); ++i) {
    const int64_t x = longer.dim(offset + i);
    const int64_t y = shorter.dim(i);
    if (x == y || y == 1) continue;
    if (x != 1) return InvalidArgument("shapes must be broadcast compatible, got ", a, " and ", b);
    result.SetDim(offset + i, y);
  }
  return result;
}

StatusOr<int> NormalizeAxis(int64_t axis, int rank, std::string_view what) {
  if (axis < -rank || axis >= rank) {
    return InvalidArgument(what, " must be in [", -rank, ", ", rank, "), got ", axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void AppendTo(MessageBuilder& out, const TensorShape& shape) { AppendTo(out, shape.dims()); }

Status TensorMetadata::Validate() const {
  if (IsValid()) return Status();
  if (dtype == DType::kInvalid) return InvalidArgument("a tensor must have a dtype, got ", shape, " without one");
  TANDEM_RETURN_IF_ERROR(shape.Validate());
  return InvalidArgument("tensor ", *this, " is too large to be addressed, the limit is ",
                         static_cast<uint64_t>(PTRDIFF_MAX) / kMaxElementSize, " elements");
}

void AppendTo(MessageBuilder& out, const TensorMetadata& metadata) {
  AppendTo(out, metadata.dtype);
  AppendTo(out, metadata.shape);
}

}  // namespace tandem
