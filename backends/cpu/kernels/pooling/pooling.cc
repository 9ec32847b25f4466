// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPool, AvgPool; registration of pooling.

#include <cstdint>
#include <string_view>
#include <utility>

#include "kernels/half_rows.h"
#include "kernels/kernels.h"
#include "kernels/op_record.h"
#include "kernels/pooling/pooling_plan.h"
#include "kernels/pooling/pooling_rows.h"
#include "kernels/scratch.h"

namespace tandem::cpu {

StatusOr<PoolPlan> MakePoolPlan(const OpAttrsRef& attrs, const TensorShape& image) {
  TANDEM_ASSIGN_OR_RETURN(const WindowAttrs window_attrs, ReadWindowAttrs(attrs));
  TANDEM_ASSIGN_OR_RETURN(const auto window, ReadSpatialAttr(attrs, "ksize", window_attrs.channels_first));
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry geometry, MakeWindowGeometry(window_attrs, image, window[0], window[1]));
  return PoolPlan(image, geometry, window_attrs.channels_first);
}

namespace {

// Nanoseconds an element of a window.
constexpr double kPoolCost = 0.1;

// From metadata alone, roughly: windows overlap by about half.
constexpr float kElementCost = 0.3f;

struct PoolKernel {
  PoolRows functions;
  Row narrow;

  Status operator()(DenseArg image, KernelFrame& frame) const {
    auto* out = frame.AllocateResult<void>(0);
    if (out == nullptr || frame.result_metadata(0).num_elements() == 0) return Status();
    TANDEM_ASSIGN_OR_RETURN(const PoolPlan plan, MakePoolPlan(frame.attrs(), image.shape()));
    const double cost = kPoolCost * static_cast<double>(plan.OutputRowSize()) * static_cast<double>(plan.rows.window) *
                        static_cast<double>(plan.cols.window);
    return ParallelForWithScratch(frame, plan.images * plan.rows.output, cost, functions.scratch_size(plan),
                                  [&](int64_t begin, int64_t end, void* scratch) {
                                    functions.rows(plan, image.data<void>(), begin, end, narrow, scratch, out);
                                  });
  }
};

[[maybe_unused]] Status AddPool(KernelOpHandler& handler, const char* op, PoolRows (*find)(DType)) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!DTypesInBuild(op).Contains(dtype)) continue;
    const PoolRows functions = find(dtype);
    if (functions.rows == nullptr) continue;
    Kernel kernel = MakeRecordedKernel<"tf.MaxPool tf.AvgPool">(PoolKernel{functions, HalfRows(dtype).narrow})
                        .WithCost(kElementCost);
    TANDEM_RETURN_IF_ERROR(handler.AddKernel(op, {dtype}, std::move(kernel)));
  }
  return Status();
}

}  // namespace

Status RegisterPoolingKernels(KernelOpHandler& handler) {
  if constexpr (IsInBuild("tf.MaxPool")) TANDEM_RETURN_IF_ERROR(AddPool(handler, "tf.MaxPool", &FindMaxPoolRows));
  if constexpr (IsInBuild("tf.AvgPool")) TANDEM_RETURN_IF_ERROR(AddPool(handler, "tf.AvgPool", &FindAvgPoolRows));
  TANDEM_RETURN_IF_ERROR(RegisterPoolGradKernels(handler));
  return RegisterPoolArgmaxKernels(handler);
}

}  // namespace tandem::cpu
