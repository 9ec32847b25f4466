// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernel_expressions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tandem/message.h"

namespace tandem::shader {
namespace {

// "f32" of "vec4f"; empty if it is no such name.
std::string_view ScalarOfShortName(std::string_view name) {
  if (name.size() != 5 || !name.starts_with("vec") || name[3] < '2' || name[3] > '4') return {};
  switch (name[4]) {
    case 'f':
      return "f32";
    case 'i':
      return "i32";
    case 'u':
      return "u32";
    case 'h':
      return "f16";
    default:
      return {};
  }
}

// Functions whose first argument is the address of an atomic, and how many others there are.
struct AtomicFunction {
  std::string_view name;
  size_t num_values;
};
constexpr AtomicFunction kAtomics[] = {
    {"atomicAdd", 1},      {"atomicAnd", 1},  {"atomicCompareExchangeWeak", 2},
    {"atomicExchange", 1}, {"atomicLoad", 0}, {"atomicMax", 1},
    {"atomicMin", 1},      {"atomicOr", 1},   {"atomicStore", 1},
    {"atomicSub", 1},      {"atomicXor", 1},
};

const AtomicFunction* FindAtomic(std::string_view name) {
  const auto* const found = std::ranges::find(kAtomics, name, &AtomicFunction::name);
  return found == std::end(kAtomics) ? nullptr : found;
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

}  // namespace

std::string JoinedByCommas(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += ", ";
    text += part;
  }
  return text;
}

void KernelExpressions::Fail(std::string_view expected) {
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

bool KernelExpressions::Accept(std::string_view text) {
  if (!Is(text)) return false;
  ++at_;
  return true;
}

void KernelExpressions::Expect(std::string_view text) {
  if (!Accept(text)) Fail("\"" + std::string(text) + "\"");
}

std::string_view KernelExpressions::ExpectName() {
  if (token().kind != Token::Kind::kIdentifier) {
    Fail("a name");
    return {};
  }
  const std::string_view name = token().text;
  ++at_;
  return name;
}

// Of `>>` and `>=`, only the first half is taken.
void KernelExpressions::AcceptClosingAngle() {
  Token& token = tokens_[at_];
  if (token.kind == Token::Kind::kSymbol && token.text.size() > 1 && token.text[0] == '>') {
    token.text.remove_prefix(1);
  } else {
    Expect(">");
  }
}

KernelType KernelExpressions::ReadType() {
  const std::string_view name = token().text;
  if (token().kind != Token::Kind::kIdentifier) {
    Fail("a type");
    return {};
  }
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) {
    ++at_;
    return alias->second;
  }
  if (const std::string_view scalar = dialect_.Scalar(name); !scalar.empty()) {
    ++at_;
    return {std::string(scalar), {}};
  }
  if (const std::string_view scalar = dialect_.Scalar(ScalarOfShortName(name)); !scalar.empty()) {
    ++at_;
    return {dialect_.Vector(scalar, name[3]), {}};
  }
  if (name != "atomic" && name != "array" && !IsVectorName(name)) {
    Fail("a type");
    return {};
  }
  ++at_;
  Expect("<");
  KernelType type = Enter("types") ? ReadType() : KernelType();
  Leave();
  if (name == "array") {
    type.extents.insert(type.extents.begin(), Accept(",") ? ReadBinary(kAdditiveLevel) : std::string());
    Accept(",");
  } else if (IsVectorName(name)) {
    type.base = dialect_.Vector(type.base, name[3]);
  }
  AcceptClosingAngle();
  return type;
}

std::string KernelExpressions::ReadConstant() {
  constant_ = true;
  std::string text = ReadExpression();
  constant_ = false;
  return text;
}

std::vector<std::string> KernelExpressions::ReadArguments() {
  std::vector<std::string> arguments;
  Expect("(");
  while (!Is(")") && !AtEnd()) {
    arguments.push_back(ReadExpression());
    if (!Accept(",")) break;
  }
  Expect(")");
  return arguments;
}

bool KernelExpressions::Enter(std::string_view what) {
  constexpr int kMostDeep = 100;
  if (++depth_ <= kMostDeep) return true;
  Fail("fewer " + std::string(what) + " within each other");
  return false;
}

std::string KernelExpressions::ReadExpression() {
  std::string text = Enter("expressions") ? ReadBinary(0) : std::string();
  Leave();
  return text;
}

std::string KernelExpressions::ReadBinary(int level) {
  if (level > kMultiplicativeLevel) return ReadUnary();
  std::string left = ReadBinary(level + 1);
  while (IsOperatorOf(level, token())) {
    const std::string op(token().text);
    ++at_;
    const bool is_number = token().kind == Token::Kind::kNumber;
    const std::string right = ReadBinary(level + 1);
    left = dialect_.Binary(op, left, right, is_number);
  }
  return left;
}

std::string KernelExpressions::ReadUnary() {
  for (const std::string_view op : {"-", "!", "~"}) {
    if (!Accept(op)) continue;
    std::string text = Enter("expressions") ? dialect_.Unary(op, ReadUnary()) : std::string();
    Leave();
    return text;
  }
  return ReadPrimary();
}

std::string KernelExpressions::ReadPrimary() {
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

std::string KernelExpressions::ReadMembers(std::string expression) {
  while (true) {
    if (Accept(".")) {
      expression = dialect_.Component(expression, ExpectName());
    } else if (Accept("[")) {
      expression += "[" + ReadExpression() + "]";
      Expect("]");
    } else {
      return expression;
    }
  }
}

std::string KernelExpressions::ReadNumber() {
  std::string text(token().text);
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex && text.find_first_of(".pP") != std::string::npos) {
    Fail("a decimal number");
    return {};
  }
  ++at_;
  if (!is_hex && text.ends_with("lf") && !dialect_.Scalar("f64").empty()) {
    text.resize(text.size() - 2);
    return dialect_.Number(std::move(text), 'd');
  }
  char suffix = text.back();
  const bool has_suffix = suffix == 'i' || suffix == 'u' || suffix == 'h' || (suffix == 'f' && !is_hex);
  if (has_suffix) {
    text.pop_back();
  } else {
    suffix = 0;
  }
  return dialect_.Number(std::move(text), suffix);
}

std::string KernelExpressions::ReadCall(std::string_view name) {
  if (functions_.contains(name)) {
    ++at_;
    return Rename(name) + "(" + JoinedByCommas(ReadArguments()) + ")";
  }
  if (const std::string_view function = dialect_.Function(name); !function.empty()) {
    ++at_;
    return std::string(function) + "(" + JoinedByCommas(ReadArguments()) + ")";
  }
  if (FindAtomic(name) != nullptr) return ReadAtomic(name);
  if (name == "bitcast") return ReadBitcast();
  if ((IsVectorName(name) || name == "array") && Next().text == "(") {
    Fail("the type of elements, as in vec4<f32>");
    return {};
  }
  const bool is_type = aliases_.contains(name) || !dialect_.Scalar(name).empty() || name == "array" ||
                       IsVectorName(name) || !ScalarOfShortName(name).empty();
  if (!is_type) {
    Fail("a function of the kernels' language");
    return {};
  }
  const KernelType type = ReadType();
  return dialect_.Made(type, ReadArguments(), constant_);
}

std::string KernelExpressions::ReadBitcast() {
  Expect("bitcast");
  Expect("<");
  const KernelType type = ReadType();
  AcceptClosingAngle();
  return dialect_.Bitcast(type, JoinedByCommas(ReadArguments()));
}

std::string KernelExpressions::ReadAtomic(std::string_view name) {
  ++at_;
  Expect("(");
  Expect("&");
  const std::string place = ReadUnary();
  std::vector<std::string> values;
  while (Accept(",") && !Is(")")) values.push_back(ReadExpression());
  Expect(")");
  if (values.size() != FindAtomic(name)->num_values) {
    Fail("another number of arguments of " + std::string(name));
    return {};
  }
  const std::string call = dialect_.Atomic(name, place, values);
  if (name != "atomicCompareExchangeWeak") return call;
  Expect(".");
  if (Accept("old_value")) return call;
  Expect("exchanged");
  return "(" + call + " == " + values[0] + ")";
}

}  // namespace tandem::shader
