// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FarmHash's mixing of 0 to 16, 17 to 32, 33 to 64, and more bytes.

#include "kernels/text/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace tandem::cpu {
namespace {

constexpr uint64_t kFactor0 = 0xC3A5C85C97CB3127;
constexpr uint64_t kFactor1 = 0xB492B66FBE98F273;
constexpr uint64_t kFactor2 = 0x9AE16A3B2F90404F;

// Little-endian numbers.
template <typename T>
uint64_t Read(const char* from) {
  static_assert(std::endian::native == std::endian::little);
  T number;
  std::memcpy(&number, from, sizeof(T));
  return number;
}
uint64_t Read64(const char* from) { return Read<uint64_t>(from); }
uint64_t Read32(const char* from) { return Read<uint32_t>(from); }

uint64_t Turned(uint64_t x, int bits) { return std::rotr(x, bits); }
uint64_t Folded(uint64_t x) { return x ^ (x >> 47); }

uint64_t Mix(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = Folded((u ^ v) * factor);
  return Folded((v ^ a) * factor) * factor;
}

uint64_t UpTo16(const char* s, uint64_t n) {
  const uint64_t factor = kFactor2 + n * 2;
  if (n >= 8) {
    const uint64_t a = Read64(s) + kFactor2;
    const uint64_t b = Read64(s + n - 8);
    return Mix(Turned(b, 37) * factor + a, (Turned(a, 25) + b) * factor, factor);
  }
  if (n >= 4) return Mix(n + (Read32(s) << 3), Read32(s + n - 4), factor);
  if (n == 0) return kFactor2;
  const auto byte = [s](uint64_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(s[i])); };
  const uint64_t y = byte(0) + (byte(n >> 1) << 8);
  const uint64_t z = n + (byte(n - 1) << 2);
  return Folded(y * kFactor2 ^ z * kFactor0) * kFactor2;
}

uint64_t UpTo32(const char* s, uint64_t n) {
  const uint64_t factor = kFactor2 + n * 2;
  const uint64_t a = Read64(s) * kFactor1;
  const uint64_t b = Read64(s + 8);
  const uint64_t c = Read64(s + n - 8) * factor;
  const uint64_t d = Read64(s + n - 16) * kFactor2;
  return Mix(Turned(a + b, 43) + Turned(c, 30) + d, a + Turned(b + kFactor2, 18) + c, factor);
}

uint64_t UpTo64(const char* s, uint64_t n) {
  const uint64_t factor = kFactor2 + n * 2;
  const uint64_t a = Read64(s) * kFactor2;
  const uint64_t b = Read64(s + 8);
  const uint64_t c = Read64(s + n - 8) * factor;
  const uint64_t d = Read64(s + n - 16) * kFactor2;
  const uint64_t y = Turned(a + b, 43) + Turned(c, 30) + d;
  const uint64_t z = Mix(y, a + Turned(b + kFactor2, 18) + c, factor);
  const uint64_t e = Read64(s + 16) * factor;
  const uint64_t f = Read64(s + 24);
  const uint64_t g = (y + Read64(s + n - 32)) * factor;
  const uint64_t h = (z + Read64(s + n - 24)) * factor;
  return Mix(Turned(e + f, 43) + Turned(g, 30) + h, e + Turned(f + a, 18) + g, factor);
}

struct Pair {
  uint64_t first = 0;
  uint64_t second = 0;
};

Pair MixBlock(const char* s, uint64_t a, uint64_t b) {
  a += Read64(s);
  b = Turned(b + a + Read64(s + 24), 21);
  const uint64_t c = a;
  a += Read64(s + 8) + Read64(s + 16);
  b += Turned(a, 44);
  return {a + Read64(s + 24), b + c};
}

uint64_t Beyond64(const char* s, uint64_t n) {
  constexpr uint64_t kSeed = 81;
  uint64_t y = kSeed * kFactor1 + 113;
  uint64_t z = Folded(y * kFactor2 + 113) * kFactor2;
  uint64_t x = kSeed * kFactor2 + Read64(s);
  Pair v;
  Pair w;
  const auto step = [&](uint64_t factor, uint64_t x_mix, uint64_t y_mix) {
    x = Turned(x + y + v.first + Read64(s + 8), 37) * factor;
    y = Turned(y + v.second + Read64(s + 48), 42) * factor;
    x ^= w.second * x_mix;
    y += v.first * y_mix + Read64(s + 40);
    z = Turned(z + w.first, 33) * factor;
    v = MixBlock(s, v.second * factor, x + w.first);
    w = MixBlock(s + 32, z + w.second, y + Read64(s + 16));
    std::swap(z, x);
  };
  const char* const end = s + (n - 1) / 64 * 64;
  const char* const last = end + ((n - 1) & 63) - 63;
  for (; s != end; s += 64) step(kFactor1, 1, 1);
  const uint64_t factor = kFactor1 + ((z & 0xFF) << 1);
  s = last;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  step(factor, 9, 9);
  return Mix(Mix(v.first, w.first, factor) + Folded(y) * kFactor0 + z, Mix(v.second, w.second, factor) + x, factor);
}

}  // namespace

uint64_t Fingerprint64(std::string_view text) {
  const uint64_t n = text.size();
  if (n <= 16) return UpTo16(text.data(), n);
  if (n <= 32) return UpTo32(text.data(), n);
  if (n <= 64) return UpTo64(text.data(), n);
  return Beyond64(text.data(), n);
}

}  // namespace tandem::cpu
