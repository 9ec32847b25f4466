// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PPM and PGM, plain and binary, as bytes in memory.

#ifndef TANDEM_EXAMPLES_IMAGE_PNM_FILE_H_
#define TANDEM_EXAMPLES_IMAGE_PNM_FILE_H_

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "image/image_file.h"
#include "tandem/status.h"

namespace image {

// Whether the file begins like a PPM or PGM: P2, P3, P5 or P6.
bool IsPnm(std::span<const uint8_t> bytes);

// Reads bytes for which IsPnm holds; `path` is for errors. There must be one picture, and nothing after it but white
// space and comments in a plain file.
tandem::StatusOr<Image> DecodePnm(const std::string& path, std::span<const uint8_t> bytes);

// Writes P6, or P5 if `grey`, which takes an image of one channel; false if the file cannot be written.
bool WritePnm(std::FILE* file, const Image& image, bool grey);

}  // namespace image

#endif  // TANDEM_EXAMPLES_IMAGE_PNM_FILE_H_
