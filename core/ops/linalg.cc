// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Linear algebra: MatMul.

#include "tandem/op_families.h"

namespace tandem {
namespace {

Status CheckMatrix(const TensorMetadata& matrix, std::string_view name) {
  if (matrix.rank() == 2) return Status();
  return InvalidArgument(name, " must be a matrix, got ", name, ": ", matrix);
}

StatusOr<TensorMetadata> MatMulMetadata(const TensorMetadata& a, const TensorMetadata& b, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckMatrix(a, "a"));
  TANDEM_RETURN_IF_ERROR(CheckMatrix(b, "b"));
  const bool transpose_a = attrs.GetOr("transpose_a", false);
  const bool transpose_b = attrs.GetOr("transpose_b", false);
  if (a.dim(transpose_a ? 0 : 1) != b.dim(transpose_b ? 1 : 0)) {
    return InvalidArgument("inner dimensions must agree, got a: ", a, transpose_a ? " transposed" : "", ", b: ", b,
                           transpose_b ? " transposed" : "");
  }
  return TensorMetadata(a.dtype, {a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)});
}

}  // namespace

Status RegisterLinalgOps(OpRegistry& registry) {
  return registry.RegisterAll({
      OpDefBuilder("tf.MatMul")
          .Input("a: T")
          .Input("b: T")
          .Output("product: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr("T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64}")
          .Metadata<&MatMulMetadata>()
          .Doc(R"(Product of two matrices, each of them transposed first if asked for.

f16 and bf16 are summed in f32 and rounded once; integers wrap around. If the inner dimension is empty, the product is 0.

a: A matrix [m, k], or [k, m] if transpose_a.
b: A matrix [k, n], or [n, k] if transpose_b.)"),
  });
}

}  // namespace tandem
