// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of ArgMax and ArgMin, once per instruction set.

#include <algorithm>
#include <type_traits>

#include "kernels/op_record.h"
#include "kernels/reduction/reduction_arg.h"
#include "simd/simd_math.h"
#include "simd/simd_targets.h"
#include "tandem/op_selection.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/reduction_arg_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/reduction/reduction_load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

template <bool kSmallest, typename A>
HWY_INLINE bool IsBetter(A x, A best) {
  const bool is_beyond = kSmallest ? x < best : x > best;
  return is_beyond | ((x != x) & (best == best));
}

template <bool kSmallest, typename A>
HWY_INLINE A BestOf(const A* HWY_RESTRICT x, int64_t n) {
  if constexpr (std::is_floating_point_v<A>) {
    return kSmallest ? simd::Min(x, n) : simd::Max(x, n);
  } else {
    A best = x[0];
    TANDEM_COMPACT_LOOP
    for (int64_t i = 1; i < n; ++i) best = kSmallest ? std::min(best, x[i]) : std::max(best, x[i]);
    return best;
  }
}

// Of few contiguous elements.
template <bool kSmallest, typename A, typename T>
HWY_INLINE int64_t FindInOrder(const T* x, int64_t n) {
  A best = Load<A>(x[0]);
  int64_t best_i = 0;
  for (int64_t i = 1; i < n; ++i) {
    const A element = Load<A>(x[i]);
    const bool is_better = IsBetter<kSmallest>(element, best);
    best = is_better ? element : best;
    best_i = is_better ? i : best_i;
  }
  return best_i;
}

// Of `n` contiguous elements, at least one: the block with the best element, then where in it that is.
template <bool kSmallest, typename A, typename T>
int64_t FindInStretch(const T* x, int64_t n) {
  constexpr int64_t kFew = 24;
  if (n <= kFew) return FindInOrder<kSmallest, A>(x, n);
  constexpr int64_t kBlock = 1024;
  A widened[std::is_same_v<A, T> ? 1 : kBlock];
  const auto load = [&](int64_t begin, int64_t size) -> const A* {
    if constexpr (std::is_same_v<A, T>) {
      return x + begin;
    } else {
      TANDEM_COMPACT_LOOP
      for (int64_t i = 0; i < size; ++i) widened[i] = Load<A>(x[begin + i]);
      return widened;
    }
  };
  A best = Load<A>(x[0]);
  int64_t best_begin = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    const A of_block = BestOf<kSmallest>(load(begin, size), size);
    if (!IsBetter<kSmallest>(of_block, best)) continue;
    best = of_block;
    best_begin = begin;
    if (best != best) break;
  }
  int64_t i = best_begin;
  if (best != best) {
    while (Load<A>(x[i]) == Load<A>(x[i])) ++i;
  } else {
    while (Load<A>(x[i]) != best) ++i;
  }
  return i;
}

template <bool kSmallest, typename A, typename T>
void Find(const void* data, int64_t rows, int64_t stride, int64_t cols, int64_t first_row, int64_t* result) {
  const auto* HWY_RESTRICT x = static_cast<const T*>(data);
  if (stride == 1) {
    *result = first_row + FindInStretch<kSmallest, A>(x, rows);
    return;
  }
  A best[ArgRows::kMaxCols];
  int32_t best_rows[ArgRows::kMaxCols];  // in vectors as wide as most elements; counted from where a stretch begins
  constexpr int64_t kMaxRows = int64_t{1} << 30;
  for (int64_t col = 0; col < cols; ++col) {
    best[col] = Load<A>(x[col]);
    result[col] = first_row;
  }
  for (int64_t begin = 1; begin < rows; begin += kMaxRows) {
    const auto size = static_cast<int32_t>(std::min(kMaxRows, rows - begin));
    std::fill(best_rows, best_rows + cols, -1);
    for (int32_t row = 0; row < size; ++row) {
      x += stride;
      TANDEM_COMPACT_LOOP
      for (int64_t col = 0; col < cols; ++col) {
        const A element = Load<A>(x[col]);
        const bool is_better = IsBetter<kSmallest>(element, best[col]);
        best[col] = is_better ? element : best[col];
        best_rows[col] = is_better ? row : best_rows[col];
      }
    }
    for (int64_t col = 0; col < cols; ++col) {
      if (best_rows[col] >= 0) result[col] = first_row + begin + best_rows[col];
    }
  }
}

template <bool kSmallest, typename A, typename T>
void Merge(const void* data, int64_t stride, int64_t cols, int64_t count, int64_t* best) {
  const auto* x = static_cast<const T*>(data);
  for (int64_t col = 0; col < cols; ++col) {
    A best_element = Load<A>(x[best[col] * stride + col]);
    for (int64_t i = 1; i < count; ++i) {
      const int64_t row = best[i * cols + col];
      const A element = Load<A>(x[row * stride + col]);
      if (!IsBetter<kSmallest>(element, best_element)) continue;
      best_element = element;
      best[col] = row;
    }
  }
}

// Those for elements of the dtypes, if the build has kernels for any.
template <typename T, DType... dtypes>
ArgRows Rows(bool smallest) {
  using A = Accumulator<T>;
  if constexpr ((IsInBuild(dtypes, "tf.ArgMin") || ...)) {
    constexpr auto kMake = []() -> ArgRows { return {&Find<true, A, T>, &Merge<true, A, T>}; };
    if (smallest) return Recorded<"tf.ArgMin", dtypes...>(kMake);
  }
  if constexpr ((IsInBuild(dtypes, "tf.ArgMax") || ...)) {
    constexpr auto kMake = []() -> ArgRows { return {&Find<false, A, T>, &Merge<false, A, T>}; };
    if (!smallest) return Recorded<"tf.ArgMax", dtypes...>(kMake);
  }
  return {};
}

}  // namespace

ArgRows ArgRowsOf(DType dtype, bool smallest) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return Rows<uint8_t, DType::kU8, DType::kBool>(smallest);
    case DType::kI8:
      return Rows<int8_t, kDTypeOf<int8_t>>(smallest);
    case DType::kU16:
      return Rows<uint16_t, kDTypeOf<uint16_t>>(smallest);
    case DType::kI16:
      return Rows<int16_t, kDTypeOf<int16_t>>(smallest);
    case DType::kU32:
      return Rows<uint32_t, kDTypeOf<uint32_t>>(smallest);
    case DType::kI32:
      return Rows<int32_t, kDTypeOf<int32_t>>(smallest);
    case DType::kU64:
      return Rows<uint64_t, kDTypeOf<uint64_t>>(smallest);
    case DType::kI64:
      return Rows<int64_t, kDTypeOf<int64_t>>(smallest);
    case DType::kF16:
      return Rows<Float16, kDTypeOf<Float16>>(smallest);
    case DType::kBF16:
      return Rows<BFloat16, kDTypeOf<BFloat16>>(smallest);
    case DType::kF32:
      return Rows<float, kDTypeOf<float>>(smallest);
    default:
      return Rows<double, kDTypeOf<double>>(smallest);
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(ArgRowsOf);
}

ArgRows FindArgRows(DType dtype, bool smallest) { return HWY_DYNAMIC_DISPATCH(ArgRowsOf)(dtype, smallest); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
