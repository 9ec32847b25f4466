// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Dilation2D and its gradients.

#include <string>
#include <string_view>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/shader_functions.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "kernels/volume/volume_pool.h"
#include "tandem/shader/shader_call.h"
#include "tandem/window_geometry.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

enum class Pass : int32_t { kForward, kTaps, kInputGradient, kFilterGradient };

// The type that sums are of: integers are added in 64 bits, so that they are compared before they wrap around.
std::string_view SumType(DType dtype) {
  if (kFloatDTypes.Contains(dtype)) return ArithmeticType(dtype);
  return dtype == DType::kU64 ? "u64" : "i64";
}

// The least finite number of a dtype, as a literal of that type.
std::string_view LowestText(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "-65504.0";
    case DType::kBF16:
      return "-3.3895313892515355e38";
    case DType::kF32:
      return "-3.4028234663852886e38";
    case DType::kF64:
      return "bitcast<f64>(0xffefffffffffffff)";
    case DType::kI8:
      return "i64(-128)";
    case DType::kI16:
      return "i64(-32768)";
    case DType::kI32:
      return "bitcast<i64>(0xffffffff80000000)";
    case DType::kI64:
      return "bitcast<i64>(0x8000000000000000)";
    default:
      return dtype == DType::kU64 ? "u64(0u)" : "i64(0)";
  }
}

// Values: Pass, dtype.
ShaderText Compose(const ShaderSource& source, std::span<const int32_t> values) {
  const auto pass = static_cast<Pass>(values[0]);
  const auto dtype = static_cast<DType>(values[1]);
  const bool is_gradient = pass == Pass::kInputGradient || pass == Pass::kFilterGradient;
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  DeclareTypes(builder, dtype);
  builder.Alias("B", SumType(dtype));
  for (const char* name : {"count", "channels", "windows"}) builder.Parameter(name);
  for (const std::string dimension : {"rows", "cols"}) {
    for (const char* member : {"_input", "_window", "_stride", "_rate", "_pad", "_output"}) {
      builder.Parameter(dimension + member);
    }
  }
  if (is_gradient) {
    builder.Buffer("grad", BufferAccess::kRead, "T").Buffer("taps", BufferAccess::kRead, "u32");
  } else {
    builder.Buffer("x", BufferAccess::kRead, "T").Buffer("weight", BufferAccess::kRead, "T");
  }
  builder.Buffer("y", BufferAccess::kReadWrite, pass == Pass::kTaps ? "u32" : "T");
  if (!is_gradient) {
    // NaN wins, and the first one stays.
    const bool is_float = kFloatDTypes.Contains(dtype);
    const std::string is_above = std::string("fn is_above(sum: B, largest: B) -> bool { return ") +
                                 (is_float ? "!is_nan(largest) && (sum > largest || is_nan(sum))" : "sum > largest") +
                                 "; }\n";
    if (is_float) {
      const FunctionTypes types = ArithmeticBytes(dtype) == 8 ? FunctionTypes::kWide : FunctionTypes::kF32;
      builder.Text(FunctionsCalledBy(is_above, types));
    }
    builder.Text(is_above + "fn lowest() -> B { return " + std::string(LowestText(dtype)) + "; }");
  }
  return builder.Finish(
      Unroll(source.text,
             {{"GRADIENT", is_gradient}, {"FILTER", pass == Pass::kFilterGradient}, {"TAPS", pass == Pass::kTaps}}));
}

const ShaderSource kDilation = {"dilation", &Compose, kDilationText};

struct Dilation {
  static StatusOr<Dilation> Make(const KernelFrame& frame) {
    const TensorShape& images = frame.arg(0).shape();
    const TensorShape& filters = frame.arg(1).shape();
    TANDEM_ASSIGN_OR_RETURN(WindowAttrs attrs, ReadWindowAttrs(frame.attrs()));
    TANDEM_ASSIGN_OR_RETURN(attrs.dilations, ReadSpatialAttr(frame.attrs(), "rates", false));
    TANDEM_ASSIGN_OR_RETURN(const WindowGeometry windows,
                            MakeWindowGeometry(attrs, images, filters.dim(0), filters.dim(1)));
    for (const WindowAxis& axis : {windows.rows, windows.cols}) TANDEM_RETURN_IF_ERROR(CheckWindow(axis));
    return Dilation{windows, images.dim(0), images.dim(3)};
  }
  int64_t num_windows() const { return batch * windows.rows.output * windows.cols.output; }

  Launch Program(Pass pass, DType dtype, int64_t count, const GpuLimits& limits) const {
    Launch launch;
    launch.variant = ShaderVariant(kDilation, {static_cast<int32_t>(pass), static_cast<int32_t>(dtype)});
    launch.parameters = {Low(count), Low(channels), Low(num_windows())};
    for (const WindowAxis& axis : {windows.rows, windows.cols}) {
      for (const int64_t number : {axis.input, axis.window, axis.stride, axis.dilation, axis.pad_before, axis.output}) {
        launch.parameters.Add(Low(number));
      }
    }
    launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(count), kWorkgroup, limits);
    return launch;
  }

  WindowGeometry windows;
  int64_t batch;
  int64_t channels;
};

Status DilationKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  TANDEM_ASSIGN_OR_RETURN(const Dilation dilation, Dilation::Make(frame));
  call.Run(dilation.Program(Pass::kForward, result.dtype, result.num_elements(), call.limits()),
           {call.Argument(0), call.Argument(1), call.Result(0)});
  return call.Finish();
}

template <Pass pass>
Status BackpropKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  TANDEM_ASSIGN_OR_RETURN(const Dilation dilation, Dilation::Make(frame));
  const int64_t outputs = dilation.num_windows() * dilation.channels;
  GpuBuffer* const taps = call.Temporary(static_cast<uint64_t>(outputs) * kWordBytes);
  call.Run(dilation.Program(Pass::kTaps, result.dtype, outputs, call.limits()),
           {call.Argument(0), call.Argument(1), taps});
  call.Run(dilation.Program(pass, result.dtype, result.num_elements(), call.limits()),
           {call.Argument(2), taps, call.Result(0)});
  return call.Finish();
}

}  // namespace

Status RegisterMorphologyKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&DilationKernel>("tf.Dilation2D", kRealDTypesOfGpu),
      KernelEntryOf<&BackpropKernel<Pass::kInputGradient>>("tf.Dilation2DBackpropInput", kRealDTypesOfGpu),
      KernelEntryOf<&BackpropKernel<Pass::kFilterGradient>>("tf.Dilation2DBackpropFilter", kRealDTypesOfGpu),
  };
  // Where there are no integers of 64 bits, those of 32 bits are left to the fallback.
  const GpuLimits& limits = handler.gpu().limits();
  return handler.AddKernels(kKernels, HasAllDTypes(limits) ? AllDTypes(limits) : FloatDTypes(limits));
}

}  // namespace tandem::shader
