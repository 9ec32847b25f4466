// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/convolution/depthwise_program.h"

#include "kernel_texts.h"
#include "kernels/register_tiles.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

// The values of a variant, in order.
enum Value {
  kDType,
  kQuads,  // whether four channels are computed at once
  kLines,
  kPixels,
  kGradient,
  kChannelsLast,
  kWindowY,  // with the others 0 unless the window is written into the text
  kWindowX,
  kStrideY,
  kStrideX,
  kEpilogue,
};

constexpr uint32_t kWorkgroup = 32;

constexpr const char* kUnsigned[] = {"items",   "channel_parts", "parts_x", "parts_y",   "multiplier",
                                     "a_batch", "a_row",         "a_col",   "a_channel", "b_tap",
                                     "c_batch", "c_row",         "c_col",   "c_channel"};
constexpr const char* kSigned[] = {"a_height", "a_width",  "c_height", "c_width", "window_y",   "window_x",
                                   "stride_y", "stride_x", "pad_y",    "pad_x",   "dilation_y", "dilation_x"};

ShaderText ComposeDepthwise(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareQuadTypes(builder, static_cast<DType>(values[kDType]));
  const bool quads = values[kQuads] != 0;
  builder.Alias("S", quads ? "T4" : "T").Alias("V", quads ? "A4" : "A");
  for (const char* name : kUnsigned) builder.Parameter(name);
  for (const char* name : kSigned) builder.Parameter(name, "i32");
  builder.Buffer("a", BufferAccess::kRead, "S").Buffer("b", BufferAccess::kRead, "S");
  const FusedEpilogue epilogue = FusedEpilogue::Unpack(values[kEpilogue]);
  const bool is_fused = epilogue.columns != ColumnEpilogue::kNone;
  epilogue.Declare(builder, "S");
  builder.Buffer("c", BufferAccess::kReadWrite, "S");
  if (is_fused) {
    epilogue.AddFinish(builder, static_cast<DType>(values[kDType]) == DType::kF64);
    builder.Text(quads ? "fn finished(sums: V, channel: u32) -> V {\nreturn finish(sums, channel);\n}"
                       : "fn finished(sum: V, channel: u32) -> V {\nreturn finish(A4(sum), channel).x;\n}");
  }
  builder.Workgroup(kWorkgroup).Constant("workgroup_size", kWorkgroup);
  return builder.Finish(Unroll(source.text, {{"STEP", quads ? 4 : 1},
                                             {"LINES", values[kLines]},
                                             {"PIXELS", values[kPixels]},
                                             {"GRADIENT", values[kGradient]},
                                             {"FUSED", is_fused},
                                             {"CHANNELS_LAST", values[kChannelsLast]},
                                             {"KNOWN", values[kWindowY]},
                                             {"WINDOW_Y", values[kWindowY]},
                                             {"WINDOW_X", values[kWindowX]},
                                             {"STRIDE_Y", values[kStrideY]},
                                             {"STRIDE_X", values[kStrideX]},
                                             {"SPAN_Y", (values[kLines] - 1) * values[kStrideY] + values[kWindowY]},
                                             {"SPAN_X", (values[kPixels] - 1) * values[kStrideX] + values[kWindowX]}}));
}

const ShaderSource kDepthwise = {"depthwise", &ComposeDepthwise, kDepthwiseText};

// Small enough for what a few windows see to be kept in registers.
bool IsSmall(const WindowAxis& axis) { return axis.window <= 3 && axis.stride <= 2 && axis.dilation == 1; }

// `a` is read, `c` written.
Launch ImageProgram(const Convolution& convolution, const ImageLayout& a, const ImageLayout& c, bool gradient,
                    const GpuLimits& limits) {
  Launch launch;
  launch.workgroups = {0, 0, 0};
  if (c.pixels() * c.channels == 0) return launch;
  const WindowAxis& y = convolution.windows.rows;
  const WindowAxis& x = convolution.windows.cols;
  const int64_t multiplier = convolution.filter.dim(3);
  const bool channels_last = c.channel_stride == 1 && a.channel_stride == 1;
  const bool quads = channels_last && multiplier == 1 && HasQuads(c.channels);
  const bool is_known = !gradient && multiplier == 1 && IsSmall(y) && IsSmall(x);
  const int64_t lines = is_known ? (y.stride == 1 ? 2 : 1) : 1;
  const int64_t pixels = is_known ? (x.stride == 1 ? 4 : 2) : 4;
  const auto known = [is_known](int64_t value) { return is_known ? static_cast<int32_t>(value) : 0; };
  launch.variant =
      ShaderVariant(kDepthwise, {static_cast<int32_t>(convolution.dtype), quads, static_cast<int32_t>(lines),
                                 static_cast<int32_t>(pixels), gradient, channels_last, known(y.window),
                                 known(x.window), known(y.stride), known(x.stride), convolution.epilogue.Pack()});
  const int64_t channel_parts = quads ? c.channels / 4 : c.channels;
  const int64_t parts_x = CountTiles(c.cols, pixels);
  const int64_t parts_y = CountTiles(c.rows, lines);
  const int64_t items = c.batch * parts_y * parts_x * channel_parts;
  for (int64_t value :
       {items,          channel_parts, parts_x,      parts_y,          multiplier,
        a.batch_stride, a.row_stride,  a.col_stride, a.channel_stride, convolution.filter.dim(2) * multiplier,
        c.batch_stride, c.row_stride,  c.col_stride, c.channel_stride, a.rows,
        a.cols,         c.rows,        c.cols,       y.window,         x.window,
        y.stride,       x.stride,      y.pad_before, x.pad_before,     y.dilation,
        x.dilation}) {
    launch.parameters.Add(static_cast<uint32_t>(value));
  }
  convolution.epilogue.AddParameters(c.channels, launch.parameters);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(items), kWorkgroup, limits);
  return launch;
}

}  // namespace

Launch DepthwiseProgram(const Convolution& convolution, const GpuLimits& limits) {
  return ImageProgram(convolution, convolution.input, convolution.output, false, limits);
}

Launch DepthwiseInputGradientProgram(const Convolution& convolution, const GpuLimits& limits) {
  return ImageProgram(convolution, convolution.output, convolution.input, true, limits);
}

}  // namespace tandem::shader
