// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The rows of the element-wise ops: for each op and element type, the function over contiguous elements.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ROWS_H_

#include <cstdint>

#include "kernels/elementwise_blocks.h"
#include "tandem/dtype.h"
#include "tandem/function_ref.h"

namespace tandem::cpu {

// An element of a complex64 tensor, without the special cases of std::complex's arithmetic.
struct Complex64 {
  float re;
  float im;
};

struct RowEntry {
  const char* op;
  int num_operands;
  DTypeSet dtypes;      // of the kernels that it serves
  Row row;
  float cost;           // nanoseconds an element, besides the access to memory
  bool serves_half;     // f16 and bf16 as well, by way of f32
  bool swaps = false;   // the operands change places: x > y is y < x
};

using RowSink = FunctionRef<void(const RowEntry&)>;

// Rows that the compiler makes vectors of, for the best instruction set of this machine.
void ListSimdRows(RowSink sink);
// Rows that gain nothing from vectors: integer division, functions of the C library, most of complex arithmetic.
void ListScalarRows(RowSink sink);

// How to convert elements of `from` to `to`, which differ and are not strings; for the best instruction set of this
// machine. `truncate`: rounds towards 0 where a wider floating-point number becomes a narrower one.
RowFunction CastFunction(DType from, DType to, bool truncate);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ROWS_H_
