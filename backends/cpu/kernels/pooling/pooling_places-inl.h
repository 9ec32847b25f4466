// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The gradient of the largest of windows where pixels have few channels, once per instruction set: included between
// Highway's target changes.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_PLACES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_PLACES_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_PLACES_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_POOLING_POOLING_PLACES_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/pooling/pooling_rows.h"
#include "kernels/pooling/pooling_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// Rows [begin, end) of one image's gradient.
template <typename A>
struct Band {
  int64_t begin;
  int64_t end;
  A* sums;  // of row `begin`

  bool Contains(int64_t row) const { return row >= begin && row < end; }
  A* Row(const PoolPlan& plan, int64_t row) const { return sums + (row - begin) * plan.InputRowSize(); }
};

// The rows of windows [begin, end) that reach into rows [row, last_row] of an image.
struct WindowRows {
  WindowRows(const WindowAxis& rows, int64_t row, int64_t last_row) {
    const int64_t before = row + rows.pad_before - rows.window + 1;
    begin = before <= 0 ? 0 : (before + rows.stride - 1) / rows.stride;
    end = std::min(rows.output, (last_row + rows.pad_before) / rows.stride + 1);
  }

  int64_t begin;
  int64_t end;
};

template <typename A>
HWY_INLINE bool IsSameNumber(A x, A y) {
  return x == y || (x != x && y != y);
}

// Copies a row, which need not be long enough for a call to be worth it.
template <typename U>
HWY_INLINE void CopyRow(const U* HWY_RESTRICT from, int64_t size, U* HWY_RESTRICT to) {
  if constexpr (std::is_arithmetic_v<U> && sizeof(U) >= 4 && PoolOps<Accumulator<U>>::kLanes > 1) {
    using Ops = PoolOps<U>;
    int64_t i = 0;
    for (; i + Ops::kLanes <= size; i += Ops::kLanes) Ops::Store(Ops::Load(from + i), to + i);
    if (i < size) Ops::StoreFirst(Ops::LoadFirst(from + i, size - i), to + i, size - i);
  } else {
    std::copy_n(from, size, to);
  }
}

// Copies pixels that are `from_step` elements apart to where they are `to_step` elements apart.
template <int64_t kChannels, typename U>
HWY_INLINE void CopyPixelsOf(const U* HWY_RESTRICT from, int64_t from_step, U* HWY_RESTRICT to, int64_t to_step,
                             int64_t pixels) {
  for (; pixels > 0; --pixels, from += from_step, to += to_step) std::memcpy(to, from, kChannels * sizeof(U));
}
template <typename U>
void CopyPixels(int64_t channels, const U* from, int64_t from_step, U* to, int64_t to_step, int64_t pixels) {
  if (from_step == to_step) return CopyRow(from, pixels * channels, to);
  switch (channels) {
    case 1:
      return CopyPixelsOf<1>(from, from_step, to, to_step, pixels);
    case 2:
      return CopyPixelsOf<2>(from, from_step, to, to_step, pixels);
    case 3:
      return CopyPixelsOf<3>(from, from_step, to, to_step, pixels);
    case 4:
      return CopyPixelsOf<4>(from, from_step, to, to_step, pixels);
    case 8:
      return CopyPixelsOf<8>(from, from_step, to, to_step, pixels);
    default:
      for (; pixels > 0; --pixels, from += from_step, to += to_step) std::copy_n(from, channels, to);
  }
}

// The gradient of the largest where pixels have few channels, in two steps. First, for each window the place of its
// largest element is found, the last place first, so that the first one of equals remains. Then each element collects
// the gradients of those windows that it is the largest of.
//
// Both steps go through several rows as if they were one. For that, the elements are sorted by their places modulo the
// strides, their "phases", so that neighbouring windows find theirs next to each other, and rows have as many pixels
// as there are in a phase, some of them not in a window. These get the gradient 0.
template <typename T>
class LargestPlaces {
 public:
  using Ops = PoolOps<T>;
  using V = typename Ops::V;
  using A = typename Ops::A;
  static constexpr int64_t kLanes = Ops::kLanes;

  static bool IsFor(const PoolPlan& plan) {
    const WindowAxis &rows = plan.rows, &cols = plan.cols;
    const bool has_neighbours = plan.channels > 1 || cols.output * rows.output >= 4;
    return plan.channels < kLanes && has_neighbours && cols.output > 0 && rows.output > 0 &&
           rows.window <= kMaxPlaces && cols.window <= kMaxPlaces && rows.window * cols.window <= kMaxPlaces &&
           cols.stride <= 2 * cols.window && rows.stride <= 2 * rows.window;
  }
  static int64_t ScratchSize(const PoolPlan& plan) {
    const Sizes sizes(plan);
    return (sizes.places + sizes.phases * sizes.phase) * static_cast<int64_t>(sizeof(A)) +
           (sizes.windows + sizes.places + sizes.phases * sizes.phase) * static_cast<int64_t>(sizeof(T));
  }

  LargestPlaces(const PoolPlan& plan, void* scratch)
      : plan_(plan),
        sizes_(plan),
        places_(static_cast<A*>(scratch)),
        sums_(places_ + sizes_.places),
        gradients_(reinterpret_cast<T*>(sums_ + sizes_.phases * sizes_.phase)),
        pooled_(gradients_ + sizes_.places),
        elements_(pooled_ + sizes_.windows),
        reached_(std::min(plan.cols.input, sizes_.pitch / plan.channels * plan.cols.stride - plan.cols.pad_before)),
        has_padding_(plan.cols.pad_before > 0 || plan.ReachedCols() > plan.cols.input) {
    std::fill_n(places_, sizes_.places, A{0});
    std::fill_n(gradients_, sizes_.places, T{});
    std::fill_n(pooled_, sizes_.windows, T{});
    std::fill_n(elements_, sizes_.phases * sizes_.phase, Padding());
    ListTaps();
    ListPhases();
  }

  // Computes a band of an image. All pointers are to its begin.
  void Compute(const T* image, const T* pooled, const T* gradients, const Band<A>& band) {
    const int64_t step = sizes_.chunk * plan_.rows.stride;
    for (int64_t row = band.begin; row < band.end; row += step) {
      const int64_t end = std::min(row + step, band.end);
      const WindowRows windows(plan_.rows, row, end - 1);
      const int64_t num_windows = std::max<int64_t>(windows.end - windows.begin, 0);
      if (num_windows > 0) {
        LoadElements(image, windows);
        LoadWindows(pooled, windows, pooled_);
        LoadWindows(gradients, windows, gradients_ + sizes_.before);
        std::fill_n(gradients_ + sizes_.before + num_windows * sizes_.pitch, (sizes_.kept - 1) * sizes_.pitch, T{});
        Find(image, windows);
        Collect(num_windows);
      }
      Store(row, end, windows, band);
    }
  }

 private:
  // Places are numbers of type A, of which i8 has the fewest.
  static constexpr int64_t kMaxPlaces = 100;
  static constexpr int kNowhere = 127;
  // Vectors at a time.
  static constexpr int64_t kVectors = 4;
  static constexpr int64_t kStep = kVectors * kLanes;
  // What is worked on at a time, about; there is more if else much was to be found twice.
  static constexpr int64_t kChunkElements = 8192;

  struct Sizes {
    explicit Sizes(const PoolPlan& plan)
        : overlap((plan.cols.window + plan.cols.stride - 1) / plan.cols.stride),
          kept((plan.rows.window + plan.rows.stride - 1) / plan.rows.stride),
          phases(plan.rows.stride * plan.cols.stride),
          pitch((plan.cols.output - 1 + overlap) * plan.channels),
          chunk(std::min(plan.rows.output, std::max((kept > 1 ? 8 : 2) * kept, kChunkElements / pitch / (phases + 3)))),
          windows((chunk + kept) * pitch + kStep),
          phase(windows + kept * pitch),
          before((kept - 1) * pitch + (overlap - 1) * plan.channels),
          places(before + phase) {}

    int64_t overlap;  // windows of a row that see the same element
    int64_t kept;     // rows of windows that see the same element
    int64_t phases;
    int64_t pitch;    // elements of a row of a phase
    int64_t chunk;    // rows of windows at a time, about
    int64_t windows;  // elements of those and some more
    int64_t phase;    // elements of a phase
    int64_t before;   // elements before those of the first window
    int64_t places;   // elements, with some before
  };

  // One place of a window, or one window of several that see an element.
  struct Tap {
    int64_t offset;
    A place;
  };

  // The columns of the image that are in the phase of the i-th.
  struct PhaseColumns {
    int64_t offset;  // of their first element from a row's begin
    int64_t pixels;
  };

  // What the largest is equal to in few windows.
  static T Padding() {
    if constexpr (!std::is_same_v<T, A>) {
      T nan;
      nan.bits = 0x7FFF;
      return nan;
    } else if constexpr (std::is_floating_point_v<A>) {
      return std::numeric_limits<A>::quiet_NaN();
    } else {
      return std::numeric_limits<A>::lowest();
    }
  }

  // For Find, from the last place of a window to the first; for Collect, phase after phase.
  void ListTaps() {
    const WindowAxis &rows = plan_.rows, &cols = plan_.cols;
    num_taps_ = rows.window * cols.window;
    Tap* tap = find_taps_ + num_taps_;
    for (int64_t row = 0; row < rows.window; ++row) {
      for (int64_t col = 0; col < cols.window; ++col) {
        const int64_t phase = row % rows.stride * cols.stride + col % cols.stride;
        const int64_t offset = row / rows.stride * sizes_.pitch + col / cols.stride * plan_.channels;
        *--tap = {phase * sizes_.phase + offset, static_cast<A>(row * cols.window + col)};
      }
    }
    tap = collect_taps_;
    for (int64_t phase = 0; phase < sizes_.phases; ++phase) {
      for (int64_t row = phase / cols.stride; row < rows.window; row += rows.stride) {
        for (int64_t col = phase % cols.stride; col < cols.window; col += cols.stride) {
          *tap++ = {sizes_.before - row / rows.stride * sizes_.pitch - col / cols.stride * plan_.channels,
                    static_cast<A>(row * cols.window + col)};
        }
      }
    }
  }
  int64_t NumCollectTaps(int64_t phase) const {
    const auto count = [](const WindowAxis& axis, int64_t first) {
      return first < axis.window ? (axis.window - first + axis.stride - 1) / axis.stride : 0;
    };
    return count(plan_.rows, phase / plan_.cols.stride) * count(plan_.cols, phase % plan_.cols.stride);
  }

  void ListPhases() {
    const WindowAxis& cols = plan_.cols;
    for (int64_t col = 0; col < std::min(cols.stride, reached_); ++col) {
      const int64_t at = col + cols.pad_before;
      phases_[num_phases_++] = {at % cols.stride * sizes_.phase + at / cols.stride * plan_.channels,
                                (reached_ - col + cols.stride - 1) / cols.stride};
    }
  }

  // Calls fn(i) for pairs [i, i + kLanes) of columns, for as many as vectors can be used for, and gives their number.
  // There is `room` for elements.
  template <class Fn>
  HWY_INLINE int64_t ForEachPairs(int64_t room, Fn fn) const {
    if (num_phases_ != 2 || plan_.cols.stride != 2 || plan_.channels != 1) return 0;
    const int64_t pairs = reached_ / 2;
    int64_t done = 0;
    while (done < pairs) {
      if (2 * (done + kLanes) > room) done = pairs - kLanes;
      if (done < 0) return 0;
      fn(done);
      done += kLanes;
    }
    return done;
  }

  HWY_INLINE void LoadElements(const T* image, WindowRows windows) const {
    const WindowAxis& rows = plan_.rows;
    const int64_t first = windows.begin * rows.stride - rows.pad_before;
    const int64_t last = (windows.end - 1) * rows.stride - rows.pad_before + rows.window;
    const int64_t row_phase = plan_.cols.stride * sizes_.phase;
    int64_t phase = 0, at = 0;
    for (int64_t row = first; row < last; ++row) {
      T* to = elements_ + phase * row_phase + at;
      if (row < 0 || row >= rows.input) {
        for (int64_t i = 0; i < plan_.cols.stride; ++i) std::fill_n(to + i * sizes_.phase, sizes_.pitch, Padding());
      } else {
        LoadRow(image, row, to);
      }
      if (++phase < rows.stride) continue;
      phase = 0;
      at += sizes_.pitch;
    }
  }

  HWY_INLINE void LoadRow(const T* image, int64_t row, T* to) const {
    const int64_t channels = plan_.channels;
    const int64_t step = plan_.cols.stride * channels;
    const T* from = image + row * plan_.InputRowSize();
    int64_t done = 0;
    if constexpr (std::is_same_v<T, A>) {
      // Nothing must be written to where padding is, nor read behind the image.
      const int64_t room = has_padding_ ? reached_ : (plan_.rows.input - row) * plan_.InputRowSize();
      done = ForEachPairs(room, [&](int64_t i) HWY_ATTR {
        V even, odd;
        Ops::LoadPairs(from + 2 * i, even, odd);
        Ops::Store(even, to + phases_[0].offset + i);
        Ops::Store(odd, to + phases_[1].offset + i);
      });
    }
    for (int64_t i = 0; i < num_phases_; ++i) {
      if (phases_[i].pixels <= done) continue;
      CopyPixels(channels, from + i * channels + done * step, step, to + phases_[i].offset + done * channels, channels,
                 phases_[i].pixels - done);
    }
  }

  HWY_INLINE void LoadWindows(const T* from, WindowRows windows, T* to) const {
    const int64_t size = plan_.OutputRowSize();
    from += windows.begin * size;
    if (size == sizes_.pitch) return static_cast<void>(std::copy_n(from, (windows.end - windows.begin) * size, to));
    for (int64_t y = windows.begin; y < windows.end; ++y, from += size, to += sizes_.pitch) {
      CopyRow(from, size, to);
    }
  }

  HWY_INLINE void Find(const T* image, WindowRows windows) const {
    const int64_t size = (windows.end - windows.begin) * sizes_.pitch;
    A* places = places_ + sizes_.before;
    bool has_nan = false;
    for (int64_t i = 0; i < size; i += kStep) {
      V largest[kVectors], found[kVectors];
      bool is_nan = false;
      for (int64_t v = 0; v < kVectors; ++v) {
        largest[v] = Ops::Load(pooled_ + i + v * kLanes);
        found[v] = Ops::Set(A{kNowhere});
        is_nan = is_nan || Ops::HasNan(largest[v]);
      }
      has_nan = has_nan || is_nan;
      const auto find = [&](bool is_nan_too) HWY_ATTR {
        for (int64_t j = 0; j < num_taps_; ++j) {
          const T* from = elements_ + find_taps_[j].offset + i;
          const V place = Ops::Set(find_taps_[j].place);
          for (int64_t v = 0; v < kVectors; ++v) {
            const auto is_same = Ops::IsSame(Ops::Load(from + v * kLanes), largest[v], is_nan_too);
            found[v] = Ops::Select(is_same, place, found[v]);
          }
        }
      };
      HWY_UNLIKELY(is_nan) ? find(true) : find(false);
      for (int64_t v = 0; v < kVectors; ++v) Ops::Store(found[v], places + i + v * kLanes);
    }
    if (std::is_floating_point_v<A> && !has_nan) return;
    for (int64_t y = windows.begin; y < windows.end; ++y) FindAtEdges(image, windows, y);
  }

  // Where padding may have been taken for the largest.
  void FindAtEdges(const T* image, WindowRows windows, int64_t window_row) const {
    const WindowAxis &rows = plan_.rows, &cols = plan_.cols;
    const WindowRange y(rows, window_row);
    const int64_t first_row = window_row * rows.stride - rows.pad_before;
    for (int64_t i = 0; i < cols.output; ++i) {
      const WindowRange x(cols, i);
      if (y.size() == rows.window && x.size() == cols.window) continue;
      const int64_t first_col = i * cols.stride - cols.pad_before;
      for (int64_t c = 0; c < plan_.channels; ++c) {
        const int64_t at = (window_row - windows.begin) * sizes_.pitch + i * plan_.channels + c;
        const A largest = Load<A>(pooled_[at]);
        if (!IsSameNumber(largest, Load<A>(Padding()))) continue;
        A& place = places_[sizes_.before + at];
        place = A{kNowhere};
        for (int64_t row = y.end - 1; row >= y.begin; --row) {
          for (int64_t col = x.end - 1; col >= x.begin; --col) {
            const A element = Load<A>(image[row * plan_.InputRowSize() + col * plan_.channels + c]);
            if (!IsSameNumber(element, largest)) continue;
            place = static_cast<A>((row - first_row) * cols.window + col - first_col);
          }
        }
      }
    }
  }

  HWY_INLINE void Collect(int64_t num_windows) const {
    const int64_t size = (num_windows + sizes_.kept - 1) * sizes_.pitch;
    const Tap* taps = collect_taps_;
    for (int64_t phase = 0; phase < sizes_.phases; ++phase) {
      const int64_t num_taps = NumCollectTaps(phase);
      A* to = sums_ + phase * sizes_.phase;
      for (int64_t i = 0; i < size; i += kStep) {
        V sum[kVectors];
        for (int64_t v = 0; v < kVectors; ++v) sum[v] = Ops::Set(A{0});
        const A* places_at = places_ + i;
        const T* gradients_at = gradients_ + i;
        for (int64_t j = 0; j < num_taps; ++j) {
          const A* places = places_at + taps[j].offset;
          const T* gradients = gradients_at + taps[j].offset;
          const V place = Ops::Set(taps[j].place);
          for (int64_t v = 0; v < kVectors; ++v) {
            const auto is_found = Ops::IsSame(Ops::LoadNumbers(places + v * kLanes), place, false);
            sum[v] = Ops::Add(sum[v], Ops::OnlyWhere(is_found, Ops::Load(gradients + v * kLanes)));
          }
        }
        for (int64_t v = 0; v < kVectors; ++v) Ops::Store(sum[v], to + i + v * kLanes);
      }
      taps += num_taps;
    }
  }

  // Rows [begin, end) of the result.
  HWY_INLINE void Store(int64_t begin, int64_t end, WindowRows windows, const Band<A>& band) const {
    const WindowAxis& rows = plan_.rows;
    const int64_t row_size = plan_.InputRowSize();
    const int64_t first = windows.begin * rows.stride - rows.pad_before;
    const int64_t reached =
        windows.end > windows.begin ? (windows.end - windows.begin + sizes_.kept - 1) * rows.stride + first : begin;
    const int64_t reached_begin = std::clamp(first, begin, end);
    const int64_t reached_end = std::clamp(reached, reached_begin, end);
    std::fill_n(band.Row(plan_, begin), (reached_begin - begin) * row_size, A{0});
    std::fill_n(band.Row(plan_, reached_end), (end - reached_end) * row_size, A{0});
    if (reached_begin == reached_end) return;
    int64_t phase = (reached_begin - first) % rows.stride;
    int64_t at = (reached_begin - first) / rows.stride * sizes_.pitch;
    for (int64_t row = reached_begin; row < reached_end; ++row) {
      StoreRow(sums_ + phase * plan_.cols.stride * sizes_.phase + at, (reached_end - row) * row_size,
               band.Row(plan_, row));
      if (++phase < rows.stride) continue;
      phase = 0;
      at += sizes_.pitch;
    }
  }

  // A row, behind whose begin there is `room` for elements.
  HWY_INLINE void StoreRow(const A* sums, int64_t room, A* to) const {
    const int64_t channels = plan_.channels;
    const int64_t step = plan_.cols.stride * channels;
    const int64_t done = ForEachPairs(room, [&](int64_t i) HWY_ATTR {
      Ops::StorePairs(Ops::LoadNumbers(sums + phases_[0].offset + i), Ops::LoadNumbers(sums + phases_[1].offset + i),
                      to + 2 * i);
    });
    for (int64_t i = 0; i < num_phases_; ++i) {
      if (phases_[i].pixels <= done) continue;
      CopyPixels(channels, sums + phases_[i].offset + done * channels, channels, to + i * channels + done * step, step,
                 phases_[i].pixels - done);
    }
    for (int64_t i = reached_ * channels; i < plan_.InputRowSize(); ++i) to[i] = A{0};
  }

  const PoolPlan& plan_;
  const Sizes sizes_;
  A* const places_;
  A* const sums_;
  T* const gradients_;
  T* const pooled_;
  T* const elements_;
  // Columns of the image that windows, or what is between them, reach, and whether windows reach further.
  const int64_t reached_;
  const bool has_padding_;
  int64_t num_phases_ = 0;
  int64_t num_taps_ = 0;
  PhaseColumns phases_[2 * kMaxPlaces];
  Tap find_taps_[kMaxPlaces];
  Tap collect_taps_[kMaxPlaces];
};

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
