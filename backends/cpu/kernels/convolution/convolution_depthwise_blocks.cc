// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The division of a depthwise convolution into strips and blocks, and the copies.

#include "kernels/convolution/convolution_depthwise_blocks.h"

#ifndef TANDEM_SMALL

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "kernels/convolution/convolution_depthwise_tiles.h"
#include "kernels/convolution/convolution_strips.h"
#include "kernels/polls.h"
#include "kernels/task_memory.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

// Of a copy, which is to stay in the first-level cache beside the outputs, if its rows are not too long for that.
constexpr int64_t kCopyBytes = int64_t{24} << 10;
constexpr int64_t kMinStripRows = 4;
// A strip of fewer rows than that may still take so much.
constexpr int64_t kMaxCopyElements = int64_t{1} << 18;
// Of an image: larger ones, which come from further away than the second-level cache, are better read in order.
constexpr int64_t kMaxImageBytes = int64_t{1} << 20;
// What a product costs, and an element that is copied or stored.
constexpr double kProductsAnElement = 8;

}  // namespace

template <typename T>
DepthwiseBlocks<T>::DepthwiseBlocks(const DepthwiseProduct<T>& product)
    : product_(product),
      copied_cols_(product.cols.Span(product.cols.outputs)),
      num_blocks_(DivideUp(product.result.channels, kBlockChannels)) {
  const TapAxis& rows = product.rows;
  const int64_t row_bytes = copied_cols_ * kBlockChannels * static_cast<int64_t>(sizeof(T));
  const int64_t fitting = (kCopyBytes / row_bytes - rows.Span(1)) / rows.stride + 1;
  const int64_t most = std::clamp<int64_t>(fitting, std::min(kMinStripRows, rows.outputs), rows.outputs);
  strips_an_image_ = DivideUp(rows.outputs, most);
  // Equal ones, rather than a small last one.
  rows_a_strip_ = DivideUp(rows.outputs, strips_an_image_);
  strips_an_image_ = DivideUp(rows.outputs, rows_a_strip_);
}

template <typename T>
bool DepthwiseBlocks<T>::AreFor(const DepthwiseProduct<T>& product) {
  const TapAxis& rows = product.rows;
  const TapAxis& cols = product.cols;
  if (!product.source.HasPackedPixels() || !product.result.HasPackedPixels()) return false;
  if (product.source.channels != product.result.channels || product.result.channels < kBlockChannels) return false;
  if (rows.count == 0 || cols.count == 0) return false;
  if (product.source.batch_stride > kMaxImageBytes / static_cast<int64_t>(sizeof(T))) return false;
  if (product.finish != nullptr && (product.finish->limits.bias == nullptr || !GetDepthwiseTiles<T>().finishes)) {
    return false;
  }
  constexpr int64_t kMaxSpan = kMaxCopyElements / kBlockChannels;
  if (cols.outputs > kMaxSpan || cols.stride > kMaxSpan || cols.step > kMaxSpan || cols.count > kMaxSpan) return false;
  if (rows.stride > kMaxSpan || rows.step > kMaxSpan || rows.count > kMaxSpan) return false;
  return cols.Span(cols.outputs) <= kMaxSpan / rows.Span(std::min(kMinStripRows, rows.outputs));
}

// The work of one thread: one block of one strip after the other.
template <typename T>
class DepthwiseBlocks<T>::Task {
 public:
  Task(const DepthwiseBlocks& whole, const T* weights)
      : whole_(whole),
        product_(whole.product_),
        weights_(weights),
        pointers_size_(RoundUpBytes<const T*>(whole.rows_a_strip_ * product_.cols.outputs)),
        offsets_size_(RoundUpBytes<int64_t>(whole.num_taps())),
        memory_(pointers_size_ + offsets_size_ +
                RoundUpBytes<T>(product_.rows.Span(whole.rows_a_strip_) * whole.copied_cols_ * kBlockChannels)) {
    if (!IsValid()) return;
    copy_ = reinterpret_cast<T*>(memory_.data() + pointers_size_ + offsets_size_);
    const T** pixel = reinterpret_cast<const T**>(memory_.data());
    const int64_t pitch = whole.copied_cols_ * kBlockChannels;
    for (int64_t row = 0; row < whole.rows_a_strip_; ++row) {
      const T* seen = copy_ + row * product_.rows.stride * pitch;
      for (int64_t col = 0; col < product_.cols.outputs; ++col, seen += product_.cols.stride * kBlockChannels) {
        *pixel++ = seen;
      }
    }
    int64_t* offset = reinterpret_cast<int64_t*>(memory_.data() + pointers_size_);
    for (int64_t row = 0; row < product_.rows.count; ++row) {
      for (int64_t col = 0; col < product_.cols.count; ++col) {
        *offset++ = row * product_.rows.step * pitch + col * product_.cols.step * kBlockChannels;
      }
    }
  }

  bool IsValid() const { return memory_.data() != nullptr; }

  void Compute(int64_t index) {
    const int64_t strip = index / whole_.num_blocks_;
    const int64_t channel = index % whole_.num_blocks_ * kBlockChannels;
    const int64_t image = strip / whole_.strips_an_image_;
    const int64_t row = strip % whole_.strips_an_image_ * whole_.rows_a_strip_;
    const int64_t num_rows = std::min(whole_.rows_a_strip_, product_.rows.outputs - row);
    const int64_t channels = std::min(kBlockChannels, product_.result.channels - channel);
    const int64_t width = product_.cols.outputs;
    if (poll_.Stops(num_rows * width * channels * whole_.num_taps())) return;
    Copy(image, row * product_.rows.stride + product_.rows.first, product_.rows.Span(num_rows), channel, channels);
    const ImageLayout& result = product_.result;
    const int64_t row_stride = product_.rows.out_step * result.row_stride;
    DepthwiseBlock<T> block = {};
    block.pixels = reinterpret_cast<const T* const*>(memory_.data());
    block.offsets = reinterpret_cast<const int64_t*>(memory_.data() + pointers_size_);
    block.num_taps = whole_.num_taps();
    block.channels = channels;
    block.out_stride = product_.cols.out_step * result.col_stride;
    if (product_.finish != nullptr) block.limits = product_.finish->limits.From(channel);
    const bool is_dense = row_stride == width * block.out_stride;
    block.SetRows(product_.rows, product_.cols, kBlockChannels);
    block.num_pixels = is_dense ? num_rows * width : width;
    const T* const weights = weights_ + channel * block.num_taps;
    T* out = product_.result_data + image * result.batch_stride +
             (product_.rows.out_first + row * product_.rows.out_step) * result.row_stride +
             product_.cols.out_first * result.col_stride + channel;
    for (int64_t i = 0; i < (is_dense ? 1 : num_rows); ++i, out += row_stride, block.pixels += width) {
      GetDepthwiseTiles<T>().convolve(block, weights, out);
    }
  }

 private:
  // What rows from `row` on have of these channels, with zeros around the image.
  void Copy(int64_t image, int64_t row, int64_t num_rows, int64_t channel, int64_t channels) {
    const ImageLayout& source = product_.source;
    const int64_t cols = whole_.copied_cols_;
    const int64_t begin = std::clamp<int64_t>(-product_.cols.first, 0, cols);
    const int64_t end = std::clamp<int64_t>(source.cols - product_.cols.first, begin, cols);
    T* to = copy_;
    for (int64_t r = row; r < row + num_rows; ++r, to += cols * kBlockChannels) {
      if (r < 0 || r >= source.rows || begin == end) {
        std::fill_n(to, cols * kBlockChannels, T{0});
        continue;
      }
      std::fill_n(to, begin * kBlockChannels, T{0});
      const T* from = product_.source_data + image * source.batch_stride + r * source.row_stride +
                      (product_.cols.first + begin) * source.col_stride + channel;
      GetDepthwiseTiles<T>().copy(from, source.col_stride, end - begin, channels, to + begin * kBlockChannels,
                                  kBlockChannels);
      std::fill_n(to + end * kBlockChannels, (cols - end) * kBlockChannels, T{0});
    }
  }

  const DepthwiseBlocks& whole_;
  const DepthwiseProduct<T>& product_;
  const T* const weights_;  // by blocks of channels, and these by taps
  const uint64_t pointers_size_;
  const uint64_t offsets_size_;
  const TaskMemory memory_;
  T* copy_ = nullptr;
  StopPoll poll_{kPollProducts};
};

template <typename T>
Status DepthwiseBlocks<T>::Run() const {
  const int64_t channels = product_.result.channels;
  const TaskMemory memory(RoundUpBytes<T>(num_taps() * channels));
  if (memory.data() == nullptr) return Status::OutOfMemory();
  T* const weights = reinterpret_cast<T*>(memory.data());
  T* to = weights;
  for (int64_t channel = 0; channel < channels; channel += kBlockChannels) {
    const int64_t count = std::min(kBlockChannels, channels - channel);
    for (int64_t tap = 0; tap < num_taps(); ++tap, to += count) {
      const int64_t row = product_.rows.tap_first + tap / product_.cols.count * product_.rows.tap_step;
      const int64_t col = product_.cols.tap_first + tap % product_.cols.count * product_.cols.tap_step;
      std::copy_n(product_.filter + (row * product_.filter_cols + col) * channels + channel, count, to);
    }
  }
  std::atomic<bool> is_out_of_memory = false;
  const double products = (static_cast<double>(num_taps()) + kProductsAnElement) *
                          static_cast<double>(rows_a_strip_ * product_.cols.outputs * kBlockChannels);
  const int64_t strips = product_.result.batch * strips_an_image_ * num_blocks_;
  const int64_t grain = TaskGrain(&product_.queue, strips, products);
  ParallelFor(product_.queue, strips, grain, [&](int64_t begin, int64_t end) {
    Task task(*this, weights);
    if (!task.IsValid()) return is_out_of_memory.store(true, std::memory_order_relaxed);
    for (int64_t i = begin; i < end; ++i) task.Compute(i);
  });
  return is_out_of_memory.load(std::memory_order_relaxed) ? Status::OutOfMemory() : Status();
}

template class DepthwiseBlocks<float>;
template class DepthwiseBlocks<double>;

}  // namespace tandem::cpu

#endif  // TANDEM_SMALL
