// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of the gradients of pooling.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_GRAD_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_GRAD_ROWS_H_

#include <cstdint>

#include "kernels/pooling/pooling_rows.h"

namespace tandem::cpu {

// What a gradient is computed from: for the mean, `gradients` alone.
struct PoolGradInputs {
  const void* images;
  const void* pooled;
  const void* gradients;  // with regard to what was pooled
};

// The gradients of pooling for one dtype.
struct PoolGradRows {
  // Computes the rows [begin, end) of the gradients of all images; `buffer` has scratch_size(plan) bytes and belongs to
  // this call. For f16 and bf16 `narrow` is the conversion from f32, else it is not used.
  void (*rows)(const PoolPlan& plan, const PoolGradInputs& inputs, int64_t begin, int64_t end, Row narrow, void* buffer,
               void* out) = nullptr;
  int64_t (*scratch_size)(const PoolPlan& plan) = nullptr;
};

// For the best instruction set of this machine; empty functions if pooling is not defined for the dtype.
PoolGradRows FindMaxPoolGradRows(DType dtype);
PoolGradRows FindAvgPoolGradRows(DType dtype);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_GRAD_ROWS_H_
