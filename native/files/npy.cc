// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The header is read by a parser of its own, which knows as much of Python as headers have.

#include "files/npy.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

namespace tandem {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kVersionEnd = 8;  // of magic and version
constexpr size_t kAlignment = 64;  // of the elements in a file that is written

struct NamedDType {
  std::string_view name;  // without the byte order
  DType dtype;
};
constexpr NamedDType kDTypes[] = {
    {"b1", DType::kBool}, {"i1", DType::kI8},  {"i2", DType::kI16}, {"i4", DType::kI32}, {"i8", DType::kI64},
    {"u1", DType::kU8},   {"u2", DType::kU16}, {"u4", DType::kU32}, {"u8", DType::kU64}, {"f2", DType::kF16},
    {"f4", DType::kF32},  {"f8", DType::kF64}, {"c8", DType::kC64},
};

constexpr bool kIsLittleEndian = std::endian::native == std::endian::little;

template <typename... Parts>
Status ErrorAt(StatusCode code, std::string_view file, size_t offset, const Parts&... parts) {
  return MakeError(code, file, ": byte ", offset, ": ", parts...);
}

// A part of a file as errors show it.
struct Shown {
  std::string_view text;
};
void AppendTo(MessageBuilder& out, const Shown& shown) {
  constexpr size_t kMost = 40;
  const bool is_ascii =
      std::all_of(shown.text.begin(), shown.text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii) {
    AppendQuoted(out, shown.text.substr(0, kMost));
    if (shown.text.size() > kMost) out.Append("...");
  } else {
    out.Append("text that is not ASCII");
  }
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The dictionary.
class HeaderText {
 public:
  // `offset` is that of the text in the file.
  HeaderText(std::string_view file, std::string_view text, size_t offset) : file_(file), text_(text), offset_(offset) {}

  Status Read(NpyHeader& header) {
    if (!Take('{')) return Unexpected("'{'");
    bool has[3] = {};
    while (!Take('}')) {
      SkipSpace();
      const size_t at = at_;
      TANDEM_ASSIGN_OR_RETURN(const std::string_view key, ReadString("a key in quotes"));
      const auto known = std::find(std::begin(kKeys), std::end(kKeys), key);
      if (known == std::end(kKeys)) return Error(at, "expected descr, fortran_order or shape, got ", Shown{key});
      if (!Take(':')) return Unexpected("':'");
      const size_t which = static_cast<size_t>(known - std::begin(kKeys));
      if (std::exchange(has[which], true)) return Error(at, "expected each key once, got ", key, " again");
      TANDEM_RETURN_IF_ERROR(which == 0 ? ReadDescr(header) : which == 1 ? ReadOrder(header) : ReadShape(header));
      if (!Take(',') && !IsNext('}')) return Unexpected("',' or '}'");
    }
    for (size_t i = 0; i < std::size(kKeys); ++i) {
      if (!has[i]) return Error(at_, "expected the key ", kKeys[i], " in the header, got none");
    }
    SkipSpace();
    return at_ == text_.size() ? Status() : Unexpected("the end of the header");
  }

 private:
  static constexpr std::string_view kKeys[] = {"descr", "fortran_order", "shape"};

  Status ReadDescr(NpyHeader& header) {
    SkipSpace();
    const size_t at = at_;
    if (IsNext('[') || IsNext('(')) {
      return ErrorAt(StatusCode::kUnimplemented, file_, offset_ + at, "expected elements of one dtype, got ",
                     IsNext('[') ? "records" : "arrays of a dtype");
    }
    TANDEM_ASSIGN_OR_RETURN(const std::string_view descr, ReadString("a dtype in quotes"));
    const std::string_view name = descr.substr(std::min<size_t>(descr.size(), 1));
    if (name.starts_with('O') || descr == "O") {
      return ErrorAt(StatusCode::kUnimplemented, file_, offset_ + at,
                     "expected numbers or bools, got objects, which are Python pickles");
    }
    const auto known =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const NamedDType& d) { return d.name == name; });
    if (known == std::end(kDTypes)) {
      return ErrorAt(StatusCode::kUnimplemented, file_, offset_ + at,
                     "expected bool, i1 to i8, u1 to u8, f2 to f8 or c8 with its byte order, got ", Shown{descr});
    }
    header.metadata.dtype = known->dtype;
    const char order = descr[0];
    const bool is_single_byte = DTypeSize(known->dtype) == 1;
    if (order != '<' && order != '>' && !(order == '|' && is_single_byte)) {
      return Error(at, "expected a dtype of the byte order '<' or '>', got ", Shown{descr});
    }
    header.is_other_endian = !is_single_byte && (order == '<') != kIsLittleEndian;
    return Status();
  }

  Status ReadOrder(NpyHeader& header) {
    SkipSpace();
    const std::string_view rest = text_.substr(at_);
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest.starts_with(word)) continue;
      at_ += word.size();
      header.is_fortran_order = value;
      return Status();
    }
    return Unexpected("True or False");
  }

  Status ReadShape(NpyHeader& header) {
    if (!Take('(')) return Unexpected("'('");
    const size_t at = at_;
    TensorShape& shape = header.metadata.shape;
    shape = TensorShape();
    bool has_comma = false;
    while (!Take(')')) {
      if (shape.rank() > 0 && !has_comma) return Unexpected("',' or ')'");
      if (shape.rank() == TensorShape::kMaxRank) {
        return ErrorAt(StatusCode::kUnimplemented, file_, offset_ + at_, "expected at most ", TensorShape::kMaxRank,
                       " dimensions, got more");
      }
      TANDEM_ASSIGN_OR_RETURN(const int64_t dim, ReadDimension());
      shape.Append(dim);
      has_comma = Take(',');
    }
    // In Python, (3) is a number and no tuple.
    if (shape.rank() == 1 && !has_comma) return Error(at, "expected a tuple such as (3,), got (", shape.dim(0), ")");
    if (const Status valid = shape.Validate(); !valid.ok()) return Error(at, valid.message());
    return Status();
  }

  StatusOr<int64_t> ReadDimension() {
    SkipSpace();
    const size_t begin = at_;
    int64_t value = 0;
    while (at_ < text_.size() && IsDigit(text_[at_])) {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
        return Error(begin, "expected a dimension of at most ", INT64_MAX, ", got a larger one");
      }
      ++at_;
    }
    if (at_ == begin) return Unexpected("a dimension");
    // As Python 2 writes it.
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

  // The text between quotes of either kind.
  StatusOr<std::string_view> ReadString(std::string_view what) {
    SkipSpace();
    if (!IsNext('\'') && !IsNext('"')) return Unexpected(what);
    const size_t begin = at_ + 1;
    const size_t end = text_.find(text_[at_], begin);
    const std::string_view inside = text_.substr(begin, end == text_.npos ? text_.npos : end - begin);
    if (end == text_.npos) return Error(at_, "expected ", what, ", got no closing quote");
    if (const size_t escape = inside.find('\\'); escape != inside.npos) {
      return Error(begin + escape, "expected ", what, " without escapes, got '\\'");
    }
    at_ = end + 1;
    return inside;
  }

  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  bool IsNext(char c) {
    SkipSpace();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Take(char c) {
    if (!IsNext(c)) return false;
    ++at_;
    return true;
  }

  template <typename... Parts>
  Status Error(size_t at, const Parts&... parts) const {
    return ErrorAt(StatusCode::kDataLoss, file_, offset_ + at, parts...);
  }
  Status Unexpected(std::string_view expected) {
    SkipSpace();
    if (at_ == text_.size()) return Error(at_, "expected ", expected, ", got the end of the header");
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte < 0x20 || byte >= 0x7F) return Error(at_, "expected ", expected, ", got the byte ", int{byte});
    return Error(at_, "expected ", expected, ", got '", text_[at_], "'");
  }

  std::string_view file_;
  std::string_view text_;
  size_t offset_;
  size_t at_ = 0;
};

uint32_t ReadLittle(std::span<const std::byte> bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

// Row-major elements of column-major ones.
template <size_t kSize>
void CopyTransposed(const TensorShape& shape, const std::byte* from, std::byte* to) {
  size_t dims[TensorShape::kMaxRank];
  size_t strides[TensorShape::kMaxRank];  // in bytes of `from`
  size_t index[TensorShape::kMaxRank] = {};
  size_t stride = kSize;
  for (int i = 0; i < shape.rank(); ++i) {
    dims[i] = static_cast<size_t>(shape.dim(i));
    strides[i] = stride;
    stride *= dims[i];
  }
  size_t place = 0;
  for (int64_t i = 0; i < shape.num_elements(); ++i, to += kSize) {
    std::memcpy(to, from + place, kSize);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      place += strides[d];
      if (++index[d] < dims[d]) break;
      place -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
}

void CopyTransposed(const TensorMetadata& metadata, const std::byte* from, std::byte* to) {
  switch (DTypeSize(metadata.dtype)) {
    case 1:
      return CopyTransposed<1>(metadata.shape, from, to);
    case 2:
      return CopyTransposed<2>(metadata.shape, from, to);
    case 4:
      return CopyTransposed<4>(metadata.shape, from, to);
    default:
      return CopyTransposed<8>(metadata.shape, from, to);
  }
}

void ReverseBytes(DType dtype, std::span<std::byte> elements) {
  const size_t size = dtype == DType::kC64 ? sizeof(float) : DTypeSize(dtype);
  for (size_t i = 0; i < elements.size(); i += size) std::reverse(elements.data() + i, elements.data() + i + size);
}

}  // namespace

StatusOr<NpyHeader> ReadNpyHeader(std::span<const std::byte> content, std::string_view file) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (!text.starts_with(kMagic)) {
    return ErrorAt(StatusCode::kDataLoss, file, 0, "expected \"\\x93NUMPY\", got ",
                   text.empty() ? "an empty file" : "something else");
  }
  if (content.size() < kVersionEnd) {
    return ErrorAt(StatusCode::kDataLoss, file, kMagic.size(), "expected a version, got the end of the file");
  }
  const int major = std::to_integer<int>(content[kMagic.size()]);
  const int minor = std::to_integer<int>(content[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return ErrorAt(StatusCode::kUnimplemented, file, kMagic.size(), "expected version 1.0, 2.0 or 3.0, got ", major,
                   ".", minor);
  }
  const size_t length_size = major == 1 ? 2 : 4;
  const size_t begin = kVersionEnd + length_size;
  if (content.size() < begin) {
    return ErrorAt(StatusCode::kDataLoss, file, kVersionEnd, "expected the header's length in ", length_size,
                   " bytes, got ", content.size() - kVersionEnd);
  }
  const uint32_t length = ReadLittle(content.subspan(kVersionEnd, length_size));
  if (length > content.size() - begin) {
    return ErrorAt(StatusCode::kDataLoss, file, begin, "expected a header of ", length, " bytes, got ",
                   content.size() - begin);
  }
  NpyHeader header;
  header.data_offset = begin + length;
  TANDEM_RETURN_IF_ERROR(HeaderText(file, text.substr(begin, length), begin).Read(header));
  const uint64_t available = content.size() - header.data_offset;
  const size_t element_size = DTypeSize(header.metadata.dtype);
  if (available % element_size != 0 ||
      available / element_size != static_cast<uint64_t>(header.metadata.num_elements())) {
    return ErrorAt(StatusCode::kDataLoss, file, header.data_offset, "expected the elements of ", header.metadata,
                   ", got ", available, " bytes");
  }
  return header;
}

Status ReadNpyElements(std::span<const std::byte> content, std::string_view file, const NpyHeader& header,
                       std::span<std::byte> out) {
  const std::span<const std::byte> elements = content.subspan(header.data_offset, out.size());
  if (header.metadata.dtype == DType::kBool) {
    const auto wrong = std::find_if(elements.begin(), elements.end(), [](std::byte b) { return b > std::byte{1}; });
    if (wrong != elements.end()) {
      return ErrorAt(StatusCode::kDataLoss, file, header.data_offset + static_cast<size_t>(wrong - elements.begin()),
                     "expected a bool, 0 or 1, got ", std::to_integer<int>(*wrong));
    }
  }
  if (out.empty()) return Status();
  if (header.is_fortran_order && header.metadata.rank() > 1) {
    CopyTransposed(header.metadata, elements.data(), out.data());
  } else {
    std::memcpy(out.data(), elements.data(), out.size());
  }
  if (header.is_other_endian) ReverseBytes(header.metadata.dtype, out);
  return Status();
}

StatusOr<std::string> MakeNpyHeader(const TensorMetadata& metadata, std::string_view file) {
  const auto known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                  [&](const NamedDType& d) { return d.dtype == metadata.dtype; });
  if (known == std::end(kDTypes)) {
    return InvalidArgument(file, ": expected a dtype that .npy files have, got ", metadata.dtype);
  }
  if (const Status valid = metadata.Validate(); !valid.ok()) return InvalidArgument(file, ": ", valid.message());
  std::string text = "{'descr': '";
  text += DTypeSize(metadata.dtype) == 1 ? '|' : kIsLittleEndian ? '<' : '>';
  text.append(known->name).append("', 'fortran_order': False, 'shape': (");
  for (int i = 0; i < metadata.rank(); ++i) {
    text += std::to_string(metadata.dim(i));
    if (i + 1 < metadata.rank()) text += ", ";
  }
  text += metadata.rank() == 1 ? ",), }" : "), }";
  // Spaces and a newline up to where the elements begin.
  const size_t begin = kVersionEnd + 2;
  const size_t end = (begin + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(end - begin - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace tandem
