// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cumsum, Cumprod.

#include "tandem/op_families.h"

namespace tandem {

Status RegisterScanOps(OpRegistry&) { return Status(); }

}  // namespace tandem
