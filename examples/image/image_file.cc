// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tells the formats apart, gets bytes from files and into them.

#include "image/image_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "files/regular_file.h"
#include "image/pnm_file.h"
#ifdef IMAGE_HAS_PNG
#include "image/png_file.h"
#endif

namespace image {
namespace {

using files::ByteBuffer;
using tandem::InvalidArgument;
using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

enum class Format { kPng, kPpm, kPgm, kUnknown };

constexpr std::array<uint8_t, 8> kPngSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
#ifdef IMAGE_HAS_PNG
constexpr std::string_view kExtensions = ".png, .ppm or .pgm";
#else
constexpr std::string_view kExtensions = ".ppm or .pgm (this build has no libpng)";
#endif

Format FormatOf(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
#ifdef IMAGE_HAS_PNG
  if (extension == ".png") return Format::kPng;
#endif
  if (extension == ".ppm") return Format::kPpm;
  if (extension == ".pgm") return Format::kPgm;
  return Format::kUnknown;
}

std::string_view ChannelsName(size_t channels) {
  constexpr std::string_view kNames[] = {"no channels", "grey", "grey and alpha", "RGB", "RGB and alpha"};
  return channels < std::size(kNames) ? kNames[channels] : "too many channels";
}

StatusOr<ByteBuffer> ReadBytes(const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const files::RegularFile file, files::OpenRegularFile(path));
  auto bytes = ByteBuffer::Allocate(file.size);
  if (!bytes.ok()) return MakeError(bytes.status().code(), path, ": ", bytes.status().message());
  const size_t got = std::fread(bytes->data(), 1, bytes->size(), file.file.get());
  if (got != bytes->size()) {
    return MakeError(StatusCode::kDataLoss, path, ": byte ", got, ": expected ", file.size, " bytes, got ",
                     std::ferror(file.file.get()) ? std::strerror(errno) : "the end of the file");
  }
  return bytes;
}

Status WriteAs(Format format, const std::string& path, std::FILE* file, const Image& image) {
#ifdef IMAGE_HAS_PNG
  if (format == Format::kPng) return WritePng(path, file, image);
#endif
  if (WritePnm(file, image, format == Format::kPgm)) return Status();
  return MakeError(StatusCode::kDataLoss, path, ": expected to write all samples, got: ", std::strerror(errno));
}

}  // namespace

std::string Describe(const Image& image) {
  return std::to_string(image.cols) + "x" + std::to_string(image.rows) + " " +
         std::string(ChannelsName(image.channels)) + ", " + std::to_string(image.depth) + " bits a sample";
}

StatusOr<Image> MakeImage(size_t rows, size_t cols, size_t channels, int depth) {
  Image image{.rows = rows, .cols = cols, .channels = channels, .depth = depth, .samples = {}};
  uint64_t size = channels * image.bytes_per_sample();
  if (__builtin_mul_overflow(size, rows, &size) || __builtin_mul_overflow(size, cols, &size)) {
    return tandem::ResourceExhausted("expected a picture that fits in memory, got ", Describe(image));
  }
  TANDEM_ASSIGN_OR_RETURN(image.samples, ByteBuffer::Allocate(size));
  return image;
}

StatusOr<Image> ReadImage(const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const ByteBuffer buffer, ReadBytes(path));
  const std::span<const uint8_t> bytes = buffer.bytes();
  if (IsPnm(bytes)) return DecodePnm(path, bytes);
  const size_t begin = std::min(bytes.size(), kPngSignature.size());
  if (begin > 0 && std::equal(bytes.begin(), bytes.begin() + begin, kPngSignature.begin())) {
#ifdef IMAGE_HAS_PNG
    return DecodePng(path, bytes);
#else
    return MakeError(StatusCode::kUnimplemented, path, ": expected a PPM or PGM picture, as this build has no libpng, ",
                     "got a PNG");
#endif
  }
  tandem::MessageBuilder found;
  AppendQuoted(found, {reinterpret_cast<const char*>(bytes.data()), begin});
  return MakeError(StatusCode::kDataLoss, path,
                   ": byte 0: expected a picture in PNG, PPM or PGM (P2, P3, P5, P6), got ",
                   bytes.empty() ? "an empty file" : found.view());
}

Status CheckExtension(const std::string& path) {
  if (FormatOf(path) != Format::kUnknown) return Status();
  const std::string extension = std::filesystem::path(path).extension().string();
  return InvalidArgument(path, ": expected a name that ends in ", kExtensions, ", got ",
                         extension.empty() ? "one without an extension" : extension);
}

Status WriteImage(const std::string& path, const Image& image) {
  TANDEM_RETURN_IF_ERROR(CheckExtension(path));
  const Format format = FormatOf(path);
  if (format != Format::kPng && (image.has_alpha() || (format == Format::kPgm && image.channels != 1))) {
    return InvalidArgument(path, ": expected a picture that is ", format == Format::kPgm ? "grey" : "grey or RGB",
                           ", as the format holds no other, got ", Describe(image));
  }
  return files::ReplaceFile(path, [&](std::FILE* file) { return WriteAs(format, path, file, image); });
}

}  // namespace image
