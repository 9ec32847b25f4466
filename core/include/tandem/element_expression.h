// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ElementExpression: what an element-wise op computes, written once for every device and for those who join ops.

#ifndef TANDEM_ELEMENT_EXPRESSION_H_
#define TANDEM_ELEMENT_EXPRESSION_H_

#include <cstdint>

#include "tandem/dtype.h"

namespace tandem {

// An expression in the notation of WGSL, of the operands a, b, c, ... in the order of the op's inputs (of SelectV2 the
// condition is a). Operands and result are computed as f32 (also f16 and bf16, rounded once), i32, u32 and, for bool,
// u32 that is 0 or 1. Integers wrap around. Besides operators and WGSL's own functions it calls those of
// backends/shader/kernels/elementary.wgsl, such as exp_of, which say how accurate they are. NaN is unequal to
// everything, itself included.
struct ElementExpression {
  const char* op;   // "tf.AddV2"
  DTypeSet dtypes;  // of the operands, all the same but for a condition's
  uint8_t num_operands;
  const char* text;             // "a + b"
  const char* alpha = nullptr;  // the attribute of type float that the expression calls alpha; null: none
  const char* flag = nullptr;   // the attribute of type bool that chooses the other text; null: none
  const char* text_if_flag = nullptr;
};

}  // namespace tandem

#endif  // TANDEM_ELEMENT_EXPRESSION_H_
