// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/shader/heap_room.h"

#include <new>

namespace tandem::shader {

bool HeapHasRoom(size_t bytes) {
  // Calls of the operators, unlike expressions with `new`, may not be left out by the compiler.
  void* const block = operator new(bytes, std::nothrow);
  operator delete(block);
  return block != nullptr;
}

}  // namespace tandem::shader
