// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise ops as instructions for vectors of four elements, for loops that are made at run time: the expressions
// of the op definitions in postfix notation, translated while this program is compiled.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_OPS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_OPS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/dtype.h"

namespace tandem::cpu {

// A program for a stack of vectors, one byte an instruction: an operand, the parameter or a constant is pushed;
// everything else is an instruction of WebAssembly behind the prefix of its SIMD instructions.
namespace element_code {
inline constexpr uint8_t kFirstOperand = 0;  // a, and then b and c
inline constexpr uint8_t kParameter = 3;     // an attribute of type float
inline constexpr uint8_t kFirstConstant = 0x10;
inline constexpr uint8_t kEndOfConstants = 0x20;
}  // namespace element_code

using ElementCode = std::span<const uint8_t>;

// What the kernel of `op` gives for elements of `dtype` (kInvalid: of an op without a type attribute), to the bit, but
// for NaNs, of which only that there is one. Elements of bool are u32 that are 0 or 1. Empty: there is none.
ElementCode FindElementCode(std::string_view op, DType dtype);
// The same of a conversion.
ElementCode FindCastCode(DType from, DType to);
// The bits of a constant: an instruction of at least kFirstConstant, below kEndOfConstants.
uint32_t ElementConstant(uint8_t instruction);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_OPS_H_
