// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The division of a depthwise convolution into rows of outputs.

#include "kernels/convolution/convolution_depthwise_rows.h"

#include <algorithm>

#include "kernels/convolution/convolution_depthwise_tiles.h"
#include "kernels/convolution/convolution_strips.h"
#include "kernels/polls.h"
#include "kernels/task_memory.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

// Of fewer channels, neighbouring pixels fill vectors better.
constexpr int64_t kMinChannels = 32;
constexpr int64_t kTaps = 9;
// A row is computed in one go.
constexpr int64_t kMaxRowElements = kPollProducts / kTaps;
// What a product costs, and an element that is read and stored.
constexpr double kProductsAnElement = 8;

// Zeros that nobody writes, so that they are in the caches of all cores. Not const: then files would have them, too.
alignas(kTensorDataAlignment) std::byte shared_zeros[16384];

bool IsInReach(const TapAxis& axis) { return axis.count == 3 && axis.tap_first == 0 && axis.tap_step == 1; }

}  // namespace

template <typename T>
bool DepthwiseRows<T>::AreFor(const DepthwiseProduct<T>& product) {
  const TapAxis& rows = product.rows;
  const TapAxis& cols = product.cols;
  const DepthwiseTiles<T>& tiles = GetDepthwiseTiles<T>();
  if (tiles.convolve_row == nullptr || !IsInReach(rows) || !IsInReach(cols) || product.filter_cols != 3) return false;
  if (cols.step != 1 || cols.stride > 2 || cols.out_step != 1) return false;
  if (!product.source.HasPackedPixels() || !product.result.HasPackedPixels()) return false;
  const int64_t channels = product.result.channels;
  if (product.source.channels != channels || channels < kMinChannels) return false;
  if (cols.outputs < DepthwiseRow<T>::kMinPixels || cols.outputs > kMaxRowElements / channels) return false;
  return product.finish == nullptr || (product.finish->limits.bias != nullptr && tiles.finishes);
}

template <typename T>
Status DepthwiseRows<T>::Run() const {
  const int64_t channels = product_.result.channels;
  TaskMemory own_zeros;
  const T* zeros = reinterpret_cast<const T*>(shared_zeros);
  if (const uint64_t bytes = RoundUpBytes<T>(channels); bytes > sizeof(shared_zeros)) {
    own_zeros.Allocate(bytes);
    if (own_zeros.data() == nullptr) return Status::OutOfMemory();
    zeros = std::fill_n(reinterpret_cast<T*>(own_zeros.data()), channels, T{0}) - channels;
  }
  const double products = (kTaps + kProductsAnElement) * static_cast<double>(product_.cols.outputs * channels);
  const int64_t rows = product_.result.batch * product_.rows.outputs;
  const int64_t grain = TaskGrain(&product_.queue, rows, products);
  ParallelFor(product_.queue, rows, grain, [&](int64_t begin, int64_t end) {
    StopPoll poll(kPollProducts);
    for (int64_t i = begin; i < end; ++i) {
      if (poll.Stops(static_cast<int64_t>(products))) return;
      Compute(i, zeros);
    }
  });
  return Status();
}

template <typename T>
void DepthwiseRows<T>::Compute(int64_t index, const T* zeros) const {
  const TapAxis& rows = product_.rows;
  const TapAxis& cols = product_.cols;
  const ImageLayout& source = product_.source;
  const ImageLayout& result = product_.result;
  const int64_t image = index / rows.outputs;
  const int64_t row = index % rows.outputs;
  const T* const pixels = product_.source_data + image * source.batch_stride;
  const auto find_row = [&](int64_t at) {
    return at < 0 || at >= source.rows ? nullptr : pixels + at * source.row_stride;
  };
  const int64_t first_row = row * rows.stride + rows.first;
  DepthwiseRow<T> of_row = {};
  for (int tap = 0; tap < 3; ++tap) of_row.source_rows[tap] = find_row(first_row + tap * rows.step);
  of_row.source_cols = source.cols;
  of_row.first_col = cols.first;
  of_row.stride = cols.stride;
  of_row.channels = source.channels;
  of_row.num_pixels = cols.outputs;
  of_row.zeros = zeros;
  if (product_.finish != nullptr) of_row.limits = product_.finish->limits;
  T* const out = product_.result_data + image * result.batch_stride +
                 (rows.out_first + row * rows.out_step) * result.row_stride + cols.out_first * result.col_stride;
  GetDepthwiseTiles<T>().convolve_row(of_row, product_.filter, out);
}

template class DepthwiseRows<float>;
#ifndef TANDEM_SMALL
template class DepthwiseRows<double>;
#endif

}  // namespace tandem::cpu
