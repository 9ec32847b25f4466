// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The inner loops of depthwise convolutions, with the vectors along the channels, compiled for several instruction
// sets.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_TILES_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_TILES_H_

#include <cstdint>
#include <type_traits>

#include "kernels/convolution/convolution_finish.h"
#include "kernels/convolution/convolution_taps.h"

namespace tandem::cpu {

// Pixels with `channels` elements each: outputs, and through each tap what they see.
template <typename T>
struct DepthwiseBlock {
  const T* const* pixels;  // for each output, what it sees through a tap with offset 0
  int64_t num_pixels;
  const int64_t* offsets;  // of the taps
  int64_t num_taps;
  int64_t channels;
  int64_t out_stride;  // from output to output: `channels`, or more
  // If not 0: the pixels are rows of so many, `pixel_step` elements from one to the next, and the taps are three rows
  // of three, `tap_step` from one to the next. Then what neighbours see is loaded once.
  int64_t row_pixels;
  int64_t pixel_step;
  int64_t tap_step;
  BiasAndLimits<T> limits;  // of the outputs, if DepthwiseTiles::finishes

  // For pixels that are `pixel_size` elements from their neighbours.
  void SetRows(const TapAxis& rows, const TapAxis& cols, int64_t pixel_size) {
    row_pixels = rows.count == 3 && cols.count == 3 ? cols.outputs : 0;
    pixel_step = cols.stride * pixel_size;
    tap_step = cols.step * pixel_size;
  }
};

// A dense row of outputs of 3 x 3 taps that are neighbours.
template <typename T>
struct DepthwiseRow {
  const T* source_rows[3];  // what the taps see of the image, from its first column on; null for a row outside of it
  int64_t source_cols;
  int64_t first_col;  // what the first output sees first; columns outside of the image are zeros
  int64_t stride;     // 1 or 2
  int64_t channels;
  int64_t num_pixels;  // outputs, at least kMinPixels
  const T* zeros;      // a pixel
  BiasAndLimits<T> limits;

  static constexpr int64_t kMinPixels = 4;
};

// Whether there is convolve_row, and who calls it; where code is to be small, for f32 alone.
#ifdef TANDEM_SMALL
template <typename T>
inline constexpr bool kHasDepthwiseRows = std::is_same_v<T, float>;
#else
template <typename T>
inline constexpr bool kHasDepthwiseRows = std::is_floating_point_v<T>;
#endif

template <typename T>
struct DepthwiseTiles {
  bool finishes;  // whether `convolve` and `convolve_row` heed limits
  // out[pixel, c] = the sum over the taps of pixels[pixel][offset + c] * filter[tap, c].
  void (*convolve)(const DepthwiseBlock<T>& block, const T* filter, T* out);
  // The same of a dense row, with products added up in the same order; null where `convolve` is all there is.
  void (*convolve_row)(const DepthwiseRow<T>& row, const T* filter, T* out);
  // to[pixel * to_stride + c] = from[pixel * from_stride + c] for c < channels.
  void (*copy)(const T* from, int64_t from_stride, int64_t num_pixels, int64_t channels, T* to, int64_t to_stride);
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
