// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "glsl_expression.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tandem/message.h"

namespace tandem::vulkan {
namespace {

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

// Functions whose first argument is the address of an atomic.
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

// "vec4f" in GLSL; empty if it is no such name.
std::string VectorByShortName(std::string_view name) {
  if (name.size() != 5 || !name.starts_with("vec") || name[3] < '2' || name[3] > '4') return {};
  switch (name[4]) {
    case 'f':
      return VectorOf("float", name[3]);
    case 'i':
      return VectorOf("int", name[3]);
    case 'u':
      return VectorOf("uint", name[3]);
    case 'h':
      return VectorOf("float16_t", name[3]);
    default:
      return {};
  }
}

bool IsVectorName(std::string_view name) { return name == "vec2" || name == "vec3" || name == "vec4"; }

// From loose to tight; each level's operators are left-associative.
constexpr std::array<std::array<std::string_view, 4>, 9> kBinaryLevels = {{
    {"||"},
    {"&&"},
    {"|"},
    {"^"},
    {"&"},
    {"==", "!="},
    {"<", ">", "<=", ">="},
    {"<<", ">>"},
    {"+", "-"},
}};
constexpr int kAdditiveLevel = 8;
constexpr int kMultiplicativeLevel = 9;

bool IsOperatorOf(int level, const Token& token) {
  if (token.kind != Token::Kind::kSymbol) return false;
  if (level == kMultiplicativeLevel) return token.text == "*" || token.text == "/" || token.text == "%";
  return std::ranges::find(kBinaryLevels[static_cast<size_t>(level)], token.text) !=
         kBinaryLevels[static_cast<size_t>(level)].end();
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += ", ";
    text += part;
  }
  return text;
}

}  // namespace

std::string GlslType::Extents() const {
  std::string text;
  for (const std::string& extent : extents) text += "[" + extent + "]";
  return text;
}

void GlslExpressions::Fail(std::string_view expected) {
  if (!status_.ok()) return;
  MessageBuilder text;
  text.Append("line ", token().line, ": expected ", expected, ", got ");
  if (AtEnd()) {
    text.Append("the end of the text");
  } else {
    AppendQuoted(text, token().text);
  }
  status_ = Status::Error(StatusCode::kInvalidArgument, text.view());
  at_ = tokens_.size() - 1;
}

bool GlslExpressions::Accept(std::string_view text) {
  if (!Is(text)) return false;
  ++at_;
  return true;
}

void GlslExpressions::Expect(std::string_view text) {
  if (!Accept(text)) Fail("\"" + std::string(text) + "\"");
}

std::string_view GlslExpressions::ExpectName() {
  if (token().kind != Token::Kind::kIdentifier) {
    Fail("a name");
    return {};
  }
  const std::string_view name = token().text;
  ++at_;
  return name;
}

// Of `>>` and `>=`, only the first half is taken.
void GlslExpressions::AcceptClosingAngle() {
  Token& token = tokens_[at_];
  if (token.kind == Token::Kind::kSymbol && token.text.size() > 1 && token.text[0] == '>') {
    token.text.remove_prefix(1);
  } else {
    Expect(">");
  }
}

GlslType GlslExpressions::ReadType() {
  const std::string_view name = token().text;
  if (token().kind != Token::Kind::kIdentifier) {
    Fail("a type");
    return {};
  }
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) {
    ++at_;
    return alias->second;
  }
  if (const std::string_view scalar = Find(kScalars, name); !scalar.empty()) {
    ++at_;
    return {std::string(scalar), {}};
  }
  if (std::string vector = VectorByShortName(name); !vector.empty()) {
    ++at_;
    return {std::move(vector), {}};
  }
  if (name != "atomic" && name != "array" && !IsVectorName(name)) {
    Fail("a type");
    return {};
  }
  ++at_;
  Expect("<");
  GlslType type = Enter("types") ? ReadType() : GlslType();
  Leave();
  if (name == "array") {
    type.extents.insert(type.extents.begin(), Accept(",") ? ReadBinary(kAdditiveLevel) : std::string());
    Accept(",");
  } else if (IsVectorName(name)) {
    type.base = VectorOf(type.base, name[3]);
  }
  AcceptClosingAngle();
  return type;
}

std::string GlslExpressions::ReadConstant() {
  constant_ = true;
  std::string text = ReadExpression();
  constant_ = false;
  return text;
}

std::vector<std::string> GlslExpressions::ReadArguments() {
  std::vector<std::string> arguments;
  Expect("(");
  while (!Is(")") && !AtEnd()) {
    arguments.push_back(ReadExpression());
    if (!Accept(",")) break;
  }
  Expect(")");
  return arguments;
}

bool GlslExpressions::Enter(std::string_view what) {
  constexpr int kMostDeep = 100;
  if (++depth_ <= kMostDeep) return true;
  Fail("fewer " + std::string(what) + " within each other");
  return false;
}

std::string GlslExpressions::ReadExpression() {
  std::string text = Enter("expressions") ? ReadBinary(0) : std::string();
  Leave();
  return text;
}

std::string GlslExpressions::ReadBinary(int level) {
  if (level > kMultiplicativeLevel) return ReadUnary();
  std::string left = ReadBinary(level + 1);
  while (IsOperatorOf(level, token())) {
    const std::string op(token().text);
    ++at_;
    const bool is_literal = token().kind == Token::Kind::kNumber;
    std::string right = ReadBinary(level + 1);
    if (op == "%") {
      // GLSL's own has no meaning for negative operands, and none for floats.
      left = "w_mod(" + left + ", " + right + ")";
    } else if ((op == "<<" || op == ">>") && !is_literal) {
      left = "(" + left + " " + op + " (" + right + " & 31u))";
    } else {
      left = "(" + left + " " + op + " " + right + ")";
    }
  }
  return left;
}

std::string GlslExpressions::ReadUnary() {
  for (const std::string_view op : {"-", "!", "~"}) {
    if (!Accept(op)) continue;
    std::string text = Enter("expressions") ? "(" + std::string(op) + ReadUnary() + ")" : std::string();
    Leave();
    return text;
  }
  return ReadPrimary();
}

std::string GlslExpressions::ReadPrimary() {
  if (token().kind == Token::Kind::kNumber) return ReadNumber();
  if (Accept("(")) {
    std::string inner = "(" + ReadExpression() + ")";
    Expect(")");
    return ReadMembers(std::move(inner));
  }
  if (token().kind != Token::Kind::kIdentifier) {
    Fail("an expression");
    return {};
  }
  const std::string_view name = token().text;
  if (name == "true" || name == "false") {
    ++at_;
    return std::string(name);
  }
  if (Next().text == "(" || name == "array" || name == "bitcast" || IsVectorName(name)) {
    return ReadMembers(ReadCall(name));
  }
  ++at_;
  if (name == parameters_ && Is(".")) {
    ++at_;
    return Rename(name) + "." + Rename(ExpectName());
  }
  return ReadMembers(Rename(name));
}

std::string GlslExpressions::ReadMembers(std::string expression) {
  while (true) {
    if (Accept(".")) {
      expression += "." + std::string(ExpectName());
    } else if (Accept("[")) {
      expression += "[" + ReadExpression() + "]";
      Expect("]");
    } else {
      return expression;
    }
  }
}

std::string GlslExpressions::ReadNumber() {
  std::string text(token().text);
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex && text.find_first_of(".pP") != std::string::npos) {
    Fail("a decimal number");
    return {};
  }
  ++at_;
  const char last = text.back();
  if (last == 'i') {
    text.pop_back();
  } else if (last == 'h') {
    text.back() = 'h';
    text.insert(text.size() - 1, text.find_first_of(".e") == std::string::npos ? ".0" : "");
    text.insert(text.size(), "f");
  } else if (last == 'f' && !is_hex && text.find_first_of(".e") == std::string::npos) {
    text.insert(text.size() - 1, ".0");
  }
  // As large as only -2147483648 and numbers of type u32 are.
  const bool is_plain = text.find_first_not_of("0123456789") == std::string::npos;
  if (is_plain && (text.size() > 10 || (text.size() == 10 && text > "2147483647"))) return "int(" + text + "u)";
  return text;
}

std::string GlslExpressions::ReadCall(std::string_view name) {
  if (functions_.contains(name)) {
    ++at_;
    return Rename(name) + "(" + Join(ReadArguments()) + ")";
  }
  if (const std::string_view function = Find(kFunctions, name); !function.empty()) {
    ++at_;
    return std::string(function) + "(" + Join(ReadArguments()) + ")";
  }
  if (!Find(kAtomics, name).empty()) return ReadAtomic(name);
  if (name == "bitcast") {
    ++at_;
    Expect("<");
    const GlslType type = ReadType();
    AcceptClosingAngle();
    return "w_bitcast_" + type.base + "(" + Join(ReadArguments()) + ")";
  }
  if ((IsVectorName(name) || name == "array") && Next().text == "(") {
    Fail("the type of elements, as in vec4<f32>");
    return {};
  }
  const bool is_type = aliases_.contains(name) || !Find(kScalars, name).empty() || name == "array" ||
                       IsVectorName(name) || !VectorByShortName(name).empty();
  if (!is_type) {
    Fail("a function of the kernels' language");
    return {};
  }
  const GlslType type = ReadType();
  const std::vector<std::string> arguments = ReadArguments();
  // GLSL leaves open what becomes of values that do not fit; ours are clamped. It takes no such function as a constant.
  const bool clamps = !constant_ && type.extents.empty() && (type.base == "int" || type.base == "uint");
  if (arguments.empty() && type.extents.empty()) return type.base + "(" + (type.base == "bool" ? "false" : "0") + ")";
  return (clamps ? "w_" : "") + type.base + type.Extents() + "(" + Join(arguments) + ")";
}

std::string GlslExpressions::ReadAtomic(std::string_view name) {
  const std::string function(Find(kAtomics, name));
  ++at_;
  Expect("(");
  Expect("&");
  const std::string place = ReadUnary();
  std::vector<std::string> values;
  while (Accept(",") && !Is(")")) values.push_back(ReadExpression());
  Expect(")");
  const size_t num_values = name == "atomicLoad" ? 0 : name == "atomicCompareExchangeWeak" ? 2 : 1;
  if (values.size() != num_values) {
    Fail("another number of arguments of " + std::string(name));
    return {};
  }
  if (name == "atomicLoad") return function + "(" + place + ", 0)";
  if (name == "atomicSub") return function + "(" + place + ", -(" + values[0] + "))";
  const std::string call = function + "(" + place + ", " + Join(values) + ")";
  if (name != "atomicCompareExchangeWeak") return call;
  Expect(".");
  if (Accept("old_value")) return call;
  Expect("exchanged");
  return "(" + call + " == " + values[0] + ")";
}

}  // namespace tandem::vulkan
