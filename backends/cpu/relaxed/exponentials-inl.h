// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RelaxedExponentials and RelaxedSoftmax, by the formulas of simd_math-inl.h. Included by module.cc alone.

#ifndef TANDEM_BACKENDS_CPU_RELAXED_EXPONENTIALS_INL_H_
#define TANDEM_BACKENDS_CPU_RELAXED_EXPONENTIALS_INL_H_

#include "relaxed/relaxed_calls.h"
#include "relaxed/vectors-inl.h"
#include "simd/exp_constants.h"

namespace tandem::cpu {
namespace {

// A constant in the program's memory: less code than one within an instruction, and it needs no register for long. By a
// pointer: of a reference compilers know that there is more, and load a vector, and take one lane of it.
#define TANDEM_EXP(member) wasm_v128_load32_splat(&table->member)

// e^r for x = k ln(2) + r. What is added comes from memory, where a register would have to be copied; factors stay in
// registers: there are 16.
inline v128_t ReducedExp(const FloatExpTable* table, v128_t x, v128_t& k, v128_t& k_plus_rounding) {
  using C = FloatExpConstants;
  const v128_t rounding = wasm_f32x4_splat(C::kRounding);
  k_plus_rounding = wasm_f32x4_relaxed_madd(x, wasm_f32x4_splat(C::kPerLn2), rounding);
  k = wasm_f32x4_sub(k_plus_rounding, rounding);
  v128_t r = wasm_f32x4_relaxed_madd(k, wasm_f32x4_splat(-C::kLn2High), x);
  r = wasm_f32x4_relaxed_madd(k, wasm_f32x4_splat(-C::kLn2Low), r);
  const v128_t square = wasm_f32x4_mul(r, r);
  v128_t p = wasm_f32x4_relaxed_madd(wasm_f32x4_splat(C::kExpm1[5]), r, TANDEM_EXP(expm1[4]));
  const v128_t q = wasm_f32x4_relaxed_madd(wasm_f32x4_splat(C::kExpm1[3]), r, TANDEM_EXP(expm1[2]));
  p = wasm_f32x4_relaxed_madd(p, square, q);
  p = wasm_f32x4_relaxed_madd(p, r, TANDEM_EXP(expm1[1]));
  p = wasm_f32x4_relaxed_madd(p, r, TANDEM_EXP(expm1[0]));
  return wasm_f32x4_add(wasm_f32x4_relaxed_madd(square, p, r), wasm_f32x4_splat(1));
}

inline v128_t NormalExp(const FloatExpTable* table, v128_t x) {
  v128_t k, k_plus_rounding;
  const v128_t y = ReducedExp(table, x, k, k_plus_rounding);
  return wasm_i32x4_add(y, wasm_i32x4_shl(k_plus_rounding, FloatExpConstants::kMantissaBits));
}

// 2^k, `sum` being k and kRounding.
inline v128_t PowerOfTwo(v128_t sum) {
  const v128_t biased = wasm_i32x4_add(sum, wasm_i32x4_splat(FloatExpConstants::kBias));
  return wasm_i32x4_shl(biased, FloatExpConstants::kMantissaBits);
}

// Of what is not normal, too; where e^x is, the same.
inline v128_t AnyExp(const FloatExpTable* table, v128_t x) {
  // The first operand comes out if it is NaN.
  x = wasm_f32x4_pmin(wasm_f32x4_pmax(x, TANDEM_EXP(underflow)), TANDEM_EXP(overflow));
  v128_t k, unused;
  const v128_t y = ReducedExp(table, x, k, unused);
  // By two factors, since 2^k may be out of range; the first product is exact.
  const v128_t rounding = TANDEM_EXP(rounding);
  const v128_t half_rounded = wasm_f32x4_relaxed_madd(k, TANDEM_EXP(half), rounding);
  const v128_t rest_rounded = wasm_f32x4_add(wasm_f32x4_sub(k, wasm_f32x4_sub(half_rounded, rounding)), rounding);
  return wasm_f32x4_mul(wasm_f32x4_mul(y, PowerOfTwo(half_rounded)), PowerOfTwo(rest_rounded));
}

// The functions below compute y = e^(x - subtracted), or 1 / (1 + e^-x) for a sigmoid, and give the sum of the powers
// that they have stored. They are not inline, since the module is to be small.

// `count` elements, whole vectors, where the powers are normal numbers.
template <bool kIsSigmoid>
[[gnu::noinline]] v128_t NormalRow(const FloatExpTable* table, const float* x, float* y, uint32_t count,
                                   float subtracted) {
  const v128_t added = wasm_f32x4_splat(-subtracted);
  v128_t sum = wasm_f32x4_splat(0);
  for (const float* const end = x + count; x < end; x += kLanes, y += kLanes) {
    const v128_t v = wasm_v128_load(x);
    v128_t e = NormalExp(table, kIsSigmoid ? wasm_f32x4_neg(v) : wasm_f32x4_add(v, added));
    if (kIsSigmoid) {
      const v128_t one = wasm_f32x4_splat(1);
      e = wasm_f32x4_div(one, wasm_f32x4_add(one, e));
    } else {
      sum = wasm_f32x4_add(sum, e);
    }
    wasm_v128_store(y, e);
  }
  return sum;
}

// Any number of any elements. A result does not depend on its neighbours: it is that of NormalRow if there is one.
[[gnu::noinline]] v128_t AnyRow(const FloatExpTable* table, const float* x, float* y, uint32_t left, float subtracted,
                                bool is_sigmoid) {
  v128_t sum = wasm_f32x4_splat(0);
  for (; left > 0; x += kLanes, y += kLanes) {
    const v128_t v = wasm_f32x4_sub(LoadFirst(x, left), wasm_f32x4_splat(subtracted));
    // Where e^-x would overflow, the sigmoid is e^x / (1 + e^x).
    const v128_t far = wasm_f32x4_le(v, wasm_f32x4_neg(TANDEM_EXP(normal)));
    v128_t e = AnyExp(table, is_sigmoid ? wasm_v128_bitselect(v, wasm_f32x4_neg(v), far) : v);
    if (is_sigmoid) {
      const v128_t one = TANDEM_EXP(one);
      e = wasm_f32x4_div(wasm_v128_bitselect(e, one, far), wasm_f32x4_add(one, e));
    }
    StoreFirst(e, y, left);
    sum = wasm_f32x4_add(sum, LoadFirst(y, left));
    left -= Min(left, kLanes);
  }
  return sum;
}

// So many elements at a time, of which either all are normal or none is taken to be so: to ask for each vector takes as
// long as its powers. Of so many a sum is without large rounding errors.
constexpr uint32_t kBlock = 32 * kLanes;

inline uint32_t SizeOfBlock(uint32_t left) { return Min(left, kBlock) & ~(kLanes - 1); }

inline bool AreNormal(const float* x, uint32_t count) {
  // Twice the bits of a number are in the order of its magnitude; NaN comes last.
  v128_t most = wasm_i32x4_splat(0);
  for (const float* const end = x + count; x < end; x += kLanes) {
    most = wasm_u32x4_max(most, wasm_i32x4_shl(wasm_v128_load(x), 1));
  }
  return wasm_i32x4_all_true(wasm_u32x4_lt(most, wasm_i32x4_shl(wasm_f32x4_splat(FloatExpConstants::kExpNormal), 1)));
}

inline void ComputeExponentials(const RelaxedExponentials& call) {
  const bool is_sigmoid = call.is_sigmoid != 0;
  const float* x = call.x;
  float* y = call.y;
  uint32_t left = call.count;
  for (uint32_t size; left > 0; left -= size, x += size, y += size) {
    size = SizeOfBlock(left);
    if (size > 0 && AreNormal(x, size)) {
      is_sigmoid ? NormalRow<true>(call.table, x, y, size, 0) : NormalRow<false>(call.table, x, y, size, 0);
    } else {
      size = Min(left, kBlock);
      AnyRow(call.table, x, y, size, 0, is_sigmoid);
    }
  }
}

#define TANDEM_LANE(i) wasm_f32x4_extract_lane(v, i)
inline float MaxOfLanes(v128_t v) {
  const auto max = [](float x, float y) { return x > y ? x : y; };
  return max(max(TANDEM_LANE(0), TANDEM_LANE(1)), max(TANDEM_LANE(2), TANDEM_LANE(3)));
}
inline float SumOfLanes(v128_t v) { return (TANDEM_LANE(0) + TANDEM_LANE(1)) + (TANDEM_LANE(2) + TANDEM_LANE(3)); }
#undef TANDEM_LANE

inline void ComputeSoftmaxRow(const FloatExpTable* table, const float* x, uint32_t cols, float* y) {
  // The largest number, and whether all are so near to it that e to the difference is normal. The sum tells of NaN.
  constexpr uint32_t kStep = RelaxedSoftmax::kMinCols;
  static_assert(kStep == 4 * kLanes);
  v128_t most, least, sum;
  most = least = sum = wasm_v128_load(x);
  for (uint32_t i = 0; i < cols; i += kStep) {
    const float* const from = x + Min(i, cols - kStep);  // at last, some again
    const v128_t v0 = wasm_v128_load(from);
    const v128_t v1 = wasm_v128_load(from + kLanes);
    const v128_t v2 = wasm_v128_load(from + 2 * kLanes);
    const v128_t v3 = wasm_v128_load(from + 3 * kLanes);
    most = wasm_f32x4_pmax(most, wasm_f32x4_pmax(wasm_f32x4_pmax(v0, v1), wasm_f32x4_pmax(v2, v3)));
    least = wasm_f32x4_pmin(least, wasm_f32x4_pmin(wasm_f32x4_pmin(v0, v1), wasm_f32x4_pmin(v2, v3)));
    sum = wasm_f32x4_add(sum, wasm_f32x4_add(wasm_f32x4_add(v0, v1), wasm_f32x4_add(v2, v3)));
  }
  const float largest = MaxOfLanes(most);
  const float total = SumOfLanes(sum);
  const bool is_narrow =
      total - total == 0 && largest + MaxOfLanes(wasm_f32x4_neg(least)) < FloatExpConstants::kExpNormal;

  sum = wasm_f32x4_splat(0);
  uint32_t i = 0;
  for (uint32_t size; is_narrow && (size = SizeOfBlock(cols - i)) > 0; i += size) {
    sum = wasm_f32x4_add(sum, NormalRow<false>(table, x + i, y + i, size, largest));
  }
  for (; i < cols; i += kBlock) {
    sum = wasm_f32x4_add(sum, AnyRow(table, x + i, y + i, Min(cols - i, kBlock), largest, false));
  }

  const v128_t factor = wasm_f32x4_splat(1 / SumOfLanes(sum));
  for (; cols >= kLanes; cols -= kLanes, y += kLanes) wasm_v128_store(y, wasm_f32x4_mul(wasm_v128_load(y), factor));
  StoreFirst(wasm_f32x4_mul(LoadFirst(y, cols), factor), y, cols);
}

inline void ComputeSoftmax(const RelaxedSoftmax& call) {
  for (uint32_t row = 0; row < call.rows; ++row) {
    ComputeSoftmaxRow(call.table, call.x + row * call.cols, call.cols, call.y + row * call.cols);
  }
}

#undef TANDEM_EXP

}  // namespace
}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_RELAXED_EXPONENTIALS_INL_H_
