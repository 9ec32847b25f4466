// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LayerNorm; registration of the normalizations.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/half_rows.h"
#include "kernels/kernels.h"
#include "kernels/normalization/normalization_batch.h"
#include "kernels/normalization/normalization_layer_grad.h"
#include "kernels/normalization/normalization_local.h"
#include "kernels/normalization/normalization_moments.h"
#include "kernels/normalization/normalization_rows.h"
#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "kernels/scratch.h"

namespace tandem::cpu {

namespace {

// Nanoseconds an element.
constexpr float kLayerNormCost = 0.4f;
// Elements of a row that are taken together, so that they stay in the first-level cache.
constexpr int64_t kChunk = 4096;

template <typename T>
class LayerNormKernel {
 public:
  Status operator()(DenseArg x, DenseArg scale, DenseArg bias, KernelFrame& frame) const {
    T* out = frame.ForwardOrAllocateResult<T>(0, {0});
    const int64_t n = x.size();
    if (out == nullptr || n == 0) return Status();
    const int64_t cols = scale.size();
    Scratch<A> widened_scale, widened_bias;
    if constexpr (!std::is_same_v<T, A>) {
      TANDEM_RETURN_IF_ERROR(widened_scale.Init(frame, cols));
      TANDEM_RETURN_IF_ERROR(widened_bias.Init(frame, cols));
    }
    Call call;
    call.cols = cols;
    call.epsilon = static_cast<A>(frame.attrs().GetOr("epsilon", 1e-5f));
    call.scales = halves_.Widen(scale.data<T>(), cols, widened_scale.data());
    call.biases = halves_.Widen(bias.data<T>(), cols, widened_bias.data());
    const T* from = x.data<T>();
    frame.ParallelFor(n / cols, kLayerNormCost * static_cast<double>(cols) + 20, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) NormalizeRow(call, from + row * cols, out + row * cols);
    });
    return Status();
  }

 private:
  using A = Widened<T>;
  struct Call {
    int64_t cols;
    A epsilon;
    const A* scales;
    const A* biases;
  };

  void NormalizeRow(const Call& call, const T* x, T* y) const {
    A buffer[std::is_same_v<T, A> ? 1 : kChunk];
    const A* chunk = nullptr;
    A mean = 0, squares = 0;
    Moments moments;
    StopPoll poll(kPollElements);
    for (int64_t begin = 0; begin < call.cols; begin += kChunk) {
      if (poll.Stops(kChunk)) return;
      const int64_t size = std::min(kChunk, call.cols - begin);
      chunk = halves_.Widen(x + begin, size, buffer);
      FindNormalizationRows<A>().moments(chunk, size, &mean, &squares);
      if (call.cols > kChunk) MomentsMerge(begin, size).Merge(mean, squares, moments);
    }
    if (call.cols > kChunk) {
      mean = static_cast<A>(moments.mean);
      squares = static_cast<A>(moments.squares);
    }
    const A factor = 1 / std::sqrt(squares / static_cast<A>(call.cols) + call.epsilon);
    for (int64_t begin = 0; begin < call.cols && !poll.Stops(kChunk); begin += kChunk) {
      const int64_t size = std::min(kChunk, call.cols - begin);
      if (call.cols > kChunk) chunk = halves_.Widen(x + begin, size, buffer);
      A* to = HalfRows::Unnarrowed(y + begin, buffer);
      FindNormalizationRows<A>().scale_elements(chunk, size, mean, factor, call.scales + begin, call.biases + begin,
                                                to);
      halves_.Narrow(to, size, y + begin);
    }
  }

  HalfRows halves_{kDTypeOf<T>};
};

template <typename T>
Status AddLayerNorm([[maybe_unused]] KernelOpHandler& handler) {
  if constexpr (IsInBuild(kDTypeOf<T>, "tandem.LayerNorm")) {
    return handler.AddKernel(
        "tandem.LayerNorm", {kDTypeOf<T>},
        MakeRecordedKernel<"tandem.LayerNorm", kDTypeOf<T>>(LayerNormKernel<T>()).WithCost(kLayerNormCost / 2));
  }
  return Status();
}

}  // namespace

Status RegisterNormalizationKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddLayerNorm<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddLayerNorm<BFloat16>(handler));
  TANDEM_RETURN_IF_ERROR(AddLayerNorm<float>(handler));
  TANDEM_RETURN_IF_ERROR(AddLayerNorm<double>(handler));
  TANDEM_RETURN_IF_ERROR(RegisterLayerNormGradKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterLocalNormalizationKernels(handler));
  return RegisterBatchNormKernels(handler);
}

}  // namespace tandem::cpu
