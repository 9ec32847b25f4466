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

// ---- Conversions.

enum class ElementClass : uint8_t { kFloat, kSigned, kUnsigned, kBool };

ElementClass ClassOf(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return ElementClass::kSigned;
    case DType::kU32:
      return ElementClass::kUnsigned;
    case DType::kBool:
      return ElementClass::kBool;
    default:
      return ElementClass::kFloat;
  }
}

constexpr ShaderSource Conversion(std::string_view expression) { return {"tf.Cast", &ComposeElementwise, expression}; }
// From a class to another, in the order of ElementClass.
constexpr ShaderSource kConversions[4][4] = {
    {Conversion("a"), Conversion("to_i32(a)"), Conversion("to_u32(a)"), Conversion("u32(!is_zero(a))")},
    {Conversion("f32(a)"), Conversion("a"), Conversion("u32(a)"), Conversion("u32(a != 0)")},
    {Conversion("f32(a)"), Conversion("i32(a)"), Conversion("a"), Conversion("u32(a != 0u)")},
    {Conversion("f32(a)"), Conversion("i32(a)"), Conversion("a"), Conversion("a")},
};
constexpr ShaderSource kTruncation = Conversion("truncate_for_f16(a)");

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

DTypeSet DTypesOf(Arithmetic arithmetic, const GpuLimits& limits) {
  DTypeSet dtypes;
  if (Includes(arithmetic, Arithmetic::kF32)) dtypes.Insert(DType::kF32);
  if (Includes(arithmetic, Arithmetic::kF16) && limits.has_f16) dtypes.Insert(DType::kF16);
  if (Includes(arithmetic, Arithmetic::kSigned)) dtypes.Insert(DType::kI32);
  if (Includes(arithmetic, Arithmetic::kUnsigned)) dtypes.Insert(DType::kU32);
  if (Includes(arithmetic, Arithmetic::kBool)) dtypes.Insert(DType::kBool);
  if (Includes(arithmetic, Arithmetic::kUntyped)) dtypes.Insert(DType::kInvalid);
  return dtypes;
}

const ShaderSource& ConversionSource(DType from, DType to, bool truncates) {
  if (truncates && from == DType::kF32 && to == DType::kF16) return kTruncation;
  return kConversions[static_cast<size_t>(ClassOf(from))][static_cast<size_t>(ClassOf(to))];
}

}  // namespace tandem::shader
