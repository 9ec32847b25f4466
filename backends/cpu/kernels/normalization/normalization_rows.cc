// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of normalizations, once per instruction set. Only sums along rows are written with vectors; the compiler
// makes vectors of the others.

#include "kernels/normalization/normalization_rows.h"

#include <type_traits>

#include "simd/simd_math.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalization/normalization_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise/elementwise_loops-inl.h"
#include "kernels/reduction/reduction_load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE T SquareOf(T x) {
  return x * x;
}

// The sum of the squares of differences from `mean`.
template <typename T>
HWY_INLINE T SumSquares(const T* x, int64_t n, T mean) {
  T result = 0;
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float> || HWY_HAVE_FLOAT64) {
    const hn::ScalableTag<T> d;
    constexpr int64_t kLanes = HWY_LANES(T);
    const auto m = hn::Set(d, mean);
    const auto add = [&](auto sum, int64_t at) HWY_ATTR {
      const auto difference = hn::Sub(hn::LoadU(d, x + at), m);
      return hn::MulAdd(difference, difference, sum);
    };
    auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      sum0 = add(sum0, i);
      sum1 = add(sum1, i + kLanes);
      sum2 = add(sum2, i + 2 * kLanes);
      sum3 = add(sum3, i + 3 * kLanes);
    }
    for (; i + kLanes <= n; i += kLanes) sum0 = add(sum0, i);
    result = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  }
  for (; i < n; ++i) result += SquareOf(x[i] - mean);
  return result;
}

template <typename T>
void Moments(const T* x, int64_t n, T* mean, T* squares) {
  *mean = simd::Sum(x, n) / static_cast<T>(n);
  *squares = SumSquares(x, n, *mean);
}

template <typename T>
void ColumnMoments(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t cols, T* HWY_RESTRICT means,
                   T* HWY_RESTRICT squares) {
  for (int64_t col = 0; col < cols; ++col) means[col] = squares[col] = 0;
  const T* row = x;
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4, row += 4 * stride) {
    TANDEM_COMPACT_LOOP
    for (int64_t col = 0; col < cols; ++col) {
      means[col] += (row[col] + row[col + stride]) + (row[col + 2 * stride] + row[col + 3 * stride]);
    }
  }
  for (; i < rows; ++i, row += stride) {
    for (int64_t col = 0; col < cols; ++col) means[col] += row[col];
  }
  for (int64_t col = 0; col < cols; ++col) means[col] /= static_cast<T>(rows);
  row = x;
  for (i = 0; i + 4 <= rows; i += 4, row += 4 * stride) {
    TANDEM_COMPACT_LOOP
    for (int64_t col = 0; col < cols; ++col) {
      const T mean = means[col];
      squares[col] += (SquareOf(row[col] - mean) + SquareOf(row[col + stride] - mean)) +
                      (SquareOf(row[col + 2 * stride] - mean) + SquareOf(row[col + 3 * stride] - mean));
    }
  }
  for (; i < rows; ++i, row += stride) {
    for (int64_t col = 0; col < cols; ++col) squares[col] += SquareOf(row[col] - means[col]);
  }
}

template <typename T>
void Scale(const T* x, int64_t n, T mean, T factor, T offset, T* y) {
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor + offset;
}

template <typename T>
void ScaleColumns(const T* x, int64_t rows, int64_t cols, const T* HWY_RESTRICT means, const T* HWY_RESTRICT factors,
                  const T* HWY_RESTRICT offsets, T* y) {
  for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
    TANDEM_INDEPENDENT
    for (int64_t col = 0; col < cols; ++col) y[col] = (x[col] - means[col]) * factors[col] + offsets[col];
  }
}

template <typename T>
void ScaleElements(const T* x, int64_t n, T mean, T factor, const T* HWY_RESTRICT scales, const T* HWY_RESTRICT offsets,
                   T* y) {
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor * scales[i] + offsets[i];
}

template <typename T>
void Products(const T* x, const T* dy, int64_t n, T mean, T* sum, T* product) {
  T gradients = 0;
  T products = 0;
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float> || HWY_HAVE_FLOAT64) {
    const hn::ScalableTag<T> d;
    constexpr int64_t kLanes = HWY_LANES(T);
    const auto m = hn::Set(d, mean);
    auto sum0 = hn::Zero(d), sum1 = sum0, product0 = sum0, product1 = sum0;
    const auto add = [&](auto& to, auto& to_product, int64_t at) HWY_ATTR {
      const auto gradient = hn::LoadU(d, dy + at);
      to = hn::Add(to, gradient);
      to_product = hn::MulAdd(gradient, hn::Sub(hn::LoadU(d, x + at), m), to_product);
    };
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      add(sum0, product0, i);
      add(sum1, product1, i + kLanes);
    }
    if (i + kLanes <= n) {
      add(sum0, product0, i);
      i += kLanes;
    }
    gradients = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
    products = hn::GetLane(hn::SumOfLanes(d, hn::Add(product0, product1)));
  }
  for (; i < n; ++i) {
    gradients += dy[i];
    products += dy[i] * (x[i] - mean);
  }
  *sum = gradients;
  *product = products;
}

template <typename T>
void ColumnProducts(const T* HWY_RESTRICT x, const T* HWY_RESTRICT dy, int64_t rows, int64_t stride, int64_t cols,
                    const T* HWY_RESTRICT means, T* HWY_RESTRICT sums, T* HWY_RESTRICT products) {
  for (int64_t col = 0; col < cols; ++col) sums[col] = products[col] = 0;
  int64_t i = 0;
  for (; i + 2 <= rows; i += 2, x += 2 * stride, dy += 2 * stride) {
    TANDEM_COMPACT_LOOP
    for (int64_t col = 0; col < cols; ++col) {
      const T mean = means[col];
      sums[col] += dy[col] + dy[col + stride];
      products[col] += dy[col] * (x[col] - mean) + dy[col + stride] * (x[col + stride] - mean);
    }
  }
  if (i == rows) return;
  for (int64_t col = 0; col < cols; ++col) {
    sums[col] += dy[col];
    products[col] += dy[col] * (x[col] - means[col]);
  }
}

template <typename T>
void AddProducts(const T* HWY_RESTRICT x, const T* HWY_RESTRICT dy, const T* HWY_RESTRICT scales, int64_t n, T mean,
                 T factor, T* HWY_RESTRICT products, T* HWY_RESTRICT sums, T* HWY_RESTRICT scaled) {
  TANDEM_COMPACT_LOOP
  for (int64_t i = 0; i < n; ++i) {
    products[i] += dy[i] * ((x[i] - mean) * factor);
    sums[i] += dy[i];
    scaled[i] = dy[i] * scales[i];
  }
}

template <typename T>
void Combine(const T* x, const T* dy, int64_t n, T mean, T factor, T slope, T offset, T* y) {
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = dy[i] * factor + (x[i] - mean) * slope + offset;
}

template <typename T>
void CombineColumns(const T* x, const T* dy, int64_t rows, int64_t cols, const T* HWY_RESTRICT means,
                    const T* HWY_RESTRICT factors, const T* HWY_RESTRICT slopes, const T* HWY_RESTRICT offsets, T* y) {
  for (int64_t row = 0; row < rows; ++row, x += cols, dy += cols, y += cols) {
    TANDEM_INDEPENDENT
    for (int64_t col = 0; col < cols; ++col) {
      y[col] = dy[col] * factors[col] + (x[col] - means[col]) * slopes[col] + offsets[col];
    }
  }
}

template <typename T>
NormalizationRows<T> Functions() {
  return {&Moments<T>,  &ColumnMoments<T>,  &Scale<T>,       &ScaleColumns<T>, &ScaleElements<T>,
          &Products<T>, &ColumnProducts<T>, &AddProducts<T>, &Combine<T>,      &CombineColumns<T>};
}

}  // namespace

NormalizationRows<float> NormalizationRowsF32() { return Functions<float>(); }
NormalizationRows<double> NormalizationRowsF64() { return Functions<double>(); }

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(NormalizationRowsF32);
HWY_EXPORT(NormalizationRowsF64);
}  // namespace

template <>
NormalizationRows<float> FindNormalizationRows<float>() {
  return HWY_DYNAMIC_DISPATCH(NormalizationRowsF32)();
}
template <>
NormalizationRows<double> FindNormalizationRows<double>() {
  return HWY_DYNAMIC_DISPATCH(NormalizationRowsF64)();
}

}  // namespace tandem::cpu
#endif  // HWY_ONCE
