// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/image/projective.h"

#include <string>
#include <string_view>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/elementwise/elementwise_functions.h"
#include "kernels/shader_functions.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

// What is beyond an image.
enum class Filling : int32_t { kConstant, kClamp, kReflect, kWrap };

Filling FillingOf(const OpAttrsRef& attrs) {
  const auto name = attrs.GetOr<std::string_view>("fill_mode", "CONSTANT");
  if (name == "REFLECT") return Filling::kReflect;
  if (name == "WRAP") return Filling::kWrap;
  return name == "NEAREST" ? Filling::kClamp : Filling::kConstant;
}

// Values: dtype, whether it takes the nearest pixel, Filling.
ShaderText ComposeProjective(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  const auto filling = static_cast<Filling>(values[2]);
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  DeclareTypes(builder, dtype);
  for (const char* name :
       {"count", "channels", "height", "width", "new_height", "new_width", "transform_step", "zero"}) {
    builder.Parameter(name);
  }
  builder.Buffer("x_data", BufferAccess::kRead, "T")
      .Buffer("transforms", BufferAccess::kRead, "f32")
      .Buffer("fill", BufferAccess::kRead, "f32")
      .Buffer("y_data", BufferAccess::kReadWrite, "T");
  const std::string_view expression = ConversionSource(DType::kF32, dtype, /*truncates=*/false).text;
  builder.Text(kRoundedPlaceText).Text(FunctionsCalledBy(std::string(expression) + std::string(source.text)));
  builder.Text("fn converted(a: f32) -> A {\nreturn " + std::string(expression) + ";\n}");
  return builder.Finish(Unroll(source.text, {{"NEAREST", values[1]},
                                             {"CONSTANT", filling == Filling::kConstant},
                                             {"MOVES", filling == Filling::kReflect || filling == Filling::kWrap},
                                             {"REFLECT", filling == Filling::kReflect}}));
}

const ShaderSource kProjective = {"projective", &ComposeProjective, kProjectiveText};

ShaderVariant ProjectiveVariant(DType dtype, bool is_nearest, Filling filling) {
  return ShaderVariant(kProjective, {static_cast<int32_t>(dtype), is_nearest, static_cast<int32_t>(filling)});
}

}  // namespace

Launch ProjectiveProgram(const TensorMetadata& images, const TensorShape& transforms, const TensorShape& result,
                         const OpAttrsRef& attrs, const GpuLimits& limits) {
  const bool is_nearest = attrs.GetOr<std::string_view>("interpolation", "NEAREST") == "NEAREST";
  Launch launch;
  launch.variant = ProjectiveVariant(images.dtype, is_nearest, FillingOf(attrs));
  for (const int64_t number : {result.num_elements(), images.dim(3), images.dim(1), images.dim(2), result.dim(1),
                               result.dim(2), int64_t{transforms.dim(0) == 1 ? 0 : 8}, int64_t{0}}) {
    launch.parameters.Add(Low(number));
  }
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(result.num_elements()), kWorkgroup, limits);
  return launch;
}

std::vector<ShaderVariant> ProjectiveVariants() {
  std::vector<ShaderVariant> variants;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32}) {
    for (const bool is_nearest : {false, true}) {
      for (const Filling filling : {Filling::kConstant, Filling::kClamp, Filling::kReflect, Filling::kWrap}) {
        variants.push_back(ProjectiveVariant(dtype, is_nearest, filling));
      }
    }
  }
  return variants;
}

}  // namespace tandem::shader
