// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which element types Gemm has vectors for, and packing their matrices; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_GEMM_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_GEMM_GEMM_PACK_INL_H_
#undef TANDEM_BACKENDS_CPU_GEMM_GEMM_PACK_INL_H_
#else
#define TANDEM_BACKENDS_CPU_GEMM_GEMM_PACK_INL_H_
#endif

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gemm/gemm_kernels.h"
#include "hwy/highway.h"
#include "kernels/compact.h"
#include "simd/simd_bf16-inl.h"
#include "simd/simd_partial-inl.h"
#include "simd/simd_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
inline constexpr bool kVectors32 = false;
#else
inline constexpr bool kVectors32 = true;
#endif
template <typename T>
inline constexpr bool kHasVectors =
    kVectors32 && !kIsCompact<T> &&
    (std::is_same_v<T, float> || std::is_same_v<T, uint32_t> || (HWY_HAVE_FLOAT64 && std::is_same_v<T, double>));

// Complex matrices are multiplied by real vectors: packed rows of B are all real parts, then all imaginary ones.
template <typename T>
inline constexpr bool kHasPlanes = kVectors32 && !kIsCompact<T> && std::is_same_v<T, PlainComplex64>;

template <typename S, typename T>
HWY_INLINE T ConvertElement(S value) {
  if constexpr (std::is_same_v<S, std::complex<float>>) {
    return {value.real(), value.imag()};
  } else {
    return static_cast<T>(value);
  }
}

template <typename S, typename T>
HWY_INLINE void ConvertRun(const S* from, int64_t count, T* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (std::is_same_v<T, float> && !std::is_same_v<S, float> && !kIsCompact<S>) {
    const hn::ScalableTag<float> df;
    const hn::ScalableTag<uint32_t> du;
    const hn::Rebind<uint16_t, decltype(du)> du16;
    constexpr int kLanes = HWY_LANES(float);
    for (; i + kLanes <= count; i += kLanes) {
      const auto bits = hn::PromoteTo(du, hn::LoadU(du16, reinterpret_cast<const uint16_t*>(from + i)));
      if constexpr (std::is_same_v<S, BFloat16>) {
        hn::StoreU(hn::BitCast(df, hn::ShiftLeft<16>(bits)), df, to + i);
      } else {
        const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
        const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7FFFu)));
        // The product moves the exponent to float's bias and makes subnormals normal; infinity and NaN are set apart.
        const auto finite = hn::BitCast(du, hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, 0x1p112f)));
        const auto special = hn::Eq(hn::And(bits, hn::Set(du, 0x7C00u)), hn::Set(du, 0x7C00u));
        const auto absolute = hn::IfThenElse(special, hn::Or(magnitude, hn::Set(du, 0x7F800000u)), finite);
        hn::StoreU(hn::BitCast(df, hn::Or(absolute, sign)), df, to + i);
      }
    }
  }
#endif
  for (; i < count; ++i) to[i] = ConvertElement<S, T>(from[i]);
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
template <typename T>
inline constexpr int kTransposeSize = kHasVectors<T> ? 16 / sizeof(T) : 1;

// to[p * to_stride + i] = from[i * from_stride + p], a square of one 16-byte vector each way.
template <typename T>
HWY_INLINE void TransposeSquare(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + from_stride);
  if constexpr (sizeof(T) == 8) {
    hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
    hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + to_stride);
  } else {
    const auto r2 = hn::LoadU(d, from + 2 * from_stride);
    const auto r3 = hn::LoadU(d, from + 3 * from_stride);
    StoreTransposed(d, r0, r1, r2, r3, to, to_stride);
  }
}
#else
template <typename T>
inline constexpr int kTransposeSize = 1;
template <typename T>
void TransposeSquare(const T*, int64_t, T*, int64_t);  // never called
#endif

// to[p * kWidth + i] = from[i * stride + p]
template <typename T, int kWidth>
void TransposePanel(const T* from, int64_t stride, int64_t width, int64_t depth, T* to) {
  if constexpr (constexpr int64_t kSize = kTransposeSize<T>; kSize > 1) {
    for (int64_t next = 0; next < width && width >= kSize; next += kSize) {
      const int64_t i = std::min(next, width - kSize);  // the last square has some rows again
      const T* rows = from + i * stride;
      int64_t p = 0;
      for (; p + kSize <= depth; p += kSize) TransposeSquare(rows + p, stride, to + p * kWidth + i, kWidth);
      for (; p < depth; ++p) {
        for (int64_t r = 0; r < kSize; ++r) to[p * kWidth + i + r] = rows[r * stride + p];
      }
    }
    if (width >= kSize) return;
  }
  for (int64_t i = 0; i < width; ++i) {
    for (int64_t p = 0; p < depth; ++p) to[p * kWidth + i] = from[i * stride + p];
  }
}

template <typename S, typename T, int kWidth>
void ConvertAndTransposePanel(const S* from, int64_t stride, int64_t width, int64_t depth, T* to) {
  constexpr int64_t kChunk = 64;
  alignas(64) T converted[kWidth * kChunk];
  for (int64_t p = 0; p < depth; p += kChunk) {
    const int64_t count = std::min(kChunk, depth - p);
    for (int64_t i = 0; i < width; ++i) ConvertRun(from + i * stride + p, count, converted + i * kChunk);
    TransposePanel<T, kWidth>(converted, kChunk, width, count, to + p * kWidth);
  }
}

template <typename S, typename T, int kWidth>
void Pack(const S* from, int64_t width_stride, int64_t depth_stride, int64_t width, int64_t depth, T* to) {
  if constexpr (!kFastMasks || !kHasVectors<T>) {  // else what is beyond `width` is masked out
    for (int64_t i = width; i < kWidth; ++i) {
      for (int64_t p = 0; p < depth; ++p) to[p * kWidth + i] = T{};
    }
  }
  if (kIsCompact<S>) {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t i = 0; i < width; ++i) {
        to[p * kWidth + i] = ConvertElement<S, T>(from[i * width_stride + p * depth_stride]);
      }
    }
  } else if (width_stride == 1 && width == kWidth && std::is_same_v<S, T>) {
    // Of a large matrix each row is on another page, where the processor does not expect it.
    constexpr int64_t kRowsAhead = 16;
    for (int64_t p = 0; p < depth; ++p) {
      __builtin_prefetch(from + std::min(p + kRowsAhead, depth - 1) * depth_stride);
      std::memcpy(to + p * kWidth, from + p * depth_stride, kWidth * sizeof(T));
    }
  } else if (width_stride == 1) {
    for (int64_t p = 0; p < depth; ++p) ConvertRun(from + p * depth_stride, width, to + p * kWidth);
  } else if (depth_stride == 1) {
    if constexpr (std::is_same_v<S, T>) {
      TransposePanel<T, kWidth>(from, width_stride, width, depth, to);
    } else {
      ConvertAndTransposePanel<S, T, kWidth>(from, width_stride, width, depth, to);
    }
  } else {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t i = 0; i < width; ++i) {
        to[p * kWidth + i] = ConvertElement<S, T>(from[i * width_stride + p * depth_stride]);
      }
    }
  }
}

// One panel of B for PlanesTile: a row of kWidth complex numbers as two rows of as many reals.
template <int kWidth>
void PackPlanes(const std::complex<float>* from, int64_t width_stride, int64_t depth_stride, int64_t width,
                int64_t depth, PlainComplex64* to) {
  auto* re = reinterpret_cast<float*>(to);
  for (int64_t p = 0; p < depth; ++p, from += depth_stride, re += 2 * kWidth) {
    float* im = re + kWidth;
    for (int64_t i = 0; i < width; ++i) {
      re[i] = from[i * width_stride].real();
      im[i] = from[i * width_stride].imag();
    }
    for (int64_t i = width; i < kWidth; ++i) re[i] = im[i] = 0;
  }
}

template <typename S, typename T>
void Round(const T* from, int64_t count, S* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_WASM && !HWY_HAVE_SCALABLE
  if constexpr (std::is_same_v<S, BFloat16>) {
    const hn::ScalableTag<float> d;
    constexpr int kLanes = HWY_LANES(float);
    for (; i + kLanes <= count; i += kLanes) StoreBF16(hn::LoadU(d, from + i), d, &to[i].bits);
  }
#endif
  for (; i < count; ++i) {
    if constexpr (std::is_same_v<S, std::complex<float>>) {
      to[i] = S(from[i].re, from[i].im);
    } else {
      to[i] = static_cast<S>(from[i]);
    }
  }
}

}  // namespace
}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
