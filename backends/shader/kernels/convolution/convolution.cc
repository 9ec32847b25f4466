// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv2D, DepthwiseConv2dNative and their gradients; _FusedConv2D, _FusedDepthwiseConv2dNative.

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/convolution/convolution_program.h"
#include "kernels/convolution/depthwise_program.h"
#include "kernels/convolution/filter_gradient_program.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "tandem/shader/library_convolution.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

// Shaders compute places on images in i32.
Status CheckAxis(const WindowAxis& axis) {
  constexpr int64_t kLimit = INT32_MAX;
  const auto fits = [](int64_t value) { return value <= kLimit; };
  if (fits(axis.input) && fits(axis.output) && fits(axis.stride) && fits(axis.extent()) && fits(axis.pad_before) &&
      fits(axis.pad_after) && fits(axis.input + axis.pad_before + axis.pad_after + axis.extent() + axis.stride)) {
    return Status();
  }
  return ResourceExhausted("expected windows on at most 2^31 elements, got input: ", axis.input,
                           ", window: ", axis.window, ", stride: ", axis.stride, ", dilation: ", axis.dilation,
                           ", padding: ", axis.pad_before, ", ", axis.pad_after);
}

// What attributes and shapes say, which the metadata function has checked.
StatusOr<Convolution> MakeConvolution(KernelFrame& frame, const TensorShape& input, const TensorShape& filter,
                                      const TensorShape& output) {
  TANDEM_ASSIGN_OR_RETURN(const WindowAttrs attrs, ReadWindowAttrs(frame.attrs()));
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry windows, MakeWindowGeometry(attrs, input, filter.dim(0), filter.dim(1)));
  TANDEM_RETURN_IF_ERROR(CheckAxis(windows.rows));
  TANDEM_RETURN_IF_ERROR(CheckAxis(windows.cols));
  return Convolution{frame.result_metadata(0).dtype,
                     windows,
                     ImageLayout(input, attrs.channels_first),
                     ImageLayout(output, attrs.channels_first),
                     filter,
                     {}};
}

// What a library may compute.
LibraryConvolution LibraryOpOf(const KernelFrame& frame, const Convolution& convolution,
                               LibraryConvolution::Kind kind) {
  LibraryConvolution op;
  op.kind = kind;
  op.dtype = convolution.dtype;
  op.channels_first = frame.attrs().GetOr<std::string_view>("data_format", "NHWC") == "NCHW";
  op.batch = convolution.input.batch;
  op.channels = convolution.input.channels;
  op.out_channels = convolution.output.channels;
  op.groups = op.channels / std::max<int64_t>(convolution.filter.dim(2), 1);
  op.rows = LibraryConvolution::Axis(convolution.windows.rows);
  op.cols = LibraryConvolution::Axis(convolution.windows.cols);
  return op;
}

// False: nobody but a shader computes it.
bool RunByLibrary(ShaderCall& call, const LibraryConvolution& op, std::span<GpuBuffer* const> buffers) {
  if (!kMayHaveAllDTypes || !call.ok()) return false;
  auto pipeline = call.device().queue().FindConvolution(op);
  if (!pipeline.IsValid()) return false;
  call.RunLibrary(std::move(pipeline), buffers);
  return true;
}

// With what of the epilogue the library has, and the rest behind it.
bool RunByLibrary(ShaderCall& call, LibraryConvolution op, const Convolution& convolution,
                  std::span<GpuBuffer* const> buffers) {
  const FusedEpilogue& epilogue = convolution.epilogue;
  if (epilogue.columns == ColumnEpilogue::kNone) return RunByLibrary(call, op, buffers);
  if (epilogue.columns == ColumnEpilogue::kBias && !epilogue.adds_tensor &&
      epilogue.activation <= FusedEpilogue::kRelu) {
    op.has_bias = true;
    op.has_relu = epilogue.activation == FusedEpilogue::kRelu;
    return RunByLibrary(call, op, buffers);
  }
  if (!MayFinishLater(op.dtype) || op.channels_first) return false;
  GpuBuffer* const operands[] = {buffers[0], buffers[1], buffers.back()};
  if (!RunByLibrary(call, op, operands)) return false;
  call.Run(FinishRowsProgram(op.dtype, epilogue, convolution.output.pixels(), op.out_channels, call.limits()),
           buffers.subspan(2));
  return true;
}

enum class Form { kForward, kInputGradient, kDepthwise, kDepthwiseInputGradient };

template <Form form>
Launch ProgramOf(const Convolution& convolution, const GpuLimits& limits) {
  switch (form) {
    case Form::kForward:
      return ConvolutionProgram(convolution, limits);
    case Form::kInputGradient:
      return ConvolutionInputGradientProgram(convolution, limits);
    case Form::kDepthwise:
      return DepthwiseProgram(convolution, limits);
    case Form::kDepthwiseInputGradient:
      return DepthwiseInputGradientProgram(convolution, limits);
  }
}

// As a product of matrices, by a library, or by a shader. Libraries are slow at depthwise convolutions.
template <Form form>
void RunConvolution(ShaderCall& call, const KernelFrame& frame, const Convolution& convolution,
                    std::span<GpuBuffer* const> buffers) {
  if constexpr (form == Form::kForward || form == Form::kInputGradient) {
    constexpr bool gradient = form == Form::kInputGradient;
    if (const auto product = PixelProductOf(convolution, gradient)) return RunProduct(call, *product, buffers);
    const auto kind = gradient ? LibraryConvolution::Kind::kInputGradient : LibraryConvolution::Kind::kForward;
    if (RunByLibrary(call, LibraryOpOf(frame, convolution, kind), convolution, buffers)) return;
  }
  call.Run(ProgramOf<form>(convolution, call.limits()), buffers);
}

template <Form form>
Status ForwardKernel(KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(
      const Convolution convolution,
      MakeConvolution(frame, frame.arg(0).shape(), frame.arg(1).shape(), frame.result_metadata(0).shape));
  ShaderCall call(frame);
  GpuBuffer* const buffers[] = {call.Argument(0), call.Argument(1), call.Result(0)};
  RunConvolution<form>(call, frame, convolution, buffers);
  return call.Finish();
}

template <Form form>
Status InputGradientKernel(KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(const Convolution convolution, MakeConvolution(frame, frame.result_metadata(0).shape,
                                                                         frame.arg(1).shape(), frame.arg(2).shape()));
  ShaderCall call(frame);
  GpuBuffer* const buffers[] = {call.Argument(2), call.Argument(1), call.Result(0)};
  RunConvolution<form>(call, frame, convolution, buffers);
  return call.Finish();
}

template <Form form>
Status FusedKernel(KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(Convolution convolution, MakeConvolution(frame, frame.arg(0).shape(), frame.arg(1).shape(),
                                                                   frame.result_metadata(0).shape));
  convolution.epilogue = FusedEpilogue::FromAttrs(frame.attrs());
  ShaderCall call(frame);
  std::array<GpuBuffer*, ShaderCall::kMaxBuffers + 1> buffers;
  const size_t num_args = std::min(frame.num_args(), ShaderCall::kMaxBuffers);
  for (size_t i = 0; i < num_args; ++i) buffers[i] = call.Argument(i);
  buffers[num_args] = call.Result(0);
  RunConvolution<form>(call, frame, convolution, {buffers.data(), num_args + 1});
  return call.Finish();
}

Status RunFilterGradient(KernelFrame& frame, const Convolution& convolution) {
  ShaderCall call(frame);
  const auto op = LibraryOpOf(frame, convolution, LibraryConvolution::Kind::kFilterGradient);
  GpuBuffer* const buffers[] = {call.Argument(0), call.Argument(2), call.Result(0)};
  if (RunByLibrary(call, op, buffers)) return call.Finish();
  const FilterGradient program = FilterGradientProgram(convolution, call.limits());
  if (program.slices == 1) {
    call.Run(program.gradient, buffers);
  } else {
    const auto bytes =
        static_cast<uint64_t>(program.slices * convolution.filter.num_elements()) * ArithmeticBytes(convolution.dtype);
    GpuBuffer* const slices = call.Temporary(bytes);
    call.Run(program.gradient, {buffers[0], buffers[1], slices});
    call.Run(program.sum, {slices, buffers[2]});
  }
  return call.Finish();
}

Status Conv2DBackpropFilterKernel(KernelFrame& frame) {
  const TensorShape& filter = frame.result_metadata(0).shape;
  TANDEM_ASSIGN_OR_RETURN(const Convolution convolution,
                          MakeConvolution(frame, frame.arg(0).shape(), filter, frame.arg(2).shape()));
  return RunFilterGradient(frame, convolution);
}

Status DepthwiseBackpropFilterKernel(KernelFrame& frame) {
  const TensorShape& filter = frame.result_metadata(0).shape;
  const TensorShape in_groups = {filter.dim(0), filter.dim(1), 1, filter.dim(2) * filter.dim(3)};
  TANDEM_ASSIGN_OR_RETURN(const Convolution convolution,
                          MakeConvolution(frame, frame.arg(0).shape(), in_groups, frame.arg(2).shape()));
  return RunFilterGradient(frame, convolution);
}

}  // namespace

Status RegisterConvolutionKernels(ShaderOpHandler& handler) {
  static constexpr DTypeSet kWithI32 = kFloatDTypesOfGpu | DTypeSet{DType::kI32};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ForwardKernel<Form::kForward>>("tf.Conv2D", kWithI32),
      KernelEntryOf<&InputGradientKernel<Form::kInputGradient>>("tf.Conv2DBackpropInput", kWithI32),
      KernelEntryOf<&ForwardKernel<Form::kDepthwise>>("tf.DepthwiseConv2dNative", kFloatDTypesOfGpu),
      KernelEntryOf<&InputGradientKernel<Form::kDepthwiseInputGradient>>("tf.DepthwiseConv2dNativeBackpropInput",
                                                                         kFloatDTypesOfGpu),
      KernelEntryOf<&Conv2DBackpropFilterKernel>("tf.Conv2DBackpropFilter", kFloatDTypesOfGpu),
      KernelEntryOf<&DepthwiseBackpropFilterKernel>("tf.DepthwiseConv2dNativeBackpropFilter", kFloatDTypesOfGpu),
      KernelEntryOf<&FusedKernel<Form::kForward>>("tf._FusedConv2D", kFloatDTypesOfGpu),
      KernelEntryOf<&FusedKernel<Form::kDepthwise>>("tf._FusedDepthwiseConv2dNative", kFloatDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
