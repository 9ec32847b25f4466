// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Draws a picture to try ops on, so that the example needs no file.

#ifndef TANDEM_EXAMPLES_IMAGE_DRAWN_PICTURE_H_
#define TANDEM_EXAMPLES_IMAGE_DRAWN_PICTURE_H_

#include <cstddef>

#include "image/image_file.h"
#include "tandem/status.h"

namespace image {

// RGB of 8 bits: a sky of smooth colours with a sun, hills with hard edges, letters, a checkerboard and rings that
// become finer outwards, in which a filter shows what it does to each frequency. Rows and cols at least 1; the same
// picture each time.
tandem::StatusOr<Image> DrawPicture(size_t rows, size_t cols);

}  // namespace image

#endif  // TANDEM_EXAMPLES_IMAGE_DRAWN_PICTURE_H_
