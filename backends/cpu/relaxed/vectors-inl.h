// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Vectors of f32 of which some lanes count.

#ifndef TANDEM_BACKENDS_CPU_RELAXED_VECTORS_INL_H_
#define TANDEM_BACKENDS_CPU_RELAXED_VECTORS_INL_H_

#include <wasm_simd128.h>

#include <cstdint>

namespace tandem::cpu {
namespace {

constexpr uint32_t kLanes = 4;

inline uint32_t Min(uint32_t x, uint32_t y) { return x < y ? x : y; }

[[gnu::noinline]] v128_t LoadSome(const float* from, uint32_t count) {
  v128_t v = wasm_f32x4_splat(0);
  if (count > 0) v = wasm_v128_load32_lane(from, v, 0);
  if (count > 1) v = wasm_v128_load32_lane(from + 1, v, 1);
  if (count > 2) v = wasm_v128_load32_lane(from + 2, v, 2);
  return v;
}

[[gnu::noinline]] void StoreSome(v128_t v, float* to, uint32_t count) {
  if (count > 0) wasm_v128_store32_lane(to, v, 0);
  if (count > 1) wasm_v128_store32_lane(to + 1, v, 1);
  if (count > 2) wasm_v128_store32_lane(to + 2, v, 2);
}

// The first `count` lanes, at most all; the others zero.
inline v128_t LoadFirst(const float* from, uint32_t count) {
  return count >= kLanes ? wasm_v128_load(from) : LoadSome(from, count);
}

inline void StoreFirst(v128_t v, float* to, uint32_t count) {
  count >= kLanes ? wasm_v128_store(to, v) : StoreSome(v, to, count);
}

}  // namespace
}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_RELAXED_VECTORS_INL_H_
