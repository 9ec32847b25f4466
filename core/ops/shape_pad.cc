// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that surround a tensor: Pad, PadV2, MirrorPad.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "host_vector.h"
#include "op_definition.h"
#include "result_shape.h"
#include "shape_ops.h"

namespace tandem {
namespace {

// The rule for sizes that every op of this file has; `largest` is how many elements may come before or after those of
// dimension i.
template <typename Largest>
StatusOr<TensorMetadata> PaddedMetadata(const TensorMetadata& input, const HostInput& paddings, Largest largest) {
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
    if (const int64_t limit = largest(i); before > limit || after > limit) {
      return InvalidArgument("paddings must be at most ", limit, " for dimension ", i,
                             " in this mode, got input: ", input, ", paddings of dimension ", i, ": [", before, ",",
                             after, "]");
    }
    result.Append(dim);
  }
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "input: ", input, ", paddings: ", given));
  return TensorMetadata(input.dtype, result);
}

StatusOr<TensorMetadata> PadMetadata(const TensorMetadata& input, HostInput paddings) {
  return PaddedMetadata(input, paddings, [](int) { return std::numeric_limits<int64_t>::max(); });
}

StatusOr<TensorMetadata> PadV2Metadata(const TensorMetadata& input, HostInput paddings,
                                       const TensorMetadata& constant_values) {
  if (constant_values.rank() != 0) {
    return InvalidArgument("constant_values must be a scalar, got constant_values: ", constant_values);
  }
  return PadMetadata(input, paddings);
}

StatusOr<TensorMetadata> MirrorPadMetadata(const TensorMetadata& input, HostInput paddings, const OpAttrsRef& attrs) {
  const int64_t edge = attrs.GetOr<std::string_view>("mode", "REFLECT") == "REFLECT" ? 1 : 0;
  return PaddedMetadata(input, paddings, [&](int i) { return std::max<int64_t>(input.dim(i) - edge, 0); });
}

TANDEM_DEFINES OpDefinition PadDef() {
  return OpDefinition("tf.Pad")
      .Input("input: T")
      .HostInput("paddings: Tpaddings")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tpaddings: {int32, int64} = DT_INT32")
      .Metadata<&PadMetadata>()
      .Doc(TANDEM_DOC(R"(Surrounds a tensor with zeros (false, empty strings).

input: Of any shape.
paddings: [rank, 2]; row i says how many elements dimension i gets before and after its own, each at least 0.)"));
}

TANDEM_DEFINES OpDefinition PadV2Def() {
  return OpDefinition("tf.PadV2")
      .Input("input: T")
      .HostInput("paddings: Tpaddings")
      .Input("constant_values: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tpaddings: {int32, int64} = DT_INT32")
      .Metadata<&PadV2Metadata>()
      .Doc(TANDEM_DOC(R"(Surrounds a tensor with elements of one value.

input: Of any shape.
paddings: [rank, 2]; row i says how many elements dimension i gets before and after its own, each at least 0.
constant_values: The value, a scalar.)"));
}

TANDEM_DEFINES OpDefinition MirrorPadDef() {
  return OpDefinition("tf.MirrorPad")
      .Input("input: T")
      .HostInput("paddings: Tpaddings")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tpaddings: {int32, int64} = DT_INT32")
      .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
      .Metadata<&MirrorPadMetadata>()
      .Layout()
      .Doc(TANDEM_DOC(R"(Surrounds a tensor with its own elements, mirrored at its edges.

input: Of any shape.
paddings: [rank, 2]; row i says how many elements dimension i gets before and after its own: at least 0, and at most
  its size, in mode REFLECT less 1.
mode: SYMMETRIC mirrors between the elements, so that those at the edges are repeated; REFLECT mirrors at the elements
  at the edges, which are not.)"));
}

}  // namespace

Status RegisterShapePadOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   PadDef(),
                                   PadV2Def(),
                                   MirrorPadDef(),
                               });
}

}  // namespace tandem
