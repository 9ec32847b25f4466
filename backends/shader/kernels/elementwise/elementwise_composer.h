// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise shaders and programs: any function of an element of each operand, with broadcasting.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_COMPOSER_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_COMPOSER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/elementwise/elementwise_form.h"
#include "tandem/shader/launch.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// Composes the shader of an element-wise function: `source.text` is either an expression of the operands a, b, ... or a
// complete `fn apply(a: A, b: B, ...) -> R`, where A, B, ... and R are the types that the operands and the result are
// computed in (bool is u32). It may call the functions of elementary.wgsl. If the program is given a parameter, the
// function has it as a last argument `alpha: f32`. Each function needs a source of its own.
ShaderText ComposeElementwise(const ShaderSource& source, std::span<const int32_t> values);

// A function `name` of the given types that computes an expression of the operands a, b, ...
std::string FunctionOfExpression(std::string_view name, std::span<const std::string_view> operand_types,
                                 std::string_view result_type, std::string_view expression, bool has_alpha);

struct ElementwiseCall {
  // Each of a shape that broadcasts to the result's. At most kMaxElementwiseOperands.
  std::span<const TensorMetadata* const> operands;
  const TensorMetadata* result = nullptr;
  // The operand whose buffer the result takes over; -1: none. The shader's buffers are the other operands, in order,
  // and then the result.
  int in_place = -1;
  std::optional<float> alpha;
};

// The source's `compose` is ComposeElementwise.
Launch ElementwiseProgram(const ShaderSource& source, const ElementwiseCall& call, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_COMPOSER_H_
