// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPool3D, AvgPool3D and their gradients.

#include "kernels/volume/volume_pool.h"

#include <string>
#include <string_view>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shader_functions.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr std::string_view kDimensions[] = {"depth", "rows", "columns"};

// Values: VolumePool, dtype.
ShaderText ComposePool(const ShaderSource& source, std::span<const int32_t> values) {
  const auto pool = static_cast<VolumePool>(values[0]);
  const auto dtype = static_cast<DType>(values[1]);
  const bool is_gradient = pool == VolumePool::kMaxGradient || pool == VolumePool::kAverageGradient;
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("count");
  DeclareTypes(builder, dtype);
  builder.Parameter("channels");
  DeclareVolumeWindows(builder, /*has_dilations=*/false);
  builder.Buffer(is_gradient ? "grad" : "x", BufferAccess::kRead, "T");
  if (pool == VolumePool::kMaxGradient) builder.Buffer("places", BufferAccess::kRead, "u32");
  builder.Buffer("y", BufferAccess::kReadWrite, pool == VolumePool::kMaxPlaces ? "u32" : "T");
  const std::string text = Unroll(
      source.text,
      {{"GRADIENT", is_gradient},
       {"MAXIMUM", pool == VolumePool::kMax || pool == VolumePool::kMaxPlaces || pool == VolumePool::kMaxGradient},
       {"PLACES", pool == VolumePool::kMaxPlaces}});
  if (!kFloatDTypes.Contains(dtype)) {
    return builder.Text("fn is_nan(x: A) -> bool { return false; }\n").Finish(text);
  }
  const FunctionTypes types = ArithmeticBytes(dtype) == 8 ? FunctionTypes::kWide : FunctionTypes::kF32;
  return builder.Text(FunctionsCalledBy(text, types)).Finish(text);
}

const ShaderSource kPool = {"volume_pool", &ComposePool, kVolumePoolText};

struct PoolVolumes {
  static StatusOr<PoolVolumes> Make(const OpAttrsRef& attrs, const TensorShape& shape) {
    TANDEM_ASSIGN_OR_RETURN(const VolumeAttrs volume_attrs, ReadVolumeAttrs(attrs));
    TANDEM_ASSIGN_OR_RETURN(const VolumeSizes window, ReadVolumeAttr(attrs, "ksize", volume_attrs.channels_first));
    TANDEM_ASSIGN_OR_RETURN(const VolumeWindows windows, MakeVolumeWindows(volume_attrs, shape, window));
    for (const WindowAxis& axis : windows) TANDEM_RETURN_IF_ERROR(CheckWindow(axis));
    // Each channel is a volume of its own where the channels come first.
    return PoolVolumes{windows, volume_attrs.channels_first ? 1 : shape.dim(shape.rank() - 1)};
  }

  Launch Program(VolumePool pool, DType dtype, int64_t count, const GpuLimits& limits) const {
    return VolumePoolProgram(pool, dtype, windows, channels, count, limits);
  }

  VolumeWindows windows;
  int64_t channels;
};

template <VolumePool pool>
Status PoolKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  constexpr bool kIsGradient = pool == VolumePool::kAverageGradient;
  TANDEM_ASSIGN_OR_RETURN(const PoolVolumes volumes,
                          PoolVolumes::Make(frame.attrs(), kIsGradient ? result.shape : frame.arg(0).shape()));
  call.Run(volumes.Program(pool, result.dtype, result.num_elements(), call.limits()),
           {call.Argument(kIsGradient ? 1 : 0), call.Result(0)});
  return call.Finish();
}

Status MaxPoolGradKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  TANDEM_ASSIGN_OR_RETURN(const PoolVolumes volumes, PoolVolumes::Make(frame.attrs(), result.shape));
  const int64_t outputs = frame.arg(2).num_elements();
  GpuBuffer* const places = call.Temporary(static_cast<uint64_t>(outputs) * kWordBytes);
  call.Run(volumes.Program(VolumePool::kMaxPlaces, result.dtype, outputs, call.limits()), {call.Argument(0), places});
  call.Run(volumes.Program(VolumePool::kMaxGradient, result.dtype, result.num_elements(), call.limits()),
           {call.Argument(2), places, call.Result(0)});
  return call.Finish();
}

}  // namespace

Status CheckWindow(const WindowAxis& axis) {
  // Places and strides are added and multiplied as words.
  constexpr int64_t kMost = int64_t{1} << 31;
  const int64_t last = axis.output == 0 ? 0 : (axis.output - 1) * axis.stride;
  if (axis.stride < kMost && axis.input + axis.pad_before < kMost && axis.extent() < kMost && last < kMost) {
    return Status();
  }
  return ResourceExhausted("expected windows on fewer than 2^31 elements, got input: ", axis.input,
                           ", extent: ", axis.extent(), ", stride: ", axis.stride);
}

void DeclareVolumeWindows(ShaderBuilder& builder, bool has_dilations) {
  for (const std::string_view dimension : kDimensions) {
    for (const std::string_view member : {"_input", "_window", "_stride", "_pad", "_output"}) {
      builder.Parameter(std::string(dimension) + std::string(member));
    }
    if (has_dilations) builder.Parameter(std::string(dimension) + "_dilation");
  }
}

void AddVolumeWindows(LaunchParameters& parameters, const VolumeWindows& windows, bool has_dilations) {
  for (const WindowAxis& axis : windows) {
    for (const int64_t number : {axis.input, axis.window, axis.stride, axis.pad_before, axis.output}) {
      parameters.Add(Low(number));
    }
    if (has_dilations) parameters.Add(Low(axis.dilation));
  }
}

Launch VolumePoolProgram(VolumePool pool, DType dtype, const VolumeWindows& windows, int64_t channels, int64_t count,
                         const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(kPool, {static_cast<int32_t>(pool), static_cast<int32_t>(dtype)});
  launch.parameters = {Low(count), Low(channels)};
  AddVolumeWindows(launch.parameters, windows, /*has_dilations=*/false);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(count), kWorkgroup, limits);
  return launch;
}

Status RegisterVolumePoolKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&PoolKernel<VolumePool::kMax>>("tf.MaxPool3D", kFloatDTypesOfGpu),
      KernelEntryOf<&PoolKernel<VolumePool::kAverage>>("tf.AvgPool3D", kFloatDTypesOfGpu),
      KernelEntryOf<&MaxPoolGradKernel>("tf.MaxPool3DGrad", kFloatDTypesOfGpu),
      KernelEntryOf<&PoolKernel<VolumePool::kAverageGradient>>("tf.AvgPool3DGrad", kFloatDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, FloatDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
