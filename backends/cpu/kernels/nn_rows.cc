// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The gradients of activations: functions of two elements, made vectors of by the compiler, once per instruction set.

#include "kernels/nn_rows.h"

#include <cstdint>

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/nn_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

struct ReluGrad {
  template <typename T>
  static HWY_INLINE T Apply(T gradient, T feature) {
    return feature > 0 ? gradient : T{0};
  }
};

struct Relu6Grad {
  template <typename T>
  static HWY_INLINE T Apply(T gradient, T feature) {
    return (feature > 0) & (feature < 6) ? gradient : T{0};
  }
};

HWY_INLINE Complex64 Multiply(Complex64 x, Complex64 y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

struct SigmoidGrad {
  template <typename T>
  static HWY_INLINE T Apply(T y, T dy) {
    return dy * y * (T{1} - y);
  }
  static HWY_INLINE Complex64 Apply(Complex64 y, Complex64 dy) { return Multiply(Multiply(dy, y), {1 - y.re, -y.im}); }
};

struct TanhGrad {
  template <typename T>
  static HWY_INLINE T Apply(T y, T dy) {
    return dy * (T{1} - y * y);
  }
  static HWY_INLINE Complex64 Apply(Complex64 y, Complex64 dy) {
    const Complex64 square = Multiply(y, y);
    return Multiply(dy, {1 - square.re, -square.im});
  }
};

template <typename Fn, typename T>
RowEntry Entry(const char* op, DType dtype) {
  RowEntry entry = {op, 2, {dtype}, &BinaryRow<Fn, T>};
  entry.is_float = dtype == DType::kF32;
  return entry;
}

template <typename Fn>
void ListReal(const char* op, RowSink sink) {
  sink(Entry<Fn, uint8_t>(op, DType::kU8));
  sink(Entry<Fn, int8_t>(op, DType::kI8));
  sink(Entry<Fn, uint16_t>(op, DType::kU16));
  sink(Entry<Fn, int16_t>(op, DType::kI16));
  sink(Entry<Fn, uint32_t>(op, DType::kU32));
  sink(Entry<Fn, int32_t>(op, DType::kI32));
  sink(Entry<Fn, uint64_t>(op, DType::kU64));
  sink(Entry<Fn, int64_t>(op, DType::kI64));
  sink(Entry<Fn, float>(op, DType::kF32));
  sink(Entry<Fn, double>(op, DType::kF64));
}

template <typename Fn>
void ListFloatOrComplex(const char* op, RowSink sink) {
  sink(Entry<Fn, float>(op, DType::kF32));
  sink(Entry<Fn, double>(op, DType::kF64));
  sink(Entry<Fn, Complex64>(op, DType::kC64));
}

}  // namespace

void ListGradients(RowSink sink) {
  ListReal<ReluGrad>("tf.ReluGrad", sink);
  ListReal<Relu6Grad>("tf.Relu6Grad", sink);
  ListFloatOrComplex<SigmoidGrad>("tf.SigmoidGrad", sink);
  ListFloatOrComplex<TanhGrad>("tf.TanhGrad", sink);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(ListGradients);
}

void ListGradientRows(RowSink sink) { HWY_DYNAMIC_DISPATCH(ListGradients)(sink); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
