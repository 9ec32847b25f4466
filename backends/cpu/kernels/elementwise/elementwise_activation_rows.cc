// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Activations that need no more than arithmetic, and limits: plain loops that the compiler turns into vectors, once per
// instruction set.

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/elementwise_rows.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_activation_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise/elementwise_lists-inl.h"
#include "kernels/elementwise/positive_part-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// All of them pass NaN on.
struct Relu {
  [[maybe_unused]] static constexpr bool kIsStream = true;
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    return PositivePart(x);
  }
};

// Both choices look at x, since two that follow each other become slower code.
struct Relu6 {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    const T positive = PositivePart(x);
    return x > 6 ? T{6} : positive;
  }
};

struct LeakyRelu {
  template <typename T>
  static HWY_INLINE T Apply(T x, T slope) {
    const T scaled = x * slope;
    return x >= 0 ? x : scaled;
  }
};

struct Softsign {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    // Larger numbers give -1 or 1, too.
    constexpr T kLimit = std::numeric_limits<T>::max();
    const T bounded = x > kLimit ? kLimit : x < -kLimit ? -kLimit : x;
    return bounded / (T{1} + std::fabs(bounded));
  }
};

// The lower limit wins, and so does a NaN.
struct Clip {
  template <typename T>
  static HWY_INLINE T Apply(T x, T low, T high) {
    const T below = ((x > high) | (high != high)) ? high : x;
    return ((below < low) | (low != low)) ? low : below;
  }
};

// The same with one lower and one upper limit.
template <typename T>
void ClipSingleRow(const void* const* operands, void* out, int64_t n) {
  const void* x = operands[0];
  const T low = LoadElement<T>(operands[1], 0);
  T high = LoadElement<T>(operands[2], 0);
  if (high < low || low != low) high = low;
  if (high != high) {
    for (int64_t i = 0; i < n; ++i) StoreElement(high, out, i);
    return;
  }
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T element = LoadElement<T>(x, i);
    const T above = element < low ? low : element;
    StoreElement(element > high ? high : above, out, i);
  }
}

template <typename... T>
constexpr void ListClip(RowList& list) {
  (list.Add({.op = "tf.ClipByValue",
             .num_operands = 3,
             .dtypes = {kDTypeOf<T>},
             .row = &TernaryRow<Clip, T>,
             .row_if_rest_single = &ClipSingleRow<T>,
             .is_float = std::is_same_v<T, float>}),
   ...);
}

constexpr void ListActivations(RowList& list) {
  const Rows rows(list);
  rows.UnaryReal<Relu>("tf.Relu");
  rows.UnaryReal<Relu6>("tf.Relu6");
  rows.Unary<Softsign, float, double>("tf.Softsign", 0.2f);
  rows.Binary<LeakyRelu, float, double>("tandem.Prelu");
  rows.UnaryWithParameter<LeakyRelu, float, double>("tf.LeakyRelu", "alpha");
  ListClip<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double>(list);
  rows.Complex("tf.ClipByValue", 3, &PairsRow<&TernaryRow<Clip, float>>);
}

constexpr auto kTable = MakeRowTable<&ListActivations>();

}  // namespace

RowTable ActivationRowsOfTarget() { return kTable; }

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(ActivationRowsOfTarget);
}  // namespace

RowTable ActivationRows() { return HWY_DYNAMIC_DISPATCH(ActivationRowsOfTarget)(); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
