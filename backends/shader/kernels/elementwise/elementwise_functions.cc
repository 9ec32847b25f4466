// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/elementwise_functions.h"

#include <array>
#include <utility>

#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/shader_functions.h"
#include "tandem/element_expressions.h"

namespace tandem::shader {

namespace {

constexpr Arithmetic ArithmeticOf(const DTypeSet& dtypes) {
  // Operands that are always bool are of an op without a type attribute.
  if (dtypes == DTypeSet{DType::kBool}) return Arithmetic::kUntyped;
  constexpr std::pair<DType, Arithmetic> kParts[] = {{DType::kF32, Arithmetic::kF32},
                                                     {DType::kF16, Arithmetic::kF16},
                                                     {DType::kI32, Arithmetic::kSigned},
                                                     {DType::kU32, Arithmetic::kUnsigned},
                                                     {DType::kBool, Arithmetic::kBool}};
  uint8_t parts = 0;
  for (const auto& [dtype, part] : kParts) {
    if (dtypes.Contains(dtype)) parts |= static_cast<uint8_t>(part);
  }
  return static_cast<Arithmetic>(parts);
}

constexpr auto kFunctions = [] {
  std::array<ElementwiseFunction, ElementExpressions().size()> functions{};
  for (size_t i = 0; i < functions.size(); ++i) {
    const ElementExpression& from = ElementExpressions()[i];
    functions[i] = {{from.op, &ComposeElementwise, from.text},
                    ArithmeticOf(from.dtypes),
                    from.num_operands,
                    from.alpha,
                    from.flag,
                    {from.op, &ComposeElementwise, from.flag == nullptr ? "" : from.text_if_flag}};
  }
  return functions;
}();

}  // namespace

std::span<const ElementwiseFunction> ElementwiseFunctions() { return kFunctions; }

const ElementwiseFunction* FindElementwiseFunction(std::string_view op, Arithmetic arithmetic) {
  for (const ElementwiseFunction& function : kFunctions) {
    if (function.source.name == op && Includes(function.arithmetic, arithmetic)) return &function;
  }
  return nullptr;
}

std::string UnaryFunctionText(std::string_view op, std::string_view name, bool flag) {
  const ElementwiseFunction* function = FindElementwiseFunction(op, Arithmetic::kF32);
  if (function == nullptr || function->num_operands != 1) return {};
  const ShaderSource& source = flag && function->flag != nullptr ? function->source_if_flag : function->source;
  constexpr std::array<std::string_view, 1> kOperand = {"f32"};
  const std::string text = FunctionOfExpression(name, kOperand, "f32", source.text, function->attribute != nullptr);
  return FunctionsCalledBy(text) + text;
}

}  // namespace tandem::shader
