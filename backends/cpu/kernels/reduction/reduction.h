// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reduce: a reduction over any dimensions of a dense tensor, for all kernels that need one.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_H_
#define TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_H_

#include <array>

#include "kernels/reduction/reduction_rows.h"
#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

// For each dimension whether it is reduced.
using ReducedDims = std::array<bool, TensorShape::kMaxRank>;

// Reduces the elements of a row-major tensor of shape `shape` at `data` to those at `out`, which does not overlap them:
// row-major over the dimensions that are left. `rows` must be defined for the dtype. Large work is split over the work
// queue; the bits of the result do not depend on how. Fails only for lack of memory.
Status Reduce(const KernelFrame& frame, const ReductionRows& rows, const TensorShape& shape, const ReducedDims& reduced,
              const void* data, void* out);

// Kernels of ArgMax and ArgMin.
Status RegisterArgReductionKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_REDUCTION_REDUCTION_H_
