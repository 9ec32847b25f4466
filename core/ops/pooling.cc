// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPool, AvgPool and their gradients, MaxPoolWithArgmax.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "host_vector.h"
#include "op_definition.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"
#include "tandem/window_geometry.h"

namespace tandem {
namespace {

Status CheckWindow(const WindowAttrs& attrs, const std::array<int64_t, 2>& window, const OpAttrsRef& op_attrs,
                   std::string_view name, const TensorMetadata& image) {
  if (attrs.padding == PaddingKind::kSame) return Status();
  std::span<const int64_t> sizes;
  op_attrs.GetArray("ksize", &sizes);
  for (size_t i = 0; i < 2; ++i) {
    const auto [before, after] = attrs.explicit_paddings[i];
    if (before >= window[i] || after >= window[i]) {
      std::span<const int64_t> paddings;
      op_attrs.GetArray("explicit_paddings", &paddings);
      return InvalidArgument("explicit_paddings must be less than ksize, got explicit_paddings: ", paddings,
                             ", ksize: ", sizes);
    }
    const int64_t size = image.dim(i == 0 ? attrs.row_axis() : attrs.col_axis());
    if (window[i] - before - after > size) {
      return InvalidArgument("windows must not be larger than the padded ", name, ", got ", name, ": ", image,
                             ", ksize: ", sizes);
    }
  }
  return Status();
}

// What pooling the images `image`, called `name`, gives.
StatusOr<TensorMetadata> PooledMetadata(std::string_view name, const TensorMetadata& image, const OpAttrsRef& attrs) {
  if (image.rank() != 4) return InvalidArgument(name, " must have four dimensions, got ", name, ": ", image);
  TANDEM_ASSIGN_OR_RETURN(const WindowAttrs window_attrs, ReadWindowAttrs(attrs));
  TANDEM_ASSIGN_OR_RETURN(const auto window, ReadSpatialAttr(attrs, "ksize", window_attrs.channels_first));
  TANDEM_RETURN_IF_ERROR(CheckWindow(window_attrs, window, attrs, name, image));
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry geometry,
                          MakeWindowGeometry(window_attrs, image.shape, window[0], window[1]));
  TensorMetadata pooled = image;
  pooled.shape.SetDim(window_attrs.row_axis(), geometry.rows.output);
  pooled.shape.SetDim(window_attrs.col_axis(), geometry.cols.output);
  return pooled;
}

StatusOr<TensorMetadata> MaxPoolMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  return PooledMetadata("input", input, attrs);
}

StatusOr<TensorMetadata> AvgPoolMetadata(const TensorMetadata& value, const OpAttrsRef& attrs) {
  return PooledMetadata("value", value, attrs);
}

Status CheckPooled(std::string_view name, const TensorMetadata& value, const TensorMetadata& pooled) {
  if (value == pooled) return Status();
  return InvalidArgument(name, " must be ", pooled, ", like the result of pooling, got ", name, ": ", value);
}

StatusOr<TensorMetadata> MaxPoolGradMetadata(const TensorMetadata& orig_input, const TensorMetadata& orig_output,
                                             const TensorMetadata& grad, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata pooled, PooledMetadata("orig_input", orig_input, attrs));
  TANDEM_RETURN_IF_ERROR(CheckPooled("orig_output", orig_output, pooled));
  TANDEM_RETURN_IF_ERROR(CheckPooled("grad", grad, pooled));
  return orig_input;
}

StatusOr<TensorMetadata> AvgPoolGradMetadata(HostInput orig_input_shape, const TensorMetadata& grad,
                                             const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ReadHostShape(orig_input_shape, "orig_input_shape"));
  const TensorMetadata value(grad.dtype, shape);
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata pooled, PooledMetadata("orig_input", value, attrs));
  TANDEM_RETURN_IF_ERROR(CheckPooled("grad", grad, pooled));
  return value;
}

constexpr const char* kPadding = "padding: {'SAME', 'VALID', 'EXPLICIT'}";
constexpr const char* kFormat = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";

constexpr const char* kWindowDoc = TANDEM_DOC(R"(
ksize: The sizes of a window along each dimension of the images, as strides the steps from one to the next; both 1 for
  batch and channels.
padding: 'VALID': windows lie within the images; 'SAME': there are size / stride of them, rounded up, along a dimension,
  and what they lack is divided between both sides, the odd element behind; 'EXPLICIT': the images are widened as
  explicit_paddings says.
explicit_paddings: For 'EXPLICIT', two numbers for each dimension, before and after, less than ksize; else empty.
data_format: 'NHWC': images are [batch, height, width, channels]; 'NCHW': [batch, channels, height, width].)");

TANDEM_DEFINES std::string WithWindowDoc(const char* doc) { return std::string(doc) + kWindowDoc; }

TANDEM_DEFINES OpDefinition MaxPoolDef() {
  return OpDefinition("tf.MaxPool")
      .Input("input: T")
      .Output("output: T")
      .Attr("ksize: list(int) >= 4")
      .Attr("strides: list(int) >= 4")
      .Attr(kPadding)
      .Attr("explicit_paddings: list(int) = []")
      .Attr(kFormat)
      .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16} = DT_FLOAT")
      .Metadata<&MaxPoolMetadata>()
      .Doc(WithWindowDoc(R"(The largest element of each window on images.

Padding does not take part. A window with NaN gives NaN. Windows without padding must not be larger than the images.

input: Of four dimensions; the batch and the channels may be empty.)"));
}

TANDEM_DEFINES OpDefinition AvgPoolDef() {
  return OpDefinition("tf.AvgPool")
      .Input("value: T")
      .Output("output: T")
      .Attr("ksize: list(int) >= 4")
      .Attr("strides: list(int) >= 4")
      .Attr(kPadding)
      .Attr("explicit_paddings: list(int) = []")
      .Attr(kFormat)
      .Attr("T: {half, bfloat16, float, double}")
      .Metadata<&AvgPoolMetadata>()
      .Doc(WithWindowDoc(R"(The mean of each window on images.

Padding does not take part: the mean is of the elements that are there. f16 and bf16 are added up in f32. Windows without
padding must not be larger than the images.

value: Of four dimensions; the batch and the channels may be empty.)"));
}

TANDEM_DEFINES OpDefinition MaxPoolGradDef() {
  return OpDefinition("tf.MaxPoolGrad")
      .Input("orig_input: T")
      .Input("orig_output: T")
      .Input("grad: T")
      .Output("output: T")
      .Attr("ksize: list(int) >= 4")
      .Attr("strides: list(int) >= 4")
      .Attr(kPadding)
      .Attr("explicit_paddings: list(int) = []")
      .Attr(kFormat)
      .Attr("T: realnumbertype = DT_FLOAT")
      .Metadata<&MaxPoolGradMetadata>()
      .Doc(WithWindowDoc(R"(Gradient of tf.MaxPool.

The gradient of each window goes to the first element, row by row, that is the window's largest (NaN, if there is one);
an element gets the sum of what its windows give it, computed in f32 for f16 and bf16.

orig_input: What was pooled.
orig_output: The result of tf.MaxPool. A window without this element gives its gradient to none.
grad: The gradient with regard to that result, of the same shape.)"));
}

TANDEM_DEFINES OpDefinition AvgPoolGradDef() {
  return OpDefinition("tf.AvgPoolGrad")
      .HostInput("orig_input_shape: int32")
      .Input("grad: T")
      .Output("output: T")
      .Attr("ksize: list(int) >= 4")
      .Attr("strides: list(int) >= 4")
      .Attr(kPadding)
      .Attr("explicit_paddings: list(int) = []")
      .Attr(kFormat)
      .Attr("T: {half, bfloat16, float, double}")
      .Metadata<&AvgPoolGradMetadata>()
      .Doc(WithWindowDoc(R"(Gradient of tf.AvgPool.

The gradient of each window goes to its elements in equal parts; f16 and bf16 compute in f32.

orig_input_shape: The four sizes of what was pooled.
grad: The gradient with regard to the result of tf.AvgPool, of the same shape.)"));
}

StatusOr<std::array<TensorMetadata, 2>> MaxPoolWithArgmaxMetadata(const TensorMetadata& input,
                                                                  const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata pooled, PooledMetadata("input", input, attrs));
  const DType dtype = attrs.GetOr("Targmax", DType::kI64);
  const bool with_batch = attrs.GetOr("include_batch_in_index", false);
  const int64_t batch = with_batch ? 1 : std::max<int64_t>(1, input.dim(0));
  if (dtype == DType::kI32 && input.num_elements() / batch - 1 > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("places must fit in i32, got input: ", input, "; set Targmax to i64");
  }
  return std::array<TensorMetadata, 2>{pooled, TensorMetadata(dtype, pooled.shape)};
}

TANDEM_DEFINES OpDefinition MaxPoolWithArgmaxDef() {
  return OpDefinition("tf.MaxPoolWithArgmax")
      .Input("input: T")
      .Output("output: T")
      .Output("argmax: Targmax")
      .Attr("ksize: list(int) >= 4")
      .Attr("strides: list(int) >= 4")
      .Attr("Targmax: {int32, int64} = DT_INT64")
      .Attr("padding: {'SAME', 'VALID'}")
      .Attr("include_batch_in_index: bool = false")
      .Attr("T: realnumbertype")
      .Metadata<&MaxPoolWithArgmaxMetadata>()
      .Doc(TANDEM_DOC(R"(The largest element of each window on images, and where it is.

The place of an element in row y, column x and channel c is (y * width + x) * channels + c, to which
include_batch_in_index adds the image's number times the elements of an image. Of equal elements the first one counts,
row by row; a window with NaN gives the first NaN. Padding does not take part; windows without it must not be larger
than the images.

input: Images, [batch, height, width, channels]; the batch and the channels may be empty.
ksize: The sizes of a window along each dimension of the images, as strides the steps from one to the next; both 1 for
  batch and channels.
padding: 'VALID': windows lie within the images; 'SAME': there are size / stride of them, rounded up, along a dimension,
  and what they lack is divided between both sides, the odd element behind.
include_batch_in_index: Whether places are in the whole input, rather than in their image.)"));
}

}  // namespace

Status RegisterPoolingOps(OpRegistry& registry) {
  return RegisterOps(registry,
                     {MaxPoolDef(), MaxPoolGradDef(), MaxPoolWithArgmaxDef(), AvgPoolDef(), AvgPoolGradDef()});
}

}  // namespace tandem
