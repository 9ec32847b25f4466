// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The element-wise functions of ops, as expressions of WGSL.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_FUNCTIONS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_FUNCTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// The dtypes that share an expression. f16 has that of f32.
enum class Arithmetic : uint8_t {
  kFloat = 1,
  kSigned = 2,    // i32
  kUnsigned = 4,  // u32
  kBool = 8,
  kInteger = kSigned | kUnsigned,
  kNumber = kFloat | kInteger,
  kWord = kInteger | kBool,
  kAny = kNumber | kBool,
};

// The function of an op for operands of some dtypes, all the same. The operands are a, b, c, of the types A, B, C; see
// ComposeElementwise.
struct ElementwiseFunction {
  ShaderSource source;  // named as the op; its text is the expression
  Arithmetic arithmetic;
  uint8_t num_operands;
  // An attribute of type float that the expression has as `alpha`; null: none.
  const char* attribute = nullptr;
};

std::span<const ElementwiseFunction> ElementwiseFunctions();

// Null if there is none.
const ElementwiseFunction* FindElementwiseFunction(std::string_view op, Arithmetic arithmetic);

// The function of an op of one operand, for other kernels to apply to what they computed: `fn name(a: f32) -> f32`, or
// `fn name(a: f32, alpha: f32) -> f32` if it has an attribute, with all that it calls. Empty if there is none. To be
// put into a shader once: two that call the same functions would define them twice.
std::string UnaryFunctionText(std::string_view op, std::string_view name);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_FUNCTIONS_H_
