// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Images from and to PNGs.

#include "image/png_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "files/png.h"

namespace image {

using tandem::MakeError;
using tandem::PngInfo;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

StatusOr<Image> DecodePng(const std::string& path, std::span<const uint8_t> bytes) {
  Image image;
  const auto allocate = [&image](const PngInfo& info) -> StatusOr<uint8_t*> {
    TANDEM_ASSIGN_OR_RETURN(image, MakeImage(info.rows, info.cols, info.channels, info.depth));
    return image.samples.data();
  };
  TANDEM_RETURN_IF_ERROR(tandem::ReadPng(bytes, path, allocate).status());
  return image;
}

Status WritePng(const std::string& path, std::FILE* file, const Image& image) {
  const PngInfo info = {.rows = image.rows, .cols = image.cols, .channels = image.channels, .depth = image.depth};
  return tandem::WritePng(info, image.samples.data(), path, [&](std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size()) return Status();
    return MakeError(StatusCode::kDataLoss, path, ": expected to write all of it, got: ", std::strerror(errno));
  });
}

}  // namespace image
