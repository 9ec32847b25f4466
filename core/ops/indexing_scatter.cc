// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that put or add elements where indices say: ScatterNd, TensorScatterUpdate, TensorScatterAdd, UnsortedSegmentSum.

#include <cstdint>

#include "host_vector.h"
#include "indexing_ops.h"
#include "op_definition.h"
#include "result_shape.h"

namespace tandem {
namespace {

// Whether `updates` has a slice of a tensor of shape `shape` for each row of `indices`.
Status CheckUpdates(const TensorShape& shape, std::string_view name, const TensorMetadata& indices,
                    const TensorMetadata& updates) {
  TANDEM_ASSIGN_OR_RETURN(const int depth, IndexDepth(shape, name, indices));
  const TensorShape expected = PickedShape(shape, depth, indices.shape);
  if (updates.shape == expected) return Status();
  return InvalidArgument("updates must have shape ", expected, ", got ", name, ": ", shape, ", indices: ", indices,
                         ", updates: ", updates);
}

StatusOr<TensorMetadata> ScatterNdMetadata(const TensorMetadata& indices, const TensorMetadata& updates,
                                           HostInput shape) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape result, ReadHostShape(shape, "shape"));
  TANDEM_RETURN_IF_ERROR(CheckUpdates(result, "shape", indices, updates));
  return TensorMetadata(updates.dtype, result);
}

StatusOr<TensorMetadata> TensorScatterMetadata(const TensorMetadata& tensor, const TensorMetadata& indices,
                                               const TensorMetadata& updates) {
  TANDEM_RETURN_IF_ERROR(CheckUpdates(tensor.shape, "tensor", indices, updates));
  return tensor;
}

StatusOr<TensorMetadata> SegmentSumMetadata(const TensorMetadata& data, const TensorMetadata& segment_ids,
                                            HostInput num_segments) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t count, num_segments.Scalar("num_segments"));
  if (count < 0) return InvalidArgument("num_segments must be at least 0, got ", count);
  bool is_prefix = segment_ids.rank() <= data.rank();
  for (int i = 0; is_prefix && i < segment_ids.rank(); ++i) is_prefix = segment_ids.dim(i) == data.dim(i);
  if (!is_prefix) {
    return InvalidArgument("data must begin with the dimensions of segment_ids, got data: ", data,
                           ", segment_ids: ", segment_ids);
  }
  TensorShape result({count});
  if (segment_ids.rank() == 0) TANDEM_RETURN_IF_ERROR(CheckHasRoom("data", data));
  for (int i = segment_ids.rank(); i < data.rank(); ++i) result.Append(data.dim(i));
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "data: ", data, ", num_segments: ", count));
  return TensorMetadata(data.dtype, result);
}

TANDEM_DEFINES OpDefinition ScatterNdDef() {
  return OpDefinition("tf.ScatterNd")
      .Input("indices: Tindices")
      .Input("updates: T")
      .HostInput("shape: Tindices")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tindices: {int16, int32, int64}")
      .Metadata<&ScatterNdMetadata>()
      .Doc(TANDEM_DOC(R"(Adds elements or slices to a tensor of zeros (false, empty strings) where indices say.

What goes to the same place is added up in the order of updates: of bool the result is true if one of them is, strings
are joined. Integers wrap around, f16 and bf16 are rounded once.

indices: Of rank 1 at least. Its last dimension, of size n, holds one index for each of the first n dimensions of the
  result, each in [0, size of the dimension); an error names the first ones that are not.
updates: Of shape indices.shape[:-1] + shape[n:].
shape: The sizes of the result, at most 8, each at least 0.)"));
}

TANDEM_DEFINES OpDefinition TensorScatterUpdateDef() {
  return OpDefinition("tf.TensorScatterUpdate")
      .Input("tensor: T")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tindices: {int16, int32, int64, uint16}")
      .Metadata<&TensorScatterMetadata>()
      .Doc(TANDEM_DOC(R"(Replaces elements or slices of a tensor where indices say.

Of several updates of the same place, the last one counts.

tensor: Of any shape.
indices: Of rank 1 at least. Its last dimension, of size n, holds one index for each of the first n dimensions of the
  tensor, each in [0, size of the dimension); an error names the first ones that are not.
updates: Of shape indices.shape[:-1] + tensor.shape[n:].)"));
}

TANDEM_DEFINES OpDefinition TensorScatterAddDef() {
  return OpDefinition("tf.TensorScatterAdd")
      .Input("tensor: T")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Output("output: T")
      .Attr("T: {numbertype, bool}")
      .Attr("Tindices: {int32, int64}")
      .Metadata<&TensorScatterMetadata>()
      .Doc(TANDEM_DOC(R"(Adds elements or slices to a tensor where indices say.

What goes to the same place is added up in the order of updates; of bool the result is true if one of them is. Integers
wrap around, f16 and bf16 are rounded once.

tensor: Of any shape.
indices: Of rank 1 at least. Its last dimension, of size n, holds one index for each of the first n dimensions of the
  tensor, each in [0, size of the dimension); an error names the first ones that are not.
updates: Of shape indices.shape[:-1] + tensor.shape[n:].)"));
}

TANDEM_DEFINES OpDefinition SegmentSumDef() {
  return OpDefinition("tf.UnsortedSegmentSum")
      .Input("data: T")
      .Input("segment_ids: Tindices")
      .HostInput("num_segments: Tnumsegments")
      .Output("output: T")
      .Attr("T: numbertype")
      .Attr("Tindices: {int32, int64}")
      .Attr("Tnumsegments: {int32, int64} = DT_INT32")
      .Metadata<&SegmentSumMetadata>()
      .Doc(TANDEM_DOC(R"(Adds up the elements or slices that have the same number.

The result has the shape [num_segments] + data.shape[rank of segment_ids:]; what no slice belongs to is 0. Integers wrap
around, f16 and bf16 are rounded once.

data: Its shape begins with that of segment_ids.
segment_ids: The number of each slice, in any order, below num_segments; an error names the first one that is not. What
  has a negative number is left out.
num_segments: One number, at least 0.)"));
}

}  // namespace

Status RegisterScatterOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   ScatterNdDef(),
                                   TensorScatterUpdateDef(),
                                   TensorScatterAddDef(),
                                   SegmentSumDef(),
                               });
}

}  // namespace tandem
