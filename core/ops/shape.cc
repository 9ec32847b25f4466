// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that rearrange elements or ask for shapes: Reshape, Transpose, ConcatV2, Slice, Pack, Shape and the like.

#include <cstdint>
#include <limits>
#include <span>

#include "host_vector.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

int64_t IntAttr(const OpAttrsRef& attrs, std::string_view name) { return attrs.GetOr<int64_t>(name, 0); }

// `shape` with one more dimension, at `axis`. Invalid if it had as many as a shape may have.
TensorShape InsertDim(const TensorShape& shape, int axis, int64_t dim) {
  TensorShape result;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i == axis) result.Append(dim);
    if (i < shape.rank()) result.Append(shape.dim(i));
  }
  return result;
}

TensorShape RemoveDim(const TensorShape& shape, int axis) {
  TensorShape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) result.Append(shape.dim(i));
  }
  return result;
}

StatusOr<TensorMetadata> ReshapeMetadata(const TensorMetadata& tensor, HostInput shape) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector sizes, ReadHostVector(shape, "shape"));
  int unknown = -1;
  TensorShape result;  // with 1 in place of the unknown size
  for (int i = 0; i < sizes.size; ++i) {
    if (sizes[i] < -1 || (sizes[i] == -1 && unknown >= 0)) {
      return InvalidArgument("sizes must be at least 0, or -1 for one of them, got shape: ", sizes.span());
    }
    if (sizes[i] == -1) unknown = i;
    result.Append(sizes[i] == -1 ? 1 : sizes[i]);
  }
  TANDEM_RETURN_IF_ERROR(result.Validate());
  if (unknown >= 0) {
    const int64_t known = result.num_elements();
    if (known == 0) {
      return InvalidArgument("the other sizes must not be 0 where one is -1, got shape: ", sizes.span());
    }
    if (tensor.num_elements() % known == 0) result.SetDim(unknown, tensor.num_elements() / known);
  }
  if (result.num_elements() != tensor.num_elements()) {
    return InvalidArgument("tensor and shape must have the same number of elements, got tensor: ", tensor,
                           ", shape: ", sizes.span());
  }
  return TensorMetadata(tensor.dtype, result);
}

StatusOr<TensorMetadata> ExpandDimsMetadata(const TensorMetadata& input, HostInput dim) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t given, dim.Scalar("dim"));
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, input.rank() + 1, "dim"));
  return TensorMetadata(input.dtype, InsertDim(input.shape, axis, 1));
}

StatusOr<TensorMetadata> SqueezeMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  std::span<const int64_t> dims;
  attrs.GetArray("squeeze_dims", &dims);
  bool removed[TensorShape::kMaxRank] = {};
  for (const int64_t dim : dims) {
    TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(dim, input.rank(), "elements of squeeze_dims"));
    if (input.dim(axis) != 1) {
      return InvalidArgument("dimensions to squeeze must be 1, got input: ", input, ", squeeze_dims: ", dims);
    }
    removed[axis] = true;
  }
  TensorShape result;
  for (int i = 0; i < input.rank(); ++i) {
    if (dims.empty() ? input.dim(i) != 1 : !removed[i]) result.Append(input.dim(i));
  }
  return TensorMetadata(input.dtype, result);
}

StatusOr<TensorMetadata> TransposeMetadata(const TensorMetadata& x, HostInput perm) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector axes, ReadHostVectorFor(perm, "perm", x, "x"));
  bool seen[TensorShape::kMaxRank] = {};
  TensorShape result;
  for (const int64_t axis : axes.span()) {
    if (axis < 0 || axis >= x.rank() || seen[axis]) {
      return InvalidArgument("perm must have each of the dimensions of x once, got x: ", x, ", perm: ", axes.span());
    }
    seen[axis] = true;
    result.Append(x.dim(static_cast<int>(axis)));
  }
  return TensorMetadata(x.dtype, result);
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

StatusOr<TensorMetadata> SliceMetadata(const TensorMetadata& input, HostInput begin, HostInput size) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector begins, ReadHostVectorFor(begin, "begin", input, "input"));
  TANDEM_ASSIGN_OR_RETURN(const HostVector sizes, ReadHostVectorFor(size, "size", input, "input"));
  TensorShape result;
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t dim = input.dim(i);
    const bool fits =
        begins[i] >= 0 && begins[i] <= dim && sizes[i] >= -1 && (sizes[i] == -1 || sizes[i] <= dim - begins[i]);
    if (!fits) {
      return InvalidArgument("the slice must lie within input, got input: ", input, ", begin: ", begins.span(),
                             ", size: ", sizes.span());
    }
    result.Append(sizes[i] == -1 ? dim - begins[i] : sizes[i]);
  }
  return TensorMetadata(input.dtype, result);
}

StatusOr<TensorMetadata> TileMetadata(const TensorMetadata& input, HostInput multiples) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector factors, ReadHostVectorFor(multiples, "multiples", input, "input"));
  TensorShape result;
  for (int i = 0; i < input.rank(); ++i) {
    int64_t dim = 0;
    if (factors[i] < 0 || __builtin_mul_overflow(input.dim(i), factors[i], &dim)) {
      return InvalidArgument("multiples must be at least 0 and dimensions at most 2^63-1, got input: ", input,
                             ", multiples: ", factors.span());
    }
    result.Append(dim);
  }
  return TensorMetadata(input.dtype, result);
}

StatusOr<TensorMetadata> PadMetadata(const TensorMetadata& input, HostInput paddings) {
  const TensorMetadata& given = paddings.metadata();
  if (given.rank() != 2 || given.dim(0) != input.rank() || given.dim(1) != 2) {
    return InvalidArgument("paddings must have two elements for each dimension of input, got input: ", input,
                           ", paddings: ", given);
  }
  TensorShape result;
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t before = paddings.Int(2 * i);
    const int64_t after = paddings.Int(2 * i + 1);
    int64_t dim = input.dim(i);
    if (before < 0 || after < 0 || __builtin_add_overflow(dim, before, &dim) ||
        __builtin_add_overflow(dim, after, &dim)) {
      return InvalidArgument("paddings must be at least 0 and dimensions at most 2^63-1, got input: ", input,
                             ", paddings of dimension ", i, ": [", before, ",", after, "]");
    }
    result.Append(dim);
  }
  return TensorMetadata(input.dtype, result);
}

StatusOr<TensorMetadata> BroadcastToMetadata(const TensorMetadata& input, HostInput shape) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape result, ReadHostShape(shape, "shape"));
  const int offset = result.rank() - input.rank();
  bool fits = offset >= 0;
  for (int i = 0; fits && i < input.rank(); ++i) fits = input.dim(i) == 1 || input.dim(i) == result.dim(offset + i);
  if (!fits) {
    return InvalidArgument("input must be broadcastable to shape, got input: ", input, ", shape: ", result);
  }
  return TensorMetadata(input.dtype, result);
}

// InvalidArgument if `value`, which is `what` of `input`, does not fit into the elements of the result.
Status CheckFits(DType out_type, int64_t value, std::string_view what, const TensorMetadata& input) {
  if (out_type != DType::kI32 || value <= std::numeric_limits<int32_t>::max()) return Status();
  return InvalidArgument(what, " must fit in i32, got input: ", input, "; set out_type to i64");
}

StatusOr<TensorMetadata> ShapeMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  const DType out_type = attrs.GetOr("out_type", DType::kI32);
  for (const int64_t dim : input.shape.dims()) {
    TANDEM_RETURN_IF_ERROR(CheckFits(out_type, dim, "dimensions", input));
  }
  return TensorMetadata(out_type, TensorShape({input.rank()}));
}

StatusOr<TensorMetadata> SizeMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  const DType out_type = attrs.GetOr("out_type", DType::kI32);
  TANDEM_RETURN_IF_ERROR(CheckFits(out_type, input.num_elements(), "the number of elements", input));
  return TensorMetadata(out_type, TensorShape());
}

TensorMetadata RankMetadata(const TensorMetadata&) { return TensorMetadata(DType::kI32, TensorShape()); }

StatusOr<TensorMetadata> PackMetadata(VariadicMetadata values, const OpAttrsRef& attrs) {
  const TensorMetadata& first = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i].shape == first.shape) continue;
    return InvalidArgument("values must have the same shape, got values[0]: ", first, ", values[", i, "]: ", values[i]);
  }
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(IntAttr(attrs, "axis"), first.rank() + 1, "axis"));
  return TensorMetadata(first.dtype, InsertDim(first.shape, axis, static_cast<int64_t>(values.size())));
}

Status UnpackMetadata(const TensorMetadata& value, const OpAttrsRef& attrs, std::span<TensorMetadata> results) {
  if (value.rank() == 0) return InvalidArgument("value must have at least one dimension, got value: ", value);
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(IntAttr(attrs, "axis"), value.rank(), "axis"));
  if (value.dim(axis) != static_cast<int64_t>(results.size())) {
    return InvalidArgument("dimension ", axis, " of value must be num, got value: ", value, ", num: ", results.size());
  }
  for (TensorMetadata& result : results) result = TensorMetadata(value.dtype, RemoveDim(value.shape, axis));
  return Status();
}

OpDefBuilder ReshapeDef() {
  return OpDefBuilder("tf.Reshape")
      .Input("tensor: T")
      .HostInput("shape: Tshape")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tshape: {int32, int64} = DT_INT32")
      .Metadata<&ReshapeMetadata>()
      .Doc(R"(Gives a tensor another shape with the same number of elements.

The elements keep their row-major order, and nothing is copied: the result shares the memory of the input.

tensor: Of any shape and dtype.
shape: The sizes, at most 8. One of them may be -1: it becomes what the number of elements asks for, which is an error
  if that is no whole number, or if another size is 0.)");
}

OpDefBuilder ExpandDimsDef() {
  return OpDefBuilder("tf.ExpandDims")
      .Input("input: T")
      .HostInput("dim: Tdim")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tdim: {int32, int64} = DT_INT32")
      .Metadata<&ExpandDimsMetadata>()
      .Doc(R"(Inserts a dimension of size 1.

The result shares the memory of the input.

input: Of any shape with at most 7 dimensions.
dim: One number: where the new dimension is in the result, in [-(rank + 1), rank], counted from the end if negative.)");
}

OpDefBuilder SqueezeDef() {
  return OpDefBuilder("tf.Squeeze")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("squeeze_dims: list(int) = []")
      .Metadata<&SqueezeMetadata>()
      .Doc(R"(Removes dimensions of size 1.

The result shares the memory of the input.

input: Of any shape.
squeeze_dims: The dimensions to remove, in [-rank, rank); it is an error if one of them is not of size 1. Empty: all
  dimensions of size 1.)");
}

OpDefBuilder TransposeDef() {
  return OpDefBuilder("tf.Transpose")
      .Input("x: T")
      .HostInput("perm: Tperm")
      .Output("y: T")
      .Attr("T: type")
      .Attr("Tperm: {int32, int64} = DT_INT32")
      .Metadata<&TransposeMetadata>()
      .Doc(R"(Permutes the dimensions of a tensor.

Dimension i of the result is dimension perm[i] of x.

x: Of any shape.
perm: Each number in [0, rank) once.)");
}

OpDefBuilder ConcatDef() {
  return OpDefBuilder("tf.ConcatV2")
      .Input("values: N * T")
      .HostInput("axis: Tidx")
      .Output("output: T")
      .Attr("N: int >= 2")
      .Attr("T: type")
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Metadata<&ConcatMetadata>()
      .Doc(R"(Joins tensors along one of their dimensions.

values: At least two tensors of one rank, at least 1, whose sizes differ in dimension `axis` at most.
axis: One number in [-rank, rank), counted from the end if negative.)");
}

OpDefBuilder SplitDef() {
  return OpDefBuilder("tf.Split")
      .HostInput("split_dim: int32")
      .Input("value: T")
      .Output("output: num_split * T")
      .Attr("num_split: int >= 1")
      .Attr("T: type")
      .Metadata<&SplitMetadata>()
      .Doc(R"(Cuts a tensor into pieces of equal size along one dimension.

Pieces that lie in one stretch of memory share it with the input where alignment allows.

split_dim: One number in [-rank, rank), counted from the end if negative.
value: Of rank 1 at least; num_split divides its dimension `split_dim`.)");
}

OpDefBuilder SliceDef() {
  return OpDefBuilder("tf.Slice")
      .Input("input: T")
      .HostInput("begin: Index")
      .HostInput("size: Index")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}")
      .Metadata<&SliceMetadata>()
      .Doc(R"(Takes a rectangular block out of a tensor.

A block that lies in one stretch of memory shares it with the input where alignment allows.

input: Of any shape.
begin: Where the block begins, one number for each dimension of the input.
size: The size of the block in each dimension; -1 means all that follows. The block must lie within the input.)");
}

OpDefBuilder TileDef() {
  return OpDefBuilder("tf.Tile")
      .Input("input: T")
      .HostInput("multiples: Tmultiples")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tmultiples: {int16, int32, int64} = DT_INT32")
      .Metadata<&TileMetadata>()
      .Doc(R"(Repeats a tensor along each of its dimensions.

input: Of any shape.
multiples: How often, at least 0: one number for each dimension of the input.)");
}

OpDefBuilder PadDef() {
  return OpDefBuilder("tf.Pad")
      .Input("input: T")
      .HostInput("paddings: Tpaddings")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tpaddings: {int32, int64} = DT_INT32")
      .Metadata<&PadMetadata>()
      .Doc(R"(Surrounds a tensor with zeros (false, empty strings).

input: Of any shape.
paddings: [rank, 2]; row i says how many elements dimension i gets before and after its own, each at least 0.)");
}

OpDefBuilder BroadcastToDef() {
  return OpDefBuilder("tf.BroadcastTo")
      .Input("input: T")
      .HostInput("shape: Tidx")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Metadata<&BroadcastToMetadata>()
      .Doc(R"(Repeats dimensions of size 1, and the tensor as a whole, until it has a given shape.

input: Aligned with `shape` at the last dimension, each of its sizes is 1 or that of `shape`.
shape: The sizes of the result, at most 8, each at least 0.)");
}

OpDefBuilder ShapeDef() {
  return OpDefBuilder("tf.Shape")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = DT_INT32")
      .Metadata<&ShapeMetadata>()
      .Doc(R"(Gives the sizes of a tensor's dimensions as a vector.

input: Of any shape; with out_type i32 it is an error if one of its sizes is 2^31 or more.)");
}

OpDefBuilder SizeDef() {
  return OpDefBuilder("tf.Size")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = DT_INT32")
      .Metadata<&SizeMetadata>()
      .Doc(R"(Gives the number of elements of a tensor as a scalar.

input: Of any shape; with out_type i32 it is an error if it has 2^31 elements or more.)");
}

OpDefBuilder RankDef() {
  return OpDefBuilder("tf.Rank")
      .Input("input: T")
      .Output("output: int32")
      .Attr("T: type")
      .Metadata<&RankMetadata>()
      .Doc(R"(Gives the number of dimensions of a tensor as a scalar.

input: Of any shape.)");
}

OpDefBuilder PackDef() {
  return OpDefBuilder("tf.Pack")
      .Input("values: N * T")
      .Output("output: T")
      .Attr("N: int >= 1")
      .Attr("T: type")
      .Attr("axis: int = 0")
      .Metadata<&PackMetadata>()
      .Doc(R"(Stacks tensors of one shape along a new dimension.

values: At least one tensor, of at most 7 dimensions.
axis: Where the new dimension is in the result, in [-(rank + 1), rank], counted from the end if negative.)");
}

OpDefBuilder UnpackDef() {
  return OpDefBuilder("tf.Unpack")
      .Input("value: T")
      .Output("output: num * T")
      .Attr("num: int >= 0")
      .Attr("T: type")
      .Attr("axis: int = 0")
      .Metadata<&UnpackMetadata>()
      .Doc(R"(Takes a tensor apart along one dimension, which the results lack.

Results that lie in one stretch of memory share it with the input where alignment allows.

value: Of rank 1 at least; its dimension `axis` is of size `num`.
axis: In [-rank, rank), counted from the end if negative.)");
}

}  // namespace

Status RegisterShapeOps(OpRegistry& registry) {
  return registry.RegisterAll({
      ReshapeDef(),
      ExpandDimsDef(),
      SqueezeDef(),
      TransposeDef(),
      ConcatDef(),
      SplitDef(),
      SliceDef(),
      TileDef(),
      PadDef(),
      BroadcastToDef(),
      ShapeDef(),
      SizeDef(),
      RankDef(),
      PackDef(),
      UnpackDef(),
  });
}

}  // namespace tandem
