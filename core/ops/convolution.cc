// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv2D, DepthwiseConv2dNative and their gradients; _FusedConv2D, _FusedDepthwiseConv2dNative.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "fused_ops.h"
#include "host_vector.h"
#include "op_definition.h"
#include "tandem/op_families.h"
#include "tandem/window_geometry.h"

namespace tandem {
namespace {

Status CheckRank4(const TensorMetadata& tensor, std::string_view name) {
  if (tensor.rank() == 4) return Status();
  return InvalidArgument(name, " must have four dimensions, got ", name, ": ", tensor);
}

// What the arguments of a convolution and of its gradients have in common.
struct Convolution {
  WindowAttrs attrs;
  TensorShape output;
};

// The convolution of `input` with `filter`, a dimension of which `depthwise` gives another meaning.
StatusOr<Convolution> CheckConvolution(const TensorMetadata& input, const TensorMetadata& filter, bool depthwise,
                                       const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckRank4(input, "input"));
  TANDEM_RETURN_IF_ERROR(CheckRank4(filter, "filter"));
  Convolution result;
  TANDEM_ASSIGN_OR_RETURN(result.attrs, ReadWindowAttrs(attrs));
  if (filter.num_elements() == 0) return InvalidArgument("filter must not be empty, got filter: ", filter);
  const int64_t channels = input.dim(result.attrs.channel_axis());
  int64_t out_channels = filter.dim(3);
  if (depthwise) {
    if (channels != filter.dim(2)) {
      return InvalidArgument("filter must have one index of dimension 2 for each channel of input, got input: ", input,
                             ", filter: ", filter);
    }
    if (__builtin_mul_overflow(out_channels, channels, &out_channels)) {
      return InvalidArgument("filter has too many output channels, got filter: ", filter);
    }
  } else if (channels == 0 || channels % filter.dim(2) != 0) {
    return InvalidArgument("channels of input must be a multiple of dimension 2 of filter, got input: ", input,
                           ", filter: ", filter);
  } else if (out_channels % (channels / filter.dim(2)) != 0) {
    return InvalidArgument("dimension 3 of filter must be a multiple of the ", channels / filter.dim(2),
                           " groups of channels, got input: ", input, ", filter: ", filter);
  }
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry windows,
                          MakeWindowGeometry(result.attrs, input.shape, filter.dim(0), filter.dim(1)));
  std::array<int64_t, 4> dims = {input.dim(0)};
  dims[static_cast<size_t>(result.attrs.row_axis())] = windows.rows.output;
  dims[static_cast<size_t>(result.attrs.col_axis())] = windows.cols.output;
  dims[static_cast<size_t>(result.attrs.channel_axis())] = out_channels;
  result.output = TensorShape(dims);
  return result;
}

template <bool depthwise>
StatusOr<TensorMetadata> ForwardMetadata(const TensorMetadata& input, const TensorMetadata& filter,
                                         const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const Convolution convolution, CheckConvolution(input, filter, depthwise, attrs));
  return TensorMetadata(input.dtype, convolution.output);
}

template <bool depthwise>
StatusOr<TensorMetadata> FusedMetadata(const TensorMetadata& input, const TensorMetadata& filter, VariadicMetadata args,
                                       const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata output, ForwardMetadata<depthwise>(input, filter, attrs));
  static constexpr std::string_view kFirst[] = {"BiasAdd", "FusedBatchNorm"};
  static constexpr std::string_view kActivations[] = {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"};
  TANDEM_ASSIGN_OR_RETURN(const FusedOps fused_ops, CheckFusedOps(attrs, {kFirst, !depthwise, kActivations}));
  const bool is_bias = fused_ops.first == "BiasAdd";
  TANDEM_RETURN_IF_ERROR(CheckFusedArgs(fused_ops, args, output));
  constexpr std::string_view kNames[] = {"scale", "offset", "mean", "variance"};
  const int64_t out_channels = depthwise ? filter.dim(2) * filter.dim(3) : filter.dim(3);
  for (size_t i = 0; i < fused_ops.num_vectors(); ++i) {
    if (args[i].rank() == 1 && args[i].dim(0) == out_channels) continue;
    const std::string_view name = is_bias ? "bias" : kNames[i];
    return InvalidArgument(name, " must be a vector with one element for each output channel, got filter: ", filter,
                           ", ", name, ": ", args[i]);
  }
  return output;
}

// Checks the gradient of a convolution's output against the convolution.
Status CheckGradient(const TensorMetadata& input, const TensorMetadata& filter, const TensorMetadata& out_backprop,
                     bool depthwise, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckRank4(out_backprop, "out_backprop"));
  TANDEM_ASSIGN_OR_RETURN(const Convolution convolution, CheckConvolution(input, filter, depthwise, attrs));
  if (out_backprop.shape == convolution.output) return Status();
  return InvalidArgument("out_backprop must have the shape of the convolution's output ", convolution.output,
                         ", got input: ", input, ", filter: ", filter, ", out_backprop: ", out_backprop);
}

StatusOr<HostVector> ReadSizesVector(const HostInput& sizes, std::string_view name) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector dims, ReadHostVector(sizes, name));
  for (int64_t dim : dims.span()) {
    if (dim < 0) return InvalidArgument(name, " must not be negative, got ", name, ": ", dims.span());
  }
  return dims;
}

// A shape with four dimensions that `sizes` spells out, as that of a tensor like `like`.
StatusOr<TensorMetadata> ReadSizes(const HostInput& sizes, std::string_view name, const TensorMetadata& like) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector dims, ReadSizesVector(sizes, name));
  if (dims.size != 4) return InvalidArgument(name, " must have four elements, got ", name, ": ", sizes.metadata());
  return TensorMetadata(like.dtype, TensorShape(dims.span()));
}

template <bool depthwise>
StatusOr<TensorMetadata> BackpropInputMetadata(const HostInput& input_sizes, const TensorMetadata& filter,
                                               const TensorMetadata& out_backprop, const OpAttrsRef& attrs) {
  TensorMetadata input;
  if (!depthwise && input_sizes.metadata().rank() == 1 && input_sizes.size() == 2) {
    // Rows and columns alone.
    TANDEM_RETURN_IF_ERROR(CheckRank4(filter, "filter"));
    TANDEM_RETURN_IF_ERROR(CheckRank4(out_backprop, "out_backprop"));
    TANDEM_ASSIGN_OR_RETURN(const HostVector sizes, ReadSizesVector(input_sizes, "input_sizes"));
    const bool channels_first = attrs.GetOr<std::string_view>("data_format", "NHWC") == "NCHW";
    input.dtype = filter.dtype;
    input.shape = channels_first ? TensorShape({out_backprop.dim(0), filter.dim(2), sizes[0], sizes[1]})
                                 : TensorShape({out_backprop.dim(0), sizes[0], sizes[1], filter.dim(2)});
  } else {
    TANDEM_ASSIGN_OR_RETURN(input, ReadSizes(input_sizes, "input_sizes", filter));
  }
  TANDEM_RETURN_IF_ERROR(CheckGradient(input, filter, out_backprop, depthwise, attrs));
  return input;
}

template <bool depthwise>
StatusOr<TensorMetadata> BackpropFilterMetadata(const TensorMetadata& input, const HostInput& filter_sizes,
                                                const TensorMetadata& out_backprop, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata filter, ReadSizes(filter_sizes, "filter_sizes", input));
  TANDEM_RETURN_IF_ERROR(CheckGradient(input, filter, out_backprop, depthwise, attrs));
  return filter;
}

// What all ops of the family say of their attributes.
constexpr const char* kAttrsDoc = TANDEM_DOC(R"(
strides: Four numbers in the order of data_format: steps of the window; 1 for batch and channels.
padding: 'SAME': the output has input / stride elements, rounded up, and the padding of zeros that this takes is divided
  equally, the odd one behind; 'VALID': none; 'EXPLICIT': as explicit_paddings say.
explicit_paddings: For 'EXPLICIT', eight numbers: how many zeros are before and after, for each dimension in the order
  of data_format; 0 for batch and channels. Else empty.
data_format: 'NHWC': images are [batch, rows, columns, channels]; 'NCHW': [batch, channels, rows, columns].
dilations: Four numbers in the order of data_format: distances of the window's elements; 1 for batch and channels.)");

TANDEM_DEFINES OpDefinition WithWindowAttrs(OpDefinition builder, const char* doc) {
  return builder.Attr("strides: list(int)")
      .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
      .Attr("explicit_paddings: list(int) = []")
      .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
      .Attr("dilations: list(int) = [1, 1, 1, 1]")
      .Doc(std::string(doc) + std::string(kAttrsDoc));
}

TANDEM_DEFINES OpDefinition WithConvolutionAttrs(OpDefinition builder, const char* dtypes, const char* doc) {
  builder.Attr(dtypes).Attr("use_cudnn_on_gpu: bool = true");
  return WithWindowAttrs(builder,
                         (std::string(doc) + "\nuse_cudnn_on_gpu: Accepted for compatibility; ignored.").c_str());
}

TANDEM_DEFINES OpDefinition Conv2DDef() {
  return WithConvolutionAttrs(
      OpDefinition("tf.Conv2D")
          .Input("input: T")
          .Input("filter: T")
          .Output("output: T")
          .Metadata<&ForwardMetadata<false>>(),
      "T: {half, bfloat16, float, double, int32}",
      TANDEM_DOC(R"(Convolution of images with a filter, which is not flipped (a cross-correlation).

output[b, y, x, o] is the sum over i, j, c of input[b, y * stride + i * dilation - padding, x * ..., c] *
filter[i, j, c, o], where input is zero outside of the image. If the input has more channels than the filter's dimension
2, say g times as many, the convolution is grouped: both the channels of the input and those of the output are divided
into g equal parts, and each part of the output sees its part of the input only. f16 and bf16 are summed in f32 and
rounded once; i32 wraps around. An error if the window is larger than the padded input by two strides or more.

input: Images in the order of data_format.
filter: [rows, columns, input channels, output channels]; not empty.)"));
}

TANDEM_DEFINES OpDefinition Conv2DBackpropInputDef() {
  return WithConvolutionAttrs(
      OpDefinition("tf.Conv2DBackpropInput")
          .HostInput("input_sizes: int32")
          .Input("filter: T")
          .Input("out_backprop: T")
          .Output("output: T")
          .Metadata<&BackpropInputMetadata<false>>(),
      "T: {half, bfloat16, float, double, int32}",
      TANDEM_DOC(R"(Gradient of tf.Conv2D with regard to its input; also called transposed convolution.

input_sizes: The shape of the input, in the order of data_format; or its rows and columns alone.
filter: That of tf.Conv2D: [rows, columns, input channels, output channels].
out_backprop: The gradient with regard to the output of tf.Conv2D, of that output's shape.)"));
}

TANDEM_DEFINES OpDefinition Conv2DBackpropFilterDef() {
  return WithConvolutionAttrs(OpDefinition("tf.Conv2DBackpropFilter")
                                  .Input("input: T")
                                  .HostInput("filter_sizes: int32")
                                  .Input("out_backprop: T")
                                  .Output("output: T")
                                  .Metadata<&BackpropFilterMetadata<false>>(),
                              "T: {half, bfloat16, float, double}",
                              TANDEM_DOC(R"(Gradient of tf.Conv2D with regard to its filter.

input: That of tf.Conv2D.
filter_sizes: The shape of the filter: rows, columns, input channels, output channels.
out_backprop: The gradient with regard to the output of tf.Conv2D, of that output's shape.)"));
}

TANDEM_DEFINES OpDefinition DepthwiseDef() {
  return WithWindowAttrs(OpDefinition("tf.DepthwiseConv2dNative")
                             .Input("input: T")
                             .Input("filter: T")
                             .Output("output: T")
                             .Attr("T: {half, bfloat16, float, double}")
                             .Metadata<&ForwardMetadata<true>>(),
                         TANDEM_DOC(R"(Convolution of each channel of images with filters of its own.

output[b, y, x, c * multiplier + m] is the sum over i, j of input[b, y * stride + i * dilation - padding, x * ..., c] *
filter[i, j, c, m], where input is zero outside of the image. Strides and dilations of rows and columns may differ. f16
and bf16 are summed in f32 and rounded once. An error if the window is larger than the padded input by two strides or
more.

input: Images in the order of data_format.
filter: [rows, columns, input channels, multiplier]; not empty.)"));
}

TANDEM_DEFINES OpDefinition DepthwiseBackpropInputDef() {
  return WithWindowAttrs(OpDefinition("tf.DepthwiseConv2dNativeBackpropInput")
                             .HostInput("input_sizes: int32")
                             .Input("filter: T")
                             .Input("out_backprop: T")
                             .Output("output: T")
                             .Attr("T: {half, bfloat16, float, double}")
                             .Metadata<&BackpropInputMetadata<true>>(),
                         TANDEM_DOC(R"(Gradient of tf.DepthwiseConv2dNative with regard to its input.

input_sizes: The shape of the input, in the order of data_format.
filter: That of tf.DepthwiseConv2dNative: [rows, columns, input channels, multiplier].
out_backprop: The gradient with regard to the output of tf.DepthwiseConv2dNative, of that output's shape.)"));
}

TANDEM_DEFINES OpDefinition DepthwiseBackpropFilterDef() {
  return WithWindowAttrs(OpDefinition("tf.DepthwiseConv2dNativeBackpropFilter")
                             .Input("input: T")
                             .HostInput("filter_sizes: int32")
                             .Input("out_backprop: T")
                             .Output("output: T")
                             .Attr("T: {half, bfloat16, float, double}")
                             .Metadata<&BackpropFilterMetadata<true>>(),
                         TANDEM_DOC(R"(Gradient of tf.DepthwiseConv2dNative with regard to its filter.

input: That of tf.DepthwiseConv2dNative.
filter_sizes: The shape of the filter: rows, columns, input channels, multiplier.
out_backprop: The gradient with regard to the output of tf.DepthwiseConv2dNative, of that output's shape.)"));
}

// What fused convolutions take beside images and filters.
TANDEM_DEFINES OpDefinition WithFusedOps(OpDefinition builder) {
  return builder.Input("args: num_args * T")
      .Output("output: T")
      .Attr("num_args: int >= 0")
      .Attr("fused_ops: list(string) = []")
      .Attr("epsilon: float = 0.0001")
      .Attr("leakyrelu_alpha: float = 0.2");
}

// What all fused convolutions say of that.
constexpr const char* kFusedOpsDoc = TANDEM_DOC(R"(
epsilon: Added to the variance.
leakyrelu_alpha: What 'LeakyRelu' multiplies numbers below 0 by.)");

TANDEM_DEFINES OpDefinition FusedConv2DDef() {
  const std::string doc =
      std::string(TANDEM_DOC(R"(Convolution of images, with a bias or a normalization of its channels and an activation.

The same as tf.Conv2D followed by the fused ops one after the other, but without the tensors in between; f16 and bf16
are rounded once, at the end.

input: Images in the order of data_format.
filter: [rows, columns, input channels, output channels]; not empty.
args: Vectors with an element for each output channel: for 'BiasAdd' the bias; for 'FusedBatchNorm' scale, offset, mean
  and variance, which make (x - mean) * scale / sqrt(variance + epsilon) + offset of the convolution's x. For 'Add',
  after them, a tensor of the output's shape.
fused_ops: 'BiasAdd' or 'FusedBatchNorm', alone or followed by 'Add', by one of 'Relu', 'Relu6', 'Elu', 'LeakyRelu',
  'Tanh', 'Sigmoid', or by both.)")) +
      kFusedOpsDoc;
  return WithConvolutionAttrs(WithFusedOps(OpDefinition("tf._FusedConv2D").Input("input: T").Input("filter: T"))
                                  .Metadata<&FusedMetadata<false>>(),
                              "T: {half, bfloat16, float, double}", doc.c_str());
}

TANDEM_DEFINES OpDefinition FusedDepthwiseDef() {
  const std::string doc =
      std::string(TANDEM_DOC(R"(Depthwise convolution of images, with a bias or a normalization, and an activation.

The same as tf.DepthwiseConv2dNative followed by the fused ops one after the other, but without the tensors in between;
f16 and bf16 are rounded once, at the end.

input: Images in the order of data_format.
filter: [rows, columns, input channels, multiplier]; not empty.
args: Vectors with an element for each output channel: for 'BiasAdd' the bias; for 'FusedBatchNorm' scale, offset, mean
  and variance, which make (x - mean) * scale / sqrt(variance + epsilon) + offset of the convolution's x.
fused_ops: 'BiasAdd' or 'FusedBatchNorm', alone or followed by one of 'Relu', 'Relu6', 'Elu', 'LeakyRelu', 'Tanh',
  'Sigmoid'.)")) +
      kFusedOpsDoc;
  return WithWindowAttrs(
      WithFusedOps(OpDefinition("tf._FusedDepthwiseConv2dNative").Input("input: T").Input("filter: T"))
          .Attr("T: {half, bfloat16, float, double}")
          .Metadata<&FusedMetadata<true>>(),
      doc.c_str());
}

}  // namespace

Status RegisterConvolutionOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   Conv2DDef(),
                                   Conv2DBackpropInputDef(),
                                   Conv2DBackpropFilterDef(),
                                   DepthwiseDef(),
                                   DepthwiseBackpropInputDef(),
                                   DepthwiseBackpropFilterDef(),
                                   FusedConv2DDef(),
                                   FusedDepthwiseDef(),
                               });
}

}  // namespace tandem
