// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The element-wise functions of ops, as expressions of WGSL.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_FUNCTIONS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_FUNCTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// Sets of dtypes that share an expression.
enum class Arithmetic : uint8_t {
  kF32 = 1,
  kF16 = 2,       // computed in f32
  kSigned = 4,    // i32
  kUnsigned = 8,  // u32
  kBool = 16,
  kUntyped = 32,  // of ops without a type attribute
  kFloat = kF32 | kF16,
  kInteger = kSigned | kUnsigned,
  kSignedNumber = kFloat | kSigned,
  kNumber = kFloat | kInteger,
  kAny = kNumber | kBool,
};
constexpr bool Includes(Arithmetic set, Arithmetic part) {
  return (static_cast<uint8_t>(set) & static_cast<uint8_t>(part)) == static_cast<uint8_t>(part);
}

// The function of an op for operands of some dtypes, all the same but for a condition's. The operands are a, b, c, of
// the types A, B, C; see ComposeElementwise.
struct ElementwiseFunction {
  ShaderSource source;  // named as the op; its text is the expression
  Arithmetic arithmetic;
  uint8_t num_operands;
  // An attribute of type float that the expression has as `alpha`; null: none.
  const char* attribute = nullptr;
  // An attribute of type bool that chooses the other source if it is set; null: none.
  const char* flag = nullptr;
  ShaderSource source_if_flag = {};
};

std::span<const ElementwiseFunction> ElementwiseFunctions();

// The dtypes of operands for which a device of these limits computes such a function; kInvalid for an op without a type
// attribute.
DTypeSet DTypesOf(Arithmetic arithmetic, const GpuLimits& limits);

// Null if there is none.
const ElementwiseFunction* FindElementwiseFunction(std::string_view op, Arithmetic arithmetic);

// What tf.Cast computes from one dtype of AllDTypes to another. `truncates`: its attribute Truncate.
const ShaderSource& ConversionSource(DType from, DType to, bool truncates);

// The function of an op of one operand, for other kernels to apply to what they computed: `fn name(a: f32) -> f32`, or
// `fn name(a: f32, alpha: f32) -> f32` if it has an attribute, with all that it calls. `flag`
// is what its attribute of type bool says, if it has one. Empty if there is none. To be
// put into a shader once: two that call the same functions would define them twice.
std::string UnaryFunctionText(std::string_view op, std::string_view name, bool flag = false);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_FUNCTIONS_H_
