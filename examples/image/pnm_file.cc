// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A scanner over the bytes of a PPM or PGM, and the scaling of its samples.

#include "image/pnm_file.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace image {
namespace {

using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

constexpr uint32_t kMaxSide = 0x7fffffff;
constexpr uint32_t kMaxMaxval = 65535;

bool IsDigit(uint8_t c) { return c >= '0' && c <= '9'; }
// What the format takes for white space, whatever the locale.
bool IsSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Scanner {
 public:
  Scanner(const std::string& path, std::span<const uint8_t> bytes, size_t offset)
      : path_(path), bytes_(bytes), offset_(offset) {}

  size_t offset() const { return offset_; }
  std::span<const uint8_t> rest() const { return bytes_.subspan(offset_); }

  template <typename... Parts>
  Status ErrorAt(size_t offset, const Parts&... parts) const {
    return MakeError(StatusCode::kDataLoss, path_, ": byte ", offset, ": expected ", parts...);
  }
  // What is at the current byte, for errors.
  std::string Found() const {
    if (offset_ == bytes_.size()) return "the end of the file";
    tandem::MessageBuilder text;
    AppendQuoted(text, {reinterpret_cast<const char*>(&bytes_[offset_]), 1});
    return std::string(text.view());
  }

  // Skips white space, and comments from '#' to the end of the line.
  void SkipSpace() {
    while (offset_ < bytes_.size() && (IsSpace(bytes_[offset_]) || bytes_[offset_] == '#')) {
      if (bytes_[offset_] == '#') SkipToLineEnd();
      if (offset_ < bytes_.size()) ++offset_;
    }
  }

  // White space, then a number in [low, high].
  StatusOr<uint32_t> Number(std::string_view what, uint32_t low, uint32_t high) {
    SkipSpace();
    if (offset_ == bytes_.size() || !IsDigit(bytes_[offset_])) return ErrorAt(offset_, what, ", got ", Found());
    const size_t begin = offset_;
    uint64_t value = 0;
    for (; offset_ < bytes_.size() && IsDigit(bytes_[offset_]); ++offset_) {
      if (value <= high) value = value * 10 + (bytes_[offset_] - '0');
    }
    if (value < low || value > high) {
      constexpr size_t kShown = 20;
      const std::string_view digits(reinterpret_cast<const char*>(&bytes_[begin]), offset_ - begin);
      return ErrorAt(begin, what, " from ", low, " to ", high, ", got ", digits.substr(0, kShown),
                     digits.size() > kShown ? "..." : "");
    }
    return static_cast<uint32_t>(value);
  }

  // The one white-space character between the header and binary samples; a comment may come before it.
  Status EndHeader() {
    if (offset_ < bytes_.size() && bytes_[offset_] == '#') SkipToLineEnd();
    if (offset_ == bytes_.size() || !IsSpace(bytes_[offset_])) {
      return ErrorAt(offset_, "white space after the largest sample, got ", Found());
    }
    ++offset_;
    return Status();
  }

 private:
  void SkipToLineEnd() {
    while (offset_ < bytes_.size() && bytes_[offset_] != '\n' && bytes_[offset_] != '\r') ++offset_;
  }

  const std::string& path_;
  std::span<const uint8_t> bytes_;
  size_t offset_;
};

// Stores samples in [0, maxval], scaled to the whole range of the image's depth.
class SampleWriter {
 public:
  SampleWriter(Image& image, uint32_t maxval)
      : out_(image.samples.data()), wide_(image.depth == 16), maxval_(maxval), range_(wide_ ? 65535 : 255) {}

  void Add(uint32_t value) {
    // At most 65535 * 65535 + 32767, which fits.
    const uint32_t scaled = (value * range_ + maxval_ / 2) / maxval_;
    if (wide_) {
      const auto sample = static_cast<uint16_t>(scaled);
      std::memcpy(out_, &sample, sizeof(sample));
      out_ += sizeof(sample);
    } else {
      *out_++ = static_cast<uint8_t>(scaled);
    }
  }

 private:
  uint8_t* out_;
  bool wide_;
  uint32_t maxval_;
  uint32_t range_;
};

struct Header {
  uint32_t cols;
  uint32_t rows;
  uint32_t channels;
  uint32_t maxval;
  bool plain;

  uint64_t bytes_per_sample() const { return maxval > 255 ? 2 : 1; }
};

StatusOr<Header> ReadHeader(Scanner& scanner, uint8_t kind) {
  Header header = {};
  header.plain = kind == '2' || kind == '3';
  header.channels = kind == '3' || kind == '6' ? 3 : 1;
  TANDEM_ASSIGN_OR_RETURN(header.cols, scanner.Number("a width", 1, kMaxSide));
  TANDEM_ASSIGN_OR_RETURN(header.rows, scanner.Number("a height", 1, kMaxSide));
  TANDEM_ASSIGN_OR_RETURN(header.maxval, scanner.Number("a largest sample", 1, kMaxMaxval));
  if (!header.plain) TANDEM_RETURN_IF_ERROR(scanner.EndHeader());
  return header;
}

// Compares the size that the header promises with what is left of the file, before any memory is asked for.
Status CheckSize(const Scanner& scanner, const Header& header) {
  // A plain sample takes a digit and, but for the last one, a space.
  const uint64_t available = header.plain ? (uint64_t{scanner.rest().size()} + 1) / 2 : scanner.rest().size();
  const uint64_t unit = header.plain ? 1 : header.bytes_per_sample();
  const uint64_t pixel = header.channels * unit;
  // No overflow: a quotient, and sides of less than 2^31.
  if (uint64_t{header.rows} * header.cols > available / pixel) {
    return scanner.ErrorAt(scanner.offset(), header.cols, "x", header.rows, header.channels == 3 ? " RGB" : " grey",
                           header.plain ? " samples as text"
                           : unit == 2  ? " samples of 2 bytes"
                                        : " samples of 1 byte",
                           ", got ", scanner.rest().size(), " bytes and the end of the file");
  }
  return Status();
}

Status ReadPlainSamples(Scanner& scanner, const Header& header, Image& image) {
  SampleWriter writer(image, header.maxval);
  const size_t count = image.rows * image.cols * image.channels;
  for (size_t i = 0; i < count; ++i) {
    TANDEM_ASSIGN_OR_RETURN(const uint32_t value, scanner.Number("a sample", 0, header.maxval));
    writer.Add(value);
    if (!scanner.rest().empty() && !IsSpace(scanner.rest()[0]) && scanner.rest()[0] != '#') {
      return scanner.ErrorAt(scanner.offset(), "white space after a sample, got ", scanner.Found());
    }
  }
  scanner.SkipSpace();
  if (scanner.rest().empty()) return Status();
  return scanner.ErrorAt(scanner.offset(), "the end of the file after ", count, " samples, got ", scanner.Found());
}

Status ReadBinarySamples(const Scanner& scanner, const Header& header, Image& image) {
  SampleWriter writer(image, header.maxval);
  const size_t width = static_cast<size_t>(header.bytes_per_sample());
  const std::span<const uint8_t> bytes = scanner.rest().first(image.samples.size());
  if (scanner.rest().size() > bytes.size()) {
    return scanner.ErrorAt(scanner.offset() + bytes.size(), "the end of the file after ", bytes.size() / width,
                           " samples, got ", scanner.rest().size() - bytes.size(), " bytes more");
  }
  for (size_t i = 0; i < bytes.size(); i += width) {
    const uint32_t value = width == 2 ? uint32_t{bytes[i]} << 8 | bytes[i + 1] : bytes[i];
    if (value > header.maxval) {
      return scanner.ErrorAt(scanner.offset() + i, "a sample from 0 to ", header.maxval, ", got ", value);
    }
    writer.Add(value);
  }
  return Status();
}

}  // namespace

bool IsPnm(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 'P' &&
         (bytes[1] == '2' || bytes[1] == '3' || bytes[1] == '5' || bytes[1] == '6');
}

StatusOr<Image> DecodePnm(const std::string& path, std::span<const uint8_t> bytes) {
  Scanner scanner(path, bytes, 2);
  if (!scanner.rest().empty() && !IsSpace(scanner.rest()[0]) && scanner.rest()[0] != '#') {
    return scanner.ErrorAt(2, "white space after the magic number, got ", scanner.Found());
  }
  TANDEM_ASSIGN_OR_RETURN(const Header header, ReadHeader(scanner, bytes[1]));
  TANDEM_RETURN_IF_ERROR(CheckSize(scanner, header));
  TANDEM_ASSIGN_OR_RETURN(Image image,
                          MakeImage(header.rows, header.cols, header.channels, header.maxval > 255 ? 16 : 8));
  TANDEM_RETURN_IF_ERROR(header.plain ? ReadPlainSamples(scanner, header, image)
                                      : ReadBinarySamples(scanner, header, image));
  return image;
}

bool WritePnm(std::FILE* file, const Image& image, bool grey) {
  const bool wide = image.depth == 16;
  if (std::fprintf(file, "P%d\n%zu %zu\n%d\n", grey ? 5 : 6, image.cols, image.rows, wide ? 65535 : 255) < 0) {
    return false;
  }
  const size_t width = image.bytes_per_sample();
  const int repeats = !grey && image.channels == 1 ? 3 : 1;
  for (size_t i = 0; i < image.samples.size(); i += width) {
    uint8_t bytes[2];
    std::memcpy(bytes, image.samples.data() + i, width);
    // The most significant byte first.
    if (wide && std::endian::native == std::endian::little) std::swap(bytes[0], bytes[1]);
    for (int n = 0; n < repeats; ++n) {
      if (std::fwrite(bytes, 1, width, file) != width) return false;
    }
  }
  return true;
}

}  // namespace image
