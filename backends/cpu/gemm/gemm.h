// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Gemm: the product of two matrices on the CPU, for all numeric element types.

#ifndef TANDEM_BACKENDS_CPU_GEMM_GEMM_H_
#define TANDEM_BACKENDS_CPU_GEMM_GEMM_H_

#include <cstdint>

#include "tandem/constant_buffer.h"
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

// What else happens to sums of C once they are complete, while they are in the cache: `apply` gets each of them once,
// in a block of C's rows [row, row + rows), `ldc` sums apart, and columns [col, col + cols); from several threads at
// once. They are of C's type, but f32 for f16 and bf16, which are rounded afterwards.
struct GemmEpilogue {
  void (*apply)(const void* context, void* sums, int64_t ldc, int64_t row, int64_t rows, int64_t col,
                int64_t cols) = nullptr;
  const void* context = nullptr;
};

// C = A * B, where A is m x k, B is k x n and C is m x n, row-major with `ldc` >= n elements from row to row. C must
// not overlap A or B. All sizes are at least 0; k = 0 gives zeros. The epilogue, if any, is for floating-point types
// alone.
//
// T is a numeric element type of DType (TANDEM_FOR_EACH_FIXED_DTYPE without bool). f32, f64 and c64 accumulate in
// their own precision; f16 and bf16 accumulate in f32 and are rounded once; integers wrap around. Infinity and NaN
// propagate as in the sums of products written out; c64 products follow the textbook formula.
//
// `b_forms`, unless null, are those of the tensor that B is (part of): where a B of floating-point numbers is to be
// packed, that is done once, into as much memory again as B has, rounded up to whole panels; up to twice that for 16
// bits. The bits of C do not depend on whether it is.
//
// Splits large products over `queue`, which may be null. The bits of C do not depend on the number of threads, and in
// exact mode not on the instruction set either. Ends early, and leaves C unspecified, if the kernel that calls it is to
// end. Fails only with "out of memory", when a large product cannot get its packing buffer (at most 32 MiB); C is then
// unspecified. Thread-safe.
template <typename T>
Status Gemm(WorkQueue* queue, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc,
            const GemmEpilogue& epilogue = {}, ConstantForms* b_forms = nullptr);

// The same where C has no gaps.
template <typename T>
Status Gemm(WorkQueue* queue, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  return Gemm<T>(queue, m, n, k, a, b, c, n);
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_GEMM_H_
