// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of pooling, once per instruction set.
//
// Pixels of many channels are pooled one by one, with vectors of channels; those of common networks, several at a time,
// so that what windows share is looked at once. Otherwise the rows of a window come first, with vectors along the row;
// then its columns, after the columns of the row have been sorted by their places modulo the stride, so that
// neighbouring windows find theirs next to each other.

#include "kernels/pooling/pooling_rows.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/dtype_cases.h"
#include "kernels/polls.h"
#include "simd/simd_math.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pooling/pooling_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/pooling/pooling_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// Numbers of f16 and bf16 that are converted together.
constexpr int64_t kNarrowTile = 512;

struct Largest {
  static constexpr bool kAdds = false;
  template <class Ops>
  static HWY_INLINE typename Ops::V Apply(typename Ops::V x, typename Ops::V y) {
    return Ops::Larger(x, y);
  }
  template <typename A>
  static HWY_INLINE A ApplyOne(A x, A y) {
    return ((y > x) | (y != y)) ? y : x;
  }
  template <typename A>
  static constexpr A Identity() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  }

  // Of many vectors. The instruction for the larger number loses NaN, of which a sum tells at less cost than
  // comparisons: it is NaN if one of the numbers was, and may be so of infinities. Then CarefullyTogether is asked.
  // Constructors are written out because g++ makes those it declares itself for the baseline instruction set.
  template <class Ops, bool kHasNan = std::is_floating_point_v<typename Ops::A>>
  struct Together {
    typename Ops::V largest, sum;
    HWY_INLINE Together() : largest(Ops::Set(Identity<typename Ops::A>())), sum(Ops::Set(0)) {}
    HWY_INLINE void Take(typename Ops::V v) {
      largest = Ops::LargerNumber(largest, v);
      sum = Ops::Add(sum, v);
    }
    HWY_INLINE typename Ops::V Get() const { return largest; }
    template <int kCount>
    static HWY_INLINE bool AreSure(const Together (&all)[kCount]) {
      typename Ops::V sum = all[0].sum;
      for (int i = 1; i < kCount; ++i) sum = Ops::Add(sum, all[i].sum);
      return !Ops::HasNan(sum);
    }
  };
  template <class Ops>
  struct Together<Ops, false> {
    typename Ops::V largest;
    HWY_INLINE Together() : largest(Ops::Set(Identity<typename Ops::A>())) {}
    HWY_INLINE void Take(typename Ops::V v) { largest = Ops::Larger(largest, v); }
    HWY_INLINE typename Ops::V Get() const { return largest; }
    template <int kCount>
    static HWY_INLINE bool AreSure(const Together (&)[kCount]) {
      return true;
    }
  };
  template <class Ops>
  using CarefullyTogether = Together<Ops, false>;
};

struct Mean {
  static constexpr bool kAdds = true;
  template <class Ops>
  static HWY_INLINE typename Ops::V Apply(typename Ops::V x, typename Ops::V y) {
    return Ops::Add(x, y);
  }
  template <typename A>
  static HWY_INLINE A ApplyOne(A x, A y) {
    return x + y;
  }
  template <typename A>
  static constexpr A Identity() {
    return A{0};
  }

  template <class Ops>
  struct Together {
    typename Ops::V sum;
    HWY_INLINE Together() : sum(Ops::Set(0)) {}
    HWY_INLINE void Take(typename Ops::V v) { sum = Ops::Add(sum, v); }
    HWY_INLINE typename Ops::V Get() const { return sum; }
    template <int kCount>
    static HWY_INLINE bool AreSure(const Together (&)[kCount]) {
      return true;
    }
  };
  template <class Ops>
  using CarefullyTogether = Together<Ops>;
};

template <class Fn, typename T>
struct Pool {
  using Ops = PoolOps<T>;
  using V = typename Ops::V;
  using A = typename Ops::A;
  static constexpr int64_t kLanes = Ops::kLanes;
  static constexpr bool kNarrows = !std::is_same_v<T, A>;
  static constexpr int64_t kSumChannels = 64 / sizeof(A);  // lanes of the widest vectors

  // `rows` rows of `pixels` pixels of an image, whose rows begin `stride` elements apart.
  // Numbers are as wide as pointers, so that none is converted for an access.
  struct Window {
    Window(const T* begin, const WindowRange& y, int64_t row_stride, const WindowRange& x, int64_t num_channels)
        : first(begin),
          rows(static_cast<ptrdiff_t>(y.size())),
          stride(static_cast<ptrdiff_t>(row_stride)),
          pixels(static_cast<ptrdiff_t>(x.size())),
          channels(static_cast<ptrdiff_t>(num_channels)) {}

    const T* first;
    ptrdiff_t rows;
    ptrdiff_t stride;
    ptrdiff_t pixels;
    ptrdiff_t channels;
  };

  // Rows of a window to take before it asks whether to go on: all of them but for huge windows.
  static HWY_INLINE int64_t RowsAPoll(int64_t vectors_a_row) {
    return vectors_a_row <= 64 ? kPollElements / 64 : 1 + kPollElements / vectors_a_row;
  }

  // kCount vectors of channels from `channel` on; false if what it has stored may be wrong.
  template <int kCount, class Together>
  static HWY_INLINE bool PoolChannelsBy(const Window& window, int64_t channel, A* HWY_RESTRICT out) {
    const T* row = window.first + channel;
    Together result[kCount];
    const auto step = static_cast<ptrdiff_t>(RowsAPoll(window.pixels * kCount));
    for (ptrdiff_t begin = 0; begin < window.rows; begin += step) {
      if (begin > 0 && KernelRun::IsStopped()) return true;
      const ptrdiff_t end = std::min(window.rows, begin + step);
      for (ptrdiff_t y = begin; y < end; ++y, row += window.stride) {
        const T* pixel = row;
        for (ptrdiff_t x = 0; x < window.pixels; ++x, pixel += window.channels) {
          for (int i = 0; i < kCount; ++i) result[i].Take(Ops::Load(pixel + i * kLanes));
        }
      }
    }
    for (int i = 0; i < kCount; ++i) {
      V v = result[i].Get();
      if constexpr (Fn::kAdds) v = Ops::Div(v, Ops::Set(static_cast<A>(window.rows * window.pixels)));
      Ops::Store(v, out + i * kLanes);
    }
    return Together::AreSure(result);
  }

  static HWY_NOINLINE void PoolChannelsCarefully(const Window& window, int64_t channel, A* HWY_RESTRICT out) {
    PoolChannelsBy<1, typename Fn::template CarefullyTogether<Ops>>(window, channel, out);
  }

  template <int kCount>
  static HWY_INLINE void PoolChannels(const Window& window, int64_t channel, A* HWY_RESTRICT out) {
    if (HWY_LIKELY((PoolChannelsBy<kCount, typename Fn::template Together<Ops>>(window, channel, out)))) return;
    for (int i = 0; i < kCount; ++i) PoolChannelsCarefully(window, channel + i * kLanes, out + i * kLanes);
  }

  // The channels [channel, channel + n) of one window; n is at least kLanes.
  static HWY_INLINE void PoolPixel(const Window& window, int64_t channel, int64_t n, A* out) {
    int64_t c = 0;
    if constexpr (kLanes > 1) {
      for (; c + 4 * kLanes <= n; c += 4 * kLanes) PoolChannels<4>(window, channel + c, out + c);
    }
    for (; c + kLanes <= n; c += kLanes) PoolChannels<1>(window, channel + c, out + c);
    if (c < n) PoolChannels<1>(window, channel + n - kLanes, out + n - kLanes);  // some of them again
  }

  // The windows that most networks have: square ones of 2 or 3 pixels that begin 2 pixels apart.
  static constexpr bool kHasCommon = std::is_same_v<T, float> && !Fn::kAdds && kLanes > 1;

  // How many windows from the i-th of a row on PoolCommon may take: those of one of its sizes, within the image, as
  // many as stay in the first-level cache.
  static int64_t NumCommon(const PoolPlan& plan, int64_t i) {
    const WindowAxis& cols = plan.cols;
    if (plan.rows.window != cols.window || cols.window < 2 || cols.window > 3 || cols.stride != 2) return 0;
    const int64_t behind = cols.input - (2 * i - cols.pad_before + cols.window);
    if (2 * i < cols.pad_before || behind < 0) return 0;
    return std::min({2 + 1024 / plan.channels, cols.output - i, behind / 2 + 1});
  }

  // kVectors vectors of channels from `channel` on, of `num` windows of kSize pixels; the last column of one of 3 is
  // the first of the next. The window has all of its columns; for rows that it has not, another one of it is taken
  // again.
  template <int kSize, int kVectors>
  static HWY_INLINE void PoolCommonBy(const Window& window, ptrdiff_t num, ptrdiff_t channel, A* out) {
    const ptrdiff_t channels = window.channels;
    const T* upper = window.first + channel;
    const T* middle = upper + (window.rows > 1 ? window.stride : 0);
    const T* lower = upper + (window.rows - 1) * window.stride;
    // The largest of a column.
    const auto column = [&](ptrdiff_t at, V& sum) HWY_ATTR {
      const V a = Ops::Load(upper + at), b = Ops::Load(lower + at);
      V largest = Ops::LargerNumber(a, b), added = Ops::Add(a, b);
      if constexpr (kSize == 3) {
        const V c = Ops::Load(middle + at);
        largest = Ops::LargerNumber(largest, c);
        added = Ops::Add(added, c);
      }
      sum = Ops::Add(sum, added);
      return largest;
    };
    V sum0 = Ops::Set(0), sum1 = Ops::Set(0);
    V shared[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; kSize == 3 && v < kVectors; ++v) shared[v] = column(v * kLanes, sum0);
    ptrdiff_t at = kSize == 3 ? channels : 0;
    A* to = out + channel;
    for (ptrdiff_t pixel = 0; pixel < num; ++pixel, at += 2 * channels, to += channels) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        V largest = column(at + v * kLanes, sum0);
        if constexpr (kSize == 3) largest = Ops::LargerNumber(largest, shared[v]);
        const V last = column(at + channels + v * kLanes, sum1);
        Ops::Store(Ops::LargerNumber(largest, last), to + v * kLanes);
        shared[v] = last;
      }
    }
    if (HWY_LIKELY(!Ops::HasNan(Ops::Add(sum0, sum1)))) return;
    // There may be a NaN, which the instruction for the larger number has lost (see Together).
    Window next = window;
    for (ptrdiff_t pixel = 0; pixel < num; ++pixel, next.first += 2 * channels, out += channels) {
      for (int v = 0; v < kVectors; ++v) PoolChannelsCarefully(next, channel + v * kLanes, out + channel + v * kLanes);
    }
  }

  // By whole lines of the cache as far as it goes.
  template <int kSize>
  static HWY_NOINLINE void PoolCommon(const Window& window, ptrdiff_t num, A* out) {
    constexpr ptrdiff_t kLine = 64 / sizeof(A);
    constexpr int kVectors = static_cast<int>(std::max<ptrdiff_t>(1, kLine / kLanes));
    ptrdiff_t c = 0;
    for (; c + kVectors * kLanes <= window.channels; c += kVectors * kLanes) {
      PoolCommonBy<kSize, kVectors>(window, num, c, out);
    }
    for (; c < window.channels; c += kLanes) {
      PoolCommonBy<kSize, 1>(window, num, std::min<ptrdiff_t>(c, window.channels - kLanes), out);  // some of them again
    }
  }

  static void PixelRow(const PoolPlan& plan, const T* image, const WindowRange& y, Row narrow, T* out) {
    const int64_t channels = plan.channels;
    const int64_t stride = plan.InputRowSize();
    StopPoll poll(kPollElements);
    int64_t done;
    for (int64_t i = 0; i < plan.cols.output; i += done, out += done * channels) {
      done = 1;
      const WindowRange x(plan.cols, i);
      const Window window(image + y.begin * stride + x.begin * channels, y, stride, x, channels);
      if constexpr (kHasCommon) {
        if (const int64_t num = y.size() > 0 ? NumCommon(plan, i) : 0; num > 0) {
          if (poll.Stops(num * y.size() * x.size() * channels)) return;
          const auto count = static_cast<ptrdiff_t>(num);
          plan.cols.window == 2 ? PoolCommon<2>(window, count, out) : PoolCommon<3>(window, count, out);
          done = num;
          continue;
        }
      }
      if (poll.Stops(y.size() * x.size() * channels)) return;
      if constexpr (kNarrows) {
        for (int64_t c = 0; c < channels;) {
          // The last part is not shorter than a vector.
          const int64_t left = channels - c;
          const int64_t n = left <= kNarrowTile ? left : std::min(kNarrowTile, left - kLanes);
          A buffer[kNarrowTile];
          PoolPixel(window, c, n, buffer);
          const void* from = buffer;
          narrow(&from, out + c, n);
          c += n;
        }
      } else {
        PoolPixel(window, 0, channels, out);
      }
    }
  }

  // out[i] = the rows' elements i, together.
  static HWY_INLINE void PoolColumns(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t n,
                                     A* HWY_RESTRICT out) {
    const auto pool = [&](int64_t i) HWY_ATTR {
      V result = Ops::Load(x + i);
      for (int64_t row = 1; row < rows; ++row) {
        result = Fn::template Apply<Ops>(result, Ops::Load(x + row * stride + i));
      }
      Ops::Store(result, out + i);
    };
    if (n >= kLanes) {
      for (int64_t i = 0; i + kLanes <= n; i += kLanes) pool(i);
      if (n % kLanes != 0) pool(n - kLanes);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      A result = Load<A>(x[i]);
      for (int64_t row = 1; row < rows; ++row) result = Fn::ApplyOne(result, Load<A>(x[row * stride + i]));
      out[i] = result;
    }
  }

  static A SumStretch(const T* x, int64_t n) {
    if constexpr (kNarrows) {
      A sum = 0;
      A numbers[kNarrowTile];
      for (int64_t begin = 0; begin < n; begin += kNarrowTile) {
        const int64_t size = std::min(kNarrowTile, n - begin);
        for (int64_t i = 0; i < size; ++i) numbers[i] = Load<A>(x[begin + i]);
        sum += simd::Sum(numbers, size);
      }
      return sum;
    } else {
      return simd::Sum(x, n);
    }
  }

  // All of `n` contiguous elements.
  static HWY_INLINE A PoolStretch(const T* HWY_RESTRICT x, int64_t n) {
    if constexpr (Fn::kAdds) return SumStretch(x, n);
    A result = Fn::template Identity<A>();
    int64_t i = 0;
    if (n >= kLanes) {
      V results = Ops::Load(x);
      for (i = kLanes; i + kLanes <= n;) {
        if (i > kLanes && KernelRun::IsStopped()) return result;
        const int64_t end = std::min(n, i + kPollElements);
        for (; i + kLanes <= end; i += kLanes) results = Fn::template Apply<Ops>(results, Ops::Load(x + i));
      }
      A lanes[kLanes];
      Ops::Store(results, lanes);
      for (int64_t lane = 0; lane < kLanes; ++lane) result = Fn::ApplyOne(result, lanes[lane]);
    }
    for (; i < n; ++i) result = Fn::ApplyOne(result, Load<A>(x[i]));
    return result;
  }

  // Pixels i * step of `columns`, for i < count.
  static HWY_INLINE void TakeColumns(const A* HWY_RESTRICT columns, int64_t step, int64_t count, int64_t channels,
                                     A* HWY_RESTRICT out) {
    if (channels == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = columns[i * step];
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < channels; ++c) out[i * channels + c] = columns[i * step * channels + c];
    }
  }

  // The even and the odd ones of 2 * count numbers.
  static HWY_INLINE void SplitPairs(const A* HWY_RESTRICT columns, int64_t count, A* HWY_RESTRICT even,
                                    A* HWY_RESTRICT odd) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      V first, second;
      Ops::LoadNumberPairs(columns + 2 * i, first, second);
      Ops::Store(first, even + i);
      Ops::Store(second, odd + i);
    }
    for (; i < count; ++i) {
      even[i] = columns[2 * i];
      odd[i] = columns[2 * i + 1];
    }
  }

  // How many numbers of each kind PoolRow keeps in its buffer.
  struct BufferSizes {
    explicit BufferSizes(const PoolPlan& plan)
        : columns(plan.ReachedCols() * plan.channels + 1),
          phase((plan.cols.output + (plan.cols.window - 1) / plan.cols.stride) * plan.channels),
          num_phases(plan.cols.stride == 1 ? 0 : std::min(plan.cols.stride, plan.cols.window)),
          result(kNarrows ? plan.OutputRowSize() : 0) {}
    int64_t Total() const { return columns + num_phases * phase + result; }

    int64_t columns;     // the reached columns of a row; one more number, so that there is a pair for each
    int64_t phase;       // the columns of one place modulo the stride
    int64_t num_phases;  // none if the stride is 1
    int64_t result;      // for narrowing
  };
  // None where a plan is computed by pixels.
  struct Buffers {
    Buffers(const PoolPlan& plan, A* buffer)
        : sizes(plan),
          columns(buffer),
          phases(Behind(columns, sizes.columns)),
          result(Behind(phases, sizes.num_phases * sizes.phase)) {}
    static A* Behind(A* numbers, int64_t count) { return numbers == nullptr ? nullptr : numbers + count; }

    BufferSizes sizes;
    A* columns;
    A* phases;
    A* result;
  };

  // Sorts the columns by their places modulo the stride.
  static HWY_INLINE void SplitPhases(const PoolPlan& plan, const Buffers& buffers) {
    const int64_t stride = plan.cols.stride;
    if (plan.channels == 1 && stride == 2 && buffers.sizes.num_phases == 2) {
      const int64_t pairs = (plan.ReachedCols() + 1) / 2;  // at most sizes.phase
      return SplitPairs(buffers.columns, pairs, buffers.phases, buffers.phases + buffers.sizes.phase);
    }
    for (int64_t phase = 0; phase < buffers.sizes.num_phases; ++phase) {
      const int64_t count = (plan.ReachedCols() - phase + stride - 1) / stride;
      TakeColumns(buffers.columns + phase * plan.channels, stride, count, plan.channels,
                  buffers.phases + phase * buffers.sizes.phase);
    }
  }

  // The elements of each window from the columns.
  static HWY_INLINE void PoolWindows(const PoolPlan& plan, const Buffers& buffers, A* HWY_RESTRICT out) {
    const int64_t n = plan.OutputRowSize();
    const int64_t stride = plan.cols.stride;
    const int64_t window = plan.cols.window;
    const A* numbers = stride == 1 ? buffers.columns : buffers.phases;
    // Calls fn with where the numbers of each column of a window begin.
    const auto for_each_column = [&](auto fn) HWY_ATTR {
      const A* first = numbers;  // of the columns 0, stride, 2 * stride, ... of a window
      const int64_t phases = std::min(stride, window);
      for (int64_t phase = 0; phase < phases; ++phase, first += buffers.sizes.phase) {
        const A* column = first;
        for (int64_t w = phase; w < window; w += stride, column += plan.channels) fn(column);
      }
    };
    const auto pool = [&](int64_t i) HWY_ATTR {
      V result = Ops::Set(Fn::template Identity<A>());
      for_each_column([&](const A* column)
                          HWY_ATTR { result = Fn::template Apply<Ops>(result, Ops::LoadNumbers(column + i)); });
      Ops::Store(result, out + i);
    };
    if (n >= kLanes) {
      for (int64_t i = 0; i + kLanes <= n; i += kLanes) pool(i);
      if (n % kLanes != 0) pool(n - kLanes);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      A result = Fn::template Identity<A>();
      for_each_column([&](const A* column) HWY_ATTR { result = Fn::ApplyOne(result, column[i]); });
      out[i] = result;
    }
  }

  // Divides sums by the number of elements that are within the image.
  static HWY_INLINE void Divide(const PoolPlan& plan, int64_t rows, A* HWY_RESTRICT sums) {
    const int64_t channels = plan.channels;
    int64_t i = 0;
    while (i < plan.cols.output) {
      const int64_t size = WindowRange(plan.cols, i).size();
      int64_t end = i + 1;  // of the windows that have as many
      if (size == plan.cols.window) {
        const int64_t last = (plan.cols.input + plan.cols.pad_before - plan.cols.window) / plan.cols.stride;
        end = std::min(last + 1, plan.cols.output);
      }
      const A count = static_cast<A>(rows * size);
      for (int64_t j = i * channels; j < end * channels; ++j) sums[j] /= count;
      i = end;
    }
  }

  // The windows of `rows` rows: what the columns come to first, then the windows.
  static void SumOrChooseColumns(const PoolPlan& plan, const T* first, int64_t rows, const Buffers& buffers,
                                 A* result) {
    const int64_t stride = plan.InputRowSize();
    const int64_t pad = plan.cols.pad_before;
    const int64_t cols = std::min(plan.cols.input, plan.ReachedCols() - pad);
    A* const columns = buffers.columns + pad * plan.channels;
    const int64_t n = cols * plan.channels;
    // So many columns that it ends soon if it is to; the last part is not shorter than a vector.
    const int64_t part = (1 + kPollElements / std::max<int64_t>(1, rows) / 1024) * 1024;
    for (int64_t i = 0; i < n && (i == 0 || !KernelRun::IsStopped());) {
      const int64_t size = n - i < part + kLanes ? n - i : part;
      PoolColumns(first + i, rows, stride, size, columns + i);
      i += size;
    }
    if (plan.cols.stride > 1) SplitPhases(plan, buffers);
    PoolWindows(plan, buffers, result);
  }

  // The same sums in the same order, one after the other.
  static void SumWindowsPlainly(const PoolPlan& plan, const T* first, int64_t rows, A* result) {
    const int64_t stride = plan.cols.stride;
    StopPoll poll(kPollElements);
    for (int64_t i = 0; i < plan.cols.output; ++i) {
      for (int64_t c = 0; c < plan.channels; ++c) {
        A sum = 0;
        for (int64_t phase = 0; phase < std::min(stride, plan.cols.window); ++phase) {
          for (int64_t w = phase; w < plan.cols.window; w += stride) {
            const int64_t col = i * stride + w - plan.cols.pad_before;
            if (col < 0 || col >= plan.cols.input) continue;
            if (poll.Stops(rows)) return;
            const T* x = first + col * plan.channels + c;
            A column = Load<A>(*x);
            for (int64_t row = 1; row < rows; ++row) column += Load<A>(x[row * plan.InputRowSize()]);
            sum += column;
          }
        }
        *result++ = sum;
      }
    }
  }

  static void ColumnRow(const PoolPlan& plan, const T* image, const WindowRange& y, Row narrow, const Buffers& buffers,
                        T* out) {
    const int64_t stride = plan.InputRowSize();
    if (plan.channels == 1 && plan.cols.output == 1 && WindowRange(plan.cols, 0).size() == plan.cols.input) {
      A result = PoolStretch(image + y.begin * stride, y.size() * stride);
      if constexpr (Fn::kAdds) result /= static_cast<A>(y.size() * stride);
      *out = static_cast<T>(result);
      return;
    }
    A* result;
    if constexpr (kNarrows) {
      result = buffers.result;
    } else {
      result = out;
    }
    const T* const first = image + y.begin * stride;
    if constexpr (kLanes == 1) {
      SumWindowsPlainly(plan, first, y.size(), result);
    } else {
      SumOrChooseColumns(plan, first, y.size(), buffers, result);
    }
    if constexpr (Fn::kAdds) Divide(plan, y.size(), result);
    if constexpr (kNarrows) {
      const void* from = result;
      narrow(&from, out, plan.OutputRowSize());
    }
  }

  // Of zeros of both signs, instructions and ways differ in which one is the largest: exact mode makes it 0.
  static void ClearSignsOfZeros(T* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        y[i] += T{0};
      } else if constexpr (kNarrows) {
        if ((y[i].bits & 0x7FFF) == 0) y[i].bits = 0;
      }
    }
  }

  // Sums depend on the way, so that the width of vectors must not choose it.
  static bool IsByPixels(const PoolPlan& plan) {
    return Fn::kAdds ? plan.channels >= kSumChannels : kLanes == 1 || plan.channels >= kLanes;
  }

  static int64_t ScratchSize(const PoolPlan& plan) {
    return IsByPixels(plan) ? 0 : BufferSizes(plan).Total() * static_cast<int64_t>(sizeof(A));
  }

  static void Rows(const PoolPlan& plan, const void* x, int64_t begin, int64_t end, Row narrow, void* buffer,
                   void* out) {
    const bool is_by_pixels = IsByPixels(plan);
    const bool is_exact = KernelRun::IsExact();
    const Buffers buffers(plan, static_cast<A*>(buffer));
    if (!is_by_pixels) std::fill(buffers.columns, buffers.phases, Fn::template Identity<A>());
    auto* to = static_cast<T*>(out) + begin * plan.OutputRowSize();
    StopPoll poll(kPollProducts);
    for (int64_t row = begin; row < end; ++row, to += plan.OutputRowSize()) {
      if (poll.Stops(plan.OutputRowSize() * plan.rows.window * plan.cols.window)) return;
      const T* image = static_cast<const T*>(x) + row / plan.rows.output * plan.rows.input * plan.InputRowSize();
      const WindowRange y(plan.rows, row % plan.rows.output);
      bool is_done = false;
      if constexpr (kLanes > 1 || Fn::kAdds) {
        is_done = !is_by_pixels;
        if (is_done) ColumnRow(plan, image, y, narrow, buffers, to);
      }
      if (!is_done) PixelRow(plan, image, y, narrow, to);
      if (!Fn::kAdds && is_exact) ClearSignsOfZeros(to, plan.OutputRowSize());
    }
  }

  static constexpr PoolRows Functions() { return {&Rows, &ScratchSize}; }
};

}  // namespace

PoolRows MaxPoolRowsOf(DType dtype) {
  return OfDType<"tf.MaxPool", uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t, Float16, BFloat16, float, double>(
      dtype, []<typename T>() { return Pool<Largest, T>::Functions(); });
}

PoolRows AvgPoolRowsOf(DType dtype) {
  return OfDType<"tf.AvgPool", Float16, BFloat16, float, double>(
      dtype, []<typename T>() { return Pool<Mean, T>::Functions(); });
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(MaxPoolRowsOf);
HWY_EXPORT(AvgPoolRowsOf);
}  // namespace

PoolRows FindMaxPoolRows(DType dtype) { return HWY_DYNAMIC_DISPATCH(MaxPoolRowsOf)(dtype); }
PoolRows FindAvgPoolRows(DType dtype) { return HWY_DYNAMIC_DISPATCH(AvgPoolRowsOf)(dtype); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
