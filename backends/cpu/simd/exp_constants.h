// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Constants of e^x for f32, which code without Highway needs, too. See MathConstants in simd_math-inl.h.

#ifndef TANDEM_BACKENDS_CPU_SIMD_EXP_CONSTANTS_H_
#define TANDEM_BACKENDS_CPU_SIMD_EXP_CONSTANTS_H_

namespace tandem::cpu {

struct FloatExpConstants {
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr float kRounding = 0x1.8p23f;    // adding it leaves the nearest integer in the low bits
  static constexpr float kExpOverflow = 89.0f;     // e^x overflows from here on, and e^(x - 1) from 1.5 above
  static constexpr float kExpUnderflow = -104.0f;  // e^x rounds to zero
  static constexpr float kExpNormal = 87.0f;       // e^x and e^-x are normal numbers below it
  static constexpr float kPerLn2 = 0x1.715476p0f;  // 1 / ln(2)
  static constexpr float kLn2High = 0x1.63p-1f;    // few bits, so that multiples are exact
  static constexpr float kLn2Low = -0x1.bd0106p-13f;
  // (e^r - 1 - r) / r^2 for |r| <= ln(2)/2, lowest degree first; what comes of it for e^r - 1 is off by 2^-31 of that.
  static constexpr float kExpm1[] = {0x1.000000p-1f, 0x1.555556p-3f,  0x1.5554aep-5f,
                                     0x1.111090p-7f, 0x1.6d74ccp-10f, 0x1.a1a220p-13f};
};

// Those of them, and others, that code without data of its own reads from memory.
struct FloatExpTable {
  using C = FloatExpConstants;
  float rounding = C::kRounding;
  float expm1[6] = {C::kExpm1[0], C::kExpm1[1], C::kExpm1[2], C::kExpm1[3], C::kExpm1[4], C::kExpm1[5]};
  float one = 1.0f;
  float overflow = C::kExpOverflow;
  float underflow = C::kExpUnderflow;
  float normal = C::kExpNormal;
  float half = 0.5f;
};
inline constexpr FloatExpTable kFloatExpTable = {};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_SIMD_EXP_CONSTANTS_H_
