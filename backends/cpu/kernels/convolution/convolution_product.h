// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Convolutions as products of matrices: WindowProduct, which gives images, and WindowGradient, which gives filters.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_PRODUCT_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_PRODUCT_H_

#include <cstdint>

#include "gemm/gemm_kernels.h"
#include "kernels/convolution/convolution_finish.h"
#include "kernels/convolution/convolution_image.h"
#include "kernels/convolution/convolution_taps.h"
#include "tandem/constant_buffer.h"
#include "tandem/status.h"
#include "tandem/work_queue.h"

namespace tandem::cpu {

// A filter [rows, cols, in, out] as a matrix from source channels to result channels, by groups.
template <typename S>
struct FilterView {
  const S* data;
  int64_t row_stride;  // from tap to tap
  int64_t col_stride;
  int64_t depth_stride;  // from source channel to source channel within a group
  int64_t width_stride;  // from result channel to result channel within a group
  int64_t group_stride;  // from group to group
  int64_t groups;
  int64_t depth;                   // source channels of a group
  int64_t width;                   // result channels of a group
  ConstantForms* forms = nullptr;  // if it is to be kept packed
};

// result = windows of source times filter. S is an element type of Gemm's with a computed type of float, double or
// uint32_t. `finish`, if not null, is called once for each pixel, from several threads. Fails only for want of memory.
template <typename S>
struct WindowProduct {
  using T = GemmComputeType<S>;

  WorkQueue& queue;
  ElementConversion conversion;
  ImageLayout source;
  const S* source_data;
  ImageLayout result;
  S* result_data;
  TapAxis rows;
  TapAxis cols;
  FilterView<S> filter;
  const PixelFinish<T>* finish = nullptr;

  Status Run() const;
  // The same for any number of outputs, at least one.
  Status RunByStrips() const;
};

// filter[rows, cols, in, out] = the sum over all windows of source times gradient, dense.
template <typename S>
struct WindowGradient {
  using T = GemmComputeType<S>;

  WorkQueue& queue;
  ElementConversion conversion;
  ImageLayout source;
  const S* source_data;
  ImageLayout gradient;
  const S* gradient_data;
  TapAxis rows;
  TapAxis cols;
  int64_t filter_rows;
  int64_t filter_cols;
  int64_t groups;
  S* filter;

  Status Run() const;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_PRODUCT_H_
