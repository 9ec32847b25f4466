// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/shape/movement.h"

#include <algorithm>
#include <bit>

#include "kernel_texts.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kRounds = 4;

std::string_view ElementType(uint32_t bytes) {
  switch (bytes) {
    case 8:
      return "vec2u";
    case 16:
      return "vec4u";
    default:
      return "u32";
  }
}

std::string Number(uint32_t value) { return std::to_string(value) + "u"; }

// Reads element `place` of `name`, of `bytes`, as a type of its own.
std::string ReadText(const std::string& name, uint32_t bytes) {
  if (bytes >= kWordBytes) return name + "[place]";
  const std::string per_word = Number(kWordBytes / bytes);
  return "(" + name + "[place / " + per_word + "] >> ((place % " + per_word + ") * " + Number(8 * bytes) + ")) & " +
         Number((1u << (8 * bytes)) - 1);
}

// The function that reads such an element and repeats it until it fills one of `to` bytes.
std::string LoadText(const std::string& name, uint32_t bytes, uint32_t to) {
  std::string text = "fn load_" + name + "(place: u32) -> E {\n";
  if (bytes == to) return text + "return " + ReadText(name, bytes) + ";\n}";
  text += "let value: " + std::string(ElementType(bytes)) + " = " + ReadText(name, bytes) + ";\n";
  std::string word = "value";
  if (bytes < kWordBytes) {
    // One bit in each place where an element begins.
    const uint32_t ones = bytes == 1 ? 0x01010101u : 0x00010001u;
    word += " * " + Number(to >= kWordBytes ? ones : ones & ((1u << (8 * to)) - 1));
  }
  if (to <= kWordBytes) return text + "return " + word + ";\n}";
  if (bytes == 8) return text + "return vec4u(value.x, value.y, value.x, value.y);\n}";
  return text + "let word: u32 = " + word + ";\nreturn " +
         (to == 8 ? "vec2u(word, word)" : "vec4u(word, word, word, word)") + ";\n}";
}

}  // namespace

uint32_t ElementBytes(DType dtype) {
  return dtype == DType::kBool ? kWordBytes : static_cast<uint32_t>(DTypeSize(dtype));
}

MovementShader::MovementShader(std::string_view name, uint32_t element_bytes)
    : builder_(name), element_bytes_(element_bytes) {
  builder_.Workgroup(kWorkgroup)
      .Constant("WORKGROUP", kWorkgroup)
      .Constant("ROUNDS", kRounds)
      .Alias("E", ElementType(element_bytes))
      .Parameter("count");
  if (element_bytes < kWordBytes) {
    builder_.Constant("PER_WORD", kWordBytes / element_bytes).Constant("BITS", 8 * element_bytes);
  }
}

void MovementShader::Input(std::string_view name, uint32_t bytes) {
  builder_.Buffer(name, BufferAccess::kRead, ElementType(bytes))
      .Text(LoadText(std::string(name), bytes, element_bytes_));
}

ShaderText MovementShader::Finish(std::string_view text) { return Finish(text, kMovementText, kMovementPackedText); }

ShaderText MovementShader::Finish(std::string_view text, std::string_view whole, std::string_view packed) {
  builder_.Buffer("y", BufferAccess::kReadWrite, ElementType(element_bytes_)).Text(text);
  return builder_.Finish(element_bytes_ < kWordBytes ? packed : whole);
}

uint32_t ElementsPerInvocation(uint32_t element_bytes) { return std::max(kWordBytes / element_bytes, 1u); }

Launch MovementLaunch(const ShaderVariant& variant, uint32_t element_bytes, int64_t count, const GpuLimits& limits) {
  const uint64_t per_invocation = ElementsPerInvocation(element_bytes);
  Launch launch;
  launch.variant = variant;
  launch.parameters = {Low(count)};
  launch.workgroups = LinearWorkgroups((static_cast<uint64_t>(count) + per_invocation - 1) / per_invocation,
                                       kWorkgroup * kRounds, limits);
  return launch;
}

uint32_t WideElements::factor() const {
  const uint32_t most = kMaxElementBytes / element_bytes_;
  if (bits_ == 0) return most;
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{1} << std::countr_zero(bits_), most));
}

}  // namespace tandem::shader
