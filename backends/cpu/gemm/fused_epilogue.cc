// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Biases and activations of rows: what is cheap is computed with the bias, in vectors; the rest is put together from
// the elementary functions of arrays.

#include "gemm/fused_epilogue.h"

#include <algorithm>
#include <type_traits>

#include "simd/simd_math.h"
#include "simd/simd_targets.h"
#include "tandem/kernel_run.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/fused_epilogue.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/simd_math-inl.h"
#include "simd/simd_partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// x = fn(x + bias + added); `added` may be null.
template <typename T, typename Fn>
HWY_INLINE void Map(T* HWY_RESTRICT x, const T* HWY_RESTRICT bias, const T* HWY_RESTRICT added, int64_t n, Fn fn) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V v = hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, bias + i));
    if (added != nullptr) v = hn::Add(v, hn::LoadU(d, added + i));
    hn::StoreU(fn(v), d, x + i);
  }
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  V v = hn::Add(LoadFirst(d, rest, x + i), LoadFirst(d, rest, bias + i));
  if (added != nullptr) v = hn::Add(v, LoadFirst(d, rest, added + i));
  StoreFirst(fn(v), d, rest, x + i);
}

// x (1 + erf(x / sqrt(2))) / 2 by a polynomial in x^2 up to |x| = 5.25, from where on the half of the sum rounds to 0
// or 1, of degree 14, fitted by Lawson's algorithm. The error is below 3.4 (ULP + 2^-23), with and without fused
// multiply-add: about what the sum, which cancels for x below 0, costs in any case. -infinity gives NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluBySum(D d, V x) {
  constexpr float kLimit = 5.25f;
  static constexpr float kHalfErf[] = {0x1.13c848p-3f,  -0x1.12f386p-4f,  0x1.96b288p-5f, -0x1.45c0fep-5f,
                                       0x1.066c1ep-5f,  -0x1.9a0d4cp-6f,  0x1.2f6516p-6f, -0x1.a48f0cp-7f,
                                       0x1.166644p-7f,  -0x1.5d6be6p-8f,  0x1.681594p-9f, -0x1.2d1b78p-10f,
                                       0x1.a0b3c6p-11f, -0x1.43eba2p-11f, 0x1.992cdep-13f};
  const V one = hn::Set(d, 1.0f);
  const V square = AtMost(d, hn::Mul(x, x), kLimit * kLimit);
  const V u = MultiplyAdd(square, hn::Set(d, 2.0f / (kLimit * kLimit)), hn::Neg(one));
  const V within = MultiplyAdd(x, Polynomial(d, u, kHalfErf), hn::Set(d, 0.5f));
  const V beyond = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
  return hn::Mul(x, hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Set(d, kLimit)), beyond, within));
}

// Adds the bias and what else is to be added, and computes the activation if it is one of those that compare and
// multiply, or GeluExact of f32 unless `is_exact`: whether it was computed. NaN stays NaN.
template <typename T>
bool AddBias(const FusedEpilogue<T>& epilogue, bool is_exact, T* x, const T* bias, const T* added, int64_t n) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V zero = hn::Zero(d);
  switch (epilogue.activation) {
    case Activation::kRelu:
      Map(x, bias, added, n, [zero](V v) { return hn::IfThenZeroElse(hn::Le(v, zero), v); });
      return true;
    case Activation::kRelu6: {
      const V six = hn::Set(d, T{6});
      Map(x, bias, added, n,
          [zero, six](V v) { return hn::IfThenElse(hn::Gt(v, six), six, hn::IfThenZeroElse(hn::Le(v, zero), v)); });
      return true;
    }
    case Activation::kLeakyRelu: {
      const V alpha = hn::Set(d, epilogue.leakyrelu_alpha);
      Map(x, bias, added, n, [zero, alpha](V v) { return hn::IfThenElse(hn::Gt(v, zero), v, hn::Mul(alpha, v)); });
      return true;
    }
    case Activation::kGeluExact:
      if constexpr (std::is_same_v<T, float>) {
        if (!is_exact && !epilogue.is_for_halves) {
          Map(x, bias, added, n, [d](V v) { return GeluBySum(d, v); });
          return true;
        }
      }
      [[fallthrough]];
    default:
      Map(x, bias, added, n, [](V v) { return v; });
      return epilogue.activation == Activation::kNone;
  }
}

#if !HWY_HAVE_FLOAT64
// As AddBias, for a single number.
double AddBiasToOne(const FusedEpilogue<double>& epilogue, double x, double bias, const double* added) {
  const double sum = x + bias;
  const double v = added == nullptr ? sum : sum + *added;
  switch (epilogue.activation) {
    case Activation::kRelu:
      return v <= 0 ? 0 : v;
    case Activation::kRelu6:
      return v > 6 ? 6 : v <= 0 ? 0 : v;
    case Activation::kLeakyRelu:
      return v > 0 ? v : epilogue.leakyrelu_alpha * v;
    default:
      return v;
  }
}
#endif

}  // namespace

bool AddBiasF32(const FusedEpilogue<float>& epilogue, bool is_exact, float* x, const float* bias, const float* added,
                int64_t n) {
  return AddBias(epilogue, is_exact, x, bias, added, n);
}
bool AddBiasF64(const FusedEpilogue<double>& epilogue, [[maybe_unused]] bool is_exact, double* x, const double* bias,
                const double* added, int64_t n) {
#if HWY_HAVE_FLOAT64
  return AddBias(epilogue, is_exact, x, bias, added, n);
#else
  for (int64_t i = 0; i < n; ++i) x[i] = AddBiasToOne(epilogue, x[i], bias[i], added == nullptr ? nullptr : added + i);
  return false;
#endif
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {
namespace {

HWY_EXPORT(AddBiasF32);
HWY_EXPORT(AddBiasF64);

bool AddBias(const FusedEpilogue<float>& epilogue, bool is_exact, float* x, const float* bias, const float* added,
             int64_t n) {
  return HWY_DYNAMIC_DISPATCH(AddBiasF32)(epilogue, is_exact, x, bias, added, n);
}
bool AddBias(const FusedEpilogue<double>& epilogue, bool is_exact, double* x, const double* bias, const double* added,
             int64_t n) {
  return HWY_DYNAMIC_DISPATCH(AddBiasF64)(epilogue, is_exact, x, bias, added, n);
}

// x < 0 ? e^x - 1 : x
template <typename T>
void Elu(T* x, int64_t n, T* buffer) {
  simd::Expm1(x, n, buffer);
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? buffer[i] : x[i];
}

template <typename T>
void GeluExact(T* x, int64_t n, T* buffer) {
  constexpr T kRootOfHalf = static_cast<T>(0.70710678118654752440);
  for (int64_t i = 0; i < n; ++i) buffer[i] = x[i] * kRootOfHalf;
  simd::Erf(buffer, n, buffer);
  for (int64_t i = 0; i < n; ++i) x[i] = T{0.5} * x[i] * (T{1} + buffer[i]);
}

// By (1 + tanh(u)) / 2 = sigmoid(2 u), which does not cancel.
template <typename T>
void GeluApproximate(T* x, int64_t n, T* buffer) {
  constexpr T kTwoRootsOfTwoOverPi = static_cast<T>(1.59576912160573071176);
  constexpr T kCubic = static_cast<T>(0.044715);
  for (int64_t i = 0; i < n; ++i) buffer[i] = kTwoRootsOfTwoOverPi * (x[i] + kCubic * x[i] * x[i] * x[i]);
  simd::Sigmoid(buffer, n, buffer);
  for (int64_t i = 0; i < n; ++i) x[i] *= buffer[i];
}

template <typename T>
void Activate(Activation activation, T* x, int64_t n, T* buffer) {
  switch (activation) {
    case Activation::kElu:
      return Elu(x, n, buffer);
    case Activation::kTanh:
      return simd::Tanh(x, n, x);
    case Activation::kSigmoid:
      return simd::Sigmoid(x, n, x);
    case Activation::kGeluExact:
      return GeluExact(x, n, buffer);
    case Activation::kGeluApproximate:
      return GeluApproximate(x, n, buffer);
    default:
      return;  // done with the bias
  }
}

}  // namespace

Activation FindActivation(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Activation activation;
  } kActivations[] = {
      {"Relu", Activation::kRelu},
      {"Relu6", Activation::kRelu6},
      {"Elu", Activation::kElu},
      {"LeakyRelu", Activation::kLeakyRelu},
      {"Tanh", Activation::kTanh},
      {"Sigmoid", Activation::kSigmoid},
      {"GeluExact", Activation::kGeluExact},
      {"GeluApproximate", Activation::kGeluApproximate},
  };
  for (const auto& entry : kActivations) {
    if (entry.name == name) return entry.activation;
  }
  return Activation::kNone;
}

template <typename T>
void FusedEpilogue<T>::Apply(T* x, int64_t stride, int64_t rows, int64_t col, int64_t cols, const T* added,
                             int64_t added_stride) const {
  constexpr int64_t kBlock = 512;
  alignas(64) T buffer[kBlock];
  const bool is_exact = KernelRun::IsExact();
  // Short rows without gaps are activated several at a time.
  const int64_t group = stride == cols && cols > 0 && cols < kBlock ? kBlock / cols : 1;
  for (int64_t row = 0; row < rows; row += group, x += group * stride) {
    const int64_t count = std::min(group, rows - row);
    bool is_activated = false;
    for (int64_t i = 0; i < count; ++i) {
      const T* const of_row = added == nullptr ? nullptr : added + (row + i) * added_stride;
      is_activated = AddBias(*this, is_exact, x + i * stride, bias + col, of_row, cols);
    }
    if (is_activated) continue;
    for (int64_t i = 0; i < count * cols; i += kBlock) {
      Activate(activation, x + i, std::min(kBlock, count * cols - i), buffer);
    }
  }
}

template struct FusedEpilogue<float>;
template struct FusedEpilogue<double>;

}  // namespace tandem::cpu
#endif  // HWY_ONCE
