// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Asks for each dtype.

#include "tool/kernels.h"

#include "tandem/dtype.h"

namespace tandem::tool {

std::vector<DType> KernelDTypes(const OpHandler& handler, const OpDef& def) {
  std::vector<DType> dtypes;
  if (def.kernel_type_attr < 0) {
    if (handler.HasKernel(def.name, DType::kInvalid)) dtypes.push_back(DType::kInvalid);
    return dtypes;
  }
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (handler.HasKernel(def.name, dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

}  // namespace tandem::tool
