// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The inner loops of depthwise convolutions, with the vectors along the channels, compiled for several instruction
// sets.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_TILES_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_TILES_H_

#include <cstdint>

#include "kernels/convolution/convolution_finish.h"

namespace tandem::cpu {

// Pixels with `channels` elements each: outputs, and through each tap what they see.
template <typename T>
struct DepthwiseBlock {
  const T* const* pixels;  // for each output, what it sees through a tap with offset 0
  int64_t num_pixels;
  const int64_t* offsets;  // of the taps
  int64_t num_taps;
  int64_t channels;
  int64_t out_stride;       // from output to output: `channels`, or more
  BiasAndLimits<T> limits;  // of the outputs, if DepthwiseTiles::finishes
};

template <typename T>
struct DepthwiseTiles {
  bool finishes;  // whether `convolve` heeds limits
  // out[pixel, c] = the sum over the taps of pixels[pixel][offset + c] * filter[tap, c].
  void (*convolve)(const DepthwiseBlock<T>& block, const T* filter, T* out);
  // filter[tap, c] = or += the sum over the pixels of pixels[pixel][offset + c] * gradient[pixel, c].
  void (*sum_windows)(const DepthwiseBlock<T>& block, const T* gradient, bool accumulate, T* filter);
};

// For the best instruction set of this processor; float and double.
template <typename T>
const DepthwiseTiles<T>& GetDepthwiseTiles();

namespace exact {
template <typename T>
const DepthwiseTiles<T>& GetDepthwiseTiles();
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_TILES_H_
