// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FusedBatchNormV3, LayerNorm.

#include "tandem/op_families.h"

namespace tandem {

Status RegisterNormalizationOps(OpRegistry&) { return Status(); }

}  // namespace tandem
