// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Dilation2D and its gradients.

#include <array>
#include <string>

#include "op_definition.h"
#include "tandem/op_families.h"
#include "tandem/window_geometry.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> DilatedMetadata(const TensorMetadata& input, const TensorMetadata& filter,
                                         const OpAttrsRef& attrs) {
  if (input.rank() != 4) return InvalidArgument("input must have four dimensions, got input: ", input);
  if (filter.rank() != 3) return InvalidArgument("filter must have three dimensions, got filter: ", filter);
  if (input.dim(3) != filter.dim(2)) {
    return InvalidArgument("input and filter must have the same number of channels, got input: ", input,
                           ", filter: ", filter);
  }
  if (filter.dim(0) == 0 || filter.dim(1) == 0) {
    return InvalidArgument("filter must have at least one row and one column, got filter: ", filter);
  }
  TANDEM_ASSIGN_OR_RETURN(WindowAttrs window_attrs, ReadWindowAttrs(attrs));
  TANDEM_ASSIGN_OR_RETURN(window_attrs.dilations, ReadSpatialAttr(attrs, "rates", false));
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry geometry,
                          MakeWindowGeometry(window_attrs, input.shape, filter.dim(0), filter.dim(1)));
  return TensorMetadata(input.dtype, {input.dim(0), geometry.rows.output, geometry.cols.output, input.dim(3)});
}

Status CheckGradient(const TensorMetadata& input, const TensorMetadata& filter, const TensorMetadata& out_backprop,
                     const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata dilated, DilatedMetadata(input, filter, attrs));
  if (out_backprop == dilated) return Status();
  return InvalidArgument("out_backprop must be ", dilated,
                         ", like the result of the dilation, got out_backprop: ", out_backprop);
}

StatusOr<TensorMetadata> BackpropInputMetadata(const TensorMetadata& input, const TensorMetadata& filter,
                                               const TensorMetadata& out_backprop, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckGradient(input, filter, out_backprop, attrs));
  return input;
}

StatusOr<TensorMetadata> BackpropFilterMetadata(const TensorMetadata& input, const TensorMetadata& filter,
                                                const TensorMetadata& out_backprop, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckGradient(input, filter, out_backprop, attrs));
  return filter;
}

constexpr const char* kArgumentsDoc = TANDEM_DOC(R"(

input: Images, [batch, height, width, channels].
filter: Of shape [height, width, channels], with at least one row and one column.
strides: The steps from one window to the next along each dimension of the input; 1 for batch and channels.
rates: The distances of the elements of a window along each dimension; 1 for batch and channels.
padding: 'VALID': windows lie within the images; 'SAME': there are size / stride of them, rounded up, along a dimension,
  and what they lack is divided between both sides, the odd element behind. Padding does not take part.)");

TANDEM_DEFINES OpDefinition WithAttrs(OpDefinition op, const char* doc, const char* more) {
  return op.Attr("T: realnumbertype")
      .Attr("strides: list(int) >= 4")
      .Attr("rates: list(int) >= 4")
      .Attr("padding: {'SAME', 'VALID'}")
      .Doc(std::string(doc) + kArgumentsDoc + more);
}

constexpr const char* kOutBackpropDoc =
    TANDEM_DOC("\nout_backprop: The gradient with regard to the result of tf.Dilation2D, of the same shape.");

}  // namespace

Status RegisterMorphologyOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          WithAttrs(OpDefinition("tf.Dilation2D")
                        .Input("input: T")
                        .Input("filter: T")
                        .Output("output: T")
                        .Metadata<&DilatedMetadata>(),
                    TANDEM_DOC(R"(The largest sum of the elements of each window on images and those of a filter.

This is the morphological dilation of each channel by its part of the filter. f16 and bf16 compute in f32; sums of
integers are compared before they wrap around, but those of i64 and u64 after. NaN is larger than every number. A window
that sees no element, since its own lie far apart, gives the least finite number of the dtype.)"),
                    ""),
          WithAttrs(OpDefinition("tf.Dilation2DBackpropInput")
                        .Input("input: T")
                        .Input("filter: T")
                        .Input("out_backprop: T")
                        .Output("in_backprop: T")
                        .Metadata<&BackpropInputMetadata>(),
                    TANDEM_DOC(R"(Gradient of tf.Dilation2D with regard to its input.

The gradient of each window goes to the element of the first sum, row by row, that is the largest.)"),
                    kOutBackpropDoc),
          WithAttrs(OpDefinition("tf.Dilation2DBackpropFilter")
                        .Input("input: T")
                        .Input("filter: T")
                        .Input("out_backprop: T")
                        .Output("filter_backprop: T")
                        .Metadata<&BackpropFilterMetadata>(),
                    TANDEM_DOC(R"(Gradient of tf.Dilation2D with regard to its filter.

The gradient of each window goes to the element of the first sum, row by row, that is the largest.)"),
                    kOutBackpropDoc),
      });
}

}  // namespace tandem
