// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPool, AvgPool and their gradients.

#include "kernels/kernels.h"

namespace tandem::cpu {

Status RegisterPoolingKernels(KernelOpHandler&) { return Status(); }

}  // namespace tandem::cpu
