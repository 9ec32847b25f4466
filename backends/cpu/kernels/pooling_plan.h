// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What pooling and its gradients share.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_POOLING_PLAN_H_
#define TANDEM_BACKENDS_CPU_KERNELS_POOLING_PLAN_H_

#include <cstdint>

#include "kernels/pooling_rows.h"
#include "tandem/function_ref.h"
#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

// From attributes that the metadata function has checked for this shape.
StatusOr<PoolPlan> MakePoolPlan(const OpAttrsRef& attrs, const TensorShape& image);

// KernelFrame::ParallelFor with `scratch_size` bytes for each call of `fn`, null if that is 0. Fails only for lack of
// memory; then some of the work was not done.
Status ParallelForWithScratch(const KernelFrame& frame, int64_t n, double cost_per_item, int64_t scratch_size,
                              FunctionRef<void(int64_t, int64_t, void*)> fn);

// Kernels of MaxPoolGrad and AvgPoolGrad.
Status RegisterPoolGradKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_POOLING_PLAN_H_
