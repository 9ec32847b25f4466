// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/convolution/convolution_program.h"

#include <utility>

#include "kernel_texts.h"
#include "kernels/linalg/product.h"
#include "kernels/register_tiles.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

// The values of a variant, in order.
enum Value {
  kDType,
  kRows,  // of a tile
  kColQuads,
  kAQuads,
  kBQuads,
  kCQuads,    // whether channels of the result are stored four at a time
  kRagged,    // whether four does not divide the channels that are summed over
  kGradient,  // with regard to the input
  kEpilogue,
};

constexpr const char* kUnsigned[] = {"rows",    "cols",  "inner",   "tiles", "row_tiles", "col_tiles", "a_batch",
                                     "a_row",   "a_col", "a_inner", "b_tap", "b_inner",   "b_col",     "b_group",
                                     "c_batch", "c_row", "c_pixel", "c_col", "c_height",  "c_width"};
constexpr const char* kSigned[] = {"a_height", "a_width", "window_y", "window_x",   "stride_y",
                                   "stride_x", "pad_y",   "pad_x",    "dilation_y", "dilation_x"};

ShaderText ComposeConvolution(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  const auto dtype = static_cast<DType>(values[kDType]);
  DeclareQuadTypes(builder, dtype);
  builder.Buffer("a", BufferAccess::kRead, BufferType(values[kAQuads]))
      .Buffer("b", BufferAccess::kRead, BufferType(values[kBQuads]));
  for (const char* name : kUnsigned) builder.Parameter(name);
  for (const char* name : kSigned) builder.Parameter(name, "i32");
  const FusedEpilogue epilogue = FusedEpilogue::Unpack(values[kEpilogue]);
  epilogue.Declare(builder, BufferType(values[kCQuads]));
  builder.Buffer("c", BufferAccess::kReadWrite, BufferType(values[kCQuads]));
  builder.Workgroup(kRegisterWorkgroup).Constant("workgroup_size", kRegisterWorkgroup);
  epilogue.AddText(builder, values[kCQuads] != 0, dtype == DType::kF64);
  return builder.Finish(Unroll(source.text, {{"FLOAT", IsFloat(dtype)},
                                             {"GRADIENT", values[kGradient]},
                                             {"ROWS", values[kRows]},
                                             {"QUADS", values[kColQuads]},
                                             {"NUM_QUADS", values[kRows] * values[kColQuads]},
                                             {"A_SCALARS", values[kAQuads] == kScalars},
                                             {"A_INNER", values[kAQuads] == kAlongInner},
                                             {"B_SCALARS", values[kBQuads] == kScalars},
                                             {"B_INNER", values[kBQuads] == kAlongInner},
                                             {"B_COLS", values[kBQuads] == kAlongOuter},
                                             {"RAGGED", values[kRagged]}}));
}

const ShaderSource kConvolution = {"convolution", &ComposeConvolution, kConvolutionText};

// Images as the kernel sees them: `a` is summed over, and of each group of channels of `c` it sees one group.
struct Images {
  const ImageLayout& a;
  const ImageLayout& c;
  int64_t groups;
  int64_t inner;  // channels of a group of `a`
  int64_t cols;   // channels of a group of `c`
};

bool HasQuads(const ImageLayout& image, int64_t group_channels) {
  return image.channel_stride == 1 && shader::HasQuads(group_channels) && shader::HasQuads(image.channels);
}

Launch ImageProgram(const Convolution& convolution, const Images& images, bool gradient, const GpuLimits& limits) {
  Launch launch;
  const ImageLayout& a = images.a;
  const ImageLayout& c = images.c;
  const int64_t rows = c.pixels();
  launch.workgroups = {0, 0, 0};
  if (rows * images.cols == 0) return launch;
  const int64_t width = convolution.filter.dim(3);
  const int64_t b_inner = gradient ? 1 : width;
  const int64_t b_col = gradient ? width : 1;
  const int64_t b_group = width / images.groups;
  const Quads b_quads = shader::HasQuads(b_group) ? FindQuads(b_inner, images.inner, b_col, images.cols) : kScalars;
  const RegisterTile tile = ChooseRegisterTile(images.groups, rows, images.cols, limits);
  launch.variant = ShaderVariant(
      kConvolution, {static_cast<int32_t>(convolution.dtype), static_cast<int32_t>(tile.rows),
                     static_cast<int32_t>(tile.quads), HasQuads(a, images.inner) ? kAlongInner : kScalars, b_quads,
                     HasQuads(c, images.cols), !shader::HasQuads(images.inner), gradient, convolution.epilogue.Pack()});
  const int64_t row_tiles = CountTiles(rows, tile.rows);
  const int64_t col_tiles = CountTiles(images.cols, 4 * tile.quads);
  const int64_t tiles = images.groups * row_tiles * col_tiles;
  const WindowAxis& y = convolution.windows.rows;
  const WindowAxis& x = convolution.windows.cols;
  for (int64_t value : {rows,
                        images.cols,
                        images.inner,
                        tiles,
                        row_tiles,
                        col_tiles,
                        a.batch_stride,
                        a.row_stride,
                        a.col_stride,
                        a.channel_stride,
                        convolution.filter.dim(2) * width,
                        b_inner,
                        b_col,
                        b_group,
                        c.batch_stride,
                        c.row_stride,
                        c.col_stride,
                        c.channel_stride,
                        c.rows,
                        c.cols,
                        a.rows,
                        a.cols,
                        y.window,
                        x.window,
                        y.stride,
                        x.stride,
                        y.pad_before,
                        x.pad_before,
                        y.dilation,
                        x.dilation}) {
    launch.parameters.Add(static_cast<uint32_t>(value));
  }
  convolution.epilogue.AddParameters(c.channels, launch.parameters);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(tiles), kRegisterWorkgroup, limits);
  return launch;
}

bool IsSinglePixel(const WindowAxis& axis) { return axis.window == 1 && axis.stride == 1 && axis.output == axis.input; }

Images ImagesOf(const Convolution& convolution, bool gradient) {
  const int64_t depth = convolution.filter.dim(2);
  const int64_t groups = convolution.input.channels / depth;
  const int64_t width = convolution.filter.dim(3) / groups;
  return gradient ? Images{convolution.output, convolution.input, groups, width, depth}
                  : Images{convolution.input, convolution.output, groups, depth, width};
}

Launch ConvolutionOrGradient(const Convolution& convolution, bool gradient, const GpuLimits& limits) {
  if (const auto product = PixelProductOf(convolution, gradient)) return MatrixProductProgram(*product, limits);
  return ImageProgram(convolution, ImagesOf(convolution, gradient), gradient, limits);
}

}  // namespace

std::optional<MatrixProduct> PixelProductOf(const Convolution& convolution, bool gradient) {
  const Images images = ImagesOf(convolution, gradient);
  if (!IsSinglePixel(convolution.windows.rows) || !IsSinglePixel(convolution.windows.cols)) return std::nullopt;
  if (images.groups != 1 && convolution.epilogue.columns != ColumnEpilogue::kNone) return std::nullopt;
  const int64_t width = convolution.filter.dim(3);
  const bool is_one = images.a.channel_stride == 1 && images.c.channel_stride == 1;
  MatrixProduct product;
  product.dtype = convolution.dtype;
  product.rows = is_one ? images.c.pixels() : images.c.rows * images.c.cols;
  product.cols = images.cols;
  product.inner = images.inner;
  product.a_row = images.a.col_stride;
  product.a_inner = images.a.channel_stride;
  product.b_inner = gradient ? 1 : width;
  product.b_col = gradient ? width : 1;
  product.c_row = images.c.col_stride;
  product.c_col = images.c.channel_stride;
  product.epilogue = convolution.epilogue;
  if (!is_one) product.AddBatchDim({images.c.batch, images.a.batch_stride, 0, images.c.batch_stride});
  product.AddBatchDim({images.groups, images.inner * images.a.channel_stride, width / images.groups,
                       images.cols * images.c.channel_stride});
  return product;
}

Launch ConvolutionProgram(const Convolution& convolution, const GpuLimits& limits) {
  return ConvolutionOrGradient(convolution, false, limits);
}

Launch ConvolutionInputGradientProgram(const Convolution& convolution, const GpuLimits& limits) {
  return ConvolutionOrGradient(convolution, true, limits);
}

}  // namespace tandem::shader
