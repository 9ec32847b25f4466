// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The kernel of RaggedTensorToTensor.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SPARSE_SPARSE_RAGGED_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SPARSE_SPARSE_RAGGED_H_

#include "tandem/kernel.h"

namespace tandem::cpu {

Status RaggedToTensorKernel(DenseArg shape, const Tensor& values, const Tensor& default_value, VariadicArgs partitions,
                            KernelFrame& frame);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SPARSE_SPARSE_RAGGED_H_
