// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What FusedBatchNormV3 and its gradient share: how the elements of channels are found, and in which blocks.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_BATCH_H_
#define TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_BATCH_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tandem/function_ref.h"
#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

// A tensor as `batch` groups of a plane for each channel, or as rows of channels; and where its channels end up when
// rows are taken together: row `i` of them has `cols` elements, whose channels repeat, and `rest` elements are left.
struct BatchNormLayout {
  BatchNormLayout(const TensorShape& x, std::string_view format) {
    const int last = x.rank() - 1;
    is_channels_last = format[1] != 'C';
    channels = x.dim(is_channels_last ? last : 1);
    batch = x.dim(0);
    size = x.num_elements();
    if (size == 0) return;
    plane = size / batch / channels;
    // Rows of few channels are taken several together.
    constexpr int64_t kMinCols = 64;
    repeats = std::max<int64_t>(kMinCols / channels, 1);
    cols = channels * repeats;
    rows = size / cols;
    rest = size - rows * cols;
  }

  // How many elements each channel has.
  int64_t PerChannel() const { return size == 0 ? 0 : size / channels; }

  bool is_channels_last;
  int64_t channels;
  int64_t batch;
  int64_t size;
  int64_t plane = 0;
  int64_t repeats = 0;
  int64_t cols = 0;
  int64_t rows = 0;
  int64_t rest = 0;
};

// The blocks that the rows of a tensor with the channels last are cut into, all but the last `rest` elements. Their
// sizes depend on the shape alone, so that the bits of results do not depend on the number of threads.
struct ColumnBlocks {
  struct Block {
    int64_t begin;  // first element; rows are BatchNormLayout::cols apart
    int64_t rows;
    int64_t cols;
    int64_t result;  // where its results belong: each row of blocks has a row of them
  };

  // Of at most `size` elements each.
  ColumnBlocks(const BatchNormLayout& layout, int64_t size)
      : layout(layout),
        tile(std::min(layout.cols, kMaxTile)),
        tiles((layout.cols + tile - 1) / tile),
        rows(size / tile),
        count((layout.rows + rows - 1) / rows) {}

  // Calls `fn` for each, from several threads; `cost`: nanoseconds an element.
  void ForEach(const KernelFrame& frame, double cost, FunctionRef<void(const Block&)> fn) const {
    frame.ParallelFor(count * tiles, cost * static_cast<double>(rows * tile), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / tiles * rows;
        const int64_t col = i % tiles * tile;
        fn({row * layout.cols + col, std::min(rows, layout.rows - row), std::min(tile, layout.cols - col),
            i / tiles * layout.cols + col});
      }
    });
  }

  static constexpr int64_t kMaxTile = 256;
  const BatchNormLayout& layout;
  int64_t tile;  // columns
  int64_t tiles;
  int64_t rows;
  int64_t count;  // of rows of blocks
};

// Kernels of FusedBatchNormV3 and FusedBatchNormGradV3.
Status RegisterBatchNormKernels(KernelOpHandler& handler);
Status RegisterBatchNormGradKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_BATCH_H_
