// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Neural networks: biases, softmax and its loss, gradients of activations.

#include <array>
#include <string>
#include <string_view>

#include "op_definition.h"
#include "tandem/element_expressions.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

constexpr const char* kFloat = "{half, bfloat16, float, double}";
constexpr const char* kReal = "realnumbertype";

// The dimension of `value` that biases are for. InvalidArgument if it has none.
StatusOr<int> ChannelAxis(const TensorMetadata& value, std::string_view name, const OpAttrsRef& attrs) {
  const bool channels_first = attrs.GetOr<std::string_view>("data_format", "NHWC") == "NCHW";
  if (value.rank() < 2) {
    return InvalidArgument(name, " must have at least two dimensions, got ", name, ": ", value);
  }
  return channels_first ? 1 : value.rank() - 1;
}

StatusOr<TensorMetadata> BiasAddMetadata(const TensorMetadata& value, const TensorMetadata& bias,
                                         const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const int axis, ChannelAxis(value, "value", attrs));
  if (bias.rank() != 1 || bias.dim(0) != value.dim(axis)) {
    return InvalidArgument("bias must be a vector with an element for each index of dimension ", axis,
                           " of value, got value: ", value, ", bias: ", bias);
  }
  return value;
}

StatusOr<TensorMetadata> BiasAddGradMetadata(const TensorMetadata& out_backprop, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const int axis, ChannelAxis(out_backprop, "out_backprop", attrs));
  return TensorMetadata(out_backprop.dtype, {out_backprop.dim(axis)});
}

StatusOr<TensorMetadata> SoftmaxMetadata(const TensorMetadata& logits) {
  if (logits.rank() == 0) return InvalidArgument("logits must have at least one dimension, got logits: ", logits);
  return logits;
}

StatusOr<std::array<TensorMetadata, 2>> SparseCrossEntropyMetadata(const TensorMetadata& features,
                                                                   const TensorMetadata& labels) {
  if (features.rank() != 2) return InvalidArgument("features must be a matrix, got features: ", features);
  if (labels.rank() != 1 || labels.dim(0) != features.dim(0)) {
    return InvalidArgument("labels must be a vector with one element for each row of features, got features: ",
                           features, ", labels: ", labels);
  }
  if (features.dim(0) > 0 && features.dim(1) == 0) {
    return InvalidArgument("features must have at least one class, got features: ", features);
  }
  return std::array{TensorMetadata(features.dtype, labels.shape), features};
}

StatusOr<TensorMetadata> SameShape(std::string_view x_name, const TensorMetadata& x, std::string_view y_name,
                                   const TensorMetadata& y) {
  if (x.shape == y.shape) return x;
  return InvalidArgument("shapes must be equal, got ", x_name, ": ", x, ", ", y_name, ": ", y);
}

StatusOr<TensorMetadata> FeaturesGradMetadata(const TensorMetadata& gradients, const TensorMetadata& features) {
  return SameShape("gradients", gradients, "features", features);
}

StatusOr<TensorMetadata> OutputsGradMetadata(const TensorMetadata& gradients, const TensorMetadata& outputs) {
  return SameShape("gradients", gradients, "outputs", outputs);
}

StatusOr<TensorMetadata> ValueGradMetadata(const TensorMetadata& y, const TensorMetadata& dy) {
  return SameShape("y", y, "dy", dy);
}

TANDEM_DEFINES OpDefinition Softmax(const char* name, const char* output, const char* doc) {
  return OpDefinition(name)
      .Input("logits: T")
      .Output(output)
      .Attr("T: {half, bfloat16, float, double}")
      .Metadata<&SoftmaxMetadata>()
      .Doc(std::string(doc) + R"( along the last dimension.

Computed relative to the largest element of each row, so that nothing overflows. A logit of -inf is masked: its
share is 0, the logarithm of that -inf. A row with NaN or +inf, or with nothing but -inf, becomes NaN.

logits: Of rank 1 at least.)");
}

// The gradient of an activation from that of its result and from what it was computed of.
TANDEM_DEFINES OpDefinition FeaturesGrad(const char* name, const char* dtypes, const char* doc) {
  return OpDefinition(name)
      .Input("gradients: T")
      .Input("features: T")
      .Output("backprops: T")
      .Attr("T: " + std::string(dtypes))
      .Metadata<&FeaturesGradMetadata>()
      .Elementwise(ElementExpressionsOf(name))
      .MaxUlp(0)
      .Doc(std::string(doc) + R"(

gradients: The gradient with regard to the activation's result.
features: What the activation was computed of; of the same shape.)");
}

// The gradient of an activation from that of its result and from the result.
TANDEM_DEFINES OpDefinition OutputsGrad(const char* name, const char* doc) {
  return OpDefinition(name)
      .Input("gradients: T")
      .Input("outputs: T")
      .Output("backprops: T")
      .Attr("T: {half, bfloat16, float, double}")
      .Metadata<&OutputsGradMetadata>()
      .Elementwise(ElementExpressionsOf(name))
      .MaxUlp(0)
      .Doc(std::string(doc) + R"(

gradients: The gradient with regard to the activation's result.
outputs: The activation's result; of the same shape.)");
}

// The gradient of an activation from its result and the gradient of that.
TANDEM_DEFINES OpDefinition ValueGrad(const char* name, const char* doc) {
  return OpDefinition(name)
      .Input("y: T")
      .Input("dy: T")
      .Output("z: T")
      .Attr("T: {bfloat16, half, float, double, complex64}")
      .Metadata<&ValueGradMetadata>()
      .Elementwise(ElementExpressionsOf(name))
      .MaxUlp(0)
      .Doc(std::string(doc) + R"(

y: The activation's result.
dy: The gradient with regard to it; of the same shape.)");
}

TANDEM_DEFINES OpDefinition BiasAddDef() {
  return OpDefinition("tf.BiasAdd")
      .Input("value: T")
      .Input("bias: T")
      .Output("output: T")
      .Attr("T: numbertype")
      .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
      .Metadata<&BiasAddMetadata>()
      .Doc(TANDEM_DOC(R"(Adds a vector along the channels of a tensor.

Integers wrap around.

value: Of rank 2 at least.
bias: One element for each channel.
data_format: 'NHWC': the channels are the last dimension; 'NCHW': they are dimension 1.)"));
}

TANDEM_DEFINES OpDefinition BiasAddGradDef() {
  return OpDefinition("tf.BiasAddGrad")
      .Input("out_backprop: T")
      .Output("output: T")
      .Attr("T: numbertype")
      .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
      .Metadata<&BiasAddGradMetadata>()
      .Doc(TANDEM_DOC(
          R"(Gradient of tf.BiasAdd with regard to the bias: the sum over all dimensions but that of the channels.

out_backprop: The gradient with regard to the result of tf.BiasAdd; of rank 2 at least.
data_format: 'NHWC': the channels are the last dimension; 'NCHW': they are dimension 1.)"));
}

TANDEM_DEFINES OpDefinition SparseCrossEntropyDef() {
  return OpDefinition("tf.SparseSoftmaxCrossEntropyWithLogits")
      .Input("features: T")
      .Input("labels: Tlabels")
      .Output("loss: T")
      .Output("backprop: T")
      .Attr("T: {half, bfloat16, float, double}")
      .Attr("Tlabels: {int32, int64} = DT_INT64")
      .Metadata<&SparseCrossEntropyMetadata>()
      .Doc(TANDEM_DOC(
          R"(Cross entropy between the softmax of each row and the class that its label names, and its gradient.

loss[i] is -log(softmax(features[i])[labels[i]]); backprop is the gradient of the losses' sum with regard to features:
softmax(features), less 1 at the labels.

features: A matrix [rows, classes].
labels: A vector [rows] of numbers in [0, classes); an error names the first one that is not.)"));
}

}  // namespace

Status RegisterNnOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          BiasAddDef(),
          BiasAddGradDef(),
          Softmax("tf.Softmax", "softmax: T", TANDEM_DOC("Softmax exp(x) / sum(exp(x))")),
          Softmax("tf.LogSoftmax", "logsoftmax: T", TANDEM_DOC("Logarithm of the softmax, x - log(sum(exp(x))),")),
          SparseCrossEntropyDef(),
          FeaturesGrad("tf.ReluGrad", kReal,
                       TANDEM_DOC("Gradient of tf.Relu: the gradients where features are above 0, else 0.")),
          FeaturesGrad("tf.Relu6Grad", kReal,
                       TANDEM_DOC("Gradient of tf.Relu6: the gradients where features are between 0 and 6, else 0.")),
          FeaturesGrad(
              "tf.LeakyReluGrad", kFloat,
              TANDEM_DOC("Gradient of tf.LeakyRelu: the gradients where features are above 0, else alpha times them."))
              .MaxUlp(1)
              .Attr("alpha: float = 0.2"),
          FeaturesGrad("tf.SoftplusGrad", kFloat,
                       TANDEM_DOC("Gradient of tf.Softplus: gradients / (1 + exp(-features))."))
              .MaxUlp(4),
          FeaturesGrad("tf.SoftsignGrad", kFloat,
                       TANDEM_DOC("Gradient of tf.Softsign: gradients / (1 + |features|)^2."))
              .MaxUlp(3),
          OutputsGrad("tf.EluGrad",
                      TANDEM_DOC("Gradient of tf.Elu: gradients * (outputs + 1) where outputs are below 0, else the "
                                 "gradients."))
              .MaxUlp(2),
          OutputsGrad(
              "tf.SeluGrad",
              TANDEM_DOC(
                  "Gradient of tf.Selu: gradients * (outputs + 1.7580993408473766) where outputs are below 0, else "
                  "gradients * 1.0507009873554805. As accurate as stated but where outputs are near "
                  "-1.7580993408473766, so that the sum is that of a rounded number."))
              .MaxUlp(2),
          ValueGrad("tf.SigmoidGrad", TANDEM_DOC("Gradient of tf.Sigmoid: dy * y * (1 - y).")).MaxUlp(2),
          ValueGrad(
              "tf.TanhGrad",
              TANDEM_DOC("Gradient of tf.Tanh: dy * (1 - y * y). As accurate as stated but where y is near -1 or 1, "
                         "so that the difference is that of a rounded number."))
              .MaxUlp(2),
      });
}

}  // namespace tandem
