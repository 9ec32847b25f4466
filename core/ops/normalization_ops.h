// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the family of normalizations, a file each.

#ifndef TANDEM_CORE_OPS_NORMALIZATION_OPS_H_
#define TANDEM_CORE_OPS_NORMALIZATION_OPS_H_

#include "tandem/op_registry.h"
#include "tandem/status.h"

namespace tandem {

Status RegisterLocalNormalizationOps(OpRegistry& registry);  // LRN, LRNGrad

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_NORMALIZATION_OPS_H_
