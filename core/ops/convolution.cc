// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv2D, DepthwiseConv2dNative and their gradients.

#include "tandem/op_families.h"

namespace tandem {

Status RegisterConvolutionOps(OpRegistry&) { return Status(); }

}  // namespace tandem
