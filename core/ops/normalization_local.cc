// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LRN and LRNGrad: normalization by the channels nearby.

#include "normalization_ops.h"
#include "op_definition.h"

namespace tandem {
namespace {

Status CheckLocal(const char* name, const TensorMetadata& images, const OpAttrsRef& attrs) {
  if (images.rank() != 4) return InvalidArgument(name, " must have four dimensions, got ", name, ": ", images);
  const auto radius = attrs.GetOr<int64_t>("depth_radius", 5);
  if (radius < 0) return InvalidArgument("depth_radius must be at least 0, got ", radius);
  return Status();
}

StatusOr<TensorMetadata> LocalMetadata(const TensorMetadata& input, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckLocal("input", input, attrs));
  return input;
}

StatusOr<TensorMetadata> LocalGradMetadata(const TensorMetadata& input_grads, const TensorMetadata& input_image,
                                           const TensorMetadata& output_image, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckLocal("input_image", input_image, attrs));
  if (input_grads == input_image && output_image == input_image) return input_image;
  return InvalidArgument("input_grads and output_image must have the shape of input_image, got input_grads: ",
                         input_grads, ", input_image: ", input_image, ", output_image: ", output_image);
}

TANDEM_DEFINES OpDefinition WithAttrs(OpDefinition op) {
  return op.Output("output: T")
      .Attr("depth_radius: int = 5")
      .Attr("bias: float = 1.0")
      .Attr("alpha: float = 1.0")
      .Attr("beta: float = 0.5")
      .Attr("T: {half, bfloat16, float} = DT_FLOAT");
}

}  // namespace

Status RegisterLocalNormalizationOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          WithAttrs(OpDefinition("tf.LRN").Input("input: T"))
              .Metadata<&LocalMetadata>()
              .Doc(TANDEM_DOC(R"(Divides each element by a power of the squares around it:
input / (bias + alpha * s)^beta.

s is the sum of the squares of the elements of the same pixel in the channels from depth_radius before to depth_radius
behind, as far as there are any. Computed in f64 and rounded once.

input: Images, [batch, height, width, channels].)")),
          WithAttrs(OpDefinition("tf.LRNGrad").Input("input_grads: T").Input("input_image: T").Input("output_image: T"))
              .Metadata<&LocalGradMetadata>()
              .Doc(TANDEM_DOC(R"(Gradient of tf.LRN. Computed in f64 and rounded once.

input_grads: The gradient with regard to the result of tf.LRN.
input_image: What was normalized, with the same attributes.
output_image: The result of tf.LRN.)")),
      });
}

}  // namespace tandem
