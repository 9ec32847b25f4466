// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Softmax and its loss, gradients of biases.

#include <string_view>

#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/nn/softmax_programs.h"
#include "kernels/reduction/reduction_programs.h"
#include "tandem/kernel.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

template <SoftmaxKind kind>
Status SoftmaxKernel(const Tensor& logits, KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorShape& shape = logits.shape();
  const auto cols = static_cast<uint64_t>(shape.dim(shape.rank() - 1));
  const uint64_t rows = cols == 0 ? 0 : static_cast<uint64_t>(shape.num_elements()) / cols;
  call.Run(SoftmaxProgram(kind, logits.dtype(), rows, cols, call.limits()), {call.Argument(0), call.Result(0)});
  return call.Finish();
}

Status SparseCrossEntropyKernel(const Tensor& features, const Tensor& labels, KernelFrame& frame) {
  ShaderCall call(frame);
  const auto rows = static_cast<uint64_t>(features.shape().dim(0));
  const auto cols = static_cast<uint64_t>(features.shape().dim(1));
  call.Run(
      SoftmaxProgram(SoftmaxKind::kSparseCrossEntropy, features.dtype(), rows, cols, call.limits(), labels.dtype()),
      {call.Argument(0), call.Argument(1), call.Result(0), call.Result(1)});
  return call.Finish();
}

Status BiasAddGradKernel(const Tensor& out_backprop, KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorShape& shape = out_backprop.shape();
  const bool channels_first = frame.attrs().GetOr<std::string_view>("data_format", "NHWC") == "NCHW";
  ReducedDims reduced;
  reduced.fill(true);
  reduced[channels_first ? 1 : static_cast<size_t>(shape.rank() - 1)] = false;
  Reduce(call, {ReductionOp::kSum, out_backprop.dtype()}, shape, reduced, {call.Argument(0)}, call.Result(0));
  return call.Finish();
}

}  // namespace

Status RegisterNnKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&SoftmaxKernel<SoftmaxKind::kSoftmax>>("tf.Softmax", kFloatDTypesOfGpu),
      KernelEntryOf<&SoftmaxKernel<SoftmaxKind::kLogSoftmax>>("tf.LogSoftmax", kFloatDTypesOfGpu),
      KernelEntryOf<&SparseCrossEntropyKernel>("tf.SparseSoftmaxCrossEntropyWithLogits", kFloatDTypesOfGpu),
      KernelEntryOf<&BiasAddGradKernel>("tf.BiasAddGrad", kNumericDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
