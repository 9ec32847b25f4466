// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DigitSet: labelled pictures of handwritten digits, as MNIST keeps them.

#ifndef TANDEM_EXAMPLES_DIGITS_DIGIT_SET_H_
#define TANDEM_EXAMPLES_DIGITS_DIGIT_SET_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "files/byte_buffer.h"

namespace digits {

inline constexpr int kNumClasses = 10;

struct DigitSet {
  size_t count = 0;
  size_t rows = 0;
  size_t cols = 0;
  files::ByteBuffer images;  // [count, rows, cols]; 0 is paper, 255 is ink
  files::ByteBuffer labels;  // [count], each in [0, 9]

  std::span<const uint8_t> image(size_t i) const { return images.bytes().subspan(i * rows * cols, rows * cols); }
  int label(size_t i) const { return labels.bytes()[i]; }
};

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_DIGIT_SET_H_
