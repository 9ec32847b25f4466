// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the family of sparse and ragged tensors, a file each.

#ifndef TANDEM_CORE_OPS_SPARSE_OPS_H_
#define TANDEM_CORE_OPS_SPARSE_OPS_H_

#include "tandem/op_registry.h"
#include "tandem/status.h"

namespace tandem {

Status RegisterRaggedOps(OpRegistry& registry);  // RaggedRange, RaggedGather, RaggedTensorToTensor

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_SPARSE_OPS_H_
