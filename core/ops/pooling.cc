// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPool, AvgPool and their gradients.

#include "tandem/op_families.h"

namespace tandem {

Status RegisterPoolingOps(OpRegistry&) { return Status(); }

}  // namespace tandem
