// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The programs of depthwise convolutions, whose filter's last dimension is the number of outputs for each channel.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_DEPTHWISE_PROGRAM_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_DEPTHWISE_PROGRAM_H_

#include "kernels/convolution/convolution_program.h"
#include "tandem/shader/launch.h"

namespace tandem::shader {

// Buffers: input, filter, what the epilogue reads, output. Empty if the output is.
Launch DepthwiseProgram(const Convolution& convolution, const GpuLimits& limits);
// The gradient with regard to the input; buffers: the output's gradient, filter, the input's gradient.
Launch DepthwiseInputGradientProgram(const Convolution& convolution, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_DEPTHWISE_PROGRAM_H_
