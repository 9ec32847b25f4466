// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RelaxedProduct: a part of a product of f32 matrices for code outside of this program, which multiplies and adds in
// one instruction. WebAssembly has that as relaxed SIMD, but a module that contains it is refused by engines without.

#ifndef TANDEM_BACKENDS_CPU_GEMM_RELAXED_PRODUCT_H_
#define TANDEM_BACKENDS_CPU_GEMM_RELAXED_PRODUCT_H_

#include <cstdint>

namespace tandem::cpu {

// C[rows, cols] = or += A[rows, depth] * B[depth, cols]. Strides count elements. All memory is the caller's, and is
// not used after the call; what is only read may overlap, C may not. Its layout is an interface between modules.
struct RelaxedProduct {
  static constexpr uint32_t kPanelRows = 4;
  static constexpr uint32_t kPanelCols = 8;
  // So many rows of A stay in the first-level cache with a panel of B.
  static constexpr uint32_t kRowsATime = 4 * kPanelRows;

  const float* a;  // panels of kPanelRows rows, each `depth` times a column of so many; anything behind the last row
  const float* b;  // panels of kPanelCols columns, each `depth` times a row of so many; anything behind the last column
  float* c;
  uint32_t rows;
  uint32_t cols;
  uint32_t depth;
  uint32_t b_panel_stride;
  uint32_t ldc;
  uint32_t accumulate;  // 0: no
  // If not null, one for each column: what comes out is c + bias (+ added), but `low` where that is not more than
  // `low`, and `high` where it is more than `high`; NaN stays NaN.
  const float* bias;
  const float* added;  // null, or laid out as C is; not without a bias
  float low;
  float high;
};

// Computes the product on the thread that calls it. Thread-safe.
using RelaxedMultiplier = void (*)(const RelaxedProduct& product);

// Has kernels for WebAssembly that need not be exact use it in the whole process; null: none. To be called before the
// first kernel runs, and always with the same one, since results have other last bits with it.
void SetRelaxedMultiplier(RelaxedMultiplier multiplier);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_RELAXED_PRODUCT_H_
