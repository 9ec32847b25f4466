// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RelaxedProduct: register tiles as those of gemm_kernels.cc. Included by module.cc alone.

#ifndef TANDEM_BACKENDS_CPU_RELAXED_PRODUCT_INL_H_
#define TANDEM_BACKENDS_CPU_RELAXED_PRODUCT_INL_H_

#include "relaxed/relaxed_calls.h"
#include "relaxed/vectors-inl.h"

namespace tandem::cpu {
namespace {

constexpr uint32_t kRows = RelaxedProduct::kPanelRows;
constexpr uint32_t kCols = RelaxedProduct::kPanelCols;
constexpr uint32_t kRowsATime = RelaxedProduct::kRowsATime;

// Puts `count` sums of a row of C's at `to`, `col` being the first one's column.
inline void Finish(const RelaxedProduct& p, v128_t v, float* to, uint32_t col, uint32_t count) {
  if (p.accumulate != 0) v = wasm_f32x4_add(v, LoadFirst(to, count));
  if (p.bias != nullptr) {
    // Without -0, where 0 is the limit, the sum is not -0 either.
    const v128_t zero = wasm_f32x4_splat(p.low == 0 ? 0.0f : -0.0f);
    v = wasm_f32x4_add(v, wasm_f32x4_add(LoadFirst(p.bias + col, count), zero));
    if (p.added != nullptr) v = wasm_f32x4_add(v, LoadFirst(p.added + (to - p.c), count));
    // Of these, the first operand comes out if there is a NaN.
    v = wasm_f32x4_pmin(wasm_f32x4_pmax(v, wasm_f32x4_splat(p.low)), wasm_f32x4_splat(p.high));
  }
  StoreFirst(v, to, count);
}

// kRows rows of A, of which `rows` exist, times a panel of B, which has `cols` columns from `col` on.
inline void MultiplyTile(const RelaxedProduct& p, const float* a, const float* b, float* c, uint32_t col, uint32_t rows,
                         uint32_t cols) {
  v128_t sum00, sum01, sum10, sum11, sum20, sum21, sum30, sum31;
  sum00 = sum01 = sum10 = sum11 = sum20 = sum21 = sum30 = sum31 = wasm_f32x4_const_splat(0);
  for (uint32_t depth = p.depth; depth > 0; --depth, a += kRows, b += kCols) {
    const v128_t b0 = wasm_v128_load(b);
    const v128_t b1 = wasm_v128_load(b + kLanes);
    v128_t x = wasm_v128_load32_splat(a);
    sum00 = wasm_f32x4_relaxed_madd(x, b0, sum00);
    sum01 = wasm_f32x4_relaxed_madd(x, b1, sum01);
    x = wasm_v128_load32_splat(a + 1);
    sum10 = wasm_f32x4_relaxed_madd(x, b0, sum10);
    sum11 = wasm_f32x4_relaxed_madd(x, b1, sum11);
    x = wasm_v128_load32_splat(a + 2);
    sum20 = wasm_f32x4_relaxed_madd(x, b0, sum20);
    sum21 = wasm_f32x4_relaxed_madd(x, b1, sum21);
    x = wasm_v128_load32_splat(a + 3);
    sum30 = wasm_f32x4_relaxed_madd(x, b0, sum30);
    sum31 = wasm_f32x4_relaxed_madd(x, b1, sum31);
  }
  if (rows == kRows && cols == kCols && p.accumulate == 0 && p.bias == nullptr) {
    wasm_v128_store(c, sum00);
    wasm_v128_store(c + kLanes, sum01);
    c += p.ldc;
    wasm_v128_store(c, sum10);
    wasm_v128_store(c + kLanes, sum11);
    c += p.ldc;
    wasm_v128_store(c, sum20);
    wasm_v128_store(c + kLanes, sum21);
    c += p.ldc;
    wasm_v128_store(c, sum30);
    wasm_v128_store(c + kLanes, sum31);
    return;
  }
  // The rows by turns in the first two sums: without a stack there are no arrays.
  for (;; c += p.ldc) {
    Finish(p, sum00, c, col, cols);
    if (cols > kLanes) Finish(p, sum01, c + kLanes, col + kLanes, cols - kLanes);
    if (--rows == 0) return;
    sum00 = sum10;
    sum01 = sum11;
    sum10 = sum20;
    sum11 = sum21;
    sum20 = sum30;
    sum21 = sum31;
  }
}

inline void Multiply(const RelaxedProduct& p) {
  for (uint32_t first = 0; first < p.rows; first += kRowsATime) {
    const uint32_t end = Min(p.rows, first + kRowsATime);
    const float* b = p.b;
    for (uint32_t col = 0; col < p.cols; col += kCols, b += p.b_panel_stride) {
      for (uint32_t row = first; row < end; row += kRows) {
        MultiplyTile(p, p.a + row * p.depth, b, p.c + (row * p.ldc + col), col, Min(end - row, kRows),
                     Min(p.cols - col, kCols));
      }
    }
  }
}

}  // namespace
}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_RELAXED_PRODUCT_INL_H_
