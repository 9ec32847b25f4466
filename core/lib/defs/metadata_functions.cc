// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Metadata functions of element-wise ops, with and without broadcasting.

#include "tandem/metadata_functions.h"

namespace tandem {

StatusOr<TensorShape> BroadcastArguments(std::string_view x_name, const TensorMetadata& x, std::string_view y_name,
                                         const TensorMetadata& y) {
  if (x.shape == y.shape) return x.shape;
  StatusOr<TensorShape> shape = BroadcastShapes(x.shape, y.shape);
  if (shape.ok()) return shape;
  return InvalidArgument("shapes must be broadcast compatible, got ", x_name, ": ", x, ", ", y_name, ": ", y);
}

TensorMetadata UnchangedMetadata(const TensorMetadata& x) { return x; }

TensorMetadata PredicateMetadata(const TensorMetadata& x) { return TensorMetadata(DType::kBool, x.shape); }

StatusOr<TensorMetadata> BroadcastMetadata(const TensorMetadata& x, const TensorMetadata& y) {
  if (x.shape == y.shape) return x;
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, BroadcastArguments("x", x, "y", y));
  return TensorMetadata(x.dtype, shape);
}

StatusOr<TensorMetadata> BroadcastPredicateMetadata(const TensorMetadata& x, const TensorMetadata& y) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, BroadcastArguments("x", x, "y", y));
  return TensorMetadata(DType::kBool, shape);
}

}  // namespace tandem
