// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LayerNormGrad: row by row; the gradients of scale and bias are summed up in blocks of rows, so that their bits do not
// depend on the number of threads.

#include "kernels/normalization/normalization_layer_grad.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/half_rows.h"
#include "kernels/normalization/normalization_rows.h"
#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "kernels/scratch.h"

namespace tandem::cpu {

namespace {

// Nanoseconds an element.
constexpr float kCost = 1;
// Rows whose sums are added up without others.
constexpr int64_t kRows = 32;

template <typename T>
class LayerNormGradKernel {
 public:
  Status operator()(DenseArg gradients, DenseArg x, DenseArg scale, KernelFrame& frame) const {
    T* out = frame.ForwardOrAllocateResult<T>(0, {0, 1});
    T* scale_gradient = frame.AllocateResult<T>(1);
    T* bias_gradient = frame.AllocateResult<T>(2);
    const int64_t cols = scale.size();
    if (out == nullptr || scale_gradient == nullptr || bias_gradient == nullptr || cols == 0) return Status();
    const int64_t rows = x.size() / cols;
    const int64_t blocks = (rows + kRows - 1) / kRows;
    Scratch<A> scratch;  // the scale, widened; then for each block the gradients of scale and bias
    TANDEM_RETURN_IF_ERROR(scratch.Init(frame, (2 * blocks + 1) * cols));
    A* sums = scratch.data() + cols;
    Call call;
    call.cols = cols;
    call.epsilon = static_cast<A>(frame.attrs().GetOr("epsilon", 1e-5f));
    call.scales = halves_.Widen(scale.data<T>(), cols, scratch.data());
    TANDEM_RETURN_IF_ERROR(ParallelForWithScratch(
        frame, blocks, kCost * static_cast<double>(std::min(rows, kRows) * cols),
        3 * cols * static_cast<int64_t>(sizeof(A)), [&](int64_t begin, int64_t end, void* buffer) {
          for (int64_t block = begin; block < end; ++block) {
            A* products = sums + 2 * block * cols;
            std::fill_n(products, 2 * cols, A{0});
            for (int64_t row = block * kRows; row < std::min(rows, (block + 1) * kRows); ++row) {
              if (cols > kPollElements / kRows && KernelRun::IsStopped()) return;
              ComputeRow(call, gradients.data<T>() + row * cols, x.data<T>() + row * cols, static_cast<A*>(buffer),
                         products, out + row * cols);
            }
          }
        }));
    StopPoll poll(kPollSteps);
    for (int64_t col = 0; col < cols && !poll.Stops(blocks); ++col) {
      double product = 0, sum = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        product += static_cast<double>(sums[2 * block * cols + col]);
        sum += static_cast<double>(sums[(2 * block + 1) * cols + col]);
      }
      scale_gradient[col] = static_cast<T>(static_cast<A>(product));
      bias_gradient[col] = static_cast<T>(static_cast<A>(sum));
    }
    return Status();
  }

 private:
  using A = Widened<T>;
  struct Call {
    int64_t cols;
    A epsilon;
    const A* scales;
  };

  // `buffer` has room for three rows; the row's part of the gradients of the scale is added to `products`, that of the
  // bias to the numbers behind these.
  void ComputeRow(const Call& call, const T* gradients, const T* elements, A* buffer, A* products, T* out) const {
    const int64_t cols = call.cols;
    const A* x = halves_.Widen(elements, cols, buffer);
    const A* dy = halves_.Widen(gradients, cols, buffer + cols);
    A* scaled = buffer + 2 * cols;
    const auto n = static_cast<A>(cols);
    A mean = 0, squares = 0;
    FindNormalizationRows<A>().moments(x, cols, &mean, &squares);
    const A factor = 1 / std::sqrt(squares / n + call.epsilon);
    FindNormalizationRows<A>().add_products(x, dy, call.scales, cols, mean, factor, products, products + cols, scaled);
    A sum = 0, product = 0;
    FindNormalizationRows<A>().products(x, scaled, cols, mean, &sum, &product);
    A* to = HalfRows::Unnarrowed(out, scaled);
    FindNormalizationRows<A>().combine(x, scaled, cols, mean, factor, -factor * factor * factor * product / n,
                                       -factor * sum / n, to);
    halves_.Narrow(to, cols, out);
  }

  HalfRows halves_{kDTypeOf<T>};
};

template <typename T>
Status AddLayerNormGrad([[maybe_unused]] KernelOpHandler& handler) {
  if constexpr (IsInBuild(kDTypeOf<T>, "tandem.LayerNormGrad")) {
    return handler.AddKernel(
        "tandem.LayerNormGrad", {kDTypeOf<T>},
        MakeRecordedKernel<"tandem.LayerNormGrad", kDTypeOf<T>>(LayerNormGradKernel<T>()).WithCost(kCost / 3));
  }
  return Status();
}

}  // namespace

Status RegisterLayerNormGradKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddLayerNormGrad<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddLayerNormGrad<BFloat16>(handler));
  TANDEM_RETURN_IF_ERROR(AddLayerNormGrad<float>(handler));
  return AddLayerNormGrad<double>(handler);
}

}  // namespace tandem::cpu
