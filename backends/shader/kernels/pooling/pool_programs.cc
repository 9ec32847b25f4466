// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/pooling/pool_programs.h"

#include <algorithm>
#include <array>
#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr int64_t kLanes = 4;
// Places in windows, and of windows, are 32 bits.
constexpr int64_t kMaxWindow = int64_t{1} << 30;

// A shader's values: dtype; channels that an invocation computes, 1 or kLanes.
struct PoolTypes {
  explicit PoolTypes(std::span<const int32_t> values)
      : dtype(static_cast<DType>(values[0])),
        is_vector(values[1] > 1),
        is_float(kFloatDTypes.Contains(dtype)),
        bits(ArithmeticBitsOf(dtype)) {}

  // `scalar` or the vector of it.
  std::string Wide(std::string_view scalar) const { return VectorOf(scalar, is_vector ? 4 : 1); }
  std::string Storage() const { return Wide(StorageType(dtype)); }
  // fn name(parameters) -> result, of `expression` for each lane, in which # stands for the lane of a vector.
  std::string Function(std::string_view head, const std::string& result, std::string_view expression) const {
    std::string text = "fn " + std::string(head) + " -> " + result + " {\nreturn ";
    if (!is_vector) return text + Lane(expression, "") + ";\n}";
    text += result + "(";
    for (const char* lane : {".x", ".y", ".z", ".w"}) {
      if (text.back() != '(') text += ", ";
      text += Lane(expression, lane);
    }
    return text + ");\n}";
  }

  DType dtype;
  bool is_vector;
  bool is_float;
  ArithmeticBits bits;

 private:
  static std::string Lane(std::string_view expression, std::string_view lane) {
    std::string text;
    for (const char c : expression) {
      if (c == '#') {
        text += lane;
      } else {
        text += c;
      }
    }
    return text;
  }
};

ShaderBuilder Begin(const ShaderSource& source, const PoolTypes& types) {
  ShaderBuilder builder(source.name);
  if (types.dtype == DType::kF16) builder.UseF16();
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  builder.Alias("T", types.Storage())
      .Alias("A", types.Wide(ArithmeticType(types.dtype)))
      .Alias("B", types.Wide(types.bits.type));
  builder.Alias("PLACE", types.Wide("u32"));
  builder.Constant("INFINITY", types.bits.type, types.bits.infinity);
  builder.Constant("ALL_BUT_SIGN", types.bits.type, types.bits.all_but_sign);
  for (const char* name : {"count", "channels", "rows", "cols", "out_rows", "out_cols", "window_rows", "window_cols",
                           "row_stride", "col_stride", "row_pad", "col_pad"}) {
    builder.Parameter(name);
  }
  builder.Text(kPoolWindowText);
  return builder;
}

ShaderText ComposeMaxPool(const ShaderSource& source, std::span<const int32_t> values) {
  const PoolTypes types(values);
  ShaderBuilder builder = Begin(source, types);
  builder.Buffer("x", BufferAccess::kRead, "T").Buffer("y", BufferAccess::kReadWrite, "T");
  if (types.is_float) {
    builder.Text("fn magnitude_bits(a: A) -> B {\nreturn bitcast<B>(a) & B(ALL_BUT_SIGN);\n}");
    const std::string nan = "bitcast<" + std::string(ArithmeticType(types.dtype)) + ">(nan#)";
    builder.Text(types.Function("or_nan(a: A, nan: B)", "A", "select(a#, " + nan + ", nan# > INFINITY)"));
  } else {
    builder.Text("fn magnitude_bits(a: A) -> B {\nreturn B(0u);\n}\nfn or_nan(a: A, nan: B) -> A {\nreturn a;\n}");
  }
  return builder.Finish(source.text);
}

ShaderText ComposeAvgPool(const ShaderSource& source, std::span<const int32_t> values) {
  const PoolTypes types(values);
  return Begin(source, types)
      .Buffer("x", BufferAccess::kRead, "T")
      .Buffer("y", BufferAccess::kReadWrite, "T")
      .Finish(source.text);
}

ShaderText ComposeMaxPoolPlaces(const ShaderSource& source, std::span<const int32_t> values) {
  const PoolTypes types(values);
  ShaderBuilder builder = Begin(source, types);
  builder.Constant("NOWHERE", 0xffffffffu);
  builder.Buffer("x", BufferAccess::kRead, "T").Buffer("pooled", BufferAccess::kRead, "T");
  builder.Buffer("y", BufferAccess::kReadWrite, "PLACE");
  builder.Text("fn bits_of(a: A) -> B {\nreturn bitcast<B>(a);\n}");
  builder.Alias("BITS", types.bits.type);
  builder.Text(types.is_float ? "fn is_same(a: BITS, b: BITS) -> bool {\n"
                                "let both: BITS = min(a & ALL_BUT_SIGN, b & ALL_BUT_SIGN);\n"
                                "return a == b || both > INFINITY || ((a | b) & ALL_BUT_SIGN) == BITS(0u);\n}"
                              : "fn is_same(a: BITS, b: BITS) -> bool {\nreturn a == b;\n}");
  builder.Text(
      types.Function("number_if_same(a: B, b: B, number: u32)", "PLACE", "select(NOWHERE, number, is_same(a#, b#))"));
  return builder.Finish(source.text);
}

ShaderText ComposeMaxPoolGrad(const ShaderSource& source, std::span<const int32_t> values) {
  const PoolTypes types(values);
  ShaderBuilder builder = Begin(source, types);
  builder.Buffer("grad", BufferAccess::kRead, "T").Buffer("places", BufferAccess::kRead, "PLACE");
  builder.Buffer("y", BufferAccess::kReadWrite, "T");
  builder.Text(types.Function("value_if_same(a: A, place: PLACE, number: u32)", "A",
                              "select(" + std::string(ArithmeticType(types.dtype)) + "(0), a#, place# == number)"));
  return builder.Finish(source.text);
}

ShaderText ComposeAvgPoolGrad(const ShaderSource& source, std::span<const int32_t> values) {
  const PoolTypes types(values);
  return Begin(source, types)
      .Buffer("grad", BufferAccess::kRead, "T")
      .Buffer("y", BufferAccess::kReadWrite, "T")
      .Finish(source.text);
}

const ShaderSource kMaxPool = {"max_pool", &ComposeMaxPool, kMaxPoolText};
const ShaderSource kAvgPool = {"avg_pool", &ComposeAvgPool, kAvgPoolText};
const ShaderSource kMaxPoolPlaces = {"max_pool_places", &ComposeMaxPoolPlaces, kMaxPoolPlacesText};
const ShaderSource kMaxPoolGrad = {"max_pool_grad", &ComposeMaxPoolGrad, kMaxPoolGradText};
const ShaderSource kAvgPoolGrad = {"avg_pool_grad", &ComposeAvgPoolGrad, kAvgPoolGradText};

// One invocation for each of `elements`, or for four neighbouring channels.
Launch MakeLaunch(const ShaderSource& source, const PoolPlan& plan, DType dtype, int64_t elements,
                  const GpuLimits& limits) {
  const int64_t lanes = plan.channels % kLanes == 0 ? kLanes : 1;
  Launch launch;
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(dtype), static_cast<int32_t>(lanes)});
  for (const int64_t number : {elements / lanes, plan.channels / lanes, plan.rows.input, plan.cols.input,
                               plan.rows.output, plan.cols.output, plan.rows.window, plan.cols.window, plan.rows.stride,
                               plan.cols.stride, plan.rows.pad_before, plan.cols.pad_before}) {
    launch.parameters.Add(Low(number));
  }
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(elements / lanes), kWorkgroup, limits);
  return launch;
}

// Makes numbers that have no effect small.
void Shorten(WindowAxis& axis) {
  if (axis.output == 0) {
    axis.window = axis.stride = 1;
    axis.pad_before = 0;
    return;
  }
  if (axis.output == 1) axis.stride = 1;
  const int64_t last = (axis.output - 1) * axis.stride;
  // Where all windows have the whole image there may as well be no more of them than that takes.
  if (last <= axis.pad_before && axis.window - axis.pad_before >= axis.input) {
    axis.pad_before = last;
    axis.window = last + axis.input;
  }
}

}  // namespace

StatusOr<PoolPlan> MakePoolPlan(const OpAttrsRef& attrs, const TensorShape& image) {
  TANDEM_ASSIGN_OR_RETURN(const WindowAttrs window_attrs, ReadWindowAttrs(attrs));
  TANDEM_ASSIGN_OR_RETURN(const auto window, ReadSpatialAttr(attrs, "ksize", window_attrs.channels_first));
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry geometry, MakeWindowGeometry(window_attrs, image, window[0], window[1]));
  PoolPlan plan = {image.dim(0), image.dim(window_attrs.channel_axis()), geometry.rows, geometry.cols};
  if (window_attrs.channels_first) {
    plan.images *= plan.channels;
    plan.channels = 1;
  }
  for (WindowAxis* axis : {&plan.rows, &plan.cols}) {
    Shorten(*axis);
    if (axis->window > kMaxWindow || axis->stride > kMaxWindow) {
      return ResourceExhausted("expected windows and strides of at most ", kMaxWindow, ", got ", axis->window, " and ",
                               axis->stride);
    }
  }
  return plan;
}

Launch MaxPoolProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits) {
  return MakeLaunch(kMaxPool, plan, dtype, plan.num_windows(), limits);
}

Launch AvgPoolProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits) {
  return MakeLaunch(kAvgPool, plan, dtype, plan.num_windows(), limits);
}

Launch MaxPoolPlacesProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits) {
  return MakeLaunch(kMaxPoolPlaces, plan, dtype, plan.num_windows(), limits);
}

Launch MaxPoolGradProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits) {
  return MakeLaunch(kMaxPoolGrad, plan, dtype, plan.num_elements(), limits);
}

Launch AvgPoolGradProgram(const PoolPlan& plan, DType dtype, const GpuLimits& limits) {
  return MakeLaunch(kAvgPoolGrad, plan, dtype, plan.num_elements(), limits);
}

std::vector<ShaderVariant> PoolVariants() {
  std::vector<ShaderVariant> variants;
  for (const int32_t lanes : {1, 4}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32}) {
      const auto add = [&](const ShaderSource& source) {
        variants.emplace_back(source, std::initializer_list<int32_t>{static_cast<int32_t>(dtype), lanes});
      };
      for (const ShaderSource* source : {&kMaxPool, &kMaxPoolPlaces, &kMaxPoolGrad}) add(*source);
      if (ArithmeticType(dtype) != "f32") continue;
      for (const ShaderSource* source : {&kAvgPool, &kAvgPoolGrad}) add(*source);
    }
  }
  return variants;
}

}  // namespace tandem::shader
