// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Pictures as tensors, and what can be done to them: each filter is a few op calls.

#ifndef TANDEM_EXAMPLES_IMAGE_FILTERS_H_
#define TANDEM_EXAMPLES_IMAGE_FILTERS_H_

#include <cstdint>

#include "image/image_file.h"
#include "tandem/eager.h"

namespace image {

// Pixels f32 [1, rows, cols, channels], where 0 is black and 1 is full light; 1 channel is grey, 3 are RGB. Results of
// filters may leave [0, 1] until they are made an image. An op that fails makes all that follows an error, which
// ToImage returns. The sizes given to filters are those of pictures that fit in memory, or the error says that they are
// not.
struct Picture {
  tandem::eager::Tensor pixels;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t channels = 0;
};

// Alpha is gone afterwards: what is transparent lies on white.
Picture FromImage(tandem::eager::Runtime& runtime, const Image& image);

// Waits, then rounds to samples of `depth` 8 or 16; what is below 0 or above 1 becomes 0 or 1.
tandem::StatusOr<Image> ToImage(const Picture& picture, int depth);

// By the weights of ITU-R BT.601.
Picture Grayscale(const Picture& picture);

// 1 - x.
Picture Invert(const Picture& picture);

// Convolved with a Gaussian of this deviation in pixels along the columns, then along the rows; 0 leaves an axis as it
// is. Beyond its edges the picture is mirrored, so that its mean does not change.
Picture Blur(const Picture& picture, float sigma_rows, float sigma_cols);

// Adds `amount` times the difference to the blurred picture, of deviation 1.5.
Picture Sharpen(const Picture& picture, float amount);

// The size of the gradient of the grey picture (Sobel): 1 at a vertical or horizontal edge from black to white.
Picture Edges(const Picture& picture);

// Interpolates linearly between pixels; an axis that shrinks is blurred before, so that fine patterns do not turn into
// coarse ones.
Picture Resize(const Picture& picture, int64_t rows, int64_t cols);

// Takes the nearest pixel.
Picture ResizeNearest(const Picture& picture, int64_t rows, int64_t cols);

// Squares of size * size pixels, each of their mean.
Picture Pixelate(const Picture& picture, int64_t size);

// Left and right change places, or top and bottom.
Picture FlipHorizontally(const Picture& picture);
Picture FlipVertically(const Picture& picture);

// A quarter turn clockwise.
Picture Rotate(const Picture& picture);

// Three equal channels instead of one; RGB stays as it is.
Picture ToRgb(const Picture& picture);

}  // namespace image

#endif  // TANDEM_EXAMPLES_IMAGE_FILTERS_H_
