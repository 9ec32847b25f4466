// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The programs of gradients of convolutions with regard to the filter.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_FILTER_GRADIENT_PROGRAM_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_FILTER_GRADIENT_PROGRAM_H_

#include <cstdint>

#include "kernels/convolution/convolution_program.h"
#include "tandem/shader/launch.h"

namespace tandem::shader {

struct FilterGradient {
  int64_t slices = 1;
  // Buffers: input, the output's gradient, and the filter's, or, with more than one slice, f32 for each element of each
  // slice.
  Launch gradient;
  // Buffers: those numbers, the filter's gradient. Empty with one slice.
  Launch sum;
};

// A depthwise convolution is one in groups of one channel: of its filter [rows, columns, channels, multiplier] the
// shape is to be [rows, columns, 1, channels * multiplier].
FilterGradient FilterGradientProgram(const Convolution& convolution, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_FILTER_GRADIENT_PROGRAM_H_
