// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/elementwise_words.h"

#include <span>
#include <string>
#include <string_view>

#include "kernels/shader_functions.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;

// What an element is converted as: an integer of 64 bits, a number of f32, or one of f64, the others in two words.
enum class Form : uint8_t { kInteger, kSingle, kDouble };

Form FormOf(DType dtype) {
  if (dtype == DType::kF64) return Form::kDouble;
  return kFloatDTypes.Contains(dtype) ? Form::kSingle : Form::kInteger;
}

bool IsSigned(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
}

// As they are in buffers.
size_t BitsOf(DType dtype) { return dtype == DType::kBool ? 32 : 8 * DTypeSize(dtype); }

// Element `i` in the lowest bits of a word, filled up with its sign if it has one.
std::string WordText(DType from) {
  const size_t bits = BitsOf(from);
  if (bits == 32) return "x[i]";
  const std::string per_word = bits == 8 ? "2u" : "1u";
  const std::string in_word = bits == 8 ? "8u * (i & 3u)" : "16u * (i & 1u)";
  const std::string unused = std::to_string(32 - bits) + "u";
  const std::string shifted = "((x[i >> " + per_word + "] >> (" + in_word + ")) << " + unused + ")";
  if (IsSigned(from)) return "bitcast<u32>(bitcast<i32>(" + shifted + ") >> " + unused + ")";
  return "(" + shifted + " >> " + unused + ")";
}

std::string LoadText(DType from) {
  if (BitsOf(from) == 64) return "return vec2u(x[2u * i], x[2u * i + 1u]);";
  std::string text = "let word: u32 = " + WordText(from) + ";\n";
  switch (from) {
    case DType::kF16:
      return text + "return bitcast<f32>(f32_bits_of_half_bits(word));";
    case DType::kBF16:
      return text + "return bitcast<f32>(word << 16u);";
    case DType::kF32:
      return text + "return bitcast<f32>(word);";
    default:
      return text + (IsSigned(from) ? "return vec2u(word, 0u - (word >> 31u));" : "return vec2u(word, 0u);");
  }
}

// Of an integer `a` that was made u32 or i32 with saturation.
std::string NarrowText(DType to, const std::string& u32, const std::string& i32) {
  switch (to) {
    case DType::kU8:
      return "min(" + u32 + ", 255u)";
    case DType::kU16:
      return "min(" + u32 + ", 65535u)";
    case DType::kI8:
      return "bitcast<u32>(clamp(" + i32 + ", -128, 127))";
    case DType::kI16:
      return "bitcast<u32>(clamp(" + i32 + ", -32768, 32767))";
    case DType::kI32:
      return "bitcast<u32>(" + i32 + ")";
    default:
      return u32;
  }
}

// The bits of floating point from those of f64 and, where that is another way, of f32.
std::string FloatText(DType to, const std::string& f64, const std::string& odd_f32) {
  if (to == DType::kF16) return "half_bits_of_f32_bits(" + odd_f32 + ")";
  if (to == DType::kBF16) return "bf16_bits_of_f32_bits(" + odd_f32 + ")";
  return f64;
}

std::string OfInteger(DType to, bool is_signed) {
  if (to == DType::kBool) return "select(0u, 1u, (a.x | a.y) != 0u)";
  if (!kFloatDTypes.Contains(to)) return BitsOf(to) == 64 ? "a" : "a.x";
  const std::string flag = is_signed ? "true" : "false";
  const std::string parts = "_double_of_magnitude(wide_magnitude(a, " + flag + "), wide_sign(a, " + flag + "))";
  const std::string odd = "odd" + parts;
  if (to == DType::kF64) return parts.substr(1);
  return FloatText(to, "f32_bits_of_double(" + odd + ")", "odd_f32_bits_of_double(" + odd + ")");
}

std::string OfSingle(DType to, bool truncates) {
  if (to == DType::kBool) return "select(0u, 1u, !is_zero(a))";
  if (to == DType::kI64) return "wide_of_double(double_bits_of_f32(a), true)";
  if (to == DType::kU64) return "wide_of_double(double_bits_of_f32(a), false)";
  if (to == DType::kF64) return "double_bits_of_f32(a)";
  if (!kFloatDTypes.Contains(to)) return NarrowText(to, "to_u32(a)", "to_i32(a)");
  std::string bits = "bitcast<u32>(a)";
  if (truncates && to == DType::kF16) bits = "bitcast<u32>(truncate_for_f16(a))";
  if (truncates && to == DType::kBF16) bits = "bitcast<u32>(truncate_for_bf16(a))";
  return FloatText(to, bits, bits);
}

// The bits that `to` has no room for are dropped from both words by these masks.
std::string TruncatedDouble(DType to) {
  if (to == DType::kF16) return "vec2u(0u, a.y & 0xfffffc00u)";
  if (to == DType::kBF16) return "vec2u(0u, a.y & 0xffffe000u)";
  return to == DType::kF32 ? "vec2u(a.x & 0xe0000000u, a.y)" : "a";
}

std::string OfDouble(DType to, bool truncates) {
  if (to == DType::kBool) return "select(0u, 1u, (a.x | (a.y & 0x7fffffffu)) != 0u)";
  if (to == DType::kI64) return "wide_of_double(a, true)";
  if (to == DType::kU64) return "wide_of_double(a, false)";
  if (to == DType::kF64) return "a";
  if (!kFloatDTypes.Contains(to)) {
    return NarrowText(to, "u32_of_wide(wide_of_double(a, false))", "i32_of_wide(wide_of_double(a, true))");
  }
  const std::string given = truncates ? TruncatedDouble(to) : "a";
  return FloatText(to, "f32_bits_of_any_double(" + given + ")", "odd_f32_bits_of_double(" + given + ")");
}

std::string ConversionText(DType from, DType to, bool truncates) {
  switch (FormOf(from)) {
    case Form::kInteger:
      return OfInteger(to, IsSigned(from));
    case Form::kSingle:
      return OfSingle(to, truncates);
    case Form::kDouble:
      return OfDouble(to, truncates);
  }
  return {};
}

// Elements that an invocation converts: those of a word.
uint32_t PerWord(DType to) { return BitsOf(to) < 32 ? static_cast<uint32_t>(32 / BitsOf(to)) : 1; }

std::string StoreText(DType to) {
  if (BitsOf(to) == 64) {
    return "let bits: vec2u = converted(element_at(word));\ny[2u * word] = bits.x;\ny[2u * word + 1u] = bits.y;\n";
  }
  if (BitsOf(to) == 32) return "y[word] = converted(element_at(word));\n";
  const std::string bits = std::to_string(BitsOf(to)) + "u";
  return "var bits: u32 = 0u;\nfor (var k: u32 = 0u; k < PER_WORD && PER_WORD * word + k < parameters.size; k++) {\n"
         "bits = bits | ((converted(element_at(PER_WORD * word + k)) & ((1u << " +
         bits + ") - 1u)) << (" + bits + " * k));\n}\ny[word] = bits;\n";
}

// Values: the dtypes, whether bits are dropped instead of rounded.
ShaderText ComposeConversion(const ShaderSource& source, std::span<const int32_t> values) {
  const auto from = static_cast<DType>(values[0]);
  const auto to = static_cast<DType>(values[1]);
  const std::string convert = "fn element_at(i: u32) -> S {\n" + LoadText(from) +
                              "\n}\n\nfn converted(a: S) -> R {\nreturn " + ConversionText(from, to, values[2] != 0) +
                              ";\n}\n";
  const std::string main =
      "fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {\n"
      "let word: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;\n"
      "if (word * PER_WORD >= parameters.size) {\nreturn;\n}\n" +
      StoreText(to) + "}\n";
  ShaderBuilder builder(source.name);
  return builder.Alias("S", FormOf(from) == Form::kSingle ? "f32" : "vec2u")
      .Alias("R", BitsOf(to) == 64 ? "vec2u" : "u32")
      .Buffer("x", BufferAccess::kRead, "u32")
      .Buffer("y", BufferAccess::kReadWrite, "u32")
      .Parameter("size")
      .Workgroup(kWorkgroup)
      .Constant("WORKGROUP", kWorkgroup)
      .Constant("PER_WORD", PerWord(to))
      .Text(FunctionsCalledBy(convert, FunctionTypes::kSoft))
      .Text(convert)
      .Finish(main);
}

}  // namespace

Launch ConvertWordsProgram(DType from, DType to, bool truncates, uint64_t size, const GpuLimits& limits) {
  static const ShaderSource source = {"tf.Cast", &ComposeConversion, ""};
  Launch launch;
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(from), static_cast<int32_t>(to), truncates ? 1 : 0});
  launch.parameters = {static_cast<uint32_t>(size)};
  launch.workgroups = LinearWorkgroups((size + PerWord(to) - 1) / PerWord(to), kWorkgroup, limits);
  return launch;
}

}  // namespace tandem::shader
