// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinear, ResizeNearestNeighbor.

#include "kernels/kernels.h"

namespace tandem::cpu {

Status RegisterImageKernels(KernelOpHandler&) { return Status(); }

}  // namespace tandem::cpu
