// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FusedBatchNormGradV3: for each channel the sums of the gradients and of their products with the normalized elements,
// then a pass that combines gradients, elements and these.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "kernels/half_rows.h"
#include "kernels/normalization/normalization_batch.h"
#include "kernels/normalization/normalization_rows.h"
#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "kernels/scratch.h"

namespace tandem::cpu {

namespace {

// Nanoseconds an element.
constexpr float kSumsCost = 0.2f;
constexpr float kCombineCost = 0.25f;
// Elements that are summed, or converted, together: few enough for sums in f32, and for the stack.
constexpr int64_t kBlock = 4096;

struct ChannelSums {
  double gradients = 0;
  double products = 0;  // of gradients with differences from the mean

  void Add(float gradient, float product) {
    gradients += static_cast<double>(gradient);
    products += static_cast<double>(product);
  }
};

// What the gradients of a channel are combined with: an array of each, of BatchNormLayout::cols for channels last.
struct Parameters {
  float* means;
  float* factors;
  float* slopes;
  float* offsets;
};

template <typename T>
class FusedBatchNormGradKernel {
 public:
  Status operator()(DenseArg gradients, DenseArg x, DenseArg scale, DenseArg mean, DenseArg variance, DenseArg,
                    KernelFrame& frame) const;

 private:
  static constexpr bool kWidens = !std::is_same_v<T, float>;
  static constexpr int64_t kBuffer = kWidens ? kBlock : 1;
  // The elements and their gradients.
  struct Inputs {
    const T* x;
    const T* gradients;
  };

  Status SumColumns(const KernelFrame& frame, const BatchNormLayout& layout, const Inputs& inputs, const float* means,
                    ChannelSums* sums) const;
  Status SumPlanes(const KernelFrame& frame, const BatchNormLayout& layout, const Inputs& inputs, const float* means,
                   ChannelSums* sums) const;
  void Combine(const KernelFrame& frame, const BatchNormLayout& layout, const Inputs& inputs,
               const Parameters& parameters, T* out) const;
  void CombineRows(const BatchNormLayout& layout, const Inputs& inputs, int64_t begin, int64_t end,
                   const Parameters& parameters, T* out) const;

  HalfRows halves_{kDTypeOf<T>};
};

template <typename T>
Status FusedBatchNormGradKernel<T>::operator()(DenseArg gradients, DenseArg x, DenseArg scale, DenseArg mean,
                                               DenseArg variance, DenseArg, KernelFrame& frame) const {
  T* out = frame.ForwardOrAllocateResult<T>(0, {0, 1});
  float* scale_gradient = frame.AllocateResult<float>(1);
  float* offset_gradient = frame.AllocateResult<float>(2);
  const bool has_placeholders = frame.AllocateResult(3) != nullptr && frame.AllocateResult(4) != nullptr;
  if (out == nullptr || scale_gradient == nullptr || offset_gradient == nullptr || !has_placeholders) return Status();
  const OpAttrsRef& attrs = frame.attrs();
  const BatchNormLayout layout(x.shape(), attrs.GetOr<std::string_view>("data_format", "NHWC"));
  const int64_t channels = layout.channels;
  if (layout.size == 0) {
    std::fill_n(scale_gradient, channels, 0.0f);
    std::fill_n(offset_gradient, channels, 0.0f);
    return Status();
  }
  const int64_t count = layout.is_channels_last ? layout.cols : channels;
  Scratch<float> scratch;
  TANDEM_RETURN_IF_ERROR(scratch.Init(frame, 4 * count));
  float* const arrays = scratch.data();
  const Parameters parameters = {arrays, arrays + count, arrays + 2 * count, arrays + 3 * count};
  for (int64_t i = 0; i < count; ++i) parameters.means[i] = mean.data<float>()[i % channels];
  Scratch<ChannelSums> sums;
  TANDEM_RETURN_IF_ERROR(sums.Init(frame, channels));
  std::fill_n(sums.data(), channels, ChannelSums());
  const Inputs inputs = {x.data<T>(), gradients.data<T>()};
  TANDEM_RETURN_IF_ERROR(layout.is_channels_last ? SumColumns(frame, layout, inputs, parameters.means, sums.data())
                                                 : SumPlanes(frame, layout, inputs, parameters.means, sums.data()));
  const bool is_training = attrs.GetOr("is_training", true);
  const double epsilon = attrs.GetOr("epsilon", 1e-4f);
  const auto n = static_cast<double>(layout.PerChannel());
  for (int64_t c = 0; c < channels; ++c) {
    const ChannelSums& sum = sums.data()[c];
    const double square = static_cast<double>(variance.data<float>()[c]) + epsilon;
    const double factor = static_cast<double>(scale.data<float>()[c]) / std::sqrt(square);
    scale_gradient[c] = static_cast<float>(sum.products / std::sqrt(square));
    offset_gradient[c] = static_cast<float>(sum.gradients);
    // Mean and variance depend on the elements only if they were computed from them.
    const double slope = is_training ? -factor * sum.products / (n * square) : 0;
    const double offset = is_training ? -factor * sum.gradients / n : 0;
    for (int64_t i = c; i < count; i += channels) {
      parameters.factors[i] = static_cast<float>(factor);
      parameters.slopes[i] = static_cast<float>(slope);
      parameters.offsets[i] = static_cast<float>(offset);
    }
  }
  Combine(frame, layout, inputs, parameters, out);
  return Status();
}

template <typename T>
Status FusedBatchNormGradKernel<T>::SumColumns(const KernelFrame& frame, const BatchNormLayout& layout,
                                               const Inputs& inputs, const float* means, ChannelSums* sums) const {
  const int64_t cols = layout.cols;
  const ColumnBlocks blocks(layout, kBlock);
  Scratch<float> scratch;
  TANDEM_RETURN_IF_ERROR(scratch.Init(frame, 2 * blocks.count * cols));
  float* gradients = scratch.data();
  float* products = gradients + blocks.count * cols;
  blocks.ForEach(frame, kSumsCost, [&](const ColumnBlocks::Block& block) {
    const T* x = inputs.x + block.begin;
    const T* dy = inputs.gradients + block.begin;
    const float* block_means = means + block.result % cols;
    if constexpr (kWidens) {
      float wide_x[kBuffer], wide_dy[kBuffer];
      for (int64_t row = 0; row < block.rows; ++row) {
        halves_.Widen(x + row * cols, block.cols, wide_x + row * block.cols);
        halves_.Widen(dy + row * cols, block.cols, wide_dy + row * block.cols);
      }
      FindNormalizationRows<float>().column_products(wide_x, wide_dy, block.rows, block.cols, block.cols, block_means,
                                                     gradients + block.result, products + block.result);
    } else {
      FindNormalizationRows<float>().column_products(x, dy, block.rows, cols, block.cols, block_means,
                                                     gradients + block.result, products + block.result);
    }
  });
  const int64_t channels = layout.channels;
  for (int64_t i = 0; i < blocks.count * cols; i += channels) {
    for (int64_t c = 0; c < channels; ++c) sums[c].Add(gradients[i + c], products[i + c]);
  }
  for (int64_t i = layout.rows * cols; i < layout.size; i += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto gradient = static_cast<float>(inputs.gradients[i + c]);
      sums[c].Add(gradient, gradient * (static_cast<float>(inputs.x[i + c]) - means[c]));
    }
  }
  return Status();
}

template <typename T>
Status FusedBatchNormGradKernel<T>::SumPlanes(const KernelFrame& frame, const BatchNormLayout& layout,
                                              const Inputs& inputs, const float* means, ChannelSums* sums) const {
  const int64_t plane = layout.plane;
  const int64_t planes = layout.batch * layout.channels;
  Scratch<ChannelSums> scratch;
  TANDEM_RETURN_IF_ERROR(scratch.Init(frame, planes));
  frame.ParallelFor(planes, kSumsCost * static_cast<double>(plane) + 20, [&](int64_t first, int64_t last) {
    float wide_x[kBuffer], wide_dy[kBuffer];
    StopPoll poll(kPollElements);
    for (int64_t i = first; i < last; ++i) {
      ChannelSums sum;
      for (int64_t begin = 0; begin < plane && !poll.Stops(kBlock); begin += kBlock) {
        const int64_t size = std::min(kBlock, plane - begin);
        const float* x = halves_.Widen(inputs.x + i * plane + begin, size, wide_x);
        const float* dy = halves_.Widen(inputs.gradients + i * plane + begin, size, wide_dy);
        float gradient = 0, product = 0;
        FindNormalizationRows<float>().products(x, dy, size, means[i % layout.channels], &gradient, &product);
        sum.Add(gradient, product);
      }
      scratch.data()[i] = sum;
    }
  });
  for (int64_t i = 0; i < planes; ++i) {
    sums[i % layout.channels].gradients += scratch.data()[i].gradients;
    sums[i % layout.channels].products += scratch.data()[i].products;
  }
  return Status();
}

template <typename T>
void FusedBatchNormGradKernel<T>::Combine(const KernelFrame& frame, const BatchNormLayout& layout, const Inputs& inputs,
                                          const Parameters& parameters, T* out) const {
  if (layout.is_channels_last) {
    // One more row for the rest.
    const int64_t rows = layout.rows + (layout.rest > 0 ? 1 : 0);
    frame.ParallelFor(rows, kCombineCost * static_cast<double>(layout.cols),
                      [&](int64_t begin, int64_t end) { CombineRows(layout, inputs, begin, end, parameters, out); });
    return;
  }
  const int64_t plane = layout.plane;
  const double cost = kCombineCost * static_cast<double>(plane) + 10;
  frame.ParallelFor(layout.batch * layout.channels, cost, [&](int64_t first, int64_t last) {
    float wide_x[kBuffer], wide_dy[kBuffer];
    StopPoll poll(kPollElements);
    for (int64_t i = first; i < last; ++i) {
      const int64_t c = i % layout.channels;
      for (int64_t begin = 0; begin < plane && !poll.Stops(kBlock); begin += kBlock) {
        const int64_t size = std::min(kBlock, plane - begin);
        const int64_t at = i * plane + begin;
        const float* x = halves_.Widen(inputs.x + at, size, wide_x);
        const float* dy = halves_.Widen(inputs.gradients + at, size, wide_dy);
        float* to = HalfRows::Unnarrowed(out + at, wide_x);
        FindNormalizationRows<float>().combine(x, dy, size, parameters.means[c], parameters.factors[c],
                                               parameters.slopes[c], parameters.offsets[c], to);
        halves_.Narrow(to, size, out + at);
      }
    }
  });
}

// Rows [begin, end), the last of which may be the rest.
template <typename T>
void FusedBatchNormGradKernel<T>::CombineRows(const BatchNormLayout& layout, const Inputs& inputs, int64_t begin,
                                              int64_t end, const Parameters& parameters, T* out) const {
  const int64_t cols = layout.cols;
  float wide_x[kBuffer], wide_dy[kBuffer];
  const auto combine = [&](int64_t at, int64_t rows, int64_t first_col, int64_t num_cols) {
    const int64_t size = rows * num_cols;
    const float* x = halves_.Widen(inputs.x + at, size, wide_x);
    const float* dy = halves_.Widen(inputs.gradients + at, size, wide_dy);
    float* to = HalfRows::Unnarrowed(out + at, wide_x);
    FindNormalizationRows<float>().combine_columns(x, dy, rows, num_cols, parameters.means + first_col,
                                                   parameters.factors + first_col, parameters.slopes + first_col,
                                                   parameters.offsets + first_col, to);
    halves_.Narrow(to, size, out + at);
  };
  const int64_t tile = kWidens ? std::min(cols, kBlock) : cols;
  const int64_t together = kWidens ? kBlock / tile : end - begin;  // rows, if a tile is a row
  const int64_t last = std::min(end, layout.rows);
  for (int64_t row = begin; row < last;) {
    const int64_t rows = tile < cols ? 1 : std::min(together, last - row);
    for (int64_t col = 0; col < cols; col += tile) combine(row * cols + col, rows, col, std::min(tile, cols - col));
    row += rows;
  }
  if (end > layout.rows) combine(layout.rows * cols, 1, 0, layout.rest);
}

template <typename T>
Status AddBatchNormGrad([[maybe_unused]] KernelOpHandler& handler) {
  if constexpr (IsInBuild(kDTypeOf<T>, "tf.FusedBatchNormGradV3")) {
    return handler.AddKernel("tf.FusedBatchNormGradV3", {kDTypeOf<T>},
                             MakeRecordedKernel<"tf.FusedBatchNormGradV3", kDTypeOf<T>>(FusedBatchNormGradKernel<T>())
                                 .WithCost((kSumsCost + kCombineCost) / 3));
  }
  return Status();
}

}  // namespace

Status RegisterBatchNormGradKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddBatchNormGrad<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddBatchNormGrad<BFloat16>(handler));
  return AddBatchNormGrad<float>(handler);
}

}  // namespace tandem::cpu
