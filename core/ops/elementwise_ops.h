// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the element-wise family, a file each.

#ifndef TANDEM_CORE_OPS_ELEMENTWISE_OPS_H_
#define TANDEM_CORE_OPS_ELEMENTWISE_OPS_H_

#include "tandem/op_registry.h"
#include "tandem/status.h"

namespace tandem {

Status RegisterComplexOps(OpRegistry& registry);  // Complex, Real, Imag, Conj, ComplexAbs

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_ELEMENTWISE_OPS_H_
