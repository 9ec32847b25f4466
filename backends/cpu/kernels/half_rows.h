// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// HalfRows: the conversions around kernels that compute f16 and bf16 in f32.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_HALF_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_HALF_ROWS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/elementwise/elementwise_rows.h"

namespace tandem::cpu {

// The type that elements of type T are computed in.
template <typename T>
using Widened = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

// For elements of one dtype: nothing to do for those that are computed in their own type.
struct HalfRows {
  explicit HalfRows(DType dtype) {
    if (dtype != DType::kF16 && dtype != DType::kBF16) return;
    const CastRows casts;
    widen = casts.Direct(dtype, DType::kF32);
    narrow = casts.Direct(DType::kF32, dtype);
  }

  // `n` elements as numbers to compute with: `x` itself, or its conversion in `buffer`.
  template <typename T>
  const Widened<T>* Widen(const T* x, int64_t n, Widened<T>* buffer) const {
    if constexpr (std::is_same_v<T, Widened<T>>) {
      return x;
    } else {
      const void* from = x;
      widen(&from, buffer, n);
      return buffer;
    }
  }
  // Where to compute `n` numbers that become the elements at `out`, by Narrow.
  template <typename T>
  static Widened<T>* Unnarrowed(T* out, Widened<T>* buffer) {
    if constexpr (std::is_same_v<T, Widened<T>>) {
      return out;
    } else {
      return buffer;
    }
  }
  template <typename T>
  void Narrow(const Widened<T>* numbers, int64_t n, T* out) const {
    if constexpr (!std::is_same_v<T, Widened<T>>) {
      const void* from = numbers;
      narrow(&from, out, n);
    }
  }

  Row widen = nullptr;
  Row narrow = nullptr;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_HALF_ROWS_H_
