// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lists of attributes by recursive descent, which goes no deeper than lists may be nested.

#include "program_attr_reader.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "defs/attr_conversion.h"
#include "program_number.h"
#include "program_tensor_reader.h"
#include "tandem/attr_entry.h"
#include "tandem/op_attrs.h"

namespace tandem {

namespace {

using Kind = ProgramToken::Kind;

// The elements of an attribute, as they are kept while it is read.
struct AttrValue {
  using Bytes = std::vector<std::byte>;  // of what is copied as it is
  using Texts = std::vector<std::string>;
  using Shapes = std::vector<TensorShape>;
  using Tensors = std::vector<ProgramConstant>;
  using Lists = std::vector<OpAttrsRef>;

  AttrType type = AttrType::kI64;
  bool is_array = false;
  size_t size = 0;
  std::variant<Bytes, Texts, Shapes, Tensors, Lists> elements;

  // The elements as a vector of a type, which they are from then on.
  template <typename Elements>
  Elements& As() {
    if (!std::holds_alternative<Elements>(elements)) elements.template emplace<Elements>();
    return *std::get_if<Elements>(&elements);
  }
};

// By name.
using AttrValues = std::map<std::string, AttrValue>;

// Entries with views into values, which have to stay as they are meanwhile.
class Entries {
 public:
  explicit Entries(AttrValues& values) {
    entries_.reserve(values.size());
    for (auto& [name, value] : values) {
      entries_.push_back({name, value.type, value.is_array, static_cast<uint32_t>(value.size), DataOf(value)});
    }
  }
  std::span<const AttrEntry> entries() const { return entries_; }

 private:
  const void* DataOf(AttrValue& value) {
    switch (value.type) {
      case AttrType::kString:
        return ViewsOf(value.As<AttrValue::Texts>()).data();
      case AttrType::kFunction: {
        std::vector<FunctionAttr>& functions = functions_.emplace_back();
        for (const std::string& name : value.As<AttrValue::Texts>()) functions.push_back({name});
        return functions.data();
      }
      case AttrType::kShape:
        return value.As<AttrValue::Shapes>().data();
      case AttrType::kTensor: {
        std::vector<TensorAttr> tensors;
        for (const ProgramConstant& tensor : value.As<AttrValue::Tensors>()) {
          tensors.push_back({tensor.metadata, tensor.bytes.data(), ViewsOf(tensor.strings)});
        }
        return tensors_.emplace_back(std::move(tensors)).data();
      }
      case AttrType::kAttrs:
        return value.As<AttrValue::Lists>().data();
      default:
        return value.As<AttrValue::Bytes>().data();
    }
  }

  std::span<const std::string_view> ViewsOf(const AttrValue::Texts& texts) {
    return texts_.emplace_back(texts.begin(), texts.end());
  }

  // The elements of what is in these stay where they are when there are more of them.
  std::vector<std::vector<std::string_view>> texts_;
  std::vector<std::vector<FunctionAttr>> functions_;
  std::vector<std::vector<TensorAttr>> tensors_;
  std::vector<AttrEntry> entries_;
};

// What the types of attributes are called behind the colon of an array or a number.
std::optional<AttrType> ParseAttrType(std::string_view name) {
  for (const AttrType type :
       {AttrType::kDType, AttrType::kShape, AttrType::kTensor, AttrType::kFunction, AttrType::kAttrs}) {
    if (name == AttrTypeName(type)) return type;
  }
  const std::optional<DType> dtype = ParseProgramElement(name);
  if (!dtype) return std::nullopt;
  for (const AttrType type :
       {AttrType::kBool, AttrType::kI32, AttrType::kI64, AttrType::kF32, AttrType::kF64, AttrType::kString}) {
    if (*dtype == ElementDType(type)) return type;
  }
  return std::nullopt;
}

// Whether it is one of the types that numbers have.
bool IsNumber(AttrType type) { return type != AttrType::kString && ElementDType(type) != DType::kInvalid; }

class AttrReader {
 public:
  explicit AttrReader(ProgramTokens& tokens) : tokens_(tokens) {}

  Status ReadList(uint32_t depth, RcRef<const FrozenOpAttrs>* attrs) {
    const size_t begin = tokens_.token().offset;
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('{'));
    if (tokens_.Take('}')) return Status();
    if (depth > kMaxAttrDepth) {
      return tokens_.Wrong(begin, "expected lists of attributes in one another at most ", kMaxAttrDepth, " deep");
    }
    AttrValues values;
    do {
      TANDEM_RETURN_IF_ERROR(ReadAttribute(depth, &values));
    } while (tokens_.Take(','));
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('}', "',' or '}'"));
    *attrs = FrozenOpAttrs::Create(Entries(values).entries());
    return *attrs ? Status() : Status::OutOfMemory();
  }

 private:
  Status ReadAttribute(uint32_t depth, AttrValues* values) {
    const ProgramToken& token = tokens_.token();
    if (!tokens_.Is(Kind::kIdentifier) && !tokens_.Is(Kind::kString)) {
      return tokens_.Unexpected("the name of an attribute");
    }
    const auto [place, is_new] = values->try_emplace(Unescape(token));
    if (!is_new) {
      return tokens_.Wrong(token.offset, "expected each attribute once, got ", ProgramTokens::Shown(token.text),
                           " again");
    }
    tokens_.Next();
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('='));
    AttrValue& value = place->second;
    if (tokens_.Is('[')) return ReadArray(depth, &value);
    if (IsProgramNumber(tokens_)) return ReadNumber(&value);
    TANDEM_RETURN_IF_ERROR(ReadType("the value of an attribute", &value.type));
    value.size = 1;
    return ReadElement(depth, &value);
  }

  // The type of the attribute that begins at the current token, which is no number.
  Status ReadType(std::string_view expected, AttrType* type) const {
    const ProgramToken& token = tokens_.token();
    if (token.kind == Kind::kString) {
      *type = AttrType::kString;
    } else if (token.kind == Kind::kSymbol) {
      *type = AttrType::kFunction;
    } else if (tokens_.Is('{')) {
      *type = AttrType::kAttrs;
    } else if (tokens_.IsWord("true") || tokens_.IsWord("false")) {
      *type = AttrType::kBool;
    } else if (tokens_.IsWord("shape")) {
      *type = AttrType::kShape;
    } else if (tokens_.IsWord("dense")) {
      *type = AttrType::kTensor;
    } else if (token.kind == Kind::kIdentifier && ParseProgramElement(token.text)) {
      *type = AttrType::kDType;
    } else {
      return tokens_.Unexpected(expected);
    }
    return Status();
  }

  // One element of value->type, behind those that there are.
  Status ReadElement(uint32_t depth, AttrValue* value) {
    const ProgramToken& token = tokens_.token();
    switch (value->type) {
      case AttrType::kBool:
        return ReadProgramBool(tokens_, &value->As<AttrValue::Bytes>());
      case AttrType::kDType: {
        const std::optional<DType> dtype =
            tokens_.Is(Kind::kIdentifier) ? ParseProgramElement(token.text) : std::nullopt;
        if (!dtype) return tokens_.Unexpected("a dtype");
        value->As<AttrValue::Bytes>().push_back(static_cast<std::byte>(*dtype));
        break;
      }
      case AttrType::kString:
        if (!tokens_.Is(Kind::kString)) return tokens_.Unexpected("a string in quotes");
        value->As<AttrValue::Texts>().push_back(Unescape(token));
        break;
      case AttrType::kFunction:
        if (!tokens_.Is(Kind::kSymbol)) return tokens_.Unexpected("the name of a function, such as @name");
        value->As<AttrValue::Texts>().push_back(Unescape(token));
        break;
      case AttrType::kShape:
        if (!tokens_.IsWord("shape")) return tokens_.Unexpected("a shape such as shape<2x3> or shape<>");
        return ReadProgramShape(tokens_, &value->As<AttrValue::Shapes>().emplace_back());
      case AttrType::kTensor:
        return ReadTensor(&value->As<AttrValue::Tensors>().emplace_back());
      case AttrType::kAttrs: {
        RcRef<const FrozenOpAttrs> attrs;
        TANDEM_RETURN_IF_ERROR(ReadList(depth + 1, &attrs));
        value->As<AttrValue::Lists>().emplace_back(std::move(attrs));
        return Status();
      }
      default:
        return ReadProgramNumber(tokens_, ElementDType(value->type), &value->As<AttrValue::Bytes>());
    }
    tokens_.Next();
    return Status();
  }

  // Attributes have all elements of a tensor.
  Status ReadTensor(ProgramConstant* tensor) {
    if (!tokens_.IsWord("dense")) return tokens_.Unexpected("a tensor such as dense<[1, 2]> : tensor<2xi32>");
    const size_t begin = tokens_.token().offset;
    TANDEM_RETURN_IF_ERROR(ReadProgramDense(tokens_, tensor));
    if (!tensor->is_splat) return Status();
    const auto count = static_cast<uint64_t>(tensor->metadata.num_elements());
    const bool is_string = tensor->metadata.dtype == DType::kString;
    constexpr size_t kSizeOfString = 40;  // about, and the same on every target
    const size_t size = is_string ? kSizeOfString + tensor->strings[0].size() : tensor->bytes.size();
    constexpr uint64_t kTooMuch = std::numeric_limits<uint64_t>::max();
    const uint64_t bytes = count > kTooMuch / size ? kTooMuch : count * size;
    TANDEM_RETURN_IF_ERROR(tokens_.Claim(begin, bytes));
    if (is_string) {
      tensor->strings = std::vector<std::string>(static_cast<size_t>(count), tensor->strings[0]);
    } else {
      const std::vector<std::byte> element = std::move(tensor->bytes);
      tensor->bytes.reserve(static_cast<size_t>(bytes));
      for (uint64_t i = 0; i < count; ++i) tensor->bytes.insert(tensor->bytes.end(), element.begin(), element.end());
    }
    return Status();
  }

  // "1", "1 : i32"
  Status ReadNumber(AttrValue* value) {
    const ProgramTokens::Mark number = tokens_.Here();
    value->type = IsFractional(number.token.text) ? AttrType::kF32 : AttrType::kI64;
    value->size = 1;
    tokens_.Next();
    if (tokens_.Take(':')) {
      TANDEM_RETURN_IF_ERROR(ReadNumberType(&value->type));
    }
    const ProgramTokens::Mark end = tokens_.Here();
    tokens_.Return(number);
    TANDEM_RETURN_IF_ERROR(ReadProgramNumber(tokens_, ElementDType(value->type), &value->As<AttrValue::Bytes>()));
    tokens_.Return(end);
    return Status();
  }

  // Behind the colon.
  Status ReadNumberType(AttrType* type) {
    const std::optional<AttrType> given =
        tokens_.Is(Kind::kIdentifier) ? ParseAttrType(tokens_.token().text) : std::nullopt;
    if (!given || !IsNumber(*given)) return tokens_.Unexpected("i32, i64, f32, f64 or bool");
    *type = *given;
    tokens_.Next();
    return Status();
  }

  Status ReadArray(uint32_t depth, AttrValue* value) {
    value->is_array = true;
    const ProgramTokens::Mark begin = tokens_.Here();
    tokens_.Next();
    const bool is_empty = tokens_.Take(']');
    if (is_empty) {
      if (!tokens_.Is(':')) return Status();  // of i64
      tokens_.Next();
      const std::optional<AttrType> type =
          tokens_.Is(Kind::kIdentifier) ? ParseAttrType(tokens_.token().text) : std::nullopt;
      if (!type) return tokens_.Unexpected("the type of the elements of an attribute");
      value->type = *type;
      tokens_.Next();
      return Status();
    }
    const bool is_of_numbers = IsProgramNumber(tokens_);
    if (is_of_numbers) {
      TANDEM_RETURN_IF_ERROR(FindNumberType(&value->type));
      tokens_.Return(begin);
      tokens_.Next();
    } else {
      TANDEM_RETURN_IF_ERROR(ReadType("an element that is no array", &value->type));
    }
    do {
      TANDEM_RETURN_IF_ERROR(ReadElement(depth, value));
      if (is_of_numbers) TANDEM_RETURN_IF_ERROR(ReadSameType(value->type));
      ++value->size;
    } while (tokens_.Take(','));
    TANDEM_RETURN_IF_ERROR(tokens_.Expect(']', "',' or ']'"));
    if (static_cast<uint32_t>(value->size) != value->size) {
      return tokens_.Wrong(begin.token.offset, "expected at most 4294967295 elements, got ", value->size);
    }
    return ReadSameType(value->type);
  }

  // Looks at an array of numbers up to its end for the type of its elements: the one behind the colon at the end, else
  // behind that of the first element that has one, else f32 if there is a number that i64 does not have. What is wrong
  // is found when the elements are read.
  Status FindNumberType(AttrType* type) {
    std::optional<AttrType> given;
    bool is_fractional = false;
    for (;;) {
      if (tokens_.Is(':')) {
        tokens_.Next();
        AttrType of_element{};
        TANDEM_RETURN_IF_ERROR(ReadNumberType(&of_element));
        if (!given) given = of_element;
      } else if (IsProgramNumber(tokens_)) {
        is_fractional |= IsFractional(tokens_.token().text);
        tokens_.Next();
      } else if (!tokens_.Take(',')) {
        break;
      }
    }
    *type = given.value_or(is_fractional ? AttrType::kF32 : AttrType::kI64);
    if (!tokens_.Take(']') || !tokens_.Take(':')) return Status();
    return ReadNumberType(type);
  }

  // A colon and the type, or nothing.
  Status ReadSameType(AttrType type) {
    if (!tokens_.Take(':')) return Status();
    if (!tokens_.Is(Kind::kIdentifier) || ParseAttrType(tokens_.token().text) != type) {
      return tokens_.Unexpected(AttrTypeName(type));
    }
    tokens_.Next();
    return Status();
  }

  ProgramTokens& tokens_;
};

}  // namespace

Status ReadProgramAttrs(ProgramTokens& tokens, RcRef<const FrozenOpAttrs>* attrs) {
  return AttrReader(tokens).ReadList(1, attrs);
}

}  // namespace tandem
