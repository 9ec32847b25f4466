// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FusedBatchNormV3, LayerNorm.

#include "kernels/kernels.h"

namespace tandem::cpu {

Status RegisterNormalizationKernels(KernelOpHandler&) { return Status(); }

}  // namespace tandem::cpu
