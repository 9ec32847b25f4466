// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/device.h"

#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem {

Device::~Device() = default;

StatusOr<Tensor> Device::AllocateDense(const TensorMetadata&, const ExecutionContext&, std::string_view) const {
  return MakeError(StatusCode::kUnimplemented, "device ", name(), " allocates no results");
}

}  // namespace tandem
