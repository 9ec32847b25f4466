// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that rearrange elements or ask for shapes: Reshape, Transpose, Tile, SpaceToDepth, Shape and the like.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "host_vector.h"
#include "op_definition.h"
#include "result_shape.h"
#include "shape_ops.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

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
  if (!result.IsValid()) {
    return InvalidArgument("there must be at most 2^63-1 elements, got shape: ", sizes.span());
  }
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
  TANDEM_RETURN_IF_ERROR(CheckHasRoom("input", input));
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
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "input: ", input, ", multiples: ", factors.span()));
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

bool IsChannelsFirst(const OpAttrsRef& attrs) { return attrs.GetOr<std::string_view>("data_format", "NHWC") == "NCHW"; }

Status CheckImages(const TensorMetadata& input) {
  if (input.rank() == 4) return Status();
  return InvalidArgument("input must have 4 dimensions, got input: ", input);
}

StatusOr<TensorMetadata> SpaceToDepthMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckImages(input));
  const auto block = attrs.GetOr<int64_t>("block_size", 0);
  const bool channels_first = IsChannelsFirst(attrs);
  TensorShape result = input.shape;
  const int rows = channels_first ? 2 : 1;
  for (int i = rows; i < rows + 2; ++i) {
    if (input.dim(i) % block != 0) {
      return InvalidArgument("dimension ", i, " of input must be divisible by block_size, got input: ", input,
                             ", block_size: ", block);
    }
    result.SetDim(i, input.dim(i) / block);
  }
  const int channels = channels_first ? 1 : 3;
  int64_t depth = input.dim(channels);
  if (__builtin_mul_overflow(depth, block, &depth) || __builtin_mul_overflow(depth, block, &depth)) {
    return InvalidArgument("channels must be at most 2^63-1, got input: ", input, ", block_size: ", block);
  }
  result.SetDim(channels, depth);
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "input: ", input, ", block_size: ", block));
  return TensorMetadata(input.dtype, result);
}

StatusOr<TensorMetadata> DepthToSpaceMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckImages(input));
  const auto block = attrs.GetOr<int64_t>("block_size", 0);
  const bool channels_first = IsChannelsFirst(attrs);
  const int channels = channels_first ? 1 : 3;
  int64_t square = 0;
  if (__builtin_mul_overflow(block, block, &square) || input.dim(channels) % square != 0) {
    return InvalidArgument("dimension ", channels, " of input must be divisible by the square of block_size, got ",
                           "input: ", input, ", block_size: ", block);
  }
  TensorShape result = input.shape;
  result.SetDim(channels, input.dim(channels) / square);
  const int rows = channels_first ? 2 : 1;
  for (int i = rows; i < rows + 2; ++i) {
    int64_t dim = 0;
    if (__builtin_mul_overflow(input.dim(i), block, &dim)) {
      return InvalidArgument("dimensions must be at most 2^63-1, got input: ", input, ", block_size: ", block);
    }
    result.SetDim(i, dim);
  }
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "input: ", input, ", block_size: ", block));
  return TensorMetadata(input.dtype, result);
}

TANDEM_DEFINES OpDefinition ReshapeDef() {
  return OpDefinition("tf.Reshape")
      .Input("tensor: T")
      .HostInput("shape: Tshape")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tshape: {int32, int64} = DT_INT32")
      .Metadata<&ReshapeMetadata>()
      .Aliases(0)
      .Doc(TANDEM_DOC(R"(Gives a tensor another shape with the same number of elements.

The elements keep their row-major order, and nothing is copied: the result shares the memory of the input.

tensor: Of any shape and dtype.
shape: The sizes, at most 8. One of them may be -1: it becomes what the number of elements asks for, which is an error
  if that is no whole number, or if another size is 0.)"));
}

TANDEM_DEFINES OpDefinition ExpandDimsDef() {
  return OpDefinition("tf.ExpandDims")
      .Input("input: T")
      .HostInput("dim: Tdim")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tdim: {int32, int64} = DT_INT32")
      .Metadata<&ExpandDimsMetadata>()
      .Aliases(0)
      .Doc(TANDEM_DOC(R"(Inserts a dimension of size 1.

The result shares the memory of the input.

input: Of any shape with at most 7 dimensions.
dim: One number: where the new dimension is in the result, in [-(rank + 1), rank], counted from the end if negative.)"));
}

TANDEM_DEFINES OpDefinition SqueezeDef() {
  return OpDefinition("tf.Squeeze")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("squeeze_dims: list(int) = []")
      .Metadata<&SqueezeMetadata>()
      .Aliases(0)
      .Doc(TANDEM_DOC(R"(Removes dimensions of size 1.

The result shares the memory of the input.

input: Of any shape.
squeeze_dims: The dimensions to remove, in [-rank, rank); it is an error if one of them is not of size 1. Empty: all
  dimensions of size 1.)"));
}

TANDEM_DEFINES OpDefinition TransposeDef() {
  return OpDefinition("tf.Transpose")
      .Input("x: T")
      .HostInput("perm: Tperm")
      .Output("y: T")
      .Attr("T: type")
      .Attr("Tperm: {int32, int64} = DT_INT32")
      .Metadata<&TransposeMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Permutes the dimensions of a tensor.

Dimension i of the result is dimension perm[i] of x.

x: Of any shape.
perm: Each number in [0, rank) once.)"));
}

TANDEM_DEFINES OpDefinition TileDef() {
  return OpDefinition("tf.Tile")
      .Input("input: T")
      .HostInput("multiples: Tmultiples")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tmultiples: {int16, int32, int64} = DT_INT32")
      .Metadata<&TileMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Repeats a tensor along each of its dimensions.

input: Of any shape.
multiples: How often, at least 0: one number for each dimension of the input.)"));
}

TANDEM_DEFINES OpDefinition BroadcastToDef() {
  return OpDefinition("tf.BroadcastTo")
      .Input("input: T")
      .HostInput("shape: Tidx")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Metadata<&BroadcastToMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Repeats dimensions of size 1, and the tensor as a whole, until it has a given shape.

input: Aligned with `shape` at the last dimension, each of its sizes is 1 or that of `shape`.
shape: The sizes of the result, at most 8, each at least 0.)"));
}

TANDEM_DEFINES OpDefinition ShapeDef() {
  return OpDefinition("tf.Shape")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = DT_INT32")
      .Metadata<&ShapeMetadata>()
      .Doc(TANDEM_DOC(R"(Gives the sizes of a tensor's dimensions as a vector.

input: Of any shape; with out_type i32 it is an error if one of its sizes is 2^31 or more.)"));
}

TANDEM_DEFINES OpDefinition SizeDef() {
  return OpDefinition("tf.Size")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = DT_INT32")
      .Metadata<&SizeMetadata>()
      .Doc(TANDEM_DOC(R"(Gives the number of elements of a tensor as a scalar.

input: Of any shape; with out_type i32 it is an error if it has 2^31 elements or more.)"));
}

TANDEM_DEFINES OpDefinition RankDef() {
  return OpDefinition("tf.Rank")
      .Input("input: T")
      .Output("output: int32")
      .Attr("T: type")
      .Metadata<&RankMetadata>()
      .Doc(TANDEM_DOC(R"(Gives the number of dimensions of a tensor as a scalar.

input: Of any shape.)"));
}

TANDEM_DEFINES OpDefinition BlockDef(const char* name) {
  return OpDefinition(name)
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("block_size: int >= 2")
      .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'");
}

TANDEM_DEFINES OpDefinition SpaceToDepthDef() {
  return BlockDef("tf.SpaceToDepth")
      .Metadata<&SpaceToDepthMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Moves square blocks of pixels into the channels.

The result has height and width divided by block_size, and block_size^2 times the channels: first all those of the
block's upper left pixel, then those of the one to its right, and so on, row by row. tf.DepthToSpace is the inverse.

input: Images, 4 dimensions; block_size divides height and width.
block_size: Height and width of a block.
data_format: 'NHWC': the channels are the last dimension; 'NCHW': they are dimension 1.)"));
}

TANDEM_DEFINES OpDefinition DepthToSpaceDef() {
  return BlockDef("tf.DepthToSpace")
      .Metadata<&DepthToSpaceMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Spreads the channels of each pixel over a square block of pixels.

The result has height and width multiplied by block_size, and the channels divided by block_size^2: the first of them
become the upper left pixel of the block, the next ones the pixel to its right, and so on, row by row. tf.SpaceToDepth
is the inverse.

input: Images, 4 dimensions; block_size^2 divides the channels.
block_size: Height and width of a block.
data_format: 'NHWC': the channels are the last dimension; 'NCHW': they are dimension 1.)"));
}

StatusOr<TensorMetadata> BroadcastArgsMetadata(const TensorMetadata& s0, const TensorMetadata& s1) {
  if (s0.rank() != 1 || s1.rank() != 1) {
    return InvalidArgument("s0 and s1 must be vectors, got s0: ", s0, ", s1: ", s1);
  }
  return TensorMetadata(s0.dtype, {std::max(s0.dim(0), s1.dim(0))});
}

TANDEM_DEFINES OpDefinition BroadcastArgsDef() {
  return OpDefinition("tf.BroadcastArgs")
      .Input("s0: T")
      .Input("s1: T")
      .Output("r0: T")
      .Attr("T: {int32, int64} = DT_INT32")
      .Metadata<&BroadcastArgsMetadata>()
      .Doc(TANDEM_DOC(R"(The shape to which tensors of two shapes broadcast, as a vector.

s0: The sizes of the first shape; of sizes at the same place, counted from the end, both are equal or one is 1.
s1: The sizes of the second shape.)"));
}

}  // namespace

Status RegisterShapeOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterShapeBatchOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterShapePadOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterShapePartOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterShapeSliceOps(registry));
  return RegisterOps(registry, {
                                   ReshapeDef(),
                                   ExpandDimsDef(),
                                   SqueezeDef(),
                                   TransposeDef(),
                                   TileDef(),
                                   BroadcastToDef(),
                                   BroadcastArgsDef(),
                                   ShapeDef(),
                                   SizeDef(),
                                   RankDef(),
                                   SpaceToDepthDef(),
                                   DepthToSpaceDef(),
                               });
}

}  // namespace tandem
