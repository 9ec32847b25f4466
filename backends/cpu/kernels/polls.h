// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How often loops ask whether the kernel is to end: well below the 10 milliseconds that CA-4 allows.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_POLLS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_POLLS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tandem/kernel_run.h"

namespace tandem::cpu {

// Intervals of a StopPoll, each about a millisecond: elements that are read or written once, products of two elements
// in the inner loops of a matrix product, and things that take some ten nanoseconds each.
inline constexpr int64_t kPollElements = int64_t{1} << 20;
inline constexpr int64_t kPollProducts = int64_t{1} << 23;
inline constexpr int64_t kPollSteps = int64_t{1} << 16;
inline constexpr size_t kPollBytes = size_t{4} << 20;

// memcpy and memset to zero, for sizes of any magnitude.
inline void CopyLong(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes <= kPollBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  InSteps(static_cast<int64_t>(bytes), int64_t{kPollBytes},
          [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin)); });
}
inline void ClearLong(std::byte* to, size_t bytes) {
  if (bytes <= kPollBytes) {
    std::memset(to, 0, bytes);
    return;
  }
  InSteps(static_cast<int64_t>(bytes), int64_t{kPollBytes},
          [&](int64_t begin, int64_t end) { std::memset(to + begin, 0, static_cast<size_t>(end - begin)); });
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_POLLS_H_
