// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "glsl_text.h"

#include <span>
#include <utility>
#include <vector>

#include "glsl_prelude.h"
#include "kernel_dialect.h"
#include "kernel_expressions.h"
#include "kernel_translation.h"

namespace tandem::vulkan {
namespace {

using shader::JoinedByCommas;
using shader::KernelType;

struct Names {
  std::string_view wgsl;
  std::string_view glsl;
};

constexpr Names kScalars[] = {
    {"f32", "float"}, {"i32", "int"}, {"u32", "uint"}, {"bool", "bool"}, {"f16", "float16_t"}};

// Functions that GLSL has, with the same meaning; those of the prelude (glsl_prelude.h) begin with "w_".
constexpr Names kFunctions[] = {
    {"abs", "abs"},
    {"acos", "acos"},
    {"acosh", "acosh"},
    {"all", "all"},
    {"any", "any"},
    {"asin", "asin"},
    {"asinh", "asinh"},
    {"atan", "atan"},
    {"atan2", "atan"},
    {"atanh", "atanh"},
    {"ceil", "ceil"},
    {"clamp", "clamp"},
    {"cos", "cos"},
    {"cosh", "cosh"},
    {"countLeadingZeros", "w_countLeadingZeros"},
    {"countOneBits", "w_countOneBits"},
    {"countTrailingZeros", "w_countTrailingZeros"},
    {"cross", "cross"},
    {"degrees", "degrees"},
    {"distance", "distance"},
    {"dot", "dot"},
    {"exp", "exp"},
    {"exp2", "exp2"},
    {"extractBits", "w_extractBits"},
    {"firstLeadingBit", "w_firstLeadingBit"},
    {"firstTrailingBit", "w_firstTrailingBit"},
    {"floor", "floor"},
    {"fma", "fma"},
    {"fract", "fract"},
    {"insertBits", "w_insertBits"},
    {"inverseSqrt", "inversesqrt"},
    {"ldexp", "ldexp"},
    {"length", "length"},
    {"log", "log"},
    {"log2", "log2"},
    {"max", "max"},
    {"min", "min"},
    {"mix", "mix"},
    {"normalize", "normalize"},
    {"pack2x16float", "packHalf2x16"},
    {"pow", "pow"},
    {"radians", "radians"},
    {"reverseBits", "bitfieldReverse"},
    {"round", "roundEven"},
    {"saturate", "w_saturate"},
    {"select", "w_select"},
    {"sign", "sign"},
    {"sin", "sin"},
    {"sinh", "sinh"},
    {"smoothstep", "smoothstep"},
    {"sqrt", "sqrt"},
    {"step", "step"},
    {"storageBarrier", "w_storageBarrier"},
    {"subgroupAdd", "subgroupAdd"},
    {"subgroupAll", "subgroupAll"},
    {"subgroupAnd", "subgroupAnd"},
    {"subgroupAny", "subgroupAny"},
    {"subgroupBroadcast", "subgroupBroadcast"},
    {"subgroupBroadcastFirst", "subgroupBroadcastFirst"},
    {"subgroupElect", "subgroupElect"},
    {"subgroupExclusiveAdd", "subgroupExclusiveAdd"},
    {"subgroupInclusiveAdd", "subgroupInclusiveAdd"},
    {"subgroupMax", "subgroupMax"},
    {"subgroupMin", "subgroupMin"},
    {"subgroupMul", "subgroupMul"},
    {"subgroupOr", "subgroupOr"},
    {"subgroupShuffle", "subgroupShuffle"},
    {"subgroupShuffleDown", "subgroupShuffleDown"},
    {"subgroupShuffleUp", "subgroupShuffleUp"},
    {"subgroupShuffleXor", "subgroupShuffleXor"},
    {"subgroupXor", "subgroupXor"},
    {"tan", "tan"},
    {"tanh", "tanh"},
    {"trunc", "trunc"},
    {"unpack2x16float", "unpackHalf2x16"},
    {"workgroupBarrier", "w_workgroupBarrier"},
};

// Functions of atomics.
constexpr Names kAtomics[] = {
    {"atomicAdd", "atomicAdd"},           {"atomicAnd", "atomicAnd"}, {"atomicCompareExchangeWeak", "atomicCompSwap"},
    {"atomicExchange", "atomicExchange"}, {"atomicLoad", "atomicOr"}, {"atomicMax", "atomicMax"},
    {"atomicMin", "atomicMin"},           {"atomicOr", "atomicOr"},   {"atomicStore", "atomicExchange"},
    {"atomicSub", "atomicAdd"},           {"atomicXor", "atomicXor"},
};

template <size_t N>
std::string_view Find(const Names (&names)[N], std::string_view wgsl) {
  for (const Names& pair : names) {
    if (pair.wgsl == wgsl) return pair.glsl;
  }
  return {};
}

// The vector of `scalar`, a type of GLSL.
std::string VectorOf(std::string_view scalar, char size) {
  if (scalar == "float16_t") return std::string("f16vec") + size;
  std::string name = "vec";
  name += size;
  return scalar == "float" ? name : scalar.substr(0, 1).data()[0] + name;
}

// Values that every invocation has.
constexpr Names kBuiltinValues[] = {
    {"global_invocation_id", "gl_GlobalInvocationID"},
    {"local_invocation_id", "gl_LocalInvocationID"},
    {"workgroup_id", "gl_WorkGroupID"},
    {"num_workgroups", "gl_NumWorkGroups"},
    {"local_invocation_index", "gl_LocalInvocationIndex"},
    {"subgroup_invocation_id", "gl_SubgroupInvocationID"},
    {"subgroup_size", "gl_SubgroupSize"},
};

std::string Extents(const KernelType& type) {
  std::string text;
  for (const std::string& extent : type.extents) text += "[" + extent + "]";
  return text;
}

// "vec2(0)" of "vec2".
std::string Zero(std::string_view base) { return std::string(base) + "(" + (base == "bool" ? "false" : "0") + ")"; }

class Glsl final : public shader::KernelDialect {
 public:
  explicit Glsl(ParameterPlace place) : place_(place) {}

  std::string Rename(std::string_view name) const override {
    // GLSL keeps names for itself that begin with "gl_".
    if (name == "gl" || name.starts_with("gl_")) return "g_" + std::string(name) + "_g";
    return std::string(name) + "_v";
  }

  std::string_view Scalar(std::string_view name) const override { return Find(kScalars, name); }
  std::string Vector(std::string_view scalar, char size) const override { return VectorOf(scalar, size); }
  std::string Declared(const KernelType& type, std::string_view name) const override {
    return type.base + " " + std::string(name) + Extents(type);
  }

  std::string_view Function(std::string_view name) const override { return Find(kFunctions, name); }
  std::string_view BuiltinValue(std::string_view name) const override { return Find(kBuiltinValues, name); }

  std::string Number(std::string text, char suffix) const override {
    const bool is_integer = text.find_first_of(".e") == std::string::npos;
    // As large as only -2147483648 and numbers of type u32 are.
    const bool is_plain = text.find_first_not_of("0123456789") == std::string::npos;
    const bool is_large = is_plain && (text.size() > 10 || (text.size() == 10 && text > "2147483647"));
    switch (suffix) {
      case 'u':
        return text + "u";
      case 'h':
        return text + (is_integer ? ".0hf" : "hf");
      case 'f':
        return text + (is_integer ? ".0f" : "f");
      default:
        return is_large ? "int(" + text + "u)" : text;
    }
  }
  std::string Unary(std::string_view op, const std::string& operand) const override {
    return "(" + std::string(op) + operand + ")";
  }
  std::string Binary(std::string_view op, const std::string& left, const std::string& right,
                     bool right_is_number) const override {
    // GLSL's own has no meaning for negative operands, and none for floats.
    if (op == "%") return "w_mod(" + left + ", " + right + ")";
    const bool shifts = op == "<<" || op == ">>";
    return "(" + left + " " + std::string(op) + " " + (shifts && !right_is_number ? Masked(right) : right) + ")";
  }
  std::string Component(const std::string& vector, std::string_view member) const override {
    return vector + "." + std::string(member);
  }
  std::string Made(const KernelType& type, const std::vector<std::string>& arguments, bool constant) const override {
    if (arguments.empty() && type.extents.empty()) return Zero(type.base);
    // GLSL leaves open what becomes of values that do not fit; ours are clamped. It takes no such function as a
    // constant.
    const bool clamps = !constant && type.extents.empty() && (type.base == "int" || type.base == "uint");
    return (clamps ? "w_" : "") + type.base + Extents(type) + "(" + JoinedByCommas(arguments) + ")";
  }
  std::string Bitcast(const KernelType& type, const std::string& value) const override {
    return "w_bitcast_" + type.base + "(" + value + ")";
  }
  std::string Atomic(std::string_view name, const std::string& place,
                     const std::vector<std::string>& values) const override {
    const std::string begin = std::string(Find(kAtomics, name)) + "(" + place + ", ";
    if (name == "atomicLoad") return begin + "0)";
    if (name == "atomicSub") return begin + "-(" + values[0] + "))";
    return begin + JoinedByCommas(values) + ")";
  }

  std::string Assigned(std::string_view op, const std::string& left, const std::string& right,
                       bool right_is_number) const override {
    if (op == "%=") return left + " = w_mod(" + left + ", " + right + ")";
    const bool shifts = op == "<<=" || op == ">>=";
    return left + " " + std::string(op) + " " + (shifts && !right_is_number ? Masked(right) : right);
  }
  std::string ZeroVariable(const KernelType& type, const std::string& name) const override {
    std::string text = Declared(type, name);
    if (type.extents.empty()) return text + " = " + Zero(type.base);
    text += ";";
    std::string element = name;
    for (size_t i = 0; i < type.extents.size(); ++i) {
      const std::string index = "w_i" + std::to_string(i);
      text += "for (int " + index + " = 0; " + index + " < int(" + type.extents[i] + "); ++" + index + ") ";
      element += "[" + index + "]";
    }
    return text + element + " = " + Zero(type.base);
  }
  std::string Variable(const KernelType& type, const std::string& name, const std::string& value,
                       bool is_constant) const override {
    return (is_constant ? "const " : "") + Declared(type, name) + " = " + value;
  }

  void DeclareConstant(const KernelType& type, const std::string& name, const std::string& value) override {
    out_ += Variable(type, name, value, /*is_constant=*/true) + ";";
  }
  void DeclareBuffer(const KernelType& type, const std::string& name, std::string_view binding,
                     bool is_written) override {
    out_ += "layout(std430, set = 0, binding = " + std::string(binding) + ") restrict " +
            (is_written ? "" : "readonly ") + "buffer " + name + "_buffer { " + Declared(type, name) + "; };";
  }
  void DeclareShared(const KernelType& type, const std::string& name) override {
    out_ += "shared " + Declared(type, name) + ";";
  }
  void DeclareParameters(std::span<const Member> members, const std::string& struct_name, const std::string& name,
                         std::string_view binding) override {
    const std::string layout = place_ == ParameterPlace::kPushConstants
                                   ? std::string("push_constant")
                                   : "std140, set = 0, binding = " + std::string(binding);
    out_ += "layout(" + layout + ") uniform " + struct_name + " {";
    for (const Member& member : members) out_ += " " + Declared(member.type, member.name) + ";";
    out_ += " } " + name + ";";
  }
  void DeclareFunction(const KernelType& result, const std::string& name, std::span<const Member> parameters,
                       const std::string& body) override {
    std::string head = result.base + Extents(result) + " " + name + "(";
    for (const Member& parameter : parameters) {
      head += (head.back() == '(' ? "" : ", ") + Declared(parameter.type, parameter.name);
    }
    head += ")";
    prototypes_ += head + ";\n";
    out_ += head + " " + body;
  }
  void DeclareMain(std::span<const std::string> workgroup_size, const std::string& values,
                   const std::string& body) override {
    out_ += "layout(";
    for (size_t i = 0; i < workgroup_size.size() && i < 3; ++i) {
      out_ += (i == 0 ? "" : ", ") + std::string("local_size_") + "xyz"[i] + " = " + workgroup_size[i];
    }
    out_ += ") in;\nvoid main() {" + values + body + "}\n";
  }
  bool Enable(std::string_view extension) override {
    if (extension == "f16") f16_ = true;
    if (extension == "subgroups") subgroups_ = true;
    return extension == "f16" || extension == "subgroups";
  }
  void BeginDeclaration(int line) override { out_ += "\n#line " + std::to_string(line) + "\n"; }

  std::string Finish() override { return Head() + prototypes_ + out_; }

 private:
  static std::string Masked(const std::string& shift) { return "(" + shift + " & 31u)"; }

  std::string Head() const {
    std::string text = "#version 450\n";
    if (f16_) {
      text +=
          "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
          "#extension GL_EXT_shader_16bit_storage : require\n";
    }
    if (subgroups_) {
      for (const char* part : {"basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative"}) {
        text += std::string("#extension GL_KHR_shader_subgroup_") + part + " : require\n";
      }
    }
    text += kGlslPrelude;
    if (f16_) text += kGlslPreludeF16;
    return text;
  }

  const ParameterPlace place_;
  std::string out_;
  std::string prototypes_;
  bool f16_ = false;
  bool subgroups_ = false;
};

}  // namespace

StatusOr<std::string> TranslateToGlsl(std::string_view wgsl, ParameterPlace parameters) {
  Glsl glsl(parameters);
  return shader::TranslateKernel(wgsl, glsl);
}

}  // namespace tandem::vulkan
