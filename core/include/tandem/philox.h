// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Philox4x32-10: the counter-based random number generator behind the random ops, and how a seed starts it.

#ifndef TANDEM_PHILOX_H_
#define TANDEM_PHILOX_H_

#include <array>
#include <cstdint>

namespace tandem {

// A block of random words, or the counter that it is computed from, lowest word first.
using PhiloxBlock = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

namespace philox {
inline constexpr int kRounds = 10;
inline constexpr uint32_t kMultipliers[2] = {0xD2511F53u, 0xCD9E8D57u};
// Added to the key after each round: the golden ratio and sqrt(3) - 1, in units of 2^-32.
inline constexpr uint32_t kKeySteps[2] = {0x9E3779B9u, 0xBB67AE85u};
}  // namespace philox

// The block of a counter under a key. J. Salmon, M. Moraes, R. Dror, D. Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011.
constexpr PhiloxBlock Philox4x32(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < philox::kRounds; ++round) {
    const uint64_t a = uint64_t{philox::kMultipliers[0]} * counter[0];
    const uint64_t b = uint64_t{philox::kMultipliers[1]} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += philox::kKeySteps[0];
    key[1] += philox::kKeySteps[1];
  }
  return counter;
}

// The sequence of blocks that belongs to a seed; any block can be computed on its own.
struct PhiloxStream {
  PhiloxKey key;
  uint32_t high[2];  // the upper half of every counter; the lower half is the number of the block

  constexpr PhiloxBlock Block(uint64_t i) const {
    return Philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), high[0], high[1]}, key);
  }
};

// Mixes the seed first, so that seeds which differ in any bit, and be they 0 and 1, give unrelated streams. The scheme
// is that of TensorFlow's stateless random ops.
constexpr PhiloxStream MakePhiloxStream(uint64_t seed0, uint64_t seed1) {
  constexpr PhiloxKey kMixingKey = {0x3EC8F720u, 0x02461E29u};
  const PhiloxBlock mixed = Philox4x32({static_cast<uint32_t>(seed0), static_cast<uint32_t>(seed0 >> 32),
                                        static_cast<uint32_t>(seed1), static_cast<uint32_t>(seed1 >> 32)},
                                       kMixingKey);
  return {{mixed[0], mixed[1]}, {mixed[2], mixed[3]}};
}

}  // namespace tandem

#endif  // TANDEM_PHILOX_H_
