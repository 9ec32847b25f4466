// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of normalizations, once per instruction set. Only sums along rows are written with vectors; the compiler
// makes vectors of the others.

#include "kernels/normalization/normalization_rows.h"

#include <cstddef>
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
#include "simd/simd_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE T SquareOf(T x) {
  return x * x;
}

// ---- Sums along rows.

template <typename T>
using Terms = std::conditional_t<kHasSumVectors<T>, SumVectors<T>, SumNumbers<T>>;

// The squares of differences from the mean.
template <typename T, class Numbers = Terms<T>>
struct Squares : Numbers {
  using V = typename Numbers::V;
  static constexpr int kSums = 1;
  const T* x;
  T mean;

  HWY_INLINE void AddTo(V (&sums)[1], int64_t i) const { sums[0] = With(Numbers::LoadAny(x + i), sums[0]); }
  HWY_INLINE void AddFirstTo(V (&sums)[1], size_t n, int64_t i) const {
    sums[0] = Numbers::SelectFirst(n, With(Numbers::LoadFirst(n, x + i), sums[0]), sums[0]);
  }

 private:
  HWY_INLINE V With(V v, V sum) const {
    const V difference = Numbers::Subtract(v, Numbers::Set(mean));
    return Numbers::AddProduct(difference, difference, sum);
  }
};

// dy, and its products with differences of x from the mean.
template <typename T, class Numbers = Terms<T>>
struct GradientProducts : Numbers {
  using V = typename Numbers::V;
  static constexpr int kSums = 2;
  const T* x;
  const T* dy;
  T mean;

  HWY_INLINE void AddTo(V (&sums)[2], int64_t i) const {
    Take(sums, Numbers::LoadAny(x + i), Numbers::LoadAny(dy + i));
  }
  // Where dy is 0, so is the product.
  HWY_INLINE void AddFirstTo(V (&sums)[2], size_t n, int64_t i) const {
    Take(sums, Numbers::LoadFirst(n, x + i), Numbers::LoadFirst(n, dy + i));
  }

 private:
  HWY_INLINE void Take(V (&sums)[2], V v, V gradient) const {
    sums[0] = Numbers::Add(sums[0], gradient);
    sums[1] = Numbers::AddProduct(gradient, Numbers::Subtract(v, Numbers::Set(mean)), sums[1]);
  }
};

template <typename T>
void Moments(const T* x, int64_t n, T* mean, T* squares) {
  *mean = simd::Sum(x, n) / static_cast<T>(n);
  Squares<T> terms;
  terms.x = x;
  terms.mean = *mean;
  SumTerms(terms, 0, n, squares);
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
  GradientProducts<T> terms;
  terms.x = x;
  terms.dy = dy;
  terms.mean = mean;
  T sums[2];
  SumTerms(terms, 0, n, sums);
  *sum = sums[0];
  *product = sums[1];
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
inline constexpr NormalizationRows<T> kFunctions = {
    &Moments<T>,  &ColumnMoments<T>,  &Scale<T>,       &ScaleColumns<T>, &ScaleElements<T>,
    &Products<T>, &ColumnProducts<T>, &AddProducts<T>, &Combine<T>,      &CombineColumns<T>};

}  // namespace

const NormalizationRows<float>& NormalizationRowsF32() { return kFunctions<float>; }
const NormalizationRows<double>& NormalizationRowsF64() { return kFunctions<double>; }

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace TANDEM_CPU_NAMESPACE {

namespace {
HWY_EXPORT(NormalizationRowsF32);
HWY_EXPORT(NormalizationRowsF64);
}  // namespace

template <>
const NormalizationRows<float>& FindNormalizationRows<float>() {
  TANDEM_IF_EXACT(FindNormalizationRows<float>());
  return HWY_DYNAMIC_DISPATCH(NormalizationRowsF32)();
}
template <>
const NormalizationRows<double>& FindNormalizationRows<double>() {
  TANDEM_IF_EXACT(FindNormalizationRows<double>());
  return HWY_DYNAMIC_DISPATCH(NormalizationRowsF64)();
}

}  // namespace TANDEM_CPU_NAMESPACE
#endif  // HWY_ONCE
