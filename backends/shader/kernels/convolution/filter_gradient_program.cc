// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/convolution/filter_gradient_program.h"

#include <algorithm>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/register_tiles.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

enum Shape : int32_t { kElement, kBlock, kDiagonal };

// The values of a variant, in order.
enum Value { kDType, kShape, kIsSliced };

constexpr uint32_t kWorkgroup = 32;

constexpr const char* kUnsigned[] = {"items",   "width_parts", "depth_parts", "window_y",    "window_x",  "width",
                                     "depth",   "group_width", "elements",    "slice_lines", "lines",     "b_height",
                                     "b_width", "a_batch",     "a_row",       "a_col",       "a_channel", "b_batch",
                                     "b_row",   "b_col",       "b_channel"};
constexpr const char* kSigned[] = {"a_height", "a_width", "stride_y",   "stride_x",
                                   "pad_y",    "pad_x",   "dilation_y", "dilation_x"};

ShaderText ComposeGradient(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareQuadTypes(builder, static_cast<DType>(values[kDType]));
  const bool quads = values[kShape] != kElement;
  const bool block = values[kShape] == kBlock;
  builder.Alias("S", quads ? "T4" : "T").Alias("V", quads ? "A4" : "A");
  builder.Alias("R", values[kIsSliced] != 0 ? "V" : "S");
  builder.Buffer("a", BufferAccess::kRead, "S").Buffer("b", BufferAccess::kRead, "S");
  builder.Buffer("c", BufferAccess::kReadWrite, "R");
  for (const char* name : kUnsigned) builder.Parameter(name);
  for (const char* name : kSigned) builder.Parameter(name, "i32");
  builder.Workgroup(kWorkgroup).Constant("workgroup_size", kWorkgroup);
  return builder.Finish(
      Unroll(source.text,
             {{"STEP", quads ? 4 : 1}, {"DEPTH_STEP", block ? 4 : 1}, {"ROWS", block ? 4 : 1}, {"BLOCK", block}}));
}

ShaderText ComposeSum(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, static_cast<DType>(values[kDType]));
  builder.Buffer("x", BufferAccess::kRead, "A").Buffer("y", BufferAccess::kReadWrite, "T");
  builder.Parameter("elements").Parameter("slices");
  builder.Workgroup(kWorkgroup).Constant("workgroup_size", kWorkgroup);
  return builder.Finish(source.text);
}

const ShaderSource kFilterGradient = {"filter_gradient", &ComposeGradient, kFilterGradientText};
const ShaderSource kSumSlices = {"sum_slices", &ComposeSum, kSumSlicesText};

// As many slices as make the sums short and the invocations many, but not the memory for them large.
int64_t CountSlices(int64_t lines, int64_t elements, uint64_t most_numbers) {
  constexpr int64_t kMost = 256;
  constexpr int64_t kElements = int64_t{1} << 22;
  const auto most = static_cast<int64_t>(most_numbers);
  return std::max<int64_t>(1, std::min({lines, kMost, std::min(kElements, most) / std::max<int64_t>(1, elements)}));
}

}  // namespace

FilterGradient FilterGradientProgram(const Convolution& convolution, const GpuLimits& limits) {
  FilterGradient program;
  program.gradient.workgroups = {0, 0, 0};
  program.sum.workgroups = {0, 0, 0};
  const TensorShape& filter = convolution.filter;
  const int64_t elements = filter.num_elements();
  if (elements == 0) return program;
  const ImageLayout& a = convolution.input;
  const ImageLayout& b = convolution.output;
  const int64_t depth = filter.dim(2);
  const int64_t width = filter.dim(3);
  const int64_t group_width = width / (a.channels / depth);
  const bool channels_last = a.channel_stride == 1 && b.channel_stride == 1;
  Shape shape = kElement;
  if (channels_last && HasQuads(depth) && HasQuads(group_width)) shape = kBlock;
  if (channels_last && depth == 1 && group_width == 1 && HasQuads(width)) shape = kDiagonal;
  const int64_t lines = b.batch * b.rows;
  const int64_t wanted = CountSlices(lines, elements, limits.max_binding_bytes / ArithmeticBytes(convolution.dtype));
  const int64_t slice_lines = std::max<int64_t>(1, (lines + wanted - 1) / wanted);
  program.slices = std::max<int64_t>(1, (lines + slice_lines - 1) / slice_lines);
  const int64_t width_parts = shape == kElement ? width : width / 4;
  const int64_t depth_parts = shape == kBlock ? depth / 4 : depth;
  const int64_t items = program.slices * filter.dim(0) * filter.dim(1) * depth_parts * width_parts;
  const WindowAxis& y = convolution.windows.rows;
  const WindowAxis& x = convolution.windows.cols;
  const auto dtype = static_cast<int32_t>(convolution.dtype);
  program.gradient.variant = ShaderVariant(kFilterGradient, {dtype, shape, program.slices > 1});
  for (int64_t value :
       {items,        width_parts,  depth_parts,      y.window,       x.window,     width,        depth,
        group_width,  elements,     slice_lines,      lines,          b.rows,       b.cols,       a.batch_stride,
        a.row_stride, a.col_stride, a.channel_stride, b.batch_stride, b.row_stride, b.col_stride, b.channel_stride,
        a.rows,       a.cols,       y.stride,         x.stride,       y.pad_before, x.pad_before, y.dilation,
        x.dilation}) {
    program.gradient.parameters.Add(static_cast<uint32_t>(value));
  }
  program.gradient.workgroups = LinearWorkgroups(static_cast<uint64_t>(items), kWorkgroup, limits);
  if (program.slices == 1) return program;
  program.sum.variant = ShaderVariant(kSumSlices, {dtype});
  program.sum.parameters = {static_cast<uint32_t>(elements), static_cast<uint32_t>(program.slices)};
  program.sum.workgroups = LinearWorkgroups(static_cast<uint64_t>(elements), kWorkgroup, limits);
  return program;
}

}  // namespace tandem::shader
