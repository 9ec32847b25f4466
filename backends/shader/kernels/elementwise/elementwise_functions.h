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

// The function of an op for operands of some dtypes, all the same but for a condition's. The operands are a, b, c, of
// the types A, B, C; see ComposeElementwise.
struct ElementwiseFunction {
  ShaderSource source;   // named as the op; its text is the expression
  DTypeSet dtypes;       // none for an op without a type attribute
  uint8_t num_operands;  // then of bool
  // An attribute of type float that the expression has as `alpha`; null: none.
  const char* attribute = nullptr;
  // An attribute of type bool that chooses the other source if it is set; null: none.
  const char* flag = nullptr;
  ShaderSource source_if_flag = {};
  bool needs_all_dtypes = false;  // of the device: the expression is not WGSL
};

std::span<const ElementwiseFunction> ElementwiseFunctions();

// The dtypes of operands for which a device of these limits computes such a function; kInvalid for an op without a type
// attribute.
DTypeSet DTypesOf(const ElementwiseFunction& function, const GpuLimits& limits);

// Null if there is none. `dtype`: kInvalid for an op without a type attribute.
const ElementwiseFunction* FindElementwiseFunction(std::string_view op, DType dtype);

// What tf.Cast computes from one dtype of AllDTypes to another. `truncates`: its attribute Truncate.
const ShaderSource& ConversionSource(DType from, DType to, bool truncates);

// The function of an op of one operand, for other kernels to apply to what they computed: `fn name(a: f32) -> f32`, or
// `fn name(a: f32, alpha: f32) -> f32` if it has an attribute, with all that it calls. `flag`
// is what its attribute of type bool says, if it has one. Empty if there is none. To be
// put into a shader once: two that call the same functions would define them twice.
std::string UnaryFunctionText(std::string_view op, std::string_view name, bool flag = false);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_FUNCTIONS_H_
