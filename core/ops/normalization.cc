// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FusedBatchNormV3, LayerNorm and their gradients.

#include <array>
#include <span>
#include <string_view>

#include "normalization_ops.h"
#include "op_definition.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

// The dimension of `x` that the channels are; `x` has four dimensions, or five if the format says so.
StatusOr<int> BatchNormChannelAxis(const TensorMetadata& x, const OpAttrsRef& attrs) {
  const auto format = attrs.GetOr<std::string_view>("data_format", "NHWC");
  const int rank = static_cast<int>(format.size());
  if (x.rank() != rank) {
    return InvalidArgument("x must have ", rank == 5 ? "five" : "four", " dimensions for data_format ", format,
                           ", got x: ", x);
  }
  return format[1] == 'C' ? 1 : rank - 1;
}

// Whether `value`, called `name`, is a vector with one element for each channel of `x`.
Status CheckPerChannel(std::string_view name, const TensorMetadata& value, const TensorMetadata& x, int axis) {
  if (value.rank() == 1 && value.dim(0) == x.dim(axis)) return Status();
  return InvalidArgument(name, " must be a vector with an element for each index of dimension ", axis,
                         " of x, got x: ", x, ", ", name, ": ", value);
}

Status FusedBatchNormMetadata(const TensorMetadata& x, const TensorMetadata& scale, const TensorMetadata& offset,
                              const TensorMetadata& mean, const TensorMetadata& variance, const OpAttrsRef& attrs,
                              std::span<TensorMetadata> results) {
  TANDEM_ASSIGN_OR_RETURN(const int axis, BatchNormChannelAxis(x, attrs));
  TANDEM_RETURN_IF_ERROR(CheckPerChannel("scale", scale, x, axis));
  TANDEM_RETURN_IF_ERROR(CheckPerChannel("offset", offset, x, axis));
  const bool needs_statistics =
      !attrs.GetOr("is_training", true) || attrs.GetOr("exponential_avg_factor", 1.0f) != 1.0f;
  if (needs_statistics) {
    TANDEM_RETURN_IF_ERROR(CheckPerChannel("mean", mean, x, axis));
    TANDEM_RETURN_IF_ERROR(CheckPerChannel("variance", variance, x, axis));
  } else {
    if (mean.rank() != 1) return InvalidArgument("mean must be a vector, got mean: ", mean);
    if (variance.rank() != 1) return InvalidArgument("variance must be a vector, got variance: ", variance);
  }
  results[0] = x;
  for (size_t i = 1; i < 5; ++i) results[i] = scale;
  results[5] = TensorMetadata(DType::kF32, {});
  return Status();
}

Status FusedBatchNormGradMetadata(const TensorMetadata& y_backprop, const TensorMetadata& x,
                                  const TensorMetadata& scale, const TensorMetadata& mean,
                                  const TensorMetadata& variance, const TensorMetadata&, const OpAttrsRef& attrs,
                                  std::span<TensorMetadata> results) {
  TANDEM_ASSIGN_OR_RETURN(const int axis, BatchNormChannelAxis(x, attrs));
  if (!(y_backprop.shape == x.shape)) {
    return InvalidArgument("shapes must be equal, got y_backprop: ", y_backprop, ", x: ", x);
  }
  TANDEM_RETURN_IF_ERROR(CheckPerChannel("scale", scale, x, axis));
  TANDEM_RETURN_IF_ERROR(CheckPerChannel("reserve_space_1", mean, x, axis));
  TANDEM_RETURN_IF_ERROR(CheckPerChannel("reserve_space_2", variance, x, axis));
  results[0] = x;
  results[1] = results[2] = scale;
  results[3] = results[4] = TensorMetadata(DType::kF32, {0});
  return Status();
}

// Whether `value`, called `name`, is a vector with one element for each index of the last dimension of `x`, which has
// dimensions.
Status CheckLayerVector(std::string_view name, const TensorMetadata& value, const TensorMetadata& x) {
  if (value.rank() == 1 && value.dim(0) == x.dim(x.rank() - 1)) return Status();
  return InvalidArgument(name,
                         " must be a vector with an element for each index of the last dimension of x, got x: ", x,
                         ", ", name, ": ", value);
}

StatusOr<TensorMetadata> LayerNormMetadata(const TensorMetadata& x, const TensorMetadata& scale,
                                           const TensorMetadata& bias) {
  if (x.rank() == 0) return InvalidArgument("x must have at least one dimension, got x: ", x);
  TANDEM_RETURN_IF_ERROR(CheckLayerVector("scale", scale, x));
  TANDEM_RETURN_IF_ERROR(CheckLayerVector("bias", bias, x));
  return x;
}

StatusOr<std::array<TensorMetadata, 3>> LayerNormGradMetadata(const TensorMetadata& y_backprop, const TensorMetadata& x,
                                                              const TensorMetadata& scale) {
  if (x.rank() == 0) return InvalidArgument("x must have at least one dimension, got x: ", x);
  if (!(y_backprop.shape == x.shape)) {
    return InvalidArgument("shapes must be equal, got y_backprop: ", y_backprop, ", x: ", x);
  }
  TANDEM_RETURN_IF_ERROR(CheckLayerVector("scale", scale, x));
  return std::array{x, scale, scale};
}

TANDEM_DEFINES OpDefinition FusedBatchNormDef() {
  return OpDefinition("tf.FusedBatchNormV3")
      .Input("x: T")
      .Input("scale: U")
      .Input("offset: U")
      .Input("mean: U")
      .Input("variance: U")
      .Output("y: T")
      .Output("batch_mean: U")
      .Output("batch_variance: U")
      .Output("reserve_space_1: U")
      .Output("reserve_space_2: U")
      .Output("reserve_space_3: U")
      .Attr("T: {half, bfloat16, float}")
      .Attr("U: {float}")
      .Attr("epsilon: float = 0.0001")
      .Attr("exponential_avg_factor: float = 1.0")
      .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
      .Attr("is_training: bool = true")
      .Metadata<&FusedBatchNormMetadata>()
      .Doc(TANDEM_DOC(R"(Normalizes each channel: y = (x - mean) / sqrt(variance + epsilon) * scale + offset.

In training, mean and variance are those of the channel's n elements (the sum of squared differences over n). Results 1
and 2 are then the running statistics (1 - f) * old + f * new, with f = exponential_avg_factor, old from the arguments,
and as the new variance that of a sample, n / max(n - 1, 1) times the one above; results 3 and 4 are the mean and the
variance that y was computed with. Without elements, mean and variance are NaN.

Otherwise mean and variance are the arguments, which results 1 to 4 repeat. Result 5 is one 0, for devices that need it
for the gradient. f16 and bf16 compute in f32.

x: The channels are its last dimension, or dimension 1 for 'NCHW' and 'NCDHW'.
scale: One element for each channel, as in offset.
mean: One element for each channel, as in variance; in training with exponential_avg_factor 1, not used and of any
  length.)"));
}

TANDEM_DEFINES OpDefinition FusedBatchNormGradDef() {
  return OpDefinition("tf.FusedBatchNormGradV3")
      .Input("y_backprop: T")
      .Input("x: T")
      .Input("scale: float")
      .Input("reserve_space_1: U")
      .Input("reserve_space_2: U")
      .Input("reserve_space_3: U")
      .Output("x_backprop: T")
      .Output("scale_backprop: U")
      .Output("offset_backprop: U")
      .Output("reserve_space_4: U")
      .Output("reserve_space_5: U")
      .Attr("T: {half, bfloat16, float}")
      .Attr("U: {float}")
      .Attr("epsilon: float = 0.0001")
      .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
      .Attr("is_training: bool = true")
      .Metadata<&FusedBatchNormGradMetadata>()
      .Doc(TANDEM_DOC(R"(Gradients of tf.FusedBatchNormV3 with regard to x, scale and offset.

The gradient of the offset is the sum of y_backprop over a channel, that of the scale the sum of its products with
(x - mean) / sqrt(variance + epsilon). In training, the gradient of x allows for mean and variance being computed from x;
otherwise these are constants. The last two results are empty. f16 and bf16 compute in f32.

y_backprop: The gradient with regard to the result y.
x: As it was normalized, with the same scale, epsilon, data_format and is_training.
reserve_space_1: The mean that x was normalized with: that result of tf.FusedBatchNormV3.
reserve_space_2: The variance, likewise.
reserve_space_3: Not used on the host; that result of tf.FusedBatchNormV3, for devices that need it.)"));
}

TANDEM_DEFINES OpDefinition LayerNormDef() {
  return OpDefinition("tandem.LayerNorm")
      .Input("x: T")
      .Input("scale: T")
      .Input("bias: T")
      .Output("y: T")
      .Attr("T: {half, bfloat16, float, double}")
      .Attr("epsilon: float = 1e-5")
      .Metadata<&LayerNormMetadata>()
      .Doc(TANDEM_DOC(R"(Normalizes along the last dimension: y = (x - mean) / sqrt(variance + epsilon) * scale + bias.

Mean and variance (the mean of the squared differences from the mean) are those of each row of x; a row with NaN or
infinity becomes NaN. f16 and bf16 compute in f32.

x: Of rank 1 at least.
scale: One element for each index of the last dimension of x, as in bias.)"));
}

TANDEM_DEFINES OpDefinition LayerNormGradDef() {
  return OpDefinition("tandem.LayerNormGrad")
      .Input("y_backprop: T")
      .Input("x: T")
      .Input("scale: T")
      .Output("x_backprop: T")
      .Output("scale_backprop: T")
      .Output("bias_backprop: T")
      .Attr("T: {half, bfloat16, float, double}")
      .Attr("epsilon: float = 1e-5")
      .Metadata<&LayerNormGradMetadata>()
      .Doc(TANDEM_DOC(R"(Gradients of tandem.LayerNorm with regard to x, scale and bias.

Mean and variance of each row are computed again, and the gradient of x allows for them. The gradients of scale and bias
are sums over all rows; without rows they are 0. f16 and bf16 compute in f32.

y_backprop: The gradient with regard to the result, of the shape of x.
x: As it was normalized, with the same scale and epsilon; of rank 1 at least.)"));
}

}  // namespace

Status RegisterNormalizationOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterLocalNormalizationOps(registry));
  return RegisterOps(registry, {FusedBatchNormDef(), FusedBatchNormGradDef(), LayerNormDef(), LayerNormGradDef()});
}

}  // namespace tandem
