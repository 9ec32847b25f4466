// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/gpu/heap_room.h"

#include <new>

namespace tandem::gpu {

bool HeapHasRoom(size_t bytes) {
  // Calls of the operators, unlike expressions with `new`, may not be left out by the compiler.
  void* const block = operator new(bytes, std::nothrow);
  operator delete(block);
  return block != nullptr;
}

}  // namespace tandem::gpu
