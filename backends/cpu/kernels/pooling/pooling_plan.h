// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What pooling and its gradients share.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_PLAN_H_
#define TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_PLAN_H_

#include "kernels/pooling/pooling_rows.h"
#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

// From attributes that the metadata function has checked for this shape.
StatusOr<PoolPlan> MakePoolPlan(const OpAttrsRef& attrs, const TensorShape& image);

// Kernels of MaxPoolGrad and AvgPoolGrad.
Status RegisterPoolGradKernels(KernelOpHandler& handler);
// The kernel of MaxPoolWithArgmax.
Status RegisterPoolArgmaxKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_PLAN_H_
