// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shaders that resize images.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_IMAGE_RESIZE_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_IMAGE_RESIZE_H_

#include <vector>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor.h"

namespace tandem::shader {

struct ResizeKind {
  bool align_corners = false;
  bool half_pixel_centers = false;
};

// The dtypes that ResizeBilinearProgram reads.
inline constexpr DTypeSet kBilinearDTypes = {DType::kU8,  DType::kI8,  DType::kU16,  DType::kI16,
                                             DType::kI32, DType::kF16, DType::kBF16, DType::kF32};
// And those that it reads on devices that have all dtypes.
inline constexpr DTypeSet kWideBilinearDTypes = {DType::kI64, DType::kF64};

// Of the images and the result, both with at least one row and one column.
Launch ResizeBilinearProgram(const TensorMetadata& images, const TensorShape& result, ResizeKind kind,
                             const GpuLimits& limits);
Launch ResizeNearestProgram(const TensorMetadata& images, const TensorShape& result, ResizeKind kind,
                            const GpuLimits& limits);

// Of the gradient with regard to the resized images, in f32 for the first one, and the result.
Launch ResizeBilinearGradProgram(const TensorShape& resized, const TensorMetadata& result, ResizeKind kind,
                                 const GpuLimits& limits);
Launch ResizeNearestGradProgram(const TensorShape& resized, const TensorMetadata& result, ResizeKind kind,
                                const GpuLimits& limits);

// Of the images, four numbers of f32 for each box, the numbers of their images as words, and the result of f32.
Launch CropAndResizeProgram(const TensorMetadata& images, const TensorShape& result, bool is_nearest, float outside,
                            const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> ResizeVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_IMAGE_RESIZE_H_
