// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CropAndResize, ImageProjectiveTransformV3.

#include "image_ops.h"
#include "op_definition.h"
#include "result_shape.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> CropAndResizeMetadata(const TensorMetadata& image, const TensorMetadata& boxes,
                                               const TensorMetadata& box_ind, HostInput crop_size) {
  TANDEM_RETURN_IF_ERROR(CheckImages("image", image));
  if (boxes.rank() != 2 || boxes.dim(1) != 4 || box_ind.rank() != 1 || box_ind.dim(0) != boxes.dim(0)) {
    return InvalidArgument("boxes must have shape [n,4] and box_ind [n], got boxes: ", boxes, ", box_ind: ", box_ind);
  }
  TANDEM_ASSIGN_OR_RETURN(const auto size, ReadImageSize(crop_size, "crop_size"));
  const TensorShape shape = {boxes.dim(0), size[0], size[1], image.dim(3)};
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "image: ", image, ", boxes: ", boxes));
  return TensorMetadata(DType::kF32, shape);
}

StatusOr<TensorMetadata> TransformMetadata(const TensorMetadata& images, const TensorMetadata& transforms,
                                           HostInput output_shape, const TensorMetadata& fill_value) {
  TANDEM_RETURN_IF_ERROR(CheckImages("images", images));
  if (transforms.rank() != 2 || transforms.dim(1) != 8 ||
      (transforms.dim(0) != 1 && transforms.dim(0) != images.dim(0))) {
    return InvalidArgument("transforms must have shape [1,8] or [batch,8], got images: ", images,
                           ", transforms: ", transforms);
  }
  TANDEM_ASSIGN_OR_RETURN(const auto size, ReadImageSize(output_shape, "output_shape"));
  if (fill_value.rank() != 0) {
    return InvalidArgument("fill_value must be a scalar, got fill_value: ", fill_value);
  }
  const TensorShape shape = {images.dim(0), size[0], size[1], images.dim(3)};
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "images: ", images));
  return TensorMetadata(images.dtype, shape);
}

}  // namespace

Status RegisterImageSampleOps(OpRegistry& registry) {
  return RegisterOps(registry,
                     {
                         OpDefinition("tf.CropAndResize")
                             .Input("image: T")
                             .Input("boxes: float")
                             .Input("box_ind: int32")
                             .HostInput("crop_size: int32")
                             .Output("crops: float")
                             .Attr("T: {uint8, uint16, int8, int16, int32, int64, half, bfloat16, float, double}")
                             .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
                             .Attr("extrapolation_value: float = 0.0")
                             .Metadata<&CropAndResizeMetadata>()
                             .Doc(TANDEM_DOC(R"(Cuts boxes out of images and resizes each to the same size.

Row i of a crop is taken from y1 * (height - 1) + i * (y2 - y1) * (height - 1) / (crop height - 1), in f32, or from the
middle of the box if the crop has one row; columns likewise. Computes in f32.

image: Images, [batch, height, width, channels], with at least one row and one column.
boxes: Of shape [n, 4]: y1, x1, y2, x2 of each, as fractions of the image's height - 1 and width - 1. A box with y1 > y2
  is turned upside down, and may lie beyond the image.
box_ind: Of shape [n]: the number of the image that each box is cut out of; an error names the first that is none.
crop_size: The height and the width of the crops, each at least 1.
method: 'bilinear': linearly between the four nearest pixels; 'nearest': the nearest one (halves away from 0).
extrapolation_value: What is beyond the image.)")),
                         OpDefinition("tf.ImageProjectiveTransformV3")
                             .Input("images: dtype")
                             .Input("transforms: float")
                             .HostInput("output_shape: int32")
                             .Input("fill_value: float")
                             .Output("transformed_images: dtype")
                             .Attr("dtype: {uint8, int32, int64, half, bfloat16, float, double}")
                             .Attr("interpolation: {'NEAREST', 'BILINEAR'}")
                             .Attr("fill_mode: {'REFLECT', 'WRAP', 'CONSTANT', 'NEAREST'} = 'CONSTANT'")
                             .Metadata<&TransformMetadata>()
                             .Doc(TANDEM_DOC(R"(Transforms images by a projection of the plane.

With [a0, a1, a2, b0, b1, b2, c0, c1] the pixel in column x and row y of the result is taken from column
(a0 x + a1 y + a2) / k and row (b0 x + b1 y + b2) / k, where k = c0 x + c1 y + 1, in f32; it is fill_value where k is 0.

images: Images, [batch, height, width, channels], with at least one row and one column.
transforms: Of shape [batch, 8], or [1, 8] for all images.
output_shape: The height and the width of the results, each at least 1.
fill_value: A scalar: what is beyond the images where fill_mode is 'CONSTANT'.
interpolation: 'NEAREST': the nearest pixel (halves away from 0); 'BILINEAR': linearly between four, in f32; integers
  drop the fraction.
fill_mode: What is beyond the images: 'REFLECT': (d c b a | a b c d | d c b a); 'WRAP': (a b c d | a b c d | a b c d);
  'CONSTANT': fill_value; 'NEAREST': (a a a a | a b c d | d d d d).)")),
                     });
}

}  // namespace tandem
