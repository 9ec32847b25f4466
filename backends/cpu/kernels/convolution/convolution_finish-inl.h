// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// BiasAndLimits of a tile's sums, compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_FINISH_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_FINISH_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_FINISH_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"
#include "kernels/convolution/convolution_finish.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether tiles finish their sums; where code is to be small, who calls them does for all types but f32.
#ifdef TANDEM_SMALL
template <typename T>
inline constexpr bool kTilesFinish = std::is_same_v<T, float>;
#else
template <typename T>
inline constexpr bool kTilesFinish = std::is_floating_point_v<T>;
#endif

// The same limits for all lanes. Where an operand of Max or Min is NaN, the second one comes out on x86, and NaN on
// other processors: so v comes second, for its NaN.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
class Finish {
 public:
  HWY_INLINE Finish(D d, const BiasAndLimits<T>& limits)
      : low_(hn::Set(d, limits.low)),
        high_(hn::Set(d, limits.high)),
        zero_(hn::Set(d, limits.low == 0 ? T{0} : -T{0})) {}

  // What to call with as `bias`: without -0 where that is below the limit, which then no sum with it is.
  HWY_INLINE V Bias(V bias) const { return hn::Add(bias, zero_); }

  HWY_INLINE V operator()(V sum, V bias) const { return Limit(hn::Add(sum, bias)); }
  HWY_INLINE V operator()(V sum, V bias, V added) const { return Limit(hn::Add(hn::Add(sum, bias), added)); }

 private:
  HWY_INLINE V Limit(V v) const {
#if HWY_TARGET == HWY_WASM
    // A comparison and a choice in one instruction, of which the first operand comes out if there is a NaN; Max takes
    // several.
    if constexpr (std::is_same_v<T, float>) {
      return V{wasm_f32x4_pmin(wasm_f32x4_pmax(v.raw, low_.raw), high_.raw)};
    }
#endif
    return hn::Min(high_, hn::Max(low_, v));
  }

  const V low_, high_, zero_;
};

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
