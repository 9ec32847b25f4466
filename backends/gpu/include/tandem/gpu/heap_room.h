// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// HeapHasRoom: a look at the heap before work whose allocations may not fail.

#ifndef TANDEM_GPU_HEAP_ROOM_H_
#define TANDEM_GPU_HEAP_ROOM_H_

#include <cstddef>

#include "tandem/export.h"

namespace tandem::gpu {

// Whether a block of so many bytes can be had: it is taken and given back at once. For what is done once for each
// shader with strings and vectors of the standard library, or by a library that uses them, and would end the program
// where there is no memory: those who do it ask first for amply more than it needs, and report ResourceExhausted if
// there is none. No promise, since other threads may take the memory meanwhile.
[[nodiscard]] TANDEM_EXPORT bool HeapHasRoom(size_t bytes);

}  // namespace tandem::gpu

#endif  // TANDEM_GPU_HEAP_ROOM_H_
