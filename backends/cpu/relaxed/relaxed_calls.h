// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What code outside of this program is asked for that multiplies and adds in one instruction. WebAssembly has that as
// relaxed SIMD, but a module that contains it is refused by engines without.

#ifndef TANDEM_BACKENDS_CPU_RELAXED_RELAXED_CALLS_H_
#define TANDEM_BACKENDS_CPU_RELAXED_RELAXED_CALLS_H_

#include <cstdint>

#include "simd/exp_constants.h"

namespace tandem::cpu {

// One of those below. All memory is the caller's, and is not used after the call. The layouts are an interface between
// modules.
struct RelaxedCall {
  enum Kind : uint32_t { kProduct, kExponentials, kSoftmax };
  Kind kind;
};

// A part of a product of f32 matrices: C[rows, cols] = or += A[rows, depth] * B[depth, cols]. Strides count elements.
// What is only read may overlap, C may not.
struct RelaxedProduct : RelaxedCall {
  RelaxedProduct() : RelaxedCall{kProduct} {}

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
  uint32_t accumulate = 0;  // 0: no
  // If not null, one for each column: what comes out is c + bias (+ added), but `low` where that is not more than
  // `low`, and `high` where it is more than `high`; NaN stays NaN.
  const float* bias = nullptr;
  const float* added = nullptr;  // null, or laid out as C is; not without a bias
  float low = 0;
  float high = 0;
};

// y = e^x, or 1 / (1 + e^-x), of f32. `y` may be `x`.
struct RelaxedExponentials : RelaxedCall {
  RelaxedExponentials() : RelaxedCall{kExponentials} {}

  const float* x;
  float* y;
  uint32_t count;
  uint32_t is_sigmoid = 0;  // 0: no
  const FloatExpTable* table = &kFloatExpTable;
};

// Each of `rows` contiguous rows of f32: y = e^x / (the sum of e^x). `y` may be `x`.
struct RelaxedSoftmax : RelaxedCall {
  RelaxedSoftmax() : RelaxedCall{kSoftmax} {}

  static constexpr uint32_t kMinCols = 16;
  static constexpr uint32_t kMaxCols = 1 << 15;

  const float* x;
  float* y;
  uint32_t rows;
  uint32_t cols;  // kMinCols to kMaxCols
  const FloatExpTable* table = &kFloatExpTable;
};

// Does what a call asks for on the thread that makes it. Thread-safe.
using RelaxedKernels = void (*)(const RelaxedCall& call);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_RELAXED_RELAXED_CALLS_H_
