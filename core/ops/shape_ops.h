// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the shape family, a file each.

#ifndef TANDEM_CORE_OPS_SHAPE_OPS_H_
#define TANDEM_CORE_OPS_SHAPE_OPS_H_

#include "tandem/op_registry.h"
#include "tandem/status.h"

namespace tandem {

Status RegisterShapeBatchOps(OpRegistry& registry);  // SpaceToBatchND, BatchToSpaceND
Status RegisterShapePadOps(OpRegistry& registry);    // Pad, PadV2, MirrorPad
Status RegisterShapePartOps(OpRegistry& registry);   // ConcatV2, Split, SplitV, Pack, Unpack
Status RegisterShapeSliceOps(OpRegistry& registry);  // Slice, StridedSlice, ReverseV2

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_SHAPE_OPS_H_
