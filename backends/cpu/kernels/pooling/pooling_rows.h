// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of pooling.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/elementwise/elementwise_blocks.h"
#include "tandem/dtype.h"
#include "tandem/window_geometry.h"

namespace tandem::cpu {

// Images as rows of pixels of `channels` contiguous elements; with the channels first, each is an image of its own.
struct PoolPlan {
  PoolPlan(const TensorShape& image, const WindowGeometry& geometry, bool channels_first)
      : images(channels_first ? image.dim(0) * image.dim(1) : image.dim(0)),
        channels(channels_first ? 1 : image.dim(3)),
        rows(Trimmed(geometry.rows)),
        cols(Trimmed(geometry.cols)) {}

  int64_t InputRowSize() const { return cols.input * channels; }
  int64_t OutputRowSize() const { return cols.output * channels; }
  // The columns that windows reach, from those before the image to those behind it.
  int64_t ReachedCols() const { return (cols.output - 1) * cols.stride + cols.window; }

  int64_t images;
  int64_t channels;
  WindowAxis rows;
  WindowAxis cols;

 private:
  // The same windows without what none of them finds in the image: at most three times as many columns as it has.
  static WindowAxis Trimmed(WindowAxis axis) {
    if (axis.output == 0) return axis;
    const int64_t excess = axis.pad_before - std::min(axis.pad_before, (axis.output - 1) * axis.stride);
    axis.pad_before -= excess;
    axis.window = std::min(axis.window - excess, axis.input + axis.pad_before);
    return axis;
  }
};

// A window's elements within the image: [begin, end).
struct WindowRange {
  WindowRange(const WindowAxis& axis, int64_t output)
      : begin(output * axis.stride - axis.pad_before), end(begin + axis.window) {
    if (begin < 0) begin = 0;
    if (end > axis.input) end = axis.input;
  }
  int64_t size() const { return end - begin; }

  int64_t begin;
  int64_t end;
};

// Pools images of one dtype.
struct PoolRows {
  // Computes the rows [begin, end) of the results of all images from the images at `x`; `buffer` has scratch_size(plan)
  // bytes and belongs to this call.
  void (*rows)(const PoolPlan& plan, const void* x, int64_t begin, int64_t end, Row narrow, void* buffer,
               void* out) = nullptr;
  int64_t (*scratch_size)(const PoolPlan& plan) = nullptr;
};

// For the best instruction set of this machine; empty functions if pooling is not defined for the dtype. For f16 and
// bf16 `narrow` is the conversion from f32, else it is not used.
PoolRows FindMaxPoolRows(DType dtype);
PoolRows FindAvgPoolRows(DType dtype);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_ROWS_H_
