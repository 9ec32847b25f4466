// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Random: the numbers that fuzzers draw: the same on every target for the same seed.

#ifndef TANDEM_TESTS_FUZZ_RANDOM_H_
#define TANDEM_TESTS_FUZZ_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::fuzz {

// SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // The generator of item `index` of a stream, so that each item can be made again alone.
  Random(uint64_t seed, uint64_t index) : state_(Mix(seed) ^ Mix(index * 0x9E3779B97F4A7C15u + 1)) {}

  uint64_t Next() { return Mix(state_ += 0x9E3779B97F4A7C15u); }
  // In [0, size); `size` is positive.
  size_t Below(size_t size) { return static_cast<size_t>(Next() % size); }
  // In [low, high].
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % (static_cast<uint64_t>(high - low) + 1));
  }
  // True once in `count` times.
  bool OneIn(size_t count) { return Below(count) == 0; }
  template <typename T, size_t size>
  const T& Pick(const T (&values)[size]) {
    return values[Below(size)];
  }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[Below(values.size())];
  }
  template <typename T>
  T& Pick(std::vector<T>& values) {
    return values[Below(values.size())];
  }

 private:
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_RANDOM_H_
