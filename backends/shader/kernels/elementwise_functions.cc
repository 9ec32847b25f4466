// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise_functions.h"

#include <array>

#include "kernels/elementwise_composer.h"
#include "kernels/shader_functions.h"

namespace tandem::shader {

namespace {

constexpr ElementwiseFunction Function(std::string_view op, Arithmetic arithmetic, uint8_t num_operands,
                                       std::string_view expression, const char* attribute = nullptr) {
  return {{op, &ComposeElementwise, expression}, arithmetic, num_operands, attribute};
}

constexpr Arithmetic kFloat = Arithmetic::kFloat;
constexpr Arithmetic kNumber = Arithmetic::kNumber;

constexpr ElementwiseFunction kFunctions[] = {
    Function("tf.AddV2", kNumber, 2, "a + b"),
    Function("tf.Mul", kNumber, 2, "a * b"),
    Function("tf.Exp", kFloat, 1, "exp_of(a)"),
    Function("tf.Relu", kFloat, 1, "relu(a)"),
};

bool Includes(Arithmetic set, Arithmetic part) {
  return (static_cast<uint8_t>(set) & static_cast<uint8_t>(part)) == static_cast<uint8_t>(part);
}

}  // namespace

std::span<const ElementwiseFunction> ElementwiseFunctions() { return kFunctions; }

const ElementwiseFunction* FindElementwiseFunction(std::string_view op, Arithmetic arithmetic) {
  for (const ElementwiseFunction& function : kFunctions) {
    if (function.source.name == op && Includes(function.arithmetic, arithmetic)) return &function;
  }
  return nullptr;
}

std::string UnaryFunctionText(std::string_view op, std::string_view name) {
  const ElementwiseFunction* function = FindElementwiseFunction(op, Arithmetic::kFloat);
  if (function == nullptr || function->num_operands != 1) return {};
  constexpr std::array<std::string_view, 1> kOperand = {"f32"};
  const std::string text =
      FunctionOfExpression(name, kOperand, "f32", function->source.text, function->attribute != nullptr);
  return FunctionsCalledBy(text) + text;
}

}  // namespace tandem::shader
