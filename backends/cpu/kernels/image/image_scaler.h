// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What resizing and its gradients share: the sizes, and where pixels come from.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_SCALER_H_
#define TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_SCALER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/image/image_rows.h"
#include "tandem/op_attrs.h"
#include "tandem/tensor_shape.h"

namespace tandem::cpu {

struct Sizes {
  Sizes(const TensorShape& images, const TensorShape& resized)
      : batch(images.dim(0)),
        height(images.dim(1)),
        width(images.dim(2)),
        channels(images.dim(3)),
        new_height(resized.dim(1)),
        new_width(resized.dim(2)) {}
  int64_t batch, height, width, channels;
  int64_t new_height, new_width;
};

// Where the rows of a resized image, or its columns, lie in the image. In f32, step by step and without fused
// operations, since every device must come to the same pixels.
class Scaler {
 public:
  Scaler(const OpAttrsRef& attrs, int64_t size, int64_t new_size)
      : last_(size - 1),
        align_corners_(attrs.GetOr("align_corners", false)),
        half_pixel_centers_(attrs.GetOr("half_pixel_centers", false)) {
    const bool is_aligned = align_corners_ && new_size > 1;
    scale_ = is_aligned ? static_cast<float>(size - 1) / static_cast<float>(new_size - 1)
                        : static_cast<float>(size) / static_cast<float>(new_size);
  }

  // Rows are `stride` elements apart.
  Tap Interpolated(int64_t i, int64_t stride) const {
    float place = Scaled(i);
    if (half_pixel_centers_) place -= 0.5f;
    const float lower = std::floor(place);
    return {Clamp(lower) * stride, Clamp(std::ceil(place)) * stride, place - lower};
  }
  int64_t Nearest(int64_t i) const {
    const float place = Scaled(i);
    return Clamp(align_corners_ ? std::round(place) : std::floor(place));
  }

 private:
  float Scaled(int64_t i) const {
    const float place = static_cast<float>(i) + (half_pixel_centers_ ? 0.5f : 0.0f);
    return static_cast<float>(static_cast<double>(place) * static_cast<double>(scale_));
  }
  int64_t Clamp(float place) const { return std::clamp(static_cast<int64_t>(place), int64_t{0}, last_); }

  int64_t last_;
  bool align_corners_;
  bool half_pixel_centers_;
  float scale_;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_SCALER_H_
