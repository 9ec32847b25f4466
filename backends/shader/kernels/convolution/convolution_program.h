// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The programs of convolutions.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_CONVOLUTION_PROGRAM_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_CONVOLUTION_PROGRAM_H_

#include <cstdint>
#include <optional>

#include "kernels/linalg/product.h"
#include "kernels/linalg/product_epilogue.h"
#include "tandem/dtype.h"
#include "tandem/image_layout.h"
#include "tandem/shader/launch.h"
#include "tandem/tensor_shape.h"
#include "tandem/window_geometry.h"

namespace tandem::shader {

struct Convolution {
  DType dtype;
  WindowGeometry windows;
  ImageLayout input;
  ImageLayout output;
  TensorShape filter;
  FusedEpilogue epilogue;
};

// The product that a convolution, or its gradient with regard to the input, is if its windows have one pixel and its
// epilogue knows no groups: of all pixels of images with the channels last, else of those of each image. Operands as
// the programs below have them.
std::optional<MatrixProduct> PixelProductOf(const Convolution& convolution, bool gradient);

// Buffers: input, filter, those of the epilogue, output. Empty if the output is.
Launch ConvolutionProgram(const Convolution& convolution, const GpuLimits& limits);
// The gradient with regard to the input; buffers: the output's gradient, filter, the input's gradient.
Launch ConvolutionInputGradientProgram(const Convolution& convolution, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_CONVOLUTION_CONVOLUTION_PROGRAM_H_
