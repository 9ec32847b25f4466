// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FusedBatchNormV3: the moments of channels, in blocks whose sizes depend on the shape alone, so that the bits of the
// results do not depend on the number of threads; then a pass that normalizes.

#include "kernels/normalization/normalization_batch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "kernels/half_rows.h"
#include "kernels/normalization/normalization_moments.h"
#include "kernels/normalization/normalization_rows.h"
#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "kernels/scratch.h"

namespace tandem::cpu {

namespace {

// Nanoseconds an element.
constexpr float kMomentsCost = 0.2f;
constexpr float kScaleCost = 0.2f;
// Elements that are converted together.
constexpr int64_t kBuffer = 4096;

template <typename T>
class FusedBatchNormKernel {
 public:
  Status operator()(DenseArg x, DenseArg scale, DenseArg offset, DenseArg mean, DenseArg variance,
                    KernelFrame& frame) const;

 private:
  // Elements whose moments are found in two passes: they stay in the cache, and if they are converted on the stack.
  static constexpr int64_t kBlock = std::is_same_v<T, float> ? 16384 : 4096;
  // What every element of a channel is normalized with: an array of each, of BatchNormLayout::cols for channels last.
  struct Parameters {
    float* means;
    float* factors;
    float* offsets;
  };

  Status ChannelMoments(const KernelFrame& frame, const BatchNormLayout& layout, const T* x, Moments* result) const;
  Status MomentsOfColumns(const KernelFrame& frame, const BatchNormLayout& layout, const T* x, Moments* result) const;
  Status MomentsOfPlanes(const KernelFrame& frame, const BatchNormLayout& layout, const T* x, Moments* result) const;
  void BlockMoments(const T* x, int64_t rows, int64_t stride, int64_t cols, float* means, float* squares) const;
  Moments PlaneMoments(const T* x, int64_t n) const;
  void Normalize(const KernelFrame& frame, const BatchNormLayout& layout, const T* x, const Parameters& parameters,
                 T* out) const;
  void NormalizeRows(const T* x, int64_t rows, int64_t cols, const Parameters& parameters, T* out) const;
  void NormalizePlane(const T* x, int64_t n, float mean, float factor, float offset, T* out) const;

  HalfRows halves_{kDTypeOf<T>};
};

// Results 1 to 5 in training, from the moments of each channel's `n` elements.
void StoreStatistics(const Moments* moments, int64_t channels, int64_t n, float update, const float* old_means,
                     const float* old_variances, float* const results[5]) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(n);
  const double unbiased = count / std::max(count - 1, 1.0);
  // Without a part of the old ones, they are not read: there need not be any.
  const auto updated = [update](double value, const float* old, int64_t channel) {
    if (update == 1) return static_cast<float>(value);
    return static_cast<float>((1 - static_cast<double>(update)) * static_cast<double>(old[channel]) +
                              static_cast<double>(update) * value);
  };
  for (int64_t c = 0; c < channels; ++c) {
    const double mean = n == 0 ? kNan : moments[c].mean;
    const double variance = n == 0 ? kNan : moments[c].squares / count;
    results[0][c] = updated(mean, old_means, c);
    results[1][c] = updated(variance * unbiased, old_variances, c);
    results[2][c] = static_cast<float>(mean);
    results[3][c] = static_cast<float>(variance);
  }
}

template <typename T>
Status FusedBatchNormKernel<T>::operator()(DenseArg x, DenseArg scale, DenseArg offset, DenseArg mean,
                                           DenseArg variance, KernelFrame& frame) const {
  T* out = frame.ForwardOrAllocateResult<T>(0, {0});
  float* statistics[5];
  for (size_t i = 0; i < 5; ++i) {
    statistics[i] = frame.AllocateResult<float>(i + 1);
    if (statistics[i] == nullptr) return Status();
  }
  if (out == nullptr) return Status();
  const OpAttrsRef& attrs = frame.attrs();
  const BatchNormLayout layout(x.shape(), attrs.GetOr<std::string_view>("data_format", "NHWC"));
  const int64_t channels = layout.channels;
  const T* from = x.data<T>();
  statistics[4][0] = 0;
  if (attrs.GetOr("is_training", true)) {
    Scratch<Moments> moments;
    TANDEM_RETURN_IF_ERROR(moments.Init(frame, channels));
    std::fill_n(moments.data(), channels, Moments());
    if (layout.size > 0) TANDEM_RETURN_IF_ERROR(ChannelMoments(frame, layout, from, moments.data()));
    StoreStatistics(moments.data(), channels, layout.PerChannel(), attrs.GetOr("exponential_avg_factor", 1.0f),
                    mean.data<float>(), variance.data<float>(), statistics);
  } else {
    for (size_t i = 0; i < 4; ++i) {
      const float* value = (i % 2 == 0 ? mean : variance).data<float>();
      std::copy_n(value, channels, statistics[i]);
    }
  }
  if (layout.size == 0) return Status();
  const int64_t repeats = layout.is_channels_last ? layout.repeats : 1;
  const int64_t count = channels * repeats;
  Scratch<float> scratch;
  TANDEM_RETURN_IF_ERROR(scratch.Init(frame, 3 * count));
  const Parameters parameters = {scratch.data(), scratch.data() + count, scratch.data() + 2 * count};
  const double epsilon = attrs.GetOr("epsilon", 1e-4f);
  for (int64_t c = 0; c < channels; ++c) {
    const double deviation = std::sqrt(static_cast<double>(statistics[3][c]) + epsilon);
    for (int64_t i = c; i < count; i += channels) {
      parameters.means[i] = statistics[2][c];
      parameters.factors[i] = static_cast<float>(static_cast<double>(scale.data<float>()[c]) / deviation);
      parameters.offsets[i] = offset.data<float>()[c];
    }
  }
  Normalize(frame, layout, from, parameters, out);
  return Status();
}

template <typename T>
Status FusedBatchNormKernel<T>::ChannelMoments(const KernelFrame& frame, const BatchNormLayout& layout, const T* x,
                                               Moments* result) const {
  return layout.is_channels_last ? MomentsOfColumns(frame, layout, x, result)
                                 : MomentsOfPlanes(frame, layout, x, result);
}

template <typename T>
Status FusedBatchNormKernel<T>::MomentsOfColumns(const KernelFrame& frame, const BatchNormLayout& layout, const T* x,
                                                 Moments* result) const {
  const int64_t cols = layout.cols;
  const ColumnBlocks blocks(layout, kBlock);
  Scratch<float> scratch;
  TANDEM_RETURN_IF_ERROR(scratch.Init(frame, 2 * blocks.count * cols));
  float* means = scratch.data();
  float* squares = means + blocks.count * cols;
  blocks.ForEach(frame, kMomentsCost, [&](const ColumnBlocks::Block& block) {
    BlockMoments(x + block.begin, block.rows, cols, block.cols, means + block.result, squares + block.result);
  });
  const int64_t channels = layout.channels;
  int64_t count = 0;
  for (int64_t row = 0; row < layout.rows; row += blocks.rows) {
    const int64_t added = std::min(blocks.rows, layout.rows - row);
    for (int64_t i = 0; i < layout.repeats; ++i, means += channels, squares += channels, count += added) {
      const MomentsMerge merge(count, added);
      for (int64_t c = 0; c < channels; ++c) {
        merge.Merge(static_cast<double>(means[c]), static_cast<double>(squares[c]), result[c]);
      }
    }
  }
  const T* rest = x + layout.rows * cols;
  for (int64_t i = 0; i < layout.rest; i += channels, ++count) {
    const MomentsMerge merge(count, 1);
    for (int64_t c = 0; c < channels; ++c) {
      merge.Merge(static_cast<double>(static_cast<float>(rest[i + c])), 0, result[c]);
    }
  }
  return Status();
}

template <typename T>
void FusedBatchNormKernel<T>::BlockMoments(const T* x, int64_t rows, int64_t stride, int64_t cols, float* means,
                                           float* squares) const {
  if constexpr (std::is_same_v<T, float>) {
    FindNormalizationRows<float>().column_moments(x, rows, stride, cols, means, squares);
  } else {
    float buffer[kBlock];
    if (cols == stride) {
      halves_.Widen(x, rows * cols, buffer);
    } else {
      for (int64_t row = 0; row < rows; ++row) halves_.Widen(x + row * stride, cols, buffer + row * cols);
    }
    FindNormalizationRows<float>().column_moments(buffer, rows, cols, cols, means, squares);
  }
}

template <typename T>
Status FusedBatchNormKernel<T>::MomentsOfPlanes(const KernelFrame& frame, const BatchNormLayout& layout, const T* x,
                                                Moments* result) const {
  const int64_t planes = layout.batch * layout.channels;
  Scratch<Moments> scratch;
  TANDEM_RETURN_IF_ERROR(scratch.Init(frame, planes));
  const double cost = kMomentsCost * static_cast<double>(layout.plane) + 20;
  frame.ParallelFor(planes, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) scratch.data()[i] = PlaneMoments(x + i * layout.plane, layout.plane);
  });
  for (int64_t n = 0; n < layout.batch; ++n) {
    const MomentsMerge merge(n * layout.plane, layout.plane);
    const Moments* of_image = scratch.data() + n * layout.channels;
    for (int64_t c = 0; c < layout.channels; ++c) merge.Merge(of_image[c].mean, of_image[c].squares, result[c]);
  }
  return Status();
}

template <typename T>
Moments FusedBatchNormKernel<T>::PlaneMoments(const T* x, int64_t n) const {
  Moments result;
  float buffer[std::is_same_v<T, float> ? 1 : kBuffer];
  StopPoll poll(kPollElements);
  for (int64_t begin = 0; begin < n && !poll.Stops(kBuffer); begin += kBuffer) {
    const int64_t size = std::min(kBuffer, n - begin);
    float mean = 0, squares = 0;
    FindNormalizationRows<float>().moments(halves_.Widen(x + begin, size, buffer), size, &mean, &squares);
    MomentsMerge(begin, size).Merge(static_cast<double>(mean), static_cast<double>(squares), result);
  }
  return result;
}

template <typename T>
void FusedBatchNormKernel<T>::Normalize(const KernelFrame& frame, const BatchNormLayout& layout, const T* x,
                                        const Parameters& parameters, T* out) const {
  if (layout.is_channels_last) {
    const int64_t cols = layout.cols;
    frame.ParallelFor(layout.rows, kScaleCost * static_cast<double>(cols), [&](int64_t begin, int64_t end) {
      NormalizeRows(x + begin * cols, end - begin, cols, parameters, out + begin * cols);
    });
    if (layout.rest > 0) NormalizeRows(x + layout.rows * cols, 1, layout.rest, parameters, out + layout.rows * cols);
    return;
  }
  const int64_t plane = layout.plane;
  const double cost = kScaleCost * static_cast<double>(plane) + 10;
  frame.ParallelFor(layout.batch * layout.channels, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % layout.channels;
      NormalizePlane(x + i * plane, plane, parameters.means[c], parameters.factors[c], parameters.offsets[c],
                     out + i * plane);
    }
  });
}

template <typename T>
void FusedBatchNormKernel<T>::NormalizeRows(const T* x, int64_t rows, int64_t cols, const Parameters& parameters,
                                            T* out) const {
  if constexpr (std::is_same_v<T, float>) {
    FindNormalizationRows<float>().scale_columns(x, rows, cols, parameters.means, parameters.factors,
                                                 parameters.offsets, out);
  } else {
    float buffer[kBuffer];
    const int64_t tile = std::min(cols, kBuffer);
    const int64_t together = tile < cols ? 1 : kBuffer / cols;
    for (int64_t row = 0; row < rows; row += together) {
      for (int64_t col = 0; col < cols; col += tile) {
        const int64_t size = std::min(together, rows - row) * std::min(tile, cols - col);
        const int64_t at = row * cols + col;
        halves_.Widen(x + at, size, buffer);
        const int64_t tile_cols = std::min(tile, cols - col);
        FindNormalizationRows<float>().scale_columns(buffer, size / tile_cols, tile_cols, parameters.means + col,
                                                     parameters.factors + col, parameters.offsets + col, buffer);
        halves_.Narrow(buffer, size, out + at);
      }
    }
  }
}

template <typename T>
void FusedBatchNormKernel<T>::NormalizePlane(const T* x, int64_t n, float mean, float factor, float offset,
                                             T* out) const {
  float buffer[std::is_same_v<T, float> ? 1 : kBuffer];
  const int64_t chunk = std::is_same_v<T, float> ? kPollElements : kBuffer;
  StopPoll poll(kPollElements);
  for (int64_t begin = 0; begin < n && !poll.Stops(std::min(chunk, n)); begin += chunk) {
    const int64_t size = std::min(chunk, n - begin);
    float* to = HalfRows::Unnarrowed(out + begin, buffer);
    FindNormalizationRows<float>().scale(halves_.Widen(x + begin, size, buffer), size, mean, factor, offset, to);
    halves_.Narrow(to, size, out + begin);
  }
}

template <typename T>
Status AddBatchNorm([[maybe_unused]] KernelOpHandler& handler) {
  if constexpr (IsInBuild(kDTypeOf<T>, "tf.FusedBatchNormV3")) {
    return handler.AddKernel("tf.FusedBatchNormV3", {kDTypeOf<T>},
                             MakeRecordedKernel<"tf.FusedBatchNormV3", kDTypeOf<T>>(FusedBatchNormKernel<T>())
                                 .WithCost((kMomentsCost + kScaleCost) / 2));
  }
  return Status();
}

}  // namespace

Status RegisterBatchNormKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddBatchNorm<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddBatchNorm<BFloat16>(handler));
  TANDEM_RETURN_IF_ERROR(AddBatchNorm<float>(handler));
  return RegisterBatchNormGradKernels(handler);
}

}  // namespace tandem::cpu
