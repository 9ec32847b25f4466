// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Gemm: the product of two matrices on the CPU, for all numeric element types.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_GEMM_H_
#define TANDEM_BACKENDS_CPU_KERNELS_GEMM_H_

#include <cstdint>

#include "tandem/status.h"
#include "tandem/work_queue.h"

namespace tandem::cpu {

// A matrix whose element (i, j) is data[i * row_stride + j * col_stride]. Strides count elements; a transposed matrix
// has them exchanged.
template <typename T>
struct MatrixView {
  const T* data;
  int64_t row_stride;
  int64_t col_stride;

  constexpr MatrixView Transposed() const { return {data, col_stride, row_stride}; }
};

// C = A * B, where A is m x k, B is k x n and C is m x n, row-major without gaps. C must not overlap A or B. All sizes
// are at least 0; k = 0 gives zeros.
//
// T is a numeric element type of DType (TANDEM_FOR_EACH_FIXED_DTYPE without bool). f32, f64 and c64 accumulate in
// their own precision; f16 and bf16 accumulate in f32 and are rounded once; integers wrap around. Infinity and NaN
// propagate as in the sums of products written out; c64 products follow the textbook formula.
//
// Splits large products over `queue`, which may be null. The bits of C do not depend on the number of threads; they
// may depend on the instruction set. Fails only with "out of memory", when a large product cannot get its packing
// buffer (at most 32 MiB); C is then unspecified. Thread-safe.
template <typename T>
Status Gemm(WorkQueue* queue, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_GEMM_H_
