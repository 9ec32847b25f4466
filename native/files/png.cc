// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Wraps libpng: its errors, which jump, become values here, and its sizes are checked before memory is asked for.

#include "files/png.h"

#include <png.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <string_view>

namespace tandem {

namespace {

// Deflate cannot do better than 258 bytes for two bits.
constexpr uint64_t kMaxInflation = 1032;
constexpr png_uint_32 kMaxSide = 1'000'000;
// What a chunk without pixels may unpack to.
constexpr png_alloc_size_t kMaxChunk = 8'000'000;

constexpr size_t kSignatureSize = 8;

// Whether the file holds all chunks that it begins, up to the one that ends it. libpng would get memory for a chunk as
// soon as it has read its length.
Status CheckChunks(const std::string& file, std::span<const uint8_t> bytes) {
  constexpr size_t kFrame = 12;  // length, type, checksum
  size_t offset = kSignatureSize;
  while (offset <= bytes.size() && bytes.size() - offset >= kFrame) {
    const size_t available = bytes.size() - offset - kFrame;
    const png_uint_32 length = png_get_uint_32(bytes.data() + offset);
    if (length > available) {
      return MakeError(StatusCode::kDataLoss, file, ": byte ", offset, ": expected a chunk of ", length, " bytes, got ",
                       available, " and the end of the file");
    }
    if (std::memcmp(bytes.data() + offset + 4, "IEND", 4) == 0) return Status();
    offset += kFrame + length;
  }
  return MakeError(StatusCode::kDataLoss, file, ": byte ", std::min(offset, bytes.size()),
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
  Reader(const std::string& file, std::span<const uint8_t> bytes) : file_(file), source_{bytes} {
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

  // Of the samples after Convert.
  StatusOr<PngInfo> Info() const {
    const PngInfo info = {.rows = png_get_image_height(png_, info_),
                          .cols = png_get_image_width(png_, info_),
                          .channels = png_get_channels(png_, info_),
                          .depth = png_get_bit_depth(png_, info_)};
    if (png_get_rowbytes(png_, info_) == info.row_size()) return info;
    return MakeError(StatusCode::kInternal, file_, ": expected rows of ", info.row_size(), " bytes, got ",
                     png_get_rowbytes(png_, info_));
  }

  bool ReadPixels(const PngInfo& info, uint8_t* samples) {
    if (setjmp(png_jmpbuf(png_))) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (size_t y = 0; y < info.rows; ++y) png_read_row(png_, samples + y * info.row_size(), nullptr);
    }
    png_read_end(png_, nullptr);
    return true;
  }

  Status Error() const {
    const bool has_warning = complaint_.warning[0] != '\0';
    return MakeError(StatusCode::kDataLoss, file_, ": byte ", source_.offset,
                     ": expected undamaged PNG data, got: ", static_cast<const char*>(complaint_.error),
                     has_warning ? " (" : "", static_cast<const char*>(complaint_.warning), has_warning ? ")" : "");
  }

 private:
  const std::string& file_;
  Source source_;
  Complaint complaint_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
};

// Where a picture goes, and why it cannot.
struct Target {
  FunctionRef<Status(std::span<const std::byte>)> write;
  Status error;
};

// Whether all of it was written. What has a destructor ends here: libpng does not return from an error.
bool WriteAll(Target& target, png_const_bytep bytes, size_t size) {
  target.error = target.write(std::as_bytes(std::span(bytes, size)));
  return target.error.ok();
}

void WriteBytes(png_structp png, png_bytep bytes, size_t size) {
  if (!WriteAll(*static_cast<Target*>(png_get_io_ptr(png)), bytes, size)) png_error(png, "not written");
}

void Flush(png_structp) {}

class Writer {
 public:
  explicit Writer(Target& target) : target_(target) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &complaint_, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png_, &info_); }

  bool valid() const { return info_ != nullptr; }
  const char* error() const { return complaint_.error; }

  bool Write(const PngInfo& info, const uint8_t* samples) {
    if (setjmp(png_jmpbuf(png_))) return false;
    constexpr int kColorTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                   PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(png_, &target_, WriteBytes, Flush);
    png_set_user_limits(png_, kMaxSide, kMaxSide);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(info.cols), static_cast<png_uint_32>(info.rows), info.depth,
                 kColorTypes[info.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png_, 9);
    png_write_info(png_, info_);
    if (std::endian::native == std::endian::little) png_set_swap(png_);
    for (size_t y = 0; y < info.rows; ++y) png_write_row(png_, samples + y * info.row_size());
    png_write_end(png_, info_);
    return true;
  }

 private:
  Target& target_;
  Complaint complaint_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

StatusOr<PngInfo> ReadPng(std::span<const uint8_t> bytes, const std::string& file,
                          FunctionRef<StatusOr<uint8_t*>(const PngInfo&)> allocate) {
  TANDEM_RETURN_IF_ERROR(CheckChunks(file, bytes));
  Reader reader(file, bytes);
  if (!reader.valid()) return Status::OutOfMemory();
  if (!reader.ReadHeader()) return reader.Error();
  if (reader.stored_bits() / 8 > uint64_t{bytes.size()} * kMaxInflation) {
    return MakeError(StatusCode::kDataLoss, file, ": byte 16: expected a size that a file of ", bytes.size(),
                     " bytes can hold, got ", reader.stored_bits() / 8, " bytes of pixels");
  }
  if (!reader.Convert()) return reader.Error();
  TANDEM_ASSIGN_OR_RETURN(const PngInfo info, reader.Info());
  TANDEM_ASSIGN_OR_RETURN(uint8_t* const samples, allocate(info));
  if (!reader.ReadPixels(info, samples)) return reader.Error();
  return info;
}

Status WritePng(const PngInfo& info, const uint8_t* samples, const std::string& file,
                FunctionRef<Status(std::span<const std::byte>)> write) {
  if (info.rows > kMaxSide || info.cols > kMaxSide) {
    return InvalidArgument(file, ": expected sides of at most ", kMaxSide, ", got ", info.cols, "x", info.rows);
  }
  Target target = {write, Status()};
  Writer writer(target);
  if (!writer.valid()) return Status::OutOfMemory();
  if (writer.Write(info, samples)) return Status();
  if (!target.error.ok()) return target.error;
  return MakeError(StatusCode::kDataLoss, file, ": expected to write all of it, got: ", writer.error());
}

}  // namespace tandem
