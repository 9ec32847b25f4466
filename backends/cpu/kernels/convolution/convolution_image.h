// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Images as convolutions read and write them: any layout and dtype outside, channels last and the computed type inside.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_IMAGE_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_IMAGE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/elementwise_blocks.h"
#include "kernels/task_memory.h"
#include "tandem/image_layout.h"
#include "tandem/tensor_shape.h"

namespace tandem::cpu {

// Elements of S, which are computed with as T: S itself, unsigned integers of its size, or f32 for the 16-bit floats,
// for which `widen` and `narrow` convert.
struct ElementConversion {
  Row widen = nullptr;
  Row narrow = nullptr;
};

// Rows [row, row + num_rows) and columns [col, col + num_cols) of image `n`, which may lie outside of it, where there
// are zeros: dense, channels last, each channel `repeat` times. `room` has num_cols * channels elements, used if
// the layout or the elements differ.
template <typename T>
void LoadImage(const ImageLayout& layout, const void* data, ElementConversion conversion, int64_t n, int64_t row,
               int64_t num_rows, int64_t col, int64_t num_cols, int64_t repeat, T* room, T* to);

// The inverse: writes a row of `num_cols` pixels, dense and with channels last, to row `row` of image `n` at the
// columns `col`, `col` + col_step, ... `room` as above.
template <typename T>
void StoreImageRow(const ImageLayout& layout, void* data, ElementConversion conversion, int64_t n, int64_t row,
                   int64_t col, int64_t col_step, int64_t num_cols, T* room, const T* from);

// `count` dense elements from data[at] on, and to there.
template <typename T>
void LoadElements(ElementConversion conversion, const void* data, int64_t at, int64_t count, T* to);
template <typename T>
void StoreElements(ElementConversion conversion, const T* from, int64_t count, void* data, int64_t at);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_IMAGE_H_
