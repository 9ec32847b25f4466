// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The gradients of activations: functions of two elements, made vectors of by the compiler, once per instruction set.

#include "kernels/nn/nn_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "simd/simd_math.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/nn/nn_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise/elementwise_lists-inl.h"

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
    return ((feature > 0) & (feature < 6)) ? gradient : T{0};
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

struct LeakyReluGrad {
  template <typename T>
  static HWY_INLINE T Apply(T gradient, T feature, T slope) {
    const T scaled = gradient * slope;
    return feature > 0 ? gradient : scaled;
  }
};

struct EluGrad {
  template <typename T>
  static HWY_INLINE T Apply(T gradient, T output) {
    const T scaled = gradient * (output + T{1});
    return output < 0 ? scaled : gradient;
  }
};

struct SeluGrad {
  template <typename T>
  static HWY_INLINE T Apply(T gradient, T output) {
    constexpr T kScale = static_cast<T>(1.0507009873554804934);
    constexpr T kScaleAlpha = static_cast<T>(1.7580993408473768600);
    const T factor = output < 0 ? output + kScaleAlpha : kScale;
    return gradient * factor;
  }
};

// In two steps, since the square may overflow.
struct SoftsignGrad {
  template <typename T>
  static HWY_INLINE T Apply(T gradient, T feature) {
    const T sum = T{1} + std::fabs(feature);
    return gradient / sum / sum;
  }
};

// gradient / (1 + e^-feature), by way of a buffer, since the result may be in the memory of an operand.
template <typename T>
void SoftplusGradRow(const void* const* operands, void* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  T slope[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    const T* gradients = static_cast<const T*>(operands[0]) + begin;
    simd::Sigmoid(static_cast<const T*>(operands[1]) + begin, size, slope);
    T* to = static_cast<T*>(out) + begin;
    TANDEM_INDEPENDENT
    for (int64_t i = 0; i < size; ++i) to[i] = gradients[i] * slope[i];
  }
}

constexpr void ListGradients(RowList& list) {
  const Rows rows(list);
  rows.BinaryReal<ReluGrad>("tf.ReluGrad");
  rows.BinaryReal<Relu6Grad>("tf.Relu6Grad");
  rows.Binary<SigmoidGrad, float, double, Complex64>("tf.SigmoidGrad");
  rows.Binary<TanhGrad, float, double, Complex64>("tf.TanhGrad");
  rows.BinaryWithParameter<LeakyReluGrad, float, double>("tf.LeakyReluGrad", "alpha");
  rows.Binary<EluGrad, float, double>("tf.EluGrad");
  rows.Binary<SeluGrad, float, double>("tf.SeluGrad");
  rows.Binary<SoftsignGrad, float, double>("tf.SoftsignGrad", 0.4f);
  rows.Float("tf.SoftplusGrad", 0.8f, &SoftplusGradRow<float>);
  list.Add({.op = "tf.SoftplusGrad",
            .num_operands = 2,
            .dtypes = {DType::kF64},
            .row = &SoftplusGradRow<double>,
            .cost = 2});
}

constexpr auto kTable = MakeRowTable<&ListGradients>();

}  // namespace

RowTable GradientRowsOfTarget() { return kTable; }

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(GradientRowsOfTarget);
}

RowTable GradientRows() { return HWY_DYNAMIC_DISPATCH(GradientRowsOfTarget)(); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
