// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Copying elements that come from outside: whatever they were, what is copied are elements of their dtype.

#ifndef TANDEM_CORE_LIB_TENSOR_COPY_ELEMENTS_H_
#define TANDEM_CORE_LIB_TENSOR_COPY_ELEMENTS_H_

#include <cstddef>
#include <cstring>

#include "tandem/dtype.h"

namespace tandem::internal {

// Copies `size` bytes of elements of a fixed-size dtype. Of bool, every byte but 0 becomes 1. Either pointer may be
// null if `size` is 0.
inline void CopyElements(DType dtype, const void* from, size_t size, void* to) {
  if (size == 0) return;
  if (dtype != DType::kBool) {
    std::memcpy(to, from, size);
    return;
  }
  const auto* bytes = static_cast<const unsigned char*>(from);
  auto* elements = static_cast<unsigned char*>(to);
  for (size_t i = 0; i < size; ++i) elements[i] = bytes[i] != 0;
}

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_TENSOR_COPY_ELEMENTS_H_
