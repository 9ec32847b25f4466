// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/elementwise_functions.h"

#include <array>

#include "kernels/element_types.h"
#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/elementwise/wide_expressions.h"
#include "kernels/shader_functions.h"
#include "tandem/element_expressions.h"

namespace tandem::shader {

namespace {

// What else shares an expression where a device computes in all dtypes: smaller integers are computed as i32 and u32,
// and those of 64 bits by the same text, unless it tells the size; f64 by functions of the same names (wide.wgsl).
constexpr DTypeSet Widened(const ElementExpression& expression) {
  DTypeSet dtypes = expression.dtypes;
  const std::string_view op = expression.op;
  const bool tells_size = op == "tf.LeftShift" || op == "tf.RightShift";
  if (dtypes.Contains(DType::kI32)) dtypes = dtypes | DTypeSet{DType::kI8, DType::kI16};
  if (dtypes.Contains(DType::kU32)) dtypes = dtypes | DTypeSet{DType::kU8, DType::kU16};
  if (dtypes.Contains(DType::kI32) && !tells_size) dtypes.Insert(DType::kI64);
  if (dtypes.Contains(DType::kU32) && !tells_size) dtypes.Insert(DType::kU64);
  if (dtypes.Contains(DType::kF32) && op != "tf.SeluGrad") dtypes.Insert(DType::kF64);
  // Operators that complex numbers have, too.
  for (const char* name :
       {"tf.Neg", "tf.Square", "tf.AddV2", "tf.Sub", "tf.Mul", "tf.Equal", "tf.NotEqual", "tf.SelectV2"}) {
    if (op == name && dtypes.Contains(DType::kF32)) dtypes.Insert(DType::kC64);
  }
  return dtypes;
}

constexpr ElementwiseFunction FunctionOf(const ElementExpression& from, DTypeSet dtypes) {
  // Operands that are always bool are of an op without a type attribute.
  if (dtypes == DTypeSet{DType::kBool}) dtypes = DTypeSet();
  return {{from.op, &ComposeElementwise, from.text},
          dtypes,
          from.num_operands,
          from.alpha,
          from.flag,
          {from.op, &ComposeElementwise, from.flag == nullptr ? "" : from.text_if_flag}};
}

constexpr auto kFunctions = [] {
  std::array<ElementwiseFunction, ElementExpressions().size() + kWideExpressions.size()> functions{};
  size_t count = 0;
  for (const ElementExpression& from : ElementExpressions()) functions[count++] = FunctionOf(from, Widened(from));
  for (const ElementExpression& from : kWideExpressions) {
    functions[count] = FunctionOf(from, from.dtypes);
    functions[count++].needs_all_dtypes = true;
  }
  return functions;
}();

}  // namespace

std::span<const ElementwiseFunction> ElementwiseFunctions() { return kFunctions; }

const ElementwiseFunction* FindElementwiseFunction(std::string_view op, DType dtype) {
  for (const ElementwiseFunction& function : kFunctions) {
    const bool fits = function.dtypes.IsEmpty() ? dtype == DType::kInvalid : function.dtypes.Contains(dtype);
    if (fits && function.source.name == op) return &function;
  }
  return nullptr;
}

std::string UnaryFunctionText(std::string_view op, std::string_view name, bool flag) {
  const ElementwiseFunction* function = FindElementwiseFunction(op, DType::kF32);
  if (function == nullptr || function->num_operands != 1) return {};
  const ShaderSource& source = flag && function->flag != nullptr ? function->source_if_flag : function->source;
  constexpr std::array<std::string_view, 1> kOperand = {"f32"};
  const std::string text = FunctionOfExpression(name, kOperand, "f32", source.text, function->attribute != nullptr);
  return FunctionsCalledBy(text) + text;
}

DTypeSet DTypesOf(const ElementwiseFunction& function, const GpuLimits& limits) {
  if (function.needs_all_dtypes && !HasAllDTypes(limits)) return DTypeSet();
  return function.dtypes.IsEmpty() ? DTypeSet{DType::kInvalid} : function.dtypes & AllDTypes(limits);
}

}  // namespace tandem::shader
