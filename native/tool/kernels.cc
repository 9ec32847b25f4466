// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Asks for each dtype.

#include "tool/kernels.h"

#include "tandem/kernel_op_handler.h"

namespace tandem::tool {

std::vector<DType> KernelDTypes(const OpHandler& handler, const OpDef& def) {
  std::vector<DType> dtypes;
  const auto* const kernels = dynamic_cast<const KernelOpHandler*>(&handler);
  if (kernels == nullptr) return dtypes;
  if (def.kernel_type_attr < 0) {
    if (kernels->HasKernel(def.name, DType::kInvalid)) dtypes.push_back(DType::kInvalid);
    return dtypes;
  }
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (kernels->HasKernel(def.name, dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

}  // namespace tandem::tool
