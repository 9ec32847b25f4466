// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The inner loops of Gemm, compiled once per instruction set: register tiles after Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication" (2008), with the vectors along the rows of B and C.

#include "gemm/gemm_kernels.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "kernels/compact.h"
#include "kernels/polls.h"
#include "simd/relaxed_kernels.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/gemm_kernels.cc"
// clang-format off: this comes first, and then what is compiled for each target.
#include "hwy/foreach_target.h"
// clang-format on
#include "gemm/gemm_pack-inl.h"
#include "hwy/highway.h"
#include "simd/simd_fused-inl.h"
#include "simd/simd_partial-inl.h"
#include "simd/simd_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

// Whether Multiply takes matrices that are not packed.
template <typename T>
inline constexpr bool kHasDirect = kHasVectors<T> ? std::is_floating_point_v<T> : false;

// Rows of a register tile: rows times two vectors of sums, two of B and one of A fill the registers.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kVectorTileRows = 12;
inline constexpr int kPlanesTileRows = 8;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kVectorTileRows = 6;
inline constexpr int kPlanesTileRows = 4;
#else
inline constexpr int kVectorTileRows = 4;
inline constexpr int kPlanesTileRows = 4;
#endif

inline constexpr int kTileVectors = 2;
template <typename T>
inline constexpr int kTileRows = kHasVectors<T>  ? kVectorTileRows
                                 : kHasPlanes<T> ? kPlanesTileRows
                                 : kIsCompact<T> ? 1
                                                 : 4;
template <typename T>
inline constexpr int kTileCols = kHasVectors<T>  ? HWY_LANES(T) * kTileVectors
                                 : kHasPlanes<T> ? HWY_LANES(float)
                                                 : 8;

// Whether rows of A are packed one tile at a time, for all of B's panels. WebAssembly takes an instruction for each
// address, of which the rows of a packed tile have one in common.
template <typename T>
inline constexpr bool kPacksRows = HWY_TARGET == HWY_WASM&& std::is_same_v<T, float>;
inline constexpr int64_t kMinPanelsOfPacked = 3;  // with fewer, packing costs more than it saves

// Whether one panel of B stays in the first-level cache while those of A pass by it, which are the smaller ones: where
// a panel of B leaves room there for them.
template <typename T>
inline constexpr bool kByPanelsOfB = kHasVectors<T>
                                         ? HWY_TARGET != HWY_WASM&& kTileCols<T>* kGemmDepth * sizeof(T) <= (16u << 10)
                                         : false;

template <typename T>
HWY_INLINE T ScalarMulAdd(T x, T y, T sum) {
  return x * y + sum;
}
HWY_INLINE PlainComplex64 ScalarMulAdd(PlainComplex64 x, PlainComplex64 y, PlainComplex64 sum) {
  return {sum.re + x.re * y.re - x.im * y.im, sum.im + x.re * y.im + x.im * y.re};
}
template <typename T>
HWY_INLINE T ScalarAdd(T x, T y) {
  return x + y;
}
HWY_INLINE PlainComplex64 ScalarAdd(PlainComplex64 x, PlainComplex64 y) { return {x.re + y.re, x.im + y.im}; }

// A register tile without Highway: for targets and types that it has no vectors for; the compiler makes what it can
// of the loops of constant length. A and B are packed.
template <typename T, int kRows>
void PlainTile(const GemmBlock<T>& g, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* c, int64_t cols) {
  constexpr int kCols = kTileCols<T>;
  T sum[kRows][kCols] = {};
  for (int64_t p = 0; p < g.depth; ++p, a += kTileRows<T>, b += kCols) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kCols; ++j) sum[i][j] = ScalarMulAdd(a[i], b[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i, c += g.ldc) {
    for (int j = 0; j < cols; ++j) c[j] = g.accumulate ? ScalarAdd(c[j], sum[i][j]) : sum[i][j];
  }
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// How many products of each sum a loop's turn has where A and B are packed: its own instructions are too many beside
// those of so few products. Not of products that take a register before they are added.
template <typename T>
inline constexpr int kTurnsOfPacked = kFastMasks&& kFuses&& std::is_floating_point_v<T> ? 4 : 1;

// Writes a tile of which the last vector counts `last` columns, or adds it to C. A mask that lets everything through is
// slower than none, here and below.
template <typename T, int kRows, int kVectors>
HWY_INLINE void StoreTile(const T* tile, size_t last, bool accumulate, T* c, int64_t ldc) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = HWY_LANES(T);
  for (int i = 0; i < kRows; ++i, c += ldc) {
    for (int j = 0; j < kVectors; ++j, tile += kLanes) {
      const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
      T* to = c + j * kLanes;
      auto v = hn::Load(d, tile);
      if (accumulate) v = hn::Add(v, LoadCount(d, count, to));
      StoreCount(v, d, count, to);
    }
  }
}

// The same from registers. If kMask, the last vector counts `last` columns.
template <bool kMask, bool kAccumulate, class D, typename T = hn::TFromD<D>, int kRows, int kVectors>
HWY_INLINE void StoreSums(D d, const hn::Vec<D> (&sum)[kRows][kVectors], size_t last, T* c, int64_t ldc) {
  constexpr int kLanes = HWY_LANES(T);
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i, c += ldc) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      T* to = c + j * kLanes;
      const size_t count = kMask && j == kVectors - 1 ? last : size_t{kLanes};
      const auto v = kAccumulate ? hn::Add(sum[i][j], LoadCount(d, count, to)) : sum[i][j];
      StoreCount(v, d, count, to);
    }
  }
}

// Adds the products of one element of each row of A and a row of B.
template <bool kMaskB, class D, typename T = hn::TFromD<D>, int kRows, int kVectors>
HWY_INLINE void AddProducts(D d, const T* HWY_RESTRICT a, int64_t a_row_stride, const T* HWY_RESTRICT b, size_t last,
                            hn::Vec<D> (&sum)[kRows][kVectors]) {
  constexpr int kLanes = HWY_LANES(T);
  hn::Vec<D> row[kVectors];
  HWY_UNROLL(8)
  for (int j = 0; j < kVectors; ++j) {
    const T* from = b + j * kLanes;
    row[j] = kMaskB && j == kVectors - 1 ? LoadFirst(d, last, from) : hn::LoadU(d, from);
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    const hn::Vec<D> x = hn::Set(d, a[i * a_row_stride]);
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) Accumulate(x, row[j], sum[i][j]);
  }
}

// C's tile of kRows rows and kVectors vectors, of which the last one counts `cols` - (kVectors - 1) * lanes columns.
// kUnitRows: A's rows are neighbours in memory. kMaskB: what B has beyond these columns must not be read. kPackedBoth:
// A and B are packed, so that the compiler knows the steps, and the depth is a multiple of kTurnsOfPacked.
template <typename T, int kRows, int kVectors, bool kUnitRows, bool kMaskB, bool kPackedBoth = false>
HWY_NOINLINE void VectorTile(const GemmBlock<T>& g, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* c,
                             int64_t cols) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(T);
  const size_t last = static_cast<size_t>(cols - (kVectors - 1) * kLanes);
  const int64_t a_row_stride = kUnitRows ? 1 : g.a_row_stride;
  const int64_t a_depth_stride = kPackedBoth ? kRows : g.a_depth_stride;
  const int64_t b_depth_stride = kPackedBoth ? kTileCols<T> : g.b_depth_stride;
  V sum[kRows][kVectors];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    // C comes from far away, while A and B are in the caches.
    __builtin_prefetch(c + i * g.ldc, 1);
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  }
  // Addresses and counts of WebAssembly have 32 bits.
  using Count = std::conditional_t<kPackedBoth, int, int64_t>;
  constexpr int kTurns = kPackedBoth ? kTurnsOfPacked<T> : 1;
  for (auto p = static_cast<Count>(g.depth); p > 0; p -= kTurns) {
    HWY_UNROLL(4)
    for (int turn = 0; turn < kTurns; ++turn) {
      AddProducts<kMaskB>(d, a + turn * a_depth_stride, a_row_stride, b + turn * b_depth_stride, last, sum);
    }
    a += kTurns * a_depth_stride;
    b += kTurns * b_depth_stride;
  }
  if (!g.accumulate && (kFastMasks || last == kLanes)) return StoreSums<kMaskB, false>(d, sum, last, c, g.ldc);
  // Sums are added to C in registers where that is fast; elsewhere by way of memory, which takes less code.
  if constexpr (kTurnsOfPacked < T >> 1) return StoreSums<kMaskB, true>(d, sum, last, c, g.ldc);
  alignas(64) T tile[kRows][kVectors * kLanes];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) hn::Store(sum[i][j], d, &tile[i][j * kLanes]);
  }
  StoreTile<T, kRows, kVectors>(&tile[0][0], last, g.accumulate, c, g.ldc);
}

template <typename T, int kRows, bool kUnitRows>
HWY_INLINE void ChooseVectorTile(const GemmBlock<T>& g, const T* a, const T* b, T* c, int64_t cols) {
  constexpr int kLanes = HWY_LANES(T);
  if constexpr (kFastMasks) {
    if constexpr (kUnitRows && kRows == kTileRows<T> && kTurnsOfPacked < T >> 1) {
      const bool is_packed = g.a_depth_stride == kRows && g.b_depth_stride == kTileCols<T>;
      if (cols == 2 * kLanes && is_packed && g.depth % kTurnsOfPacked<T> == 0) {
        return VectorTile<T, kRows, 2, kUnitRows, false, true>(g, a, b, c, cols);
      }
    }
    if (cols == 2 * kLanes) return VectorTile<T, kRows, 2, kUnitRows, false>(g, a, b, c, cols);
    if (cols > kLanes) return VectorTile<T, kRows, 2, kUnitRows, true>(g, a, b, c, cols);
    return VectorTile<T, kRows, 1, kUnitRows, true>(g, a, b, c, cols);
  } else {
    if constexpr (kPacksRows<T> && kUnitRows && kRows == kTileRows<T>) {
      if (g.a_depth_stride == kRows && g.b_depth_stride == kTileCols<T>) {
        if (cols > kLanes) return VectorTile<T, kRows, 2, kUnitRows, false, true>(g, a, b, c, cols);
        return VectorTile<T, kRows, 1, kUnitRows, false, true>(g, a, b, c, cols);
      }
    }
    if (cols > kLanes) return VectorTile<T, kRows, 2, kUnitRows, false>(g, a, b, c, cols);
    return VectorTile<T, kRows, 1, kUnitRows, false>(g, a, b, c, cols);
  }
}

// A tile of complex numbers: kRows rows and a vector of columns.
template <int kRows>
void PlanesTile(const GemmBlock<PlainComplex64>& g, const PlainComplex64* HWY_RESTRICT a,
                const PlainComplex64* HWY_RESTRICT b, PlainComplex64* c, int64_t cols) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(float);
  V re[kRows], im[kRows];
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) re[i] = im[i] = hn::Zero(d);
  for (int64_t p = 0; p < g.depth; ++p, a += g.a_depth_stride, b += kLanes) {
    const V b_re = hn::LoadU(d, &b->re);
    const V b_im = hn::LoadU(d, &b->re + kLanes);
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) {
      const V a_re = hn::Set(d, a[i].re);
      const V a_im = hn::Set(d, a[i].im);
      re[i] = NegMultiplyAdd(a_im, b_im, MultiplyAdd(a_re, b_re, re[i]));
      im[i] = MultiplyAdd(a_im, b_re, MultiplyAdd(a_re, b_im, im[i]));
    }
  }
  alignas(64) float tile[kRows][2][kLanes];
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) {
    hn::Store(re[i], d, tile[i][0]);
    hn::Store(im[i], d, tile[i][1]);
  }
  for (int i = 0; i < kRows; ++i, c += g.ldc) {
    for (int j = 0; j < cols; ++j) {
      const PlainComplex64 sum = {tile[i][0][j], tile[i][1][j]};
      c[j] = g.accumulate ? ScalarAdd(c[j], sum) : sum;
    }
  }
}

#endif  // vectors

template <typename T, int kRows, bool kUnitRows>
void MultiplyRows(const GemmBlock<T>& g, const T* a, T* c) {
  constexpr int64_t kCols = kTileCols<T>;
  const int64_t b_step = g.b_packed ? g.depth * kCols : kCols;
  const T* b = g.b;
  for (int64_t j = 0; j < g.cols; j += kCols, b += b_step) {
    const int64_t cols = std::min(kCols, g.cols - j);
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
    if constexpr (kHasVectors<T>) {
      ChooseVectorTile<T, kRows, kUnitRows>(g, a, b, c + j, cols);
      continue;
    }
    if constexpr (kHasPlanes<T>) {
      PlanesTile<kRows>(g, a, b, c + j, cols);
      continue;
    }
#endif
    PlainTile<T, kRows>(g, a, b, c + j, cols);
  }
}

template <typename T, bool kUnitRows>
void MultiplyAllRows(const GemmBlock<T>& g) {
  constexpr int kMaxRows = kTileRows<T>;
  for (int64_t i = 0, step; i < g.rows; i += step) {
    const int64_t left = g.rows - i;
    // A tile at the end of A may start within a packed panel.
    const T* a = g.a_packed ? g.a + (i - i % kMaxRows) * g.depth + i % kMaxRows : g.a + i * g.a_row_stride;
    T* c = g.c + i * g.ldc;
    if constexpr (kPacksRows<T> && !kUnitRows) {
      const bool is_worth_it = g.cols > (kMinPanelsOfPacked - 1) * kTileCols<T>;
      if (left >= kMaxRows && is_worth_it && g.a_depth_stride == 1 && g.depth <= kGemmDepth) {
        alignas(64) T packed[kMaxRows * kGemmDepth];
        TransposePanel<T, kMaxRows>(a, g.a_row_stride, kMaxRows, g.depth, packed);
        GemmBlock<T> tile = g;
        tile.a_row_stride = 1;
        tile.a_depth_stride = kMaxRows;
        MultiplyRows<T, kMaxRows, true>(tile, packed, c);
        step = kMaxRows;
        continue;
      }
    }
    if (left >= kMaxRows) {
      MultiplyRows<T, kMaxRows, kUnitRows>(g, a, c);
      step = kMaxRows;
    } else if (kMaxRows > 8 && left >= 8) {
      MultiplyRows<T, std::min(kMaxRows, 8), kUnitRows>(g, a, c);
      step = 8;
    } else if (kMaxRows > 4 && left >= 4) {
      MultiplyRows<T, std::min(kMaxRows, 4), kUnitRows>(g, a, c);
      step = 4;
    } else if (kMaxRows > 2 && left >= 2) {
      MultiplyRows<T, std::min(kMaxRows, 2), kUnitRows>(g, a, c);
      step = 2;
    } else {
      MultiplyRows<T, 1, kUnitRows>(g, a, c);
      step = 1;
    }
  }
}

template <typename T, bool kUnitRows>
void MultiplyStrided(const GemmBlock<T>& g) {
  if constexpr (kByPanelsOfB<T>) {
    if (g.b_packed && g.rows > kTileRows<T>) {
      GemmBlock<T> panel = g;
      for (int64_t j = 0; j < g.cols; j += panel.cols) {
        panel.cols = std::min<int64_t>(kTileCols<T>, g.cols - j);
        panel.b = g.b + j * g.depth;
        panel.c = g.c + j;
        MultiplyAllRows<T, kUnitRows>(panel);
      }
      return;
    }
  }
  MultiplyAllRows<T, kUnitRows>(g);
}

#if HWY_TARGET == HWY_WASM
// By relaxed SIMD, if there is any, whatever part of C the block is: its size depends on the number of threads, and the
// bits must not. Unless A is packed, some rows of it are at a time.
bool MultiplyRelaxed(const GemmBlock<float>& g) {
  constexpr int kRows = kTileRows<float>;
  static_assert(kRows == RelaxedProduct::kPanelRows && kTileCols<float> == RelaxedProduct::kPanelCols);
  const RelaxedKernels relaxed = GetRelaxedKernels();
  if (relaxed == nullptr || !g.b_packed || g.depth > kGemmDepth) return false;
  RelaxedProduct product;
  product.b = g.b;
  product.cols = static_cast<uint32_t>(g.cols);
  product.depth = static_cast<uint32_t>(g.depth);
  product.b_panel_stride = static_cast<uint32_t>(g.depth * kTileCols<float>);
  product.ldc = static_cast<uint32_t>(g.ldc);
  product.accumulate = g.accumulate ? 1 : 0;
  constexpr int64_t kRowsATime = RelaxedProduct::kRowsATime;
  alignas(64) float packed[kRowsATime * kGemmDepth];
  for (int64_t first = 0, rows; first < g.rows; first += rows) {
    rows = g.a_packed ? g.rows : std::min(kRowsATime, g.rows - first);
    product.a = g.a_packed ? g.a : packed;
    product.c = g.c + first * g.ldc;
    product.rows = static_cast<uint32_t>(rows);
    for (int64_t row = 0; !g.a_packed && row < rows; row += kRows) {
      Pack<float, float, kRows>(g.a + (first + row) * g.a_row_stride, g.a_row_stride, g.a_depth_stride,
                                std::min<int64_t>(kRows, rows - row), g.depth, packed + row * g.depth);
    }
    relaxed(product);
  }
  return true;
}
#endif

template <typename T>
void Multiply(const GemmBlock<T>& g) {
#if HWY_TARGET == HWY_WASM
  if constexpr (std::is_same_v<T, float>) {
    if (MultiplyRelaxed(g)) return;
  }
#endif
  if constexpr (kHasDirect<T>) {
    if (g.a_row_stride != 1) return MultiplyStrided<T, false>(g);
  }
  MultiplyStrided<T, true>(g);
}

// ---- A vector times a matrix.

// Dot products are added up in as many lanes as two of the widest vectors have: product i goes to lane i modulo this.
template <typename T>
inline constexpr int kDotLanes = 128 / sizeof(T);

// The same bits as with vectors, for where there are none.
template <typename T>
void PlainGemvRows(const GemvBlock<T>& g) {
  StopPoll poll(kPollElements);
  const T* m = g.m;
  for (int64_t row = 0; row < g.depth && !poll.Stops(g.cols); ++row, m += g.m_stride) {
    const T x = g.x[row * g.x_stride];
    for (int64_t col = 0; col < g.cols; ++col) g.y[col] = ScalarMulAdd(x, m[col], row == 0 ? T{0} : g.y[col]);
  }
}

template <typename T>
void PlainGemvColumns(const GemvBlock<T>& g) {
  StopPoll poll(kPollElements);
  const T* m = g.m;
  for (int64_t col = 0; col < g.cols && !poll.Stops(g.depth); ++col, m += g.m_stride) {
    T sum[kDotLanes<T>] = {};
    for (int64_t p = 0; p < g.depth; ++p) {
      T& to = sum[p % kDotLanes<T>];
      to = ScalarMulAdd(g.x[p], m[p], to);
    }
    for (int half = kDotLanes<T> / 2; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) sum[j] += sum[j + half];
    }
    g.y[col] = sum[0];
  }
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// y = or += the sum of kRows rows of M, `stride` elements apart, times elements of x. What is given by value need not
// be read again after each store. Of kVectors vectors at a time, or of `count` elements, fewer than a vector.
template <int kRows, int kVectors, class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddRows(D d, const hn::Vec<D> (&x)[kRows], const T* m, ptrdiff_t stride, bool accumulate, T* y) {
  constexpr int kLanes = HWY_LANES(T);
  hn::Vec<D> sum[kVectors];
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) sum[v] = accumulate ? hn::LoadU(d, y + v * kLanes) : hn::Zero(d);
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[v] = MultiplyAdd(x[r], hn::LoadU(d, m + r * stride + v * kLanes), sum[v]);
  }
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, y + v * kLanes);
}
template <int kRows, class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddFirstOfRows(D d, size_t count, const hn::Vec<D> (&x)[kRows], const T* m, ptrdiff_t stride,
                               bool accumulate, T* y) {
  auto sum = accumulate ? LoadFirst(d, count, y) : hn::Zero(d);
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) sum = MultiplyAdd(x[r], LoadFirst(d, count, m + r * stride), sum);
  StoreFirst(sum, d, count, y);
}

template <int kRows, int kVectors, typename T>
HWY_INLINE void AddAllRows(const GemvBlock<T>& g, int64_t row, int64_t begin, int64_t end) {
  const hn::ScalableTag<T> d;
  constexpr ptrdiff_t kLanes = HWY_LANES(T);
  // Once for all columns: the compiler cannot know that sums are not stored there.
  hn::Vec<decltype(d)> x[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) x[r] = hn::Set(d, g.x[(row + r) * g.x_stride]);
  const T* m = g.m + row * g.m_stride + begin;
  T* y = g.y + begin;
  const auto stride = static_cast<ptrdiff_t>(g.m_stride);
  const auto cols = static_cast<ptrdiff_t>(end - begin);
  const bool accumulate = row > 0;
  ptrdiff_t col = 0;
  for (; col + kVectors * kLanes <= cols; col += kVectors * kLanes) {
    AddRows<kRows, kVectors>(d, x, m + col, stride, accumulate, y + col);
  }
  for (; col + kLanes <= cols; col += kLanes) AddRows<kRows, 1>(d, x, m + col, stride, accumulate, y + col);
  if (col < cols) {
    AddFirstOfRows<kRows>(d, static_cast<size_t>(cols - col), x, m + col, stride, accumulate, y + col);
  }
}

// For an M that is narrow or in the cache: y stays in registers, by as many vectors at a time as there are.
template <typename T>
inline constexpr int64_t kNarrowCols = 8 * HWY_LANES(T);
template <typename T>
void GemvNarrow(const GemvBlock<T>& v) {
  constexpr int64_t kLanes = HWY_LANES(T);
  GemmBlock<T> g = {};
  g.depth = v.depth;
  g.a_row_stride = 1;
  g.a_depth_stride = v.x_stride;
  g.b_depth_stride = v.m_stride;
  int64_t col = 0;
  for (; col + 8 * kLanes <= v.cols; col += 8 * kLanes) {
    VectorTile<T, 1, 8, true, false>(g, v.x, v.m + col, v.y + col, 8 * kLanes);
  }
  for (; col + 4 * kLanes <= v.cols; col += 4 * kLanes) {
    VectorTile<T, 1, 4, true, false>(g, v.x, v.m + col, v.y + col, 4 * kLanes);
  }
  for (; col < v.cols; col += 2 * kLanes) {
    ChooseVectorTile<T, 1, true>(g, v.x, v.m + col, v.y + col, std::min(2 * kLanes, v.cols - col));
  }
}

// Takes M by groups of rows, so that memory is read in order, in column ranges whose y stays in the first-level cache.
// Adds up in the order of the rows, as GemvNarrow does, so that the bits do not depend on the range of columns.
template <typename T>
void GemvRows(const GemvBlock<T>& g) {
  constexpr bool kIsWasm = HWY_TARGET == HWY_WASM;
  constexpr int64_t kCached = kGemvCachedBytes / sizeof(T);
  constexpr int64_t kLanes = HWY_LANES(T);
  const bool is_narrow = g.cols <= kNarrowCols<T> || g.depth <= kCached / g.cols;
  if (is_narrow && (kFastMasks || g.cols % kLanes == 0)) return GemvNarrow(g);
  constexpr int64_t kRange = 4096;
  // With 16 registers, and all that is loaded there at once, as V8 has it, eight are too many.
  constexpr int kRows = kIsWasm ? 4 : 8;
  // Code for 128 bits at a time reads an M from beyond the caches faster as one stream than as several.
  constexpr int64_t kFar = (int64_t{1} << 23) / sizeof(T);
  const bool is_one_stream = kIsWasm && g.cols == g.m_stride && g.cols <= kRange && g.depth > kFar / g.cols;
  for (int64_t begin = 0; begin < g.cols; begin += kRange) {
    const int64_t end = std::min(g.cols, begin + kRange);
    StopPoll poll(kPollElements);
    int64_t row = 0;
    for (; !is_one_stream && row + kRows <= g.depth; row += kRows) {
      if (poll.Stops(kRows * kRange)) return;
      AddAllRows<kRows, 2>(g, row, begin, end);
    }
    for (; row < g.depth && !poll.Stops(kRange); ++row) AddAllRows<1, kIsWasm ? 8 : 2>(g, row, begin, end);
  }
}

// The dot products of x and kCols columns of M, each in kDotLanes sums, whatever the width of vectors.
template <int kCols, typename T>
HWY_INLINE void DotColumns(const GemvBlock<T>& g, int64_t col) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(T);
  constexpr int kVectors = kDotLanes<T> / kLanes;
  const T* m = g.m + col * g.m_stride;
  V sum[kCols][kVectors];
  HWY_UNROLL(4)
  for (int c = 0; c < kCols; ++c) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) sum[c][j] = hn::Zero(d);
  }
  int64_t p = 0;
  const int64_t whole = kIsSmallCode ? g.depth : g.depth - g.depth % kDotLanes<T>;
  for (; p < whole; p += kDotLanes<T>) {
    const T* x = g.x + p;
    const T* columns = m + p;
    int64_t stride = g.m_stride;
    // Where code is to be small, the rest goes the same way, with zeros behind it.
    [[maybe_unused]] T rest_of_x[kDotLanes<T>];
    [[maybe_unused]] T rest_of_columns[kCols * kDotLanes<T>];
    if constexpr (kIsSmallCode) {
      const int64_t count = std::min<int64_t>(kDotLanes<T>, g.depth - p);
      if (count < kDotLanes<T>) {
        std::fill_n(rest_of_x, kDotLanes<T>, T{0});
        std::fill_n(rest_of_columns, kCols * kDotLanes<T>, T{0});
        std::copy_n(x, count, rest_of_x);
        for (int c = 0; c < kCols; ++c) std::copy_n(columns + c * stride, count, rest_of_columns + c * kDotLanes<T>);
        x = rest_of_x;
        columns = rest_of_columns;
        stride = kDotLanes<T>;
      }
    }
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      const V v = hn::LoadU(d, x + j * kLanes);
      HWY_UNROLL(4)
      for (int c = 0; c < kCols; ++c) {
        sum[c][j] = MultiplyAdd(v, hn::LoadU(d, columns + c * stride + j * kLanes), sum[c][j]);
      }
    }
  }
  if constexpr (!kIsSmallCode) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j, p += kLanes) {
      if (p >= g.depth) break;
      const size_t count = static_cast<size_t>(std::min<int64_t>(kLanes, g.depth - p));
      const V v = LoadFirst(d, count, g.x + p);
      HWY_UNROLL(4)
      for (int c = 0; c < kCols; ++c) {
        sum[c][j] = MultiplyAdd(v, LoadFirst(d, count, m + c * g.m_stride + p), sum[c][j]);
      }
    }
  }
  HWY_UNROLL(4)
  for (int c = 0; c < kCols; ++c) {
    HWY_UNROLL(3)
    for (int half = kVectors / 2; half > 0; half /= 2) {
      HWY_UNROLL(4)
      for (int j = 0; j < half; ++j) sum[c][j] = hn::Add(sum[c][j], sum[c][j + half]);
    }
    g.y[col + c] = SumByHalves(d, sum[c][0]);
  }
}

template <typename T>
void GemvColumns(const GemvBlock<T>& g) {
  constexpr int kCols = std::max(1, 8 * static_cast<int>(HWY_LANES(T)) / kDotLanes<T>);
  StopPoll poll(kPollElements);
  int64_t col = 0;
  for (; col + kCols <= g.cols; col += kCols) {
    if (poll.Stops(kCols * g.depth)) return;
    DotColumns<kCols>(g, col);
  }
  for (; col < g.cols; ++col) DotColumns<1>(g, col);
}

#endif  // vectors

template <typename S>
constexpr GemmKernels<S> MakeKernels() {
  using T = GemmComputeType<S>;
  GemmKernels<S> kernels = {};
  kernels.panel_rows = kTileRows<T>;
  kernels.panel_cols = kTileCols<T>;
  if constexpr (std::is_same_v<S, T> && kHasDirect<T>) kernels.direct_cols = kFastMasks ? 1 : HWY_LANES(T);
  kernels.by_panels_of_b = kByPanelsOfB<T>;
  kernels.multiply = Multiply<T>;
  kernels.pack_a = Pack<S, T, kTileRows<T>>;
  if constexpr (kHasPlanes<T>) {
    kernels.pack_b = PackPlanes<kTileCols<T>>;
  } else {
    kernels.pack_b = Pack<S, T, kTileCols<T>>;
  }
  kernels.round = Round<S, T>;
  if constexpr (std::is_floating_point_v<S>) {
    kernels.gemv_rows = PlainGemvRows<T>;
    kernels.gemv_columns = PlainGemvColumns<T>;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
    if constexpr (kHasDirect<T>) {
      kernels.gemv_cols = kNarrowCols<T>;
      kernels.gemv_rows = GemvRows<T>;
      kernels.gemv_columns = GemvColumns<T>;
    }
#endif
  }
  return kernels;
}

}  // namespace

// Those that round; those that do not are exact anyway.
#define TANDEM_FOR_EACH_ROUNDED_TYPE(X) \
  X(F32, float)                         \
  X(F64, double)                        \
  X(F16, Float16)                       \
  X(BF16, BFloat16)                     \
  X(C64, std::complex<float>)
#ifdef TANDEM_SIMD_EXACT
#define TANDEM_FOR_EACH_INTEGER_TYPE(X)
#else
#define TANDEM_FOR_EACH_INTEGER_TYPE(X) \
  X(I8, int8_t)                         \
  X(U8, uint8_t)                        \
  X(I16, int16_t)                       \
  X(U16, uint16_t)                      \
  X(I32, int32_t)                       \
  X(U32, uint32_t)                      \
  X(I64, int64_t)                       \
  X(U64, uint64_t)
#endif

#define TANDEM_DEFINE_TABLE(name, type)                                \
  const GemmKernels<type>& GemmKernels##name() {                       \
    static constexpr GemmKernels<type> kKernels = MakeKernels<type>(); \
    return kKernels;                                                   \
  }
TANDEM_FOR_EACH_ROUNDED_TYPE(TANDEM_DEFINE_TABLE)
TANDEM_FOR_EACH_INTEGER_TYPE(TANDEM_DEFINE_TABLE)
#undef TANDEM_DEFINE_TABLE

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace TANDEM_CPU_NAMESPACE {

#define TANDEM_DISPATCH_ROUNDED(name, type)           \
  HWY_EXPORT(GemmKernels##name);                      \
  template <>                                         \
  const GemmKernels<type>& GetGemmKernels<type>() {   \
    TANDEM_IF_EXACT(GetGemmKernels<type>());          \
    return HWY_DYNAMIC_DISPATCH(GemmKernels##name)(); \
  }
#define TANDEM_DISPATCH_INTEGER(name, type)           \
  HWY_EXPORT(GemmKernels##name);                      \
  template <>                                         \
  const GemmKernels<type>& GetGemmKernels<type>() {   \
    return HWY_DYNAMIC_DISPATCH(GemmKernels##name)(); \
  }
TANDEM_FOR_EACH_ROUNDED_TYPE(TANDEM_DISPATCH_ROUNDED)
TANDEM_FOR_EACH_INTEGER_TYPE(TANDEM_DISPATCH_INTEGER)
#undef TANDEM_DISPATCH_ROUNDED
#undef TANDEM_DISPATCH_INTEGER

}  // namespace TANDEM_CPU_NAMESPACE

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_ROUNDED_TYPE
#undef TANDEM_FOR_EACH_INTEGER_TYPE
