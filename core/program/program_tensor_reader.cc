// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Dense literals and the attributes of the kernels that create tensors. Elements become bytes as they are read, so that
// memory is what the tensor takes; hence the type behind a literal is looked up before its elements are read.

#include "program_tensor_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "program_binary.h"
#include "program_number.h"

namespace tandem {

namespace {

using Kind = ProgramToken::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes a number off the front of dimensions; false if there is none or it does not fit.
bool TakeDimension(std::string_view* text, int64_t* dimension) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *dimension);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

// The token behind '<' as dimensions and what is behind the last 'x', which is nothing for "2x3".
Status SplitDimensions(const ProgramTokens& tokens, std::string_view example, TensorShape* shape,
                       std::string_view* element) {
  const ProgramToken& token = tokens.token();
  std::string_view rest = token.text;
  *shape = TensorShape();
  while (!rest.empty() && (IsDigit(rest[0]) || rest[0] == '-')) {
    int64_t dimension = 0;
    if (!TakeDimension(&rest, &dimension)) return tokens.Unexpected(example);
    if (shape->rank() == TensorShape::kMaxRank) {
      return tokens.Wrong(token.offset, "expected at most ", TensorShape::kMaxRank, " dimensions, got '",
                          ProgramTokens::Shown(token.text), "'");
    }
    shape->Append(dimension);
    if (rest.empty()) break;
    // "2x" has a dimension too few, "2xf32" an element.
    if (rest[0] != 'x' || rest.size() == 1) return tokens.Unexpected(example);
    rest.remove_prefix(1);
  }
  *element = rest;
  return Status();
}

Status WrongNumber(const ProgramTokens& tokens, DType dtype, ProgramNumberFit fit) {
  const ProgramToken& token = tokens.token();
  const std::string given = ProgramTokens::Shown(token.text);
  if (fit == ProgramNumberFit::kNoInteger) {
    return tokens.Wrong(token.offset, "expected an integer for ", dtype, ", got ", given);
  }
  MessageBuilder range;
  AppendProgramNumberRange(range, dtype);
  return tokens.Wrong(token.offset, "expected ", range.view(), kFloatDTypes.Contains(dtype) ? "" : " for ",
                      kFloatDTypes.Contains(dtype) ? "" : DTypeName(dtype), ", got ", given);
}

// (1.0, 2.0), or a real number alone.
Status ReadComplex(ProgramTokens& tokens, std::vector<std::byte>* bytes) {
  if (!tokens.Take('(')) {
    if (!IsProgramNumber(tokens)) return tokens.Unexpected("a number or a complex number such as (1.0, -2.0)");
    TANDEM_RETURN_IF_ERROR(ReadProgramNumber(tokens, DType::kF32, bytes));
    bytes->resize(bytes->size() + sizeof(float));
    return Status();
  }
  TANDEM_RETURN_IF_ERROR(ReadProgramNumber(tokens, DType::kF32, bytes));
  TANDEM_RETURN_IF_ERROR(tokens.Expect(','));
  TANDEM_RETURN_IF_ERROR(ReadProgramNumber(tokens, DType::kF32, bytes));
  return tokens.Expect(')');
}

// One element of the constant's dtype, behind those that it has.
Status ReadElement(ProgramTokens& tokens, ProgramConstant* constant) {
  switch (constant->metadata.dtype) {
    case DType::kString:
      if (!tokens.Is(Kind::kString)) return tokens.Unexpected("a string in quotes");
      constant->strings.push_back(Unescape(tokens.token()));
      tokens.Next();
      return Status();
    case DType::kC64:
      return ReadComplex(tokens, &constant->bytes);
    case DType::kBool:
      return ReadProgramBool(tokens, &constant->bytes);
    default:
      return ReadProgramNumber(tokens, constant->metadata.dtype, &constant->bytes);
  }
}

// The elements from a dimension on, nested as the shape is.
Status ReadNested(ProgramTokens& tokens, int axis, ProgramConstant* constant) {
  const TensorShape& shape = constant->metadata.shape;
  if (axis == shape.rank()) return ReadElement(tokens, constant);
  TANDEM_RETURN_IF_ERROR(tokens.Expect('[', "'[' as the shape has more dimensions"));
  for (int64_t i = 0; i < shape.dim(axis); ++i) {
    if (i > 0 && !tokens.Is(']')) TANDEM_RETURN_IF_ERROR(tokens.Expect(',', "',' or ']'"));
    if (tokens.Is(']')) {
      return tokens.Wrong(tokens.token().offset, "expected ", shape.dim(axis), " elements in dimension ", axis, " of ",
                          constant->metadata, ", got ", i);
    }
    TANDEM_RETURN_IF_ERROR(ReadNested(tokens, axis + 1, constant));
  }
  if (tokens.Take(']')) return Status();
  if (!tokens.Is(',') && shape.dim(axis) > 0) return tokens.Unexpected("',' or ']'");
  return tokens.Wrong(tokens.token().offset, "expected ", shape.dim(axis), " elements in dimension ", axis, " of ",
                      constant->metadata, ", got more");
}

// "0x0000803f00000040": all elements, each in little-endian order.
Status ReadHexElements(ProgramTokens& tokens, ProgramConstant* constant) {
  const ProgramToken& token = tokens.token();
  const TensorMetadata& metadata = constant->metadata;
  std::string_view digits = token.content;
  if (token.has_escapes || !digits.starts_with("0x")) return tokens.Unexpected("\"0x...\", the bytes of all elements");
  digits.remove_prefix(2);
  const size_t first = token.offset + 3;  // of the digits
  const size_t wrong = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  if (wrong < digits.size()) return tokens.Wrong(first + wrong, "expected a hexadecimal digit");
  if (digits.size() != 2 * metadata.byte_size()) {
    return tokens.Wrong(token.offset, "expected ", 2 * metadata.byte_size(), " hexadecimal digits for ", metadata,
                        ", got ", digits.size());
  }
  std::vector<std::byte> bytes(metadata.byte_size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint8_t byte = 0;
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, byte, 16);
    if (metadata.dtype == DType::kBool && byte > 1) {
      return tokens.Wrong(first + 2 * i, "expected 00 or 01 for bool, got ", digits.substr(2 * i, 2));
    }
    bytes[i] = std::byte{byte};
  }
  constant->bytes.resize(bytes.size());
  CopyLittleEndian(metadata.dtype, bytes, constant->bytes.data());
  tokens.Next();
  return Status();
}

// What is between the brackets of a dense literal.
Status ReadDenseElements(ProgramTokens& tokens, ProgramConstant* constant) {
  const TensorMetadata& metadata = constant->metadata;
  if (tokens.Is(Kind::kString) && metadata.dtype != DType::kString) return ReadHexElements(tokens, constant);
  if (tokens.Is('>')) {
    if (metadata.num_elements() == 0) return Status();
    return tokens.Wrong(tokens.token().offset, "expected the elements of ", metadata, ", got none");
  }
  if (tokens.Is('[')) {
    if (metadata.rank() > 0) return ReadNested(tokens, 0, constant);
    return tokens.Unexpected("one element, as the shape has no dimensions");
  }
  constant->is_splat = metadata.rank() > 0;
  return ReadElement(tokens, constant);
}

// To the '>' behind the elements.
Status SkipDenseElements(ProgramTokens& tokens) {
  while (!tokens.Is('>')) {
    const bool is_of_elements = tokens.Is('[') || tokens.Is(']') || tokens.Is('(') || tokens.Is(')') ||
                                tokens.Is(',') || tokens.Is(Kind::kNumber) || tokens.Is(Kind::kString) ||
                                tokens.Is(Kind::kIdentifier);
    if (!is_of_elements) return tokens.Unexpected("an element or '>'");
    tokens.Next();
  }
  return Status();
}

// Of the attributes of a kernel that creates a tensor.
class CreationReader {
 public:
  CreationReader(ProgramTokens& tokens, DType dtype, ProgramConstant* constant)
      : tokens_(tokens), begin_(tokens.token().offset), constant_(*constant) {
    constant_.metadata.dtype = dtype;
  }

  Status Read() {
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('{'));
    do {
      TANDEM_RETURN_IF_ERROR(ReadAttribute());
    } while (tokens_.Take(','));
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('}', "',' or '}'"));
    if (!has_shape_ || !has_values_) {
      return tokens_.Wrong(begin_, "expected shape and values, got no ", has_shape_ ? "values" : "shape");
    }
    return CheckCount();
  }

 private:
  Status ReadAttribute() {
    const ProgramToken name = tokens_.token();
    const bool is_name = name.kind == Kind::kIdentifier || name.kind == Kind::kString;
    const bool is_shape = is_name && name.content == "shape";
    if (!is_shape && !(is_name && (name.content == "values" || name.content == "value"))) {
      return tokens_.Unexpected("shape, values or value");
    }
    bool& has_it = is_shape ? has_shape_ : has_values_;
    if (has_it) return tokens_.Unexpected(is_shape ? "one shape" : "one list of values");
    has_it = true;
    tokens_.Next();
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('='));
    return is_shape ? ReadShape() : ReadValues();
  }

  Status ReadShape() {
    const size_t begin = tokens_.token().offset;
    if (tokens_.IsWord("shape")) return CheckShape(begin, ReadProgramShape(tokens_, &shape()));
    TANDEM_RETURN_IF_ERROR(tokens_.Expect('[', "a shape such as [2, 3] or shape<2x3>"));
    while (!tokens_.Is(']')) {
      if (shape().rank() > 0) TANDEM_RETURN_IF_ERROR(tokens_.Expect(',', "',' or ']'"));
      if (shape().rank() == TensorShape::kMaxRank) {
        return tokens_.Wrong(tokens_.token().offset, "expected at most ", TensorShape::kMaxRank, " dimensions");
      }
      std::string_view text = tokens_.token().text;
      int64_t dimension = 0;
      if (!tokens_.Is(Kind::kNumber) || !TakeDimension(&text, &dimension) || !text.empty()) {
        return tokens_.Unexpected("a dimension");
      }
      shape().Append(dimension);
      tokens_.Next();
      TANDEM_RETURN_IF_ERROR(ReadTypeOfDimension());
    }
    tokens_.Next();
    return CheckShape(begin, ReadTypeOfDimension());
  }

  // Dimensions are i64 attributes in older files, which may say so.
  Status ReadTypeOfDimension() {
    if (!tokens_.Take(':')) return Status();
    if (!tokens_.IsWord("i64") && !tokens_.IsWord("i32")) return tokens_.Unexpected("i64 or i32");
    tokens_.Next();
    return Status();
  }

  Status CheckShape(size_t offset, const Status& read) const {
    if (!read.ok() || constant_.metadata.IsValid()) return read;
    return tokens_.Wrong(offset, constant_.metadata.Validate().detail());
  }

  Status ReadValues() {
    values_ = tokens_.token().offset;
    if (!tokens_.Take('[')) return ReadValue();
    while (!tokens_.Is(']')) {
      if (num_values_ > 0) TANDEM_RETURN_IF_ERROR(tokens_.Expect(',', "',' or ']'"));
      TANDEM_RETURN_IF_ERROR(ReadValue());
    }
    tokens_.Next();
    return ReadTypeOfValues();
  }

  Status ReadValue() {
    TANDEM_RETURN_IF_ERROR(ReadElement(tokens_, &constant_));
    ++num_values_;
    return ReadTypeOfValues();
  }

  Status ReadTypeOfValues() {
    if (!tokens_.Take(':')) return Status();
    const DType dtype = constant_.metadata.dtype;
    const bool is_it = tokens_.Is(Kind::kIdentifier) && ParseProgramElement(tokens_.token().text) == dtype;
    if (!is_it) return tokens_.Unexpected(DTypeName(dtype));
    tokens_.Next();
    return Status();
  }

  Status CheckCount() {
    const TensorMetadata& metadata = constant_.metadata;
    const auto wanted = static_cast<uint64_t>(metadata.num_elements());
    if (num_values_ == wanted) return Status();
    constant_.is_splat = num_values_ == 1;
    if (constant_.is_splat) return Status();
    return tokens_.Wrong(values_, "expected ", wanted, " values for ", metadata, " or one for all, got ", num_values_);
  }

  TensorShape& shape() { return constant_.metadata.shape; }

  ProgramTokens& tokens_;
  const size_t begin_;
  ProgramConstant& constant_;
  bool has_shape_ = false;
  bool has_values_ = false;
  size_t values_ = 0;  // where they begin
  size_t num_values_ = 0;
};

}  // namespace

std::optional<DType> ParseProgramElement(std::string_view name) {
  return name == "i1" ? DType::kBool : ParseDType(name);
}

bool IsProgramNumber(const ProgramTokens& tokens) {
  return tokens.Is(Kind::kNumber) || tokens.IsWord("nan") || tokens.IsWord("inf");
}

Status ReadProgramNumber(ProgramTokens& tokens, DType dtype, std::vector<std::byte>* bytes) {
  if (!IsProgramNumber(tokens)) return tokens.Unexpected("a number");
  std::byte element[TensorMetadata::kMaxElementSize];
  const ProgramNumberFit fit = ParseProgramNumber(tokens.token().text, dtype, element);
  if (fit != ProgramNumberFit::kFits) return WrongNumber(tokens, dtype, fit);
  bytes->insert(bytes->end(), element, element + DTypeSize(dtype));
  tokens.Next();
  return Status();
}

Status ReadProgramBool(ProgramTokens& tokens, std::vector<std::byte>* bytes) {
  const bool is_true = tokens.IsWord("true");
  if (!is_true && !tokens.IsWord("false")) {
    if (!IsProgramNumber(tokens)) return tokens.Unexpected("true or false");
    return ReadProgramNumber(tokens, DType::kBool, bytes);
  }
  bytes->push_back(std::byte{is_true});
  tokens.Next();
  return Status();
}

Status ReadProgramShape(ProgramTokens& tokens, TensorShape* shape) {
  static constexpr std::string_view kExample = "a shape such as shape<2x3> or shape<>";
  tokens.Next();
  if (!tokens.Is('<')) return tokens.Unexpected(kExample);
  tokens.Next();
  if (tokens.Is(Kind::kDimensions)) {
    std::string_view element;
    TANDEM_RETURN_IF_ERROR(SplitDimensions(tokens, kExample, shape, &element));
    if (!element.empty()) return tokens.Unexpected(kExample);
    tokens.Next();
  }
  return tokens.Expect('>');
}

Status ReadProgramTensorType(ProgramTokens& tokens, TensorMetadata* metadata) {
  static constexpr std::string_view kExample = "a type such as tensor<2x3xf32> or tensor<f32>";
  if (!tokens.IsWord("tensor")) return tokens.Unexpected(kExample);
  tokens.Next();
  if (!tokens.Is('<')) return tokens.Unexpected(kExample);
  tokens.Next();
  if (!tokens.Is(Kind::kDimensions)) return tokens.Unexpected(kExample);
  std::string_view element;
  TANDEM_RETURN_IF_ERROR(SplitDimensions(tokens, kExample, &metadata->shape, &element));
  const std::optional<DType> dtype = ParseProgramElement(element);
  if (!dtype) return tokens.Unexpected(kExample);
  metadata->dtype = *dtype;
  if (!metadata->IsValid()) return tokens.Wrong(tokens.token().offset, metadata->Validate().detail());
  tokens.Next();
  return tokens.Expect('>');
}

Status ReadProgramDense(ProgramTokens& tokens, ProgramConstant* constant) {
  tokens.Next();
  TANDEM_RETURN_IF_ERROR(tokens.Expect('<', "'<' after dense"));
  const ProgramTokens::Mark elements = tokens.Here();
  TANDEM_RETURN_IF_ERROR(SkipDenseElements(tokens));
  tokens.Next();
  TANDEM_RETURN_IF_ERROR(tokens.Expect(':', "':' and the type of the tensor"));
  TANDEM_RETURN_IF_ERROR(ReadProgramTensorType(tokens, &constant->metadata));
  const ProgramTokens::Mark end = tokens.Here();
  tokens.Return(elements);
  TANDEM_RETURN_IF_ERROR(ReadDenseElements(tokens, constant));
  if (!tokens.Is('>')) return tokens.Unexpected("'>'");
  tokens.Return(end);
  return Status();
}

Status ReadProgramCreation(ProgramTokens& tokens, DType dtype, ProgramConstant* constant) {
  return CreationReader(tokens, dtype, constant).Read();
}

}  // namespace tandem
