// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cumsum, Cumprod.

#include "kernels/kernels.h"

namespace tandem::cpu {

Status RegisterScanKernels(KernelOpHandler&) { return Status(); }

}  // namespace tandem::cpu
