// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DepthwiseBlocks: depthwise convolutions of many channels, some of them at a time.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_BLOCKS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_BLOCKS_H_

#include "kernels/convolution/convolution_depthwise.h"
#include "tandem/status.h"

namespace tandem::cpu {

// A convolution with one filter for each channel, by strips of rows and blocks of channels. What a strip sees of a
// block is copied to where its pixels are neighbours: in the image they are so far apart, often by a multiple of some
// powers of two, that few of them fit the first-level cache together. T is float or double.
template <typename T>
class DepthwiseBlocks {
 public:
  explicit DepthwiseBlocks(const DepthwiseProduct<T>& product);

  // Whether the product is such a convolution, and what is done to its outputs the tiles can do.
  static bool AreFor(const DepthwiseProduct<T>& product);

  // Fails only for want of memory.
  Status Run() const;

 private:
  class Task;

  // Elements from pixel to pixel of a copy: two of the widest vectors.
  static constexpr int64_t kBlockChannels = 128 / sizeof(T);

  int64_t num_taps() const { return product_.rows.count * product_.cols.count; }

  const DepthwiseProduct<T>& product_;
  const int64_t copied_cols_;
  int64_t rows_a_strip_;
  int64_t strips_an_image_;
  int64_t num_blocks_;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_BLOCKS_H_
