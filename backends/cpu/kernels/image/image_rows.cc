// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of bilinear resizing: plain ones that the compiler turns into vectors, once per instruction set.

#include "kernels/image/image_rows.h"

#include "kernels/dtype_cases.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/image_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/reduction/reduction_load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE float Lerp(float from, float to, float lerp) { return from + (to - from) * lerp; }

// `kChannels`: their number, if it is known to the compiler; else 0.
template <int64_t kChannels, typename T>
HWY_INLINE void ResampleColumns(const T* HWY_RESTRICT row, const Tap* HWY_RESTRICT taps, int64_t count,
                                int64_t num_channels, float* HWY_RESTRICT out) {
  const int64_t channels = kChannels > 0 ? kChannels : num_channels;
  for (int64_t x = 0; x < count; ++x, out += channels) {
    const T* lower = row + taps[x].lower;
    const T* upper = row + taps[x].upper;
    const float lerp = taps[x].lerp;
    for (int64_t c = 0; c < channels; ++c) out[c] = Lerp(Load<float>(lower[c]), Load<float>(upper[c]), lerp);
  }
}

template <typename T>
void Columns(const void* row, const Tap* taps, int64_t count, int64_t channels, float* out) {
  const auto* x = static_cast<const T*>(row);
  if (channels == 1) return ResampleColumns<1>(x, taps, count, channels, out);
  if (channels == 3) return ResampleColumns<3>(x, taps, count, channels, out);
  ResampleColumns<0>(x, taps, count, channels, out);
}

template <typename T>
void Channels(const void* const corners[4], int64_t n, float x_lerp, float y_lerp, float* HWY_RESTRICT out) {
  const auto* HWY_RESTRICT top_left = static_cast<const T*>(corners[0]);
  const auto* HWY_RESTRICT top_right = static_cast<const T*>(corners[1]);
  const auto* HWY_RESTRICT bottom_left = static_cast<const T*>(corners[2]);
  const auto* HWY_RESTRICT bottom_right = static_cast<const T*>(corners[3]);
  TANDEM_COMPACT_LOOP
  for (int64_t c = 0; c < n; ++c) {
    const float top = Lerp(Load<float>(top_left[c]), Load<float>(top_right[c]), x_lerp);
    const float bottom = Lerp(Load<float>(bottom_left[c]), Load<float>(bottom_right[c]), x_lerp);
    out[c] = Lerp(top, bottom, y_lerp);
  }
}

void Rows(const float* HWY_RESTRICT top, const float* HWY_RESTRICT bottom, int64_t n, float lerp,
          float* HWY_RESTRICT out) {
  TANDEM_COMPACT_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = Lerp(top[i], bottom[i], lerp);
}

template <typename T>
constexpr BilinearRows Functions() {
  return {&Columns<T>, &Channels<T>, &Rows};
}

}  // namespace

BilinearRows BilinearRowsOf(DType dtype) {
  return OfDType<"tf.ResizeBilinear", uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t, Float16, BFloat16, float,
                 double>(dtype, []<typename T>() { return Functions<T>(); });
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(BilinearRowsOf);
}

BilinearRows FindBilinearRows(DType dtype) { return HWY_DYNAMIC_DISPATCH(BilinearRowsOf)(dtype); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
