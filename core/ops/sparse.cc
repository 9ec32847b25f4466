// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Sparse tensors as their parts: SparseToDense, SparseReshape, SparseFillEmptyRows, SparseSegmentSum and Mean. Those of
// the family that are for ragged tensors are in sparse_ragged.cc.

#include <cstdint>

#include "host_vector.h"
#include "op_definition.h"
#include "sparse_ops.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> ToDenseMetadata(const TensorMetadata& sparse_indices, HostInput output_shape,
                                         const TensorMetadata& sparse_values, const TensorMetadata& default_value) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ReadHostShape(output_shape, "output_shape"));
  if (sparse_indices.rank() > 2) {
    return InvalidArgument("sparse_indices must have at most two dimensions, got sparse_indices: ", sparse_indices);
  }
  const int64_t count = sparse_indices.rank() == 0 ? 1 : sparse_indices.dim(0);
  const int64_t depth = sparse_indices.rank() == 2 ? sparse_indices.dim(1) : 1;
  if (depth != shape.rank()) {
    return InvalidArgument("sparse_indices must have one number for each dimension of the result, got sparse_indices: ",
                           sparse_indices, ", output_shape: ", shape);
  }
  if (sparse_values.rank() != 0 && (sparse_values.rank() != 1 || sparse_values.dim(0) != count)) {
    return InvalidArgument("sparse_values must be a scalar or have one element for each index, got sparse_indices: ",
                           sparse_indices, ", sparse_values: ", sparse_values);
  }
  if (default_value.rank() != 0) {
    return InvalidArgument("default_value must be a scalar, got default_value: ", default_value);
  }
  return TensorMetadata(sparse_values.dtype, shape);
}

StatusOr<std::array<TensorMetadata, 2>> ReshapeMetadata(const TensorMetadata& input_indices,
                                                        const TensorMetadata& input_shape,
                                                        const TensorMetadata& new_shape) {
  if (input_indices.rank() != 2 || input_shape.rank() != 1 || input_indices.dim(1) != input_shape.dim(0)) {
    return InvalidArgument(
        "input_indices must be a matrix with a column for each element of input_shape, got "
        "input_indices: ",
        input_indices, ", input_shape: ", input_shape);
  }
  if (new_shape.rank() != 1) return InvalidArgument("new_shape must be a vector, got new_shape: ", new_shape);
  return std::array<TensorMetadata, 2>{TensorMetadata(DType::kI64, {input_indices.dim(0), new_shape.dim(0)}),
                                       TensorMetadata(DType::kI64, new_shape.shape)};
}

TANDEM_DEFINES OpDefinition SegmentOp(const char* name, const char* dtypes, const char* doc) {
  return OpDefinition(name)
      .Input("data: T")
      .Input("indices: Tidx")
      .Input("segment_ids: Tsegmentids")
      .Output("output: T")
      .Attr(dtypes)
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Attr("Tsegmentids: {int32, int64} = DT_INT32")
      .Doc(doc);
}

}  // namespace

Status RegisterSparseOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterRaggedOps(registry));
  return RegisterOps(registry,
                     {
                         OpDefinition("tf.SparseToDense")
                             .Input("sparse_indices: Tindices")
                             .HostInput("output_shape: Tindices")
                             .Input("sparse_values: T")
                             .Input("default_value: T")
                             .Output("dense: T")
                             .Attr("validate_indices: bool = true")
                             .Attr("T: type")
                             .Attr("Tindices: {int32, int64}")
                             .Metadata<&ToDenseMetadata>()
                             .Doc(TANDEM_DOC(R"(Makes a tensor of some elements and their indices.

sparse_indices: A matrix with a row of indices for each element; or a vector, or a scalar, for results of one dimension.
  An error names the first one that is outside the result.
output_shape: The sizes of the result.
sparse_values: A vector of elements, or a scalar for all indices. Of elements with the same index the last one counts.
default_value: A scalar: all other elements.
validate_indices: Whether indices that are not in ascending order, or are repeated, are an error.)")),
                         OpDefinition("tf.SparseReshape")
                             .Input("input_indices: int64")
                             .Input("input_shape: int64")
                             .Input("new_shape: int64")
                             .Output("output_indices: int64")
                             .Output("output_shape: int64")
                             .Metadata<&ReshapeMetadata>()
                             .Doc(TANDEM_DOC(R"(The indices that elements of a sparse tensor have under another shape.

input_indices: A matrix with a row of indices for each element, each within input_shape.
input_shape: The sizes of the sparse tensor.
new_shape: The new sizes, for the same number of elements; -1 for one of them stands for what is missing.)")),
                         OpDefinition("tf.SparseFillEmptyRows")
                             .Input("indices: int64")
                             .Input("values: T")
                             .Input("dense_shape: int64")
                             .Input("default_value: T")
                             .Output("output_indices: int64")
                             .Output("output_values: T")
                             .Output("empty_row_indicator: bool")
                             .Output("reverse_index_map: int64")
                             .Attr("T: type")
                             .Doc(TANDEM_DOC(R"(Gives each empty row of a sparse tensor one element.

The results' shapes depend on the data. Elements come in the order of their rows; the new ones are default_value in column
0. empty_row_indicator tells which rows had none, reverse_index_map where each element of values went.

indices: A matrix with a row of indices for each element.
values: A vector with an element for each row of indices.
dense_shape: The sizes of the sparse tensor.
default_value: A scalar.)")),
                         SegmentOp("tf.SparseSegmentSum", "T: realnumbertype",
                                   TANDEM_DOC(R"(Adds up chosen slices of a tensor, by segments.

Slice s of the result is the sum of the slices data[indices[i]] for all i with segment_ids[i] == s, in order; 0 where there
are none. The result has as many slices as the last segment's number tells, so that its shape depends on the data. f16
and bf16 are summed in f32; integers wrap around.

data: Of rank 1 at least.
indices: A vector of numbers of slices of data; an error names the first one that there is none of.
segment_ids: A vector of the size of indices: numbers of segments, in ascending order.)")),
                         SegmentOp("tf.SparseSegmentMean", "T: {bfloat16, half, float, double}",
                                   TANDEM_DOC(R"(Means of chosen slices of a tensor, by segments.

The same as tf.SparseSegmentSum, but each sum is divided by the number of its slices.

data: Of rank 1 at least.
indices: A vector of numbers of slices of data; an error names the first one that there is none of.
segment_ids: A vector of the size of indices: numbers of segments, in ascending order.)")),
                     });
}

}  // namespace tandem
