// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SeenSources: which shaders were wanted lately.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_SEEN_SOURCES_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_SEEN_SOURCES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tandem::shader {

// A cache of a fixed size of hashes, with a few places for those that fall together, so that the parts of a computation
// that goes on in a circle do not drive each other out. Used by one thread at a time.
class SeenSources {
 public:
  static constexpr size_t kNumSets = 64;
  static constexpr size_t kPlaces = 4;

  struct Entry {
    uint64_t hash = 0;
    bool is_bad = false;  // the shader does not compile
  };

  // The entry of `hash`, which is there until the next call; `is_new`: it took the place of the one of its set that has
  // not been asked for for the longest time.
  Entry& Find(uint64_t hash, bool& is_new) {
    std::array<Entry, kPlaces>& set = sets_[(hash ^ hash >> 32) % kNumSets];
    auto found = std::find_if(set.begin(), set.end(), [hash](const Entry& entry) { return entry.hash == hash; });
    is_new = found == set.end();
    if (is_new) *--found = {hash, false};
    std::rotate(set.begin(), found, found + 1);
    return set.front();
  }

 private:
  std::array<std::array<Entry, kPlaces>, kNumSets> sets_;  // the latest first
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_SEEN_SOURCES_H_
