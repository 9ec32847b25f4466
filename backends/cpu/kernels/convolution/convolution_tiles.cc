// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The register tiles of convolutions, compiled once per instruction set: as those of Gemm, but with the left matrix
// read in place through one address for each row, as in Dukhan, "The Indirect Convolution Algorithm" (2019).

#include "kernels/convolution/convolution_tiles.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "gemm/gemm_kernels.h"
#include "simd/relaxed_kernels.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution/convolution_tiles.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/convolution/convolution_finish-inl.h"
#include "kernels/convolution/convolution_rows-inl.h"
#include "kernels/convolution/convolution_transpose-inl.h"
#include "simd/simd_fused-inl.h"
#include "simd/simd_partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

// Rows of the largest tile of two vectors whose rows may lie anywhere.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kMaxTileRows = 12;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kMaxTileRows = 6;
#else
inline constexpr int kMaxTileRows = 4;
#endif

// Whether tiles can take almost all registers for sums: not of products that take one before they are added.
template <typename T>
inline constexpr bool kHasFullTiles = kFastMasks&& kFuses&& std::is_floating_point_v<T>;

// Whether there are larger tiles for rows that are evenly spaced; tiles of fewer registers have one for each address.
template <typename T>
inline constexpr bool kHasSpacedTiles = HWY_TARGET == HWY_AVX3&& kHasFullTiles<T>;
// Rows of the largest tile of two vectors; a tile of one vector may have twice as many.
template <typename T>
inline constexpr int kTileRows = kHasSpacedTiles<T> ? 14 : kMaxTileRows;

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
template <typename T>
inline constexpr bool kHasTiles = false;
#else
template <typename T>
inline constexpr bool kHasTiles = HWY_HAVE_FLOAT64 || !std::is_same_v<T, double>;

// Writes a row of C's tile: kVectors vectors of sums, of which the last one counts `last` columns. `bias` is that of
// its columns, or null, in which case `biases` does not count; `added` is null or what is added to the row.
template <int kVectors, typename T, class V, class Finisher>
HWY_INLINE void StoreRow(const Finisher& finish, bool accumulate, const V (&sum)[kVectors], const T* bias,
                         const V (&biases)[kVectors], const T* added, T* c, size_t last) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = HWY_LANES(T);
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) {
    T* to = c + j * kLanes;
    const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
    V v = sum[j];
    if (accumulate) v = hn::Add(v, LoadCount(d, count, to));
    if constexpr (kTilesFinish<T>) {
      if (added != nullptr) {
        v = finish(v, biases[j], LoadCount(d, count, added + j * kLanes));
      } else if (bias != nullptr) {
        v = finish(v, biases[j]);
      }
    }
    StoreCount(v, d, count, to);
  }
}

// Writes the sums of C's tile of kRows rows, of which the first `num_rows` are stored, and kVectors vectors, of which
// the last one counts `last` columns. `bias` is that of its columns, or null; `added` is null or what is added to C,
// with its row stride.
template <int kRows, int kVectors, typename T, class V>
HWY_INLINE void StoreSums(const GatheredProduct<T>& g, const V (&sum)[kRows][kVectors], int num_rows, const T* bias,
                          const T* added, T* c, size_t last) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = HWY_LANES(T);
  const Finish finish(d, g.limits);
  V biases[kVectors];
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) {
    const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
    biases[j] = bias == nullptr ? hn::Zero(d) : finish.Bias(LoadCount(d, count, bias + j * kLanes));
  }
  const bool accumulate = g.accumulate;
  const auto added_to = [&](int row) { return added == nullptr ? nullptr : added + row * g.ldc; };
  if constexpr (kFastMasks) {
    HWY_UNROLL(32)
    for (int i = 0; i < kRows; ++i, c += g.ldc) {
      if (i == num_rows) break;
      StoreRow(finish, accumulate, sum[i], bias, biases, added_to(i), c, last);
    }
  } else {
    // Without masks the code for a row is long, and engines compile that of WebAssembly when it is first called. So
    // there is one copy of it, in a loop, for sums that come from memory.
    alignas(64) T tile[kRows][kVectors * kLanes];
    HWY_UNROLL(32)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) hn::Store(sum[i][j], d, &tile[i][j * kLanes]);
    }
    for (int i = 0; i < num_rows; ++i, c += g.ldc) {
      V row[kVectors];
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, &tile[i][j * kLanes]);
      StoreRow(finish, accumulate, row, bias, biases, added_to(i), c, last);
    }
  }
}

template <typename T>
inline constexpr int kPanelCols = 2 * HWY_LANES(T);

// How many elements of a row a turn of the loop along a run takes, in full tiles: the loop's own instructions are too
// many beside the products of one. With kNoTurns, each run has one element, and there is no such loop.
template <typename T>
inline constexpr int kMaxTurns = kHasFullTiles<T> ? 4 : 1;
inline constexpr int kNoTurns = 0;

// Whether tiles can take so many.
template <typename T>
bool IsByTurns(const GatheredProduct<T>& g) {
  if (kMaxTurns<T> == 1 || g.step != 1 || g.panel_cols != kPanelCols<T>) return false;
  return std::all_of(g.runs, g.runs + g.num_runs, [](const GatherRun& run) { return run.length % kMaxTurns<T> == 0; });
}

// Adds the products of one element of each row, `ahead` of where `a` is, and a row of B's panel: kVectors vectors and,
// if kHalf, half a one.
template <bool kHalf, class D, class Walk, typename T = hn::TFromD<D>, int kRows, int kVectors, int kHalves>
HWY_INLINE void AddProducts(D d, const Walk& a, int ahead, const T* HWY_RESTRICT b, int64_t next_panel,
                            hn::Vec<D> (&sum)[kRows][kVectors], hn::Vec<hn::Half<D>> (&half_sum)[kHalves]) {
  constexpr int kLanes = HWY_LANES(T);
  const hn::Half<D> half;
  hn::Vec<D> row[kVectors];
  auto half_row = hn::Zero(half);
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, b + j * kLanes);
  if constexpr (kHalf) half_row = hn::LoadU(half, b + kVectors * kLanes);
  HWY_UNROLL(32)
  for (int i = 0; i < kRows; ++i) {
    const hn::Vec<D> x = hn::Set(d, a.Element(i, ahead));
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) Accumulate(x, row[j], sum[i][j]);
    if constexpr (kHalf) Accumulate(hn::LowerHalf(half, x), half_row, half_sum[i]);
  }
  // Of the next panel, which is wanted after this one: not into the first-level cache, which this one fills.
  constexpr int kVectorsALine = std::max(1, 64 / static_cast<int>(sizeof(hn::Vec<D>)));
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors + kHalf; j += kVectorsALine) __builtin_prefetch(b + next_panel + j * kLanes, 0, 2);
}

// C's tile of kRows rows, of which the first `num_rows` are stored, and kVectors vectors, of which the last one counts
// `last` columns. `bias` is that of its columns, or null; `added` is null or what is added to C, with its row stride.
// The rows must lie as kSpacing says. kHalf: the last vector is half as wide as others. kTurns: so many elements of a
// row are taken at a time, of which IsByTurns must hold if they are more than one, or kNoTurns.
template <typename T, int kRows, int kVectors, Spacing kSpacing, bool kHalf, int kTurns>
HWY_NOINLINE void Tile(const GatheredProduct<T>& g, const T* const* rows, int num_rows, const T* HWY_RESTRICT b,
                       int64_t next_panel, const T* bias, const T* added, T* c, size_t last) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(T);
  const int64_t step = kTurns > 1 ? 1 : g.step;
  const int64_t panel_cols = kTurns > 1 ? kPanelCols<T> : g.panel_cols;
  constexpr int kWhole = kHalf ? kVectors - 1 : kVectors;
  // Not used unless there is half a vector.
  const hn::Half<decltype(d)> half;
  using H = hn::Vec<decltype(half)>;
  RowWalk<T, kRows, kSpacing> a(rows);
  V sum[kRows][kWhole];
  H half_sum[kHalf ? kRows : 1];
  HWY_UNROLL(32)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kWhole; ++j) sum[i][j] = hn::Zero(d);
    if constexpr (kHalf) half_sum[i] = hn::Zero(half);
  }
  for (const GatherRun *run = g.runs, *end = run + g.num_runs; run != end; ++run) {
    a.Begin(run->offset);
    if constexpr (kTurns == kNoTurns) {
      a.HideStrides();
      AddProducts<kHalf>(d, a, 0, b, next_panel, sum, half_sum);
      b += panel_cols;
    } else {
      for (int64_t p = run->length; p > 0; p -= kTurns) {
        HWY_UNROLL(4)
        for (int turn = 0; turn < kTurns; ++turn) {
          a.HideStrides();
          AddProducts<kHalf>(d, a, turn, b + turn * panel_cols, next_panel, sum, half_sum);
        }
        a.Advance(kTurns * step);
        b += kTurns * panel_cols;
      }
    }
  }
  StoreSums<kRows, kWhole>(g, sum, num_rows, bias, added, c, kHalf ? size_t{kLanes} : last);
  if constexpr (kHalf) {
    const Finish finish(half, g.limits);
    T* to = c + kWhole * kLanes;
    const H biases = bias == nullptr ? hn::Zero(half) : finish.Bias(LoadFirst(half, last, bias + kWhole * kLanes));
    HWY_UNROLL(32)
    for (int i = 0; i < kRows; ++i, to += g.ldc) {
      if (i == num_rows) break;
      H v = half_sum[i];
      if (g.accumulate) v = hn::Add(v, LoadFirst(half, last, to));
      if constexpr (kTilesFinish<T>) {
        if (added != nullptr) {
          v = finish(v, biases, LoadFirst(half, last, added + i * g.ldc + kWhole * kLanes));
        } else if (bias != nullptr) {
          v = finish(v, biases);
        }
      }
      StoreFirst(v, half, last, to);
    }
  }
}

// Of the columns from `col` on.
template <typename T, int kRows, Spacing kSpacing, int kTurns>
HWY_INLINE void TileOfCols(const GatheredProduct<T>& g, const T* const* rows, int num_rows, const T* b, T* c,
                           int64_t col) {
  constexpr int64_t kLanes = HWY_LANES(T);
  const int64_t cols = std::min(g.panel_cols, g.cols - col);
  const BiasAndLimits<T> limits = g.limits.From(col);
  const T* const bias = limits.bias;
  const T* const added = limits.added == nullptr ? nullptr : limits.added + (c - g.c);
  // Once for all rows.
  const int64_t next_panel = c == g.c && col + g.panel_cols < g.cols ? g.panel_stride : 0;
  if constexpr (kSpacing == Spacing::kSevens && kRows == kTileRows<T>) {
    // Processors that compute half a vector in half the time save a quarter.
    if (cols > kLanes && cols <= kLanes + kLanes / 2) {
      const auto last = static_cast<size_t>(cols - kLanes);
      return Tile<T, kRows, 2, kSpacing, true, kTurns>(g, rows, num_rows, b, next_panel, bias, added, c + col, last);
    }
  }
  if constexpr (kRows <= kTileRows<T>) {
    if (cols > kLanes) {
      const auto last = static_cast<size_t>(cols - kLanes);
      return Tile<T, kRows, 2, kSpacing, false, kTurns>(g, rows, num_rows, b, next_panel, bias, added, c + col, last);
    }
  }
  const auto last = static_cast<size_t>(cols);
  Tile<T, kRows, 1, kSpacing, false, kTurns>(g, rows, num_rows, b, next_panel, bias, added, c + col, last);
}

// Whether rows are gathered into packed ones first. WebAssembly takes an instruction for each address, of which the
// rows of a packed tile have one in common, and no more than one product of each sum may be in flight: V8 loads all
// that a loop's turn needs before it computes.
template <typename T>
inline constexpr bool kPacksRows = HWY_TARGET == HWY_WASM&& std::is_same_v<T, float>;

// Of rows that are packed: `depth` times their elements of one column.
template <typename T, int kRows, int kVectors>
HWY_NOINLINE void PackedTile(const GatheredProduct<T>& g, const T* a, int depth, int num_rows, const T* b,
                             const T* bias, const T* added, T* c, size_t last) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(T);
  V sum[kRows][kVectors];
  HWY_UNROLL(32)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  }
  for (; depth > 0; --depth) {
    V row[kVectors];
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, b + j * kLanes);
    HWY_UNROLL(32)
    for (int i = 0; i < kRows; ++i) {
      const V x = hn::Set(d, a[i]);
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) sum[i][j] = MultiplyAdd(x, row[j], sum[i][j]);
    }
    a += kRows;
    b += 2 * kLanes;
  }
  StoreSums<kRows, kVectors>(g, sum, num_rows, bias, added, c, last);
}

// Those that are not enough for a whole tile, the last one standing in for those that lack.
template <typename T, int kTurns>
void LastTile(const GatheredProduct<T>& g, int64_t row, const T* b, T* c, int64_t col) {
  const T* rows[kMaxTileRows];
  const int num_rows = static_cast<int>(g.num_rows - row);
  for (int i = 0; i < kMaxTileRows; ++i) rows[i] = g.rows[std::min(row + i, g.num_rows - 1)];
  if (kMaxTileRows > 8 && num_rows > 8) {
    TileOfCols<T, kMaxTileRows, Spacing::kAny, kTurns>(g, rows, num_rows, b, c, col);
  } else if (kMaxTileRows > 4 && num_rows > 4) {
    TileOfCols<T, std::min(kMaxTileRows, 8), Spacing::kAny, kTurns>(g, rows, num_rows, b, c, col);
  } else if (num_rows > 2) {
    TileOfCols<T, 4, Spacing::kAny, kTurns>(g, rows, num_rows, b, c, col);
  } else if (num_rows == 2) {
    TileOfCols<T, 2, Spacing::kAny, kTurns>(g, rows, num_rows, b, c, col);
  } else {
    TileOfCols<T, 1, Spacing::kAny, kTurns>(g, rows, num_rows, b, c, col);
  }
}

// A tile of kRows rows from `row` on, if there are so many and they lie so. Returns how many rows it has computed.
template <typename T, int kRows, Spacing kSpacing, int kTurns>
HWY_INLINE int64_t SpacedTile(const GatheredProduct<T>& g, int64_t row, const T* b, int64_t col) {
  const T* const* const rows = g.rows + row;
  if (g.num_rows - row < kRows || !LieSo<kSpacing, kRows>(rows)) return 0;
  TileOfCols<T, kRows, kSpacing, kTurns>(g, rows, kRows, b, g.c + row * g.ldc, col);
  return kRows;
}

// The tile that begins at `row`. Returns how many rows it has.
template <typename T, int kTurns>
HWY_INLINE int64_t NextTile(const GatheredProduct<T>& g, int64_t row, const T* b, int64_t col) {
  if constexpr (kHasSpacedTiles<T> && kTurns != 1) {
    if constexpr (kTurns == kNoTurns) {
      constexpr int kRows = RowsAnAddress(Spacing::kAdjacent);
      if (const int64_t taken = SpacedTile<T, kRows, Spacing::kAdjacent, kTurns>(g, row, b, col)) return taken;
    }
    constexpr int kRows = kTileRows<T>;
    if (g.cols - col <= int64_t{HWY_LANES(T)}) {
      // Of one vector, for which each element is loaded.
      if (const int64_t taken = SpacedTile<T, 2 * kRows, Spacing::kSevens, kTurns>(g, row, b, col)) return taken;
    }
    if (const int64_t taken = SpacedTile<T, kRows, Spacing::kSevens, kTurns>(g, row, b, col)) return taken;
    if (const int64_t taken = SpacedTile<T, kRows, Spacing::kPairs, kTurns>(g, row, b, col)) return taken;
  }
  T* const c = g.c + row * g.ldc;
  if (g.num_rows - row < kMaxTileRows) {
    LastTile<T, kTurns>(g, row, b, c, col);
    return g.num_rows - row;
  }
  TileOfCols<T, kMaxTileRows, Spacing::kAny, kTurns>(g, g.rows + row, kMaxTileRows, b, c, col);
  return kMaxTileRows;
}

template <typename T, int kTurns>
void MultiplyRows(const GatheredProduct<T>& g) {
  const T* b = g.b;
  for (int64_t col = 0; col < g.cols; col += g.panel_cols, b += g.panel_stride) {
    for (int64_t row = 0; row < g.num_rows;) row += NextTile<T, kTurns>(g, row, b, col);
  }
}

// The same, with a run for each element if these are not too many: the processor does not foresee the end of loops
// along short runs. Returns false if it has not done it.
template <typename T>
bool MultiplyElements(const GatheredProduct<T>& g) {
  constexpr int64_t kMaxElements = kGemmDepth;
  GatherRun elements[kMaxElements];
  int64_t num_elements = 0;
  for (const GatherRun *run = g.runs, *end = run + g.num_runs; run != end; ++run) {
    if (run->length > kMaxElements - num_elements) return false;
    for (int64_t i = 0; i < run->length; ++i) elements[num_elements++] = {run->offset + i * g.step, 1};
  }
  GatheredProduct<T> product = g;
  product.runs = elements;
  product.num_runs = num_elements;
  MultiplyRows<T, kNoTurns>(product);
  return true;
}

#if HWY_TARGET != HWY_AVX3 && HWY_TARGET != HWY_AVX2
// Packs what a block's runs see of the rows from `row` on, those behind the last as that one.
template <typename T>
HWY_NOINLINE void PackRows(const GatheredProduct<T>& g, int64_t row, T* to) {
  const T* rows[kMaxTileRows];
  for (int i = 0; i < kMaxTileRows; ++i) rows[i] = g.rows[std::min(row + i, g.num_rows - 1)];
  for (const GatherRun *run = g.runs, *end = run + g.num_runs; run != end; ++run) {
    int64_t p = 0;
    for (; p + kSquare <= run->length; p += kSquare, to += kSquare * kMaxTileRows) {
      TransposeRows(rows, run->offset + p, to, kMaxTileRows);
    }
    for (; p < run->length; ++p) {
      for (int i = 0; i < kMaxTileRows; ++i) *to++ = rows[i][run->offset + p];
    }
  }
}

// The products of `rows` packed rows, from row `first` on, as a module of relaxed SIMD takes them.
template <typename T>
RelaxedProduct ToRelaxed(const GatheredProduct<T>& g, const T* packed, int64_t first, int64_t rows, int64_t depth) {
  static_assert(kMaxTileRows == RelaxedProduct::kPanelRows && kPanelCols<T> == RelaxedProduct::kPanelCols);
  RelaxedProduct product;
  product.a = packed;
  product.b = g.b;
  product.c = g.c + first * g.ldc;
  product.rows = static_cast<uint32_t>(rows);
  product.cols = static_cast<uint32_t>(g.cols);
  product.depth = static_cast<uint32_t>(depth);
  product.b_panel_stride = static_cast<uint32_t>(g.panel_stride);
  product.ldc = static_cast<uint32_t>(g.ldc);
  product.accumulate = g.accumulate ? 1 : 0;
  product.bias = g.limits.bias;
  if (g.limits.added != nullptr) product.added = g.limits.added + first * g.ldc;
  product.low = g.limits.low;
  product.high = g.limits.high;
  return product;
}

// Some rows at a time, which stay in the first-level cache with a panel of B; by relaxed SIMD if there is any.
template <typename T>
HWY_NOINLINE void MultiplyPacked(const GatheredProduct<T>& g, int64_t depth, [[maybe_unused]] RelaxedKernels relaxed) {
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int64_t kRowsATime = RelaxedProduct::kRowsATime;
  alignas(64) T packed[kRowsATime * kGemmDepth];
  for (int64_t first = 0; first < g.num_rows; first += kRowsATime) {
    const int64_t end = std::min(first + kRowsATime, g.num_rows);
    for (int64_t row = first; row < end; row += kMaxTileRows) PackRows(g, row, packed + (row - first) * depth);
    if constexpr (std::is_same_v<T, float>) {
      if (relaxed != nullptr) {
        relaxed(ToRelaxed(g, packed, first, end - first, depth));
        continue;
      }
    }
    const T* b = g.b;
    for (int64_t col = 0; col < g.cols; col += g.panel_cols, b += g.panel_stride) {
      const BiasAndLimits<T> limits = g.limits.From(col);
      const int64_t cols = std::min(g.panel_cols, g.cols - col);
      for (int64_t row = first; row < end; row += kMaxTileRows) {
        const T* const a = packed + (row - first) * depth;
        const auto num_rows = static_cast<int>(std::min<int64_t>(kMaxTileRows, end - row));
        T* const c = g.c + row * g.ldc + col;
        const T* const added = limits.added == nullptr ? nullptr : limits.added + row * g.ldc;
        if (cols > kLanes) {
          PackedTile<T, kMaxTileRows, 2>(g, a, static_cast<int>(depth), num_rows, b, limits.bias, added, c,
                                         static_cast<size_t>(cols - kLanes));
        } else {
          PackedTile<T, kMaxTileRows, 1>(g, a, static_cast<int>(depth), num_rows, b, limits.bias, added, c,
                                         static_cast<size_t>(cols));
        }
      }
    }
  }
}
#endif

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
    if constexpr (kPacksRows<T>) {
      constexpr int64_t kMinPanels = 3;  // with fewer, packing costs more than it saves
      int64_t depth = 0;
      for (int64_t run = 0; run < g.num_runs; ++run) depth += g.runs[run].length;
      if (g.step == 1 && depth <= kGemmDepth) {
        // Of relaxed SIMD all, since how many columns are a part depends on the number of threads, and bits must not.
        const RelaxedKernels relaxed = GetRelaxedKernels();
        if (relaxed != nullptr || g.cols > (kMinPanels - 1) * g.panel_cols) {
          return MultiplyPacked(g, depth, relaxed);
        }
      }
    }
    if (IsByTurns(g)) return MultiplyRows<T, kMaxTurns<T>>(g);
    if constexpr (kHasFullTiles<T>) {
      if (MultiplyElements(g)) return;
    }
    return MultiplyRows<T, 1>(g);
  }
#endif
  PlainProduct(g);
}

// Packing the rows is to be cheap beside the products.
#if HWY_TARGET == HWY_WASM
template <typename T>
inline constexpr int64_t kPartPanels = kPacksRows<T> ? 6 : 1;
#else
template <typename T>
inline constexpr int64_t kPartPanels = 1;
#endif

}  // namespace

#define TANDEM_FOR_EACH_TILE_TYPE(X) \
  X(F32, float)                      \
  X(F64, double)                     \
  X(U32, uint32_t)

#define TANDEM_DEFINE_TABLE(name, type)                                                                       \
  const ConvolutionTiles<type>& ConvolutionTiles##name() {                                                    \
    static constexpr ConvolutionTiles<type> kTiles = {kTileRows<type>, kHasTiles<type> && kTilesFinish<type>, \
                                                      kPartPanels<type>, &Multiply<type>, &Transpose<type>};  \
    return kTiles;                                                                                            \
  }
TANDEM_FOR_EACH_TILE_TYPE(TANDEM_DEFINE_TABLE)
#undef TANDEM_DEFINE_TABLE

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace TANDEM_CPU_NAMESPACE {

#define TANDEM_DISPATCH_TABLE(name, type)                     \
  HWY_EXPORT(ConvolutionTiles##name);                         \
  template <>                                                 \
  const ConvolutionTiles<type>& GetConvolutionTiles<type>() { \
    TANDEM_IF_EXACT(GetConvolutionTiles<type>());             \
    return HWY_DYNAMIC_DISPATCH(ConvolutionTiles##name)();    \
  }
TANDEM_FOR_EACH_TILE_TYPE(TANDEM_DISPATCH_TABLE)
#undef TANDEM_DISPATCH_TABLE

}  // namespace TANDEM_CPU_NAMESPACE

#endif  // HWY_ONCE
#undef TANDEM_FOR_EACH_TILE_TYPE
