// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPoolGrad, AvgPoolGrad.

#include <cstdint>
#include <utility>

#include "kernels/half_rows.h"
#include "kernels/op_record.h"
#include "kernels/pooling/pooling_grad_rows.h"
#include "kernels/pooling/pooling_plan.h"
#include "kernels/scratch.h"

namespace tandem::cpu {

namespace {

// Nanoseconds an element of a window.
constexpr double kMaxGradCost = 0.3;
constexpr double kAvgGradCost = 0.3;
// From metadata alone, roughly.
constexpr float kElementCost = 0.5f;

struct PoolGrad {
  PoolGradRows functions;
  Row narrow;
  double cost;  // nanoseconds an element of a window

  Status Compute(KernelFrame& frame, const PoolGradInputs& inputs) const {
    auto* out = frame.AllocateResult<void>(0);
    const TensorShape& image = frame.result_metadata(0).shape;
    if (out == nullptr || image.num_elements() == 0) return Status();
    TANDEM_ASSIGN_OR_RETURN(const PoolPlan plan, MakePoolPlan(frame.attrs(), image));
    const double windows_per_row = static_cast<double>(plan.cols.output) * static_cast<double>(plan.rows.output) /
                                   static_cast<double>(plan.rows.input);
    const double row_cost = cost * windows_per_row * static_cast<double>(plan.rows.window) *
                                static_cast<double>(plan.cols.window * plan.channels) +
                            0.1 * static_cast<double>(plan.InputRowSize());
    return ParallelForWithScratch(frame, plan.images * plan.rows.input, row_cost, functions.scratch_size(plan),
                                  [&](int64_t begin, int64_t end, void* scratch) {
                                    functions.rows(plan, inputs, begin, end, narrow, scratch, out);
                                  });
  }
};

struct MaxPoolGradKernel {
  PoolGrad grad;

  Status operator()(DenseArg image, DenseArg pooled, DenseArg gradients, KernelFrame& frame) const {
    return grad.Compute(frame, {image.data<void>(), pooled.data<void>(), gradients.data<void>()});
  }
};

struct AvgPoolGradKernel {
  PoolGrad grad;

  Status operator()(DenseArg, DenseArg gradients, KernelFrame& frame) const {
    return grad.Compute(frame, {nullptr, nullptr, gradients.data<void>()});
  }
};

template <typename K>
Status AddPoolGrad(KernelOpHandler& handler, const char* op, PoolGradRows (*find)(DType), double cost) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!DTypesInBuild(op).Contains(dtype)) continue;
    const PoolGradRows functions = find(dtype);
    if (functions.rows == nullptr) continue;
    Kernel kernel = MakeRecordedKernel<"tf.MaxPoolGrad tf.AvgPoolGrad">(K{{functions, HalfRows(dtype).narrow, cost}})
                        .WithCost(kElementCost);
    TANDEM_RETURN_IF_ERROR(handler.AddKernel(op, {dtype}, std::move(kernel)));
  }
  return Status();
}

}  // namespace

Status RegisterPoolGradKernels([[maybe_unused]] KernelOpHandler& handler) {
  if constexpr (IsInBuild("tf.MaxPoolGrad")) {
    TANDEM_RETURN_IF_ERROR(
        AddPoolGrad<MaxPoolGradKernel>(handler, "tf.MaxPoolGrad", &FindMaxPoolGradRows, kMaxGradCost));
  }
  if constexpr (IsInBuild("tf.AvgPoolGrad")) {
    TANDEM_RETURN_IF_ERROR(
        AddPoolGrad<AvgPoolGradKernel>(handler, "tf.AvgPoolGrad", &FindAvgPoolGradRows, kAvgGradCost));
  }
  return Status();
}

}  // namespace tandem::cpu
