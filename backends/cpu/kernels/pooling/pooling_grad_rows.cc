// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of the gradients of pooling, once per instruction set.
//
// A call computes bands of rows of images: it goes through all windows that reach into a band, and leaves out what they
// give to rows outside it. So calls need not wait for each other, and the order of additions is always the same.

#include "kernels/pooling/pooling_grad_rows.h"

#include <algorithm>
#include <type_traits>

#include "kernels/dtype_cases.h"
#include "kernels/polls.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pooling/pooling_grad_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise/elementwise_loops-inl.h"
#include "kernels/pooling/pooling_places-inl.h"
#include "kernels/pooling/pooling_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// Rows of f16 and bf16 that are added up in f32 and then converted.
constexpr int64_t kNarrowRows = 32;

// Computes rows [begin, end) of the gradients of all images in bands. `compute(image, band)` does so for a band of the
// image numbered `image`. For f16 and bf16 the first part of `buffer` is for sums.
template <typename T, typename A, class Fn>
HWY_INLINE void ForEachBand(const PoolPlan& plan, int64_t begin, int64_t end, Row narrow, void* buffer, void* out,
                            Fn compute) {
  const int64_t row_size = plan.InputRowSize();
  const WindowAxis& rows = plan.rows;
  for (int64_t row = begin; row < end && !KernelRun::IsStopped();) {
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
    compute(image, band);
    if constexpr (!std::is_same_v<T, A>) {
      const void* from = band.sums;
      narrow(&from, to, (band.end - band.begin) * row_size);
    }
    row += band.end - band.begin;
  }
}

// The same where `add_windows(image, y, band)` adds what the windows of row `y` give to the band.
template <typename T, typename A, class Fn>
HWY_INLINE void ForEachWindowRow(const PoolPlan& plan, int64_t begin, int64_t end, Row narrow, void* buffer, void* out,
                                 Fn add_windows) {
  ForEachBand<T, A>(plan, begin, end, narrow, buffer, out, [&](int64_t image, const Band<A>& band) HWY_ATTR {
    std::fill_n(band.sums, (band.end - band.begin) * plan.InputRowSize(), A{0});
    const WindowRows windows(plan.rows, band.begin, band.end - 1);
    StopPoll poll(kPollElements);
    for (int64_t y = windows.begin; y < windows.end; ++y) {
      if (poll.Stops(plan.InputRowSize() * plan.rows.window)) return;
      add_windows(image, y, band);
    }
  });
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

  static constexpr int64_t kFewVectors = 8;

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

  // kVectors of channels from `channel` on of window `i`, without the first `skipped` if it adds. If it does not, no
  // other window has the same elements, and they need not be 0 before.
  template <bool kAdds, int64_t kVectors>
  static HWY_INLINE void AddPixel(const Windows& w, int64_t i, int64_t channel, int64_t skipped) {
    const PoolPlan& plan = w.plan;
    const WindowRange x(plan.cols, i);
    V largest[kVectors], gradient[kVectors];
    M is_open[kVectors];  // where nothing was found so far
    bool has_nan = false;
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t at = i * plan.channels + channel + v * kLanes;
      largest[v] = Ops::Load(w.pooled + at);
      has_nan = has_nan || Ops::HasNan(largest[v]);
      gradient[v] = Ops::Add(Ops::Set(A{0}), Ops::Load(w.gradients + at));
      is_open[v] = Ops::AllAfter(kAdds ? skipped : 0);
    }
    for (int64_t row = w.y.begin; row < std::min(w.y.end, w.band.end); ++row) {
      const int64_t at = x.begin * plan.channels + channel;
      const T* from = w.image + row * plan.InputRowSize() + at;
      const bool is_inside = row >= w.band.begin;
      A* to = is_inside ? w.band.Row(plan, row) + at : nullptr;
      for (int64_t col = 0; col < x.size(); ++col, from += plan.channels) {
        for (int64_t v = 0; v < kVectors; ++v) {
          const V element = Ops::Load(from + v * kLanes);
          const M is_found = Ops::And(is_open[v], Ops::IsSame(element, largest[v], has_nan));
          is_open[v] = Ops::AndNot(is_found, is_open[v]);
          if (!is_inside) continue;
          const V found = Ops::OnlyWhere(is_found, gradient[v]);
          Ops::Store(kAdds ? Ops::Add(Ops::LoadSums(to + v * kLanes), found) : found, to + v * kLanes);
        }
        if (is_inside) to += plan.channels;
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
        if (!IsSameNumber(Load<A>(from[col * plan.channels]), largest)) continue;
        if (row >= w.band.begin) AddTo(w, row, col * plan.channels + channel, i * plan.channels + channel);
        return;
      }
    }
  }

  static HWY_INLINE void AddTo(const Windows& w, int64_t row, int64_t at, int64_t gradient) {
    A& sum = w.band.Row(w.plan, row)[at];
    sum = Sum(sum, Load<A>(w.gradients[gradient]));
  }

  // The first of `size` elements that is the largest, or -1.
  static HWY_INLINE int64_t FindFirst(const T* from, int64_t size, A largest) {
    const V all_largest = Ops::Set(largest);
    const bool is_nan = largest != largest;
    if (size <= kFewVectors * kLanes) {
      // Without branches, which would be mispredicted.
      int64_t i = size / kLanes * kLanes;
      int64_t found = -1;
      if (i < size) {
        const M is_same = Ops::IsSame(Ops::LoadFirst(from + i, size - i), all_largest, is_nan);
        const int64_t first = Ops::FirstOf(Ops::AndNot(Ops::AllAfter(size - i), is_same));
        found = first < 0 ? first : i + first;
      }
      while (i > 0) {
        i -= kLanes;
        const int64_t first = Ops::FirstOf(Ops::IsSame(Ops::Load(from + i), all_largest, is_nan));
        found = first < 0 ? found : i + first;
      }
      return found;
    }
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      const int64_t first = Ops::FirstOf(Ops::IsSame(Ops::Load(from + i), all_largest, is_nan));
      if (first >= 0) return i + first;
    }
    if (i == size) return -1;
    const int64_t first = Ops::FirstOf(Ops::IsSame(Ops::LoadFirst(from + i, size - i), all_largest, is_nan));
    return first >= 0 && first < size - i ? i + first : -1;
  }

  // A window of one channel, row by row or in one go if the rows are next to each other.
  static HWY_INLINE void AddWindow(const Windows& w, int64_t i) {
    const PoolPlan& plan = w.plan;
    const WindowRange x(plan.cols, i);
    const A largest = Load<A>(w.pooled[i]);
    const T* from = w.image + w.y.begin * plan.cols.input + x.begin;
    const bool is_whole = x.size() == plan.cols.input;
    const int64_t rows = is_whole ? 1 : std::min(w.y.end, w.band.end) - w.y.begin;
    const int64_t size = is_whole ? w.y.size() * plan.cols.input : x.size();
    for (int64_t row = 0; row < rows; ++row, from += plan.cols.input) {
      int64_t col = FindFirst(from, size, largest);
      if (col < 0) continue;
      int64_t found_row = w.y.begin + row;
      if (is_whole) {
        found_row += col / plan.cols.input;
        col %= plan.cols.input;
      }
      if (w.band.Contains(found_row)) AddTo(w, found_row, x.begin + col, i);
      return;
    }
  }

  static HWY_INLINE void AddRow(const Windows& w) {
    const int64_t channels = w.plan.channels;
    StopPoll poll(kPollElements);
    for (int64_t i = 0; i < w.plan.cols.output; ++i) {
      if (poll.Stops(w.y.size() * w.plan.cols.window * channels)) return;
      if (channels == 1 && kLanes > 1) {
        AddWindow(w, i);
      } else if (channels < kLanes || kLanes == 1) {
        for (int64_t channel = 0; channel < channels; ++channel) AddElement(w, i, channel);
      } else {
        AddChannels<true>(w, i);
      }
    }
  }

  template <bool kAdds>
  static HWY_INLINE void AddChannels(const Windows& w, int64_t i) {
    const int64_t channels = w.plan.channels;
    int64_t channel = 0;
    for (; channel + 4 * kLanes <= channels; channel += 4 * kLanes) AddPixel<kAdds, 4>(w, i, channel, 0);
    for (; channel + kLanes <= channels; channel += kLanes) AddPixel<kAdds, 1>(w, i, channel, 0);
    if (channel < channels) AddPixel<kAdds, 1>(w, i, channels - kLanes, channel - (channels - kLanes));
  }

  // Images of one channel with one window, which is all of the image.
  static bool IsOneWindow(const PoolPlan& plan) {
    return plan.channels == 1 && plan.rows.output == 1 && plan.cols.output == 1 &&
           WindowRange(plan.rows, 0).size() == plan.rows.input && WindowRange(plan.cols, 0).size() == plan.cols.input;
  }
  static void OneWindowRows(const PoolPlan& plan, const PoolGradInputs& inputs, int64_t begin, int64_t end, T* out) {
    const int64_t size = plan.rows.input * plan.cols.input;
    const int64_t first = begin * plan.cols.input, last = end * plan.cols.input;
    std::fill_n(out + first, last - first, T{});
    const T* gradients = static_cast<const T*>(inputs.gradients);
    const T* pooled = static_cast<const T*>(inputs.pooled);
    int64_t image = begin / plan.rows.input;
    for (int64_t at = image * size; at < last; at += size, ++image) {
      const int64_t found = FindFirst(static_cast<const T*>(inputs.images) + at, size, Load<A>(pooled[image]));
      // As a sum it is not -0.
      if (found < 0 || at + found < first || at + found >= last || Load<A>(gradients[image]) == A{0}) continue;
      out[at + found] = gradients[image];
    }
  }

  // A band that each window has elements of its own of, and where nearly all are in a window.
  static HWY_INLINE void StoreBand(const PoolPlan& plan, const T* image, const T* pooled, const T* gradients,
                                   const Band<A>& band) {
    const WindowRows windows(plan.rows, band.begin, band.end - 1);
    StopPoll poll(kPollElements);
    int64_t row = band.begin;
    for (int64_t y = windows.begin; y < windows.end; ++y) {
      const int64_t at = y * plan.OutputRowSize();
      const Windows w = {plan, image, pooled + at, gradients + at, WindowRange(plan.rows, y), band};
      if (poll.Stops(plan.InputRowSize() * w.y.size())) return;
      for (int64_t i = 0; i < plan.cols.output; ++i) AddChannels<false>(w, i);
      const int64_t covered = WindowRange(plan.cols, plan.cols.output - 1).end * plan.channels;
      for (; row < std::min(w.y.end, band.end); ++row) {
        std::fill_n(band.Row(plan, row) + covered, plan.InputRowSize() - covered, A{0});
      }
    }
    std::fill_n(band.Row(plan, row), (band.end - row) * plan.InputRowSize(), A{0});
  }

  static void Rows(const PoolPlan& plan, const PoolGradInputs& inputs, int64_t begin, int64_t end, Row narrow,
                   void* buffer, void* out) {
    const T* images = static_cast<const T*>(inputs.images);
    const T* pooled = static_cast<const T*>(inputs.pooled);
    const T* gradients = static_cast<const T*>(inputs.gradients);
    if (kLanes > 1 && IsOneWindow(plan)) return OneWindowRows(plan, inputs, begin, end, static_cast<T*>(out));
    const int64_t image_size = plan.rows.input * plan.InputRowSize();
    const int64_t pooled_size = plan.rows.output * plan.OutputRowSize();
    if (kLanes > 1 && LargestPlaces<T>::IsFor(plan)) {
      LargestPlaces<T> places(plan, static_cast<char*>(buffer) + SumsSize<T, A>(plan));
      const auto compute = [&](int64_t image, const Band<A>& band) HWY_ATTR {
        const int64_t at = image * pooled_size;
        places.Compute(images + image * image_size, pooled + at, gradients + at, band);
      };
      return ForEachBand<T, A>(plan, begin, end, narrow, buffer, out, compute);
    }
    if (kLanes > 1 && plan.channels >= kLanes && plan.rows.stride == plan.rows.window &&
        plan.cols.stride == plan.cols.window && plan.cols.output > 0) {
      const auto compute = [&](int64_t image, const Band<A>& band) HWY_ATTR {
        const int64_t at = image * pooled_size;
        StoreBand(plan, images + image * image_size, pooled + at, gradients + at, band);
      };
      return ForEachBand<T, A>(plan, begin, end, narrow, buffer, out, compute);
    }
    const auto add = [&](int64_t image, int64_t y, const Band<A>& band) HWY_ATTR {
      const int64_t at = image * pooled_size + y * plan.OutputRowSize();
      AddRow({plan, images + image * image_size, pooled + at, gradients + at, WindowRange(plan.rows, y), band});
    };
    ForEachWindowRow<T, A>(plan, begin, end, narrow, buffer, out, add);
  }

  static int64_t ScratchSize(const PoolPlan& plan) {
    return SumsSize<T, A>(plan) +
           (kLanes > 1 && LargestPlaces<T>::IsFor(plan) ? LargestPlaces<T>::ScratchSize(plan) : 0);
  }

  static constexpr PoolGradRows Functions() { return {&Rows, &ScratchSize}; }
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
      StopPoll poll(kPollElements);
      for (int64_t i = 0; i < cols.output; ++i) {
        const WindowRange x(cols, i);
        if (poll.Stops(x.size() * channels)) return;
        for (int64_t col = x.begin; col < x.end; ++col) {
          for (int64_t c = 0; c < channels; ++c) columns[col * channels + c] += shares[i * channels + c];
        }
      }
      return;
    }
    StopPoll poll(kPollElements);
    for (int64_t w = 0; w < cols.window && !poll.Stops(cols.output); ++w) {
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
      const auto* gradients = static_cast<const T*>(inputs.gradients) + at;
      const int64_t first = std::max(rows.begin, band.begin);
      const int64_t last = std::min(rows.end, band.end);
      if (plan.channels == 1 && plan.cols.output == 1 && WindowRange(plan.cols, 0).size() == plan.cols.input) {
        const A share = Load<A>(*gradients) / static_cast<A>(rows.size() * plan.cols.input);
        A* sums = band.Row(plan, first);
        for (int64_t i = 0; i < (last - first) * plan.cols.input; ++i) sums[i] += share;
        return;
      }
      AddColumns(plan, gradients, rows.size(), shares, columns);
      StopPoll poll(kPollElements);
      for (int64_t row = first; row < last && !poll.Stops(plan.InputRowSize()); ++row) {
        A* HWY_RESTRICT sums = band.Row(plan, row);
        const A* HWY_RESTRICT added = columns;
        for (int64_t i = 0; i < plan.InputRowSize(); ++i) sums[i] += added[i];
      }
    };
    ForEachWindowRow<T, A>(plan, begin, end, narrow, buffer, out, add);
  }

  static int64_t ScratchSize(const PoolPlan& plan) {
    return SumsSize<T, A>(plan) + (plan.OutputRowSize() + plan.InputRowSize()) * static_cast<int64_t>(sizeof(A));
  }

  static constexpr PoolGradRows Functions() { return {&Rows, &ScratchSize}; }
};

}  // namespace

PoolGradRows MaxPoolGradRowsOf(DType dtype) {
  return OfDType<"tf.MaxPoolGrad", uint8_t, int8_t, uint16_t, int16_t, int32_t, uint32_t, int64_t, uint64_t, Float16,
                 BFloat16, float, double>(dtype, []<typename T>() { return MaxPoolGrad<T>::Functions(); });
}

PoolGradRows AvgPoolGradRowsOf(DType dtype) {
  return OfDType<"tf.AvgPoolGrad", Float16, BFloat16, float, double>(
      dtype, []<typename T>() { return AvgPoolGrad<T>::Functions(); });
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
