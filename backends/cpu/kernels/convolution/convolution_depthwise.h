// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Depthwise convolutions: each channel by filters of its own.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_H_

#include <cstdint>

#include "gemm/gemm_kernels.h"
#include "kernels/convolution/convolution_finish.h"
#include "kernels/convolution/convolution_image.h"
#include "kernels/convolution/convolution_product.h"
#include "kernels/convolution/convolution_taps.h"
#include "tandem/status.h"
#include "tandem/work_queue.h"

namespace tandem::cpu {

// result = windows of source times filter[rows, cols, channels, multiplier]. Of source and result, one has `channels`
// channels and the other `multiplier` times as many: the result of a convolution has more, where each source channel is
// seen by several filters; and the source of its transpose has, where several are added up. `finish`, if not null, is
// called from several threads for each pixel of a convolution's result, anew where a pixel is computed anew.
template <typename S>
struct DepthwiseProduct {
  using T = GemmComputeType<S>;

  WorkQueue& queue;
  ElementConversion conversion;
  ImageLayout source;
  const S* source_data;
  ImageLayout result;
  S* result_data;
  TapAxis rows;
  TapAxis cols;
  int64_t filter_cols;
  const S* filter;
  const PixelFinish<T>* finish = nullptr;

  Status Run() const;
  // Of these outputs.
  Status RunPart(const TapAxis& row_part, const TapAxis& col_part) const;
  // In one go.
  Status RunWhole() const;
};

// filter[rows, cols, channels, multiplier] = the sum over all windows of source times gradient, dense.
template <typename S>
struct DepthwiseGradient {
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
  S* filter;

  Status Run() const;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_H_
