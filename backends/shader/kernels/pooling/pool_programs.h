// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shaders of pooling and of its gradients.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_POOLING_POOL_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_POOLING_POOL_PROGRAMS_H_

#include <cstdint>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/op_attrs.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/status.h"
#include "tandem/window_geometry.h"

namespace tandem::shader {

// Windows on images whose channels, if they come first, count as images of one channel.
struct PoolPlan {
  int64_t images = 0;
  int64_t channels = 1;
  WindowAxis rows;
  WindowAxis cols;

  int64_t num_elements() const { return images * rows.input * cols.input * channels; }
  int64_t num_windows() const { return images * rows.output * cols.output * channels; }
};

// ResourceExhausted for windows and strides beyond what shaders compute with.
StatusOr<PoolPlan> MakePoolPlan(const OpAttrsRef& attrs, const TensorShape& image);

// Of the images and the result.
Launch MaxPoolProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits);
Launch AvgPoolProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits);
// Of the images, the result of pooling, and a word for each window.
Launch MaxPoolPlacesProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits);
// Of the gradient, these words, and the result.
Launch MaxPoolGradProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits);
// Of the gradient and the result.
Launch AvgPoolGradProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> PoolVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_POOLING_POOL_PROGRAMS_H_
