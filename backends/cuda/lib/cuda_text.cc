// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernel_dialect.h"
#include "kernel_expressions.h"
#include "kernel_translation.h"

namespace tandem::cuda {
namespace {

using shader::JoinedByCommas;
using shader::KernelType;

struct Names {
  std::string_view wgsl;
  std::string_view cuda;
};

constexpr Names kScalars[] = {
    {"f32", "float"},      {"i32", "int"},       {"u32", "unsigned"},     {"bool", "bool"},
    {"f16", "w_half"},     {"f64", "double"},    {"i64", "long long"},    {"u64", "unsigned long long"},
    {"i8", "signed char"}, {"i16", "short"},     {"u8", "unsigned char"}, {"u16", "unsigned short"},
    {"bf16", "w_bf16"},    {"c64", "w_complex"},
};

// The places are told by sizes that the compiler knows.
constexpr Names kBuiltinValues[] = {
    {"global_invocation_id", "w_global_place(w_size_x, w_size_y, w_size_z)"},
    {"local_invocation_id", "w_vec<unsigned, 3>(threadIdx.x, threadIdx.y, threadIdx.z)"},
    {"workgroup_id", "w_vec<unsigned, 3>(blockIdx.x, blockIdx.y, blockIdx.z)"},
    {"num_workgroups", "w_vec<unsigned, 3>(gridDim.x, gridDim.y, gridDim.z)"},
    {"local_invocation_index", "w_local_index(w_size_x, w_size_y)"},
    {"subgroup_invocation_id", "w_lane()"},
    {"subgroup_size", "32u"},
};

constexpr Names kOperators[] = {
    {"+", "w_add"}, {"-", "w_sub"}, {"*", "w_mul"},  {"/", "w_div"},  {"%", "w_mod"}, {"&", "w_and"},
    {"|", "w_or"},  {"^", "w_xor"}, {"<<", "w_shl"}, {">>", "w_shr"}, {"==", "w_eq"}, {"!=", "w_ne"},
    {"<", "w_lt"},  {">", "w_gt"},  {"<=", "w_le"},  {">=", "w_ge"},
};

// Built-in functions, as the prelude calls them.
constexpr std::string_view kFunctions[] = {
    "w_abs",
    "w_acos",
    "w_acosh",
    "w_all",
    "w_any",
    "w_asin",
    "w_asinh",
    "w_atan",
    "w_atan2",
    "w_atanh",
    "w_ceil",
    "w_clamp",
    "w_copysign",
    "w_cos",
    "w_cosh",
    "w_countLeadingZeros",
    "w_countOneBits",
    "w_countTrailingZeros",
    "w_cross",
    "w_degrees",
    "w_distance",
    "w_dot",
    "w_erf",
    "w_erfc",
    "w_exp",
    "w_exp2",
    "w_expm1",
    "w_extractBits",
    "w_firstLeadingBit",
    "w_firstTrailingBit",
    "w_floor",
    "w_fma",
    "w_fract",
    "w_imag_of",
    "w_insertBits",
    "w_inverseSqrt",
    "w_ldexp",
    "w_length",
    "w_log",
    "w_log1p",
    "w_log2",
    "w_max",
    "w_min",
    "w_mix",
    "w_nextafter",
    "w_normalize",
    "w_pack2x16float",
    "w_pow",
    "w_radians",
    "w_real_of",
    "w_reverseBits",
    "w_round",
    "w_saturate",
    "w_select",
    "w_sign",
    "w_sin",
    "w_sinh",
    "w_smoothstep",
    "w_sqrt",
    "w_step",
    "w_storageBarrier",
    "w_subgroupAdd",
    "w_subgroupAll",
    "w_subgroupAnd",
    "w_subgroupAny",
    "w_subgroupBroadcast",
    "w_subgroupBroadcastFirst",
    "w_subgroupElect",
    "w_subgroupExclusiveAdd",
    "w_subgroupInclusiveAdd",
    "w_subgroupMax",
    "w_subgroupMin",
    "w_subgroupMul",
    "w_subgroupOr",
    "w_subgroupShuffle",
    "w_subgroupShuffleDown",
    "w_subgroupShuffleUp",
    "w_subgroupShuffleXor",
    "w_subgroupXor",
    "w_tan",
    "w_tanh",
    "w_trunc",
    "w_unpack2x16float",
    "w_workgroupBarrier",
};
constexpr size_t kPrefix = 2;

template <size_t N>
std::string_view Find(const Names (&names)[N], std::string_view wgsl) {
  const auto* const found = std::ranges::find(names, wgsl, &Names::wgsl);
  return found == std::end(names) ? std::string_view() : found->cuda;
}

bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether `text` has `name` as a word.
bool Mentions(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !IsNamePart(text[at - 1]);
    if (begins && (end == text.size() || !IsNamePart(text[end]))) return true;
  }
  return false;
}

// Of element `first` and the extents behind it.
std::string TypeText(const KernelType& type, size_t first = 0) {
  std::string text = type.base;
  for (size_t i = type.extents.size(); i-- > first;) text = "w_array<" + text + ", " + type.extents[i] + ">";
  return text;
}

class Cuda final : public shader::KernelDialect {
 public:
  explicit Cuda(std::string_view name) : name_(name) {}

  std::string Rename(std::string_view name) const override { return std::string(name) + "_v"; }

  std::string_view Scalar(std::string_view name) const override { return Find(kScalars, name); }
  std::string Vector(std::string_view scalar, char size) const override {
    return "w_vec<" + std::string(scalar) + ", " + size + ">";
  }
  std::string Declared(const KernelType& type, std::string_view name) const override {
    return TypeText(type) + " " + std::string(name);
  }

  std::string_view Function(std::string_view name) const override {
    const auto* const found =
        std::ranges::find(kFunctions, name, [](std::string_view function) { return function.substr(kPrefix); });
    return found == std::end(kFunctions) ? std::string_view() : *found;
  }
  std::string_view BuiltinValue(std::string_view name) const override { return Find(kBuiltinValues, name); }

  std::string Number(std::string text, char suffix) const override {
    const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
    const bool is_integer = is_hex || text.find_first_of(".eE") == std::string::npos;
    // As large as only -2147483648 and numbers of type u32 are.
    const bool is_plain = text.find_first_not_of("0123456789") == std::string::npos;
    const bool is_large = is_plain && (text.size() > 10 || (text.size() == 10 && text > "2147483647"));
    if (suffix == 'u') return text + "u";
    if (suffix == 'd') return text + (is_integer ? ".0" : "");
    if (suffix == 'h') return "w_to<w_half>(" + text + (is_integer ? ".0f)" : "f)");
    if (suffix == 'f' || !is_integer) return text + (is_integer ? ".0f" : "f");
    return is_large ? "static_cast<int>(" + text + "u)" : text;
  }
  std::string Unary(std::string_view op, const std::string& operand) const override {
    return (op == "-" ? "w_neg(" : op == "~" ? "w_not(" : "w_lnot(") + operand + ")";
  }
  std::string Binary(std::string_view op, const std::string& left, const std::string& right,
                     bool /*right_is_number*/) const override {
    const std::string_view function = Find(kOperators, op);
    if (function.empty()) return "(" + left + " " + std::string(op) + " " + right + ")";
    return std::string(function) + "(" + left + ", " + right + ")";
  }
  std::string Component(const std::string& vector, std::string_view member) const override {
    std::string places;
    for (const char c : member) {
      const size_t place = std::min(std::string_view("xyzw").find(c), std::string_view("rgba").find(c));
      places += (places.empty() ? "" : ", ") + std::to_string(std::min<size_t>(place, 4));
    }
    return member.size() == 1 ? vector + "[" + places + "]" : "w_swizzle<" + places + ">(" + vector + ")";
  }
  std::string Made(const KernelType& type, const std::vector<std::string>& arguments, bool constant) const override {
    const std::string text = TypeText(type);
    if (arguments.empty()) return text + "{}";
    const std::string list = JoinedByCommas(arguments);
    if (!type.extents.empty()) return text + "{{" + list + "}}";
    if (type.base.starts_with("w_vec<")) return text + "(" + list + ")";
    if (type.base == "w_complex" && arguments.size() == 2) return text + "(" + list + ")";
    const bool is_constant = constant && type.base != "w_half" && type.base != "w_bf16";
    return (is_constant ? "static_cast<" : "w_to<") + text + ">(" + list + ")";
  }
  std::string Bitcast(const KernelType& type, const std::string& value) const override {
    return "w_bitcast<" + TypeText(type) + ">(" + value + ")";
  }
  std::string Atomic(std::string_view name, const std::string& place,
                     const std::vector<std::string>& values) const override {
    std::string text = "w_" + std::string(name) + "(&" + place;
    for (const std::string& value : values) text += ", " + value;
    return text + ")";
  }

  std::string Assigned(std::string_view op, const std::string& left, const std::string& right,
                       bool right_is_number) const override {
    op.remove_suffix(1);
    return left + " = " + Binary(op, left, right, right_is_number);
  }
  std::string ZeroVariable(const KernelType& type, const std::string& name) const override {
    return Declared(type, name) + " = {}";
  }
  std::string Variable(const KernelType& type, const std::string& name, const std::string& value,
                       bool is_constant) const override {
    const std::string declared = (is_constant ? "const " : "") + Declared(type, name) + " = ";
    // In C++ the name is already the variable's in its own value; in WGSL it is still another's.
    if (!Mentions(value, name)) return declared + value;
    return TypeText(type) + " w_before_" + name + " = " + value + "; " + declared + "w_before_" + name;
  }

  void DeclareConstant(const KernelType& type, const std::string& name, const std::string& value) override {
    const bool is_scalar = type.extents.empty() && !type.base.starts_with("w_");
    // Others are members, since memory of the device has no constants that are computed.
    if (is_scalar) {
      scope_ += mark_ + "constexpr " + Declared(type, name) + " = " + value + ";";
    } else {
      constants_ += mark_ + "const " + Declared(type, name) + " = " + value + ";";
    }
  }
  void DeclareBuffer(const KernelType& type, const std::string& name, std::string_view binding,
                     bool is_written) override {
    const std::string element = (is_written ? "" : "const ") + TypeText(type, 1);
    Argument argument;
    argument.binding = binding;
    argument.parameter = element + "* __restrict__ " + name;
    argument.member = element + (type.extents.empty() ? "& " : "* ") + name;
    argument.value = (type.extents.empty() ? "*" : "") + name;
    arguments_.push_back(std::move(argument));
  }
  void DeclareShared(const KernelType& type, const std::string& name) override {
    scope_ += mark_ + "__shared__ " + Declared(type, name) + ";";
  }
  void DeclareParameters(std::span<const Member> members, const std::string& struct_name, const std::string& name,
                         std::string_view binding) override {
    scope_ += "\nstruct " + struct_name + " {";
    for (const Member& member : members) scope_ += " " + Declared(member.type, member.name) + ";";
    scope_ += " };";
    arguments_.push_back({std::string(binding), "const __grid_constant__ " + struct_name + " " + name,
                          "const " + struct_name + "& " + name, name});
  }
  void DeclareFunction(const KernelType& result, const std::string& name, std::span<const Member> parameters,
                       const std::string& body) override {
    std::string list;
    for (const Member& parameter : parameters) {
      list += (list.empty() ? "" : ", ") + Declared(parameter.type, parameter.name);
    }
    functions_ += mark_ + "W_FN " + TypeText(result) + " " + name + "(" + list + ") " + body;
  }
  void DeclareMain(std::span<const std::string> workgroup_size, const std::string& values,
                   const std::string& body) override {
    for (size_t i = 0; i < workgroup_size_.size() && i < workgroup_size.size(); ++i) {
      workgroup_size_[i] = workgroup_size[i];
    }
    functions_ += mark_ + "W_FN void main_v() {" + values + body + "}";
  }
  bool Enable(std::string_view extension) override { return extension == "f16" || extension == "subgroups"; }
  void BeginDeclaration(int line) override { mark_ = "\n#line " + std::to_string(line) + "\n"; }

  std::string Finish() override {
    const auto number = [](const std::string& text) {
      uint32_t value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value);
      return value;
    };
    std::ranges::sort(arguments_, {}, [&](const Argument& argument) { return number(argument.binding); });
    std::string members, parameters, values;
    for (const Argument& argument : arguments_) {
      members += argument.member + ";\n";
      parameters += (parameters.empty() ? "" : ", ") + argument.parameter;
      values += (values.empty() ? "" : ", ") + argument.value;
    }
    const auto& [x, y, z] = workgroup_size_;
    return "namespace " + name_ + "_scope {" + scope_ + "\nconstexpr unsigned w_size_x = " + x + ", w_size_y = " + y +
           ", w_size_z = " + z + ";\nstruct Kernel {\n" + members + constants_ + functions_ +
           "\n};\nextern \"C\" __global__ void __launch_bounds__(w_size_x * w_size_y * w_size_z)\n" + name_ + "(" +
           parameters + ") { Kernel{" + values + "}.main_v(); }\n}\n";
  }

 private:
  struct Argument {
    std::string binding;
    std::string parameter;  // of the kernel
    std::string member;     // of the struct that its functions are in
    std::string value;      // of the member
  };

  const std::string name_;
  std::string mark_;
  std::string scope_;
  std::string constants_;
  std::string functions_;
  std::vector<Argument> arguments_;
  std::array<std::string, 3> workgroup_size_ = {"1", "1", "1"};
};

}  // namespace

StatusOr<std::string> TranslateToCuda(std::string_view wgsl, std::string_view name) {
  Cuda cuda(name);
  return shader::TranslateKernel(wgsl, cuda);
}

}  // namespace tandem::cuda
