// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Writes the binary form of programs; BINARY.md has the layout.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program_binary.h"
#include "program_kernels.h"
#include "tandem/op_attrs.h"

namespace tandem {
namespace {

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  constexpr uint32_t kReversedPolynomial = 0xEDB88320u;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = MakeCrcTable();

template <typename T>
std::span<const T> Values(const AttrEntry& entry) {
  return {static_cast<const T*>(entry.data), entry.size};
}

// Bytes that grow by numbers and text.
class Output {
 public:
  void Byte(uint8_t byte) { bytes_.push_back(std::byte{byte}); }
  void Bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  // Little-endian, in seven bits a byte; all bytes but the last have the eighth.
  void Number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<uint8_t>(value | 0x80));
    Byte(static_cast<uint8_t>(value));
  }
  // 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
  void Signed(int64_t value) { Number((static_cast<uint64_t>(value) << 1) ^ (value < 0 ? ~uint64_t{0} : 0)); }
  template <typename Bits>
  void Fixed(Bits bits) {
    for (size_t i = 0; i < sizeof(Bits); ++i) Byte(static_cast<uint8_t>(bits >> (8 * i) & 0xFF));
  }
  void Text(std::string_view text) {
    Number(text.size());
    Bytes(std::as_bytes(std::span(text)));
  }
  void Shape(const TensorShape& shape) {
    Number(static_cast<uint64_t>(shape.rank()));
    for (const int64_t dim : shape.dims()) Signed(dim);
  }
  void Metadata(const TensorMetadata& metadata) {
    Byte(static_cast<uint8_t>(metadata.dtype));
    Shape(metadata.shape);
  }
  void Elements(DType dtype, std::span<const std::byte> elements) {
    const size_t begin = bytes_.size();
    bytes_.resize(begin + elements.size());
    CopyLittleEndian(dtype, elements, bytes_.data() + begin);
  }

  std::span<std::byte> span() { return bytes_; }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// By content. A tree, as whoever made the content may know a hash.
struct ConstantLess {
  bool operator()(const ProgramConstant* a, const ProgramConstant* b) const {
    if (a->metadata.dtype != b->metadata.dtype) return a->metadata.dtype < b->metadata.dtype;
    if (a->is_splat != b->is_splat) return b->is_splat;
    if (!(a->metadata.shape == b->metadata.shape)) {
      const std::span a_dims = a->metadata.shape.dims();
      const std::span b_dims = b->metadata.shape.dims();
      return std::lexicographical_compare(a_dims.begin(), a_dims.end(), b_dims.begin(), b_dims.end());
    }
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->strings < b->strings;
  }
};

// The constants of a program, each content once, in the order of first use.
class Constants {
 public:
  size_t IndexOf(const ProgramConstant& constant) {
    const auto [known, is_new_address] = by_address_.try_emplace(&constant, all_.size());
    if (!is_new_address) return known->second;
    const auto [same, is_new] = by_content_.try_emplace(&constant, all_.size());
    if (is_new) all_.push_back(&constant);
    return known->second = same->second;
  }

  const std::vector<const ProgramConstant*>& all() const { return all_; }

 private:
  std::vector<const ProgramConstant*> all_;
  std::map<const ProgramConstant*, size_t> by_address_;
  std::map<const ProgramConstant*, size_t, ConstantLess> by_content_;
};

// The functions are written first, as they tell what the tables before them have.
class ProgramWriter {
 public:
  std::vector<std::byte> Write(std::span<const ProgramFunction> functions);

 private:
  void WriteFunction(const ProgramFunction& function);
  void WriteInstruction(const ProgramFunction& function, const ProgramInstruction& instruction, uint32_t next_value);
  void WriteTensor(const ProgramInstruction& instruction);
  void WritePosition(const ProgramPosition& position);
  void WriteConstant(Output& out, const ProgramConstant& constant);
  void WriteString(std::string_view text);
  void WriteTypes(std::span<const ProgramType> types);
  void WriteAttrs(std::span<const AttrEntry> entries);
  void WriteAttr(const AttrEntry& entry);
  void WriteTensorAttr(const TensorAttr& tensor);
  template <typename T, typename WriteValue>
  void WriteValues(const AttrEntry& entry, WriteValue write);

  Output functions_;
  Constants constants_;
  std::vector<std::string_view> strings_;
  std::map<std::string_view, size_t> string_indices_;
  uint32_t line_ = 0;  // of the position before
};

std::vector<std::byte> ProgramWriter::Write(std::span<const ProgramFunction> functions) {
  functions_.Number(functions.size());
  for (const ProgramFunction& function : functions) WriteFunction(function);

  Output out;
  out.Bytes(std::as_bytes(std::span(kProgramMagic)));
  out.Number(kProgramVersion);
  out.Number(strings_.size());
  for (const std::string_view text : strings_) out.Text(text);
  out.Number(constants_.all().size());
  for (const ProgramConstant* constant : constants_.all()) WriteConstant(out, *constant);
  out.Bytes(functions_.span());
  out.Fixed(uint32_t{0});
  SetProgramChecksum(out.span());
  return out.Take();
}

void ProgramWriter::WriteFunction(const ProgramFunction& function) {
  const auto is_known = [](const ProgramPosition& position) { return position.line != 0 || position.column != 0; };
  bool has_positions = is_known(function.position);
  for (const ProgramInstruction& instruction : function.instructions) has_positions |= is_known(instruction.position);

  WriteString(function.name);
  functions_.Byte(has_positions ? kProgramHasPositions : 0);
  line_ = 0;
  if (has_positions) WritePosition(function.position);
  WriteTypes(function.parameter_types());
  WriteTypes(function.result_types);
  functions_.Number(function.instructions.size());
  uint32_t next_value = function.num_parameters;
  for (const ProgramInstruction& instruction : function.instructions) {
    WriteInstruction(function, instruction, next_value);
    if (has_positions) WritePosition(instruction.position);
    next_value += static_cast<uint32_t>(instruction.results.size());
  }
}

void ProgramWriter::WriteInstruction(const ProgramFunction& function, const ProgramInstruction& instruction,
                                     uint32_t next_value) {
  const ProgramKernelInfo& info = InfoOf(instruction.kernel);
  functions_.Byte(static_cast<uint8_t>(instruction.kernel));
  functions_.Number(instruction.operands.size());
  for (const uint32_t operand : instruction.operands) functions_.Number(next_value - operand);
  for (const uint32_t called : instruction.functions) functions_.Number(called);
  if (!info.name_meaning.empty()) WriteString(instruction.name);
  if (info.takes_attrs) WriteAttrs(OpAttrsRef(instruction.attrs).entries());
  if (info.makes_tensor) WriteTensor(instruction);
  if (info.gives_tensors || info.gives_function_results) {
    const std::span results = std::span(function.value_types).subspan(next_value, instruction.results.size());
    WriteTypes(results.subspan(info.results.size()));
  }
}

void ProgramWriter::WriteTensor(const ProgramInstruction& instruction) {
  if (instruction.constant != nullptr) {
    functions_.Number(1 + constants_.IndexOf(*instruction.constant));
    return;
  }
  functions_.Number(0);
  WriteString(instruction.name);
  functions_.Metadata(instruction.weight_metadata);
}

void ProgramWriter::WritePosition(const ProgramPosition& position) {
  functions_.Signed(int64_t{position.line} - line_);
  functions_.Number(position.column);
  line_ = position.line;
}

void ProgramWriter::WriteConstant(Output& out, const ProgramConstant& constant) {
  out.Byte(static_cast<uint8_t>(constant.is_splat ? ProgramElements::kSplat : ProgramElements::kAll));
  out.Metadata(constant.metadata);
  out.Elements(constant.metadata.dtype, constant.bytes);
  for (const std::string& text : constant.strings) out.Text(text);
}

void ProgramWriter::WriteString(std::string_view text) {
  if (text.size() > kMaxSharedString) {
    functions_.Number(0);
    functions_.Text(text);
    return;
  }
  const auto [known, is_new] = string_indices_.try_emplace(text, strings_.size());
  if (is_new) strings_.push_back(text);
  functions_.Number(1 + known->second);
}

void ProgramWriter::WriteTypes(std::span<const ProgramType> types) {
  functions_.Number(types.size());
  for (const ProgramType type : types) functions_.Byte(static_cast<uint8_t>(type));
}

void ProgramWriter::WriteAttrs(std::span<const AttrEntry> entries) {
  functions_.Number(entries.size());
  for (const AttrEntry& entry : entries) WriteAttr(entry);
}

template <typename T, typename WriteValue>
void ProgramWriter::WriteValues(const AttrEntry& entry, WriteValue write) {
  for (const T& value : Values<T>(entry)) write(value);
}

void ProgramWriter::WriteAttr(const AttrEntry& entry) {
  WriteString(entry.name);
  functions_.Byte(static_cast<uint8_t>(static_cast<uint8_t>(entry.type) | (entry.is_array ? kProgramArrayAttr : 0)));
  if (entry.is_array) functions_.Number(entry.size);
  switch (entry.type) {
    case AttrType::kBool:
      return WriteValues<bool>(entry, [this](bool value) { functions_.Byte(value ? 1 : 0); });
    case AttrType::kI32:
      return WriteValues<int32_t>(entry, [this](int32_t value) { functions_.Signed(value); });
    case AttrType::kI64:
      return WriteValues<int64_t>(entry, [this](int64_t value) { functions_.Signed(value); });
    case AttrType::kF32:
      return WriteValues<float>(entry, [this](const float& value) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        functions_.Fixed(bits);
      });
    case AttrType::kF64:
      return WriteValues<double>(entry, [this](const double& value) {
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        functions_.Fixed(bits);
      });
    case AttrType::kDType:
      return WriteValues<DType>(entry, [this](DType value) { functions_.Byte(static_cast<uint8_t>(value)); });
    case AttrType::kString:
      return WriteValues<std::string_view>(entry, [this](std::string_view value) { WriteString(value); });
    case AttrType::kShape:
      return WriteValues<TensorShape>(entry, [this](const TensorShape& value) { functions_.Shape(value); });
    case AttrType::kTensor:
      return WriteValues<TensorAttr>(entry, [this](const TensorAttr& value) { WriteTensorAttr(value); });
    case AttrType::kFunction:
      return WriteValues<FunctionAttr>(entry, [this](const FunctionAttr& value) { WriteString(value.name); });
    case AttrType::kAttrs:
      return WriteValues<OpAttrsRef>(entry, [this](const OpAttrsRef& value) { WriteAttrs(value.entries()); });
  }
}

void ProgramWriter::WriteTensorAttr(const TensorAttr& tensor) {
  functions_.Metadata(tensor.metadata);
  const size_t size = tensor.data == nullptr ? 0 : tensor.metadata.byte_size();
  functions_.Elements(tensor.metadata.dtype, {static_cast<const std::byte*>(tensor.data), size});
  for (const std::string_view text : tensor.strings) functions_.Text(text);
}

}  // namespace

uint32_t ProgramChecksum(std::span<const std::byte> content) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : content) crc = (crc >> 8) ^ kCrcTable[(crc ^ std::to_integer<uint32_t>(byte)) & 0xFF];
  return ~crc;
}

void SetProgramChecksum(std::span<std::byte> file) {
  if (file.size() < kProgramChecksumSize) return;
  const size_t end = file.size() - kProgramChecksumSize;
  const uint32_t checksum = ProgramChecksum(file.first(end));
  for (size_t i = 0; i < kProgramChecksumSize; ++i) {
    file[end + i] = static_cast<std::byte>(checksum >> (8 * i) & 0xFF);
  }
}

std::vector<std::byte> Program::ToBytes() const { return ProgramWriter().Write(functions()); }

}  // namespace tandem
