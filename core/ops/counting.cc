// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Bincount, DenseBincount, LowerBound, UpperBound: how often numbers occur, and where they are in an order.

#include <cstdint>
#include <limits>

#include "op_definition.h"
#include "result_shape.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

// `counted`, called `name`, and the weights of its elements, of which there may be none.
Status CheckCounted(const char* name, const TensorMetadata& counted, const TensorMetadata& weights) {
  if (weights.shape == counted.shape || weights.num_elements() == 0) return Status();
  return InvalidArgument("weights must be empty or have the shape of ", name, ", got ", name, ": ", counted,
                         ", weights: ", weights);
}

StatusOr<int64_t> ReadBinCount(const HostInput& size) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t bins, size.Scalar("size"));
  if (bins < 0) return InvalidArgument("size must be at least 0, got size: ", bins);
  return bins;
}

StatusOr<TensorMetadata> BincountMetadata(const TensorMetadata& arr, HostInput size, const TensorMetadata& weights) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t bins, ReadBinCount(size));
  TANDEM_RETURN_IF_ERROR(CheckCounted("arr", arr, weights));
  return TensorMetadata(weights.dtype, {bins});
}

StatusOr<TensorMetadata> DenseBincountMetadata(const TensorMetadata& input, HostInput size,
                                               const TensorMetadata& weights) {
  if (input.rank() > 2) return InvalidArgument("input must have at most two dimensions, got input: ", input);
  TANDEM_ASSIGN_OR_RETURN(const int64_t bins, ReadBinCount(size));
  TANDEM_RETURN_IF_ERROR(CheckCounted("input", input, weights));
  TensorShape shape = {bins};
  if (input.rank() == 2) shape = {input.dim(0), bins};
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "input: ", input, ", size: ", bins));
  return TensorMetadata(weights.dtype, shape);
}

StatusOr<TensorMetadata> BoundMetadata(const TensorMetadata& sorted_inputs, const TensorMetadata& values,
                                       const OpAttrsRef& attrs) {
  if (sorted_inputs.rank() != 2 || values.rank() != 2 || sorted_inputs.dim(0) != values.dim(0)) {
    return InvalidArgument(
        "sorted_inputs and values must be matrices with the same number of rows, got sorted_inputs: ", sorted_inputs,
        ", values: ", values);
  }
  const DType out_type = attrs.GetOr("out_type", DType::kI32);
  if (out_type == DType::kI32 && sorted_inputs.dim(1) > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("places must fit in i32, got sorted_inputs: ", sorted_inputs, "; set out_type to i64");
  }
  return TensorMetadata(out_type, values.shape);
}

TANDEM_DEFINES OpDefinition Bound(const char* name, const char* doc) {
  return OpDefinition(name)
      .Input("sorted_inputs: T")
      .Input("values: T")
      .Output("output: out_type")
      .Attr("T: realnumbertype")
      .Attr("out_type: {int32, int64} = DT_INT32")
      .Metadata<&BoundMetadata>()
      .Doc(doc);
}

}  // namespace

Status RegisterCountingOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.Bincount")
              .Input("arr: int32")
              .HostInput("size: int32")
              .Input("weights: T")
              .Output("bins: T")
              .Attr("T: {int32, int64, float, double}")
              .Metadata<&BincountMetadata>()
              .Doc(TANDEM_DOC(R"(Counts how often each integer occurs, or adds up the weights of its occurrences.

Element i of the result is for the elements of arr that are i, in order; those from size on do not count.

arr: Integers of at least 0, of any shape; an error names the first one that is not.
size: One number: how many bins there are.
weights: Of the shape of arr, or empty: then each element counts 1.)")),
          OpDefinition("tf.DenseBincount")
              .Input("input: Tidx")
              .HostInput("size: Tidx")
              .Input("weights: T")
              .Output("output: T")
              .Attr("Tidx: {int32, int64}")
              .Attr("T: {int32, int64, float, double}")
              .Attr("binary_output: bool = false")
              .Metadata<&DenseBincountMetadata>()
              .Doc(TANDEM_DOC(R"(Counts how often each integer occurs in a vector, or in each row of a matrix.

input: Integers of at least 0, of at most two dimensions; an error names the first one that is not. Those from size on
  do not count.
size: One number: how many bins there are.
weights: Of the shape of input, or empty: then each element counts 1. They have no effect on binary_output.
binary_output: Whether the result is 1 for each integer that occurs, rather than how often.)")),
          Bound("tf.LowerBound",
                TANDEM_DOC(R"(Finds where each value would go into a sorted row, in front of elements that are equal.

The result is how many elements of the row are less than the value. 0 and -0 are equal; NaN is larger than every number.

sorted_inputs: A matrix whose rows are sorted in ascending order; of other rows the result is any place.
values: A matrix with the same number of rows: what to look for in the row of the same number.)")),
          Bound("tf.UpperBound",
                TANDEM_DOC(R"(Finds where each value would go into a sorted row, behind elements that are equal.

The result is how many elements of the row are not greater than the value. 0 and -0 are equal; NaN is larger than every
number.

sorted_inputs: A matrix whose rows are sorted in ascending order; of other rows the result is any place.
values: A matrix with the same number of rows: what to look for in the row of the same number.)")),
      });
}

}  // namespace tandem
