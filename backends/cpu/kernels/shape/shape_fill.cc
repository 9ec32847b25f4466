// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FillElements: stores of the widest vectors there are, once per instruction set.

#include <cstring>

#include "kernels/polls.h"
#include "kernels/shape/shape_movement.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/shape/shape_fill.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SHAPE_FILL_ONCE_
#define TANDEM_BACKENDS_CPU_KERNELS_SHAPE_FILL_ONCE_
namespace tandem::cpu {

// A whole number of elements of any size, and of vectors.
inline constexpr size_t kPatternBytes = 64;

}  // namespace tandem::cpu
#endif  // TANDEM_BACKENDS_CPU_KERNELS_SHAPE_FILL_ONCE_

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Writes the pattern, of kPatternBytes bytes, again and again.
void FillPattern(const std::byte* pattern, std::byte* out, size_t bytes) {
  size_t done = 0;
#if HWY_TARGET == HWY_SCALAR
  for (; done + kPatternBytes <= bytes; done += kPatternBytes) std::memcpy(out + done, pattern, kPatternBytes);
#else
  const hn::CappedTag<uint8_t, kPatternBytes> d;
  const size_t lanes = hn::Lanes(d);
  auto* to = reinterpret_cast<uint8_t*>(out);
  const auto vector = hn::LoadU(d, reinterpret_cast<const uint8_t*>(pattern));
  for (; done + 4 * lanes <= bytes; done += 4 * lanes) {
    hn::StoreU(vector, d, to + done);
    hn::StoreU(vector, d, to + done + lanes);
    hn::StoreU(vector, d, to + done + 2 * lanes);
    hn::StoreU(vector, d, to + done + 3 * lanes);
  }
  for (; done + lanes <= bytes; done += lanes) hn::StoreU(vector, d, to + done);
#endif
  std::memcpy(out + done, pattern, bytes - done);
}

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {
namespace {

HWY_EXPORT(FillPattern);

// Copies of one element, in one loop.
void FillDirectly(std::byte* out, size_t bytes, const void* value, size_t element_size) {
  WithElementType(element_size, [&]<typename T>(std::type_identity<T>) {
    T element;
    std::memcpy(&element, value, sizeof(T));
    for (size_t i = 0; i < bytes; i += sizeof(T)) std::memcpy(out + i, &element, sizeof(T));
  });
}

}  // namespace

void FillElements(std::byte* out, int64_t count, const void* value, size_t element_size) {
  constexpr size_t kWorthPattern = 256;
  const size_t bytes = static_cast<size_t>(count) * element_size;
  if (bytes < kWorthPattern) return FillDirectly(out, bytes, value, element_size);
  std::byte pattern[kPatternBytes];
  FillDirectly(pattern, kPatternBytes, value, element_size);
  const auto fill = [&](size_t begin, size_t size) { HWY_DYNAMIC_DISPATCH(FillPattern)(pattern, out + begin, size); };
  if (bytes <= kPollBytes) return fill(0, bytes);
  InSteps(static_cast<int64_t>(bytes), int64_t{kPollBytes},
          [&](int64_t begin, int64_t end) { fill(static_cast<size_t>(begin), static_cast<size_t>(end - begin)); });
}

}  // namespace tandem::cpu
#endif  // HWY_ONCE
