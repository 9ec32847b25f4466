// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// WindowGradient: the sums over all windows, by chunks of strips that are added up in a fixed order.

#include <algorithm>
#include <atomic>

#include "kernels/convolution/convolution_product.h"
#include "kernels/convolution/convolution_strips.h"
#include "kernels/convolution/convolution_tiles.h"
#include "kernels/polls.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

// Outputs of a strip: as many as a panel of the gradient, which is to stay in the first-level cache, has rows.
constexpr int64_t kStripPixels = 256;
// Strips that a chunk has at least, so that adding up chunks costs little.
constexpr int64_t kMinChunkStrips = 4;
constexpr int64_t kMaxChunks = 16;
constexpr int64_t kMaxChunksBytes = int64_t{4} << 20;
// Not as many as EnoughTasks, since each range of rows packs the strips' gradients, and what they see, once more.
constexpr int64_t kTasksAThread = 2;

// The rows of the filter as a matrix [taps * depth, width], of which a task computes some.
struct FilterRows {
  int64_t begin;
  int64_t end;
};

// The work of one thread on some rows of the filter and one chunk of strips.
template <typename S>
class GradientTask {
 public:
  using T = GemmComputeType<S>;

  GradientTask(const WindowGradient<S>& gradient, const Strips<T>& strips, FilterRows rows)
      : gradient_(gradient),
        strips_(strips),
        rows_(rows),
        depth_(gradient.source.channels / gradient.groups),
        width_(gradient.gradient.channels / gradient.groups),
        panel_cols_(GetGemmKernels<S>().panel_cols) {
    const uint64_t addresses_bytes = RoundUpBytes<const T*>(rows.end - rows.begin);
    const uint64_t packed_bytes = RoundUpBytes<T>(strips.max_pixels() * RoundUp(width_, panel_cols_));
    const uint64_t runs_bytes = RoundUpBytes<GatherRun>(strips.max_pixels() / gradient.cols.outputs);
    memory_.Allocate(strips.MemorySize() + addresses_bytes + packed_bytes + runs_bytes);
    std::byte* memory = memory_.data();
    if (memory == nullptr) return;
    addresses_ = reinterpret_cast<const T**>(memory + strips.MemorySize());
    packed_ = reinterpret_cast<T*>(memory + strips.MemorySize() + addresses_bytes);
    runs_ = reinterpret_cast<GatherRun*>(memory + strips.MemorySize() + addresses_bytes + packed_bytes);
  }

  bool IsValid() const { return memory_.data() != nullptr; }

  // sums[taps * depth, channels], of which it writes its rows: = or +=.
  void Add(int64_t index, bool accumulate, T* sums) {
    StripSource<T> source(strips_, memory_.data());
    const Strip strip = source.Load(index);
    const int64_t cols = gradient_.cols.outputs;
    const int64_t num_runs = strip.num_pixels / cols;
    const T* base = source.pixels()[0];
    for (int64_t i = 0; i < num_runs; ++i) runs_[i] = {source.pixels()[i * cols] - base, cols};
    GatheredProduct<T> product = {};
    product.rows = addresses_;
    product.num_rows = rows_.end - rows_.begin;
    product.runs = runs_;
    product.num_runs = num_runs;
    product.step = gradient_.cols.stride * strips_.pixel_size();
    product.b = packed_;
    product.panel_cols = panel_cols_;
    product.panel_stride = strip.num_pixels * panel_cols_;
    product.ldc = gradient_.gradient.channels;
    product.cols = width_;
    product.accumulate = accumulate;
    for (int64_t group = 0; group < gradient_.groups; ++group) {
      ListAddresses(base + group * depth_);
      Pack(strip, group);
      product.c = sums + rows_.begin * product.ldc + group * width_;
      MultiplyInSteps(product);
    }
  }

 private:
  // Some rows at a time, so that it ends soon if it is to.
  void MultiplyInSteps(const GatheredProduct<T>& whole) {
    const ConvolutionTiles<T>& tiles = GetConvolutionTiles<T>();
    const int64_t products = std::max<int64_t>(1, strips_.max_pixels() * width_);
    const int64_t step = RoundUp(std::max<int64_t>(8 * tiles.tile_rows, kPollProducts / products), tiles.tile_rows);
    for (int64_t row = 0; row < whole.num_rows && !poll_.Stops(step * products); row += step) {
      GatheredProduct<T> some = whole;
      some.rows += row;
      some.num_rows = std::min(step, whole.num_rows - row);
      some.c += row * whole.ldc;
      tiles.multiply(some);
    }
  }

  // For each row of the filter, what the first output of the strip sees through it.
  void ListAddresses(const T* base) {
    int64_t tap = rows_.begin / depth_;
    int64_t channel = rows_.begin % depth_;
    for (int64_t row = rows_.begin; row < rows_.end; ++tap, channel = 0) {
      const T* const seen = base + tap / gradient_.cols.count * gradient_.rows.step * strips_.pitch() +
                            tap % gradient_.cols.count * gradient_.cols.step * strips_.pixel_size();
      for (; channel < depth_ && row < rows_.end; ++channel, ++row) addresses_[row - rows_.begin] = seen + channel;
    }
  }

  void Pack(const Strip& strip, int64_t group) {
    const GemmKernels<S>& kernels = GetGemmKernels<S>();
    const ImageLayout& layout = gradient_.gradient;
    const int64_t cols = gradient_.cols.outputs;
    for (int64_t col = 0; col < width_; col += panel_cols_) {
      T* to = packed_ + col * strip.num_pixels;
      for (int64_t image = strip.image; image < strip.image + strip.num_images; ++image) {
        for (int64_t row = strip.row; row < strip.row + strip.num_rows; ++row, to += cols * panel_cols_) {
          const int64_t at =
              image * layout.batch_stride + row * layout.row_stride + (group * width_ + col) * layout.channel_stride;
          kernels.pack_b(gradient_.gradient_data + at, layout.channel_stride, layout.col_stride,
                         std::min(panel_cols_, width_ - col), cols, to);
        }
      }
    }
  }

  const WindowGradient<S>& gradient_;
  const Strips<T>& strips_;
  const FilterRows rows_;
  const int64_t depth_;
  const int64_t width_;
  const int64_t panel_cols_;
  TaskMemory memory_;
  const T** addresses_ = nullptr;
  T* packed_ = nullptr;
  GatherRun* runs_ = nullptr;
  StopPoll poll_{kPollProducts};
};

// Adds up the chunks in the first of them, and writes the taps that were computed to their places in the filter.
template <typename S, typename T>
void Finish(const WindowGradient<S>& gradient, int64_t chunks, int64_t size, T* sums) {
  const int64_t tap_size = gradient.source.channels / gradient.groups * gradient.gradient.channels;
  const int64_t taps = gradient.rows.count * gradient.cols.count;
  ParallelFor(gradient.queue, taps, DivideUp(kMinTaskElements, chunks * tap_size), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      const T* more = sums + chunk * size;
      for (int64_t i = begin * tap_size; i < end * tap_size; ++i) sums[i] += more[i];
    }
    for (int64_t tap = begin; tap < end; ++tap) {
      const int64_t row = gradient.rows.tap_first + tap / gradient.cols.count;
      const int64_t col = gradient.cols.tap_first + tap % gradient.cols.count;
      StoreElements(gradient.conversion, sums + tap * tap_size, tap_size, gradient.filter,
                    (row * gradient.filter_cols + col) * tap_size);
    }
  });
}

}  // namespace

template <typename S>
Status WindowGradient<S>::Run() const {
  const int64_t depth = source.channels / groups;
  const int64_t num_rows = rows.count * cols.count * depth;
  const int64_t size = num_rows * gradient.channels;
  if (num_rows < filter_rows * filter_cols * depth) {
    std::fill_n(filter, filter_rows * filter_cols * depth * gradient.channels, S(0));
  }
  if (size == 0) return Status();
  if (source.batch == 0 || rows.outputs == 0 || cols.outputs == 0) {
    std::fill_n(filter, size, S(0));
    return Status();
  }
  Strips<T> strips(source, reinterpret_cast<const T*>(source_data), conversion, rows, cols, 1, gradient.channels);
  strips.ChooseSize(kStripPixels);
  if (!strips.FitsInMemory()) return Status::OutOfMemory();
  const int64_t chunks = std::max<int64_t>(1, std::min({kMaxChunks, strips.size() / kMinChunkStrips,
                                                        kMaxChunksBytes / static_cast<int64_t>(sizeof(T)) / size}));
  const TaskMemory memory(RoundUpBytes<T>(chunks * size));
  T* sums = reinterpret_cast<T*>(memory.data());
  if (sums == nullptr) return Status::OutOfMemory();

  // Ranges of rows, if the chunks are not enough for all threads; where they end does not change the result.
  const int64_t tile_rows = GetConvolutionTiles<T>().tile_rows;
  const int64_t threads = queue.ParallelismLevel();
  const int64_t wanted = threads == 1 ? 1 : DivideUp(kTasksAThread * threads, chunks);
  const int64_t ranges = std::clamp<int64_t>(wanted, 1, DivideUp(num_rows, 4 * tile_rows));
  const int64_t range = RoundUp(DivideUp(num_rows, ranges), tile_rows);
  const double products = static_cast<double>(strips.max_pixels()) * static_cast<double>(gradient.channels) *
                          static_cast<double>(range) * static_cast<double>(DivideUp(strips.size(), chunks));
  const int64_t grain = 1 + static_cast<int64_t>(static_cast<double>(kMinTaskProducts) / products);
  std::atomic<bool> is_out_of_memory = false;
  ParallelFor(queue, chunks * ranges, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % ranges * range;
      const FilterRows some = {first, std::min(first + range, num_rows)};
      if (some.begin >= some.end) continue;
      GradientTask<S> task(*this, strips, some);
      if (!task.IsValid()) return is_out_of_memory.store(true, std::memory_order_relaxed);
      const int64_t chunk = i / ranges;
      const int64_t first_strip = strips.size() * chunk / chunks;
      for (int64_t strip = first_strip; strip < strips.size() * (chunk + 1) / chunks; ++strip) {
        if (KernelRun::IsStopped()) return;
        task.Add(strip, strip > first_strip, sums + chunk * size);
      }
    }
  });
  if (is_out_of_memory.load(std::memory_order_relaxed)) return Status::OutOfMemory();
  Finish(*this, chunks, size, sums);
  return Status();
}

template struct WindowGradient<float>;
template struct WindowGradient<double>;
template struct WindowGradient<Float16>;
template struct WindowGradient<BFloat16>;

}  // namespace tandem::cpu
