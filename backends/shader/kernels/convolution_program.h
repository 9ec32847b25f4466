// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The programs of convolutions.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_PROGRAM_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_PROGRAM_H_

#include <cstdint>

#include "kernels/product_epilogue.h"
#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/tensor_shape.h"
#include "tandem/window_geometry.h"

namespace tandem::shader {

// Where the elements of images are, in elements.
struct ImageLayout {
  int64_t batch;
  int64_t height;
  int64_t width;
  int64_t channels;
  int64_t batch_stride;
  int64_t row_stride;
  int64_t col_stride;
  int64_t channel_stride;

  ImageLayout(const TensorShape& shape, bool channels_first);
  int64_t pixels() const { return batch * height * width; }
};

struct Convolution {
  DType dtype;
  WindowGeometry windows;
  ImageLayout input;
  ImageLayout output;
  TensorShape filter;
  FusedEpilogue epilogue;
};

// Buffers: input, filter, those of the epilogue, output. Empty if the output is.
Launch ConvolutionProgram(const Convolution& convolution, const GpuLimits& limits);
// The gradient with regard to the input; buffers: the output's gradient, filter, the input's gradient.
Launch ConvolutionInputGradientProgram(const Convolution& convolution, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_PROGRAM_H_
