// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the compiler is not to see through.

#include "kernels/op_record.h"

#include "kernels/elementwise/elementwise_rows.h"

namespace tandem::cpu {

#ifdef __wasm32__
// As module_graph.py has it, where a record of dtypes of 16 bits follows the name.
static_assert(offsetof(KernelEntry, dtypes) == 4 && offsetof(KernelEntry, function) == 8);
static_assert(offsetof(RowEntry, dtypes) == 8 && offsetof(RowEntry, row) == 12);
static_assert(offsetof(OpRecord<Kernel::Function>, dtypes) == 4 && offsetof(OpRecord<Kernel::Function>, value) == 8);
#endif

const void* Opaque(const void* record) { return record; }

}  // namespace tandem::cpu
