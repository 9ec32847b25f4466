// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// BatchGemm: many products of matrices that lie at regular distances.

#ifndef TANDEM_BACKENDS_CPU_GEMM_GEMM_BATCH_H_
#define TANDEM_BACKENDS_CPU_GEMM_GEMM_BATCH_H_

#include <cstdint>

#include "gemm/gemm.h"
#include "tandem/tensor_shape.h"

namespace tandem::cpu {

// Where the matrices of a batch lie.
struct GemmBatch {
  // Einsum has a dimension for each letter of two tensors.
  static constexpr int kMaxRank = 2 * TensorShape::kMaxRank;

  struct Dim {
    int64_t size;
    // From one matrix to the next, in elements; 0 where all share one.
    int64_t a_stride;
    int64_t b_stride;
    int64_t c_stride;
  };

  // Adds the next dimension inwards.
  void AddDim(const Dim& dim);
  // How many products there are.
  int64_t Size() const;

  int rank = 0;
  Dim dims[kMaxRank];  // outermost first, none of size 1; neighbours that can be one dimension are one
};

// C = A * B as by Gemm for each product of the batch, of which `a`, `b` and `c` are the first one's. The C must not
// overlap. Products are shared out among threads as a whole where there are enough of them, else each by itself.
template <typename T>
Status BatchGemm(WorkQueue* queue, const GemmBatch& batch, int64_t m, int64_t n, int64_t k, MatrixView<T> a,
                 MatrixView<T> b, T* c, int64_t ldc);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_GEMM_BATCH_H_
