// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that take elements at regular distances: Slice, StridedSlice, ReverseV2.

#include <cstdint>

#include "host_vector.h"
#include "op_definition.h"
#include "shape_ops.h"
#include "tandem/strided_slice.h"

namespace tandem {
namespace {

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

StatusOr<TensorMetadata> StridedSliceMetadata(const TensorMetadata& input, HostInput begin, HostInput end,
                                              HostInput strides, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const StridedSlice slice, StridedSlice::Resolve(input, begin, end, strides, attrs));
  return TensorMetadata(input.dtype, slice.result);
}

StatusOr<TensorMetadata> ReverseMetadata(const TensorMetadata& tensor, HostInput axis) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector given, ReadHostVector(axis, "axis"));
  bool seen[TensorShape::kMaxRank] = {};
  for (const int64_t number : given.span()) {
    TANDEM_ASSIGN_OR_RETURN(const int dim, NormalizeAxis(number, tensor.rank(), "elements of axis"));
    if (seen[dim]) {
      return InvalidArgument("axis must have each dimension at most once, got tensor: ", tensor,
                             ", axis: ", given.span());
    }
    seen[dim] = true;
  }
  return tensor;
}

TANDEM_DEFINES OpDefinition SliceDef() {
  return OpDefinition("tf.Slice")
      .Input("input: T")
      .HostInput("begin: Index")
      .HostInput("size: Index")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}")
      .Metadata<&SliceMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Takes a rectangular block out of a tensor.

A block that lies in one stretch of memory shares it with the input where alignment allows.

input: Of any shape.
begin: Where the block begins, one number for each dimension of the input.
size: The size of the block in each dimension; -1 means all that follows. The block must lie within the input.)"));
}

TANDEM_DEFINES OpDefinition StridedSliceDef() {
  return OpDefinition("tf.StridedSlice")
      .Input("input: T")
      .HostInput("begin: Index")
      .HostInput("end: Index")
      .HostInput("strides: Index")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int16, int32, int64}")
      .Attr("begin_mask: int = 0")
      .Attr("end_mask: int = 0")
      .Attr("ellipsis_mask: int = 0")
      .Attr("new_axis_mask: int = 0")
      .Attr("shrink_axis_mask: int = 0")
      .Metadata<&StridedSliceMetadata>()
      .Layout()
      .Doc(
          TANDEM_DOC(R"(Takes elements at regular distances out of a tensor, as x[begin:end:stride, ...] does in Python.

Position i of begin, end and strides says what to take along one dimension of the input, from the first dimension on;
dimensions without a position are taken whole. Bit i of a mask changes what position i means. A result that lies in one
stretch of memory shares it with the input where alignment allows.

input: Of any shape.
begin: Where each range begins, counted from the end of the dimension if negative. At most 32 numbers.
end: Where each range ends, itself left out, counted likewise. An index beyond an end of the dimension stops there.
strides: From one element to the next, not 0; negative to go backwards.
begin_mask: The range begins at the first element, or the last one if the stride is negative.
end_mask: The range goes up to the other end of the dimension.
ellipsis_mask: The position, of which there may be one, stands for all dimensions that have none of their own.
new_axis_mask: The position takes no dimension of the input; the result gets one of size 1. ellipsis_mask overrides it.
shrink_axis_mask: The one element at `begin` is taken, and the dimension dropped; it is an error if there is no such
  element, or if the stride is negative. Overridden by the two masks before, and overrides the others.)"));
}

TANDEM_DEFINES OpDefinition ReverseDef() {
  return OpDefinition("tf.ReverseV2")
      .Input("tensor: T")
      .HostInput("axis: Tidx")
      .Output("output: T")
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Attr("T: type")
      .Metadata<&ReverseMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Turns the order of elements around along some dimensions.

tensor: Of any shape.
axis: The dimensions, each at most once, in [-rank, rank), counted from the end if negative; none leaves the tensor as
  it is.)"));
}

}  // namespace

Status RegisterShapeSliceOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   SliceDef(),
                                   StridedSliceDef(),
                                   ReverseDef(),
                               });
}

}  // namespace tandem
