// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Turns, scales, slants and shifts pictures a little, so that a network sees no digit twice.

#ifndef TANDEM_EXAMPLES_DIGITS_AUGMENTATION_H_
#define TANDEM_EXAMPLES_DIGITS_AUGMENTATION_H_

#include <cstdint>

#include "tandem/eager.h"

namespace digits {

// Draws an affine map for each picture and samples through it, bilinearly, in op calls. One thread at a time.
class Augmentation {
 public:
  // For pictures of `rows` x `cols`. The largest changes: turned by 0.2 radians, 15 % larger or smaller, slanted by
  // 0.2, shifted by a tenth of the size.
  Augmentation(tandem::eager::Runtime& runtime, int64_t rows, int64_t cols, uint32_t seed);

  // Of pictures f32 [n, rows * cols], changed ones of the same shape, others in each call. Beyond its edges a picture
  // goes on as it is at the edge.
  tandem::eager::Tensor Apply(const tandem::eager::Tensor& pictures, int64_t n);

 private:
  using Tensor = tandem::eager::Tensor;
  // f32 [n, 1], uniform in [-limit, limit).
  Tensor Draw(int64_t n, double limit);

  tandem::eager::Runtime* runtime_;
  int64_t rows_;
  int64_t cols_;
  uint32_t seed_;
  int32_t draws_ = 0;
  Tensor x_, y_;  // f32 [1, rows * cols]: each pixel's distance from the middle
};

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_AUGMENTATION_H_
