// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parser knows the grammar of the header, so that every departure from the format is seen where it happens, and
// nothing is kept of what the format does not have.

#include "safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/json_reader.h"
#include "base/utf8.h"

namespace tandem::eager {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr size_t kDataAlignment = 8;

struct StoredDType {
  std::string_view name;
  DType dtype;
  unsigned bits;  // of an element
};
// In the order in which the format's own writer sorts them, narrow ones first.
constexpr StoredDType kDTypes[] = {
    {"BOOL", DType::kBool, 8},
    {"F4", DType::kInvalid, 4},
    {"F6_E2M3", DType::kInvalid, 6},
    {"F6_E3M2", DType::kInvalid, 6},
    {"U8", DType::kU8, 8},
    {"I8", DType::kI8, 8},
    {"F8_E5M2", DType::kInvalid, 8},
    {"F8_E4M3", DType::kInvalid, 8},
    {"F8_E8M0", DType::kInvalid, 8},
    {"F8_E4M3FNUZ", DType::kInvalid, 8},
    {"F8_E5M2FNUZ", DType::kInvalid, 8},
    {"I16", DType::kI16, 16},
    {"U16", DType::kU16, 16},
    {"F16", DType::kF16, 16},
    {"BF16", DType::kBF16, 16},
    {"I32", DType::kI32, 32},
    {"U32", DType::kU32, 32},
    {"F32", DType::kF32, 32},
    {"C64", DType::kC64, 64},
    {"F64", DType::kF64, 64},
    {"I64", DType::kI64, 64},
    {"U64", DType::kU64, 64},
};

const StoredDType* FindDType(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                         [name](const StoredDType& stored) { return stored.name == name; });
  return found == std::end(kDTypes) ? nullptr : found;
}

// Null if the format has no such dtype.
const StoredDType* FindDType(DType dtype) {
  const auto* const found = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                         [dtype](const StoredDType& stored) { return stored.dtype == dtype; });
  return dtype == DType::kInvalid || found == std::end(kDTypes) ? nullptr : found;
}

class HeaderParser {
 public:
  HeaderParser(std::string_view file, std::span<char> text, uint64_t data_size, SafetensorsHeader& header)
      : file_(file),
        text_(text),
        reader_(text),
        data_offset_(kHeaderPrefixSize + text.size()),
        data_size_(data_size),
        header_(header) {}

  Status Parse();

 private:
  // The fields of an entry that have been there.
  struct Fields {
    const StoredDType* dtype = nullptr;
    bool has_shape = false;
    bool has_range = false;
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  template <typename... Parts>
  Status Fail(StatusCode code, const Parts&... parts) const;
  template <typename... Parts>
  Status Broken(const Parts&... parts) const {
    return Fail(StatusCode::kDataLoss, parts...);
  }
  // Something else than what comes next.
  template <typename... Parts>
  Status Unexpected(const Parts&... expected) {
    return Broken("byte ", kHeaderPrefixSize + reader_.position(), ": expected ", expected..., ", got ", reader_);
  }
  Status TakeString(std::string_view* out, std::string_view what);
  // The members of an object behind its opening brace.
  template <typename Member>
  Status TakeMembers(Member member);
  // The numbers of an array, of which there is room for `room`; *count may be one more than that.
  Status TakeNumbers(std::string_view what, uint64_t* numbers, size_t room, size_t* count);

  Status TakeMetadata();
  Status TakeEntry(std::string_view name);
  Status TakeField(std::string_view field, SafetensorsEntry& entry, Fields& fields);
  Status TakeDType(SafetensorsEntry& entry, Fields& fields);
  Status TakeShape(SafetensorsEntry& entry);
  Status TakeRange(Fields& fields);
  Status CheckSize(const SafetensorsEntry& entry, const Fields& fields) const;
  Status CheckNames();
  Status CheckKeys();
  Status CheckRanges();

  std::string_view file_;
  std::span<const char> text_;
  JsonReader reader_;
  uint64_t data_offset_;
  uint64_t data_size_;
  SafetensorsHeader& header_;
  const SafetensorsEntry* current_ = nullptr;  // what errors are about
  bool has_metadata_ = false;
};

template <typename... Parts>
Status HeaderParser::Fail(StatusCode code, const Parts&... parts) const {
  MessageBuilder text;
  text.Append(file_, ": ");
  if (current_ != nullptr) text.Append("tensor ", ShownName{current_->name}, ": ");
  text.Append(parts...);
  return Status::Error(code, text.view());
}

Status HeaderParser::TakeString(std::string_view* out, std::string_view what) {
  if (!reader_.IsString()) return Unexpected(what);
  if (const char* expected = reader_.TakeString(out)) return Unexpected(expected);
  return Status();
}

template <typename Member>
Status HeaderParser::TakeMembers(Member member) {
  if (reader_.Take('}')) return Status();
  while (true) {
    std::string_view name;
    TANDEM_RETURN_IF_ERROR(TakeString(&name, "a name or the end of the object"));
    if (!reader_.Take(':')) return Unexpected("':'");
    TANDEM_RETURN_IF_ERROR(member(name));
    if (reader_.Take('}')) return Status();
    if (!reader_.Take(',')) return Unexpected("',' or '}'");
  }
}

Status HeaderParser::TakeNumbers(std::string_view what, uint64_t* numbers, size_t room, size_t* count) {
  *count = 0;
  if (!reader_.Take('[')) return Unexpected("an array for ", what);
  if (reader_.Take(']')) return Status();
  while (true) {
    uint64_t number = 0;
    if (!reader_.TakeUnsigned(&number)) return Unexpected("integers from 0 on in ", what);
    if (*count < room) numbers[*count] = number;
    if (*count <= room) ++*count;
    if (reader_.Take(']')) return Status();
    if (!reader_.Take(',')) return Unexpected("',' or ']'");
  }
}

Status HeaderParser::Parse() {
  if (text_.empty() || text_[0] != '{') {
    return Broken("byte ", kHeaderPrefixSize, ": expected a header that begins with '{', got ", reader_);
  }
  (void)reader_.Take('{');
  TANDEM_RETURN_IF_ERROR(TakeMembers([this](std::string_view name) {
    if (name == kMetadataKey) return TakeMetadata();
    const Status status = TakeEntry(name);
    if (status.ok()) current_ = nullptr;
    return status;
  }));
  if (!reader_.AtEnd()) return Unexpected("spaces behind the header's object");
  TANDEM_RETURN_IF_ERROR(CheckKeys());
  TANDEM_RETURN_IF_ERROR(CheckRanges());
  return CheckNames();
}

Status HeaderParser::TakeMetadata() {
  if (std::exchange(has_metadata_, true)) return Broken("expected ", kMetadataKey, " once, got it again");
  if (!reader_.Take('{')) return Unexpected("an object of text for ", kMetadataKey);
  return TakeMembers([this](std::string_view key) -> Status {
    std::string_view value;
    TANDEM_RETURN_IF_ERROR(TakeString(&value, "text as value in __metadata__"));
    if (!header_.metadata.Append({key, value})) return Status::OutOfMemory();
    return Status();
  });
}

Status HeaderParser::TakeEntry(std::string_view name) {
  if (!header_.entries.Append({})) return Status::OutOfMemory();
  SafetensorsEntry& entry = header_.entries.back();
  entry.name = name;
  current_ = &entry;
  if (!reader_.Take('{')) return Unexpected("an object with dtype, shape and data_offsets");
  Fields fields;
  TANDEM_RETURN_IF_ERROR(TakeMembers([&](std::string_view field) { return TakeField(field, entry, fields); }));
  if (fields.dtype == nullptr) return Broken("expected a field dtype, got none");
  if (!fields.has_shape) return Broken("expected a field shape, got none");
  if (!fields.has_range) return Broken("expected a field data_offsets, got none");
  entry.offset = data_offset_ + fields.begin;
  entry.size = fields.end - fields.begin;
  return CheckSize(entry, fields);
}

Status HeaderParser::TakeField(std::string_view field, SafetensorsEntry& entry, Fields& fields) {
  const auto once = [&](bool is_repeated) {
    return is_repeated ? Broken("expected ", field, " once, got it again") : Status();
  };
  if (field == "dtype") {
    TANDEM_RETURN_IF_ERROR(once(fields.dtype != nullptr));
    return TakeDType(entry, fields);
  }
  if (field == "shape") {
    TANDEM_RETURN_IF_ERROR(once(std::exchange(fields.has_shape, true)));
    return TakeShape(entry);
  }
  if (field == "data_offsets") {
    TANDEM_RETURN_IF_ERROR(once(std::exchange(fields.has_range, true)));
    return TakeRange(fields);
  }
  return Broken("expected dtype, shape or data_offsets, got field ", ShownName{field});
}

Status HeaderParser::TakeDType(SafetensorsEntry& entry, Fields& fields) {
  TANDEM_RETURN_IF_ERROR(TakeString(&entry.stored_dtype, "a dtype's name"));
  fields.dtype = FindDType(entry.stored_dtype);
  if (fields.dtype == nullptr) {
    return Fail(StatusCode::kUnimplemented, "expected a dtype of the format, such as F32 or I64, got ",
                ShownName{entry.stored_dtype});
  }
  entry.metadata.dtype = fields.dtype->dtype;
  return Status();
}

Status HeaderParser::TakeShape(SafetensorsEntry& entry) {
  constexpr size_t kMaxRank = TensorShape::kMaxRank;
  uint64_t dims[kMaxRank];
  size_t rank = 0;
  TANDEM_RETURN_IF_ERROR(TakeNumbers("shape", dims, kMaxRank, &rank));
  if (rank > kMaxRank) return Fail(StatusCode::kUnimplemented, "expected at most ", kMaxRank, " dimensions, got more");
  for (const uint64_t dim : std::span(dims, rank)) {
    if (!std::in_range<int64_t>(dim)) return Broken("expected dimensions below 2^63, got ", dim);
    entry.metadata.shape.Append(static_cast<int64_t>(dim));
  }
  if (entry.metadata.shape.IsValid()) return Status();
  return Broken("expected a shape with fewer than 2^63 elements, got ", entry.metadata.shape);
}

Status HeaderParser::TakeRange(Fields& fields) {
  uint64_t offsets[2];
  size_t count = 0;
  TANDEM_RETURN_IF_ERROR(TakeNumbers("data_offsets", offsets, std::size(offsets), &count));
  if (count != 2)
    return Broken("expected two numbers in data_offsets, got ", count > 2 ? "more" : count > 0 ? "one" : "none");
  fields.begin = offsets[0];
  fields.end = offsets[1];
  if (fields.end < fields.begin) {
    return Broken("expected data_offsets in ascending order, got [", fields.begin, ", ", fields.end, "]");
  }
  if (fields.end <= data_size_) return Status();
  return Broken("expected data_offsets within the data of ", data_size_, " bytes, got [", fields.begin, ", ",
                fields.end, "]");
}

Status HeaderParser::CheckSize(const SafetensorsEntry& entry, const Fields& fields) const {
  const auto count = static_cast<uint64_t>(entry.metadata.num_elements());
  const uint64_t bits = fields.dtype->bits;
  if (count <= std::numeric_limits<uint64_t>::max() / bits && count * bits % 8 == 0 && count * bits / 8 == entry.size) {
    return Status();
  }
  return Broken("expected data_offsets that are ", count, " elements of ", bits, " bits apart for ", entry.stored_dtype,
                entry.metadata.shape, ", got [", fields.begin, ", ", fields.end, "]");
}

Status HeaderParser::CheckNames() {
  for (const SafetensorsEntry& entry : header_.entries.span()) {
    if (!header_.by_name.Append(&entry)) return Status::OutOfMemory();
  }
  const std::span<const SafetensorsEntry*> by_name = header_.by_name.span();
  std::sort(by_name.begin(), by_name.end(), [](auto* a, auto* b) { return a->name < b->name; });
  const auto repeated =
      std::adjacent_find(by_name.begin(), by_name.end(), [](auto* a, auto* b) { return a->name == b->name; });
  if (repeated == by_name.end()) return Status();
  return Broken("expected each tensor's name once, got ", ShownName{(*repeated)->name}, " again");
}

Status HeaderParser::CheckKeys() {
  const std::span<SafetensorsText> texts = header_.metadata.span();
  std::sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  const auto repeated =
      std::adjacent_find(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.key == b.key; });
  if (repeated == texts.end()) return Status();
  return Broken("expected each key of ", kMetadataKey, " once, got ", ShownName{repeated->key}, " again");
}

// The tensors, put in the order of their data, must fill it.
Status HeaderParser::CheckRanges() {
  const std::span<SafetensorsEntry> entries = header_.entries.span();
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.size != b.size ? a.size < b.size : a.name < b.name;
  });
  uint64_t end = data_offset_;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.offset != end) {
      current_ = &entry;
      const uint64_t begin = entry.offset - data_offset_;
      return Broken("expected data_offsets that begin at ", end - data_offset_, ", where the data before ends, got [",
                    begin, ", ", begin + entry.size, "]");
    }
    end += entry.size;
  }
  const uint64_t rest = data_offset_ + data_size_ - end;
  if (rest == 0) return Status();
  return Broken("byte ", end, ": expected the end of the file after the last tensor, got ", rest, " more bytes");
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8SequenceLength(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

// As JavaScript's JSON.stringify has it. The text is UTF-8.
void AppendJsonString(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  static constexpr std::string_view kEscaped = "\b\t\n\f\r\"\\";
  static constexpr char kEscapes[] = "btnfr\"\\";
  out += '"';
  for (const char c : text) {
    if (const size_t which = kEscaped.find(c); which != kEscaped.npos) {
      out.append(1, '\\').append(1, kEscapes[which]);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").append(1, kHex[c >> 4]).append(1, kHex[c & 15]);
    } else {
      out += c;
    }
  }
  out += '"';
}

Status CheckTensor(const TensorToSave& tensor) {
  const auto fail = [&](const auto&... parts) {
    return InvalidArgument("tensor ", ShownName{tensor.name}, ": ", parts...);
  };
  if (tensor.name == kMetadataKey) return fail("expected another name, got the one kept for metadata");
  if (!IsUtf8(tensor.name)) return fail("expected a name in UTF-8");
  if (FindDType(tensor.metadata.dtype) == nullptr) {
    return fail("expected a dtype of the format, got ", tensor.metadata.dtype);
  }
  return tensor.metadata.Validate();
}

}  // namespace

void AppendTo(MessageBuilder& out, const ShownName& shown) {
  constexpr size_t kMaxLength = 64;
  size_t length = 0;
  while (length < shown.name.size() && length < kMaxLength) {
    length += std::max<size_t>(1, Utf8SequenceLength(shown.name, length));
  }
  AppendQuoted(out, shown.name.substr(0, length));
  if (length < shown.name.size()) out.Append("...");
}

StatusOr<size_t> ReadHeaderSize(std::string_view file, std::span<const std::byte> prefix, uint64_t file_size) {
  uint64_t size = 0;
  for (size_t i = prefix.size(); i-- > 0;) size = size << 8 | std::to_integer<uint64_t>(prefix[i]);
  if (size > kMaxHeaderSize) {
    return MakeError(StatusCode::kDataLoss, file, ": byte 0: expected a header of at most ", kMaxHeaderSize,
                     " bytes, got a length of ", size);
  }
  if (size > file_size - kHeaderPrefixSize) {
    return MakeError(StatusCode::kDataLoss, file, ": byte 0: expected a header within the file of ", file_size,
                     " bytes, got a length of ", size);
  }
  return static_cast<size_t>(size);
}

Status ParseHeader(std::string_view file, size_t size, uint64_t file_size, SafetensorsHeader& header) {
  const uint64_t data_size = file_size - kHeaderPrefixSize - size;
  return HeaderParser(file, {header.text.get(), size}, data_size, header).Parse();
}

StatusOr<std::string> FormatHeader(std::span<TensorToSave> tensors, const NamedTexts& metadata) {
  for (const TensorToSave& tensor : tensors) TANDEM_RETURN_IF_ERROR(CheckTensor(tensor));
  std::sort(tensors.begin(), tensors.end(), [](const TensorToSave& a, const TensorToSave& b) {
    const StoredDType* const a_dtype = FindDType(a.metadata.dtype);
    const StoredDType* const b_dtype = FindDType(b.metadata.dtype);
    return a_dtype != b_dtype ? a_dtype > b_dtype : a.name < b.name;
  });
  std::string text(kHeaderPrefixSize, '\0');
  text += '{';
  std::string_view separator = "";
  if (!metadata.empty()) {
    AppendJsonString(text, kMetadataKey);
    text += ":{";
    for (const auto& [key, value] : metadata) {
      if (!IsUtf8(key) || !IsUtf8(value)) return InvalidArgument("expected metadata in UTF-8 under ", ShownName{key});
      text += separator;
      AppendJsonString(text, key);
      text += ':';
      AppendJsonString(text, value);
      separator = ",";
    }
    text += '}';
    separator = ",";
  }
  uint64_t offset = 0;
  for (const TensorToSave& tensor : tensors) {
    text += separator;
    separator = ",";
    AppendJsonString(text, tensor.name);
    text.append(":{\"dtype\":\"").append(FindDType(tensor.metadata.dtype)->name).append("\",\"shape\":[");
    for (int i = 0; i < tensor.metadata.rank(); ++i) {
      text.append(i == 0 ? "" : ",").append(std::to_string(tensor.metadata.dim(i)));
    }
    const uint64_t end = offset + tensor.metadata.byte_size();
    text.append("],\"data_offsets\":[").append(std::to_string(offset)).append(",").append(std::to_string(end));
    text += "]}";
    offset = end;
  }
  text += '}';
  text.append((kDataAlignment - text.size() % kDataAlignment) % kDataAlignment, ' ');
  const uint64_t size = text.size() - kHeaderPrefixSize;
  if (size > kMaxHeaderSize) {
    return InvalidArgument("expected names and metadata that make a header of at most ", kMaxHeaderSize,
                           " bytes, got one of ", size);
  }
  for (size_t i = 0; i < kHeaderPrefixSize; ++i) text[i] = static_cast<char>(size >> (8 * i) & 0xff);
  return text;
}

}  // namespace tandem::eager
