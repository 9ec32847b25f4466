// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A byte source over plain and gzip files, and the checks that make an IDX file's numbers trustworthy.

#include "digits/idx_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>

#include "files/regular_file.h"

namespace digits {
namespace {

using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

constexpr uint8_t kTypeU8 = 0x08;
constexpr size_t kMaxRank = 3;
// Deflate cannot do better than 258 bytes for two bits.
constexpr uint64_t kMaxInflation = 1032;

// A file as a sequence of unpacked bytes. Whether it is packed is decided by its first bytes, which no IDX file shares.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource() {
    if (is_gzip_) inflateEnd(&stream_);
  }

  Status Open(const std::string& path);

  // Fills `out` unless the data ends before; returns how many bytes were written.
  StatusOr<size_t> Read(uint8_t* out, size_t size);

  // The most bytes that this file can unpack to.
  uint64_t MaxUnpackedSize() const {
    if (!is_gzip_) return file_.size;
    return file_.size <= std::numeric_limits<uint64_t>::max() / kMaxInflation ? file_.size * kMaxInflation
                                                                              : std::numeric_limits<uint64_t>::max();
  }

  // A data loss error at byte `offset` of the unpacked data.
  template <typename... Parts>
  Status ErrorAt(uint64_t offset, const Parts&... parts) const {
    return MakeError(StatusCode::kDataLoss, path_, ": byte ", offset, is_gzip_ ? " of the unpacked data: " : ": ",
                     parts...);
  }
  bool is_gzip() const { return is_gzip_; }
  uint64_t file_size() const { return file_.size; }

 private:
  // Makes packed input available; false at the end of the file.
  StatusOr<bool> Refill();
  StatusOr<size_t> ReadPlain(uint8_t* out, size_t size);
  StatusOr<size_t> ReadPacked(uint8_t* out, size_t size);
  Status GzipError(std::string_view what) const {
    return MakeError(StatusCode::kDataLoss, path_, ": byte ", file_offset_ - stream_.avail_in, ": damaged gzip data, ",
                     what);
  }

  std::string path_;
  files::RegularFile file_;
  uint64_t file_offset_ = 0;
  bool is_gzip_ = false;
  bool at_end_ = false;
  z_stream stream_ = {};
  uint8_t input_[16384];
};

Status ByteSource::Open(const std::string& path) {
  path_ = path;
  TANDEM_ASSIGN_OR_RETURN(file_, files::OpenRegularFile(path));
  TANDEM_ASSIGN_OR_RETURN(const bool has_data, Refill());
  if (has_data && stream_.avail_in >= 2 && input_[0] == 0x1f && input_[1] == 0x8b) {
    // 16 asks for the gzip format and nothing else.
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) return Status::OutOfMemory();
    is_gzip_ = true;
  }
  return Status();
}

StatusOr<bool> ByteSource::Refill() {
  const size_t size = std::fread(input_, 1, sizeof(input_), file_.file.get());
  if (std::ferror(file_.file.get())) {
    return MakeError(StatusCode::kDataLoss, path_, ": byte ", file_offset_,
                     ": expected to read on, got: ", std::strerror(errno));
  }
  file_offset_ += size;
  stream_.next_in = input_;
  stream_.avail_in = static_cast<uInt>(size);
  return size > 0;
}

StatusOr<size_t> ByteSource::Read(uint8_t* out, size_t size) {
  return is_gzip_ ? ReadPacked(out, size) : ReadPlain(out, size);
}

StatusOr<size_t> ByteSource::ReadPlain(uint8_t* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    if (stream_.avail_in == 0) {
      TANDEM_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more) break;
    }
    const size_t part = std::min<size_t>(size - done, stream_.avail_in);
    std::memcpy(out + done, stream_.next_in, part);
    stream_.next_in += part;
    stream_.avail_in -= static_cast<uInt>(part);
    done += part;
  }
  return done;
}

StatusOr<size_t> ByteSource::ReadPacked(uint8_t* out, size_t size) {
  size_t done = 0;
  while (done < size && !at_end_) {
    if (stream_.avail_in == 0) {
      TANDEM_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more) return GzipError("expected more of it, got the end of the file");
    }
    const size_t part = std::min<size_t>(size - done, size_t{1} << 20);
    stream_.next_out = out + done;
    stream_.avail_out = static_cast<uInt>(part);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    done += part - stream_.avail_out;
    if (result == Z_MEM_ERROR) return Status::OutOfMemory();
    if (result != Z_OK && result != Z_STREAM_END) {
      return GzipError(stream_.msg != nullptr ? stream_.msg : "expected a gzip stream");
    }
    if (result == Z_STREAM_END) {
      // Either the file ends here or another gzip member follows (RFC 1952, 2.2).
      if (stream_.avail_in == 0) {
        TANDEM_ASSIGN_OR_RETURN(const bool more, Refill());
        at_end_ = !more;
      }
      inflateReset(&stream_);
    }
  }
  return done;
}

uint32_t BigEndian32(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

// Reads `size` bytes of header at `offset`.
Status ReadHeaderPart(ByteSource& source, uint64_t offset, std::string_view what, uint8_t* out, size_t size) {
  TANDEM_ASSIGN_OR_RETURN(const size_t got, source.Read(out, size));
  if (got == size) return Status();
  return source.ErrorAt(offset + got, "expected ", size, " bytes of ", what, ", got ", got, " and the end of the file");
}

Status CheckMagic(const ByteSource& source, const uint8_t* magic, size_t rank) {
  for (int i = 0; i < 2; ++i) {
    if (magic[i] != 0) return source.ErrorAt(i, "expected 0, as every IDX file starts, got ", magic[i]);
  }
  if (magic[2] != kTypeU8) return source.ErrorAt(2, "expected element type ", kTypeU8, " (u8), got ", magic[2]);
  if (magic[3] != rank) return source.ErrorAt(3, "expected ", rank, " dimensions, got ", magic[3]);
  return Status();
}

// The product of `dims`, which is not 0 and no more than the file can hold after its header.
StatusOr<uint64_t> CountElements(const ByteSource& source, std::span<const uint32_t> dims, uint64_t header_size) {
  const uint64_t available = source.MaxUnpackedSize() - std::min(source.MaxUnpackedSize(), header_size);
  std::array<int64_t, kMaxRank> shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return source.ErrorAt(4 + 4 * i, "expected dimension ", i, " of at least 1, got 0");
    shape[i] = dims[i];
  }
  uint64_t size = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    // A quotient cannot overflow, whatever the dimensions promise.
    if (size > available / dims[i]) {
      return source.ErrorAt(4 + 4 * i, "expected dimensions that a file of ", source.file_size(), " bytes",
                            source.is_gzip() ? " of gzip data" : "", " can hold, got ",
                            std::span<const int64_t>(shape.data(), dims.size()));
    }
    size *= dims[i];
  }
  return size;
}

// Reads a whole u8 IDX file of `rank` dimensions, none of them 0.
StatusOr<files::ByteBuffer> ReadIdx(const std::string& path, size_t rank, uint32_t* dims) {
  ByteSource source;
  TANDEM_RETURN_IF_ERROR(source.Open(path));
  uint8_t header[4 + 4 * kMaxRank];
  TANDEM_RETURN_IF_ERROR(ReadHeaderPart(source, 0, "magic number", header, 4));
  TANDEM_RETURN_IF_ERROR(CheckMagic(source, header, rank));
  TANDEM_RETURN_IF_ERROR(ReadHeaderPart(source, 4, "dimensions", header + 4, 4 * rank));

  for (size_t i = 0; i < rank; ++i) dims[i] = BigEndian32(header + 4 + 4 * i);
  const uint64_t header_size = 4 + 4 * rank;
  TANDEM_ASSIGN_OR_RETURN(const uint64_t size, CountElements(source, std::span(dims, rank), header_size));

  TANDEM_ASSIGN_OR_RETURN(files::ByteBuffer data, files::ByteBuffer::Allocate(size));
  TANDEM_ASSIGN_OR_RETURN(const size_t got, source.Read(data.data(), data.size()));
  if (got != size) {
    return source.ErrorAt(header_size + got, "expected ", size, " elements, got ", got, " and the end of the data");
  }
  // Reading on also makes gzip compare its checksum.
  uint8_t extra;
  TANDEM_ASSIGN_OR_RETURN(const size_t trailing, source.Read(&extra, 1));
  if (trailing != 0) {
    return source.ErrorAt(header_size + size, "expected the end of the data after ", size, " elements, got more");
  }
  return data;
}

// The path of `name` in `folder`, plain or packed.
StatusOr<std::string> FindFile(const std::string& folder, const std::string& name) {
  const std::filesystem::path plain = std::filesystem::path(folder) / name;
  std::error_code error;
  if (std::filesystem::exists(plain, error)) return plain.string();
  const std::string packed = plain.string() + ".gz";
  if (std::filesystem::exists(packed, error)) return packed;
  return MakeError(StatusCode::kNotFound, folder, ": expected a file ", name, " or ", name, ".gz, got neither");
}

StatusOr<DigitSet> ReadPart(const std::string& folder, const std::string& part) {
  TANDEM_ASSIGN_OR_RETURN(const std::string images, FindFile(folder, part + "-images-idx3-ubyte"));
  TANDEM_ASSIGN_OR_RETURN(const std::string labels, FindFile(folder, part + "-labels-idx1-ubyte"));
  return ReadDigits(images, labels);
}

}  // namespace

StatusOr<DigitSet> ReadDigits(const std::string& images_path, const std::string& labels_path) {
  DigitSet set;
  uint32_t dims[3];
  TANDEM_ASSIGN_OR_RETURN(set.images, ReadIdx(images_path, 3, dims));
  uint32_t num_labels;
  TANDEM_ASSIGN_OR_RETURN(set.labels, ReadIdx(labels_path, 1, &num_labels));
  if (num_labels != dims[0]) {
    return MakeError(StatusCode::kDataLoss, labels_path, ": byte 4: expected ", dims[0],
                     " labels, one for each image of ", images_path, ", got ", num_labels);
  }
  for (size_t i = 0; i < set.labels.size(); ++i) {
    if (set.labels.data()[i] >= kNumClasses) {
      return MakeError(StatusCode::kDataLoss, labels_path, ": byte ", 8 + i, ": expected a label from 0 to 9, got ",
                       set.labels.data()[i]);
    }
  }
  set.count = dims[0];
  set.rows = dims[1];
  set.cols = dims[2];
  return set;
}

StatusOr<DigitFolder> ReadDigitFolder(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return MakeError(StatusCode::kNotFound, folder, ": expected a folder with MNIST's files, got no folder");
  }
  DigitFolder digits;
  TANDEM_ASSIGN_OR_RETURN(digits.train, ReadPart(folder, "train"));
  TANDEM_ASSIGN_OR_RETURN(digits.test, ReadPart(folder, "t10k"));
  if (digits.test.rows != digits.train.rows || digits.test.cols != digits.train.cols) {
    return MakeError(StatusCode::kDataLoss, folder, ": expected test images of ", digits.train.rows, "x",
                     digits.train.cols, " like those to train on, got ", digits.test.rows, "x", digits.test.cols);
  }
  return digits;
}

}  // namespace digits
