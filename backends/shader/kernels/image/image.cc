// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinear, ResizeNearestNeighbor.

#include "kernels/image/resize.h"
#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

template <Launch (*kProgram)(const TensorMetadata&, const TensorShape&, ResizeKind, const GpuLimits&)>
Status ResizeKernel(KernelFrame& frame) {
  const ResizeKind kind = {frame.attrs().GetOr("align_corners", false),
                           frame.attrs().GetOr("half_pixel_centers", false)};
  ShaderCall call(frame);
  call.Run(kProgram(frame.arg(0).metadata(), frame.result_metadata(0).shape, kind, call.limits()),
           {call.Argument(0), call.Result(0)});
  return call.Finish();
}

}  // namespace

// Bilinear resizing of i64 and f64, which shaders cannot compute with, is left to the fallback.
Status RegisterImageKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ResizeKernel<&ResizeBilinearProgram>>("tf.ResizeBilinear", kBilinearDTypes),
      KernelEntryOf<&ResizeKernel<&ResizeNearestProgram>>("tf.ResizeNearestNeighbor", kFixedSizeDTypes),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::shader
