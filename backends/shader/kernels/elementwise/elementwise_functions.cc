// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/elementwise_functions.h"

#include <array>

#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/shader_functions.h"

namespace tandem::shader {

namespace {

constexpr ElementwiseFunction Function(std::string_view op, Arithmetic arithmetic, uint8_t num_operands,
                                       std::string_view expression, const char* attribute = nullptr) {
  return {{op, &ComposeElementwise, expression}, arithmetic, num_operands, attribute};
}

constexpr ElementwiseFunction WithFlag(ElementwiseFunction function, const char* flag, std::string_view expression) {
  function.flag = flag;
  function.source_if_flag = {function.source.name, &ComposeElementwise, expression};
  return function;
}

constexpr Arithmetic kFloat = Arithmetic::kFloat;
constexpr Arithmetic kSigned = Arithmetic::kSigned;
constexpr Arithmetic kUnsigned = Arithmetic::kUnsigned;
constexpr Arithmetic kInteger = Arithmetic::kInteger;
constexpr Arithmetic kNumber = Arithmetic::kNumber;
constexpr Arithmetic kAny = Arithmetic::kAny;

// Integers wrap around. "1u - u32(a == b)" and the like: a comparison that a NaN makes false, turned round.
constexpr ElementwiseFunction kFunctions[] = {
    Function("tf.Abs", kFloat, 1, "abs(a)"),
    Function("tf.Abs", kSigned, 1, "select(a, 0 - a, a < 0)"),
    Function("tf.Neg", kFloat, 1, "-a"),
    Function("tf.Neg", kSigned, 1, "0 - a"),
    Function("tf.Sign", kFloat, 1, "sign_of(a)"),
    Function("tf.Sign", kSigned, 1, "i32(a > 0) - i32(a < 0)"),
    Function("tf.Square", kNumber, 1, "a * a"),
    Function("tf.Sqrt", kFloat, 1, "sqrt(a)"),
    Function("tf.Rsqrt", kFloat, 1, "1.0 / sqrt(a)"),
    Function("tf.Reciprocal", kFloat, 1, "1.0 / a"),
    Function("tf.Exp", kFloat, 1, "exp_of(a)"),
    Function("tf.Expm1", kFloat, 1, "expm1_of(a)"),
    Function("tf.Log", kFloat, 1, "log_of(a)"),
    Function("tf.Log1p", kFloat, 1, "log1p_of(a)"),
    Function("tf.Sin", kFloat, 1, "sin_of(a)"),
    Function("tf.Cos", kFloat, 1, "cos_of(a)"),
    Function("tf.Tan", kFloat, 1, "tan_of(a)"),
    Function("tf.Asin", kFloat, 1, "asin_of(a)"),
    Function("tf.Acos", kFloat, 1, "acos_of(a)"),
    Function("tf.Atan", kFloat, 1, "atan_of(a)"),
    Function("tf.Sinh", kFloat, 1, "sinh_of(a)"),
    Function("tf.Cosh", kFloat, 1, "cosh_of(a)"),
    Function("tf.Tanh", kFloat, 1, "tanh_of(a)"),
    Function("tf.Asinh", kFloat, 1, "asinh_of(a)"),
    Function("tf.Acosh", kFloat, 1, "acosh_of(a)"),
    Function("tf.Atanh", kFloat, 1, "atanh_of(a)"),
    Function("tf.Sigmoid", kFloat, 1, "sigmoid(a)"),
    Function("tf.Erf", kFloat, 1, "erf_of(a)"),
    Function("tf.Floor", kFloat, 1, "floor(a)"),
    Function("tf.Ceil", kFloat, 1, "ceil(a)"),
    Function("tf.Round", kFloat, 1, "round(a)"),
    Function("tf.Round", kSigned, 1, "a"),
    Function("tf.Rint", kFloat, 1, "round(a)"),
    Function("tf.Invert", kInteger, 1, "~a"),
    Function("tf.LogicalNot", Arithmetic::kUntyped, 1, "a ^ 1u"),
    Function("tf.IsNan", kFloat, 1, "u32(is_nan(a))"),
    Function("tf.IsInf", kFloat, 1, "u32(is_infinite(a))"),
    Function("tf.IsFinite", kFloat, 1, "u32(is_finite(a))"),

    Function("tf.Relu", kFloat, 1, "relu(a)"),
    Function("tf.Relu", kSigned, 1, "max(a, 0)"),
    Function("tf.Relu", kUnsigned, 1, "a"),
    Function("tf.Relu6", kFloat, 1, "select(relu(a), 6.0, a > 6.0)"),
    Function("tf.Relu6", kSigned, 1, "clamp(a, 0, 6)"),
    Function("tf.Relu6", kUnsigned, 1, "min(a, 6u)"),
    Function("tf.LeakyRelu", kFloat, 1, "select(a * alpha, a, a >= 0.0)", "alpha"),
    Function("tf.Elu", kFloat, 1, "select(a, expm1_of(a), a < 0.0)"),
    Function("tf.Selu", kFloat, 1, "selu(a)"),
    Function("tf.Softplus", kFloat, 1, "softplus(a)"),
    Function("tf.Softsign", kFloat, 1, "softsign(a)"),
    WithFlag(Function("tandem.Gelu", kFloat, 1, "gelu(a)"), "approximate", "gelu_tanh(a)"),
    Function("tandem.Prelu", kFloat, 2, "select(a * b, a, a >= 0.0)"),

    Function("tf.AddV2", kNumber, 2, "a + b"),
    Function("tf.Sub", kNumber, 2, "a - b"),
    Function("tf.Mul", kNumber, 2, "a * b"),
    Function("tf.RealDiv", kFloat, 2, "a / b"),
    Function("tf.DivNoNan", kFloat, 2, "select(a / b, 0.0, is_zero(b))"),
    Function("tf.FloorDiv", kFloat, 2, "floor_quotient(a, b)"),
    Function("tf.FloorMod", kFloat, 2, "floor_remainder(a, b)"),
    Function("tf.Mod", kFloat, 2, "remainder_of(a, b)"),
    Function("tf.Maximum", kFloat, 2, "maximum(a, b)"),
    Function("tf.Maximum", kInteger, 2, "max(a, b)"),
    Function("tf.Minimum", kFloat, 2, "minimum(a, b)"),
    Function("tf.Minimum", kInteger, 2, "min(a, b)"),
    Function("tf.Pow", kFloat, 2, "pow_of(a, b)"),
    Function("tf.SquaredDifference", Arithmetic::kSignedNumber, 2, "(a - b) * (a - b)"),
    Function("tf.Atan2", kFloat, 2, "atan2_of(a, b)"),
    Function("tf.NextAfter", Arithmetic::kF32, 2, "next_after(a, b)"),

    Function("tf.LogicalAnd", Arithmetic::kUntyped, 2, "a & b"),
    Function("tf.LogicalOr", Arithmetic::kUntyped, 2, "a | b"),
    Function("tf.Equal", kAny, 2, "u32(a == b)"),
    Function("tf.NotEqual", kAny, 2, "1u - u32(a == b)"),
    Function("tf.Less", kNumber, 2, "u32(a < b)"),
    Function("tf.LessEqual", kNumber, 2, "u32(a <= b)"),
    Function("tf.Greater", kNumber, 2, "u32(a > b)"),
    Function("tf.GreaterEqual", kNumber, 2, "u32(a >= b)"),
    Function("tf.BitwiseAnd", kInteger, 2, "a & b"),
    Function("tf.BitwiseOr", kInteger, 2, "a | b"),
    Function("tf.BitwiseXor", kInteger, 2, "a ^ b"),
    Function("tf.LeftShift", kSigned, 2, "select(0, a << (u32(b) & 31u), u32(b) < 32u)"),
    Function("tf.LeftShift", kUnsigned, 2, "select(0u, a << (b & 31u), b < 32u)"),
    Function("tf.RightShift", kSigned, 2, "a >> min(u32(b), 31u)"),
    Function("tf.RightShift", kUnsigned, 2, "select(0u, a >> (b & 31u), b < 32u)"),

    // Of gradients and features, or of results and gradients, as the definitions have them.
    Function("tf.ReluGrad", kFloat, 2, "select(0.0, a, b > 0.0)"),
    Function("tf.ReluGrad", kSigned, 2, "select(0, a, b > 0)"),
    Function("tf.ReluGrad", kUnsigned, 2, "select(0u, a, b > 0u)"),
    Function("tf.Relu6Grad", kFloat, 2, "select(0.0, a, b > 0.0 && b < 6.0)"),
    Function("tf.Relu6Grad", kSigned, 2, "select(0, a, b > 0 && b < 6)"),
    Function("tf.Relu6Grad", kUnsigned, 2, "select(0u, a, b > 0u && b < 6u)"),
    Function("tf.LeakyReluGrad", kFloat, 2, "select(a * alpha, a, b > 0.0)", "alpha"),
    Function("tf.EluGrad", kFloat, 2, "select(a, a * (b + 1.0), b < 0.0)"),
    Function("tf.SeluGrad", kFloat, 2, "a * select(1.05070102, b + 1.75809932, b < 0.0)"),
    Function("tf.SoftplusGrad", kFloat, 2, "a * sigmoid(b)"),
    Function("tf.SoftsignGrad", kFloat, 2, "a / (1.0 + abs(b)) / (1.0 + abs(b))"),
    Function("tf.SigmoidGrad", kFloat, 2, "b * a * (1.0 - a)"),
    Function("tf.TanhGrad", kFloat, 2, "b * (1.0 - a * a)"),

    Function("tf.ClipByValue", kFloat, 3, "clip(a, b, c)"),
    Function("tf.ClipByValue", kInteger, 3, "max(min(a, c), b)"),
    Function("tf.SelectV2", kAny, 3, "select(c, b, a != 0u)"),
};

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
