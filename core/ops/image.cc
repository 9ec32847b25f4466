// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinear, ResizeNearestNeighbor.

#include <array>
#include <string>
#include <string_view>

#include "image_ops.h"
#include "op_definition.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {

StatusOr<std::array<int64_t, 2>> ReadImageSize(const HostInput& size, std::string_view name) {
  if (size.metadata().rank() != 1 || size.size() != 2) {
    return InvalidArgument(name, " must be a vector of a height and a width, got ", name, ": ", size.metadata());
  }
  if (size.Int(0) < 1 || size.Int(1) < 1) {
    return InvalidArgument(name, " must have a height and a width of at least 1, got [", size.Int(0), ",", size.Int(1),
                           "]");
  }
  return std::array<int64_t, 2>{size.Int(0), size.Int(1)};
}

Status CheckImages(std::string_view name, const TensorMetadata& images) {
  if (images.rank() != 4) {
    return InvalidArgument(name, " must have four dimensions, got ", name, ": ", images);
  }
  if (images.dim(1) == 0 || images.dim(2) == 0) {
    return InvalidArgument(name, " must have at least one row and one column, got ", name, ": ", images);
  }
  return Status();
}

namespace {

StatusOr<TensorShape> ResizedShape(const TensorMetadata& images, const HostInput& size, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckImages("images", images));
  TANDEM_ASSIGN_OR_RETURN(const auto sizes, ReadImageSize(size, "size"));
  if (attrs.GetOr("align_corners", false) && attrs.GetOr("half_pixel_centers", false)) {
    return InvalidArgument("align_corners and half_pixel_centers must not both be true");
  }
  return TensorShape({images.dim(0), sizes[0], sizes[1], images.dim(3)});
}

StatusOr<TensorMetadata> ResizeBilinearMetadata(const TensorMetadata& images, HostInput size, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ResizedShape(images, size, attrs));
  return TensorMetadata(DType::kF32, shape);
}

StatusOr<TensorMetadata> ResizeNearestNeighborMetadata(const TensorMetadata& images, HostInput size,
                                                       const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ResizedShape(images, size, attrs));
  return TensorMetadata(images.dtype, shape);
}

TANDEM_DEFINES OpDefinition Resize(const char* name, const char* output, const char* doc) {
  return OpDefinition(name)
      .Input("images: T")
      .HostInput("size: int32")
      .Output(output)
      .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, bfloat16, float, double}")
      .Attr("align_corners: bool = false")
      .Attr("half_pixel_centers: bool = false")
      .Doc(std::string(doc) + R"(

Row y of the result is taken from the place y * scale among the rows of an image, in f32, where scale is height / new
height, or with align_corners (height - 1) / (new height - 1) if the new height is above 1. Columns likewise.

images: Of shape [batch, height, width, channels], with at least one row and one column.
size: The new height and the new width, each at least 1.
align_corners: The centres of the corner pixels stay where they are. Not together with half_pixel_centers.
half_pixel_centers: A pixel's centre is half a pixel from its edges, as in other image libraries.)");
}

}  // namespace

Status RegisterImageOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterImageGradientOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterImageSampleOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterBoxOps(registry));
  return RegisterOps(registry,
                     {
                         Resize("tf.ResizeBilinear", "resized_images: float",
                                TANDEM_DOC(R"(Resizes images, interpolating linearly between the four nearest pixels.

Computes in f32, and gives f32 for every dtype of images. With half_pixel_centers the place of row y is
(y + 0.5) * scale - 0.5; beyond the edges the pixels at the edge count. Infinities next to each other give NaN.)"))
                             .Metadata<&ResizeBilinearMetadata>(),
                         Resize("tf.ResizeNearestNeighbor", "resized_images: T",
                                TANDEM_DOC(R"(Resizes images, taking the nearest pixel.

The place of a row is rounded down, or with align_corners to the nearest row (halves away from 0). With
half_pixel_centers it is (y + 0.5) * scale.)"))
                             .Metadata<&ResizeNearestNeighborMetadata>(),
                     });
}

}  // namespace tandem
