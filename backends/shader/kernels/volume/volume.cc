// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv3D and its gradients.

#include <array>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "kernels/volume/volume_pool.h"
#include "tandem/shader/shader_call.h"
#include "tandem/volume_windows.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

enum class Pass : int32_t { kForward, kInput, kFilter };

// Values: Pass, dtype, whether channels come first.
ShaderText ComposeConvolution(const ShaderSource& source, std::span<const int32_t> values) {
  const auto pass = static_cast<Pass>(values[0]);
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  DeclareTypes(builder, static_cast<DType>(values[1]));
  for (const char* name : {"count", "batch", "channels", "filters", "x_pixel", "x_channel", "y_pixel", "y_channel"}) {
    builder.Parameter(name);
  }
  DeclareVolumeWindows(builder, /*has_dilations=*/true);
  builder.Buffer(pass == Pass::kFilter ? "x" : "other", BufferAccess::kRead, "T")
      .Buffer(pass == Pass::kFilter ? "dy" : "weight", BufferAccess::kRead, "T")
      .Buffer("y", BufferAccess::kReadWrite, "T");
  return builder.Finish(Unroll(
      source.text, {{"INPUT", pass == Pass::kInput}, {"FILTER", pass == Pass::kFilter}, {"FIRST", values[2] != 0}}));
}

const ShaderSource kConvolution = {"volume_convolution", &ComposeConvolution, kVolumeConvolutionText};

Status RunConvolution(KernelFrame& frame, Pass pass, const TensorShape& input, const TensorShape& filter,
                      std::array<size_t, 2> arguments) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  TANDEM_ASSIGN_OR_RETURN(const VolumeAttrs attrs, ReadVolumeAttrs(frame.attrs()));
  const VolumeSizes window = {filter.dim(0), filter.dim(1), filter.dim(2)};
  TANDEM_ASSIGN_OR_RETURN(const VolumeWindows windows, MakeVolumeWindows(attrs, input, window));
  for (const WindowAxis& axis : windows) TANDEM_RETURN_IF_ERROR(CheckWindow(axis));
  const int64_t input_pixels = windows[0].input * windows[1].input * windows[2].input;
  const int64_t output_pixels = windows[0].output * windows[1].output * windows[2].output;
  const int64_t channels = filter.dim(3);
  const int64_t filters = filter.dim(4);
  const bool first = attrs.channels_first;
  Launch launch;
  launch.variant = ShaderVariant(kConvolution, {static_cast<int32_t>(pass), static_cast<int32_t>(result.dtype), first});
  for (const int64_t number : {result.num_elements(), input.dim(0), channels, filters, first ? 1 : channels,
                               first ? input_pixels : 1, first ? 1 : filters, first ? output_pixels : 1}) {
    launch.parameters.Add(Low(number));
  }
  AddVolumeWindows(launch.parameters, windows, /*has_dilations=*/true);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(result.num_elements()), kWorkgroup, call.limits());
  call.Run(launch, {call.Argument(arguments[0]), call.Argument(arguments[1]), call.Result(0)});
  return call.Finish();
}

Status Conv3DKernel(KernelFrame& frame) {
  return RunConvolution(frame, Pass::kForward, frame.arg(0).shape(), frame.arg(1).shape(), {0, 1});
}

Status BackpropInputKernel(KernelFrame& frame) {
  return RunConvolution(frame, Pass::kInput, frame.result_metadata(0).shape, frame.arg(1).shape(), {2, 1});
}

Status BackpropFilterKernel(KernelFrame& frame) {
  return RunConvolution(frame, Pass::kFilter, frame.arg(0).shape(), frame.result_metadata(0).shape, {0, 2});
}

}  // namespace

Status RegisterVolumeKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&Conv3DKernel>("tf.Conv3D", kFloatDTypesOfGpu),
      KernelEntryOf<&BackpropInputKernel>("tf.Conv3DBackpropInputV2", kFloatDTypesOfGpu),
      KernelEntryOf<&BackpropFilterKernel>("tf.Conv3DBackpropFilterV2", kFloatDTypesOfGpu),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels, FloatDTypes(handler.gpu().limits())));
  return RegisterVolumePoolKernels(handler);
}

}  // namespace tandem::shader
