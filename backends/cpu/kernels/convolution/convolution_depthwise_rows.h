// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DepthwiseRows: depthwise convolutions whose source is read where it lies, row by row.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_ROWS_H_

#include "kernels/convolution/convolution_depthwise.h"
#include "tandem/status.h"

namespace tandem::cpu {

// A convolution with one filter of 3 x 3 elements for each channel, row after row of outputs, from the image itself: of
// so few taps, copies of what they see, as DepthwiseBlocks makes, take longer than they save. T is float or double.
template <typename T>
class DepthwiseRows {
 public:
  explicit DepthwiseRows(const DepthwiseProduct<T>& product) : product_(product) {}

  // Whether the product is such a convolution, and what is done to its outputs the tiles can do.
  static bool AreFor(const DepthwiseProduct<T>& product);

  // Fails only for want of memory.
  Status Run() const;

 private:
  void Compute(int64_t index, const T* zeros) const;

  const DepthwiseProduct<T>& product_;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_DEPTHWISE_ROWS_H_
