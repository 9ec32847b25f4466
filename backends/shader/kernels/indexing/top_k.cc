// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/top_k.h"

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

// A number that is as large as the element's rank among all of its type.
std::string_view KeyText(DType dtype) {
  if (dtype == DType::kU32) return "fn key_of(a: u32) -> u32 {\nreturn a;\n}";
  if (dtype == DType::kI32) return "fn key_of(a: i32) -> u32 {\nreturn bitcast<u32>(a) ^ 0x80000000u;\n}";
  return "fn key_of(a: f32) -> u32 {\n"
         "let bits: u32 = bitcast<u32>(a);\n"
         "let magnitude: u32 = bits & 0x7fffffffu;\n"
         "let key: u32 = select(magnitude | 0x80000000u, 0x80000000u - magnitude, bits >= 0x80000000u);\n"
         "return select(key, 0xffffffffu, magnitude > 0x7f800000u);\n}";
}

// Value: dtype.
ShaderText ComposeTopK(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, dtype);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  for (const char* name : {"count", "size", "k"}) builder.Parameter(name);
  builder.Buffer("x", BufferAccess::kRead, "T");
  builder.Buffer("values", BufferAccess::kReadWrite, "T").Buffer("indices", BufferAccess::kReadWrite, "i32");
  builder.Text(KeyText(dtype));
  return builder.Finish(source.text);
}

const ShaderSource kTopK = {"top_k", &ComposeTopK, kTopKText};

}  // namespace

Launch TopKProgram(const TensorMetadata& input, int64_t k, const GpuLimits& limits) {
  Launch launch;
  launch.variant = ShaderVariant(kTopK, {static_cast<int32_t>(input.dtype)});
  launch.parameters = {Low(input.num_elements()), Low(input.dim(input.rank() - 1)), Low(k)};
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(input.num_elements()), kWorkgroup, limits);
  return launch;
}

std::vector<ShaderVariant> TopKVariants() {
  std::vector<ShaderVariant> variants;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32}) {
    variants.emplace_back(kTopK, std::initializer_list<int32_t>{static_cast<int32_t>(dtype)});
  }
  return variants;
}

}  // namespace tandem::shader
