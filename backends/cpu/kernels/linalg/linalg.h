// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the linear algebra family.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_LINALG_LINALG_H_
#define TANDEM_BACKENDS_CPU_KERNELS_LINALG_LINALG_H_

#include <span>

#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

// The cost of a product of matrices from the first argument's last two dimensions: about 30 products of f32 a
// nanosecond; other dtypes are slower.
double ProductCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results);

// Kernels of MatrixBandPart, MatrixDiag, MatrixDiagPart, Diag and DiagPart.
Status RegisterDiagonalKernels(KernelOpHandler& handler);

Status RegisterEinsumKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_LINALG_LINALG_H_
