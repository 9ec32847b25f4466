// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv3D, MaxPool3D, AvgPool3D and their gradients.

#include <span>
#include <string>
#include <string_view>

#include "host_vector.h"
#include "op_definition.h"
#include "result_shape.h"
#include "tandem/op_families.h"
#include "tandem/volume_windows.h"

namespace tandem {
namespace {

Status CheckVolume(std::string_view name, const TensorMetadata& volume) {
  if (volume.rank() == 5) return Status();
  return InvalidArgument(name, " must have five dimensions, got ", name, ": ", volume);
}

TensorShape WithSpace(const VolumeAttrs& attrs, TensorShape shape, const VolumeWindows& windows, int64_t channels) {
  for (size_t i = 0; i < 3; ++i) shape.SetDim(attrs.axis(static_cast<int>(i)), windows[i].output);
  shape.SetDim(attrs.channel_axis(), channels);
  return shape;
}

Status CheckWindows(const VolumeAttrs& attrs, const VolumeSizes& window, const OpAttrsRef& op_attrs,
                    std::string_view name, const TensorMetadata& volume) {
  if (attrs.padding == PaddingKind::kSame) return Status();
  std::span<const int64_t> sizes;
  op_attrs.GetArray("ksize", &sizes);
  for (size_t i = 0; i < 3; ++i) {
    const auto [before, after] = attrs.explicit_paddings[i];
    if (before >= window[i] || after >= window[i]) {
      std::span<const int64_t> paddings;
      op_attrs.GetArray("explicit_paddings", &paddings);
      return InvalidArgument("explicit_paddings must be less than ksize, got explicit_paddings: ", paddings,
                             ", ksize: ", sizes);
    }
    if (window[i] - before - after > volume.dim(attrs.axis(static_cast<int>(i)))) {
      return InvalidArgument("windows must not be larger than the padded ", name, ", got ", name, ": ", volume,
                             ", ksize: ", sizes);
    }
  }
  return Status();
}

// What pooling the volumes `volume`, called `name`, gives.
StatusOr<TensorMetadata> PooledMetadata(std::string_view name, const TensorMetadata& volume, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckVolume(name, volume));
  TANDEM_ASSIGN_OR_RETURN(const VolumeAttrs volume_attrs, ReadVolumeAttrs(attrs));
  TANDEM_ASSIGN_OR_RETURN(const VolumeSizes window, ReadVolumeAttr(attrs, "ksize", volume_attrs.channels_first));
  TANDEM_RETURN_IF_ERROR(CheckWindows(volume_attrs, window, attrs, name, volume));
  TANDEM_ASSIGN_OR_RETURN(const VolumeWindows windows, MakeVolumeWindows(volume_attrs, volume.shape, window));
  return TensorMetadata(volume.dtype,
                        WithSpace(volume_attrs, volume.shape, windows, volume.dim(volume_attrs.channel_axis())));
}

StatusOr<TensorMetadata> PoolMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  return PooledMetadata("input", input, attrs);
}

Status CheckLike(std::string_view name, const TensorMetadata& value, const TensorMetadata& result, const char* of) {
  if (value == result) return Status();
  return InvalidArgument(name, " must be ", result, ", like the result of ", of, ", got ", name, ": ", value);
}

StatusOr<TensorMetadata> MaxPoolGradMetadata(const TensorMetadata& orig_input, const TensorMetadata& orig_output,
                                             const TensorMetadata& grad, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata pooled, PooledMetadata("orig_input", orig_input, attrs));
  TANDEM_RETURN_IF_ERROR(CheckLike("orig_output", orig_output, pooled, "pooling"));
  TANDEM_RETURN_IF_ERROR(CheckLike("grad", grad, pooled, "pooling"));
  return orig_input;
}

StatusOr<TensorMetadata> AvgPoolGradMetadata(HostInput orig_input_shape, const TensorMetadata& grad,
                                             const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ReadHostShape(orig_input_shape, "orig_input_shape"));
  const TensorMetadata input(grad.dtype, shape);
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata pooled, PooledMetadata("orig_input", input, attrs));
  TANDEM_RETURN_IF_ERROR(CheckLike("grad", grad, pooled, "pooling"));
  return input;
}

// What the convolution of `input` with `filter` gives; the gradients call the one that is wanted by its shape's name.
StatusOr<TensorMetadata> ConvolvedMetadata(std::string_view input_name, const TensorMetadata& input,
                                           std::string_view filter_name, const TensorMetadata& filter,
                                           const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckVolume(input_name, input));
  TANDEM_RETURN_IF_ERROR(CheckVolume(filter_name, filter));
  TANDEM_ASSIGN_OR_RETURN(const VolumeAttrs volume_attrs, ReadVolumeAttrs(attrs));
  if (input.dim(volume_attrs.channel_axis()) != filter.dim(3)) {
    return InvalidArgument(input_name, " must have as many channels as ", filter_name, " takes, got ", input_name, ": ",
                           input, ", ", filter_name, ": ", filter);
  }
  const VolumeSizes window = {filter.dim(0), filter.dim(1), filter.dim(2)};
  TANDEM_ASSIGN_OR_RETURN(const VolumeWindows windows, MakeVolumeWindows(volume_attrs, input.shape, window));
  const TensorShape shape = WithSpace(volume_attrs, input.shape, windows, filter.dim(4));
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, input_name, ": ", input, ", ", filter_name, ": ", filter));
  return TensorMetadata(input.dtype, shape);
}

StatusOr<TensorMetadata> Conv3DMetadata(const TensorMetadata& input, const TensorMetadata& filter,
                                        const OpAttrsRef& attrs) {
  return ConvolvedMetadata("input", input, "filter", filter, attrs);
}

StatusOr<TensorMetadata> BackpropInputMetadata(HostInput input_sizes, const TensorMetadata& filter,
                                               const TensorMetadata& out_backprop, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ReadHostShape(input_sizes, "input_sizes"));
  const TensorMetadata input(filter.dtype, shape);
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata result,
                          ConvolvedMetadata("input_sizes", input, "filter", filter, attrs));
  TANDEM_RETURN_IF_ERROR(CheckLike("out_backprop", out_backprop, result, "the convolution"));
  return input;
}

StatusOr<TensorMetadata> BackpropFilterMetadata(const TensorMetadata& input, HostInput filter_sizes,
                                                const TensorMetadata& out_backprop, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ReadHostShape(filter_sizes, "filter_sizes"));
  const TensorMetadata filter(input.dtype, shape);
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata result,
                          ConvolvedMetadata("input", input, "filter_sizes", filter, attrs));
  TANDEM_RETURN_IF_ERROR(CheckLike("out_backprop", out_backprop, result, "the convolution"));
  return filter;
}

constexpr const char* kWindowDoc = TANDEM_DOC(R"(
strides: The steps from one window to the next along each dimension; 1 for batch and channels.
padding: 'VALID': windows lie within the volumes; 'SAME': there are size / stride of them, rounded up, along a dimension,
  and what they lack is divided between both sides, the odd element behind; 'EXPLICIT': the volumes are widened as
  explicit_paddings says.
explicit_paddings: For 'EXPLICIT', two numbers for each dimension, before and after; else empty.
data_format: 'NDHWC': volumes are [batch, depth, height, width, channels]; 'NCDHW': [batch, channels, depth, height,
  width].)");

// The attributes that all of them have.
TANDEM_DEFINES OpDefinition WithWindows(OpDefinition op, bool is_pool, const char* doc) {
  if (is_pool) op.Attr("ksize: list(int) >= 5");
  op.Attr("strides: list(int) >= 5")
      .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
      .Attr("explicit_paddings: list(int) = []")
      .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'");
  if (!is_pool) op.Attr("dilations: list(int) = [1, 1, 1, 1, 1]");
  op.Attr("T: {half, bfloat16, float, double}");
  const char* const more =
      is_pool ? TANDEM_DOC("\nksize: The sizes of a window along each dimension; 1 for batch and channels.")
              : TANDEM_DOC("\ndilations: The distances of the elements of a window; 1 for batch and channels.");
  return op.Doc(std::string(doc) + more + kWindowDoc);
}

TANDEM_DEFINES OpDefinition Pool(const char* name, const char* doc) {
  return WithWindows(OpDefinition(name).Input("input: T").Output("output: T").Metadata<&PoolMetadata>(), true, doc);
}

Status RegisterVolumePooling(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   Pool("tf.MaxPool3D", TANDEM_DOC(R"(The largest element of each window on volumes.

Padding does not take part. A window with NaN gives NaN. Windows without padding must not be larger than the volumes.

input: Of five dimensions; the batch and the channels may be empty.)")),
                                   Pool("tf.AvgPool3D", TANDEM_DOC(R"(The mean of each window on volumes.

Padding does not take part: the mean is of the elements that are there. f16 and bf16 are added up in f32. Windows
without padding must not be larger than the volumes.

input: Of five dimensions; the batch and the channels may be empty.)")),
                                   WithWindows(OpDefinition("tf.MaxPool3DGrad")
                                                   .Input("orig_input: T")
                                                   .Input("orig_output: T")
                                                   .Input("grad: T")
                                                   .Output("output: T")
                                                   .Metadata<&MaxPoolGradMetadata>(),
                                               true, TANDEM_DOC(R"(Gradient of tf.MaxPool3D.

The gradient of each window goes to its first element that is its largest (NaN, if there is one); an element gets the
sum of what its windows give it, computed in f32 for f16 and bf16.

orig_input: What was pooled.
orig_output: The result of tf.MaxPool3D, which only its shape is taken from.
grad: The gradient with regard to that result, of the same shape.)")),
                                   WithWindows(OpDefinition("tf.AvgPool3DGrad")
                                                   .HostInput("orig_input_shape: int32")
                                                   .Input("grad: T")
                                                   .Output("output: T")
                                                   .Metadata<&AvgPoolGradMetadata>(),
                                               true, TANDEM_DOC(R"(Gradient of tf.AvgPool3D.

The gradient of each window goes to its elements in equal parts; f16 and bf16 compute in f32.

orig_input_shape: The five sizes of what was pooled.
grad: The gradient with regard to the result of tf.AvgPool3D, of the same shape.)")),
                               });
}

}  // namespace

Status RegisterVolumeOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterVolumePooling(registry));
  return RegisterOps(registry, {
                                   WithWindows(OpDefinition("tf.Conv3D")
                                                   .Input("input: T")
                                                   .Input("filter: T")
                                                   .Output("output: T")
                                                   .Metadata<&Conv3DMetadata>(),
                                               false, TANDEM_DOC(R"(Convolves volumes with a filter.

Each element of the result is the sum of the products of a window of the input, all channels of it, and the filter for
its channel. f16 and bf16 are summed in f32 and rounded once.

input: Of five dimensions.
filter: Of shape [depth, height, width, channels of input, channels of the result].)")),
                                   WithWindows(OpDefinition("tf.Conv3DBackpropInputV2")
                                                   .HostInput("input_sizes: Tshape")
                                                   .Input("filter: T")
                                                   .Input("out_backprop: T")
                                                   .Output("output: T")
                                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                                   .Metadata<&BackpropInputMetadata>(),
                                               false, TANDEM_DOC(R"(Gradient of tf.Conv3D with regard to its input.

input_sizes: The five sizes of the input.
filter: The filter.
out_backprop: The gradient with regard to the result, of its shape.)")),
                                   WithWindows(OpDefinition("tf.Conv3DBackpropFilterV2")
                                                   .Input("input: T")
                                                   .HostInput("filter_sizes: int32")
                                                   .Input("out_backprop: T")
                                                   .Output("output: T")
                                                   .Metadata<&BackpropFilterMetadata>(),
                                               false, TANDEM_DOC(R"(Gradient of tf.Conv3D with regard to its filter.

input: The input.
filter_sizes: The five sizes of the filter.
out_backprop: The gradient with regard to the result, of its shape.)")),
                               });
}

}  // namespace tandem
