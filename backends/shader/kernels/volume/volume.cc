// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv3D, MaxPool3D, AvgPool3D and their gradients.

#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/shader_functions.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "tandem/shader/shader_call.h"
#include "tandem/volume_windows.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr std::string_view kDimensions[] = {"depth", "rows", "columns"};

ShaderBuilder& DeclareWindows(ShaderBuilder& builder, bool has_dilations) {
  for (const std::string_view dimension : kDimensions) {
    for (const std::string_view member : {"_input", "_window", "_stride", "_pad", "_output"}) {
      builder.Parameter(std::string(dimension) + std::string(member));
    }
    if (has_dilations) builder.Parameter(std::string(dimension) + "_dilation");
  }
  return builder;
}

void AddWindows(LaunchParameters& parameters, const VolumeWindows& windows, bool has_dilations) {
  for (const WindowAxis& axis : windows) {
    for (const int64_t number : {axis.input, axis.window, axis.stride, axis.pad_before, axis.output}) {
      parameters.Add(Low(number));
    }
    if (has_dilations) parameters.Add(Low(axis.dilation));
  }
}

ShaderBuilder BuilderOf(const ShaderSource& source, DType dtype) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("count");
  DeclareTypes(builder, dtype);
  return builder;
}

// ---- Pooling.

enum class Pool : int32_t { kMax, kAverage, kMaxPlaces, kMaxGradient, kAverageGradient };

// Values: Pool, dtype.
ShaderText ComposePool(const ShaderSource& source, std::span<const int32_t> values) {
  const auto pool = static_cast<Pool>(values[0]);
  const auto dtype = static_cast<DType>(values[1]);
  const bool is_gradient = pool == Pool::kMaxGradient || pool == Pool::kAverageGradient;
  ShaderBuilder builder = BuilderOf(source, dtype);
  builder.Parameter("channels");
  DeclareWindows(builder, /*has_dilations=*/false);
  builder.Buffer(is_gradient ? "grad" : "x", BufferAccess::kRead, "T");
  if (pool == Pool::kMaxGradient) builder.Buffer("places", BufferAccess::kRead, "u32");
  builder.Buffer("y", BufferAccess::kReadWrite, pool == Pool::kMaxPlaces ? "u32" : "T");
  const std::string text =
      Unroll(source.text, {{"GRADIENT", is_gradient},
                           {"MAXIMUM", pool == Pool::kMax || pool == Pool::kMaxPlaces || pool == Pool::kMaxGradient},
                           {"PLACES", pool == Pool::kMaxPlaces}});
  const FunctionTypes types = ArithmeticBytes(dtype) == 8 ? FunctionTypes::kWide : FunctionTypes::kF32;
  return builder.Text(FunctionsCalledBy(text, types)).Finish(text);
}

const ShaderSource kPool = {"volume_pool", &ComposePool, kVolumePoolText};

struct PoolVolumes {
  static StatusOr<PoolVolumes> Make(const OpAttrsRef& attrs, const TensorShape& shape) {
    TANDEM_ASSIGN_OR_RETURN(const VolumeAttrs volume_attrs, ReadVolumeAttrs(attrs));
    TANDEM_ASSIGN_OR_RETURN(const VolumeSizes window, ReadVolumeAttr(attrs, "ksize", volume_attrs.channels_first));
    TANDEM_ASSIGN_OR_RETURN(const VolumeWindows windows, MakeVolumeWindows(volume_attrs, shape, window));
    // Each channel is a volume of its own where the channels come first.
    return PoolVolumes{windows, volume_attrs.channels_first ? 1 : shape.dim(shape.rank() - 1)};
  }

  Launch Program(Pool pool, DType dtype, int64_t count, const GpuLimits& limits) const {
    Launch launch;
    launch.variant = ShaderVariant(kPool, {static_cast<int32_t>(pool), static_cast<int32_t>(dtype)});
    launch.parameters = {Low(count), Low(channels)};
    AddWindows(launch.parameters, windows, /*has_dilations=*/false);
    launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(count), kWorkgroup, limits);
    return launch;
  }

  VolumeWindows windows;
  int64_t channels;
};

template <Pool pool>
Status PoolKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  constexpr bool kIsGradient = pool == Pool::kAverageGradient;
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
  call.Run(volumes.Program(Pool::kMaxPlaces, result.dtype, outputs, call.limits()), {call.Argument(0), places});
  call.Run(volumes.Program(Pool::kMaxGradient, result.dtype, result.num_elements(), call.limits()),
           {call.Argument(2), places, call.Result(0)});
  return call.Finish();
}

// ---- Convolution.

enum class Pass : int32_t { kForward, kInput, kFilter };

// Values: Pass, dtype, whether channels come first.
ShaderText ComposeConvolution(const ShaderSource& source, std::span<const int32_t> values) {
  const auto pass = static_cast<Pass>(values[0]);
  ShaderBuilder builder = BuilderOf(source, static_cast<DType>(values[1]));
  for (const char* name : {"batch", "channels", "filters", "x_pixel", "x_channel", "y_pixel", "y_channel"}) {
    builder.Parameter(name);
  }
  DeclareWindows(builder, /*has_dilations=*/true);
  builder.Buffer(pass == Pass::kInput ? "dy" : "x", BufferAccess::kRead, "T")
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
  AddWindows(launch.parameters, windows, /*has_dilations=*/true);
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
      KernelEntryOf<&PoolKernel<Pool::kMax>>("tf.MaxPool3D", kFloatDTypesOfGpu),
      KernelEntryOf<&PoolKernel<Pool::kAverage>>("tf.AvgPool3D", kFloatDTypesOfGpu),
      KernelEntryOf<&MaxPoolGradKernel>("tf.MaxPool3DGrad", kFloatDTypesOfGpu),
      KernelEntryOf<&PoolKernel<Pool::kAverageGradient>>("tf.AvgPool3DGrad", kFloatDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, FloatDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
