// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The expressions of the element-wise ops that are defined here.

#ifndef TANDEM_ELEMENT_EXPRESSIONS_H_
#define TANDEM_ELEMENT_EXPRESSIONS_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/element_expression.h"

namespace tandem {

namespace internal::expressions {

inline constexpr DTypeSet kF32 = {DType::kF32};
inline constexpr DTypeSet kFloats = {DType::kF32, DType::kF16, DType::kBF16};
inline constexpr DTypeSet kI32 = {DType::kI32};
inline constexpr DTypeSet kU32 = {DType::kU32};
inline constexpr DTypeSet kBool = {DType::kBool};
inline constexpr DTypeSet kIntegers = kI32 | kU32;
inline constexpr DTypeSet kSignedNumbers = kFloats | kI32;
inline constexpr DTypeSet kNumbers = kFloats | kIntegers;
inline constexpr DTypeSet kAny = kNumbers | kBool;

// Those of an op lie next to each other. "1u - u32(a == b)" and the like: a comparison that a NaN makes false, turned
// round.
inline constexpr ElementExpression kAll[] = {
    {"tf.Abs", kFloats, 1, "abs(a)"},
    {"tf.Abs", kI32, 1, "select(a, 0 - a, a < 0)"},
    {"tf.Neg", kFloats, 1, "-a"},
    {"tf.Neg", kI32, 1, "0 - a"},
    {"tf.Sign", kFloats, 1, "sign_of(a)"},
    {"tf.Sign", kI32, 1, "i32(a > 0) - i32(a < 0)"},
    {"tf.Square", kNumbers, 1, "a * a"},
    {"tf.Sqrt", kFloats, 1, "sqrt(a)"},
    {"tf.Rsqrt", kFloats, 1, "1.0 / sqrt(a)"},
    {"tf.Reciprocal", kFloats, 1, "1.0 / a"},
    {"tf.Exp", kFloats, 1, "exp_of(a)"},
    {"tf.Expm1", kFloats, 1, "expm1_of(a)"},
    {"tf.Log", kFloats, 1, "log_of(a)"},
    {"tf.Log1p", kFloats, 1, "log1p_of(a)"},
    {"tf.Sin", kFloats, 1, "sin_of(a)"},
    {"tf.Cos", kFloats, 1, "cos_of(a)"},
    {"tf.Tan", kFloats, 1, "tan_of(a)"},
    {"tf.Asin", kFloats, 1, "asin_of(a)"},
    {"tf.Acos", kFloats, 1, "acos_of(a)"},
    {"tf.Atan", kFloats, 1, "atan_of(a)"},
    {"tf.Sinh", kFloats, 1, "sinh_of(a)"},
    {"tf.Cosh", kFloats, 1, "cosh_of(a)"},
    {"tf.Tanh", kFloats, 1, "tanh_of(a)"},
    {"tf.Asinh", kFloats, 1, "asinh_of(a)"},
    {"tf.Acosh", kFloats, 1, "acosh_of(a)"},
    {"tf.Atanh", kFloats, 1, "atanh_of(a)"},
    {"tf.Sigmoid", kFloats, 1, "sigmoid(a)"},
    {"tf.Erf", kFloats, 1, "erf_of(a)"},
    {"tf.Floor", kFloats, 1, "floor(a)"},
    {"tf.Ceil", kFloats, 1, "ceil(a)"},
    {"tf.Round", kFloats, 1, "round(a)"},
    {"tf.Round", kI32, 1, "a"},
    {"tf.Rint", kFloats, 1, "round(a)"},
    {"tf.Invert", kIntegers, 1, "~a"},
    {"tf.LogicalNot", kBool, 1, "a ^ 1u"},
    {"tf.IsNan", kFloats, 1, "u32(is_nan(a))"},
    {"tf.IsInf", kFloats, 1, "u32(is_infinite(a))"},
    {"tf.IsFinite", kFloats, 1, "u32(is_finite(a))"},
    {"tf.Relu", kFloats, 1, "relu(a)"},
    {"tf.Relu", kI32, 1, "max(a, 0)"},
    {"tf.Relu", kU32, 1, "a"},
    {"tf.Relu6", kFloats, 1, "select(relu(a), 6.0, a > 6.0)"},
    {"tf.Relu6", kI32, 1, "clamp(a, 0, 6)"},
    {"tf.Relu6", kU32, 1, "min(a, 6u)"},
    {"tf.LeakyRelu", kFloats, 1, "select(a * alpha, a, a >= 0.0)", "alpha"},
    {"tf.Elu", kFloats, 1, "select(a, expm1_of(a), a < 0.0)"},
    {"tf.Selu", kFloats, 1, "selu(a)"},
    {"tf.Softplus", kFloats, 1, "softplus(a)"},
    {"tf.Softsign", kFloats, 1, "softsign(a)"},
    {"tandem.Gelu", kFloats, 1, "gelu(a)", nullptr, "approximate", "gelu_tanh(a)"},
    {"tandem.Prelu", kFloats, 2, "select(a * b, a, a >= 0.0)"},
    {"tf.AddV2", kNumbers, 2, "a + b"},
    {"tf.Sub", kNumbers, 2, "a - b"},
    {"tf.Mul", kNumbers, 2, "a * b"},
    {"tf.RealDiv", kFloats, 2, "a / b"},
    {"tf.DivNoNan", kFloats, 2, "select(a / b, 0.0, is_zero(b))"},
    {"tf.FloorDiv", kFloats, 2, "floor_quotient(a, b)"},
    {"tf.FloorDiv", kI32, 2, "floor_quotient_of_integers(a, b)"},
    {"tf.FloorDiv", kU32, 2, "select(a / max(b, 1u), 0u, b == 0u)"},
    {"tf.FloorMod", kFloats, 2, "floor_remainder(a, b)"},
    {"tf.FloorMod", kI32, 2, "floor_remainder_of_integers(a, b)"},
    {"tf.FloorMod", kU32, 2, "select(a % max(b, 1u), 0u, b == 0u)"},
    {"tf.Mod", kFloats, 2, "remainder_of(a, b)"},
    {"tf.Mod", kI32, 2, "remainder_of_integers(a, b)"},
    {"tf.Maximum", kFloats, 2, "maximum(a, b)"},
    {"tf.Maximum", kIntegers, 2, "max(a, b)"},
    {"tf.Minimum", kFloats, 2, "minimum(a, b)"},
    {"tf.Minimum", kIntegers, 2, "min(a, b)"},
    {"tf.Pow", kFloats, 2, "pow_of(a, b)"},
    {"tf.Pow", kI32, 2, "power_of_integers(a, b)"},
    {"tf.SquaredDifference", kSignedNumbers, 2, "(a - b) * (a - b)"},
    {"tf.Atan2", kFloats, 2, "atan2_of(a, b)"},
    {"tf.NextAfter", kF32, 2, "next_after(a, b)"},
    {"tf.LogicalAnd", kBool, 2, "a & b"},
    {"tf.LogicalOr", kBool, 2, "a | b"},
    {"tf.LogicalXor", kBool, 2, "a ^ b"},
    {"tf.Equal", kAny, 2, "u32(a == b)"},
    {"tf.NotEqual", kAny, 2, "1u - u32(a == b)"},
    {"tf.Less", kNumbers, 2, "u32(a < b)"},
    {"tf.LessEqual", kNumbers, 2, "u32(a <= b)"},
    {"tf.Greater", kNumbers, 2, "u32(a > b)"},
    {"tf.GreaterEqual", kNumbers, 2, "u32(a >= b)"},
    {"tf.BitwiseAnd", kIntegers, 2, "a & b"},
    {"tf.BitwiseOr", kIntegers, 2, "a | b"},
    {"tf.BitwiseXor", kIntegers, 2, "a ^ b"},
    {"tf.LeftShift", kI32, 2, "select(0, a << (u32(b) & 31u), u32(b) < 32u)"},
    {"tf.LeftShift", kU32, 2, "select(0u, a << (b & 31u), b < 32u)"},
    {"tf.RightShift", kI32, 2, "a >> min(u32(b), 31u)"},
    {"tf.RightShift", kU32, 2, "select(0u, a >> (b & 31u), b < 32u)"},
    // Of gradients and features, or of results and gradients, as the definitions have them.
    {"tf.ReluGrad", kFloats, 2, "select(0.0, a, b > 0.0)"},
    {"tf.ReluGrad", kI32, 2, "select(0, a, b > 0)"},
    {"tf.ReluGrad", kU32, 2, "select(0u, a, b > 0u)"},
    {"tf.Relu6Grad", kFloats, 2, "select(0.0, a, b > 0.0 && b < 6.0)"},
    {"tf.Relu6Grad", kI32, 2, "select(0, a, b > 0 && b < 6)"},
    {"tf.Relu6Grad", kU32, 2, "select(0u, a, b > 0u && b < 6u)"},
    {"tf.LeakyReluGrad", kFloats, 2, "select(a * alpha, a, b > 0.0)", "alpha"},
    {"tf.EluGrad", kFloats, 2, "select(a, a * (b + 1.0), b < 0.0)"},
    {"tf.SeluGrad", kFloats, 2, "a * select(1.05070102, b + 1.75809932, b < 0.0)"},
    {"tf.SoftplusGrad", kFloats, 2, "a * sigmoid(b)"},
    {"tf.SoftsignGrad", kFloats, 2, "a / (1.0 + abs(b)) / (1.0 + abs(b))"},
    {"tf.SigmoidGrad", kFloats, 2, "b * a * (1.0 - a)"},
    {"tf.TanhGrad", kFloats, 2, "b * (1.0 - a * a)"},
    {"tf.ClipByValue", kFloats, 3, "clip(a, b, c)"},
    {"tf.ClipByValue", kIntegers, 3, "max(min(a, c), b)"},
    {"tf.SelectV2", kAny, 3, "select(c, b, a != 0u)"},
};

}  // namespace internal::expressions

// Of all ops that are defined here.
constexpr std::span<const ElementExpression> ElementExpressions() { return internal::expressions::kAll; }

// Those of one op, each for other dtypes; none if it is not element-wise, or has no expression.
constexpr std::span<const ElementExpression> ElementExpressionsOf(std::string_view op) {
  const std::span<const ElementExpression> all = ElementExpressions();
  size_t first = 0;
  while (first < all.size() && std::string_view(all[first].op) != op) ++first;
  size_t count = 0;
  while (first + count < all.size() && std::string_view(all[first + count].op) == op) ++count;
  return all.subspan(first, count);
}

}  // namespace tandem

#endif  // TANDEM_ELEMENT_EXPRESSIONS_H_
