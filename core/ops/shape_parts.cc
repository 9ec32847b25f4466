// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that join tensors or take them apart: ConcatV2, Split, SplitV, Pack, Unpack.

#include <cstdint>
#include <span>

#include "host_vector.h"
#include "op_definition.h"
#include "result_shape.h"
#include "shape_ops.h"

namespace tandem {
namespace {

int64_t AxisAttr(const OpAttrsRef& attrs) { return attrs.GetOr<int64_t>("axis", 0); }

TensorShape RemoveDim(const TensorShape& shape, int axis) {
  TensorShape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) result.Append(shape.dim(i));
  }
  return result;
}

// Arguments: the values, then the axis.
Status ConcatMetadata(const MetadataFrame& frame) {
  const size_t count = frame.args.size() - 1;
  const TensorMetadata& first = *frame.args[0];
  if (first.rank() == 0) {
    return InvalidArgument("values must have at least one dimension, got values[0]: ", first);
  }
  TANDEM_ASSIGN_OR_RETURN(const int64_t given, HostInput(*frame.args[count], frame.values[count]).Scalar("axis"));
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, first.rank(), "axis"));
  TensorShape result = first.shape;
  int64_t sum = first.dim(axis);
  for (size_t i = 1; i < count; ++i) {
    const TensorMetadata& value = *frame.args[i];
    if (value.rank() == first.rank()) result.SetDim(axis, value.dim(axis));
    if (!(value.shape == result)) {
      return InvalidArgument("values must have the same shape except for dimension ", axis, ", got values[0]: ", first,
                             ", values[", i, "]: ", value);
    }
    if (__builtin_add_overflow(sum, value.dim(axis), &sum)) {
      return InvalidArgument("dimension ", axis, " of the result must be at most 2^63-1");
    }
  }
  result.SetDim(axis, sum);
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "values[0]: ", first, " and ", count - 1, " more"));
  frame.results[0] = TensorMetadata(first.dtype, result);
  return Status();
}

Status SplitMetadata(HostInput split_dim, const TensorMetadata& value, std::span<TensorMetadata> results) {
  if (value.rank() == 0) return InvalidArgument("value must have at least one dimension, got value: ", value);
  TANDEM_ASSIGN_OR_RETURN(const int64_t given, split_dim.Scalar("split_dim"));
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, value.rank(), "split_dim"));
  const auto count = static_cast<int64_t>(results.size());
  if (value.dim(axis) % count != 0) {
    return InvalidArgument("dimension ", axis, " of value must be divisible by num_split, got value: ", value,
                           ", num_split: ", count);
  }
  TensorShape shape = value.shape;
  shape.SetDim(axis, value.dim(axis) / count);
  for (TensorMetadata& result : results) result = TensorMetadata(value.dtype, shape);
  return Status();
}

// Sizes must be at least 0, or -1 for one of them, which gets what the others leave of dimension `axis` of `value`.
Status SplitVMetadata(const TensorMetadata& value, HostInput size_splits, HostInput split_dim,
                      std::span<TensorMetadata> results) {
  if (value.rank() == 0) return InvalidArgument("value must have at least one dimension, got value: ", value);
  TANDEM_ASSIGN_OR_RETURN(const int64_t given, split_dim.Scalar("split_dim"));
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, value.rank(), "split_dim"));
  const TensorMetadata& splits = size_splits.metadata();
  if (splits.rank() != 1 || splits.dim(0) != static_cast<int64_t>(results.size())) {
    return InvalidArgument("size_splits must be a vector of num_split elements, got size_splits: ", splits,
                           ", num_split: ", results.size());
  }
  int64_t sum = 0;
  int64_t unknown = -1;
  for (int64_t i = 0; i < splits.dim(0); ++i) {
    const int64_t size = size_splits.Int(i);
    if (size < -1 || (size == -1 && unknown >= 0)) {
      return InvalidArgument("size_splits must be at least 0, or -1 for one of them, got ", size, " at position ", i);
    }
    if (size == -1) {
      unknown = i;
    } else if (__builtin_add_overflow(sum, size, &sum)) {
      return InvalidArgument("size_splits must add up to at most 2^63-1, got more with ", size, " at position ", i);
    }
  }
  const int64_t dim = value.dim(axis);
  if (unknown >= 0 ? sum > dim : sum != dim) {
    return InvalidArgument("size_splits must add up to dimension ", axis, " of value",
                           unknown >= 0 ? ", or less where one is -1" : "", ", got value: ", value,
                           ", size_splits that add up to ", sum);
  }
  TensorShape shape = value.shape;
  for (int64_t i = 0; i < splits.dim(0); ++i) {
    shape.SetDim(axis, i == unknown ? dim - sum : size_splits.Int(i));
    results[static_cast<size_t>(i)] = TensorMetadata(value.dtype, shape);
  }
  return Status();
}

StatusOr<TensorMetadata> PackMetadata(VariadicMetadata values, const OpAttrsRef& attrs) {
  const TensorMetadata& first = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i].shape == first.shape) continue;
    return InvalidArgument("values must have the same shape, got values[0]: ", first, ", values[", i, "]: ", values[i]);
  }
  TANDEM_RETURN_IF_ERROR(CheckHasRoom("values[0]", first));
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(AxisAttr(attrs), first.rank() + 1, "axis"));
  const TensorShape result = InsertDim(first.shape, axis, static_cast<int64_t>(values.size()));
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "values[0]: ", first, " and ", values.size() - 1, " more"));
  return TensorMetadata(first.dtype, result);
}

Status UnpackMetadata(const TensorMetadata& value, const OpAttrsRef& attrs, std::span<TensorMetadata> results) {
  if (value.rank() == 0) return InvalidArgument("value must have at least one dimension, got value: ", value);
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(AxisAttr(attrs), value.rank(), "axis"));
  if (value.dim(axis) != static_cast<int64_t>(results.size())) {
    return InvalidArgument("dimension ", axis, " of value must be num, got value: ", value, ", num: ", results.size());
  }
  for (TensorMetadata& result : results) result = TensorMetadata(value.dtype, RemoveDim(value.shape, axis));
  return Status();
}

TANDEM_DEFINES OpDefinition ConcatDef() {
  return OpDefinition("tf.ConcatV2")
      .Input("values: N * T")
      .HostInput("axis: Tidx")
      .Output("output: T")
      .Attr("N: int >= 2")
      .Attr("T: type")
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Metadata<&ConcatMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Joins tensors along one of their dimensions.

values: At least two tensors of one rank, at least 1, whose sizes differ in dimension `axis` at most.
axis: One number in [-rank, rank), counted from the end if negative.)"));
}

TANDEM_DEFINES OpDefinition SplitDef() {
  return OpDefinition("tf.Split")
      .HostInput("split_dim: int32")
      .Input("value: T")
      .Output("output: num_split * T")
      .Attr("num_split: int >= 1")
      .Attr("T: type")
      .Metadata<&SplitMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Cuts a tensor into pieces of equal size along one dimension.

Pieces that lie in one stretch of memory share it with the input where alignment allows.

split_dim: One number in [-rank, rank), counted from the end if negative.
value: Of rank 1 at least; num_split divides its dimension `split_dim`.)"));
}

TANDEM_DEFINES OpDefinition SplitVDef() {
  return OpDefinition("tf.SplitV")
      .Input("value: T")
      .HostInput("size_splits: Tlen")
      .HostInput("split_dim: int32")
      .Output("output: num_split * T")
      .Attr("num_split: int >= 1")
      .Attr("T: type")
      .Attr("Tlen: {int8, int32, int64} = DT_INT64")
      .Metadata<&SplitVMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Cuts a tensor into pieces of given sizes along one dimension.

Pieces that lie in one stretch of memory share it with the input where alignment allows.

value: Of rank 1 at least.
size_splits: num_split sizes, each at least 0, which add up to dimension `split_dim` of value. One of them may be -1: it
  becomes what the others leave.
split_dim: One number in [-rank, rank), counted from the end if negative.)"));
}

TANDEM_DEFINES OpDefinition PackDef() {
  return OpDefinition("tf.Pack")
      .Input("values: N * T")
      .Output("output: T")
      .Attr("N: int >= 1")
      .Attr("T: type")
      .Attr("axis: int = 0")
      .Metadata<&PackMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Stacks tensors of one shape along a new dimension.

values: At least one tensor, of at most 7 dimensions.
axis: Where the new dimension is in the result, in [-(rank + 1), rank], counted from the end if negative.)"));
}

TANDEM_DEFINES OpDefinition UnpackDef() {
  return OpDefinition("tf.Unpack")
      .Input("value: T")
      .Output("output: num * T")
      .Attr("num: int >= 0")
      .Attr("T: type")
      .Attr("axis: int = 0")
      .Metadata<&UnpackMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Takes a tensor apart along one dimension, which the results lack.

Results that lie in one stretch of memory share it with the input where alignment allows.

value: Of rank 1 at least; its dimension `axis` is of size `num`.
axis: In [-rank, rank), counted from the end if negative.)"));
}

}  // namespace

Status RegisterShapePartOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   ConcatDef(),
                                   SplitDef(),
                                   SplitVDef(),
                                   PackDef(),
                                   UnpackDef(),
                               });
}

}  // namespace tandem
