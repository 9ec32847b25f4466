// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinear, ResizeNearestNeighbor.

#include "tandem/op_families.h"

namespace tandem {

Status RegisterImageOps(OpRegistry&) { return Status(); }

}  // namespace tandem
