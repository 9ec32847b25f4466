// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LibraryConvolution: a convolution of images that a library of the device may compute in place of a shader.

#ifndef TANDEM_SHADER_LIBRARY_CONVOLUTION_H_
#define TANDEM_SHADER_LIBRARY_CONVOLUTION_H_

#include <array>
#include <cstdint>

#include "tandem/dtype.h"
#include "tandem/window_geometry.h"

namespace tandem::shader {

// Its buffers, of which the last one is written:
//   kForward          input, filter, the bias if there is one; output
//   kInputGradient    output's gradient, filter; input's gradient
//   kFilterGradient   input, output's gradient; filter's gradient
struct LibraryConvolution {
  enum class Kind : uint8_t { kForward, kInputGradient, kFilterGradient };
  // One dimension of the windows, as WindowAxis has it.
  struct Axis {
    Axis() = default;
    explicit Axis(const WindowAxis& axis)
        : input(axis.input),
          window(axis.window),
          stride(axis.stride),
          dilation(axis.dilation),
          pad_before(axis.pad_before),
          output(axis.output) {}
    int64_t input = 1;
    int64_t window = 1;
    int64_t stride = 1;
    int64_t dilation = 1;
    int64_t pad_before = 0;
    int64_t output = 1;
    friend bool operator==(const Axis&, const Axis&) = default;
  };

  Kind kind = Kind::kForward;
  DType dtype = DType::kF32;  // f32, f16, bf16 or f64
  bool channels_first = false;
  bool has_bias = false;
  bool has_relu = false;
  int64_t batch = 1;
  int64_t channels = 1;  // of the input
  int64_t out_channels = 1;
  // The channels are in so many groups; a filter is [rows, cols, channels / groups, out_channels].
  int64_t groups = 1;
  Axis rows;
  Axis cols;

  friend bool operator==(const LibraryConvolution&, const LibraryConvolution&) = default;
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_LIBRARY_CONVOLUTION_H_
