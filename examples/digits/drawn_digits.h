// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Draws handwritten-looking digits, so that the example has something to learn where MNIST is not at hand.

#ifndef TANDEM_EXAMPLES_DIGITS_DRAWN_DIGITS_H_
#define TANDEM_EXAMPLES_DIGITS_DRAWN_DIGITS_H_

#include <cstddef>
#include <cstdint>

#include "digits/digit_set.h"
#include "tandem/status.h"

namespace digits {

// PCG32 (XSH-RR 64/32; M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
// Random Number Generation", 2014): the same numbers everywhere for the same seed and stream.
class Pcg32 {
 public:
  Pcg32(uint64_t seed, uint64_t stream) : increment_(stream << 1 | 1) {
    Next();
    state_ += seed;
    Next();
  }

  // Uniform over all u32.
  uint32_t Next() {
    const uint64_t old = state_;
    state_ = old * 6364136223846793005u + increment_;
    const uint32_t xored = static_cast<uint32_t>((old >> 18 ^ old) >> 27);
    const uint32_t rotation = static_cast<uint32_t>(old >> 59);
    return xored >> rotation | xored << (-rotation & 31);
  }
  // Uniform in [0, bound), bound > 0, without bias.
  uint32_t Below(uint32_t bound) {
    const uint32_t threshold = -bound % bound;
    while (true) {
      const uint32_t value = Next();
      if (value >= threshold) return value % bound;
    }
  }
  // Uniform in [low, high).
  float Uniform(float low, float high) { return low + (high - low) * (static_cast<float>(Next() >> 8) * 0x1p-24f); }
  // Near enough to a normal distribution (four uniforms added), and never beyond 3.5 deviations.
  float Normal(float deviation) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += Uniform(-1, 1);
    return sum * 0.8660254f * deviation;
  }

 private:
  uint64_t state_ = 0;
  uint64_t increment_;
};

inline constexpr size_t kDrawnSize = 28;  // rows and columns

// `count` images of 28x28: each digit as often as the others (to within one), in random order, in one of several ways
// to write it, with strokes that are bent, slanted, turned, scaled, shifted, of varying width and slightly noisy. The
// same seed gives the same set on one machine; sets of different seeds share nothing but the hand that writes.
// Resource exhausted if memory cannot be had. Thread-safe.
tandem::StatusOr<DigitSet> DrawDigits(uint32_t count, uint64_t seed);

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_DRAWN_DIGITS_H_
