// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The kernels of Unique, which are a file of their own.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_INDEXING_UNIQUE_H_
#define TANDEM_BACKENDS_CPU_KERNELS_INDEXING_UNIQUE_H_

#include "tandem/kernel_op_handler.h"
#include "tandem/status.h"

namespace tandem::cpu {

Status RegisterUniqueKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_INDEXING_UNIQUE_H_
