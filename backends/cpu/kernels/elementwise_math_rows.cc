// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elementary functions: those of simd_math.h as rows.

#include "kernels/elementwise_rows.h"
#include "kernels/simd_math.h"

namespace tandem::cpu {

namespace {

template <typename T, void (*fn)(const T*, int64_t, T*)>
void MathRow(const void* const* operands, void* out, int64_t n) {
  fn(static_cast<const T*>(operands[0]), n, static_cast<T*>(out));
}

template <void (*f32)(const float*, int64_t, float*), void (*f64)(const double*, int64_t, double*)>
void Function(RowSink sink, const char* op, float f32_cost, float f64_cost) {
  sink({.op = op,
        .num_operands = 1,
        .dtypes = {DType::kF32},
        .row = &MathRow<float, f32>,
        .cost = f32_cost,
        .is_float = true});
  sink({.op = op, .num_operands = 1, .dtypes = {DType::kF64}, .row = &MathRow<double, f64>, .cost = f64_cost});
}

}  // namespace

void ListMathRows(RowSink sink) {
  Function<&simd::Sqrt, &simd::Sqrt>(sink, "tf.Sqrt", 0.2f, 0.6f);
  Function<&simd::Rsqrt, &simd::Rsqrt>(sink, "tf.Rsqrt", 0.4f, 1.0f);
  Function<&simd::Exp, &simd::Exp>(sink, "tf.Exp", 0.5f, 1.5f);
  Function<&simd::Expm1, &simd::Expm1>(sink, "tf.Expm1", 0.8f, 2.0f);
  Function<&simd::Log, &simd::Log>(sink, "tf.Log", 0.8f, 2.0f);
  Function<&simd::Log1p, &simd::Log1p>(sink, "tf.Log1p", 1.0f, 2.5f);
  Function<&simd::Sin, &simd::Sin>(sink, "tf.Sin", 1.0f, 3.0f);
  Function<&simd::Cos, &simd::Cos>(sink, "tf.Cos", 1.0f, 3.0f);
  Function<&simd::Tanh, &simd::Tanh>(sink, "tf.Tanh", 1.0f, 2.5f);
  Function<&simd::Sigmoid, &simd::Sigmoid>(sink, "tf.Sigmoid", 0.8f, 2.0f);
  Function<&simd::Erf, &simd::Erf>(sink, "tf.Erf", 1.0f, 10.0f);
}

}  // namespace tandem::cpu
