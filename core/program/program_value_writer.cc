// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Text of values. Floating-point numbers are told by their bits, as copies of them may change those of NaN.

#include "program_value_writer.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/shortest_text.h"
#include "base/utf8.h"
#include "program_binary.h"
#include "tandem/float16.h"
#include "tandem/op_attrs.h"

namespace tandem {
namespace {

// Tensors of more elements are written as their bytes.
constexpr int64_t kMaxNumbers = 64;

constexpr char kHex[] = "0123456789abcdef";

void AppendHex(uint64_t bits, size_t num_digits, std::string* out) {
  for (size_t i = num_digits; i-- > 0;) *out += kHex[bits >> (4 * i) & 0xF];
}

template <typename T>
T Load(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

// A finite number, which text tells from an integer.
template <typename Float>
void AppendFinite(Float value, std::string* out) {
  char text[internal::kMaxShortestText];
  const std::string_view shown(text, static_cast<size_t>(internal::ShortestText(value, text) - text));
  *out += shown;
  if (shown.find_first_of(".e") == std::string_view::npos) *out += ".0";
}

// The number with these bits, of a format whose infinity and usual NaN are given; `convert` gives finite ones as a
// float or a double.
template <typename Bits, typename Convert>
void AppendFloat(Bits bits, Bits infinity, Bits quiet_nan, Convert convert, std::string* out) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits magnitude = bits & static_cast<Bits>(~kSign);
  if (magnitude < infinity) {
    AppendFinite(convert(bits), out);
  } else if (magnitude == infinity) {
    *out += bits == magnitude ? "inf" : "-inf";
  } else if (bits == quiet_nan) {
    *out += "nan";
  } else {
    *out += "0x";
    AppendHex(bits, 2 * sizeof(Bits), out);
  }
}

void AppendF32(uint32_t bits, std::string* out) {
  const auto to_float = [](uint32_t finite) { return std::bit_cast<float>(finite); };
  AppendFloat<uint32_t>(bits, 0x7F800000, 0x7FC00000, to_float, out);
}

void AppendF64(uint64_t bits, std::string* out) {
  const auto to_double = [](uint64_t finite) { return std::bit_cast<double>(finite); };
  AppendFloat<uint64_t>(bits, 0x7FF0000000000000, 0x7FF8000000000000, to_double, out);
}

void AppendElement(DType dtype, const std::byte* element, std::string* out) {
  switch (dtype) {
    case DType::kBool:
      *out += Load<uint8_t>(element) != 0 ? "true" : "false";
      return;
    case DType::kU8:
      *out += std::to_string(Load<uint8_t>(element));
      return;
    case DType::kI8:
      *out += std::to_string(Load<int8_t>(element));
      return;
    case DType::kU16:
      *out += std::to_string(Load<uint16_t>(element));
      return;
    case DType::kI16:
      *out += std::to_string(Load<int16_t>(element));
      return;
    case DType::kI32:
      *out += std::to_string(Load<int32_t>(element));
      return;
    case DType::kU32:
      *out += std::to_string(Load<uint32_t>(element));
      return;
    case DType::kI64:
      *out += std::to_string(Load<int64_t>(element));
      return;
    case DType::kU64:
      *out += std::to_string(Load<uint64_t>(element));
      return;
    case DType::kF16:
      return AppendFloat<uint16_t>(Load<uint16_t>(element), 0x7C00, 0x7E00, internal::HalfBitsToFloat, out);
    case DType::kBF16:
      return AppendFloat<uint16_t>(Load<uint16_t>(element), 0x7F80, 0x7FC0, internal::BFloat16BitsToFloat, out);
    case DType::kF32:
      return AppendF32(Load<uint32_t>(element), out);
    case DType::kF64:
      return AppendF64(Load<uint64_t>(element), out);
    case DType::kC64:
      *out += '(';
      AppendF32(Load<uint32_t>(element), out);
      *out += ", ";
      AppendF32(Load<uint32_t>(element + sizeof(float)), out);
      *out += ')';
      return;
    case DType::kString:
    case DType::kInvalid:
      return;
  }
}

// The elements of a constant or of an attribute.
struct Elements {
  TensorMetadata metadata;
  std::span<const std::byte> bytes;
  std::vector<std::string_view> strings;
  bool is_splat = false;

  size_t size() const {
    const size_t size = DTypeSize(metadata.dtype);
    return size == 0 ? strings.size() : bytes.size() / size;
  }
};

Elements ElementsOf(const ProgramConstant& constant) {
  return {constant.metadata, constant.bytes, {constant.strings.begin(), constant.strings.end()}, constant.is_splat};
}

Elements ElementsOf(const TensorAttr& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data);
  return {tensor.metadata,
          {bytes, bytes == nullptr ? 0 : tensor.metadata.byte_size()},
          {tensor.strings.begin(), tensor.strings.end()}};
}

void AppendElement(const Elements& elements, size_t i, std::string* out) {
  const size_t size = DTypeSize(elements.metadata.dtype);
  if (size == 0) return AppendProgramString(elements.strings[i], out);
  AppendElement(elements.metadata.dtype, elements.bytes.data() + i * size, out);
}

// "1.0, 2.0"
void AppendElements(const Elements& elements, std::string* out) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendElement(elements, i, out);
  }
}

// The elements from a dimension on, of which there is one at least, nested as the shape is; `*i` is the first and
// becomes the one behind them.
void AppendNested(const Elements& elements, int axis, size_t* i, std::string* out) {
  const TensorShape& shape = elements.metadata.shape;
  if (axis == shape.rank()) return AppendElement(elements, (*i)++, out);
  *out += '[';
  for (int64_t k = 0; k < shape.dim(axis); ++k) {
    if (k > 0) *out += ", ";
    AppendNested(elements, axis + 1, i, out);
  }
  *out += ']';
}

void AppendBytes(const Elements& elements, std::string* out) {
  std::vector<std::byte> bytes(elements.bytes.size());
  CopyLittleEndian(elements.metadata.dtype, elements.bytes, bytes.data());
  *out += "\"0x";
  for (const std::byte byte : bytes) AppendHex(std::to_integer<uint64_t>(byte), 2, out);
  *out += '"';
}

void AppendDense(const Elements& elements, std::string* out) {
  const TensorMetadata& metadata = elements.metadata;
  *out += "dense<";
  if (elements.is_splat) {
    AppendElement(elements, 0, out);
  } else if (metadata.num_elements() > kMaxNumbers && metadata.dtype != DType::kString) {
    AppendBytes(elements, out);
  } else if (elements.size() > 0 && elements.size() == static_cast<uint64_t>(metadata.num_elements())) {
    size_t first = 0;
    AppendNested(elements, 0, &first, out);
  }
  *out += "> : ";
  AppendProgramTensorType(metadata, out);
}

// "2x3"
void AppendDims(const TensorShape& shape, std::string_view separator, std::string* out) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) *out += separator;
    *out += std::to_string(shape.dim(i));
  }
}

void AppendBool(const void* value, std::string* out) { *out += Load<bool>(value) ? "true" : "false"; }
void AppendI32(const void* value, std::string* out) { *out += std::to_string(Load<int32_t>(value)); }
void AppendI64(const void* value, std::string* out) { *out += std::to_string(Load<int64_t>(value)); }
void AppendF32Value(const void* value, std::string* out) { AppendF32(Load<uint32_t>(value), out); }
void AppendF64Value(const void* value, std::string* out) { AppendF64(Load<uint64_t>(value), out); }
void AppendDType(const void* value, std::string* out) { *out += DTypeName(Load<DType>(value)); }
void AppendString(const void* value, std::string* out) {
  AppendProgramString(*static_cast<const std::string_view*>(value), out);
}
void AppendShape(const void* value, std::string* out) {
  *out += "shape<";
  AppendDims(*static_cast<const TensorShape*>(value), "x", out);
  *out += '>';
}
void AppendTensor(const void* value, std::string* out) {
  AppendDense(ElementsOf(*static_cast<const TensorAttr*>(value)), out);
}
void AppendFunction(const void* value, std::string* out) {
  AppendProgramSymbol(static_cast<const FunctionAttr*>(value)->name, out);
}
void AppendList(const void* value, std::string* out) {
  AppendProgramAttrs(static_cast<const OpAttrsRef*>(value)->entries(), out);
}

// How values of a type are stored and written.
struct AttrForm {
  size_t size;
  void (*append)(const void* value, std::string* out);
};

// In the order of AttrType.
constexpr AttrForm kAttrForms[kNumAttrTypes] = {
    {sizeof(bool), AppendBool},
    {sizeof(int32_t), AppendI32},
    {sizeof(int64_t), AppendI64},
    {sizeof(float), AppendF32Value},
    {sizeof(double), AppendF64Value},
    {sizeof(DType), AppendDType},
    {sizeof(std::string_view), AppendString},
    {sizeof(TensorShape), AppendShape},
    {sizeof(TensorAttr), AppendTensor},
    {sizeof(FunctionAttr), AppendFunction},
    {sizeof(OpAttrsRef), AppendList},
};

// The value, and its type where the value does not tell it: a number without a fraction is an i64, one with a fraction
// is an f32, and the first of an array tells the type of all but numbers.
void AppendAttr(const AttrEntry& entry, std::string* out) {
  const AttrForm& form = kAttrForms[static_cast<int>(entry.type)];
  const auto* values = static_cast<const std::byte*>(entry.data);
  bool has_fraction = false;
  if (entry.is_array) *out += '[';
  for (uint32_t i = 0; i < entry.size; ++i) {
    if (i > 0) *out += ", ";
    const size_t begin = out->size();
    form.append(values + i * form.size, out);
    has_fraction |= !std::string_view(*out).substr(begin).starts_with("0x");
  }
  if (entry.is_array) *out += ']';
  const bool is_told = entry.size > 0 && entry.type != AttrType::kI32 && entry.type != AttrType::kF64 &&
                       (entry.type != AttrType::kF32 || has_fraction);
  if (!is_told) out->append(" : ").append(AttrTypeName(entry.type));
}

}  // namespace

bool IsProgramIdentifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_other = [](char c) { return (c >= '0' && c <= '9') || c == '$' || c == '.' || c == '-'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_other(c); });
}

void AppendProgramString(std::string_view text, std::string* out) {
  *out += '"';
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8SequenceLength(text, i);
    if (text[i] == '"' || text[i] == '\\') {
      out->append(1, '\\').append(1, text[i]);
    } else if (text[i] == '\n') {
      *out += "\\n";
    } else if (text[i] == '\t') {
      *out += "\\t";
    } else if (length == 0 || byte < 0x20 || byte == 0x7F) {
      *out += "\\x";
      AppendHex(byte, 2, out);
    } else {
      *out += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  *out += '"';
}

void AppendProgramSymbol(std::string_view name, std::string* out) {
  *out += '@';
  if (IsProgramIdentifier(name)) {
    *out += name;
  } else {
    AppendProgramString(name, out);
  }
}

void AppendProgramTensorType(const TensorMetadata& metadata, std::string* out) {
  *out += "tensor<";
  AppendDims(metadata.shape, "x", out);
  if (metadata.rank() > 0) *out += 'x';
  out->append(DTypeName(metadata.dtype)).append(1, '>');
}

void AppendProgramDense(const ProgramConstant& constant, std::string* out) { AppendDense(ElementsOf(constant), out); }

void AppendProgramCreation(const ProgramConstant& constant, std::string* out) {
  *out += "{shape = [";
  AppendDims(constant.metadata.shape, ", ", out);
  *out += "], values = [";
  AppendElements(ElementsOf(constant), out);
  *out += "]}";
}

void AppendProgramAttrs(std::span<const AttrEntry> entries, std::string* out) {
  *out += '{';
  for (const AttrEntry& entry : entries) {
    if (&entry != entries.data()) *out += ", ";
    if (IsProgramIdentifier(entry.name)) {
      *out += entry.name;
    } else {
      AppendProgramString(entry.name, out);
    }
    *out += " = ";
    AppendAttr(entry, out);
  }
  *out += '}';
}

}  // namespace tandem
