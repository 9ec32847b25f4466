// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of normalizations: moments, and what is done with them.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_ROWS_H_

#include <cstdint>

namespace tandem::cpu {

// T is float or double. In every function `y` may be `x`; otherwise nothing overlaps.
template <typename T>
struct NormalizationRows {
  // The mean of `n` numbers, at least one, and the sum of the squares of their differences from it. Meant for numbers
  // that are few enough to stay in the cache.
  void (*moments)(const T* x, int64_t n, T* mean, T* squares);
  // The same for each of `cols` columns of `rows` rows, which begin `stride` numbers apart.
  void (*column_moments)(const T* x, int64_t rows, int64_t stride, int64_t cols, T* means, T* squares);
  // y[i] = (x[i] - mean) * factor + offset.
  void (*scale)(const T* x, int64_t n, T mean, T factor, T offset, T* y);
  // y[i] = (x[i] - means[i]) * factors[i] + offsets[i], of each row of `cols` contiguous numbers.
  void (*scale_columns)(const T* x, int64_t rows, int64_t cols, const T* means, const T* factors, const T* offsets,
                        T* y);
  // y[i] = (x[i] - mean) * factor * scales[i] + offsets[i].
  void (*scale_elements)(const T* x, int64_t n, T mean, T factor, const T* scales, const T* offsets, T* y);

  // For gradients: the sums of dy[i] and of dy[i] * (x[i] - mean), for `n` numbers; for each of `cols` columns of rows.
  void (*products)(const T* x, const T* dy, int64_t n, T mean, T* sum, T* product);
  void (*column_products)(const T* x, const T* dy, int64_t rows, int64_t stride, int64_t cols, const T* means, T* sums,
                          T* products);
  // Adds dy[i] * (x[i] - mean) * factor to products[i] and dy[i] to sums[i]; scaled[i] = dy[i] * scales[i].
  void (*add_products)(const T* x, const T* dy, const T* scales, int64_t n, T mean, T factor, T* products, T* sums,
                       T* scaled);
  // y[i] = dy[i] * factor + (x[i] - mean) * slope + offset; `y` may be `dy` as well.
  void (*combine)(const T* x, const T* dy, int64_t n, T mean, T factor, T slope, T offset, T* y);
  void (*combine_columns)(const T* x, const T* dy, int64_t rows, int64_t cols, const T* means, const T* factors,
                          const T* slopes, const T* offsets, T* y);
};

// For the best instruction set of this machine. T: float, double.
template <typename T>
const NormalizationRows<T>& FindNormalizationRows();

namespace exact {
template <typename T>
const NormalizationRows<T>& FindNormalizationRows();
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_ROWS_H_
