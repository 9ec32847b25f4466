// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LayerNorm, FusedBatchNormV3, LRN and their gradients.

#include <string_view>

#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/normalization/normalization_local.h"
#include "kernels/normalization/normalization_programs.h"
#include "kernels/reduction/reduction_programs.h"
#include "tandem/kernel.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

// A tensor as rows of `cols` elements.
struct Rows {
  explicit Rows(const TensorShape& shape) : cols(static_cast<uint64_t>(shape.dim(shape.rank() - 1))) {
    rows = cols == 0 ? 0 : static_cast<uint64_t>(shape.num_elements()) / cols;
  }
  uint64_t cols;
  uint64_t rows;
};

Status LayerNormKernel(const Tensor& x, const Tensor&, const Tensor&, KernelFrame& frame) {
  ShaderCall call(frame);
  const Rows rows(x.shape());
  const float epsilon = frame.attrs().GetOr("epsilon", 1e-5f);
  call.Run(LayerNormProgram(x.dtype(), rows.rows, rows.cols, epsilon, call.limits()),
           {call.Argument(0), call.Argument(1), call.Argument(2), call.Result(0)});
  return call.Finish();
}

Status LayerNormGradKernel(const Tensor& gradients, const Tensor& x, const Tensor&, KernelFrame& frame) {
  ShaderCall call(frame);
  const Rows rows(x.shape());
  const float epsilon = frame.attrs().GetOr("epsilon", 1e-5f);
  GpuBuffer* stats = call.Temporary(rows.rows * 4 * ArithmeticBytes(x.dtype()));
  call.Run(LayerNormGradProgram(x.dtype(), rows.rows, rows.cols, epsilon, call.limits()),
           {call.Argument(0), call.Argument(1), call.Argument(2), stats, call.Result(0)});
  const TensorShape matrix = {static_cast<int64_t>(rows.rows), static_cast<int64_t>(rows.cols)};
  const ReducedDims reduced = {true, false};
  const ReductionKind kind = {ReductionOp::kSum, gradients.dtype()};
  Reduce(call, {kind.op, kind.dtype, kind.dtype, ReductionSource::kNormalized}, matrix, reduced,
         {call.Argument(0), call.Argument(1), stats}, call.Result(1));
  Reduce(call, kind, matrix, reduced, {call.Argument(0)}, call.Result(2));
  return call.Finish();
}

// All dimensions but that of the channels.
ReducedDims AllButChannels(const TensorShape& shape, const ChannelLayout& layout) {
  ReducedDims reduced = {};
  for (int i = 0; i < shape.rank(); ++i) {
    reduced[static_cast<size_t>(i)] = i != (layout.is_channels_last ? shape.rank() - 1 : 1);
  }
  return reduced;
}

Status BatchNormKernel(const Tensor& x, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                       KernelFrame& frame) {
  ShaderCall call(frame);
  const OpAttrsRef& attrs = frame.attrs();
  const ChannelLayout layout(x.shape(), attrs.GetOr<std::string_view>("data_format", "NHWC"));
  GpuBuffer* elements = call.Argument(0);
  GpuBuffer* mean = call.Argument(3);
  GpuBuffer* variance = call.Argument(4);
  if (attrs.GetOr("is_training", true)) {
    const ReducedDims reduced = AllButChannels(x.shape(), layout);
    const ReductionKind kind = {ReductionOp::kMean, x.dtype(), DType::kF32};
    Reduce(call, kind, x.shape(), reduced, {elements}, call.Result(3));
    Reduce(call, {kind.op, kind.dtype, kind.result, ReductionSource::kSquares}, x.shape(), reduced,
           {elements, call.Result(3)}, call.Result(4), layout.channels);
    const float update = attrs.GetOr("exponential_avg_factor", 1.0f);
    const Launch statistics = BatchNormStatisticsProgram(layout.channels, layout.PerChannel(), update, call.limits());
    if (update == 1.0f) {
      call.Run(statistics, {call.Result(3), call.Result(4), call.Result(1), call.Result(2)});
    } else {
      call.Run(statistics, {call.Result(3), call.Result(4), mean, variance, call.Result(1), call.Result(2)});
    }
    mean = call.Result(3);
    variance = call.Result(4);
  } else {
    for (const size_t i : {1, 3}) {
      call.Share(i, 3);
      call.Share(i + 1, 4);
    }
  }
  const float epsilon = attrs.GetOr("epsilon", 1e-4f);
  call.Run(BatchNormProgram(x.dtype(), layout, epsilon, call.limits()),
           {elements, call.Argument(1), call.Argument(2), mean, variance, call.Result(5), call.Result(0)});
  return call.Finish();
}

Status BatchNormGradKernel(const Tensor& gradients, const Tensor& x, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&, KernelFrame& frame) {
  ShaderCall call(frame);
  const OpAttrsRef& attrs = frame.attrs();
  const ChannelLayout layout(x.shape(), attrs.GetOr<std::string_view>("data_format", "NHWC"));
  const float epsilon = attrs.GetOr("epsilon", 1e-4f);
  const ReducedDims reduced = AllButChannels(x.shape(), layout);
  GpuBuffer* dy = call.Argument(0);
  GpuBuffer* elements = call.Argument(1);
  GpuBuffer* mean = call.Argument(3);
  GpuBuffer* variance = call.Argument(4);
  const ReductionKind sum = {ReductionOp::kSum, gradients.dtype(), DType::kF32};
  const ReductionKind sum_of_products = {sum.op, sum.dtype, sum.result, ReductionSource::kProducts};
  Reduce(call, sum, x.shape(), reduced, {dy}, call.Result(2));
  if (layout.Size() == 0) {
    Reduce(call, sum, x.shape(), reduced, {dy}, call.Result(1));
    return call.Finish();
  }
  GpuBuffer* products = call.Temporary(layout.channels * sizeof(float));
  Reduce(call, sum_of_products, x.shape(), reduced, {dy, elements, mean}, products, layout.channels);
  call.Run(BatchNormScaleGradProgram(layout.channels, epsilon, call.limits()), {products, variance, call.Result(1)});
  call.Run(BatchNormGradProgram(x.dtype(), layout, epsilon, attrs.GetOr("is_training", true), call.limits()),
           {dy, elements, call.Argument(2), mean, variance, products, call.Result(2), call.Result(0)});
  return call.Finish();
}

}  // namespace

Status RegisterNormalizationKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&LayerNormKernel>("tandem.LayerNorm", kFloatDTypesOfGpu),
      KernelEntryOf<&LayerNormGradKernel>("tandem.LayerNormGrad", kFloatDTypesOfGpu),
      KernelEntryOf<&BatchNormKernel>("tf.FusedBatchNormV3", kSingleDTypesOfGpu),
      KernelEntryOf<&BatchNormGradKernel>("tf.FusedBatchNormGradV3", kSingleDTypesOfGpu),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits())));
  return RegisterLocalNormalizationKernels(handler);
}

}  // namespace tandem::shader
