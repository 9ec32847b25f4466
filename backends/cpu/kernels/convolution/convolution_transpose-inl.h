// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Transposing matrices, as images with the channels first are read and written; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_TRANSPOSE_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_TRANSPOSE_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_TRANSPOSE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "simd/simd_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
inline constexpr int kSquare = 8;

// An 8 x 8 square of f32 or u32: pairs, quadruples and halves of columns change places.
template <typename T>
HWY_INLINE void TransposeSquare(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  const hn::FixedTag<T, 8> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  using V = hn::Vec<decltype(d)>;
  V row[8], pair[8];
  HWY_UNROLL(8)
  for (int i = 0; i < 8; ++i) row[i] = hn::LoadU(d, from + i * from_stride);
  HWY_UNROLL(4)
  for (int i = 0; i < 8; i += 2) {
    pair[i] = hn::InterleaveLower(d, row[i], row[i + 1]);
    pair[i + 1] = hn::InterleaveUpper(d, row[i], row[i + 1]);
  }
  HWY_UNROLL(2)
  for (int i = 0; i < 8; i += 4) {
    HWY_UNROLL(2)
    for (int j = 0; j < 2; ++j) {
      const auto low = hn::BitCast(d64, pair[i + j]);
      const auto high = hn::BitCast(d64, pair[i + 2 + j]);
      row[i + 2 * j] = hn::BitCast(d, hn::InterleaveLower(d64, low, high));
      row[i + 2 * j + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, low, high));
    }
  }
  HWY_UNROLL(4)
  for (int j = 0; j < 4; ++j) {
    hn::StoreU(hn::ConcatLowerLower(d, row[4 + j], row[j]), d, to + j * to_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, row[4 + j], row[j]), d, to + (4 + j) * to_stride);
  }
}
#else
inline constexpr int kSquare = 4;

// A 4 x 4 square of the four rows from `at` on.
template <typename T>
HWY_INLINE void TransposeRows(const T* const* rows, int64_t at, T* to, int64_t to_stride) {
  const hn::FixedTag<T, 4> d;
  StoreTransposed(d, hn::LoadU(d, rows[0] + at), hn::LoadU(d, rows[1] + at), hn::LoadU(d, rows[2] + at),
                  hn::LoadU(d, rows[3] + at), to, to_stride);
}

template <typename T>
HWY_INLINE void TransposeSquare(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  const T* const rows[] = {from, from + from_stride, from + 2 * from_stride, from + 3 * from_stride};
  TransposeRows(rows, 0, to, to_stride);
}
#endif
#endif  // vectors

template <typename T>
HWY_INLINE void TransposePlainly(const T* from, int64_t from_stride, int64_t rows, int64_t cols, T* to,
                                 int64_t to_stride) {
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < cols.
template <typename T>
void Transpose(const T* from, int64_t from_stride, int64_t rows, int64_t cols, T* to, int64_t to_stride) {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (sizeof(T) == 4) {
    if (rows >= kSquare && cols >= kSquare) {
      // By cache lines of the result, each of which is written at once. The last squares overlap the ones before.
      constexpr int64_t kLine = 16;
      for (int64_t line = 0; line < rows; line += kLine) {
        for (int64_t left = 0; left < cols; left += kSquare) {
          const int64_t j = std::min(left, cols - kSquare);
          for (int64_t top = line; top < std::min(line + kLine, rows); top += kSquare) {
            const int64_t i = std::min(top, rows - kSquare);
            TransposeSquare(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
          }
        }
      }
      return;
    }
    if (rows == 3 && to_stride == 3) {
      const hn::ScalableTag<T> d;
      constexpr int64_t kLanes = HWY_LANES(T);
      int64_t j = 0;
      for (; j + kLanes <= cols; j += kLanes) {
        hn::StoreInterleaved3(hn::LoadU(d, from + j), hn::LoadU(d, from + from_stride + j),
                              hn::LoadU(d, from + 2 * from_stride + j), d, to + 3 * j);
      }
      return TransposePlainly(from + j, from_stride, 3, cols - j, to + 3 * j, 3);
    }
  }
#endif
  TransposePlainly(from, from_stride, rows, cols, to, to_stride);
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
