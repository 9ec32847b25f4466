// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ImageLayout: where the elements of a batch of images lie, for the kernels of every device.

#ifndef TANDEM_IMAGE_LAYOUT_H_
#define TANDEM_IMAGE_LAYOUT_H_

#include <cstdint>

#include "tandem/export.h"
#include "tandem/tensor_shape.h"

namespace tandem {

// Of a dense tensor of four dimensions; strides count elements.
struct TANDEM_EXPORT ImageLayout {
  int64_t batch, rows, cols, channels;
  int64_t batch_stride, row_stride, col_stride, channel_stride;

  // NCHW if `channels_first`, else NHWC.
  ImageLayout(const TensorShape& shape, bool channels_first);
  // Of all images.
  int64_t pixels() const { return batch * rows * cols; }
  // Whether a row is its pixels one after the other, each with its channels.
  bool HasPackedPixels() const { return channels == 1 ? col_stride == 1 : channel_stride == 1; }
};

}  // namespace tandem

#endif  // TANDEM_IMAGE_LAYOUT_H_
