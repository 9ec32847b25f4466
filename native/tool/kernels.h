// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which kernels a device has.

#ifndef TANDEM_NATIVE_TOOL_KERNELS_H_
#define TANDEM_NATIVE_TOOL_KERNELS_H_

#include <string_view>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/op_def.h"
#include "tandem/op_handler.h"

namespace tandem::tool {

// The values of the op's kernel type attribute for which the handler itself has a kernel, or kInvalid alone if the op
// has no such attribute, and the handler a kernel for it. None if there is none, or the handler is a layer over others.
std::vector<DType> KernelDTypes(const OpHandler& handler, const OpDef& def);

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_KERNELS_H_
