// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPool, AvgPool and their gradients.

#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/pooling/pool_programs.h"
#include "kernels/pooling/pooling_argmax.h"
#include "kernels/shape/movement.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

using PoolLaunch = Launch (*)(const PoolPlan&, DType, const GpuLimits&);

template <PoolLaunch program>
Status PoolKernel(KernelFrame& frame) {
  const TensorMetadata& image = frame.arg(0).metadata();
  TANDEM_ASSIGN_OR_RETURN(const PoolPlan plan, MakePoolPlan(frame.attrs(), image.shape));
  ShaderCall call(frame);
  call.Run(program(plan, image.dtype, call.limits()), {call.Argument(0), call.Result(0)});
  return call.Finish();
}

Status AvgPoolGradKernel(KernelFrame& frame) {
  const TensorMetadata& image = frame.result_metadata(0);
  TANDEM_ASSIGN_OR_RETURN(const PoolPlan plan, MakePoolPlan(frame.attrs(), image.shape));
  ShaderCall call(frame);
  call.Run(AvgPoolGradProgram(plan, image.dtype, call.limits()), {call.Argument(1), call.Result(0)});
  return call.Finish();
}

Status MaxPoolGradKernel(KernelFrame& frame) {
  const TensorMetadata& image = frame.result_metadata(0);
  TANDEM_ASSIGN_OR_RETURN(const PoolPlan plan, MakePoolPlan(frame.attrs(), image.shape));
  ShaderCall call(frame);
  GpuBuffer* places = call.Temporary(static_cast<uint64_t>(plan.num_windows()) * kWordBytes);
  call.Run(MaxPoolPlacesProgram(plan, image.dtype, call.limits()), {call.Argument(0), call.Argument(1), places});
  call.Run(MaxPoolGradProgram(plan, image.dtype, call.limits()), {call.Argument(2), places, call.Result(0)});
  return call.Finish();
}

}  // namespace

Status RegisterPoolingKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&PoolKernel<&MaxPoolProgram>>("tf.MaxPool", kRealDTypesOfGpu),
      KernelEntryOf<&PoolKernel<&AvgPoolProgram>>("tf.AvgPool", kFloatDTypesOfGpu),
      KernelEntryOf<&MaxPoolGradKernel>("tf.MaxPoolGrad", kRealDTypesOfGpu),
      KernelEntryOf<&AvgPoolGradKernel>("tf.AvgPoolGrad", kFloatDTypesOfGpu),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits())));
  return RegisterPoolArgmaxKernels(handler);
}

}  // namespace tandem::shader
