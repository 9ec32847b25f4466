// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Wraps libpng: its errors, which jump, become values here, and its sizes are checked before memory is asked for.

#include "image/png_file.h"

#include <png.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <string_view>

namespace image {
namespace {

using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

// Deflate cannot do better than 258 bytes for two bits.
constexpr uint64_t kMaxInflation = 1032;
constexpr png_uint_32 kMaxSide = 1'000'000;
// What a chunk without pixels may unpack to.
constexpr png_alloc_size_t kMaxChunk = 8'000'000;

constexpr size_t kSignatureSize = 8;

// Whether the file holds all chunks that it begins, up to the one that ends it. libpng would get memory for a chunk as
// soon as it has read its length.
Status CheckChunks(const std::string& path, std::span<const uint8_t> bytes) {
  constexpr size_t kFrame = 12;  // length, type, checksum
  size_t offset = kSignatureSize;
  while (offset <= bytes.size() && bytes.size() - offset >= kFrame) {
    const size_t available = bytes.size() - offset - kFrame;
    const png_uint_32 length = png_get_uint_32(bytes.data() + offset);
    if (length > available) {
      return MakeError(StatusCode::kDataLoss, path, ": byte ", offset, ": expected a chunk of ", length, " bytes, got ",
                       available, " and the end of the file");
    }
    if (std::memcmp(bytes.data() + offset + 4, "IEND", 4) == 0) return Status();
    offset += kFrame + length;
  }
  return MakeError(StatusCode::kDataLoss, path, ": byte ", std::min(offset, bytes.size()),
                   ": expected a whole chunk, as none has ended the PNG, got ",
                   bytes.size() - std::min(offset, bytes.size()), " bytes and the end of the file");
}

// What libpng said; it lives longer than the call that failed.
struct Complaint {
  char error[160] = "";
  char warning[160] = "";  // the last one, which often says more than the error after it
};

void CopyText(const char* text, char (&to)[160]) {
  std::strncpy(to, text, sizeof(to) - 1);
  to[sizeof(to) - 1] = '\0';
}

[[noreturn]] void OnError(png_structp png, png_const_charp text) {
  CopyText(text, static_cast<Complaint*>(png_get_error_ptr(png))->error);
  png_longjmp(png, 1);
}

void OnWarning(png_structp png, png_const_charp text) {
  CopyText(text, static_cast<Complaint*>(png_get_error_ptr(png))->warning);
}

struct Source {
  std::span<const uint8_t> bytes;
  size_t offset = 0;
};

void ReadBytes(png_structp png, png_bytep out, size_t size) {
  Source& source = *static_cast<Source*>(png_get_io_ptr(png));
  if (size > source.bytes.size() - source.offset) {
    source.offset = source.bytes.size();
    png_error(png, "the end of the file");
  }
  std::memcpy(out, source.bytes.data() + source.offset, size);
  source.offset += size;
}

// A function that calls libpng returns false if libpng jumped back into it. It holds nothing that needs a destructor,
// and changes no local variable after setjmp.
class Reader {
 public:
  Reader(const std::string& path, std::span<const uint8_t> bytes) : path_(path), source_{bytes} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &complaint_, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool valid() const { return info_ != nullptr; }

  bool ReadHeader() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, &source_, ReadBytes);
    png_set_user_limits(png_, kMaxSide, kMaxSide);
    png_set_chunk_malloc_max(png_, kMaxChunk);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png_, info_);
    return true;
  }

  // Of the pixels as they are stored, without the bytes that name the rows' filters.
  uint64_t stored_bits() const {
    return uint64_t{png_get_image_width(png_, info_)} * png_get_image_height(png_, info_) *
           png_get_channels(png_, info_) * png_get_bit_depth(png_, info_);
  }

  // Asks for whole samples of 8 or 16 bits, grey or RGB.
  bool Convert() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_expand(png_);
    if (std::endian::native == std::endian::little) png_set_swap(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  StatusOr<Image> Allocate() const {
    TANDEM_ASSIGN_OR_RETURN(Image image, MakeImage(png_get_image_height(png_, info_), png_get_image_width(png_, info_),
                                                   png_get_channels(png_, info_), png_get_bit_depth(png_, info_)));
    if (png_get_rowbytes(png_, info_) != image.samples.size() / image.rows) {
      return MakeError(StatusCode::kInternal, path_, ": expected rows of ", image.samples.size() / image.rows,
                       " bytes, got ", png_get_rowbytes(png_, info_));
    }
    return image;
  }

  bool ReadPixels(const Image& image, uint8_t* samples) {
    if (setjmp(png_jmpbuf(png_))) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (size_t y = 0; y < image.rows; ++y)
        png_read_row(png_, samples + y * (image.samples.size() / image.rows), nullptr);
    }
    png_read_end(png_, nullptr);
    return true;
  }

  Status Error() const {
    const bool has_warning = complaint_.warning[0] != '\0';
    return MakeError(StatusCode::kDataLoss, path_, ": byte ", source_.offset,
                     ": expected undamaged PNG data, got: ", static_cast<const char*>(complaint_.error),
                     has_warning ? " (" : "", static_cast<const char*>(complaint_.warning), has_warning ? ")" : "");
  }

 private:
  const std::string& path_;
  Source source_;
  Complaint complaint_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
};

void WriteBytes(png_structp png, png_bytep bytes, size_t size) {
  if (std::fwrite(bytes, 1, size, static_cast<std::FILE*>(png_get_io_ptr(png))) != size) {
    png_error(png, std::strerror(errno));
  }
}

void Flush(png_structp) {}

class Writer {
 public:
  Writer() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &complaint_, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png_, &info_); }

  bool valid() const { return info_ != nullptr; }
  const char* error() const { return complaint_.error; }

  bool Write(std::FILE* file, const Image& image) {
    if (setjmp(png_jmpbuf(png_))) return false;
    constexpr int kColorTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                   PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(png_, file, WriteBytes, Flush);
    png_set_user_limits(png_, kMaxSide, kMaxSide);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.cols), static_cast<png_uint_32>(image.rows), image.depth,
                 kColorTypes[image.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png_, 9);
    png_write_info(png_, info_);
    if (std::endian::native == std::endian::little) png_set_swap(png_);
    for (size_t y = 0; y < image.rows; ++y) {
      png_write_row(png_, image.samples.data() + y * (image.samples.size() / image.rows));
    }
    png_write_end(png_, info_);
    return true;
  }

 private:
  Complaint complaint_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

StatusOr<Image> DecodePng(const std::string& path, std::span<const uint8_t> bytes) {
  TANDEM_RETURN_IF_ERROR(CheckChunks(path, bytes));
  Reader reader(path, bytes);
  if (!reader.valid()) return Status::OutOfMemory();
  if (!reader.ReadHeader()) return reader.Error();
  if (reader.stored_bits() / 8 > uint64_t{bytes.size()} * kMaxInflation) {
    return MakeError(StatusCode::kDataLoss, path, ": byte 16: expected a size that a file of ", bytes.size(),
                     " bytes can hold, got ", reader.stored_bits() / 8, " bytes of pixels");
  }
  if (!reader.Convert()) return reader.Error();
  TANDEM_ASSIGN_OR_RETURN(Image image, reader.Allocate());
  if (!reader.ReadPixels(image, image.samples.data())) return reader.Error();
  return image;
}

Status WritePng(const std::string& path, std::FILE* file, const Image& image) {
  if (image.rows > kMaxSide || image.cols > kMaxSide) {
    return tandem::InvalidArgument(path, ": expected sides of at most ", kMaxSide, ", got ", Describe(image));
  }
  Writer writer;
  if (!writer.valid()) return Status::OutOfMemory();
  if (writer.Write(file, image)) return Status();
  return MakeError(StatusCode::kDataLoss, path, ": expected to write all of it, got: ", writer.error());
}

}  // namespace image
