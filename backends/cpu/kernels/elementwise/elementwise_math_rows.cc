// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elementary functions: those of simd_math.h as rows.

#include "kernels/elementwise/elementwise_rows.h"
#include "simd/simd_math.h"

namespace tandem::cpu {

namespace {

template <typename T, void (*fn)(const T*, int64_t, T*)>
void MathRow(const void* const* operands, void* out, int64_t n) {
  fn(static_cast<const T*>(operands[0]), n, static_cast<T*>(out));
}

template <void (*f32)(const float*, int64_t, float*), void (*f64)(const double*, int64_t, double*)>
constexpr void Function(RowList& list, const char* op, float f32_cost, float f64_cost) {
  list.Add({.op = op,
            .num_operands = 1,
            .dtypes = {DType::kF32},
            .row = &MathRow<float, f32>,
            .cost = f32_cost,
            .is_float = true});
  list.Add({.op = op, .num_operands = 1, .dtypes = {DType::kF64}, .row = &MathRow<double, f64>, .cost = f64_cost});
}

template <typename T>
void Atan2Row(const void* const* operands, void* out, int64_t n) {
  simd::Atan2(static_cast<const T*>(operands[0]), static_cast<const T*>(operands[1]), n, static_cast<T*>(out));
}

template <typename T>
constexpr void Gelu(RowList& list, float cost) {
  list.Add({.op = "tandem.Gelu",
            .num_operands = 1,
            .dtypes = {kDTypeOf<T>},
            .row = &MathRow<T, &simd::Gelu>,
            .cost = cost,
            .is_float = sizeof(T) == sizeof(float),
            .flag = "approximate",
            .row_if_flag = &MathRow<T, &simd::GeluTanh>});
}

constexpr void ListRows(RowList& list) {
  Function<&simd::Sqrt, &simd::Sqrt>(list, "tf.Sqrt", 0.2f, 0.6f);
  Function<&simd::Rsqrt, &simd::Rsqrt>(list, "tf.Rsqrt", 0.4f, 1.0f);
  Function<&simd::Exp, &simd::Exp>(list, "tf.Exp", 0.5f, 1.5f);
  Function<&simd::Expm1, &simd::Expm1>(list, "tf.Expm1", 0.8f, 2.0f);
  Function<&simd::Log, &simd::Log>(list, "tf.Log", 0.8f, 2.0f);
  Function<&simd::Log1p, &simd::Log1p>(list, "tf.Log1p", 1.0f, 2.5f);
  Function<&simd::Sin, &simd::Sin>(list, "tf.Sin", 1.0f, 3.0f);
  Function<&simd::Cos, &simd::Cos>(list, "tf.Cos", 1.0f, 3.0f);
  Function<&simd::Tanh, &simd::Tanh>(list, "tf.Tanh", 1.0f, 2.5f);
  Function<&simd::Sigmoid, &simd::Sigmoid>(list, "tf.Sigmoid", 0.8f, 2.0f);
  Function<&simd::Erf, &simd::Erf>(list, "tf.Erf", 1.0f, 10.0f);
  Function<&simd::Tan, &simd::Tan>(list, "tf.Tan", 1.2f, 15.0f);
  Function<&simd::Sinh, &simd::Sinh>(list, "tf.Sinh", 1.0f, 15.0f);
  Function<&simd::Cosh, &simd::Cosh>(list, "tf.Cosh", 0.8f, 2.0f);
  Function<&simd::Asin, &simd::Asin>(list, "tf.Asin", 0.8f, 10.0f);
  Function<&simd::Acos, &simd::Acos>(list, "tf.Acos", 0.8f, 10.0f);
  Function<&simd::Atan, &simd::Atan>(list, "tf.Atan", 0.8f, 15.0f);
  Function<&simd::Asinh, &simd::Asinh>(list, "tf.Asinh", 1.5f, 20.0f);
  Function<&simd::Acosh, &simd::Acosh>(list, "tf.Acosh", 1.5f, 20.0f);
  Function<&simd::Atanh, &simd::Atanh>(list, "tf.Atanh", 1.5f, 20.0f);
  Function<&simd::Softplus, &simd::Softplus>(list, "tf.Softplus", 1.5f, 4.0f);
  Function<&simd::Elu, &simd::Elu>(list, "tf.Elu", 0.8f, 2.0f);
  Function<&simd::Selu, &simd::Selu>(list, "tf.Selu", 0.8f, 2.0f);
  Gelu<float>(list, 1.2f);
  Gelu<double>(list, 40.0f);
  list.Add({.op = "tf.Atan2",
            .num_operands = 2,
            .dtypes = {DType::kF32},
            .row = &Atan2Row<float>,
            .cost = 1.2f,
            .is_float = true});
  list.Add({.op = "tf.Atan2", .num_operands = 2, .dtypes = {DType::kF64}, .row = &Atan2Row<double>, .cost = 30});
}

constexpr auto kTable = MakeRowTable<&ListRows>();

}  // namespace

RowTable MathRows() { return kTable; }

}  // namespace tandem::cpu
