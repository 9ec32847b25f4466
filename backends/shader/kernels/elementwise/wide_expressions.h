// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Expressions of element-wise ops for dtypes that WGSL has not: those that differ from the ones of smaller dtypes, and
// those of complex numbers. What they call is in wide.wgsl.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_WIDE_EXPRESSIONS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_WIDE_EXPRESSIONS_H_

#include <array>

#include "kernels/element_types.h"
#include "tandem/dtype.h"
#include "tandem/element_expression.h"

namespace tandem::shader {

namespace wide {
inline constexpr DTypeSet kF64 = {DType::kF64};
inline constexpr DTypeSet kI64 = {DType::kI64};
inline constexpr DTypeSet kU64 = {DType::kU64};
inline constexpr DTypeSet kC64 = {DType::kC64};
}  // namespace wide

// None where no device has all dtypes.
inline constexpr auto kWideExpressions = [] {
  if constexpr (!kMayHaveAllDTypes) {
    return std::array<ElementExpression, 0>();
  } else {
    using namespace wide;
    return std::to_array<ElementExpression>({
        {"tf.SeluGrad", kF64, 2, "a * select(1.0507009873554805lf, b + 1.7580993408473769lf, b < 0.0)"},
        {"tf.LeftShift", kI64, 2, "select(i64(0), a << (u32(b) & 63u), u64(b) < u64(64u))"},
        {"tf.LeftShift", kU64, 2, "select(u64(0u), a << (u32(b) & 63u), b < u64(64u))"},
        {"tf.RightShift", kI64, 2, "a >> u32(min(u64(b), u64(63u)))"},
        {"tf.RightShift", kU64, 2, "select(u64(0u), a >> (u32(b) & 63u), b < u64(64u))"},
        {"tf.Sign", kC64, 1, "sign_of(a)"},
        {"tf.Sqrt", kC64, 1, "to_c64(sqrt_of(parts_of(a)))"},
        {"tf.Rsqrt", kC64, 1, "to_c64(quotient_of(vec2<f64>(1.0, -0.0), sqrt_of(parts_of(a))))"},
        {"tf.Reciprocal", kC64, 1, "to_c64(quotient_of(vec2<f64>(1.0, 0.0), parts_of(a)))"},
        {"tf.Exp", kC64, 1, "to_c64(exp_of(parts_of(a)))"},
        {"tf.Expm1", kC64, 1, "to_c64(expm1_of(parts_of(a)))"},
        {"tf.Log", kC64, 1, "to_c64(log_of(parts_of(a)))"},
        {"tf.Log1p", kC64, 1, "to_c64(log1p_of(parts_of(a)))"},
        {"tf.Sin", kC64, 1, "to_c64(times_i(sinh_of(over_i(parts_of(a)))))"},
        {"tf.Cos", kC64, 1, "to_c64(cosh_of(times_i(parts_of(a))))"},
        {"tf.Tan", kC64, 1, "to_c64(over_i(tanh_of(times_i(parts_of(a)))))"},
        {"tf.Asin", kC64, 1, "to_c64(asin_of(parts_of(a)))"},
        {"tf.Acos", kC64, 1, "to_c64(acos_of(parts_of(a)))"},
        {"tf.Atan", kC64, 1, "to_c64(over_i(atanh_of(times_i(parts_of(a)))))"},
        {"tf.Sinh", kC64, 1, "to_c64(sinh_of(parts_of(a)))"},
        {"tf.Cosh", kC64, 1, "to_c64(cosh_of(parts_of(a)))"},
        {"tf.Tanh", kC64, 1, "to_c64(tanh_of(parts_of(a)))"},
        {"tf.Asinh", kC64, 1, "to_c64(over_i(asin_of(times_i(parts_of(a)))))"},
        {"tf.Acosh", kC64, 1, "to_c64(acosh_of(parts_of(a)))"},
        {"tf.Atanh", kC64, 1, "to_c64(atanh_of(parts_of(a)))"},
        {"tf.Sigmoid", kC64, 1, "to_c64(sigmoid(parts_of(a)))"},
        {"tf.Round", kC64, 1, "c64(round(real_of(a)), round(imag_of(a)))"},
        {"tf.RealDiv", kC64, 2, "to_c64(quotient_of(parts_of(a), parts_of(b)))"},
        {"tf.DivNoNan", kC64, 2, "select(to_c64(quotient_of(parts_of(a), parts_of(b))), c64(0.0), b == c64(0.0))"},
        {"tf.Pow", kC64, 2, "to_c64(pow_of(parts_of(a), parts_of(b)))"},
        {"tf.SquaredDifference", kC64, 2, "squared_difference(a, b)"},
        {"tf.SigmoidGrad", kC64, 2, "b * a * (c64(1.0) - a)"},
        {"tf.TanhGrad", kC64, 2, "b * (c64(1.0) - a * a)"},
        {"tf.ClipByValue", kC64, 3,
         "c64(clip(real_of(a), real_of(b), real_of(c)), clip(imag_of(a), imag_of(b), imag_of(c)))"},
        {"tf.Complex", {DType::kF32}, 2, "c64(a, b)"},
        {"tf.Real", kC64, 1, "real_of(a)"},
        {"tf.Imag", kC64, 1, "imag_of(a)"},
        {"tf.Conj", kC64, 1, "conj_of(a)"},
        {"tf.ComplexAbs", kC64, 1, "abs_of(a)"},
    });
  }
}();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_WIDE_EXPRESSIONS_H_
