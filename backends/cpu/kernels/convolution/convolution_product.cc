// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The division of a convolution into strips of the result, each of which is one product of gathered rows and the packed
// filter.

#include "kernels/convolution/convolution_product.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "gemm/gemm.h"
#include "gemm/packed_memory.h"
#include "kernels/convolution/convolution_strips.h"
#include "kernels/convolution/convolution_tiles.h"
#include "kernels/polls.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

// Up to so many outputs, Gemm is as fast. It adds up in another order, so that this must not depend on the target.
constexpr int64_t kFewPixels = 24;

// Elements [first_run, first_run + num_runs) of the runs: at most some kGemmDepth products, whose filter elements and
// pixels fit in the first-level cache.
struct DepthBlock {
  int64_t first_run;
  int64_t num_runs;
  int64_t first_depth;
  int64_t depth;
};

// The filter as strips of this pitch multiply with it: by groups, blocks of depth, and panels of columns.
template <typename S>
class PackedFilter {
 public:
  using T = GemmComputeType<S>;

  PackedFilter(const WindowProduct<S>& product, int64_t pitch)
      : product_(product),
        filter_(product.filter),
        is_merged_(filter_.groups == 1 && product.cols.step == 1),
        depth_(product.rows.count * product.cols.count * filter_.depth),
        panel_cols_(GetGemmKernels<S>().panel_cols),
        padded_width_(RoundUp(filter_.width, panel_cols_)),
        filter_memory_(filter_.forms, KeyOf(product, is_merged_),
                       RoundUpBytes<T>(filter_.groups * depth_ * padded_width_)),
        packed_(reinterpret_cast<T*>(filter_memory_.data())) {
    const int64_t run = depth_ == 0 ? 1 : is_merged_ ? product.cols.count * filter_.depth : filter_.depth;
    const int64_t pieces = DivideUp(run, kGemmDepth);
    const int64_t num_runs = depth_ / run * pieces;
    const uint64_t runs_bytes = RoundUpBytes<GatherRun>(num_runs);
    memory_.Allocate(runs_bytes + RoundUpBytes<DepthBlock>(num_runs + 1));
    if (!IsValid()) return;
    runs_ = reinterpret_cast<GatherRun*>(memory_.data());
    blocks_ = reinterpret_cast<DepthBlock*>(memory_.data() + runs_bytes);
    ListRuns(pitch, run, pieces, is_merged_);
  }

  bool IsValid() const { return packed_ != nullptr && memory_.data() != nullptr; }

  void Pack(WorkQueue& queue) {
    if (filter_memory_.is_packed()) return;
    const int64_t grain = DivideUp(kMinTaskElements, std::max<int64_t>(1, depth_ * panel_cols_));
    ParallelFor(queue, filter_.groups * panels(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) PackPanel(i / panels(), i % panels());
    });
    filter_memory_.SetPacked();
  }

  int64_t panels() const { return padded_width_ / panel_cols_; }

  // c[num_rows, width] (row stride ldc) = rows times the filter of `group`, within these limits: the columns of panels
  // [first_panel, last_panel).
  void Multiply(const T* const* rows, int64_t num_rows, int64_t group, int64_t first_panel, int64_t last_panel,
                const BiasAndLimits<T>& limits, T* c, int64_t ldc) const {
    const int64_t first_col = first_panel * panel_cols_;
    GatheredProduct<T> product = {};
    product.rows = rows;
    product.num_rows = num_rows;
    product.step = 1;
    product.panel_cols = panel_cols_;
    product.c = c + first_col;
    product.ldc = ldc;
    product.cols = std::min(filter_.width, last_panel * panel_cols_) - first_col;
    StopPoll poll(kPollProducts);
    for (int64_t i = 0; i < num_blocks_; ++i) {
      const DepthBlock& block = blocks_[i];
      if (poll.Stops(num_rows * block.depth * product.cols)) return;
      product.runs = runs_ + block.first_run;
      product.num_runs = block.num_runs;
      product.panel_stride = block.depth * panel_cols_;
      product.b = packed_ + (group * depth_ + block.first_depth) * padded_width_ + first_panel * product.panel_stride;
      product.accumulate = i > 0;
      if (i + 1 == num_blocks_) product.limits = limits.From(first_col);
      GetConvolutionTiles<T>().multiply(product);
    }
  }

 private:
  // Where the strips' pixels lie does not matter.
  static ConstantForms::Key KeyOf(const WindowProduct<S>& product, bool is_merged) {
    const FilterView<S>& filter = product.filter;
    const TapAxis& rows = product.rows;
    const TapAxis& cols = product.cols;
    return {
        &GetGemmKernels<S>(),
        {static_cast<int64_t>(PackedOrder::kTapPanels), AddressOf(filter.data), filter.row_stride, filter.col_stride,
         filter.depth_stride, filter.width_stride, filter.group_stride, filter.groups, filter.depth, filter.width,
         rows.count, rows.tap_first, rows.tap_step, cols.count, cols.tap_first, cols.tap_step, is_merged}};
  }

  // The runs of all taps, each in equal pieces, and their division into blocks; one empty block if there are no taps.
  void ListRuns(int64_t pitch, int64_t run, int64_t pieces, bool merged) {
    const int64_t channels = product_.source.channels;
    const int64_t runs_a_row = merged ? 1 : product_.cols.count;
    DepthBlock block = {0, 0, 0, 0};
    int64_t num_runs = 0;
    for (int64_t tap = 0; depth_ > 0 && tap < product_.rows.count * runs_a_row; ++tap) {
      const int64_t offset =
          tap / runs_a_row * product_.rows.step * pitch + tap % runs_a_row * product_.cols.step * channels;
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const int64_t begin = run * piece / pieces;
        const int64_t length = run * (piece + 1) / pieces - begin;
        if (block.num_runs > 0 && block.depth + length > kGemmDepth) {
          blocks_[num_blocks_++] = block;
          block = {num_runs, 0, block.first_depth + block.depth, 0};
        }
        runs_[num_runs++] = {offset + begin, length};
        ++block.num_runs;
        block.depth += length;
      }
    }
    blocks_[num_blocks_++] = block;
  }

  void PackPanel(int64_t group, int64_t panel) {
    const GemmKernels<S>& kernels = GetGemmKernels<S>();
    const int64_t col = panel * panel_cols_;
    const int64_t width = std::min(panel_cols_, filter_.width - col);
    const S* from = filter_.data + group * filter_.group_stride + col * filter_.width_stride;
    StopPoll poll(kPollElements);
    for (int64_t i = 0; i < num_blocks_; ++i) {
      const DepthBlock& block = blocks_[i];
      if (poll.Stops(block.depth * panel_cols_)) return;
      T* to = packed_ + (group * depth_ + block.first_depth) * padded_width_ + panel * block.depth * panel_cols_;
      for (int64_t k = block.first_depth, length; k < block.first_depth + block.depth; k += length) {
        const int64_t tap = k / filter_.depth;
        const int64_t row = product_.rows.tap_first + tap / product_.cols.count * product_.rows.tap_step;
        const int64_t tap_col = product_.cols.tap_first + tap % product_.cols.count * product_.cols.tap_step;
        const int64_t channel = k % filter_.depth;
        length = std::min(filter_.depth - channel, block.first_depth + block.depth - k);
        kernels.pack_b(from + row * filter_.row_stride + tap_col * filter_.col_stride + channel * filter_.depth_stride,
                       filter_.width_stride, filter_.depth_stride, width, length, to);
        to += length * panel_cols_;
      }
    }
  }

  const WindowProduct<S>& product_;
  const FilterView<S>& filter_;
  const bool is_merged_;
  const int64_t depth_;
  const int64_t panel_cols_;
  const int64_t padded_width_;
  PackedMemory filter_memory_;
  T* const packed_;
  int64_t num_blocks_ = 0;
  TaskMemory memory_;
  GatherRun* runs_ = nullptr;
  DepthBlock* blocks_ = nullptr;
};

// What tasks a product is divided into: strips of outputs times parts of the filter's panels.
template <typename S>
struct Division {
  using T = GemmComputeType<S>;

  // By outputs as far as it goes where the source is larger than the filter, and else by panels; then by the other.
  Division(const WindowProduct<S>& product, Strips<T>& strips) : strips(strips) {
    const FilterView<S>& filter = product.filter;
    const int64_t tile_rows = GetConvolutionTiles<T>().tile_rows;
    const int64_t wanted = EnoughTasks(product.queue);
    const int64_t panels = DivideUp(filter.width, GetGemmKernels<S>().panel_cols);
    const bool has_parts = panels > 1 && HasParts(product);
    are_parts_outer = static_cast<double>(product.rows.count * product.cols.count) * static_cast<double>(filter.width) >
                      static_cast<double>(product.source.batch * product.source.rows * product.source.cols);
    const int64_t max_parts = std::max<int64_t>(1, panels / GetConvolutionTiles<T>().part_panels);
    strips.ChooseSize(tile_rows, has_parts && are_parts_outer ? DivideUp(wanted, max_parts) : wanted);
    if (!has_parts) return;
    parts = std::min(DivideUp(wanted, strips.size()), max_parts);
    // Of one panel or two, no part is to be twice as large as others.
    if (2 * parts > panels) parts = parts == 1 ? 1 : max_parts;
  }

  // Whether some channels of outputs can be computed without the others.
  static bool HasParts(const WindowProduct<S>& product) {
    const bool is_in_place = product.conversion.narrow == nullptr && product.result.HasPackedPixels() &&
                             product.rows.out_step == 1 && product.cols.out_step == 1 &&
                             product.rows.outputs == product.result.rows && product.cols.outputs == product.result.cols;
    const bool finishes =
        product.finish == nullptr || (GetConvolutionTiles<T>().finishes && product.finish->limits.bias != nullptr);
    return is_in_place && finishes && product.filter.groups == 1;
  }

  int64_t size() const { return strips.size() * parts; }
  int64_t StripOf(int64_t task) const { return are_parts_outer ? task % strips.size() : task / parts; }
  int64_t PartOf(int64_t task) const { return are_parts_outer ? task / strips.size() : task % parts; }

  const Strips<T>& strips;
  int64_t parts = 1;
  bool are_parts_outer = false;
};

// The work of one thread: task after task.
template <typename S>
class StripProducts {
 public:
  using T = GemmComputeType<S>;

  StripProducts(const WindowProduct<S>& product, const Division<S>& division, const PackedFilter<S>& filter)
      : product_(product),
        division_(division),
        filter_(filter),
        result_(product.result, product.result_data, product.conversion, product.rows, product.cols,
                division.strips.max_pixels()),
        memory_(division.strips.MemorySize() + result_.MemorySize()) {
    if (memory_.data() != nullptr) result_.SetMemory(memory_.data() + division.strips.MemorySize());
    if (product.finish == nullptr) return;
    if (GetConvolutionTiles<T>().finishes) limits_ = product.finish->limits;
    if (product.finish->added == nullptr) return;
    if (result_.IsInPlace()) {
      added_ = static_cast<const T*>(product.finish->added);
    } else {
      limits_ = {};
      added_memory_.Allocate(RoundUpBytes<T>(2 * division.strips.max_pixels() * product.result.channels));
    }
  }

  bool IsValid() const {
    const bool is_added_in_place = product_.finish == nullptr || product_.finish->added == nullptr || added_ != nullptr;
    return memory_.data() != nullptr && (is_added_in_place || added_memory_.data() != nullptr);
  }

  void Compute(int64_t index) {
    StripSource<T> source(division_.strips, memory_.data());
    const Strip strip = source.Load(division_.StripOf(index));
    const int64_t part = division_.PartOf(index);
    const int64_t first_panel = filter_.panels() * part / division_.parts;
    const int64_t last_panel = filter_.panels() * (part + 1) / division_.parts;
    T* pixels = result_.Pixels(strip);
    const T* const added = AddedTo(strip, pixels);
    BiasAndLimits<T> limits = limits_;
    if (limits.bias != nullptr) limits.added = added;
    const FilterView<S>& filter = product_.filter;
    for (int64_t group = 0; group < filter.groups; ++group) {
      if (group > 0) source.Shift(filter.depth);
      const int64_t first = group * filter.width;
      filter_.Multiply(source.pixels(), strip.num_pixels, group, first_panel, last_panel, limits.From(first),
                       pixels + first, product_.result.channels);
    }
    if (product_.finish != nullptr && limits.bias == nullptr) {
      product_.finish->apply(pixels, strip.num_pixels, added);
    }
    result_.Store(strip);
  }

 private:
  // What is to be added to the strip's pixels, channels last; null if nothing is.
  const T* AddedTo(const Strip& strip, const T* pixels) {
    if (product_.finish == nullptr || product_.finish->added == nullptr) return nullptr;
    if (added_ != nullptr) return added_ + (pixels - reinterpret_cast<const T*>(product_.result_data));
    T* const dense = reinterpret_cast<T*>(added_memory_.data());
    T* const room = dense + division_.strips.max_pixels() * product_.result.channels;
    const int64_t cols = product_.cols.outputs;
    for (int64_t i = 0; i < strip.num_images; ++i) {
      LoadImage<T>(product_.result, product_.finish->added, product_.conversion, strip.image + i, strip.row,
                   strip.num_rows, 0, cols, 1, room, dense + i * strip.num_rows * cols * product_.result.channels);
    }
    return dense;
  }

  const WindowProduct<S>& product_;
  const Division<S>& division_;
  const PackedFilter<S>& filter_;
  BiasAndLimits<T> limits_;   // that the tiles see to
  const T* added_ = nullptr;  // the tensor to add, if it is laid out as what is computed
  StripResult<T> result_;
  TaskMemory memory_;
  TaskMemory added_memory_;  // else for the part of it that a strip needs, and as much room
};

// Whether the windows are the rows of a dense matrix: single pixels, or whole images; and the filter is a matrix, too.
template <typename S>
bool IsDenseProduct(const WindowProduct<S>& product) {
  const ImageLayout& source = product.source;
  const FilterView<S>& filter = product.filter;
  const TapAxis& rows = product.rows;
  const TapAxis& cols = product.cols;
  if (filter.groups != 1 || !source.HasPackedPixels() || !product.result.HasPackedPixels()) return false;
  if (rows.out_step != 1 || cols.out_step != 1 || !rows.IsInside() || !cols.IsInside()) return false;
  if (rows.count == 1 && cols.count == 1) return rows.outputs == source.rows && cols.outputs == source.cols;
  return rows.outputs == 1 && cols.outputs == 1 && rows.count == source.rows && cols.count == source.cols &&
         rows.tap_step == 1 && cols.tap_step == 1 && filter.col_stride == filter.depth * filter.depth_stride &&
         filter.row_stride == cols.count * filter.col_stride;
}

// By Gemm, which multiplies few rows without packing the filter.
template <typename S>
Status MultiplyDense(const WindowProduct<S>& product, int64_t pixels) {
  const FilterView<S>& filter = product.filter;
  const int64_t depth = product.rows.count * product.cols.count * filter.depth;
  const S* first =
      filter.data + product.rows.tap_first * filter.row_stride + product.cols.tap_first * filter.col_stride;
  TANDEM_RETURN_IF_ERROR(Gemm<S>(&product.queue, pixels, filter.width, depth, {product.source_data, depth, 1},
                                 {first, filter.depth_stride, filter.width_stride}, product.result_data, filter.width,
                                 {}, filter.forms));
  if (product.finish != nullptr) {
    using T = GemmComputeType<S>;
    product.finish->apply(reinterpret_cast<T*>(product.result_data), pixels,
                          static_cast<const T*>(product.finish->added));
  }
  return Status();
}

// The rows of a dense image with one pixel each, which can be divided anywhere, if each output sees one pixel, its own.
template <typename S>
bool FlattenPixels(WindowProduct<S>& product) {
  const auto flatten = [](ImageLayout& layout) {
    layout.rows *= layout.batch * layout.cols;
    layout.batch_stride *= std::exchange(layout.batch, 1);
    layout.cols = 1;
    layout.row_stride = layout.col_stride;
  };
  const auto sees_itself = [](const TapAxis& axis, int64_t source, int64_t result) {
    return axis.count == 1 && axis.first == 0 && axis.stride == 1 && axis.out_step == 1 && axis.outputs == source &&
           axis.outputs == result;
  };
  if (product.conversion.widen != nullptr || !product.source.HasPackedPixels() || !product.result.HasPackedPixels() ||
      !sees_itself(product.rows, product.source.rows, product.result.rows) ||
      !sees_itself(product.cols, product.source.cols, product.result.cols)) {
    return false;
  }
  flatten(product.source);
  flatten(product.result);
  product.rows.source = product.rows.outputs = product.source.rows;
  product.cols.source = product.cols.outputs = 1;
  return true;
}

}  // namespace

template <typename S>
Status WindowProduct<S>::Run() const {
  if (result.channels == 0 || result.batch == 0 || rows.outputs == 0 || cols.outputs == 0) return Status();
  const int64_t pixels = result.batch * rows.outputs * cols.outputs;
  const bool is_finished_in_place = finish == nullptr || conversion.narrow == nullptr;
  if (pixels <= kFewPixels && is_finished_in_place && IsDenseProduct(*this)) {
    return MultiplyDense(*this, pixels);
  }
  WindowProduct flat = *this;
  return (FlattenPixels(flat) ? flat : *this).RunByStrips();
}

template <typename S>
Status WindowProduct<S>::RunByStrips() const {
  Strips<T> strips(source, reinterpret_cast<const T*>(source_data), conversion, rows, cols, 1, result.channels);
  const Division<S> division(*this, strips);
  if (!strips.FitsInMemory()) return Status::OutOfMemory();
  PackedFilter<S> packed(*this, strips.pitch());
  if (!packed.IsValid()) return Status::OutOfMemory();
  packed.Pack(queue);
  std::atomic<bool> is_out_of_memory = false;
  const double products = static_cast<double>(rows.count * cols.count * filter.depth * result.channels);
  const int64_t grain = strips.GrainFor(
      queue, division.size(), (products + static_cast<double>(result.channels)) / static_cast<double>(division.parts));
  ParallelFor(queue, division.size(), grain, [&](int64_t begin, int64_t end) {
    StripProducts<S> task(*this, division, packed);
    if (!task.IsValid()) {
      is_out_of_memory.store(true, std::memory_order_relaxed);
      return;
    }
    for (int64_t i = begin; i < end; ++i) task.Compute(i);
  });
  return is_out_of_memory.load(std::memory_order_relaxed) ? Status::OutOfMemory() : Status();
}

template struct WindowProduct<float>;
template struct WindowProduct<double>;
template struct WindowProduct<Float16>;
template struct WindowProduct<BFloat16>;
template struct WindowProduct<int32_t>;

}  // namespace tandem::cpu
