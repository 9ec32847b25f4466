// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PNG by libpng; only in builds that have it.

#ifndef TANDEM_EXAMPLES_IMAGE_PNG_FILE_H_
#define TANDEM_EXAMPLES_IMAGE_PNG_FILE_H_

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "image/image_file.h"
#include "tandem/status.h"

namespace image {

// `path` is for errors. Any damage is one, also in parts that hold no pixels.
tandem::StatusOr<Image> DecodePng(const std::string& path, std::span<const uint8_t> bytes);

tandem::Status WritePng(const std::string& path, std::FILE* file, const Image& image);

}  // namespace image

#endif  // TANDEM_EXAMPLES_IMAGE_PNG_FILE_H_
