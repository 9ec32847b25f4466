// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of the reductions: for each operation and dtype, functions over rows of elements.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::cpu {

// kAll and kAny are of bool, kMax and kMin of real dtypes, the others of numeric ones.
enum class ReductionOp : uint8_t { kSum, kMean, kProd, kMax, kMin, kAll, kAny };

// From numbers of one type to accumulators. The order of operations depends on the sizes alone (NU-1).
struct RowReductions {
  // Reduces `rows` rows, at least one, of `cols` numbers each to one row of accumulators, which does not overlap them;
  // rows begin `stride` numbers apart. At most rows / 4 + 5 additions in sequence.
  void (*rows)(const void* data, int64_t rows, int64_t stride, int64_t cols, void* accumulators) = nullptr;
  // Reduces each of `count` stretches of `n` numbers, at least one, all of them contiguous, to one accumulator. The
  // number of additions in sequence is bounded but for the logarithm of n.
  void (*stretches)(const void* data, int64_t count, int64_t n, void* accumulators) = nullptr;
};

// How to reduce elements of one dtype: by way of accumulators, which are f32 for f16 and bf16, 64 bits for the mean of
// integers, else of the dtype itself. A sum takes a complex element as two numbers, everything else an element as one.
struct ReductionRows {
  RowReductions elements;      // from numbers of elements
  RowReductions accumulators;  // from accumulators
  // Makes `n` numbers of results from accumulators that each stand for `count` of elements; `out` may be `accumulators`
  // if the sizes are equal. Null: the accumulators are the results.
  void (*finish)(const void* accumulators, int64_t n, int64_t count, void* out) = nullptr;
  // One result, of the dtype, without elements.
  void (*empty)(void* out) = nullptr;
  uint8_t parts = 1;             // numbers that make an element
  uint8_t number_size = 0;       // bytes
  uint8_t accumulator_size = 0;  // bytes
  float cost = 0;                // nanoseconds a number
};

// For the best instruction set of this machine; empty functions if the operation is not defined for the dtype.
ReductionRows FindReductionRows(ReductionOp op, DType dtype);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_ROWS_H_
