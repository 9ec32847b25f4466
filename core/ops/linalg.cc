// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Linear algebra: products of matrices (MatMul, _FusedMatMul, BatchMatMulV2, Einsum), and bands and diagonals of them.

#include <algorithm>
#include <span>
#include <string_view>

#include "fused_ops.h"
#include "op_definition.h"
#include "result_shape.h"
#include "tandem/einsum_equation.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

Status CheckMatrix(const TensorMetadata& matrix, std::string_view name) {
  if (matrix.rank() == 2) return Status();
  return InvalidArgument(name, " must be a matrix, got ", name, ": ", matrix);
}

// The inner dimensions of products are equal; the argument's name, whether it is transposed.
Status CheckInner(const TensorMetadata& a, std::string_view a_name, bool transpose_a, const TensorMetadata& b,
                  std::string_view b_name, bool transpose_b) {
  if (a.dim(a.rank() - (transpose_a ? 2 : 1)) == b.dim(b.rank() - (transpose_b ? 1 : 2))) return Status();
  return InvalidArgument("inner dimensions must agree, got ", a_name, ": ", a, transpose_a ? " transposed" : "", ", ",
                         b_name, ": ", b, transpose_b ? " transposed" : "");
}

StatusOr<TensorMetadata> MatMulMetadata(const TensorMetadata& a, const TensorMetadata& b, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckMatrix(a, "a"));
  TANDEM_RETURN_IF_ERROR(CheckMatrix(b, "b"));
  const bool transpose_a = attrs.GetOr("transpose_a", false);
  const bool transpose_b = attrs.GetOr("transpose_b", false);
  TANDEM_RETURN_IF_ERROR(CheckInner(a, "a", transpose_a, b, "b", transpose_b));
  return TensorMetadata(a.dtype, {a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)});
}

StatusOr<TensorMetadata> FusedMatMulMetadata(const TensorMetadata& a, const TensorMetadata& b, VariadicMetadata args,
                                             const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata product, MatMulMetadata(a, b, attrs));
  static constexpr std::string_view kFirst[] = {"BiasAdd"};
  static constexpr std::string_view kActivations[] = {"Relu", "Relu6",   "Elu",       "LeakyRelu",
                                                      "Tanh", "Sigmoid", "GeluExact", "GeluApproximate"};
  TANDEM_ASSIGN_OR_RETURN(const FusedOps fused_ops, CheckFusedOps(attrs, {kFirst, true, kActivations}));
  TANDEM_RETURN_IF_ERROR(CheckFusedArgs(fused_ops, args, product));
  if (args[0].rank() != 1 || args[0].dim(0) != product.dim(1)) {
    return InvalidArgument("bias must be a vector with one element for each column of the product, got product: ",
                           product, ", bias: ", args[0]);
  }
  return product;
}

Status CheckMatrices(const TensorMetadata& matrices, std::string_view name) {
  if (matrices.rank() >= 2) return Status();
  return InvalidArgument(name, " must have at least two dimensions, got ", name, ": ", matrices);
}

StatusOr<TensorMetadata> BatchMatMulMetadata(const TensorMetadata& x, const TensorMetadata& y,
                                             const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckMatrices(x, "x"));
  TANDEM_RETURN_IF_ERROR(CheckMatrices(y, "y"));
  const bool adj_x = attrs.GetOr("adj_x", false);
  const bool adj_y = attrs.GetOr("adj_y", false);
  TANDEM_RETURN_IF_ERROR(CheckInner(x, "x", adj_x, y, "y", adj_y));
  const StatusOr<TensorShape> batch = BroadcastShapes(TensorShape(x.shape.dims().first(x.shape.dims().size() - 2)),
                                                      TensorShape(y.shape.dims().first(y.shape.dims().size() - 2)));
  if (!batch.ok()) {
    return InvalidArgument("batch dimensions must be broadcastable, got x: ", x, ", y: ", y);
  }
  TensorShape shape = *batch;
  shape.Append(x.dim(x.rank() - (adj_x ? 1 : 2)));
  shape.Append(y.dim(y.rank() - (adj_y ? 2 : 1)));
  return TensorMetadata(x.dtype, shape);
}

StatusOr<TensorMetadata> EinsumMetadata(const MetadataFrame& frame) {
  std::string_view text;
  frame.attrs.Get("equation", &text);
  TANDEM_ASSIGN_OR_RETURN(const EinsumEquation equation, EinsumEquation::Parse(text, frame.args));
  TensorShape shape;
  for (int i = 0; i < equation.output.rank; ++i) shape.Append(equation.sizes[equation.output.of[i]]);
  return TensorMetadata(frame.args[0]->dtype, shape);
}

// How many diagonals beside the main one are kept: at most one for each row or column but the first, as TensorFlow has
// it; or negative.
Status CheckBand(HostInput band, std::string_view name, int64_t size, std::string_view what,
                 const TensorMetadata& input) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t given, band.Scalar(name));
  if (given <= size) return Status();
  return InvalidArgument(name, " must be negative or at most the number of ", what, ", got input: ", input, ", ", name,
                         ": ", given);
}

StatusOr<TensorMetadata> MatrixBandPartMetadata(const TensorMetadata& input, HostInput num_lower, HostInput num_upper) {
  TANDEM_RETURN_IF_ERROR(CheckMatrices(input, "input"));
  TANDEM_RETURN_IF_ERROR(CheckBand(num_lower, "num_lower", input.dim(input.rank() - 2), "rows", input));
  TANDEM_RETURN_IF_ERROR(CheckBand(num_upper, "num_upper", input.dim(input.rank() - 1), "columns", input));
  return input;
}

StatusOr<TensorMetadata> MatrixDiagMetadata(const TensorMetadata& diagonal) {
  if (diagonal.rank() == 0) {
    return InvalidArgument("diagonal must have at least one dimension, got diagonal: ", diagonal);
  }
  TensorShape shape = diagonal.shape;
  shape.Append(diagonal.dim(diagonal.rank() - 1));
  return TensorMetadata(diagonal.dtype, shape);
}

StatusOr<TensorMetadata> MatrixDiagPartMetadata(const TensorMetadata& input) {
  TANDEM_RETURN_IF_ERROR(CheckMatrices(input, "input"));
  const auto dims = input.shape.dims();
  TensorShape shape(dims.first(dims.size() - 2));
  shape.Append(std::min(dims[dims.size() - 2], dims.back()));
  return TensorMetadata(input.dtype, shape);
}

StatusOr<TensorMetadata> DiagMetadata(const TensorMetadata& diagonal) {
  if (diagonal.rank() == 0 || 2 * diagonal.rank() > TensorShape::kMaxRank) {
    return InvalidArgument("diagonal must have from one to ", TensorShape::kMaxRank / 2,
                           " dimensions, got diagonal: ", diagonal);
  }
  TensorShape shape = diagonal.shape;
  for (const int64_t dim : diagonal.shape.dims()) shape.Append(dim);
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "diagonal: ", diagonal));
  return TensorMetadata(diagonal.dtype, shape);
}

StatusOr<TensorMetadata> DiagPartMetadata(const TensorMetadata& input) {
  const auto dims = input.shape.dims();
  const size_t half = dims.size() / 2;
  if (half == 0 || dims.size() % 2 != 0 || !std::equal(dims.begin(), dims.begin() + half, dims.begin() + half)) {
    return InvalidArgument("input must have the shape of a diagonal twice, got input: ", input);
  }
  return TensorMetadata(input.dtype, TensorShape(dims.first(half)));
}

TANDEM_DEFINES OpDefinition FusedMatMulDef() {
  return OpDefinition("tf._FusedMatMul")
      .Input("a: T")
      .Input("b: T")
      .Input("args: num_args * T")
      .Output("product: T")
      .Attr("transpose_a: bool = false")
      .Attr("transpose_b: bool = false")
      .Attr("T: {bfloat16, half, float, double}")
      .Attr("num_args: int >= 0")
      .Attr("fused_ops: list(string) = []")
      .Attr("epsilon: float = 0.0001")
      .Attr("leakyrelu_alpha: float = 0.2")
      .Metadata<&FusedMatMulMetadata>()
      .Doc(TANDEM_DOC(
          R"(Product of two matrices with a bias added to each row, and a tensor and an activation if asked for.

The same as tf.MatMul, tf.BiasAdd, tf.AddV2 and the activation one after the other, but without the tensors in between; f16
and bf16 are rounded once, at the end. GeluExact is x * (1 + erf(x / sqrt(2))) / 2, GeluApproximate x * (1 +
tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2.

a: A matrix [m, k], or [k, m] if transpose_a.
b: A matrix [k, n], or [n, k] if transpose_b.
args: A vector [n], the bias; for 'Add', after it, a tensor [m, n].
fused_ops: 'BiasAdd', alone or followed by 'Add', by one of 'Relu', 'Relu6', 'Elu', 'LeakyRelu', 'Tanh', 'Sigmoid',
  'GeluExact', 'GeluApproximate', or by both.
epsilon: Has no effect: no op that can be fused takes it.
leakyrelu_alpha: What 'LeakyRelu' multiplies numbers below 0 by.)"));
}

TANDEM_DEFINES OpDefinition BatchMatMulDef() {
  return OpDefinition("tf.BatchMatMulV2")
      .Input("x: T")
      .Input("y: T")
      .Output("output: T")
      .Attr("T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, complex64}")
      .Attr("adj_x: bool = false")
      .Attr("adj_y: bool = false")
      .Metadata<&BatchMatMulMetadata>()
      .Doc(TANDEM_DOC(
          R"(Products of the matrices in the last two dimensions of two tensors, each of them adjoint first if asked for.

The dimensions before the last two are broadcast against each other. The adjoint of a matrix is its transpose, with
complex numbers conjugated. f16 and bf16 are summed in f32 and rounded once; integers wrap around. If the inner
dimension is empty, products are 0.

x: Matrices [..., m, k], or [..., k, m] if adj_x.
y: Matrices [..., k, n], or [..., n, k] if adj_y.)"));
}

TANDEM_DEFINES OpDefinition EinsumDef() {
  return OpDefinition("tf.Einsum")
      .Input("inputs: N * T")
      .Output("output: T")
      .Attr("equation: string")
      .Attr("N: int >= 1")
      .Attr("T: {bfloat16, half, float, double, int32, int64, complex64}")
      .Metadata<&EinsumMetadata>()
      .Doc(TANDEM_DOC(R"(Sum of products of the elements of one or two tensors, written in Einstein's notation.

The equation names the dimensions of each input and of the result by letters: 'ij,jk->ik' is the product of two
matrices. Elements that agree in all letters are multiplied; letters that the result does not have are summed
over. A letter that an input has twice stands for its diagonal ('ii->' is the trace); one that the result has
twice makes a diagonal of it, with 0 elsewhere. '...' stands for any number of dimensions, which are broadcast and
which the result must have, too. Spaces mean nothing. Sums of products are computed as tf.BatchMatMulV2 computes
them, other sums as tf.Sum does; f16 and bf16 are rounded after each.

inputs: One or two tensors.
equation: The parts for the inputs with ',' in between, '->', and the part for the result.)"));
}

TANDEM_DEFINES OpDefinition MatrixBandPartDef() {
  return OpDefinition("tf.MatrixBandPart")
      .Input("input: T")
      .HostInput("num_lower: Tindex")
      .HostInput("num_upper: Tindex")
      .Output("band: T")
      .Attr("T: {numbertype, bool}")
      .Attr("Tindex: {int32, int64} = DT_INT64")
      .Metadata<&MatrixBandPartMetadata>()
      .Doc(TANDEM_DOC(R"(Matrices with everything outside a band around the main diagonal set to 0.

The element in row i and column j is kept if i - j <= num_lower or num_lower is negative, and if j - i <=
num_upper or num_upper is negative: 0, -1 keeps the upper triangle, 0, 0 the diagonal.

input: Matrices [..., m, n].
num_lower: How many diagonals below the main one are kept, at most m; all if negative.
num_upper: How many diagonals above the main one are kept, at most n; all if negative.)"));
}

TANDEM_DEFINES OpDefinition MatrixDiagDef() {
  return OpDefinition("tf.MatrixDiag")
      .Input("diagonal: T")
      .Output("output: T")
      .Attr("T: {numbertype, bool}")
      .Metadata<&MatrixDiagMetadata>()
      .Doc(TANDEM_DOC(R"(Square matrices that have the given diagonals, and 0 elsewhere.

diagonal: Vectors [..., k]; the result is [..., k, k].)"));
}

TANDEM_DEFINES OpDefinition MatrixDiagPartDef() {
  return OpDefinition("tf.MatrixDiagPart")
      .Input("input: T")
      .Output("diagonal: T")
      .Attr("T: {numbertype, bool}")
      .Metadata<&MatrixDiagPartMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Main diagonals of matrices.

input: Matrices [..., m, n]; the result is [..., min(m, n)].)"));
}

constexpr const char* kDiagDTypes = "T: {bfloat16, half, float, double, int32, int64, complex64}";

TANDEM_DEFINES OpDefinition DiagDef() {
  return OpDefinition("tf.Diag")
      .Input("diagonal: T")
      .Output("output: T")
      .Attr(kDiagDTypes)
      .Metadata<&DiagMetadata>()
      .Doc(TANDEM_DOC(R"(A tensor that has the given elements on its diagonal, and 0 elsewhere.

The result has the shape of diagonal twice: of diagonal [m, n] element [i, j, i, j] of the result, which is
[m, n, m, n], is element [i, j]. tf.MatrixDiag makes a matrix of each vector instead.

diagonal: Of one to four dimensions.)"));
}

TANDEM_DEFINES OpDefinition DiagPartDef() {
  return OpDefinition("tf.DiagPart")
      .Input("input: T")
      .Output("diagonal: T")
      .Attr(kDiagDTypes)
      .Metadata<&DiagPartMetadata>()
      .Doc(TANDEM_DOC(R"(The diagonal of a tensor that has the same shape twice, as tf.Diag makes it.

input: Of shape [d1, ..., dk, d1, ..., dk], with k at least 1; the result is [d1, ..., dk].)"));
}

}  // namespace

Status RegisterLinalgOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.MatMul")
              .Input("a: T")
              .Input("b: T")
              .Output("product: T")
              .Attr("transpose_a: bool = false")
              .Attr("transpose_b: bool = false")
              .Attr("T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64}")
              .Metadata<&MatMulMetadata>()
              .Doc(TANDEM_DOC(R"(Product of two matrices, each of them transposed first if asked for.

f16 and bf16 are summed in f32 and rounded once; integers wrap around. If the inner dimension is empty, the product is 0.

a: A matrix [m, k], or [k, m] if transpose_a.
b: A matrix [k, n], or [n, k] if transpose_b.)")),
          FusedMatMulDef(),
          BatchMatMulDef(),
          EinsumDef(),
          MatrixBandPartDef(),
          MatrixDiagDef(),
          MatrixDiagPartDef(),
          DiagDef(),
          DiagPartDef(),
      });
}

}  // namespace tandem
