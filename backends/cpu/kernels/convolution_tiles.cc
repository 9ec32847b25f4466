// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The register tiles of convolutions, compiled once per instruction set: as those of Gemm, but with the left matrix
// read in place through one address for each row, as in Dukhan, "The Indirect Convolution Algorithm" (2019).

#include "kernels/convolution_tiles.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution_tiles.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3
inline constexpr int kMaxTileRows = 12;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kMaxTileRows = 6;
#else
inline constexpr int kMaxTileRows = 4;
#endif

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
template <typename T>
inline constexpr bool kHasTiles = false;
#else
template <typename T>
inline constexpr bool kHasTiles = HWY_HAVE_FLOAT64 || !std::is_same_v<T, double>;

template <class V>
HWY_INLINE V MultiplyAdd(V x, V y, V sum) {
  if constexpr (std::is_integral_v<hn::TFromV<V>>) {
    return hn::Add(hn::Mul(x, y), sum);
  } else {
    return hn::MulAdd(x, y, sum);
  }
}

// C's tile of kRows rows, of which the first `num_rows` are stored, and kVectors vectors, of which the last one counts
// `last` columns.
template <typename T, int kRows, int kVectors>
HWY_NOINLINE void Tile(const GatheredProduct<T>& g, const T* const* rows, int num_rows, const T* HWY_RESTRICT b, T* c,
                       size_t last) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(T);
  const int64_t step = g.step;
  const int64_t panel_cols = g.panel_cols;
  const T* a[kRows];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) a[i] = rows[i];
  V sum[kRows][kVectors];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  }
  for (const GatherRun *run = g.runs, *end = run + g.num_runs; run != end; ++run) {
    int64_t at = run->offset;
    for (int64_t p = run->length; p > 0; --p) {
      V row[kVectors];
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, b + j * kLanes);
      HWY_UNROLL(16)
      for (int i = 0; i < kRows; ++i) {
        const V x = hn::Set(d, a[i][at]);
        HWY_UNROLL(2)
        for (int j = 0; j < kVectors; ++j) sum[i][j] = MultiplyAdd(x, row[j], sum[i][j]);
      }
      at += step;
      b += panel_cols;
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i, c += g.ldc) {
    if (i == num_rows) break;
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      T* to = c + j * kLanes;
      if (j == kVectors - 1 && last != kLanes) {
        StoreFirst(g.accumulate ? hn::Add(sum[i][j], LoadFirst(d, last, to)) : sum[i][j], d, last, to);
      } else {
        hn::StoreU(g.accumulate ? hn::Add(sum[i][j], hn::LoadU(d, to)) : sum[i][j], d, to);
      }
    }
  }
}

template <typename T, int kRows>
HWY_INLINE void TileOfCols(const GatheredProduct<T>& g, const T* const* rows, int num_rows, const T* b, T* c,
                           int64_t cols) {
  constexpr int64_t kLanes = HWY_LANES(T);
  if (cols > kLanes) {
    Tile<T, kRows, 2>(g, rows, num_rows, b, c, static_cast<size_t>(cols - kLanes));
  } else {
    Tile<T, kRows, 1>(g, rows, num_rows, b, c, static_cast<size_t>(cols));
  }
}

template <typename T>
void LastTile(const GatheredProduct<T>& g, int64_t row, const T* b, T* c, int64_t cols) {
  const T* rows[kMaxTileRows];
  const int num_rows = static_cast<int>(g.num_rows - row);
  for (int i = 0; i < kMaxTileRows; ++i) rows[i] = g.rows[std::min(row + i, g.num_rows - 1)];
  if (kMaxTileRows > 8 && num_rows > 8) {
    TileOfCols<T, kMaxTileRows>(g, rows, num_rows, b, c, cols);
  } else if (kMaxTileRows > 4 && num_rows > 4) {
    TileOfCols<T, std::min(kMaxTileRows, 8)>(g, rows, num_rows, b, c, cols);
  } else if (num_rows > 2) {
    TileOfCols<T, 4>(g, rows, num_rows, b, c, cols);
  } else if (num_rows == 2) {
    TileOfCols<T, 2>(g, rows, num_rows, b, c, cols);
  } else {
    TileOfCols<T, 1>(g, rows, num_rows, b, c, cols);
  }
}

#endif  // vectors

// Without Highway: for targets and types that it has no vectors for.
template <typename T>
void PlainProduct(const GatheredProduct<T>& g) {
  for (int64_t col = 0; col < g.cols; ++col) {
    const T* const panel = g.b + col / g.panel_cols * g.panel_stride + col % g.panel_cols;
    for (int64_t row = 0; row < g.num_rows; ++row) {
      T sum = 0;
      const T* b = panel;
      for (int64_t r = 0; r < g.num_runs; ++r) {
        const T* a = g.rows[row] + g.runs[r].offset;
        for (int64_t p = 0; p < g.runs[r].length; ++p, b += g.panel_cols) sum += a[p * g.step] * *b;
      }
      T& to = g.c[row * g.ldc + col];
      to = g.accumulate ? to + sum : sum;
    }
  }
}

// A panel of B stays in the first-level cache while all rows pass by it.
template <typename T>
void Multiply(const GatheredProduct<T>& g) {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (kHasTiles<T>) {
    const T* b = g.b;
    for (int64_t col = 0; col < g.cols; col += g.panel_cols, b += g.panel_stride) {
      const int64_t cols = std::min(g.panel_cols, g.cols - col);
      int64_t row = 0;
      for (; row + kMaxTileRows <= g.num_rows; row += kMaxTileRows) {
        TileOfCols<T, kMaxTileRows>(g, g.rows + row, kMaxTileRows, b, g.c + row * g.ldc + col, cols);
      }
      if (row < g.num_rows) LastTile(g, row, b, g.c + row * g.ldc + col, cols);
    }
    return;
  }
#endif
  PlainProduct(g);
}

}  // namespace

#define TANDEM_FOR_EACH_TILE_TYPE(X) \
  X(F32, float)                      \
  X(F64, double)                     \
  X(U32, uint32_t)

#define TANDEM_DEFINE_TABLE(name, type)                                               \
  const ConvolutionTiles<type>& ConvolutionTiles##name() {                            \
    static constexpr ConvolutionTiles<type> kTiles = {kMaxTileRows, &Multiply<type>}; \
    return kTiles;                                                                    \
  }
TANDEM_FOR_EACH_TILE_TYPE(TANDEM_DEFINE_TABLE)
#undef TANDEM_DEFINE_TABLE

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tandem::cpu {

#define TANDEM_DISPATCH_TABLE(name, type)                     \
  HWY_EXPORT(ConvolutionTiles##name);                         \
  template <>                                                 \
  const ConvolutionTiles<type>& GetConvolutionTiles<type>() { \
    return HWY_DYNAMIC_DISPATCH(ConvolutionTiles##name)();    \
  }
TANDEM_FOR_EACH_TILE_TYPE(TANDEM_DISPATCH_TABLE)
#undef TANDEM_DISPATCH_TABLE

}  // namespace tandem::cpu

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_TILE_TYPE
