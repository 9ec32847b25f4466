// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the image family, a file each, and what they share.

#ifndef TANDEM_CORE_OPS_IMAGE_OPS_H_
#define TANDEM_CORE_OPS_IMAGE_OPS_H_

#include <array>
#include <string_view>

#include "tandem/metadata_function.h"
#include "tandem/op_registry.h"
#include "tandem/status.h"

namespace tandem {

// A height and a width of at least 1. InvalidArgument, calling the input `name`, if it is anything else.
StatusOr<std::array<int64_t, 2>> ReadImageSize(const HostInput& size, std::string_view name);

// InvalidArgument, calling them `name`, if they have not four dimensions, or no row or no column.
Status CheckImages(std::string_view name, const TensorMetadata& images);

Status RegisterImageGradientOps(OpRegistry& registry);  // ResizeBilinearGrad, ResizeNearestNeighborGrad
Status RegisterImageSampleOps(OpRegistry& registry);    // CropAndResize, ImageProjectiveTransformV3
Status RegisterBoxOps(OpRegistry& registry);            // NonMaxSuppressionV3, V4 and V5

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_IMAGE_OPS_H_
