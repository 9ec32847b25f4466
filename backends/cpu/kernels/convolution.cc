// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv2D, DepthwiseConv2dNative and their gradients.

#include "kernels/kernels.h"

namespace tandem::cpu {

Status RegisterConvolutionKernels(KernelOpHandler&) { return Status(); }

}  // namespace tandem::cpu
