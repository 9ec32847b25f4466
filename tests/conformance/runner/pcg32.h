// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Pcg32: the generator of `random` inputs, the same in every runner and in the reference.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_PCG32_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_PCG32_H_

#include <cstdint>

namespace tandem::conformance {

// PCG32 XSH-RR on stream 54: O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
// Random Number Generation" (2014), seeded as its reference implementation does.
class Pcg32 {
 public:
  explicit Pcg32(uint64_t seed) {
    Next();
    state_ += seed;
    Next();
  }

  uint32_t Next() {
    constexpr uint64_t kIncrement = 54 << 1 | 1;
    const uint64_t old = state_;
    state_ = old * 6364136223846793005u + kIncrement;
    const auto xored = static_cast<uint32_t>((old >> 18 ^ old) >> 27);
    const auto rotation = static_cast<uint32_t>(old >> 59);
    return xored >> rotation | xored << (-rotation & 31);
  }

  // In [low, high), in steps of 2^-24 of the interval; one draw.
  double Uniform(double low, double high) { return low + (high - low) * (Next() >> 8) * 0x1p-24; }

 private:
  uint64_t state_ = 0;
};

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_PCG32_H_
