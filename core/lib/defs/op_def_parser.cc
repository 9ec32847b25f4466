// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The grammar of op definitions, which is that of TensorFlow's REGISTER_OP, read by recursive descent.

#include "defs/op_def_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace tandem::internal {
namespace {

// Independent of the C locale, unlike <cctype>.
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
bool IsWordChar(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }
bool IsNumberChar(char c) { return IsWordChar(c) || c == '.' || c == '+' || c == '-'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads a spec from left to right; white space between tokens is skipped.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // What is left, without leading white space.
  std::string_view rest() {
    while (!rest_.empty() && IsSpace(rest_.front())) rest_.remove_prefix(1);
    return rest_;
  }
  bool Consume(std::string_view symbol) {
    if (!rest().starts_with(symbol)) return false;
    rest_.remove_prefix(symbol.size());
    return true;
  }
  // Consumes "keyword(", where white space may be in between.
  bool ConsumeCall(std::string_view keyword) {
    const Scanner before = *this;
    if (Word() == keyword && Consume("(")) return true;
    *this = before;
    return false;
  }
  // Letters, digits and underscores; empty if something else comes next.
  std::string_view Word() { return TakeWhile(IsWordChar); }
  std::string_view Number() { return TakeWhile(IsNumberChar); }

  Status Expect(std::string_view symbol) {
    if (Consume(symbol)) return Status();
    return Unexpected("'", symbol, "'");
  }
  template <typename... Parts>
  Status Unexpected(const Parts&... expected) {
    if (rest().empty()) return InvalidArgument("expected ", expected..., ", got the end");
    return InvalidArgument("expected ", expected..., ", got '", rest_, "'");
  }

 private:
  std::string_view TakeWhile(bool (*matches)(char)) {
    const std::string_view text = rest();
    size_t size = 0;
    while (size < text.size() && matches(text[size])) ++size;
    rest_.remove_prefix(size);
    return text.substr(0, size);
  }

  std::string_view rest_;
};

bool AtQuote(Scanner& in) { return in.rest().starts_with('\'') || in.rest().starts_with('"'); }

// 'text' or "text", with the escapes \\ \' \" \n \t.
Status ParseQuoted(Scanner& in, std::string* out) {
  if (!AtQuote(in)) return in.Unexpected("a quoted string");
  const std::string_view text = in.rest();
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == text[0]) {
      in.Consume(text.substr(0, i + 1));
      *out = std::move(value);
      return Status();
    }
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    if (++i == text.size()) break;
    switch (text[i]) {
      case '\\':
      case '\'':
      case '"':
        value += text[i];
        break;
      case 'n':
        value += '\n';
        break;
      case 't':
        value += '\t';
        break;
      default:
        return InvalidArgument("unknown escape '\\", text[i], "' in a string");
    }
  }
  return InvalidArgument("expected a closing quote of ", text);
}

Status ParseInt(Scanner& in, std::string_view what, int64_t* out) {
  Scanner before = in;
  const std::string_view text = in.Number();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  if (error == std::errc::result_out_of_range) return InvalidArgument(what, " ", text, " does not fit in 64 bits");
  if (error != std::errc() || stop != end || text.empty()) return before.Unexpected(what);
  return Status();
}

// The decimal number `text` as digits and a power of ten: "-15e-4" for "-1.5e-3". Empty if it is not one.
std::string WithoutDecimalPoint(std::string_view text) {
  std::string result;
  const auto take_digits = [&] {
    const size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    result += text.substr(0, size);
    text.remove_prefix(size);
    return static_cast<int64_t>(size);
  };
  if (text.starts_with('-')) {
    result += '-';
    text.remove_prefix(1);
  }
  int64_t num_digits = take_digits();
  int64_t exponent = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const int64_t num_decimals = take_digits();
    num_digits += num_decimals;
    exponent = -num_decimals;
  }
  if (num_digits == 0) return {};
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(text.substr(1).starts_with('+') ? 2 : 1);
    int32_t written = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), written);
    if (error != std::errc()) return {};
    text.remove_prefix(static_cast<size_t>(stop - text.data()));
    exponent += written;
  }
  if (!text.empty()) return {};
  return result + 'e' + std::to_string(exponent);
}

// The number that WithoutDecimalPoint has written.
float ReadDigits(const std::string& digits) {
#ifdef TANDEM_SMALL
  // Right where digits and power of ten are exact as doubles, as those of defaults are. strtof is 10 KB.
  const bool is_negative = digits[0] == '-';
  double number = 0;
  size_t i = is_negative ? 1 : 0;
  for (; digits[i] != 'e'; ++i) number = number * 10 + (digits[i] - '0');
  int32_t exponent = 0;
  std::from_chars(digits.data() + i + 1, digits.data() + digits.size(), exponent);
  double power = 1;
  for (int32_t left = std::min(std::abs(exponent), 400); left > 0; --left) power *= 10;
  number = exponent < 0 ? number / power : number * power;
  return static_cast<float>(is_negative ? -number : number);
#else
  return std::strtof(digits.c_str(), nullptr);
#endif
}

Status ParseFloat(Scanner& in, float* out) {
  Scanner before = in;
  const std::string_view text = in.Number();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  if (text == "inf" || text == "-inf") {
    *out = text[0] == '-' ? -kInf : kInf;
    return Status();
  }
  if (text == "nan") {
    *out = std::numeric_limits<float>::quiet_NaN();
    return Status();
  }
  // strtof reads the decimal point of the C locale, which the program around us may have changed.
  const std::string digits = WithoutDecimalPoint(text);
  if (digits.empty()) return before.Unexpected("a number");
  *out = ReadDigits(digits);
  if (std::isinf(*out)) return InvalidArgument("number ", text, " does not fit in f32");
  return Status();
}

// "DT_FLOAT", "float" or "f32".
Status ParseDTypeValue(Scanner& in, DType* out) {
  Scanner before = in;
  const std::string_view word = in.Word();
  std::string name(word);
  if (name.starts_with("DT_") && std::none_of(name.begin(), name.end(), IsLower)) {
    name.erase(0, 3);
    for (char& c : name) c = IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const std::optional<DType> dtype = ParseDType(name);
  if (word.empty()) return before.Unexpected("a dtype");
  if (!dtype) return InvalidArgument("unknown dtype ", word);
  *out = *dtype;
  return Status();
}

Status AppendDim(Scanner& in, TensorShape* shape) {
  int64_t dim = 0;
  TANDEM_RETURN_IF_ERROR(ParseInt(in, "a dimension", &dim));
  if (dim < -1) return InvalidArgument("expected a dimension of at least 0, or -1 for an unknown one, got ", dim);
  if (shape->rank() == TensorShape::kMaxRank) {
    return InvalidArgument("expected a shape of at most ", TensorShape::kMaxRank, " dimensions");
  }
  shape->Append(dim);
  return Status();
}

// [2, -1], or as protocol buffer text: { dim { size: 2 } dim { size: -1 } }.
Status ParseShape(Scanner& in, TensorShape* out) {
  TensorShape shape;
  if (in.Consume("{")) {
    while (!in.Consume("}")) {
      Scanner before = in;
      const std::string_view field = in.Word();
      if (field == "unknown_rank")
        return InvalidArgument("a shape of unknown rank has no value, leave the default out");
      if (field != "dim") return before.Unexpected("'dim' or '}'");
      TANDEM_RETURN_IF_ERROR(in.Expect("{"));
      TANDEM_RETURN_IF_ERROR(in.Expect("size"));
      TANDEM_RETURN_IF_ERROR(in.Expect(":"));
      TANDEM_RETURN_IF_ERROR(AppendDim(in, &shape));
      TANDEM_RETURN_IF_ERROR(in.Expect("}"));
    }
  } else {
    if (!in.Consume("[")) return in.Unexpected("a shape such as [2, -1]");
    if (!in.Consume("]")) {
      do {
        TANDEM_RETURN_IF_ERROR(AppendDim(in, &shape));
      } while (in.Consume(","));
      TANDEM_RETURN_IF_ERROR(in.Expect("]"));
    }
  }
  *out = shape;
  return Status();
}

Status ParseBool(Scanner& in, int64_t* out) {
  if (const std::string_view word = Scanner(in).Word(); word != "true" && word != "false") {
    return in.Unexpected("true or false");
  }
  *out = in.Word() == "true";
  return Status();
}

// One element of a default, checked against what the attribute allows.
Status ParseDefaultElement(Scanner& in, const AttrDef& def, AttrDefault* out) {
  switch (def.kind) {
    case AttrKind::kBool:
      return ParseBool(in, &out->ints.emplace_back());
    case AttrKind::kInt:
      return ParseInt(in, "an integer", &out->ints.emplace_back());
    case AttrKind::kFloat:
      return ParseFloat(in, &out->floats.emplace_back());
    case AttrKind::kShape:
      return ParseShape(in, &out->shapes.emplace_back());
    case AttrKind::kFunction:
      return ParseQuoted(in, &out->strings.emplace_back());
    case AttrKind::kType: {
      DType& dtype = out->dtypes.emplace_back();
      TANDEM_RETURN_IF_ERROR(ParseDTypeValue(in, &dtype));
      if (def.allowed_dtypes.Contains(dtype)) return Status();
      return InvalidArgument("default ", dtype, " is not one of ", def.allowed_dtypes);
    }
    case AttrKind::kString: {
      std::string& value = out->strings.emplace_back();
      TANDEM_RETURN_IF_ERROR(ParseQuoted(in, &value));
      const std::vector<std::string>& allowed = def.allowed_strings;
      if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return Status();
      return InvalidArgument("default '", value, "' is not one of the allowed strings");
    }
    case AttrKind::kTensor:
      return InvalidArgument("a tensor attribute cannot have a default");
    case AttrKind::kAny:
      return InvalidArgument("an attribute of any kind cannot have a default");
  }
  return Status();
}

Status ParseDefault(Scanner& in, const AttrDef& def, AttrDefault* out) {
  if (!def.is_list) {
    TANDEM_RETURN_IF_ERROR(ParseDefaultElement(in, def, out));
    if (!def.has_minimum || out->ints[0] >= def.minimum) return Status();
    return InvalidArgument("default ", out->ints[0], " is below the minimum ", def.minimum);
  }
  if (!in.Consume("[")) return in.Unexpected("a list in brackets");
  int64_t length = 0;
  if (!in.Consume("]")) {
    do {
      TANDEM_RETURN_IF_ERROR(ParseDefaultElement(in, def, out));
      ++length;
    } while (in.Consume(","));
    TANDEM_RETURN_IF_ERROR(in.Expect("]"));
  }
  if (def.has_minimum && length < def.minimum) {
    return InvalidArgument("default has length ", length, ", below the minimum ", def.minimum);
  }
  return Status();
}

struct TypeSetName {
  std::string_view name;
  DTypeSet dtypes;
};
constexpr TypeSetName kTypeSets[] = {
    {"numbertype", kNumericDTypes},
    {"numerictype", kNumericDTypes},
    {"realnumbertype", kRealDTypes},
    {"realnumerictype", kRealDTypes},
};

struct KindName {
  std::string_view name;
  AttrKind kind;
};
constexpr KindName kKinds[] = {
    {"type", AttrKind::kType},     {"int", AttrKind::kInt},       {"float", AttrKind::kFloat},
    {"bool", AttrKind::kBool},     {"string", AttrKind::kString}, {"shape", AttrKind::kShape},
    {"tensor", AttrKind::kTensor}, {"func", AttrKind::kFunction}, {"any", AttrKind::kAny},
};

const DTypeSet* FindTypeSet(std::string_view name) {
  for (const TypeSetName& set : kTypeSets) {
    if (set.name == name) return &set.dtypes;
  }
  return nullptr;
}

Status ParseAllowedStrings(Scanner& in, AttrDef* def) {
  def->kind = AttrKind::kString;
  do {
    std::string value;
    TANDEM_RETURN_IF_ERROR(ParseQuoted(in, &value));
    std::vector<std::string>& allowed = def->allowed_strings;
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
      return InvalidArgument("'", value, "' is in the set twice");
    }
    allowed.push_back(std::move(value));
  } while (in.Consume(","));
  return in.Expect("}");
}

Status ParseAllowedDTypes(Scanner& in, AttrDef* def) {
  def->kind = AttrKind::kType;
  def->allowed_dtypes = DTypeSet();
  do {
    if (const DTypeSet* set = FindTypeSet(Scanner(in).Word())) {
      in.Word();
      def->allowed_dtypes = def->allowed_dtypes | *set;
      continue;
    }
    DType dtype = DType::kInvalid;
    TANDEM_RETURN_IF_ERROR(ParseDTypeValue(in, &dtype));
    if (def->allowed_dtypes.Contains(dtype)) return InvalidArgument("dtype ", dtype, " is in the set twice");
    def->allowed_dtypes.Insert(dtype);
  } while (in.Consume(","));
  return in.Expect("}");
}

// The kind of an attribute or of a list's elements.
Status ParseKind(Scanner& in, AttrDef* def) {
  if (in.Consume("{")) {
    if (in.Consume("}")) return InvalidArgument("expected dtypes or strings in the set, got none");
    return AtQuote(in) ? ParseAllowedStrings(in, def) : ParseAllowedDTypes(in, def);
  }
  Scanner before = in;
  const std::string_view word = in.Word();
  for (const KindName& kind : kKinds) {
    if (kind.name != word) continue;
    def->kind = kind.kind;
    return Status();
  }
  if (const DTypeSet* set = FindTypeSet(word)) {
    def->kind = AttrKind::kType;
    def->allowed_dtypes = *set;
    return Status();
  }
  return before.Unexpected("a kind (type, int, float, bool, string, shape, tensor, func, any, list(...) or a set)");
}

Status ParseMinimum(Scanner& in, AttrDef* def) {
  if (!def->is_list && def->kind != AttrKind::kInt)
    return InvalidArgument("only int and list attributes have a minimum");
  TANDEM_RETURN_IF_ERROR(ParseInt(in, "the minimum as an integer", &def->minimum));
  if (def->is_list && def->minimum < 0) {
    return InvalidArgument("expected a minimum length of at least 0, got ", def->minimum);
  }
  def->has_minimum = true;
  return Status();
}

Status ParseName(Scanner& in, std::string_view what, bool upper_case, std::string* out) {
  Scanner before = in;
  const std::string_view name = in.Word();
  const auto is_allowed = [upper_case](char c) { return upper_case || !IsUpper(c); };
  if (name.empty() || !IsLetter(name.front()) || !std::all_of(name.begin(), name.end(), is_allowed)) {
    return before.Unexpected(what, " of ", upper_case ? "" : "lower case ", "letters, digits and underscores");
  }
  *out = name;
  return in.Expect(":");
}

Status ExpectEnd(Scanner& in) { return in.rest().empty() ? Status() : in.Unexpected("the end"); }

}  // namespace

Status ParseArgSpec(std::string_view spec, ParsedArg* out) {
  Scanner in(spec);
  TANDEM_RETURN_IF_ERROR(ParseName(in, "a name", /*upper_case=*/false, &out->name));
  std::string_view type = in.Word();
  if (type.empty()) return in.Unexpected("a dtype or an attribute's name");
  if (in.Consume("*")) {
    out->number = type;
    type = in.Word();
    if (type.empty()) return in.Unexpected("a dtype or an attribute's name");
  }
  out->type = type;
  return ExpectEnd(in);
}

Status ParseAttrSpec(std::string_view spec, ParsedAttr* out) {
  AttrDef& def = out->def;
  def.spec = spec;
  Scanner in(spec);
  TANDEM_RETURN_IF_ERROR(ParseName(in, "a name", /*upper_case=*/true, &def.name));
  if (ParseDType(def.name) || def.name == "any") {
    return InvalidArgument("the name ", def.name, " is taken: in arguments it is a dtype");
  }
  if (in.ConsumeCall("list")) {
    def.is_list = true;
    TANDEM_RETURN_IF_ERROR(ParseKind(in, &def));
    if (def.kind == AttrKind::kAny) return InvalidArgument("expected lists of one kind, got list(any)");
    TANDEM_RETURN_IF_ERROR(in.Expect(")"));
  } else {
    TANDEM_RETURN_IF_ERROR(ParseKind(in, &def));
  }
  if (in.Consume(">=")) TANDEM_RETURN_IF_ERROR(ParseMinimum(in, &def));
  if (in.Consume("=")) {
    TANDEM_RETURN_IF_ERROR(ParseDefault(in, def, &out->default_value));
    def.has_default = true;
  }
  return ExpectEnd(in);
}

bool IsOpName(std::string_view name) {
  int num_parts = 0;
  while (true) {
    const size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    if (part.empty() || IsDigit(part.front()) || !std::all_of(part.begin(), part.end(), IsWordChar)) return false;
    ++num_parts;
    if (dot == name.npos) return num_parts >= 2;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace tandem::internal
