// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Image, and the files it is read from and written to: PNG (where the example is built with libpng), PPM and PGM.

#ifndef TANDEM_EXAMPLES_IMAGE_IMAGE_FILE_H_
#define TANDEM_EXAMPLES_IMAGE_IMAGE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "files/byte_buffer.h"
#include "tandem/status.h"

namespace image {

// A picture as a file holds it. Moves only.
struct Image {
  size_t rows = 0;
  size_t cols = 0;
  size_t channels = 0;        // 1: grey, 2: grey and alpha, 3: RGB, 4: RGB and alpha; alpha is not premultiplied
  int depth = 8;              // bits a sample: 8, or 16 in the order of this machine
  files::ByteBuffer samples;  // [rows, cols, channels]

  size_t bytes_per_sample() const { return depth == 16 ? 2 : 1; }
  bool has_alpha() const { return channels == 2 || channels == 4; }
};

// "640x480 RGB, 8 bits a sample"
std::string Describe(const Image& image);

// An image with samples that are not set yet; rows, cols and channels at least 1.
tandem::StatusOr<Image> MakeImage(size_t rows, size_t cols, size_t channels, int depth);

// Reads a PNG, or a PPM or PGM of any kind (P2, P3, P5, P6); which one it is its first bytes say, whatever its name.
// Samples of a PNG are taken as they are stored, without regard to gamma; palettes become RGB, and fewer than 8 bits
// become 8. Those of a PPM are scaled from its maximum to 255, or to 65535 if that is above 255.
//
// Nothing in the file is trusted: every error names the file, the byte, what was expected and what was given. Codes:
// not found for a missing file, data loss for damaged content, unimplemented for a PNG in a build without libpng,
// resource exhausted when memory for the (checked) size cannot be had. Memory use is bounded by what the file can hold.
// Thread-safe.
tandem::StatusOr<Image> ReadImage(const std::string& path);

// Writes a PNG, PPM or PGM, as the extension says (.png, .ppm, .pgm, in lower or upper case). A grey picture as PPM
// repeats its samples. Invalid argument if the format cannot hold the image: alpha in PPM and PGM, colour in PGM. The
// file appears under its name once it is whole.
tandem::Status WriteImage(const std::string& path, const Image& image);

// Ok if WriteImage knows the extension of `path`, for saying so before any work is done.
tandem::Status CheckExtension(const std::string& path);

}  // namespace image

#endif  // TANDEM_EXAMPLES_IMAGE_IMAGE_FILE_H_
