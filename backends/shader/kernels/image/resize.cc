// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/image/resize.h"

#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

void DeclareSizes(ShaderBuilder& builder) {
  for (const char* name : {"channels", "height", "width", "new_height", "new_width", "zero"}) builder.Parameter(name);
  builder.Text(kRoundedPlaceText);
}

void AddSizes(LaunchParameters& parameters, const TensorShape& images, const TensorShape& result, int64_t channels) {
  for (const int64_t number : {channels, images.dim(1), images.dim(2), result.dim(1), result.dim(2), int64_t{0}}) {
    parameters.Add(Low(number));
  }
}

void DeclarePlaces(ShaderBuilder& builder) {
  DeclareSizes(builder);
  for (const char* name : {"height_scale", "width_scale", "shift"}) builder.Parameter(name, "f32");
  builder.Text(kResizePlaceText);
}

float Scale(int64_t size, int64_t new_size, bool align_corners) {
  if (align_corners && new_size > 1) return static_cast<float>(size - 1) / static_cast<float>(new_size - 1);
  return static_cast<float>(size) / static_cast<float>(new_size);
}

void AddPlaces(LaunchParameters& parameters, const TensorShape& images, const TensorShape& result, int64_t channels,
               ResizeKind kind) {
  AddSizes(parameters, images, result, channels);
  parameters.AddFloat(Scale(images.dim(1), result.dim(1), kind.align_corners));
  parameters.AddFloat(Scale(images.dim(2), result.dim(2), kind.align_corners));
  parameters.AddFloat(kind.half_pixel_centers ? 0.5f : 0.0f);
}

// Element `place` of `x`, whose buffer has words if not elements of 8 bytes, as f32.
std::string_view LoadPixelText(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return "f32((x[place / 4u] >> ((place % 4u) * 8u)) & 0xffu)";
    case DType::kI8:
      return "f32(bitcast<i32>(x[place / 4u] << ((3u - place % 4u) * 8u)) >> 24u)";
    case DType::kU16:
      return "f32((x[place / 2u] >> ((place % 2u) * 16u)) & 0xffffu)";
    case DType::kI16:
      return "f32(bitcast<i32>(x[place / 2u] << ((1u - place % 2u) * 16u)) >> 16u)";
    case DType::kI32:
      return "f32(bitcast<i32>(x[place]))";
    case DType::kF16:
      return "unpack2x16float(x[place / 2u] >> ((place % 2u) * 16u)).x";
    case DType::kBF16:
      return "bitcast<f32>((x[place / 2u] >> ((place % 2u) * 16u)) << 16u)";
    case DType::kI64:
    case DType::kF64:
      return "f32(x[place])";
    default:
      return "bitcast<f32>(x[place])";
  }
}

// Images of that dtype, `x`, and `load_pixel`.
void DeclareImages(ShaderBuilder& builder, DType dtype) {
  builder.Buffer("x", BufferAccess::kRead, kWideBilinearDTypes.Contains(dtype) ? StorageType(dtype) : "u32");
  builder.Text("fn load_pixel(place: u32) -> f32 {\nreturn " + std::string(LoadPixelText(dtype)) + ";\n}");
}

// Value: dtype.
ShaderText ComposeBilinear(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("count");
  DeclarePlaces(builder);
  DeclareImages(builder, static_cast<DType>(values[0]));
  builder.Buffer("y", BufferAccess::kReadWrite, "f32").Text(kPixelBetweenText);
  return builder.Finish(source.text);
}

// Values: dtype, whether it takes the nearest pixel.
ShaderText ComposeCrop(const ShaderSource& source, std::span<const int32_t> values) {
  const bool is_nearest = values[1] != 0;
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("count").Parameter("images");
  DeclareSizes(builder);
  builder.Parameter("outside", "f32");
  DeclareImages(builder, static_cast<DType>(values[0]));
  builder.Buffer("boxes", BufferAccess::kRead, "f32")
      .Buffer("numbers", BufferAccess::kRead, "u32")
      .Buffer("y", BufferAccess::kReadWrite, "f32");
  if (!is_nearest) builder.Text(kPixelBetweenText);
  return builder.Finish(Unroll(source.text, {{"NEAREST", is_nearest}}));
}

// Value: bytes of an element.
ShaderText ComposeNearest(const ShaderSource& source, std::span<const int32_t> values) {
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  DeclarePlaces(shader.builder());
  shader.builder().Parameter("round_at", "f32").Text(kResizeNearestPlaceText);
  shader.Input("x");
  return shader.Finish(source.text);
}

// Value: dtype of the result. Those of bilinear images are added up in f32, in which they are given.
template <bool kIsBilinear>
ShaderText ComposeGradient(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, static_cast<DType>(values[0]));
  builder.Alias("S", kIsBilinear ? "f32" : "A");
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("count");
  DeclarePlaces(builder);
  builder.Buffer("grads", BufferAccess::kRead, kIsBilinear ? "f32" : "T").Buffer("y", BufferAccess::kReadWrite, "T");
  if (!kIsBilinear) builder.Parameter("round_at", "f32").Text(kResizeNearestPlaceText);
  return builder.Finish(Unroll(source.text, {{"BILINEAR", kIsBilinear}}));
}

const ShaderSource kBilinearGrad = {"resize_bilinear_grad", &ComposeGradient<true>, kResizeGradText};
const ShaderSource kNearestGrad = {"resize_nearest_grad", &ComposeGradient<false>, kResizeGradText};
const ShaderSource kBilinear = {"resize_bilinear", &ComposeBilinear, kResizeBilinearText};
const ShaderSource kCrop = {"crop_and_resize", &ComposeCrop, kCropAndResizeText};
const ShaderSource kNearest = {"resize_nearest", &ComposeNearest, kResizeNearestText};

// What a place is rounded up from. Halves go up where places are rounded to the nearest; otherwise no distance is as
// large.
float RoundAt(ResizeKind kind) { return kind.align_corners ? 0.5f : 2.0f; }

Launch GradientLaunch(const ShaderSource& source, const TensorShape& resized, const TensorMetadata& result,
                      ResizeKind kind, const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(result.dtype)});
  launch.parameters = {Low(result.num_elements())};
  AddPlaces(launch.parameters, result.shape, resized, result.dim(3), kind);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(result.num_elements()), kWorkgroup, limits);
  return launch;
}

}  // namespace

Launch ResizeBilinearProgram(const TensorMetadata& images, const TensorShape& result, ResizeKind kind,
                             const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(kBilinear, {static_cast<int32_t>(images.dtype)});
  launch.parameters = {Low(result.num_elements())};
  AddPlaces(launch.parameters, images.shape, result, images.dim(3), kind);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(result.num_elements()), kWorkgroup, limits);
  return launch;
}

Launch ResizeNearestProgram(const TensorMetadata& images, const TensorShape& result, ResizeKind kind,
                            const GpuLimits& limits) {
  WideElements wide(ElementBytes(images.dtype));
  wide.Include(images.dim(3));
  const auto factor = static_cast<int64_t>(wide.factor());
  const uint32_t bytes = ElementBytes(images.dtype) * wide.factor();
  Launch launch = MovementLaunch(ShaderVariant(kNearest, {static_cast<int32_t>(bytes)}), bytes,
                                 result.num_elements() / factor, limits);
  AddPlaces(launch.parameters, images.shape, result, images.dim(3) / factor, kind);
  launch.parameters.AddFloat(RoundAt(kind));
  return launch;
}

Launch ResizeBilinearGradProgram(const TensorShape& resized, const TensorMetadata& result, ResizeKind kind,
                                 const GpuLimits& limits) {
  return GradientLaunch(kBilinearGrad, resized, result, kind, limits);
}

Launch ResizeNearestGradProgram(const TensorShape& resized, const TensorMetadata& result, ResizeKind kind,
                                const GpuLimits& limits) {
  Launch launch = GradientLaunch(kNearestGrad, resized, result, kind, limits);
  launch.parameters.AddFloat(RoundAt(kind));
  return launch;
}

Launch CropAndResizeProgram(const TensorMetadata& images, const TensorShape& result, bool is_nearest, float outside,
                            const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(kCrop, {static_cast<int32_t>(images.dtype), is_nearest});
  launch.parameters = {Low(result.num_elements()), Low(images.dim(0))};
  AddSizes(launch.parameters, images.shape, result, images.dim(3));
  launch.parameters.AddFloat(outside);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(result.num_elements()), kWorkgroup, limits);
  return launch;
}

std::vector<ShaderVariant> ResizeVariants() {
  std::vector<ShaderVariant> variants;
  for (const int32_t is_nearest : {0, 1}) {
    variants.emplace_back(kCrop, std::initializer_list<int32_t>{static_cast<int32_t>(DType::kU8), is_nearest});
  }
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kBilinearDTypes.Contains(static_cast<DType>(i))) {
      variants.emplace_back(kBilinear, std::initializer_list<int32_t>{i});
    }
  }
  for (const int32_t bytes : {1, 2, 4, 8, 16}) variants.emplace_back(kNearest, std::initializer_list<int32_t>{bytes});
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32}) {
    const auto value = static_cast<int32_t>(dtype);
    if (dtype != DType::kI32) variants.emplace_back(kBilinearGrad, std::initializer_list<int32_t>{value});
    variants.emplace_back(kNearestGrad, std::initializer_list<int32_t>{value});
  }
  return variants;
}

}  // namespace tandem::shader
