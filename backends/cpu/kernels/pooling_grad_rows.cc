// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of the gradients of pooling, once per instruction set.
//
// A call computes bands of rows of images: it goes through all windows that reach into a band, and leaves out what they
// give to rows outside it. So calls need not wait for each other, and the order of additions is always the same.

#include "kernels/pooling_grad_rows.h"

#include <algorithm>
#include <type_traits>

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pooling_grad_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise_loops-inl.h"
#include "kernels/pooling_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// Rows of f16 and bf16 that are added up in f32 and then converted.
constexpr int64_t kNarrowRows = 32;

// Rows [begin, end) of one image's gradient.
template <typename A>
struct Band {
  int64_t begin;
  int64_t end;
  A* sums;  // of row `begin`

  bool Contains(int64_t row) const { return row >= begin && row < end; }
  A* Row(const PoolPlan& plan, int64_t row) const { return sums + (row - begin) * plan.InputRowSize(); }
};

// Computes rows [begin, end) of the gradients of all images in bands. `add_windows(image, y, band)` adds what the
// windows of row `y` of the image numbered `image` give to the band. For f16 and bf16 the first part of `buffer` is for
// sums.
template <typename T, typename A, class Fn>
HWY_INLINE void ForEachBand(const PoolPlan& plan, int64_t begin, int64_t end, Row narrow, void* buffer, void* out,
                            Fn add_windows) {
  const int64_t row_size = plan.InputRowSize();
  const WindowAxis& rows = plan.rows;
  for (int64_t row = begin; row < end;) {
    const int64_t image = row / rows.input;
    Band<A> band;
    band.begin = row % rows.input;
    band.end = std::min(rows.input, band.begin + (end - row));
    T* to = static_cast<T*>(out) + row * row_size;
    if constexpr (std::is_same_v<T, A>) {
      band.sums = to;
    } else {
      band.end = std::min(band.end, band.begin + kNarrowRows);
      band.sums = static_cast<A*>(buffer);
    }
    const int64_t size = (band.end - band.begin) * row_size;
    std::fill_n(band.sums, size, A{0});
    // The first window that ends behind the band's begin, and the first that begins behind its end.
    const int64_t before = band.begin + rows.pad_before - rows.window + 1;
    const int64_t first = before <= 0 ? 0 : (before + rows.stride - 1) / rows.stride;
    const int64_t last = std::min(rows.output, (band.end - 1 + rows.pad_before) / rows.stride + 1);
    for (int64_t y = first; y < last; ++y) add_windows(image, y, band);
    if constexpr (!std::is_same_v<T, A>) {
      const void* from = band.sums;
      narrow(&from, to, size);
    }
    row += band.end - band.begin;
  }
}

// Bytes for the sums of a band.
template <typename T, typename A>
int64_t SumsSize(const PoolPlan& plan) {
  if constexpr (std::is_same_v<T, A>) return 0;
  return std::min(kNarrowRows, plan.rows.input) * plan.InputRowSize() * static_cast<int64_t>(sizeof(A));
}

template <typename T>
struct MaxPoolGrad {
  using Ops = PoolOps<T>;
  using V = typename Ops::V;
  using M = typename Ops::M;
  using A = typename Ops::A;
  static constexpr int64_t kLanes = Ops::kLanes;

  // One row of windows of one image.
  struct Windows {
    const PoolPlan& plan;
    const T* image;
    const T* pooled;     // this row
    const T* gradients;  // this row
    WindowRange y;
    const Band<A>& band;
  };

  static HWY_INLINE A Sum(A x, A y) {
    if constexpr (std::is_integral_v<A>) {
      using Unsigned = std::make_unsigned_t<A>;
      return static_cast<A>(static_cast<Unsigned>(x) + static_cast<Unsigned>(y));
    } else {
      return x + y;
    }
  }

  // Channels [channel, channel + kLanes) of window `i`.
  static HWY_INLINE void AddPixel(const Windows& w, int64_t i, int64_t channel) {
    const PoolPlan& plan = w.plan;
    const WindowRange x(plan.cols, i);
    const V largest = Ops::Load(w.pooled + i * plan.channels + channel);
    const V gradient = Ops::Load(w.gradients + i * plan.channels + channel);
    M is_open = Ops::AllAfter(0);  // where nothing was found so far
    for (int64_t row = w.y.begin; row < std::min(w.y.end, w.band.end); ++row) {
      const int64_t at = x.begin * plan.channels + channel;
      const T* from = w.image + row * plan.InputRowSize() + at;
      const bool is_inside = row >= w.band.begin;
      A* to = is_inside ? w.band.Row(plan, row) + at : nullptr;
      for (int64_t col = 0; col < x.size(); ++col, from += plan.channels) {
        const M is_found = Ops::And(is_open, Ops::IsSame(Ops::Load(from), largest));
        is_open = Ops::AndNot(is_found, is_open);
        if (!is_inside) continue;
        Ops::Store(Ops::Add(Ops::LoadSums(to), Ops::OnlyWhere(is_found, gradient)), to);
        to += plan.channels;
      }
    }
  }

  // The same for one channel.
  static HWY_INLINE void AddElement(const Windows& w, int64_t i, int64_t channel) {
    const PoolPlan& plan = w.plan;
    const WindowRange x(plan.cols, i);
    const A largest = Load<A>(w.pooled[i * plan.channels + channel]);
    for (int64_t row = w.y.begin; row < std::min(w.y.end, w.band.end); ++row) {
      const T* from = w.image + row * plan.InputRowSize() + channel;
      for (int64_t col = x.begin; col < x.end; ++col) {
        const A element = Load<A>(from[col * plan.channels]);
        if (!(element == largest || (element != element && largest != largest))) continue;
        if (row < w.band.begin) return;
        A& sum = w.band.Row(plan, row)[col * plan.channels + channel];
        sum = Sum(sum, Load<A>(w.gradients[i * plan.channels + channel]));
        return;
      }
    }
  }

  // As many windows of one channel as LaneOps has lanes, from `i` on and without the first `skipped`. They lie within
  // the row even if its elements are taken in pairs. The stride is kStride, 1 or 2.
  template <class LaneOps, int64_t kStride>
  static HWY_INLINE void AddVector(const Windows& w, int64_t i, int64_t skipped) {
    using Vector = typename LaneOps::V;
    const WindowAxis& cols = w.plan.cols;
    const Vector largest = LaneOps::Load(w.pooled + i);
    const Vector gradient = LaneOps::Load(w.gradients + i);
    auto is_open = LaneOps::AllAfter(skipped);
    const auto found = [&](Vector elements) HWY_ATTR {
      const auto is_found = LaneOps::And(is_open, LaneOps::IsSame(elements, largest));
      is_open = LaneOps::AndNot(is_found, is_open);
      return LaneOps::OnlyWhere(is_found, gradient);
    };
    for (int64_t row = w.y.begin; row < std::min(w.y.end, w.band.end); ++row) {
      const int64_t at = i * kStride - cols.pad_before;
      const T* from = w.image + row * cols.input + at;
      const bool is_inside = row >= w.band.begin;
      A* to = is_inside ? w.band.Row(w.plan, row) + at : nullptr;
      for (int64_t col = 0; col < cols.window; col += kStride) {
        Vector even, odd;
        if constexpr (kStride == 1) {
          even = found(LaneOps::Load(from + col));
          if (is_inside) LaneOps::Store(LaneOps::Add(LaneOps::LoadSums(to + col), even), to + col);
        } else {
          LaneOps::LoadPairs(from + col, even, odd);
          even = found(even);
          odd = col + 1 < cols.window ? found(odd) : LaneOps::Set(A{0});
          if (!is_inside) continue;
          Vector even_sum, odd_sum;
          LaneOps::LoadSumPairs(to + col, even_sum, odd_sum);
          LaneOps::StorePairs(LaneOps::Add(even_sum, even), LaneOps::Add(odd_sum, odd), to + col);
        }
      }
    }
  }

  // Windows [begin, end) of one channel, of which there are as many as LaneOps has lanes at least.
  template <class LaneOps>
  static HWY_INLINE void AddVectors(const Windows& w, int64_t begin, int64_t end) {
    const auto add = [&](int64_t i, int64_t skipped) HWY_ATTR {
      w.plan.cols.stride == 1 ? AddVector<LaneOps, 1>(w, i, skipped) : AddVector<LaneOps, 2>(w, i, skipped);
    };
    int64_t i = begin;
    for (; i + LaneOps::kLanes <= end; i += LaneOps::kLanes) add(i, 0);
    if (i < end) add(end - LaneOps::kLanes, i - (end - LaneOps::kLanes));
  }

  // Windows [begin, end) of one channel, if there are enough for vectors. Gives the first window that is left.
  static HWY_INLINE int64_t AddInterior(const Windows& w, int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    if (count >= kLanes) {
      AddVectors<Ops>(w, begin, end);
      return end;
    }
    if constexpr (std::is_same_v<A, float> && kLanes > 4) {
      if (count >= 4) {
        count >= 8 && kLanes > 8 ? AddVectors<PoolVectors<T, 8>>(w, begin, end)
                                 : AddVectors<PoolVectors<T, 4>>(w, begin, end);
        return end;
      }
    }
    return begin;
  }

  static HWY_INLINE void AddWindows(const Windows& w, int64_t begin, int64_t end) {
    const int64_t channels = w.plan.channels;
    for (int64_t i = begin; i < end; ++i) {
      int64_t channel = 0;
      for (; channel + kLanes <= channels; channel += kLanes) AddPixel(w, i, channel);
      for (; channel < channels; ++channel) AddElement(w, i, channel);
    }
  }

  static HWY_INLINE void AddRow(const Windows& w) {
    const WindowAxis& cols = w.plan.cols;
    int64_t done = 0;
    // Room for a whole pair behind the last window.
    const int64_t room = cols.input + cols.pad_before - cols.window - (cols.stride - 1);
    if (w.plan.channels == 1 && cols.stride <= 2 && room >= 0) {
      const int64_t begin = (cols.pad_before + cols.stride - 1) / cols.stride;
      const int64_t end = std::min(cols.output, room / cols.stride + 1);
      if (begin < end) {
        AddWindows(w, 0, begin);
        done = AddInterior(w, begin, end);
      }
    }
    AddWindows(w, done, cols.output);
  }

  static void Rows(const PoolPlan& plan, const PoolGradInputs& inputs, int64_t begin, int64_t end, Row narrow,
                   void* buffer, void* out) {
    const auto add = [&](int64_t image, int64_t y, const Band<A>& band) HWY_ATTR {
      const int64_t at = (image * plan.rows.output + y) * plan.OutputRowSize();
      AddRow({plan, static_cast<const T*>(inputs.images) + image * plan.rows.input * plan.InputRowSize(),
              static_cast<const T*>(inputs.pooled) + at, static_cast<const T*>(inputs.gradients) + at,
              WindowRange(plan.rows, y), band});
    };
    ForEachBand<T, A>(plan, begin, end, narrow, buffer, out, add);
  }

  static PoolGradRows Functions() { return {&Rows, &SumsSize<T, A>}; }
};

template <typename T>
struct AvgPoolGrad {
  using A = Accumulator<T>;

  // What each window of a row gives to each of its elements, by way of `shares`, to `columns`: each column's sum.
  static HWY_INLINE void AddColumns(const PoolPlan& plan, const T* HWY_RESTRICT gradients, int64_t rows,
                                    A* HWY_RESTRICT shares, A* HWY_RESTRICT columns) {
    const WindowAxis& cols = plan.cols;
    const int64_t channels = plan.channels;
    std::fill_n(columns, plan.InputRowSize(), A{0});
    for (int64_t i = 0; i < cols.output; ++i) {
      const A count = static_cast<A>(rows * WindowRange(cols, i).size());
      for (int64_t c = i * channels; c < (i + 1) * channels; ++c) shares[c] = Load<A>(gradients[c]) / count;
    }
    if (channels > 1 || cols.output < cols.window) {
      for (int64_t i = 0; i < cols.output; ++i) {
        const WindowRange x(cols, i);
        for (int64_t col = x.begin; col < x.end; ++col) {
          for (int64_t c = 0; c < channels; ++c) columns[col * channels + c] += shares[i * channels + c];
        }
      }
      return;
    }
    for (int64_t w = 0; w < cols.window; ++w) {
      // The windows whose column `w` is within the image.
      const int64_t offset = w - cols.pad_before;
      const int64_t first = offset >= 0 ? 0 : (-offset + cols.stride - 1) / cols.stride;
      const int64_t last =
          offset >= cols.input ? 0 : std::min(cols.output, (cols.input - 1 - offset) / cols.stride + 1);
      if (cols.stride == 1) {
        for (int64_t i = first; i < last; ++i) columns[i + offset] += shares[i];
      } else {
        for (int64_t i = first; i < last; ++i) columns[i * cols.stride + offset] += shares[i];
      }
    }
  }

  static void Rows(const PoolPlan& plan, const PoolGradInputs& inputs, int64_t begin, int64_t end, Row narrow,
                   void* buffer, void* out) {
    A* shares = reinterpret_cast<A*>(static_cast<char*>(buffer) + SumsSize<T, A>(plan));
    A* columns = shares + plan.OutputRowSize();
    const auto add = [&](int64_t image, int64_t y, const Band<A>& band) HWY_ATTR {
      const WindowRange rows(plan.rows, y);
      const int64_t at = (image * plan.rows.output + y) * plan.OutputRowSize();
      AddColumns(plan, static_cast<const T*>(inputs.gradients) + at, rows.size(), shares, columns);
      for (int64_t row = std::max(rows.begin, band.begin); row < std::min(rows.end, band.end); ++row) {
        A* HWY_RESTRICT sums = band.Row(plan, row);
        const A* HWY_RESTRICT added = columns;
        for (int64_t i = 0; i < plan.InputRowSize(); ++i) sums[i] += added[i];
      }
    };
    ForEachBand<T, A>(plan, begin, end, narrow, buffer, out, add);
  }

  static int64_t ScratchSize(const PoolPlan& plan) {
    return SumsSize<T, A>(plan) + (plan.OutputRowSize() + plan.InputRowSize()) * static_cast<int64_t>(sizeof(A));
  }

  static PoolGradRows Functions() { return {&Rows, &ScratchSize}; }
};

}  // namespace

PoolGradRows MaxPoolGradRowsOf(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return MaxPoolGrad<uint8_t>::Functions();
    case DType::kI8:
      return MaxPoolGrad<int8_t>::Functions();
    case DType::kU16:
      return MaxPoolGrad<uint16_t>::Functions();
    case DType::kI16:
      return MaxPoolGrad<int16_t>::Functions();
    case DType::kI32:
      return MaxPoolGrad<int32_t>::Functions();
    case DType::kU32:
      return MaxPoolGrad<uint32_t>::Functions();
    case DType::kI64:
      return MaxPoolGrad<int64_t>::Functions();
    case DType::kU64:
      return MaxPoolGrad<uint64_t>::Functions();
    case DType::kF16:
      return MaxPoolGrad<Float16>::Functions();
    case DType::kBF16:
      return MaxPoolGrad<BFloat16>::Functions();
    case DType::kF32:
      return MaxPoolGrad<float>::Functions();
    case DType::kF64:
      return MaxPoolGrad<double>::Functions();
    default:
      return {};
  }
}

PoolGradRows AvgPoolGradRowsOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return AvgPoolGrad<Float16>::Functions();
    case DType::kBF16:
      return AvgPoolGrad<BFloat16>::Functions();
    case DType::kF32:
      return AvgPoolGrad<float>::Functions();
    case DType::kF64:
      return AvgPoolGrad<double>::Functions();
    default:
      return {};
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(MaxPoolGradRowsOf);
HWY_EXPORT(AvgPoolGradRowsOf);
}  // namespace

PoolGradRows FindMaxPoolGradRows(DType dtype) { return HWY_DYNAMIC_DISPATCH(MaxPoolGradRowsOf)(dtype); }
PoolGradRows FindAvgPoolGradRows(DType dtype) { return HWY_DYNAMIC_DISPATCH(AvgPoolGradRowsOf)(dtype); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
