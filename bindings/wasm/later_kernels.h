// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which kernels are in the second part of a module.

#ifndef TANDEM_BINDINGS_WASM_LATER_KERNELS_H_
#define TANDEM_BINDINGS_WASM_LATER_KERNELS_H_

#include <string_view>

#include "tandem/dtype.h"

namespace tandem::js {

// The dtypes of an op that first_kernels.txt does not name; see LaterKernels::DTypesOf. Generated.
DTypeSet LaterKernelsOf(std::string_view op_name);

}  // namespace tandem::js

#endif  // TANDEM_BINDINGS_WASM_LATER_KERNELS_H_
