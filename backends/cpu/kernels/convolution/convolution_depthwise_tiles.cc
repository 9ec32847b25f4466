// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tiles of some pixels, or taps, and one or two vectors of channels, whose sums stay in registers.

#include "kernels/convolution/convolution_depthwise_tiles.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution/convolution_depthwise_tiles.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/convolution/convolution_finish-inl.h"
#include "simd/simd_fused-inl.h"
#include "simd/simd_partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

// Calls fn(std::integral_constant<int, vectors>, channel, channels of the last vector) for all channels.
template <typename T, typename F>
HWY_INLINE void ForChannels(int64_t channels, F&& fn) {
  constexpr int64_t kLanes = HWY_LANES(T);
  int64_t c = 0;
  for (; c + 2 * kLanes <= channels; c += 2 * kLanes) {
    fn(std::integral_constant<int, 2>(), c, static_cast<size_t>(kLanes));
  }
  for (; c < channels; c += kLanes) {
    fn(std::integral_constant<int, 1>(), c, static_cast<size_t>(std::min(kLanes, channels - c)));
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
template <typename T>
inline constexpr bool kHasTiles = false;
#else
template <typename T>
inline constexpr bool kHasTiles = HWY_HAVE_FLOAT64 || !std::is_same_v<T, double>;

// Pixels of a tile; taps of a tile, at most.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kTileHeight = 8;
inline constexpr int kMaxTapHeight = 9;
#else
inline constexpr int kTileHeight = 4;
inline constexpr int kMaxTapHeight = 5;
#endif

// kHeight outputs from channel `c` on; the last of kVectors vectors counts `last` channels.
template <int kHeight, int kVectors, typename T>
HWY_INLINE void ConvolveTile(const DepthwiseBlock<T>& g, int64_t pixel, int64_t c, size_t last, const T* filter,
                             T* out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(T);
  const T* x[kHeight];
  V sum[kHeight][kVectors];
  HWY_UNROLL(9)
  for (int i = 0; i < kHeight; ++i) {
    x[i] = g.pixels[pixel + i] + c;
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  }
  const T* w = filter + c;
  for (int64_t tap = 0; tap < g.num_taps; ++tap, w += g.channels) {
    const int64_t offset = g.offsets[tap];
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
      const V weight = LoadCount(d, count, w + j * kLanes);
      HWY_UNROLL(9)
      for (int i = 0; i < kHeight; ++i) {
        sum[i][j] = MultiplyAdd(LoadCount(d, count, x[i] + offset + j * kLanes), weight, sum[i][j]);
      }
    }
  }
  if constexpr (kTilesFinish<T>) {
    if (g.limits.bias != nullptr) {
      const Finish finish(d, g.limits);
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) {
        const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
        const V bias = finish.Bias(LoadCount(d, count, g.limits.bias + c + j * kLanes));
        HWY_UNROLL(9)
        for (int i = 0; i < kHeight; ++i) sum[i][j] = finish(sum[i][j], bias);
      }
    }
  }
  HWY_UNROLL(9)
  for (int i = 0; i < kHeight; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
      StoreCount(sum[i][j], d, count, out + (pixel + i) * g.out_stride + c + j * kLanes);
    }
  }
}

template <int kVectors, typename T>
HWY_NOINLINE void ConvolveChannels(const DepthwiseBlock<T>& g, int64_t c, size_t last, const T* filter, T* out) {
  const auto convolve_tile = [&](int64_t pixel) HWY_ATTR {
    if (last == HWY_LANES(T)) {
      ConvolveTile<kTileHeight, kVectors>(g, pixel, c, HWY_LANES(T), filter, out);
    } else {
      ConvolveTile<kTileHeight, kVectors>(g, pixel, c, last, filter, out);
    }
  };
  int64_t pixel = 0;
  for (; pixel + kTileHeight <= g.num_pixels; pixel += kTileHeight) convolve_tile(pixel);
  if (pixel == g.num_pixels) return;
  if (pixel > 0) return convolve_tile(g.num_pixels - kTileHeight);  // the rest, and some pixels again
  for (; pixel < g.num_pixels; ++pixel) ConvolveTile<1, kVectors>(g, pixel, c, last, filter, out);
}

inline constexpr int kMinRowPixels = DepthwiseRow<float>::kMinPixels;
// Many images have a power of two times so many pixels a row.
inline constexpr int kOddTileHeight = kTileHeight > 7 ? 7 : kMinRowPixels;

// Where the taps of a tile see elements: through tap row `row`, the `i`th of them.
template <typename T>
struct EvenlySpaced {
  const T* first[3];
  int64_t step;
  HWY_INLINE const T* operator()(int row, int i) const { return first[row] + i * step; }
  HWY_INLINE EvenlySpaced From(int64_t channel) const {
    return {{first[0] + channel, first[1] + channel, first[2] + channel}, step};
  }
};
template <typename T, int kSeen>
struct Listed {
  const T* const* pixels;
  int64_t channel;
  HWY_INLINE const T* operator()(int row, int i) const { return pixels[row * kSeen + i] + channel; }
};

template <int kHeight, int kStride>
inline constexpr int kSeenPixels = (kHeight - 1) * kStride + 3;

// A vector of kHeight outputs, kStride taps from each other, of 3 x 3 taps, whose weights are `channels` apart.
// Products are added up in the same order as by ConvolveTile. A turn of the loop for each row of taps: g++ and V8 load
// all that a turn needs before they compute, for which three rows at once are too many.
template <int kHeight, int kStride, typename T, class Places>
HWY_INLINE void ConvolveRowTile(const Places& places, const T* w, int64_t channels, const BiasAndLimits<T>& limits,
                                size_t count, T* out, int64_t out_stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kSeen = kSeenPixels<kHeight, kStride>;
  V sum[kHeight];
  HWY_UNROLL(8)
  for (int i = 0; i < kHeight; ++i) sum[i] = hn::Zero(d);
  HWY_UNROLL(1)
  for (int row = 0; row < 3; ++row, w += 3 * channels) {
    V seen[kSeen];
    HWY_UNROLL(17)
    for (int i = 0; i < kSeen; ++i) seen[i] = LoadCount(d, count, places(row, i));
    HWY_UNROLL(3)
    for (int tap = 0; tap < 3; ++tap) {
      const V weight = LoadCount(d, count, w + tap * channels);
      HWY_UNROLL(8)
      for (int i = 0; i < kHeight; ++i) sum[i] = MultiplyAdd(seen[i * kStride + tap], weight, sum[i]);
    }
  }
  if (limits.bias != nullptr) {
    const Finish finish(d, limits);
    const V biases = finish.Bias(LoadCount(d, count, limits.bias));
    HWY_UNROLL(8)
    for (int i = 0; i < kHeight; ++i) sum[i] = finish(sum[i], biases);
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kHeight; ++i) StoreCount(sum[i], d, count, out + i * out_stride);
}

// All channels of kHeight outputs, which see places_at(channel).
template <int kHeight, int kStride, typename T, class F>
HWY_INLINE void ConvolveRowChannels(int64_t channels, const BiasAndLimits<T>& limits, const T* filter, T* out,
                                    int64_t out_stride, F places_at) {
  constexpr int64_t kLanes = HWY_LANES(T);
  const auto convolve = [&](int64_t c, size_t count) HWY_ATTR {
    ConvolveRowTile<kHeight, kStride>(places_at(c), filter + c, channels, limits.From(c), count, out + c, out_stride);
  };
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) convolve(c, kLanes);
  if (c < channels) convolve(c, static_cast<size_t>(channels - c));
}

// All channels of some pixels before the next ones, so that memory is read and written in order.
template <int kHeight, int kStride, typename T>
HWY_NOINLINE void ConvolveRows(const DepthwiseBlock<T>& g, const T* filter, T* out) {
  for (int64_t row = 0; row < g.num_pixels; row += g.row_pixels) {
    for (int64_t left = 0; left < g.row_pixels; left += kHeight) {
      const int64_t col = std::min(left, g.row_pixels - kHeight);  // the last has some pixels again
      const T* const x = g.pixels[row] + col * g.pixel_step;
      const EvenlySpaced<T> pixels = {{x + g.offsets[0], x + g.offsets[3], x + g.offsets[6]}, g.tap_step};
      const auto places_at = [&](int64_t c) HWY_ATTR {
        const EvenlySpaced<T> places = pixels.From(c);
        // What the row of outputs below sees for the first time.
        for (int below = 1; below <= kStride; ++below) {
          const T* const next = places(2, 0) + below * (g.offsets[3] - g.offsets[0]);
          HWY_UNROLL(16)
          for (int i = 0; i < kHeight * kStride; ++i) __builtin_prefetch(next + i * g.tap_step, 0, 2);
        }
        return places;
      };
      T* const to = out + (row + col) * g.out_stride;
      ConvolveRowChannels<kHeight, kStride>(g.channels, g.limits, filter, to, g.out_stride, places_at);
    }
  }
}

template <int kHeight, typename T>
HWY_INLINE void ConvolveRowsOf(const DepthwiseBlock<T>& g, const T* filter, T* out) {
  g.pixel_step == g.tap_step ? ConvolveRows<kHeight, 1>(g, filter, out) : ConvolveRows<kHeight, 2>(g, filter, out);
}

// False if the block is of another kind.
template <typename T>
HWY_INLINE bool TryConvolveRows(const DepthwiseBlock<T>& g, const T* filter, T* out) {
  if (g.row_pixels < kMinRowPixels || (g.pixel_step != g.tap_step && g.pixel_step != 2 * g.tap_step)) return false;
  if (g.row_pixels % kOddTileHeight == 0) {
    ConvolveRowsOf<kOddTileHeight>(g, filter, out);
  } else if (kTileHeight > kMinRowPixels && g.row_pixels >= kTileHeight) {
    ConvolveRowsOf<kTileHeight>(g, filter, out);
  } else {
    ConvolveRowsOf<kMinRowPixels>(g, filter, out);
  }
  return true;
}

// Of the outputs from `col` on: what they see, row by row, with zeros for what is outside of the image.
template <int kHeight, int kStride, typename T>
HWY_INLINE void ListPixels(const DepthwiseRow<T>& g, int64_t col, const T** pixels) {
  for (int row = 0; row < 3; ++row) {
    const T* const source = g.source_rows[row];
    int64_t at = g.first_col + col * kStride;
    for (int i = 0; i < kSeenPixels<kHeight, kStride>; ++i, ++at) {
      const bool is_inside = source != nullptr && at >= 0 && at < g.source_cols;
      *pixels++ = is_inside ? source + at * g.channels : g.zeros;
    }
  }
}

// Whether what kHeight outputs from `col` on see is all of the image, whose rows are at the same place everywhere then.
template <int kHeight, int kStride, typename T>
HWY_INLINE bool SeesNothingOutside(const DepthwiseRow<T>& g, int64_t col) {
  const int64_t first = g.first_col + col * kStride;
  return first >= 0 && first + kSeenPixels<kHeight, kStride> <= g.source_cols && g.source_rows[0] != nullptr &&
         g.source_rows[1] != nullptr && g.source_rows[2] != nullptr;
}

template <int kHeight, int kStride, typename T>
HWY_NOINLINE void ConvolveDenseRow(const DepthwiseRow<T>& g, const T* filter, T* out) {
  constexpr int kSeen = kSeenPixels<kHeight, kStride>;
  for (int64_t left = 0; left < g.num_pixels; left += kHeight) {
    const int64_t col = std::min(left, g.num_pixels - kHeight);  // the last has some pixels again
    const auto convolve = [&](auto places_at) HWY_ATTR {
      ConvolveRowChannels<kHeight, kStride>(g.channels, g.limits, filter, out + col * g.channels, g.channels,
                                            places_at);
    };
#ifndef TANDEM_SMALL
    if (SeesNothingOutside<kHeight, kStride>(g, col)) {
      const int64_t at = (g.first_col + col * kStride) * g.channels;
      const EvenlySpaced<T> places = {{g.source_rows[0] + at, g.source_rows[1] + at, g.source_rows[2] + at},
                                      g.channels};
      convolve([&](int64_t c) { return places.From(c); });
      continue;
    }
#endif
    const T* pixels[3 * kSeen];
    ListPixels<kHeight, kStride>(g, col, pixels);
    convolve([&](int64_t c) { return Listed<T, kSeen>{pixels, c}; });
  }
}

template <int kHeight, typename T>
HWY_INLINE void ConvolveDenseRowOf(const DepthwiseRow<T>& g, const T* filter, T* out) {
  g.stride == 1 ? ConvolveDenseRow<kHeight, 1>(g, filter, out) : ConvolveDenseRow<kHeight, 2>(g, filter, out);
}

template <typename T>
void ConvolveRow(const DepthwiseRow<T>& g, const T* filter, T* out) {
  if (g.num_pixels % kOddTileHeight == 0) return ConvolveDenseRowOf<kOddTileHeight>(g, filter, out);
  if (g.num_pixels >= kTileHeight) return ConvolveDenseRowOf<kTileHeight>(g, filter, out);
  ConvolveDenseRowOf<kMinRowPixels>(g, filter, out);
}

// kHeight taps from `tap` on, over all pixels.
template <int kHeight, int kVectors, typename T>
HWY_INLINE void SumTile(const DepthwiseBlock<T>& g, int64_t tap, int64_t c, size_t last, const T* gradient,
                        bool accumulate, T* filter) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_LANES(T);
  int64_t offset[kHeight];
  V sum[kHeight][kVectors];
  HWY_UNROLL(9)
  for (int i = 0; i < kHeight; ++i) {
    offset[i] = g.offsets[tap + i] + c;
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  }
  const T* dy = gradient + c;
  for (int64_t pixel = 0; pixel < g.num_pixels; ++pixel, dy += g.channels) {
    const T* x = g.pixels[pixel];
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
      const V given = LoadCount(d, count, dy + j * kLanes);
      HWY_UNROLL(9)
      for (int i = 0; i < kHeight; ++i) {
        sum[i][j] = MultiplyAdd(LoadCount(d, count, x + offset[i] + j * kLanes), given, sum[i][j]);
      }
    }
  }
  HWY_UNROLL(9)
  for (int i = 0; i < kHeight; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      const size_t count = j == kVectors - 1 ? last : size_t{kLanes};
      T* to = filter + (tap + i) * g.channels + c + j * kLanes;
      StoreCount(accumulate ? hn::Add(sum[i][j], LoadCount(d, count, to)) : sum[i][j], d, count, to);
    }
  }
}

template <int kVectors, typename T>
HWY_NOINLINE void SumChannels(const DepthwiseBlock<T>& g, int64_t c, size_t last, const T* gradient, bool accumulate,
                              T* filter) {
  int64_t tap = 0;
  const auto sum_taps = [&](auto height) {
    constexpr int kHeight = decltype(height)::value;
    for (; tap + kHeight <= g.num_taps; tap += kHeight) {
      if (last == HWY_LANES(T)) {
        SumTile<kHeight, kVectors>(g, tap, c, HWY_LANES(T), gradient, accumulate, filter);
      } else {
        SumTile<kHeight, kVectors>(g, tap, c, last, gradient, accumulate, filter);
      }
    }
  };
  sum_taps(std::integral_constant<int, kMaxTapHeight>());
  sum_taps(std::integral_constant<int, 3>());
  sum_taps(std::integral_constant<int, 1>());
}

#endif  // vectors

template <typename T>
void Convolve(const DepthwiseBlock<T>& g, const T* filter, T* out) {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (kHasTiles<T>) {
#ifndef TANDEM_SMALL
    if (TryConvolveRows(g, filter, out)) return;
#endif
    return ForChannels<T>(g.channels, [&](auto vectors, int64_t c, size_t last) {
      ConvolveChannels<decltype(vectors)::value>(g, c, last, filter, out);
    });
  }
#endif
  for (int64_t pixel = 0; pixel < g.num_pixels; ++pixel, out += g.out_stride) {
    std::fill_n(out, g.channels, T{0});
    for (int64_t tap = 0; tap < g.num_taps; ++tap) {
      const T* x = g.pixels[pixel] + g.offsets[tap];
      for (int64_t c = 0; c < g.channels; ++c) out[c] += x[c] * filter[tap * g.channels + c];
    }
  }
}

template <typename T>
void Copy(const T* from, int64_t from_stride, int64_t num_pixels, int64_t channels, T* to, int64_t to_stride) {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (kHasTiles<T>) {
    const hn::ScalableTag<T> d;
    return ForChannels<T>(channels, [&](auto vectors, int64_t c, size_t last) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      for (int64_t i = 0; i < num_pixels; ++i) {
        HWY_UNROLL(2)
        for (int j = 0; j < kVectors; ++j) {
          const size_t count = j == kVectors - 1 ? last : size_t{HWY_LANES(T)};
          const int64_t at = c + j * static_cast<int64_t>(HWY_LANES(T));
          StoreCount(LoadCount(d, count, from + i * from_stride + at), d, count, to + i * to_stride + at);
        }
      }
    });
  }
#endif
  for (int64_t i = 0; i < num_pixels; ++i) std::copy_n(from + i * from_stride, channels, to + i * to_stride);
}

template <typename T>
void SumWindows(const DepthwiseBlock<T>& g, const T* gradient, bool accumulate, T* filter) {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (kHasTiles<T>) {
    return ForChannels<T>(g.channels, [&](auto vectors, int64_t c, size_t last) {
      SumChannels<decltype(vectors)::value>(g, c, last, gradient, accumulate, filter);
    });
  }
#endif
  for (int64_t tap = 0; tap < g.num_taps; ++tap) {
    for (int64_t c = 0; c < g.channels; ++c, ++filter) {
      T sum = 0;
      for (int64_t pixel = 0; pixel < g.num_pixels; ++pixel) {
        sum += g.pixels[pixel][g.offsets[tap] + c] * gradient[pixel * g.channels + c];
      }
      *filter = accumulate ? *filter + sum : sum;
    }
  }
}

template <typename T>
constexpr DepthwiseTiles<T> MakeTiles() {
  DepthwiseTiles<T> tiles = {};
  tiles.finishes = kHasTiles<T> && kTilesFinish<T>;
  tiles.convolve = &Convolve<T>;
  tiles.copy = &Copy<T>;
  tiles.sum_windows = &SumWindows<T>;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (kHasTiles<T> && kHasDepthwiseRows<T>) tiles.convolve_row = &ConvolveRow<T>;
#endif
  return tiles;
}

}  // namespace

const DepthwiseTiles<float>& DepthwiseTilesF32() {
  static constexpr DepthwiseTiles<float> kTiles = MakeTiles<float>();
  return kTiles;
}
const DepthwiseTiles<double>& DepthwiseTilesF64() {
  static constexpr DepthwiseTiles<double> kTiles = MakeTiles<double>();
  return kTiles;
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace TANDEM_CPU_NAMESPACE {

namespace {
HWY_EXPORT(DepthwiseTilesF32);
HWY_EXPORT(DepthwiseTilesF64);
}  // namespace

template <>
const DepthwiseTiles<float>& GetDepthwiseTiles<float>() {
  TANDEM_IF_EXACT(GetDepthwiseTiles<float>());
  return HWY_DYNAMIC_DISPATCH(DepthwiseTilesF32)();
}
template <>
const DepthwiseTiles<double>& GetDepthwiseTiles<double>() {
  TANDEM_IF_EXACT(GetDepthwiseTiles<double>());
  return HWY_DYNAMIC_DISPATCH(DepthwiseTilesF64)();
}

}  // namespace TANDEM_CPU_NAMESPACE

#endif  // HWY_ONCE
