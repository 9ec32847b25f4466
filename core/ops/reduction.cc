// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that reduce dimensions to one element: Sum, Mean, Prod, Max, Min, All, Any, and ArgMax, ArgMin.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "host_vector.h"
#include "op_definition.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> ReductionMetadata(const TensorMetadata& input, HostInput reduction_indices,
                                           const OpAttrsRef& attrs) {
  const TensorMetadata& given = reduction_indices.metadata();
  if (given.rank() > 1) {
    return InvalidArgument("reduction_indices must be a scalar or a vector, got reduction_indices: ", given);
  }
  bool reduced[TensorShape::kMaxRank] = {};
  for (int64_t i = 0; i < reduction_indices.size(); ++i) {
    TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(reduction_indices.Int(i), input.rank(), "reduction_indices"));
    if (reduced[axis]) {
      return InvalidArgument("reduction_indices must name each dimension once, got dimension ", axis,
                             " twice for input: ", input);
    }
    reduced[axis] = true;
  }
  const bool keep_dims = attrs.GetOr("keep_dims", false);
  TensorShape result;
  for (int axis = 0; axis < input.rank(); ++axis) {
    if (!reduced[axis]) {
      result.Append(input.dim(axis));
    } else if (keep_dims) {
      result.Append(1);
    }
  }
  return TensorMetadata(input.dtype, result);
}

// The largest number that an index of the dtype can be.
int64_t MaxIndex(DType dtype) {
  switch (dtype) {
    case DType::kI16:
      return std::numeric_limits<int16_t>::max();
    case DType::kU16:
      return std::numeric_limits<uint16_t>::max();
    case DType::kI32:
      return std::numeric_limits<int32_t>::max();
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

StatusOr<TensorMetadata> ArgReductionMetadata(const TensorMetadata& input, HostInput dimension,
                                              const OpAttrsRef& attrs) {
  if (input.rank() == 0) return InvalidArgument("input must have at least one dimension, got input: ", input);
  TANDEM_ASSIGN_OR_RETURN(const int64_t given, dimension.Scalar("dimension"));
  TANDEM_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, input.rank(), "dimension"));
  if (input.dim(axis) == 0) {
    return InvalidArgument("dimension ", axis, " must not be empty, got input: ", input);
  }
  const DType output_type = attrs.GetOr("output_type", DType::kI64);
  if (input.dim(axis) - 1 > MaxIndex(output_type)) {
    return InvalidArgument("indices of dimension ", axis, " must fit in ", output_type, ", got input: ", input);
  }
  TensorShape result;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != axis) result.Append(input.dim(i));
  }
  return TensorMetadata(output_type, result);
}

constexpr const char* kArguments = TANDEM_DOC(R"(

input: Of any shape.
reduction_indices: The dimensions to reduce, each once, in [-rank, rank), counted from the end if negative; none leaves
  the input as it is.
keep_dims: Whether a reduced dimension stays in the result, with size 1.)");

// `dtypes` are those of the type attribute T; empty: the op is defined for bool alone.
TANDEM_DEFINES OpDefinition Reduction(const char* name, const char* dtypes, const char* doc) {
  const std::string type = *dtypes == '\0' ? "bool" : "T";
  OpDefinition builder(name);
  builder.Input("input: " + type)
      .HostInput("reduction_indices: Tidx")
      .Output("output: " + type)
      .Attr("keep_dims: bool = false");
  if (*dtypes != '\0') builder.Attr("T: " + std::string(dtypes));
  builder.Attr("Tidx: {int32, int64} = DT_INT32")
      .Metadata<&ReductionMetadata>()
      .Reduction()
      .Doc(std::string(doc) + std::string(kArguments));
  return builder;
}

TANDEM_DEFINES OpDefinition ArgReduction(const char* name, const char* largest, const char* output_types) {
  return OpDefinition(name)
      .Input("input: T")
      .HostInput("dimension: Tidx")
      .Output("output: output_type")
      .Attr("T: {realnumbertype, bool}")
      .Attr("Tidx: {int16, int32, int64} = DT_INT32")
      .Attr("output_type: " + std::string(output_types) + " = DT_INT64")
      .Metadata<&ArgReductionMetadata>()
      .Reduction()
      .Doc("Index of the " + std::string(largest) + R"( element along one dimension.

Of equal elements the first counts. The first NaN, if there is one, counts as the )" +
           std::string(largest) + R"( element.

input: Of rank 1 at least.
dimension: One number in [-rank, rank), counted from the end if negative; that dimension must not be empty.
output_type: The dtype of the indices; it is an error if one might not fit.)");
}

}  // namespace

Status RegisterReductionOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          Reduction(
              "tf.Sum", "numbertype",
              TANDEM_DOC(
                  "Sum of the elements along dimensions, 0 if there are none.\n\nIntegers wrap around. Floating-point "
                  "sums are of pairs of partial sums, so that rounding errors hardly grow with the number of elements; "
                  "f16 and bf16 are summed in f32 and rounded once.")),
          Reduction(
              "tf.Mean", "numbertype",
              TANDEM_DOC(
                  "Mean of the elements along dimensions, NaN if there are none.\n\nSums as tf.Sum does. Integers are "
                  "summed in 64 bits and the quotient is rounded towards 0; without elements it is 0.")),
          Reduction("tf.Prod", "numbertype",
                    TANDEM_DOC("Product of the elements along dimensions, 1 if there are none.\n\nIntegers wrap "
                               "around; f16 and bf16 "
                               "are multiplied in f32 and rounded once.")),
          Reduction(
              "tf.Max", "realnumbertype",
              TANDEM_DOC(
                  "Largest element along dimensions, NaN if there is one.\n\nWithout elements it is minus infinity, or "
                  "the smallest integer.")),
          Reduction(
              "tf.Min", "realnumbertype",
              TANDEM_DOC(
                  "Smallest element along dimensions, NaN if there is one.\n\nWithout elements it is infinity, or the "
                  "largest integer.")),
          Reduction("tf.All", "",
                    TANDEM_DOC("Whether all elements along dimensions are true; so it is if there are none.")),
          Reduction("tf.Any", "",
                    TANDEM_DOC("Whether any element along dimensions is true; none is if there are none.")),
          ArgReduction("tf.ArgMax", "largest", "{int16, uint16, int32, int64}"),
          ArgReduction("tf.ArgMin", "smallest", "{int32, int64}"),
      });
}

}  // namespace tandem
