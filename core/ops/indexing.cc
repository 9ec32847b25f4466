// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that select elements by index or find the indices of elements: GatherV2, Unique, Where.

#include <cstdint>

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
  return TensorMetadata(params.dtype, result);
}

OpDefBuilder GatherDef() {
  return OpDefBuilder("tf.GatherV2")
      .Input("params: Tparams")
      .Input("indices: Tindices")
      .HostInput("axis: Taxis")
      .Output("output: Tparams")
      .Attr("batch_dims: int = 0")
      .Attr("Tparams: type")
      .Attr("Tindices: {int16, int32, int64}")
      .Attr("Taxis: {int32, int64}")
      .Metadata<&GatherMetadata>()
      .Doc(R"(Picks slices of a tensor by their index along one dimension.

The result has the shape params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].

params: Of rank 1 at least.
indices: Each in [0, size of dimension `axis` of params); an error names the first one that is not.
axis: One number in [-rank, rank) of params, counted from the end if negative.
batch_dims: How many leading dimensions params and indices have in common, so that each index picks within its own
  batch; at most `axis` and the rank of indices, counted from that rank if negative.)");
}

OpDefBuilder UniqueDef() {
  return OpDefBuilder("tf.Unique")
      .Input("x: T")
      .Output("y: T")
      .Output("idx: out_idx")
      .Attr("T: type")
      .Attr("out_idx: {int32, int64} = DT_INT32")
      .Doc(R"(Finds the distinct elements of a vector, in order of first appearance.

The results' shapes depend on the data: y[idx[i]] is x[i]. Elements are compared by ==, so 0 and -0 are one element, the
one that came first, and every NaN is one of its own.

x: A vector.
out_idx: The dtype of idx; i32 is an error for 2^31 distinct elements or more.)");
}

OpDefBuilder WhereDef() {
  return OpDefBuilder("tf.Where")
      .Input("input: T")
      .Output("index: int64")
      .Attr("T: {numbertype, bool} = DT_BOOL")
      .Doc(R"(Lists the indices of the elements that are not zero (not false), in row-major order.

The result's shape, [number of such elements, rank of the input], depends on the data. NaN is not zero.

input: Of any shape.)");
}

}  // namespace

Status RegisterIndexingOps(OpRegistry& registry) {
  return registry.RegisterAll({GatherDef(), UniqueDef(), WhereDef()});
}

}  // namespace tandem
