// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that select elements by index or find the indices of elements: GatherV2, GatherNd, Unique, Where, TopKV2.

#include <array>
#include <cstdint>
#include <limits>

#include "indexing_ops.h"
#include "op_definition.h"
#include "result_shape.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> GatherMetadata(const TensorMetadata& params, const TensorMetadata& indices, HostInput axis,
                                        const OpAttrsRef& attrs) {
  if (params.rank() == 0) return InvalidArgument("params must have at least one dimension, got params: ", params);
  TANDEM_ASSIGN_OR_RETURN(const int64_t given_axis, axis.Scalar("axis"));
  TANDEM_ASSIGN_OR_RETURN(const int gather_axis, NormalizeAxis(given_axis, params.rank(), "axis"));
  const auto given = attrs.GetOr<int64_t>("batch_dims", 0);
  const int64_t batch_dims = given < 0 ? given + indices.rank() : given;
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims > gather_axis) {
    return InvalidArgument("batch_dims must be at most axis and the rank of indices, got batch_dims: ", given,
                           ", axis: ", given_axis, ", params: ", params, ", indices: ", indices);
  }
  if (params.rank() - 1 + indices.rank() - batch_dims > TensorShape::kMaxRank) {
    return InvalidArgument("the result must have at most ", TensorShape::kMaxRank, " dimensions, got params: ", params,
                           ", indices: ", indices);
  }
  TensorShape result;
  for (int i = 0; i < gather_axis; ++i) {
    if (i < batch_dims && params.dim(i) != indices.dim(i)) {
      return InvalidArgument("params and indices must agree in the first ", batch_dims,
                             " dimensions, got params: ", params, ", indices: ", indices);
    }
    result.Append(params.dim(i));
  }
  for (int i = static_cast<int>(batch_dims); i < indices.rank(); ++i) result.Append(indices.dim(i));
  for (int i = gather_axis + 1; i < params.rank(); ++i) result.Append(params.dim(i));
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "params: ", params, ", indices: ", indices));
  return TensorMetadata(params.dtype, result);
}

TANDEM_DEFINES OpDefinition GatherDef() {
  return OpDefinition("tf.GatherV2")
      .Input("params: Tparams")
      .Input("indices: Tindices")
      .HostInput("axis: Taxis")
      .Output("output: Tparams")
      .Attr("batch_dims: int = 0")
      .Attr("Tparams: type")
      .Attr("Tindices: {int16, int32, int64}")
      .Attr("Taxis: {int32, int64}")
      .Metadata<&GatherMetadata>()
      .Doc(TANDEM_DOC(R"(Picks slices of a tensor by their index along one dimension.

The result has the shape params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].

params: Of rank 1 at least.
indices: Each in [0, size of dimension `axis` of params); an error names the first one that is not.
axis: One number in [-rank, rank) of params, counted from the end if negative.
batch_dims: How many leading dimensions params and indices have in common, so that each index picks within its own
  batch; at most `axis` and the rank of indices, counted from that rank if negative.)"));
}

StatusOr<TensorMetadata> GatherNdMetadata(const TensorMetadata& params, const TensorMetadata& indices) {
  if (params.rank() == 0) return InvalidArgument("params must have at least one dimension, got params: ", params);
  TANDEM_ASSIGN_OR_RETURN(const int depth, IndexDepth(params.shape, "params", indices));
  if (indices.rank() - 1 + params.rank() - depth > TensorShape::kMaxRank) {
    return InvalidArgument("the result must have at most ", TensorShape::kMaxRank, " dimensions, got params: ", params,
                           ", indices: ", indices);
  }
  const TensorShape result = PickedShape(params.shape, depth, indices.shape);
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "params: ", params, ", indices: ", indices));
  return TensorMetadata(params.dtype, result);
}

TANDEM_DEFINES OpDefinition GatherNdDef() {
  return OpDefinition("tf.GatherNd")
      .Input("params: Tparams")
      .Input("indices: Tindices")
      .Output("output: Tparams")
      .Attr("Tparams: type")
      .Attr("Tindices: {int16, int32, int64}")
      .Metadata<&GatherNdMetadata>()
      .Doc(TANDEM_DOC(R"(Picks elements or slices of a tensor by indices in several of its dimensions.

The last dimension of indices holds one index for each of the first n dimensions of params; the result has the shape
indices.shape[:-1] + params.shape[n:].

params: Of rank 1 at least.
indices: Of rank 1 at least; the size n of its last dimension is at most the rank of params. Each index is in [0, size
  of its dimension of params); an error names the first ones that are not.)"));
}

StatusOr<std::array<TensorMetadata, 2>> TopKMetadata(const TensorMetadata& input, HostInput k,
                                                     const OpAttrsRef& attrs) {
  if (input.rank() == 0) return InvalidArgument("input must have at least one dimension, got input: ", input);
  TANDEM_ASSIGN_OR_RETURN(const int64_t count, k.Scalar("k"));
  const int last = input.rank() - 1;
  const int64_t row = input.dim(last);
  if (count < 0 || count > row) {
    return InvalidArgument("k must be in [0, ", row, "], the last dimension of input, got k: ", count,
                           ", input: ", input);
  }
  const DType index_type = attrs.GetOr("index_type", DType::kI32);
  const int64_t limit = index_type == DType::kI16   ? std::numeric_limits<int16_t>::max()
                        : index_type == DType::kI32 ? std::numeric_limits<int32_t>::max()
                                                    : std::numeric_limits<int64_t>::max();
  if (row - 1 > limit) {
    return InvalidArgument("indices must fit in ", index_type, ", got input: ", input,
                           "; set index_type to a wider one");
  }
  TensorShape shape = input.shape;
  shape.SetDim(last, count);
  return std::array<TensorMetadata, 2>{TensorMetadata(input.dtype, shape), TensorMetadata(index_type, shape)};
}

TANDEM_DEFINES OpDefinition TopKDef() {
  return OpDefinition("tf.TopKV2")
      .Input("input: T")
      .HostInput("k: Tk")
      .Output("values: T")
      .Output("indices: index_type")
      .Attr("sorted: bool = true")
      .Attr("T: realnumbertype")
      .Attr("Tk: {int16, int32, int64} = DT_INT32")
      .Attr("index_type: {int16, int32, int64} = DT_INT32")
      .Metadata<&TopKMetadata>()
      .Doc(TANDEM_DOC(R"(Finds the k largest elements along the last dimension, and where they are.

They come in descending order. Of equal elements, 0 and -0 among them, the one with the lower index comes first. NaN
counts as larger than every number, so that it is not overlooked.

input: Of rank 1 at least.
k: One number in [0, size of the last dimension].
sorted: False allows a device to give them in any order; this one is always given.
index_type: The dtype of indices, in which all indices of the last dimension must fit.)"));
}

TANDEM_DEFINES OpDefinition UniqueDef() {
  return OpDefinition("tf.Unique")
      .Input("x: T")
      .Output("y: T")
      .Output("idx: out_idx")
      .Attr("T: type")
      .Attr("out_idx: {int32, int64} = DT_INT32")
      .Doc(TANDEM_DOC(R"(Finds the distinct elements of a vector, in order of first appearance.

The results' shapes depend on the data: y[idx[i]] is x[i]. Elements are compared by ==, so 0 and -0 are one element, the
one that came first, and every NaN is one of its own.

x: A vector.
out_idx: The dtype of idx; i32 is an error for 2^31 distinct elements or more.)"));
}

TANDEM_DEFINES OpDefinition UniqueV2Def() {
  return OpDefinition("tf.UniqueV2")
      .Input("x: T")
      .HostInput("axis: Taxis")
      .Output("y: T")
      .Output("idx: out_idx")
      .Attr("T: type")
      .Attr("Taxis: {int32, int64} = DT_INT64")
      .Attr("out_idx: {int32, int64} = DT_INT32")
      .Doc(TANDEM_DOC(R"(Finds the distinct slices of a tensor along one dimension, in order of first appearance.

The results' shapes depend on the data: y has the distinct slices along `axis`, and slice idx[i] of y is slice i of x.
Slices are equal if their elements are, by ==: 0 equals -0, and a slice with a NaN equals no other one.

x: Of rank 1 at least.
axis: A vector of one number in [-rank, rank), counted from the end if negative; or an empty one, if x is a vector.
out_idx: The dtype of idx; i32 is an error for 2^31 distinct slices or more.)"));
}

TANDEM_DEFINES OpDefinition WhereDef() {
  return OpDefinition("tf.Where")
      .Input("input: T")
      .Output("index: int64")
      .Attr("T: {numbertype, bool} = DT_BOOL")
      .Doc(TANDEM_DOC(R"(Lists the indices of the elements that are not zero (not false), in row-major order.

The result's shape, [number of such elements, rank of the input], depends on the data. NaN is not zero.

input: Of any shape.)"));
}

}  // namespace

Status RegisterIndexingOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterScatterOps(registry));
  return RegisterOps(registry, {
                                   GatherDef(),
                                   GatherNdDef(),
                                   TopKDef(),
                                   UniqueDef(),
                                   UniqueV2Def(),
                                   WhereDef(),
                               });
}

}  // namespace tandem
