// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinear, ResizeNearestNeighbor and their gradients, CropAndResize, ImageProjectiveTransformV3.

#include "kernels/element_types.h"
#include "kernels/image/projective.h"
#include "kernels/image/resize.h"
#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

ResizeKind KindOf(const OpAttrsRef& attrs) {
  return {attrs.GetOr("align_corners", false), attrs.GetOr("half_pixel_centers", false)};
}

template <Launch (*kProgram)(const TensorMetadata&, const TensorShape&, ResizeKind, const GpuLimits&)>
Status ResizeKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Run(kProgram(frame.arg(0).metadata(), frame.result_metadata(0).shape, KindOf(frame.attrs()), call.limits()),
           {call.Argument(0), call.Result(0)});
  return call.Finish();
}

template <Launch (*kProgram)(const TensorShape&, const TensorMetadata&, ResizeKind, const GpuLimits&)>
Status ResizeGradKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Run(kProgram(frame.arg(0).shape(), frame.result_metadata(0), KindOf(frame.attrs()), call.limits()),
           {call.Argument(0), call.Result(0)});
  return call.Finish();
}

Status CropAndResizeKernel(KernelFrame& frame) {
  const bool is_nearest = frame.attrs().GetOr<std::string_view>("method", "bilinear") == "nearest";
  ShaderCall call(frame);
  call.Run(CropAndResizeProgram(frame.arg(0).metadata(), frame.result_metadata(0).shape, is_nearest,
                                frame.attrs().GetOr("extrapolation_value", 0.0f), call.limits()),
           {call.Argument(0), call.Argument(1), call.Argument(2), call.Result(0)});
  return call.Finish();
}

Status ProjectiveKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Run(ProjectiveProgram(frame.arg(0).metadata(), frame.arg(1).shape(), frame.result_metadata(0).shape,
                             frame.attrs(), call.limits()),
           {call.Argument(0), call.Argument(1), call.Argument(3), call.Result(0)});
  return call.Finish();
}

}  // namespace

// Bilinear resizing of i64 and f64 is left to the fallback where shaders cannot compute with them.
Status RegisterImageKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ResizeKernel<&ResizeBilinearProgram>>("tf.ResizeBilinear", kBilinearDTypes),
      KernelEntryOf<&CropAndResizeKernel>("tf.CropAndResize", kBilinearDTypes),
      KernelEntryOf<&ResizeKernel<&ResizeNearestProgram>>("tf.ResizeNearestNeighbor", kFixedSizeDTypes),
  };
  constexpr DTypeSet kNearestGradInts = {DType::kU8, DType::kI8, DType::kI32};
  static constexpr KernelEntry kOfOwnDTypes[] = {
      KernelEntryOf<&ResizeGradKernel<&ResizeBilinearGradProgram>>("tf.ResizeBilinearGrad", kFloatDTypesOfGpu),
      KernelEntryOf<&ResizeGradKernel<&ResizeNearestGradProgram>>("tf.ResizeNearestNeighborGrad",
                                                                  kFloatDTypesOfGpu | kNearestGradInts),
      KernelEntryOf<&CropAndResizeKernel>("tf.CropAndResize", kWideBilinearDTypes),
      KernelEntryOf<&ProjectiveKernel>("tf.ImageProjectiveTransformV3", kProjectiveDTypes),
      KernelEntryOf<&ResizeKernel<&ResizeBilinearProgram>>("tf.ResizeBilinear", kWideBilinearDTypes),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  return handler.AddKernels(kOfOwnDTypes, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
