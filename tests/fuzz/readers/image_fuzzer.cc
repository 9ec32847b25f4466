// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The readers of pictures in examples/image: an image whose samples are all there, or an error that names the file.

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "image/pnm_file.h"
#ifdef IMAGE_HAS_PNG
#include <zlib.h>

#include "image/png_file.h"
#endif

namespace {

void Check(const tandem::StatusOr<image::Image>& image) {
  if (!image.ok()) {
    if (image.status().message().find("input: ") == std::string::npos) std::abort();
    return;
  }
  const uint64_t size = image->channels * image->bytes_per_sample() * image->rows * image->cols;
  if (image->samples.size() != size) std::abort();
  // Read, so that a sanitizer sees samples that are not there.
  if (std::accumulate(image->samples.data(), image->samples.data() + size, uint64_t{0}) > 255 * size) std::abort();
}

#ifdef IMAGE_HAS_PNG
uint32_t BigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

// With the right checksums: a change would go no further than to them.
std::vector<uint8_t> Mended(std::span<const uint8_t> png) {
  std::vector<uint8_t> bytes(png.begin(), png.end());
  for (size_t at = 8; bytes.size() >= 12 && at <= bytes.size() - 12;) {
    const uint32_t length = BigEndian(&bytes[at]);
    if (length > bytes.size() - at - 12) break;
    const auto checksum = static_cast<uint32_t>(crc32(0, &bytes[at + 4], length + 4));
    for (size_t i = 0; i < 4; ++i) bytes[at + 8 + length + i] = static_cast<uint8_t>(checksum >> (24 - 8 * i));
    at += 12 + length;
  }
  return bytes;
}
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(data, size);
  if (image::IsPnm(bytes)) {
    Check(image::DecodePnm("input", bytes));
    return 0;
  }
#ifdef IMAGE_HAS_PNG
  if (size < 8) return 0;  // what is shorter is never taken for a PNG
  Check(image::DecodePng("input", bytes));
  Check(image::DecodePng("input", Mended(bytes)));
#endif
  return 0;
}
