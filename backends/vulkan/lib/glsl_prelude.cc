// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "glsl_prelude.h"

namespace tandem::vulkan {

// Conversions to integers clamp, NaN becomes 0. The largest floats below 2^31 and 2^32 are 2147483520 and 4294967040.
// A remainder has the sign of the dividend: that of glslang's `%` for int would have the divisor's.
const std::string_view kGlslPrelude = R"(
#define W_SCALARS_AND_VECTORS(MACRO) \
  MACRO(float) MACRO(vec2) MACRO(vec3) MACRO(vec4) MACRO(int) MACRO(ivec2) MACRO(ivec3) MACRO(ivec4) \
  MACRO(uint) MACRO(uvec2) MACRO(uvec3) MACRO(uvec4)

#define W_SELECT(T) T w_select(T no, T yes, bool condition) { return condition ? yes : no; }
W_SCALARS_AND_VECTORS(W_SELECT)
W_SELECT(bool)
#define W_SELECT_EACH(T, B) T w_select(T no, T yes, B condition) { return mix(no, yes, condition); }
W_SELECT_EACH(vec2, bvec2) W_SELECT_EACH(vec3, bvec3) W_SELECT_EACH(vec4, bvec4)
W_SELECT_EACH(ivec2, bvec2) W_SELECT_EACH(ivec3, bvec3) W_SELECT_EACH(ivec4, bvec4)
W_SELECT_EACH(uvec2, bvec2) W_SELECT_EACH(uvec3, bvec3) W_SELECT_EACH(uvec4, bvec4)

int w_int(int x) { return x; }
int w_int(uint x) { return int(x); }
int w_int(bool x) { return int(x); }
int w_int(float x) { return x != x ? 0 : x >= 2147483648.0 ? 2147483647 : int(max(x, -2147483648.0)); }
uint w_uint(uint x) { return x; }
uint w_uint(int x) { return uint(x); }
uint w_uint(bool x) { return uint(x); }
uint w_uint(float x) { return x != x ? 0u : x >= 4294967296.0 ? 4294967295u : uint(max(x, 0.0)); }

#define W_MOD(T) T w_mod(T x, T y) { return x - y * (x / y); }
W_MOD(int) W_MOD(ivec2) W_MOD(ivec3) W_MOD(ivec4)
#define W_MOD_UNSIGNED(T) T w_mod(T x, T y) { return x % y; }
W_MOD_UNSIGNED(uint) W_MOD_UNSIGNED(uvec2) W_MOD_UNSIGNED(uvec3) W_MOD_UNSIGNED(uvec4)
#define W_MOD_FLOAT(T) T w_mod(T x, T y) { return x - y * trunc(x / y); }
W_MOD_FLOAT(float) W_MOD_FLOAT(vec2) W_MOD_FLOAT(vec3) W_MOD_FLOAT(vec4)

#define W_SATURATE(T) T w_saturate(T x) { return clamp(x, T(0), T(1)); }
W_SATURATE(float) W_SATURATE(vec2) W_SATURATE(vec3) W_SATURATE(vec4)

#define W_BITCASTS(F, I, U) \
  F w_bitcast_##F(F x) { return x; } \
  F w_bitcast_##F(I x) { return intBitsToFloat(x); } \
  F w_bitcast_##F(U x) { return uintBitsToFloat(x); } \
  I w_bitcast_##I(F x) { return floatBitsToInt(x); } \
  I w_bitcast_##I(I x) { return x; } \
  I w_bitcast_##I(U x) { return I(x); } \
  U w_bitcast_##U(F x) { return floatBitsToUint(x); } \
  U w_bitcast_##U(I x) { return U(x); } \
  U w_bitcast_##U(U x) { return x; }
W_BITCASTS(float, int, uint) W_BITCASTS(vec2, ivec2, uvec2) W_BITCASTS(vec3, ivec3, uvec3) W_BITCASTS(vec4, ivec4, uvec4)

#define W_BITS(T) \
  T w_countOneBits(T x) { return T(bitCount(x)); } \
  T w_firstLeadingBit(T x) { return T(findMSB(x)); } \
  T w_firstTrailingBit(T x) { return T(findLSB(x)); } \
  T w_countLeadingZeros(T x) { return T(31 - findMSB(uint(x))); } \
  T w_countTrailingZeros(T x) { return x == T(0) ? T(32) : T(findLSB(x)); } \
  T w_extractBits(T x, uint offset, uint count) { \
    uint o = min(offset, 32u); \
    return bitfieldExtract(x, int(o), int(min(count, 32u - o))); \
  } \
  T w_insertBits(T x, T bits, uint offset, uint count) { \
    uint o = min(offset, 32u); \
    return bitfieldInsert(x, bits, int(o), int(min(count, 32u - o))); \
  }
W_BITS(int) W_BITS(uint)

void w_workgroupBarrier() { barrier(); }
void w_storageBarrier() { memoryBarrierBuffer(); barrier(); }
)";

const std::string_view kGlslPreludeF16 = R"(
W_SELECT(float16_t) W_SELECT(f16vec2) W_SELECT(f16vec3) W_SELECT(f16vec4)
W_SELECT_EACH(f16vec2, bvec2) W_SELECT_EACH(f16vec3, bvec3) W_SELECT_EACH(f16vec4, bvec4)
int w_int(float16_t x) { return w_int(float(x)); }
uint w_uint(float16_t x) { return w_uint(float(x)); }
W_MOD_FLOAT(float16_t) W_MOD_FLOAT(f16vec2) W_MOD_FLOAT(f16vec3) W_MOD_FLOAT(f16vec4)
W_SATURATE(float16_t) W_SATURATE(f16vec2) W_SATURATE(f16vec3) W_SATURATE(f16vec4)
f16vec2 w_bitcast_f16vec2(uint x) { return unpackFloat2x16(x); }
uint w_bitcast_uint(f16vec2 x) { return packFloat2x16(x); }
)";

}  // namespace tandem::vulkan
