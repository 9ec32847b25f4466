// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LayerNorm and its gradient, a row at a time; what FusedBatchNormV3 and its gradient do besides reductions.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_NORMALIZATION_NORMALIZATION_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_NORMALIZATION_NORMALIZATION_PROGRAMS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/tensor_shape.h"

namespace tandem::shader {

// Buffers x, scale, bias, y.
Launch LayerNormProgram(DType dtype, uint64_t rows, uint64_t cols, float epsilon, const GpuLimits& limits);
// Buffers dy, x, scale; then stats, four f32 for each row (its mean, what rounding took from that, the factor that its
// elements are normalized with, 0), and y, the gradient of x.
Launch LayerNormGradProgram(DType dtype, uint64_t rows, uint64_t cols, float epsilon, const GpuLimits& limits);

// A tensor of channels, as `outer` matrices whose columns, or if these are single whose rows together, are channels.
struct ChannelLayout {
  ChannelLayout(const TensorShape& x, std::string_view data_format);

  uint64_t Size() const { return outer * rows * cols; }
  // Elements of each channel.
  uint64_t PerChannel() const { return Size() == 0 ? 0 : Size() / channels; }

  bool is_channels_last;
  uint64_t channels;
  uint64_t outer;
  uint64_t rows;
  uint64_t cols;
};

// Buffers x, scale, offset, mean, variance; then `zero`, a single f32 that becomes 0, and y. Never empty.
Launch BatchNormProgram(DType dtype, const ChannelLayout& layout, float epsilon, const GpuLimits& limits);
// Running statistics of a step of training, in which each channel had `count` elements; they get the part `update` of
// the new ones. Buffers mean, variance, unless `update` is 1 old_mean and old_variance; then the running ones.
Launch BatchNormStatisticsProgram(uint64_t channels, uint64_t count, float update, const GpuLimits& limits);
// The gradient of the scale. Buffers: sums of the products of gradients with differences from the mean, variance; y.
Launch BatchNormScaleGradProgram(uint64_t channels, float epsilon, const GpuLimits& limits);
// Buffers dy, x, scale, mean, variance, the sums of products as above, the gradient of the offset; y, that of x.
Launch BatchNormGradProgram(DType dtype, const ChannelLayout& layout, float epsilon, bool is_training,
                            const GpuLimits& limits);

// One variant of each kind of shader, for tests that compile them.
std::vector<ShaderVariant> NormalizationVariants(const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_NORMALIZATION_NORMALIZATION_PROGRAMS_H_
