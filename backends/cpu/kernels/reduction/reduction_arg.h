// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of ArgMax and ArgMin: for each dtype, functions that search rows of elements.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_ARG_H_
#define TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_ARG_H_

#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::cpu {

// How to find the best elements of one dtype along rows. The best is the first NaN, if there is one, else the first of
// the largest, or of the smallest, elements. Element `col` of row `row` is data[row * stride + col].
struct ArgRows {
  static constexpr int64_t kMaxCols = 256;

  // For each of `cols` columns, at most kMaxCols, the row of its best element, plus `first_row`. There is at least one
  // row.
  void (*find)(const void* data, int64_t rows, int64_t stride, int64_t cols, int64_t first_row,
               int64_t* best) = nullptr;
  // `best` holds `count` rows of candidates: for each column rows that ascend. Leaves the best ones in its first row.
  void (*merge)(const void* data, int64_t stride, int64_t cols, int64_t count, int64_t* best) = nullptr;
};

// For real dtypes and bool, and the best instruction set of this machine.
ArgRows FindArgRows(DType dtype, bool smallest);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_ARG_H_
