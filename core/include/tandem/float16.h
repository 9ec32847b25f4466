// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Float16 (IEEE 754 binary16) and BFloat16 (upper half of binary32): storage types that compute in float.

#ifndef TANDEM_FLOAT16_H_
#define TANDEM_FLOAT16_H_

#include <bit>
#include <cstdint>

namespace tandem {

namespace internal {

// Round to nearest, ties to even; overflow gives infinity, subnormals are kept, NaN stays NaN (quiet).
constexpr uint16_t FloatToHalfBits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // rounds to 2^16 or more
  if (magnitude < 0x38800000u) {                                               // below 2^-14: subnormal or zero
    // Adding 0.5 lines the wanted bits up with the end of the mantissa; the addition itself rounds to even.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3F000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
}

constexpr float HalfBitsToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7FFFu;
  if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13));
  if (magnitude < 0x0400u) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

constexpr uint16_t FloatToBFloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float BFloat16BitsToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace internal

// IEEE 754 binary16. Conversion from float rounds to nearest, ties to even.
struct Float16 {
  Float16() = default;
  constexpr explicit Float16(float value) : bits(internal::FloatToHalfBits(value)) {}
  constexpr operator float() const { return internal::HalfBitsToFloat(bits); }  // NOLINT(google-explicit-constructor)
  static constexpr Float16 FromBits(uint16_t bits) {
    Float16 value(0.0f);
    value.bits = bits;
    return value;
  }
  uint16_t bits;
};

// The upper half of binary32. Conversion from float rounds to nearest, ties to even.
struct BFloat16 {
  BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(internal::FloatToBFloat16Bits(value)) {}
  constexpr operator float() const {  // NOLINT(google-explicit-constructor)
    return internal::BFloat16BitsToFloat(bits);
  }
  static constexpr BFloat16 FromBits(uint16_t bits) {
    BFloat16 value(0.0f);
    value.bits = bits;
    return value;
  }
  uint16_t bits;
};

static_assert(sizeof(Float16) == 2 && sizeof(BFloat16) == 2);

}  // namespace tandem

#endif  // TANDEM_FLOAT16_H_
