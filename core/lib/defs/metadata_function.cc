// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading the small integer tensors that metadata functions get as host inputs.

#include "tandem/metadata_function.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>

#include "tandem/host_tensors.h"

namespace tandem {

int64_t HostInput::Int(int64_t i) const {
  assert(i >= 0 && i < size());
  if (value_->IsA(kScalarHost)) i = 0;
  const void* data = value_->data();
  switch (metadata_->dtype) {
    case DType::kU8:
      return static_cast<const uint8_t*>(data)[i];
    case DType::kI8:
      return static_cast<const int8_t*>(data)[i];
    case DType::kU16:
      return static_cast<const uint16_t*>(data)[i];
    case DType::kI16:
      return static_cast<const int16_t*>(data)[i];
    case DType::kI32:
      return static_cast<const int32_t*>(data)[i];
    case DType::kU32:
      return static_cast<const uint32_t*>(data)[i];
    case DType::kI64:
      return static_cast<const int64_t*>(data)[i];
    case DType::kU64: {
      constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
      return static_cast<int64_t>(std::min(static_cast<const uint64_t*>(data)[i], kMax));
    }
    default:
      assert(false && "Int() of a tensor that does not hold integers");
      return 0;
  }
}

StatusOr<int64_t> HostInput::Scalar(std::string_view name) const {
  if (kIntDTypes.Contains(metadata_->dtype) && size() == 1) return Int(0);
  return InvalidArgument("expected one integer for ", name, ", got ", *metadata_);
}

}  // namespace tandem
