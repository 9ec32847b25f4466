// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/image_layout.h"

namespace tandem {

ImageLayout::ImageLayout(const TensorShape& shape, bool channels_first)
    : batch(shape.dim(0)),
      rows(shape.dim(channels_first ? 2 : 1)),
      cols(shape.dim(channels_first ? 3 : 2)),
      channels(shape.dim(channels_first ? 1 : 3)),
      batch_stride(rows * cols * channels),
      row_stride(channels_first ? cols : cols * channels),
      col_stride(channels_first ? 1 : channels),
      channel_stride(channels_first ? rows * cols : 1) {}

}  // namespace tandem
