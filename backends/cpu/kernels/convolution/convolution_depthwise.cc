// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Depthwise convolutions by strips, as other convolutions, of which each channel of the wider side is a vector lane.

#include "kernels/convolution/convolution_depthwise.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "kernels/convolution/convolution_depthwise_blocks.h"
#include "kernels/convolution/convolution_depthwise_rows.h"
#include "kernels/convolution/convolution_depthwise_tiles.h"
#include "kernels/convolution/convolution_strips.h"
#include "kernels/polls.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

// A tile of outputs; what a chunk of the gradient has at least; see WindowGradient.
constexpr int64_t kTilePixels = 8;
constexpr int64_t kMinChunkStrips = 4;
constexpr int64_t kMaxChunks = 16;
// What a vector's lanes and those of some more can be filled with.
constexpr int64_t kMinGroupElements = 32;
// What is finished at a time, while it is in the first-level cache.
constexpr int64_t kFinishedElements = 4096;
// Pixels that are worth more calls.
constexpr int64_t kMinInnerPixels = 256;
// Elements of source and result that a strip has for each product it computes weigh as much as some products do.
constexpr double kProductsAnElement = 16;

// The offsets of the taps in a strip with this pitch.
void ListOffsets(const TapAxis& rows, const TapAxis& cols, int64_t pitch, int64_t pixel_size, int64_t* offsets) {
  for (int64_t row = 0; row < rows.count; ++row) {
    for (int64_t col = 0; col < cols.count; ++col) {
      *offsets++ = row * rows.step * pitch + col * cols.step * pixel_size;
    }
  }
}

// A range of outputs.
struct OutputRange {
  int64_t begin;
  int64_t end;
};

// Those that see nothing but the source.
OutputRange InsideOutputs(const TapAxis& axis) {
  if (axis.count == 0) return {0, axis.outputs};
  const int64_t last = axis.first + (axis.count - 1) * axis.step;
  const int64_t begin = axis.first >= 0 ? 0 : std::min(DivideUp(-axis.first, axis.stride), axis.outputs);
  const int64_t end = last >= axis.source ? 0 : (axis.source - 1 - last) / axis.stride + 1;
  return {begin, std::clamp(end, begin, axis.outputs)};
}

TapAxis Part(TapAxis axis, OutputRange range) {
  axis.first += range.begin * axis.stride;
  axis.out_first += range.begin * axis.out_step;
  axis.outputs = range.end - range.begin;
  return axis;
}

// out[i] = the sum of in[i * multiplier] and the following ones.
template <typename T>
void AddNeighbours(const T* in, int64_t count, int64_t multiplier, T* out) {
  for (int64_t i = 0; i < count; ++i, in += multiplier) {
    T sum = in[0];
    for (int64_t j = 1; j < multiplier; ++j) sum += in[j];
    out[i] = sum;
  }
}

// How many neighbouring outputs count as one of as many times the channels, so that few channels fill vectors as well.
int64_t GroupSize(const TapAxis& cols, int64_t channels) {
  if (cols.stride != 1 || cols.out_step != 1) return 1;
  int64_t group = 1;
  while (group * channels < kMinGroupElements && 2 * group <= cols.outputs) group *= 2;
  return group;
}

// The work of one thread: strip after strip. The filter is that of a group of outputs, as is the bias of `limits`,
// which the tiles see to.
template <typename S>
class DepthwiseTask {
 public:
  using T = GemmComputeType<S>;

  DepthwiseTask(const DepthwiseProduct<S>& product, const Strips<T>& strips, const int64_t* offsets, const T* filter,
                const BiasAndLimits<T>& limits)
      : product_(product),
        strips_(strips),
        offsets_(offsets),
        filter_(filter),
        limits_(limits),
        group_(GroupSize(product.cols, strips.pixel_size())),
        result_(product.result, product.result_data, product.conversion, product.rows, product.cols,
                strips.max_pixels()),
        products_size_(IsAddedUp() ? RoundUpBytes<T>(strips.max_pixels() * strips.pixel_size()) : 0),
        starts_size_(RoundUpBytes<const T*>(strips.max_pixels() / product.cols.outputs)),
        memory_(strips.MemorySize() + products_size_ + starts_size_ + result_.MemorySize()) {
    if (IsValid()) result_.SetMemory(memory_.data() + strips.MemorySize() + products_size_ + starts_size_);
  }

  bool IsValid() const { return memory_.data() != nullptr; }

  void Compute(int64_t index) {
    StripSource<T> source(strips_, memory_.data());
    const Strip strip = source.Load(index);
    const int64_t num_rows = strip.num_images * strip.num_rows;
    const int64_t row_size = product_.cols.outputs * strips_.pixel_size();
    if (IsAddedUp()) {
      T* products = reinterpret_cast<T*>(memory_.data() + strips_.MemorySize());
      Convolve(source.pixels(), num_rows, products, strips_.pixel_size(), row_size);
      AddNeighbours(products, strip.num_pixels * product_.result.channels,
                    product_.source.channels / product_.result.channels, result_.Pixels(strip));
    } else if (result_.IsInPlace() || !result_.HasPlacesOfRows()) {
      Convolve(source.pixels(), num_rows, result_.Pixels(strip), strips_.pixel_size(), row_size);
    } else {
      const T* const* pixels = source.pixels();
      for (int64_t image = strip.image; image < strip.image + strip.num_images; ++image) {
        Convolve(pixels, strip.num_rows, result_.Row(image, strip.row), result_.pixel_stride(), result_.row_stride());
        pixels += strip.num_rows * product_.cols.outputs;
      }
      return;
    }
    result_.Store(strip);
  }

 private:
  bool IsAddedUp() const { return product_.source.channels > product_.result.channels; }

  // The outputs of some rows, of which `pixels` are what they see.
  void Convolve(const T* const* pixels, int64_t num_rows, T* out, int64_t pixel_stride, int64_t row_stride) {
    const int64_t width = product_.cols.outputs;
    const int64_t size = strips_.pixel_size();
    DepthwiseBlock<T> block = {};
    block.pixels = pixels;
    block.offsets = offsets_;
    block.num_taps = product_.rows.count * product_.cols.count;
    block.channels = group_ * size;
    block.out_stride = pixel_stride;
    block.limits = limits_;
    if (group_ == 1) block.SetRows(product_.rows, product_.cols, size);
    if (group_ == 1 && row_stride == width * pixel_stride) {
      block.num_pixels = num_rows * width;
      return ConvolveInSteps(block, out);
    }
    if (group_ == 1) {
      block.num_pixels = width;
      for (; num_rows > 0; --num_rows, block.pixels += width, out += row_stride) {
        ConvolveInSteps(block, out);
      }
      return;
    }
    // A group of each row at a time; the last has some outputs of the one before again.
    const T** starts = reinterpret_cast<const T**>(memory_.data() + strips_.MemorySize() + products_size_);
    block.pixels = starts;
    block.num_pixels = num_rows;
    block.out_stride = row_stride;
    for (int64_t col = 0; col < width; col += group_) {
      col = std::min(col, width - group_);
      for (int64_t row = 0; row < num_rows; ++row) starts[row] = pixels[row * width + col];
      ConvolveInSteps(block, out + col * size);
    }
  }

  // Some pixels at a time, so that it ends soon if it is to, and finishes what is in the cache.
  void ConvolveInSteps(const DepthwiseBlock<T>& whole, T* out) {
    const int64_t products = std::max<int64_t>(1, whole.num_taps * whole.channels);
    const bool finishes = product_.finish != nullptr && limits_.bias == nullptr;
    const int64_t most = finishes ? kFinishedElements / whole.channels : kPollProducts / products;
    const int64_t unit = whole.row_pixels > 0 && whole.row_pixels <= most ? whole.row_pixels : kTilePixels;
    const int64_t step = std::max(unit, most / unit * unit);
    for (int64_t pixel = 0; pixel < whole.num_pixels; pixel += step) {
      DepthwiseBlock<T> some = whole;
      some.pixels += pixel;
      some.num_pixels = std::min(step, whole.num_pixels - pixel);
      if (unit != whole.row_pixels) some.row_pixels = 0;
      if (poll_.Stops(some.num_pixels * products)) return;
      T* const pixels = out + pixel * whole.out_stride;
      GetDepthwiseTiles<T>().convolve(some, filter_, pixels);
      if (finishes) Finish(some, pixels);
    }
  }

  void Finish(const DepthwiseBlock<T>& block, T* pixels) {
    const int64_t group = block.channels / strips_.pixel_size();
    if (block.out_stride == block.channels) return product_.finish->apply(pixels, block.num_pixels * group, nullptr);
    for (int64_t i = 0; i < block.num_pixels; ++i) {
      product_.finish->apply(pixels + i * block.out_stride, group, nullptr);
    }
  }

  const DepthwiseProduct<S>& product_;
  const Strips<T>& strips_;
  const int64_t* const offsets_;
  const T* const filter_;
  const BiasAndLimits<T>& limits_;
  const int64_t group_;
  StripResult<T> result_;
  const uint64_t products_size_;
  const uint64_t starts_size_;
  TaskMemory memory_;
  StopPoll poll_{kPollProducts};
};

// One chunk of a gradient: what it adds up, and where it keeps what it works with.
template <typename S>
class DepthwiseGradientTask {
 public:
  using T = GemmComputeType<S>;

  DepthwiseGradientTask(const DepthwiseGradient<S>& gradient, const Strips<T>& strips, const int64_t* offsets)
      : gradient_(gradient),
        strips_(strips),
        offsets_(offsets),
        is_in_place_(gradient.gradient.HasPackedPixels() && gradient.conversion.widen == nullptr),
        loaded_size_(is_in_place_ ? 0 : RoundUpBytes<T>(strips.max_pixels() * strips.pixel_size())),
        memory_(strips.MemorySize() + 2 * loaded_size_) {}

  bool IsValid() const { return memory_.data() != nullptr; }

  // sums[tap, channel] = or += those of a strip.
  void Add(int64_t index, bool accumulate, T* sums) {
    StripSource<T> source(strips_, memory_.data());
    const Strip strip = source.Load(index);
    DepthwiseBlock<T> block = {};
    block.pixels = source.pixels();
    block.num_pixels = strip.num_pixels;
    block.offsets = offsets_;
    block.num_taps = gradient_.rows.count * gradient_.cols.count;
    block.channels = strips_.pixel_size();
    // Some taps at a time, so that it ends soon if it is to.
    const T* const gradient = LoadGradient(strip);
    const int64_t products = std::max<int64_t>(1, block.num_pixels * block.channels);
    const int64_t step = std::max<int64_t>(16, kPollProducts / products);
    const int64_t num_taps = block.num_taps;
    for (int64_t tap = 0; tap < num_taps; tap += step, block.offsets += step, sums += step * block.channels) {
      block.num_taps = std::min(step, num_taps - tap);
      if (poll_.Stops(block.num_taps * products)) return;
      GetDepthwiseTiles<T>().sum_windows(block, gradient, accumulate, sums);
    }
  }

 private:
  const T* LoadGradient(const Strip& strip) {
    const ImageLayout& layout = gradient_.gradient;
    if (is_in_place_) {
      return reinterpret_cast<const T*>(gradient_.gradient_data) + strip.image * layout.batch_stride +
             strip.row * layout.row_stride;
    }
    T* loaded = reinterpret_cast<T*>(memory_.data() + strips_.MemorySize());
    T* room = reinterpret_cast<T*>(memory_.data() + strips_.MemorySize() + loaded_size_);
    const int64_t image_size = strip.num_rows * layout.cols * layout.channels;
    for (int64_t i = 0; i < strip.num_images; ++i) {
      LoadImage<T>(layout, gradient_.gradient_data, gradient_.conversion, strip.image + i, strip.row, strip.num_rows, 0,
                   layout.cols, 1, room, loaded + i * image_size);
    }
    return loaded;
  }

  const DepthwiseGradient<S>& gradient_;
  const Strips<T>& strips_;
  const int64_t* const offsets_;
  const bool is_in_place_;
  const uint64_t loaded_size_;
  TaskMemory memory_;
  StopPoll poll_{kPollProducts};
};

}  // namespace

template <typename S>
Status DepthwiseProduct<S>::Run() const {
  const bool is_empty = result.batch == 0 || rows.outputs == 0 || cols.outputs == 0;
  if constexpr (kHasDepthwiseRows<S>) {
    if (!is_empty && DepthwiseRows<S>::AreFor(*this)) return DepthwiseRows<S>(*this).Run();
  }
#ifndef TANDEM_SMALL
  if constexpr (std::is_same_v<S, T>) {
    if (!is_empty && DepthwiseBlocks<T>::AreFor(*this)) return DepthwiseBlocks<T>(*this).Run();
  }
#endif
  const OutputRange inner_rows = InsideOutputs(rows), inner_cols = InsideOutputs(cols);
  const int64_t num_inner = (inner_rows.end - inner_rows.begin) * (inner_cols.end - inner_cols.begin);
  const bool is_read_in_place =
      conversion.widen == nullptr && source.HasPackedPixels() && source.channels >= result.channels;
  if (!is_read_in_place || num_inner == rows.outputs * cols.outputs || num_inner < kMinInnerPixels ||
      num_inner < rows.outputs * cols.outputs / 2) {
    return RunPart(rows, cols);
  }
  // The inside is read where it is; only what sees padding is copied to where there is some.
  const TapAxis middle = Part(rows, inner_rows);
  TANDEM_RETURN_IF_ERROR(RunPart(middle, Part(cols, inner_cols)));
  TANDEM_RETURN_IF_ERROR(RunPart(middle, Part(cols, {0, inner_cols.begin})));
  TANDEM_RETURN_IF_ERROR(RunPart(middle, Part(cols, {inner_cols.end, cols.outputs})));
  TANDEM_RETURN_IF_ERROR(RunPart(Part(rows, {0, inner_rows.begin}), cols));
  return RunPart(Part(rows, {inner_rows.end, rows.outputs}), cols);
}

template <typename S>
Status DepthwiseProduct<S>::RunPart(const TapAxis& row_part, const TapAxis& col_part) const {
  DepthwiseProduct part = *this;
  part.rows = row_part;
  part.cols = col_part;
  return part.RunWhole();
}

template <typename S>
Status DepthwiseProduct<S>::RunWhole() const {
  if (result.channels == 0 || result.batch == 0 || rows.outputs == 0 || cols.outputs == 0) return Status();
  const int64_t channels = std::max(source.channels, result.channels);
  const int64_t taps = rows.count * cols.count;
  Strips<T> strips(source, reinterpret_cast<const T*>(source_data), conversion, rows, cols, channels / source.channels,
                   channels);
  strips.ChooseSize(kTilePixels, EnoughTasks(queue));
  if (!strips.FitsInMemory()) return Status::OutOfMemory();
  const uint64_t offsets_bytes = RoundUpBytes<int64_t>(taps);
  const int64_t group = GroupSize(cols, channels);
  const TaskMemory memory(offsets_bytes + RoundUpBytes<T>((taps + 1) * channels * group));
  if (memory.data() == nullptr) return Status::OutOfMemory();
  int64_t* offsets = reinterpret_cast<int64_t*>(memory.data());
  T* weights = reinterpret_cast<T*>(memory.data() + offsets_bytes);
  ListOffsets(rows, cols, strips.pitch(), strips.pixel_size(), offsets);
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t row = rows.tap_first + tap / cols.count * rows.tap_step;
    const int64_t col = cols.tap_first + tap % cols.count * cols.tap_step;
    T* of_tap = weights + tap * channels * group;
    LoadElements(conversion, filter, (row * filter_cols + col) * channels, channels, of_tap);
    for (int64_t i = 1; i < group; ++i) std::copy_n(of_tap, channels, of_tap + i * channels);
  }
  BiasAndLimits<T> limits;
  if (finish != nullptr && GetDepthwiseTiles<T>().finishes) limits = finish->limits;
  if (limits.bias != nullptr && group > 1) {
    T* const biases = weights + taps * channels * group;
    for (int64_t i = 0; i < group; ++i) std::copy_n(limits.bias, channels, biases + i * channels);
    limits.bias = biases;
  }
  std::atomic<bool> is_out_of_memory = false;
  const double products = (static_cast<double>(taps) + kProductsAnElement) * static_cast<double>(channels);
  const int64_t grain = strips.GrainFor(queue, strips.size(), products);
  ParallelFor(queue, strips.size(), grain, [&](int64_t begin, int64_t end) {
    DepthwiseTask<S> task(*this, strips, offsets, weights, limits);
    if (!task.IsValid()) return is_out_of_memory.store(true, std::memory_order_relaxed);
    for (int64_t i = begin; i < end; ++i) task.Compute(i);
  });
  return is_out_of_memory.load(std::memory_order_relaxed) ? Status::OutOfMemory() : Status();
}

template <typename S>
Status DepthwiseGradient<S>::Run() const {
  const int64_t channels = gradient.channels;
  const int64_t taps = rows.count * cols.count;
  const bool is_empty = source.batch == 0 || rows.outputs == 0 || cols.outputs == 0;
  if (is_empty || taps < filter_rows * filter_cols) std::fill_n(filter, filter_rows * filter_cols * channels, S(0));
  if (is_empty || taps == 0) return Status();
  Strips<T> strips(source, reinterpret_cast<const T*>(source_data), conversion, rows, cols, channels / source.channels,
                   channels);
  strips.ChooseSize(kTilePixels, /*wanted=*/1);
  if (!strips.FitsInMemory()) return Status::OutOfMemory();
  const int64_t chunks = std::clamp<int64_t>(strips.size() / kMinChunkStrips, 1, kMaxChunks);
  const int64_t size = taps * channels;
  const uint64_t offsets_bytes = RoundUpBytes<int64_t>(taps);
  const TaskMemory memory(offsets_bytes + RoundUpBytes<T>(chunks * size));
  if (memory.data() == nullptr) return Status::OutOfMemory();
  int64_t* offsets = reinterpret_cast<int64_t*>(memory.data());
  T* sums = reinterpret_cast<T*>(memory.data() + offsets_bytes);
  ListOffsets(rows, cols, strips.pitch(), strips.pixel_size(), offsets);
  std::atomic<bool> is_out_of_memory = false;
  const double products = (static_cast<double>(taps) + kProductsAnElement) * static_cast<double>(channels) *
                          static_cast<double>(DivideUp(strips.size(), chunks));
  ParallelFor(queue, chunks, strips.GrainFor(queue, chunks, products), [&](int64_t begin, int64_t end) {
    DepthwiseGradientTask<S> task(*this, strips, offsets);
    if (!task.IsValid()) return is_out_of_memory.store(true, std::memory_order_relaxed);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = strips.size() * chunk / chunks;
      for (int64_t strip = first; strip < strips.size() * (chunk + 1) / chunks; ++strip) {
        task.Add(strip, strip > first, sums + chunk * size);
      }
    }
  });
  if (is_out_of_memory.load(std::memory_order_relaxed)) return Status::OutOfMemory();
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    for (int64_t i = 0; i < size; ++i) sums[i] += sums[chunk * size + i];
  }
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t row = rows.tap_first + tap / cols.count;
    const int64_t col = cols.tap_first + tap % cols.count;
    StoreElements(conversion, sums + tap * channels, channels, filter, (row * filter_cols + col) * channels);
  }
  return Status();
}

template struct DepthwiseProduct<float>;
template struct DepthwiseProduct<double>;
template struct DepthwiseProduct<Float16>;
template struct DepthwiseProduct<BFloat16>;
template struct DepthwiseGradient<float>;
template struct DepthwiseGradient<double>;
template struct DepthwiseGradient<Float16>;
template struct DepthwiseGradient<BFloat16>;

}  // namespace tandem::cpu
