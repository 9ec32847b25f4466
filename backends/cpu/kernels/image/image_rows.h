// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of bilinear resizing.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_ROWS_H_

#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::cpu {

// Where a row or a column of the result comes from: lower + (upper - lower) * lerp.
struct Tap {
  int64_t lower;
  int64_t upper;
  float lerp;
};

struct BilinearRows {
  // Resamples one row: for each of `count` taps, whose places are numbers of elements of `row`, a pixel of `channels`
  // elements.
  void (*columns)(const void* row, const Tap* taps, int64_t count, int64_t channels, float* out) = nullptr;
  // `n` elements of a pixel from those of four.
  void (*channels)(const void* const corners[4], int64_t n, float x_lerp, float y_lerp, float* out) = nullptr;
  // out[i] = top[i] + (bottom[i] - top[i]) * lerp.
  void (*rows)(const float* top, const float* bottom, int64_t n, float lerp, float* out) = nullptr;
};

// For the best instruction set of this machine; empty functions if the dtype is none that images may have.
BilinearRows FindBilinearRows(DType dtype);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_ROWS_H_
