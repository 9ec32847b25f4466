// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A reader that takes the header's JSON as events, so that every departure from the format is seen where it happens,
// and a writer.

#include "digits/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "files/regular_file.h"

namespace digits {
namespace {

using nlohmann::json;
using tandem::DType;
using tandem::InvalidArgument;
using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

static_assert(std::endian::native == std::endian::little, "the data of a safetensors file is little-endian");

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr uint64_t kPrefixSize = 8;
constexpr size_t kDataAlignment = 8;

struct NamedDType {
  std::string_view name;
  DType dtype;
};
constexpr NamedDType kDTypes[] = {
    {"BOOL", DType::kBool}, {"U8", DType::kU8},   {"I8", DType::kI8},   {"U16", DType::kU16}, {"I16", DType::kI16},
    {"I32", DType::kI32},   {"U32", DType::kU32}, {"I64", DType::kI64}, {"U64", DType::kU64}, {"F16", DType::kF16},
    {"BF16", DType::kBF16}, {"F32", DType::kF32}, {"F64", DType::kF64},
};

// A name from a file in quotes, cut and with unprintable bytes replaced, fit for an error message.
std::string Quoted(std::string_view name) {
  constexpr size_t kMaxLength = 64;
  std::string text = "\"";
  for (char c : name.substr(0, kMaxLength)) text += c >= ' ' && c != '\x7f' ? c : '?';
  return text + (name.size() > kMaxLength ? "...\"" : "\"");
}

struct TensorEntry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<tandem::TensorShape> shape;
  std::optional<std::pair<uint64_t, uint64_t>> range;
};

// Receives the header's JSON from nlohmann's event parser. Holds the grammar of the header as a small automaton; the
// first event that does not fit becomes status() and ends the parse.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view path) : path_(path) {}

  const Status& status() const { return status_; }
  std::vector<TensorEntry>& entries() { return entries_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  bool null() { return Unexpected("null"); }
  bool boolean(bool value) { return Unexpected(value ? "true" : "false"); }
  // The parser reports a number this way exactly if it is written with a minus sign.
  bool number_integer(int64_t value) {
    return Unexpected("-" + std::to_string(uint64_t{0} - static_cast<uint64_t>(value)));
  }
  bool number_unsigned(uint64_t value);
  bool number_float(double, const std::string& text) { return Unexpected("the number " + Quoted(text)); }
  bool string(std::string& value);
  bool binary(const json::binary_t&) { return Unexpected("binary data"); }
  bool start_object(size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error);

 private:
  enum class State {
    kStart,
    kRoot,
    kMetadata,
    kMetadataText,
    kEntry,
    kFields,
    kDType,
    kShape,
    kDims,
    kRange,
    kOffsets,
    kEnd
  };

  std::string_view Expected() const;
  // All return false, which ends the parse.
  bool Unexpected(std::string_view got);
  template <typename... Parts>
  bool Fail(const Parts&... parts) {
    return FailAs(StatusCode::kDataLoss, parts...);
  }
  template <typename... Parts>
  bool FailAs(StatusCode code, const Parts&... parts) {
    const std::string place = entries_.empty() || !in_entry_ ? "" : "tensor " + Quoted(entries_.back().name) + ": ";
    status_ = MakeError(code, path_, ": ", place, parts...);
    return false;
  }
  bool StartField(std::string_view name);
  bool FinishEntry();

  std::string_view path_;
  Status status_;
  State state_ = State::kStart;
  bool in_entry_ = false;
  bool has_metadata_ = false;
  std::string metadata_key_;
  std::vector<uint64_t> numbers_;  // of the array being read
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

std::string_view HeaderParser::Expected() const {
  switch (state_) {
    case State::kStart:
      return "a JSON object";
    case State::kMetadata:
      return "an object of text for __metadata__";
    case State::kMetadataText:
      return "text as value in __metadata__";
    case State::kEntry:
      return "an object with dtype, shape and data_offsets";
    case State::kDType:
      return "a dtype name";
    case State::kShape:
      return "an array for shape";
    case State::kDims:
      return "non-negative integers in shape";
    case State::kRange:
      return "an array for data_offsets";
    case State::kOffsets:
      return "two non-negative integers in data_offsets";
    default:
      return "a name or the end of the object";
  }
}

bool HeaderParser::Unexpected(std::string_view got) { return Fail("expected ", Expected(), ", got ", got); }

bool HeaderParser::number_unsigned(uint64_t value) {
  if (state_ != State::kDims && state_ != State::kOffsets) return Unexpected("the number " + std::to_string(value));
  if (state_ == State::kDims) {
    if (numbers_.size() == tandem::TensorShape::kMaxRank) {
      return FailAs(StatusCode::kUnimplemented, "expected at most ", tandem::TensorShape::kMaxRank,
                    " dimensions, got more");
    }
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Fail("expected a dimension below 2^63, got ", value);
    }
  } else if (numbers_.size() == 2) {
    return Unexpected("a third");
  }
  numbers_.push_back(value);
  return true;
}

bool HeaderParser::string(std::string& value) {
  if (state_ == State::kMetadataText) {
    if (!metadata_.emplace(std::move(metadata_key_), value).second)
      return Fail("expected each key of __metadata__ once");
    state_ = State::kMetadata;
    return true;
  }
  if (state_ != State::kDType) return Unexpected("text " + Quoted(value));
  for (const NamedDType& named : kDTypes) {
    if (named.name == value) entries_.back().dtype = named.dtype;
  }
  if (!entries_.back().dtype) {
    return FailAs(StatusCode::kUnimplemented,
                  "expected one of the dtypes BOOL, [UI]{8,16,32,64}, F16, BF16, F32, F64, got ", Quoted(value));
  }
  state_ = State::kFields;
  return true;
}

bool HeaderParser::start_object(size_t) {
  if (state_ == State::kStart) {
    state_ = State::kRoot;
  } else if (state_ == State::kEntry) {
    state_ = State::kFields;
  } else if (state_ == State::kMetadata && !has_metadata_) {
    has_metadata_ = true;
  } else {
    return Unexpected("an object");
  }
  return true;
}

bool HeaderParser::key(std::string& name) {
  if (state_ == State::kFields) return StartField(name);
  if (state_ == State::kMetadata) {
    if (metadata_.contains(name)) return Fail("expected each key of __metadata__ once, got ", Quoted(name), " again");
    metadata_key_ = std::move(name);
    state_ = State::kMetadataText;
    return true;
  }
  if (name == kMetadataKey) {
    if (has_metadata_) return Fail("expected __metadata__ once, got it again");
    state_ = State::kMetadata;
    return true;
  }
  entries_.push_back({std::move(name), {}, {}, {}});
  in_entry_ = true;
  state_ = State::kEntry;
  return true;
}

bool HeaderParser::StartField(std::string_view name) {
  const TensorEntry& entry = entries_.back();
  bool repeated;
  if (name == "dtype") {
    repeated = entry.dtype.has_value();
    state_ = State::kDType;
  } else if (name == "shape") {
    repeated = entry.shape.has_value();
    state_ = State::kShape;
  } else if (name == "data_offsets") {
    repeated = entry.range.has_value();
    state_ = State::kRange;
  } else {
    return Fail("expected dtype, shape or data_offsets, got field ", Quoted(name));
  }
  return repeated ? Fail("expected ", name, " once, got it again") : true;
}

bool HeaderParser::end_object() {
  if (state_ == State::kFields) return FinishEntry();
  state_ = state_ == State::kMetadata ? State::kRoot : State::kEnd;
  return true;
}

bool HeaderParser::FinishEntry() {
  const TensorEntry& entry = entries_.back();
  if (!entry.dtype) return Fail("expected a field dtype, got none");
  if (!entry.shape) return Fail("expected a field shape, got none");
  if (!entry.range) return Fail("expected a field data_offsets, got none");
  in_entry_ = false;
  state_ = State::kRoot;
  return true;
}

bool HeaderParser::start_array(size_t) {
  if (state_ != State::kShape && state_ != State::kRange) return Unexpected("an array");
  state_ = state_ == State::kShape ? State::kDims : State::kOffsets;
  numbers_.clear();
  return true;
}

bool HeaderParser::end_array() {
  if (state_ == State::kDims) {
    tandem::TensorShape& shape = entries_.back().shape.emplace();
    for (uint64_t dim : numbers_) shape.Append(static_cast<int64_t>(dim));
    if (!shape.IsValid()) return Fail("expected a shape with fewer than 2^63 elements, got ", shape);
  } else {
    if (numbers_.size() != 2) return Unexpected(numbers_.empty() ? "none" : "one");
    entries_.back().range.emplace(numbers_[0], numbers_[1]);
  }
  state_ = State::kFields;
  return true;
}

bool HeaderParser::parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
  // The text is "[json.exception...] parse error at line 1, column 7: ...".
  std::string_view what = error.what();
  if (const size_t start = what.find("] "); start != what.npos) what.remove_prefix(start + 2);
  in_entry_ = false;
  return Fail("byte ", kPrefixSize + position - 1, ": expected valid JSON, got a ", what.substr(0, 200));
}

// Where an open file's data begins and how much there is.
struct Layout {
  uint64_t data_offset = 0;
  uint64_t data_size = 0;
};

// Reads `size` bytes; data loss if there are fewer.
Status ReadFully(std::FILE* file, const std::string& path, std::string_view what, uint8_t* out, size_t size) {
  const size_t got = size == 0 ? 0 : std::fread(out, 1, size, file);
  if (got == size) return Status();
  return MakeError(StatusCode::kDataLoss, path, ": expected ", size, " bytes of ", what, ", got ", got);
}

// Reads the length and the JSON, up to where the data begins.
StatusOr<files::ByteBuffer> ReadHeader(std::FILE* file, const std::string& path, uint64_t file_size) {
  uint8_t prefix[kPrefixSize];
  TANDEM_RETURN_IF_ERROR(ReadFully(file, path, "header length", prefix, sizeof(prefix)));
  uint64_t size = 0;
  for (size_t i = 0; i < kPrefixSize; ++i) size |= uint64_t{prefix[i]} << (8 * i);
  if (size > kMaxSafetensorsHeader) {
    return MakeError(StatusCode::kDataLoss, path, ": byte 0: expected a header of at most ", kMaxSafetensorsHeader,
                     " bytes, got a length of ", size);
  }
  if (file_size < kPrefixSize || size > file_size - kPrefixSize) {
    return MakeError(StatusCode::kDataLoss, path, ": byte 0: expected a header within the file of ", file_size,
                     " bytes, got a length of ", size);
  }
  TANDEM_ASSIGN_OR_RETURN(files::ByteBuffer header, files::ByteBuffer::Allocate(size));
  TANDEM_RETURN_IF_ERROR(ReadFully(file, path, "header", header.data(), header.size()));
  if (size == 0 || header.data()[0] != '{') {
    return MakeError(StatusCode::kDataLoss, path, ": byte 8: expected a header that begins with '{', got ",
                     size == 0 ? std::string("none") : "byte " + std::to_string(header.data()[0]));
  }
  // The JSON parser would take a NUL for the end of its input and overlook what follows.
  if (const void* nul = std::memchr(header.data(), 0, header.size()); nul != nullptr) {
    return MakeError(StatusCode::kDataLoss, path, ": byte ",
                     kPrefixSize + static_cast<size_t>(static_cast<const uint8_t*>(nul) - header.data()),
                     ": expected JSON text, got byte 0");
  }
  return header;
}

Status CheckNamesDiffer(const std::string& path, const std::vector<TensorEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const TensorEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto repeated = std::adjacent_find(names.begin(), names.end());
  if (repeated == names.end()) return Status();
  return MakeError(StatusCode::kDataLoss, path, ": expected each tensor name once, got ", Quoted(*repeated), " again");
}

// Sorts `entries` by their data and checks that they fill it.
Status CheckRanges(const std::string& path, std::vector<TensorEntry>& entries, const Layout& layout) {
  std::sort(entries.begin(), entries.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return *a.range < *b.range; });
  uint64_t end_of_previous = 0;
  for (const TensorEntry& entry : entries) {
    const uint64_t begin = entry.range->first;
    const uint64_t end = entry.range->second;
    const auto fail = [&](const auto&... parts) {
      return MakeError(StatusCode::kDataLoss, path, ": tensor ", Quoted(entry.name), ": ", parts..., ", got [", begin,
                       ", ", end, "]");
    };
    if (end < begin) return fail("expected data_offsets in ascending order");
    if (end > layout.data_size) return fail("expected data_offsets within the data of ", layout.data_size, " bytes");
    if (begin != end_of_previous) {
      return fail("expected data_offsets that begin at ", end_of_previous, " where the data before ends");
    }
    const uint64_t count = static_cast<uint64_t>(entry.shape->num_elements());
    const uint64_t element_size = tandem::DTypeSize(*entry.dtype);
    if (count > std::numeric_limits<uint64_t>::max() / element_size || count * element_size != end - begin) {
      return fail("expected data_offsets ", count, " * ", element_size, " bytes apart for ", *entry.dtype,
                  *entry.shape);
    }
    end_of_previous = end;
  }
  if (end_of_previous == layout.data_size) return Status();
  return MakeError(StatusCode::kDataLoss, path, ": byte ", layout.data_offset + end_of_previous,
                   ": expected the end of the file after the last tensor, got ", layout.data_size - end_of_previous,
                   " more bytes");
}

StatusOr<StoredTensor> ReadTensor(std::FILE* file, const std::string& path, TensorEntry& entry) {
  StoredTensor tensor;
  TANDEM_ASSIGN_OR_RETURN(tensor.bytes, files::ByteBuffer::Allocate(entry.range->second - entry.range->first));
  TANDEM_RETURN_IF_ERROR(
      ReadFully(file, path, "tensor " + Quoted(entry.name), tensor.bytes.data(), tensor.bytes.size()));
  if (*entry.dtype == DType::kBool) {
    for (size_t i = 0; i < tensor.bytes.size(); ++i) {
      if (tensor.bytes.data()[i] <= 1) continue;
      return MakeError(StatusCode::kDataLoss, path, ": tensor ", Quoted(entry.name), ": expected bools of 0 or 1, got ",
                       tensor.bytes.data()[i], " in element ", i);
    }
  }
  tensor.name = std::move(entry.name);
  tensor.dtype = *entry.dtype;
  tensor.shape = *entry.shape;
  return tensor;
}

std::string_view FormatName(DType dtype) {
  for (const NamedDType& named : kDTypes) {
    if (named.dtype == dtype) return named.name;
  }
  return {};
}

bool IsUtf8(std::string_view text) {
  const json value(text);
  return value.dump(-1, ' ', false, json::error_handler_t::ignore) ==
         value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Status CheckTensorToStore(const TensorToStore& tensor) {
  const auto fail = [&](const auto&... parts) {
    return InvalidArgument("tensor ", Quoted(tensor.name), ": ", parts...);
  };
  if (tensor.name == kMetadataKey) return fail("expected another name, got the one kept for metadata");
  if (!IsUtf8(tensor.name)) return fail("expected a name in UTF-8");
  if (FormatName(tensor.dtype).empty()) return fail("expected a dtype of the safetensors format, got ", tensor.dtype);
  if (!tensor.shape.IsValid()) return fail("expected a valid shape, got ", tensor.shape);
  const uint64_t count = static_cast<uint64_t>(tensor.shape.num_elements());
  const uint64_t element_size = tandem::DTypeSize(tensor.dtype);
  if (count > std::numeric_limits<uint64_t>::max() / element_size || count * element_size != tensor.bytes.size()) {
    return fail("expected ", count, " * ", element_size, " bytes for ", tensor.dtype, tensor.shape, ", got ",
                tensor.bytes.size());
  }
  return Status();
}

// The length and the JSON for `tensors`, padded so that the data is aligned.
StatusOr<std::string> MakeHeader(std::span<const TensorToStore* const> tensors,
                                 const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  for (const auto& [key, value] : metadata) {
    if (!IsUtf8(key) || !IsUtf8(value)) return InvalidArgument("expected metadata in UTF-8 under ", Quoted(key));
    header[std::string(kMetadataKey)][key] = value;
  }
  uint64_t offset = 0;
  for (const TensorToStore* tensor : tensors) {
    const std::string name(tensor->name);
    if (header.contains(name)) return InvalidArgument("expected each tensor name once, got ", Quoted(name), " again");
    json shape = json::array();
    for (int64_t dim : tensor->shape.dims()) shape.push_back(dim);
    header[name] = {{"dtype", std::string(FormatName(tensor->dtype))},
                    {"shape", std::move(shape)},
                    {"data_offsets", json::array({offset, offset + tensor->bytes.size()})}};
    offset += tensor->bytes.size();
  }
  std::string text = header.dump();
  text.append((kDataAlignment - text.size() % kDataAlignment) % kDataAlignment, ' ');
  if (text.size() > kMaxSafetensorsHeader) {
    return InvalidArgument("expected a header of at most ", kMaxSafetensorsHeader, " bytes, got ", text.size());
  }
  std::string prefix;
  for (size_t i = 0; i < kPrefixSize; ++i) prefix += static_cast<char>(uint64_t{text.size()} >> (8 * i) & 0xff);
  return prefix + text;
}

Status WriteAll(std::FILE* file, const std::string& path, std::string_view header,
                std::span<const TensorToStore* const> tensors) {
  bool ok = std::fwrite(header.data(), 1, header.size(), file) == header.size();
  for (const TensorToStore* tensor : tensors) {
    if (!ok) break;
    if (tensor->bytes.empty()) continue;
    ok = std::fwrite(tensor->bytes.data(), 1, tensor->bytes.size(), file) == tensor->bytes.size();
  }
  if (ok) return Status();
  return MakeError(StatusCode::kDataLoss, path, ": expected to write all tensors, got: ", std::strerror(errno));
}

}  // namespace

const StoredTensor* SafetensorsContents::Find(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

StatusOr<SafetensorsContents> ReadSafetensors(const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const files::RegularFile input, files::OpenRegularFile(path));
  TANDEM_ASSIGN_OR_RETURN(const files::ByteBuffer header, ReadHeader(input.file.get(), path, input.size));
  HeaderParser parser(path);
  const bool parsed = json::sax_parse(header.data(), header.data() + header.size(), &parser);
  if (!parsed) return parser.status();

  std::vector<TensorEntry>& entries = parser.entries();
  TANDEM_RETURN_IF_ERROR(CheckNamesDiffer(path, entries));
  Layout layout;
  layout.data_offset = kPrefixSize + header.size();
  layout.data_size = input.size - layout.data_offset;
  TANDEM_RETURN_IF_ERROR(CheckRanges(path, entries, layout));

  SafetensorsContents contents;
  contents.metadata = std::move(parser.metadata());
  contents.tensors.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    TANDEM_ASSIGN_OR_RETURN(StoredTensor tensor, ReadTensor(input.file.get(), path, entry));
    contents.tensors.push_back(std::move(tensor));
  }
  return contents;
}

Status WriteSafetensors(const std::string& path, std::span<const TensorToStore> tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<const TensorToStore*> sorted;
  for (const TensorToStore& tensor : tensors) {
    TANDEM_RETURN_IF_ERROR(CheckTensorToStore(tensor));
    sorted.push_back(&tensor);
  }
  // Widest elements first keeps every tensor aligned to its elements.
  std::stable_sort(sorted.begin(), sorted.end(), [](const TensorToStore* a, const TensorToStore* b) {
    return tandem::DTypeSize(a->dtype) > tandem::DTypeSize(b->dtype);
  });
  TANDEM_ASSIGN_OR_RETURN(const std::string header, MakeHeader(sorted, metadata));
  return files::ReplaceFile(path, [&](std::FILE* file) { return WriteAll(file, path, header, sorted); });
}

}  // namespace digits
