// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/creation/fill_words.h"

#include "kernel_texts.h"
#include "tandem/shader/shader_device.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr uint32_t kRounds = 8;

void DeclareResult(ShaderBuilder& builder) {
  builder.Buffer("result", BufferAccess::kReadWrite, "u32")
      .Parameter("words")
      .Workgroup(kWorkgroup)
      .Constant("WORKGROUP", kWorkgroup)
      .Constant("ROUNDS", kRounds);
}

ShaderText ComposeFillWords(const ShaderSource& source, std::span<const int32_t>) {
  ShaderBuilder builder(source.name);
  DeclareResult(builder);
  builder.Parameter("even").Parameter("odd").Text(R"(
fn pattern(i: u32) -> u32 {
  return select(parameters.even, parameters.odd, i == 1u);
})");
  return builder.Finish(source.text);
}

// The value's word, or two of them, made of smaller elements by repetition; values: bytes of an element.
ShaderText ComposeFill(const ShaderSource& source, std::span<const int32_t> values) {
  std::string_view word = "return value[0];";
  if (values[0] == 1) word = "return (value[0] & 0xffu) * 0x01010101u;";
  if (values[0] == 2) word = "return (value[0] & 0xffffu) * 0x00010001u;";
  if (values[0] == 8) word = "return value[i];";
  ShaderBuilder builder(source.name);
  builder.Buffer("value", BufferAccess::kRead, "u32");
  DeclareResult(builder);
  builder.Text("fn pattern(i: u32) -> u32 {").Text(word).Text("}");
  return builder.Finish(source.text);
}

Launch MakeLaunch(const ShaderVariant& variant, uint64_t words, const GpuLimits& limits) {
  Launch launch;
  launch.variant = variant;
  launch.workgroups = LinearWorkgroups(words, kWorkgroup * kRounds, limits);
  launch.parameters.Add(static_cast<uint32_t>(words));
  return launch;
}

}  // namespace

uint64_t WordsOf(const TensorMetadata& metadata) { return (GpuByteSize(metadata) + 3) / 4; }

Launch FillWordsProgram(uint64_t words, std::array<uint32_t, 2> pattern, const GpuLimits& limits) {
  static const ShaderSource source = {"fill_words", &ComposeFillWords, kFillWordsText};
  Launch launch = MakeLaunch(ShaderVariant(source), words, limits);
  for (uint32_t word : pattern) launch.parameters.Add(word);
  return launch;
}

Launch FillProgram(const TensorMetadata& result, const GpuLimits& limits) {
  static const ShaderSource source = {"tf.Fill", &ComposeFill, kFillWordsText};
  const auto element_size = static_cast<int32_t>(result.dtype == DType::kBool ? 4 : DTypeSize(result.dtype));
  return MakeLaunch(ShaderVariant(source, {element_size}), WordsOf(result), limits);
}

}  // namespace tandem::shader
