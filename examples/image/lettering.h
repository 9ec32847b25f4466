// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Letters of 5x7 dots, for captions and for the drawn picture.

#ifndef TANDEM_EXAMPLES_IMAGE_LETTERING_H_
#define TANDEM_EXAMPLES_IMAGE_LETTERING_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "image/image_file.h"

namespace image {

inline constexpr size_t kLetterRows = 7;
inline constexpr size_t kLetterAdvance = 6;  // columns from one letter to the next

struct Color {
  uint8_t red;
  uint8_t green;
  uint8_t blue;
};

// Draws `text` with its upper left corner at (x, y) into RGB of 8 bits, a dot being `scale` pixels wide and high. What
// lies outside the image is left out. Letters are drawn as capitals; a character that is none of letters, digits and
// ".,:-+%/" is a space.
void DrawText(std::string_view text, size_t x, size_t y, size_t scale, Color color, Image& image);

}  // namespace image

#endif  // TANDEM_EXAMPLES_IMAGE_LETTERING_H_
