// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/normalization/normalization_programs.h"

#include <algorithm>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/lanes.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;

uint64_t DivideUp(uint64_t x, uint64_t y) { return (x + y - 1) / y; }

// Q is what is computed with, R what x and y consist of: single numbers, or vectors of four.
void DeclareWidth(ShaderBuilder& builder, DType dtype, int32_t width) {
  if (dtype == DType::kF16) builder.UseF16();
  builder.Alias("A", ArithmeticType(dtype))
      .Alias("Q", VectorOf(ArithmeticType(dtype), width))
      .Alias("R", VectorOf(StorageType(dtype), width));
}

enum RowValue : size_t { kRowDType, kIsGradient, kRowWidth, kLanes, kRowWorkgroup, kSubgroups };

ShaderText ComposeLayerNorm(const ShaderSource& source, std::span<const int32_t> values) {
  const bool is_gradient = values[kIsGradient] != 0;
  const int32_t width = values[kRowWidth];
  ShaderBuilder builder(source.name);
  DeclareWidth(builder, static_cast<DType>(values[kRowDType]), width);
  if (is_gradient) builder.Buffer("dy", BufferAccess::kRead, "R");
  builder.Buffer("x", BufferAccess::kRead, "R").Buffer("scale", BufferAccess::kRead, "R");
  if (is_gradient) {
    builder.Buffer("stats", BufferAccess::kReadWrite, "vec4<A>");
  } else {
    builder.Buffer("bias", BufferAccess::kRead, "R");
  }
  builder.Buffer("y", BufferAccess::kReadWrite, "R");
  builder.Parameter("rows").Parameter("units").Parameter("count", "f32").Parameter("epsilon", "f32");
  const Lanes lanes = {values[kLanes], values[kRowWorkgroup], values[kSubgroups] != 0};
  DeclareLanes(builder, lanes);
  for (const char* name : {"sum_elements", "sum_differences", "sum_squares"}) {
    DeclareLaneReduction(builder, lanes, LaneOp::kAdd, name);
  }
  if (is_gradient) {
    for (const char* name : {"sum_gradients", "sum_products"}) {
      DeclareLaneReduction(builder, lanes, LaneOp::kAdd, name);
    }
  }
  builder.Text(width == 4 ? "fn sum_of(v: Q) -> A { return (v.x + v.y) + (v.z + v.w); }"
                          : "fn sum_of(v: Q) -> A { return v; }");
  return builder.Text(kRowMomentsText).Finish(source.text);
}

const ShaderSource& LayerNormSource() {
  static const ShaderSource source = {"layer_norm", &ComposeLayerNorm, kLayerNormText};
  return source;
}

const ShaderSource& LayerNormGradSource() {
  static const ShaderSource source = {"layer_norm_grad", &ComposeLayerNorm, kLayerNormGradText};
  return source;
}

Launch MakeRowLaunch(const ShaderSource& source, DType dtype, bool is_gradient, uint64_t rows, uint64_t cols,
                     float epsilon, const GpuLimits& limits) {
  const int32_t width = cols % 4 == 0 ? 4 : 1;
  const uint64_t units = cols / static_cast<uint64_t>(width);
  const Lanes lanes = ChooseLanesOfReread(rows, units, limits);
  Launch launch;
  launch.variant = ShaderVariant(
      source, {static_cast<int32_t>(dtype), is_gradient, width, lanes.lanes, lanes.workgroup, lanes.subgroups});
  launch.parameters = {static_cast<uint32_t>(rows), static_cast<uint32_t>(units)};
  launch.parameters.AddFloat(static_cast<float>(cols));
  launch.parameters.AddFloat(epsilon);
  launch.workgroups = lanes.Workgroups(cols == 0 ? 0 : rows, limits);
  return launch;
}

enum ChannelValue : size_t { kDType, kWidth, kChannelsLast, kIsTraining };

void DeclareChannels(ShaderBuilder& builder, std::span<const int32_t> values) {
  const int32_t width = values[kWidth];
  const bool is_channels_last = values[kChannelsLast] != 0;
  DeclareWidth(builder, static_cast<DType>(values[kDType]), width);
  builder.Alias("C", is_channels_last && width == 4 ? "vec4f" : "f32");  // the numbers of one channel, or of four
  builder.Constant("CHANNELS_LAST", "bool", is_channels_last ? "true" : "false");
  for (const char* name : {"items", "rows", "cols", "chunks", "channels"}) builder.Parameter(name);
  builder.Parameter("epsilon", "f32");
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
}

ShaderText ComposeBatchNorm(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareChannels(builder, values);
  builder.Buffer("x", BufferAccess::kRead, "R");
  for (const char* name : {"scale", "offset", "mean", "variance"}) builder.Buffer(name, BufferAccess::kRead, "C");
  builder.Buffer("zero", BufferAccess::kReadWrite, "f32").Buffer("y", BufferAccess::kReadWrite, "R");
  return builder.Finish(source.text);
}

ShaderText ComposeBatchNormGrad(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareChannels(builder, values);
  builder.Parameter("count", "f32");
  builder.Constant("IS_TRAINING", "bool", values[kIsTraining] != 0 ? "true" : "false");
  builder.Buffer("dy", BufferAccess::kRead, "R").Buffer("x", BufferAccess::kRead, "R");
  for (const char* name : {"scale", "mean", "variance", "products", "offset_gradient"}) {
    builder.Buffer(name, BufferAccess::kRead, "C");
  }
  return builder.Buffer("y", BufferAccess::kReadWrite, "R").Finish(source.text);
}

ShaderText ComposeStatistics(const ShaderSource& source, std::span<const int32_t> values) {
  const bool has_old = values[0] != 0;
  ShaderBuilder builder(source.name);
  builder.Buffer("mean", BufferAccess::kRead, "f32").Buffer("variance", BufferAccess::kRead, "f32");
  if (has_old)
    builder.Buffer("old_mean", BufferAccess::kRead, "f32").Buffer("old_variance", BufferAccess::kRead, "f32");
  builder.Buffer("running_mean", BufferAccess::kReadWrite, "f32");
  builder.Buffer("running_variance", BufferAccess::kReadWrite, "f32");
  builder.Parameter("items").Parameter("update", "f32").Parameter("unbiased", "f32");
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  builder.Text(has_old ? "fn old_mean_of(i: u32) -> f32 { return old_mean[i]; }\n"
                         "fn old_variance_of(i: u32) -> f32 { return old_variance[i]; }"
                       : "fn old_mean_of(i: u32) -> f32 { return 0.0; }\n"
                         "fn old_variance_of(i: u32) -> f32 { return 0.0; }");
  return builder.Finish(source.text);
}

ShaderText ComposeScaleGrad(const ShaderSource& source, std::span<const int32_t>) {
  ShaderBuilder builder(source.name);
  builder.Buffer("products", BufferAccess::kRead, "f32").Buffer("variance", BufferAccess::kRead, "f32");
  builder.Buffer("y", BufferAccess::kReadWrite, "f32").Parameter("items").Parameter("epsilon", "f32");
  return builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Finish(source.text);
}

const ShaderSource& BatchNormSource() {
  static const ShaderSource source = {"batch_norm", &ComposeBatchNorm, kBatchNormText};
  return source;
}

const ShaderSource& BatchNormGradSource() {
  static const ShaderSource source = {"batch_norm_grad", &ComposeBatchNormGrad, kBatchNormGradText};
  return source;
}

const ShaderSource& StatisticsSource() {
  static const ShaderSource source = {"batch_norm_statistics", &ComposeStatistics, kBatchNormStatisticsText};
  return source;
}

const ShaderSource& ScaleGradSource() {
  static const ShaderSource source = {"batch_norm_scale_grad", &ComposeScaleGrad, kBatchNormScaleGradText};
  return source;
}

Launch MakeChannelLaunch(const ShaderSource& source, DType dtype, const ChannelLayout& layout, float epsilon,
                         bool is_training, const GpuLimits& limits) {
  const uint64_t contiguous = layout.is_channels_last ? layout.cols : layout.rows;
  const uint64_t units = contiguous % 4 == 0 ? 4 : 1;
  const uint64_t rows = layout.is_channels_last ? layout.rows : layout.rows / units;
  const uint64_t cols = layout.is_channels_last ? layout.cols / units : layout.cols;
  // Rows for each invocation, for which it finds its channel once.
  const uint64_t chunks = DivideUp(rows, limits.is_software ? 64 : 8);
  const uint64_t items = layout.Size() == 0 ? 0 : layout.outer * chunks * cols;
  Launch launch;
  launch.variant = ShaderVariant(
      source, {static_cast<int32_t>(dtype), static_cast<int32_t>(units), layout.is_channels_last, is_training});
  for (uint64_t word : {items, rows, cols, chunks, layout.channels}) {
    launch.parameters.Add(static_cast<uint32_t>(word));
  }
  launch.parameters.AddFloat(epsilon);
  launch.workgroups = LinearWorkgroups(items, kWorkgroup, limits);
  return launch;
}

}  // namespace

Launch LayerNormProgram(DType dtype, uint64_t rows, uint64_t cols, float epsilon, const GpuLimits& limits) {
  return MakeRowLaunch(LayerNormSource(), dtype, /*is_gradient=*/false, rows, cols, epsilon, limits);
}

Launch LayerNormGradProgram(DType dtype, uint64_t rows, uint64_t cols, float epsilon, const GpuLimits& limits) {
  return MakeRowLaunch(LayerNormGradSource(), dtype, /*is_gradient=*/true, rows, cols, epsilon, limits);
}

ChannelLayout::ChannelLayout(const TensorShape& x, std::string_view data_format)
    : is_channels_last(data_format[1] != 'C') {
  channels = static_cast<uint64_t>(x.dim(is_channels_last ? x.rank() - 1 : 1));
  const auto size = static_cast<uint64_t>(x.num_elements());
  const uint64_t per_channel = size == 0 ? 0 : size / channels;
  const uint64_t planes = static_cast<uint64_t>(x.dim(0)) * channels;
  outer = is_channels_last ? 1 : planes;
  rows = is_channels_last ? per_channel : size == 0 ? 0 : size / planes;
  cols = is_channels_last ? channels : 1;
}

Launch BatchNormProgram(DType dtype, const ChannelLayout& layout, float epsilon, const GpuLimits& limits) {
  Launch launch = MakeChannelLaunch(BatchNormSource(), dtype, layout, epsilon, /*is_training=*/false, limits);
  launch.workgroups[0] = std::max(launch.workgroups[0], 1u);
  return launch;
}

Launch BatchNormStatisticsProgram(uint64_t channels, uint64_t count, float update, const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(StatisticsSource(), {update != 1.0f});
  launch.parameters.Add(static_cast<uint32_t>(channels));
  launch.parameters.AddFloat(update);
  const auto n = static_cast<double>(count);
  launch.parameters.AddFloat(static_cast<float>(n / std::max(n - 1, 1.0)));
  launch.workgroups = LinearWorkgroups(channels, kWorkgroup, limits);
  return launch;
}

Launch BatchNormScaleGradProgram(uint64_t channels, float epsilon, const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(ScaleGradSource());
  launch.parameters.Add(static_cast<uint32_t>(channels));
  launch.parameters.AddFloat(epsilon);
  launch.workgroups = LinearWorkgroups(channels, kWorkgroup, limits);
  return launch;
}

Launch BatchNormGradProgram(DType dtype, const ChannelLayout& layout, float epsilon, bool is_training,
                            const GpuLimits& limits) {
  Launch launch = MakeChannelLaunch(BatchNormGradSource(), dtype, layout, epsilon, is_training, limits);
  launch.parameters.AddFloat(static_cast<float>(layout.PerChannel()));
  return launch;
}

std::vector<ShaderVariant> NormalizationVariants(const GpuLimits& limits) {
  std::vector<ShaderVariant> variants = {BatchNormScaleGradProgram(1, 0, limits).variant};
  for (const float update : {0.5f, 1.0f}) {
    variants.push_back(BatchNormStatisticsProgram(1, 1, update, limits).variant);
  }
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    if (dtype == DType::kF16 && !limits.has_f16) continue;
    for (const uint64_t cols : {uint64_t{5}, uint64_t{8}, uint64_t{100}, uint64_t{4096}, uint64_t{50257}}) {
      variants.push_back(LayerNormProgram(dtype, 8, cols, 0, limits).variant);
      variants.push_back(LayerNormGradProgram(dtype, 8, cols, 0, limits).variant);
    }
    for (const int64_t dim : {4, 5}) {
      for (const std::string_view format : {"NHWC", "NCHW"}) {
        const ChannelLayout layout({2, dim, dim, dim}, format);
        variants.push_back(BatchNormProgram(dtype, layout, 0, limits).variant);
        for (const bool is_training : {false, true}) {
          variants.push_back(BatchNormGradProgram(dtype, layout, 0, is_training, limits).variant);
        }
      }
    }
  }
  return variants;
}

}  // namespace tandem::shader
