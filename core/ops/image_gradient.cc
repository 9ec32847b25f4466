// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinearGrad, ResizeNearestNeighborGrad.

#include "image_ops.h"
#include "op_definition.h"
#include "result_shape.h"

namespace tandem {
namespace {

Status CheckResizing(const OpAttrsRef& attrs) {
  if (!attrs.GetOr("align_corners", false) || !attrs.GetOr("half_pixel_centers", false)) return Status();
  return InvalidArgument("align_corners and half_pixel_centers must not both be true");
}

StatusOr<TensorMetadata> BilinearGradMetadata(const TensorMetadata& grads, const TensorMetadata& original_image,
                                              const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckImages("grads", grads));
  TANDEM_RETURN_IF_ERROR(CheckImages("original_image", original_image));
  if (grads.dim(0) != original_image.dim(0) || grads.dim(3) != original_image.dim(3)) {
    return InvalidArgument("grads and original_image must have the same batch and channels, got grads: ", grads,
                           ", original_image: ", original_image);
  }
  TANDEM_RETURN_IF_ERROR(CheckResizing(attrs));
  return original_image;
}

StatusOr<TensorMetadata> NearestGradMetadata(const TensorMetadata& grads, HostInput size, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckImages("grads", grads));
  TANDEM_ASSIGN_OR_RETURN(const auto sizes, ReadImageSize(size, "size"));
  TANDEM_RETURN_IF_ERROR(CheckResizing(attrs));
  const TensorShape shape = {grads.dim(0), sizes[0], sizes[1], grads.dim(3)};
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "grads: ", grads));
  return TensorMetadata(grads.dtype, shape);
}

}  // namespace

Status RegisterImageGradientOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   OpDefinition("tf.ResizeBilinearGrad")
                                       .Input("grads: float")
                                       .Input("original_image: T")
                                       .Output("output: T")
                                       .Attr("T: {float, half, bfloat16, double}")
                                       .Attr("align_corners: bool = false")
                                       .Attr("half_pixel_centers: bool = false")
                                       .Metadata<&BilinearGradMetadata>()
                                       .Doc(TANDEM_DOC(R"(Gradient of tf.ResizeBilinear.

Each pixel of grads gives its gradient to the pixels that it was made of, in proportion to their weights. Computed in
f32, row by row.

grads: The gradient with regard to the resized images.
original_image: What was resized, of which only dtype and shape are taken.
align_corners: As it was for tf.ResizeBilinear, like half_pixel_centers.)")),
                                   OpDefinition("tf.ResizeNearestNeighborGrad")
                                       .Input("grads: T")
                                       .HostInput("size: int32")
                                       .Output("output: T")
                                       .Attr("T: {uint8, int8, int32, half, bfloat16, float, double}")
                                       .Attr("align_corners: bool = false")
                                       .Attr("half_pixel_centers: bool = false")
                                       .Metadata<&NearestGradMetadata>()
                                       .Doc(TANDEM_DOC(R"(Gradient of tf.ResizeNearestNeighbor.

Each pixel gets the sum of the gradients of those that it was copied to. f16 and bf16 are summed in f32; integers wrap
around.

grads: The gradient with regard to the resized images.
size: The height and the width of what was resized, each at least 1.
align_corners: As it was for tf.ResizeNearestNeighbor, like half_pixel_centers.)")),
                               });
}

}  // namespace tandem
