// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Gemm against sums of products written out, for all types, shapes that reach every way through it, and every
// instruction set that this processor has.

#include "gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "failing_heap.h"
#include "forwarding_queue.h"
#include "instruction_sets.h"
#include "tandem/float16.h"
#include "tandem/work_queue.h"

namespace tandem::cpu {
namespace {

struct Shape {
  int64_t m, n, k;
};

// Small ones around the sizes of tiles and vectors, vectors, skinny ones, and some that are packed in several blocks.
constexpr Shape kShapes[] = {{1, 1, 1},      {1, 1, 300},    {2, 2, 2},      {3, 5, 7},     {4, 4, 4},
                             {5, 1, 9},      {1, 9, 5},      {1, 130, 37},   {1, 1100, 19}, {77, 1, 70},
                             {12, 32, 16},   {13, 33, 17},   {11, 31, 15},   {25, 16, 8},   {64, 64, 64},
                             {100, 10, 128}, {30, 2, 500},   {2, 70, 300},   {47, 65, 257}, {6, 8, 600},
                             {130, 70, 20},  {121, 97, 270}, {1540, 5, 260}, {5, 2060, 10}, {1, 2051, 130}};

enum Layout { kPlain, kTransposed, kPadded, kScattered };
constexpr Layout kLayouts[] = {kPlain, kTransposed, kPadded, kScattered};

// A matrix in some layout; gaps hold values that would show up in any result they enter.
template <typename T>
struct Matrix {
  Matrix(int64_t rows, int64_t cols, Layout layout, T gap) {
    row_stride = layout == kTransposed ? 1 : layout == kPadded ? cols + 3 : layout == kScattered ? 2 * cols + 1 : cols;
    col_stride = layout == kTransposed ? rows : layout == kScattered ? 2 : 1;
    elements.assign(static_cast<size_t>((rows - 1) * row_stride + (cols - 1) * col_stride + 1), gap);
  }
  T& at(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * row_stride + j * col_stride)]; }
  MatrixView<T> view() const { return {elements.data(), row_stride, col_stride}; }

  int64_t row_stride, col_stride;
  std::vector<T> elements;
};

template <typename T>
T RandomElement(std::mt19937& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>((uint64_t{random()} << 32) | random());
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(random() % 17) - 8, static_cast<float>(random() % 17) - 8};
  } else {
    return T(static_cast<float>(random() % 3) - 1);  // sums of products are whole numbers, and exact
  }
}

template <typename T>
T Gap() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::max();
  } else {
    return T(std::numeric_limits<float>::quiet_NaN());
  }
}

// The exact sums of products of whole numbers; of integers, modulo 2^64.
template <typename T>
T ExactElement(Matrix<T>& a, Matrix<T>& b, int64_t i, int64_t j, int64_t k) {
  if constexpr (std::is_integral_v<T>) {
    uint64_t sum = 0;
    for (int64_t p = 0; p < k; ++p) sum += static_cast<uint64_t>(a.at(i, p)) * static_cast<uint64_t>(b.at(p, j));
    return static_cast<T>(sum);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    std::complex<double> sum = 0;
    for (int64_t p = 0; p < k; ++p) sum += std::complex<double>(a.at(i, p)) * std::complex<double>(b.at(p, j));
    return T(sum);
  } else {
    double sum = 0;
    for (int64_t p = 0; p < k; ++p) sum += static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
    return T(static_cast<float>(sum));
  }
}

template <typename T>
class GemmOfType : public testing::Test {};

using AllTypes = testing::Types<float, double, Float16, BFloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
                                int64_t, uint64_t, std::complex<float>>;
TYPED_TEST_SUITE(GemmOfType, AllTypes);

TYPED_TEST(GemmOfType, IsTheSumOfProductsForEveryShapeAndLayout) {
  using T = TypeParam;
  ForEachInstructionSet([](const char*) {
    std::mt19937 random(1);
    for (const Shape& s : kShapes) {
      for (const Layout a_layout : kLayouts) {
        const Layout b_layout = kLayouts[random() % 4];
        SCOPED_TRACE(testing::Message() << s.m << "x" << s.k << " (layout " << a_layout << ") times " << s.k << "x"
                                        << s.n << " (layout " << b_layout << ")");
        Matrix<T> a(s.m, s.k, a_layout, Gap<T>());
        Matrix<T> b(s.k, s.n, b_layout, Gap<T>());
        for (int64_t p = 0; p < s.k; ++p) {
          for (int64_t i = 0; i < s.m; ++i) a.at(i, p) = RandomElement<T>(random);
          for (int64_t j = 0; j < s.n; ++j) b.at(p, j) = RandomElement<T>(random);
        }
        std::vector<T> c(static_cast<size_t>(s.m * s.n) + 1, Gap<T>());
        const T beyond = c.back();
        ASSERT_TRUE(Gemm<T>(nullptr, s.m, s.n, s.k, a.view(), b.view(), c.data()).ok());
        ASSERT_EQ(std::memcmp(&c.back(), &beyond, sizeof(T)), 0) << "wrote beyond the result";
        for (int64_t i = 0; i < s.m; ++i) {
          for (int64_t j = 0; j < s.n; ++j) {
            ASSERT_EQ(c[static_cast<size_t>(i * s.n + j)], ExactElement(a, b, i, j, s.k)) << "at " << i << ", " << j;
          }
        }
      }
    }
  });
}

TYPED_TEST(GemmOfType, WithNothingToAddUpIsZero) {
  using T = TypeParam;
  std::vector<T> c(6, Gap<T>());
  ASSERT_TRUE(Gemm<T>(nullptr, 2, 3, 0, {nullptr, 0, 1}, {nullptr, 3, 1}, c.data()).ok());
  for (const T& element : c) EXPECT_EQ(element, T(0));
}

TYPED_TEST(GemmOfType, WithoutRowsOrColumnsWritesNothing) {
  using T = TypeParam;
  const T one[4] = {T(1), T(1), T(1), T(1)};
  EXPECT_TRUE(Gemm<T>(nullptr, 0, 2, 2, {one, 2, 1}, {one, 2, 1}, nullptr).ok());
  EXPECT_TRUE(Gemm<T>(nullptr, 2, 0, 2, {one, 2, 1}, {one, 0, 1}, nullptr).ok());
}

// The error of a sum of k products, added up in any order, is below k eps times the sum of their absolute values.
template <typename T>
void ExpectWithinBound(const Shape& s) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Matrix<T> a(s.m, s.k, kPlain, T(0));
  Matrix<T> b(s.k, s.n, kPlain, T(0));
  for (T& element : a.elements) element = static_cast<T>(uniform(random));
  for (T& element : b.elements) element = static_cast<T>(uniform(random));
  std::vector<T> c(static_cast<size_t>(s.m * s.n));
  ASSERT_TRUE(Gemm<T>(nullptr, s.m, s.n, s.k, a.view(), b.view(), c.data()).ok());
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      long double sum = 0, absolute = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        const long double product = static_cast<long double>(a.at(i, p)) * b.at(p, j);
        sum += product;
        absolute += std::abs(product);
      }
      const long double bound = s.k * std::numeric_limits<T>::epsilon() * absolute;
      ASSERT_LE(std::abs(c[static_cast<size_t>(i * s.n + j)] - sum), bound) << "at " << i << ", " << j;
    }
  }
}

TEST(Gemm, OfF32IsWithinTheErrorBoundOfSums) {
  ForEachInstructionSet([](const char*) {
    for (const Shape& s : kShapes) ExpectWithinBound<float>(s);
  });
}

TEST(Gemm, OfF64IsWithinTheErrorBoundOfSums) {
  ForEachInstructionSet([](const char*) {
    for (const Shape& s : kShapes) ExpectWithinBound<double>(s);
  });
}

// 2048 + 1 + 1 + ... cannot be added up in f16, nor 256 + 1 + 1 + ... in bf16.
template <typename T>
void ExpectRoundedOnce(float large) {
  constexpr int64_t kOnes = 600;
  std::vector<T> row(kOnes + 1, T(1.0f));
  row[0] = T(large);
  const std::vector<T> ones((kOnes + 1) * 3, T(1.0f));
  std::vector<T> c(2 * 3);
  ASSERT_TRUE(Gemm<T>(nullptr, 2, 3, kOnes + 1, {row.data(), 0, 1}, {ones.data(), 3, 1}, c.data()).ok());
  for (const T& element : c) EXPECT_EQ(static_cast<float>(element), static_cast<float>(T(large + kOnes)));
}

TEST(Gemm, OfF16AccumulatesInF32) {
  ForEachInstructionSet([](const char*) { ExpectRoundedOnce<Float16>(2048.0f); });
}

TEST(Gemm, OfBF16AccumulatesInF32) {
  ForEachInstructionSet([](const char*) { ExpectRoundedOnce<BFloat16>(256.0f); });
}

TEST(Gemm, OfF16ReadsSubnormalsInfinityAndNaN) {
  ForEachInstructionSet([](const char*) {
    // Times the identity, every value comes back.
    constexpr int64_t kSize = 64;
    std::vector<Float16> a, identity(kSize * kSize, Float16(0.0f)), c(kSize);
    for (int64_t i = 0; i < kSize; ++i) identity[static_cast<size_t>(i * kSize + i)] = Float16(1.0f);
    for (uint32_t first = 0; first < 0x7C00; first += kSize) {  // finite ones
      a.clear();
      for (uint32_t bits = first; bits < first + kSize; ++bits) {
        a.push_back(Float16::FromBits(static_cast<uint16_t>(bits | (bits % 2 << 15))));
      }
      const MatrixView<Float16> row = {a.data(), kSize, 1};
      ASSERT_TRUE(Gemm<Float16>(nullptr, 1, kSize, kSize, row, {identity.data(), kSize, 1}, c.data()).ok());
      for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(static_cast<float>(c[i]), static_cast<float>(a[i]));
    }
    const std::vector<Float16> special = {Float16(INFINITY), Float16(-INFINITY), Float16(NAN), Float16(1.0f)};
    const Float16 one(1.0f);
    c.resize(4);
    ASSERT_TRUE(Gemm<Float16>(nullptr, 4, 1, 1, {special.data(), 1, 1}, {&one, 1, 1}, c.data()).ok());
    EXPECT_EQ(static_cast<float>(c[0]), INFINITY);
    EXPECT_EQ(static_cast<float>(c[1]), -INFINITY);
    EXPECT_TRUE(std::isnan(static_cast<float>(c[2])));
    EXPECT_EQ(static_cast<float>(c[3]), 1.0f);
  });
}

TEST(Gemm, ZeroTimesInfinityIsNaN) {
  ForEachInstructionSet([](const char*) {
    for (const Shape& s : kShapes) {
      const std::vector<float> a(static_cast<size_t>(s.m * s.k), 0.0f);
      std::vector<float> b(static_cast<size_t>(s.k * s.n), 1.0f), c(static_cast<size_t>(s.m * s.n));
      const int64_t row = s.k / 2, column = s.n - 1;
      b[static_cast<size_t>(row * s.n + column)] = INFINITY;
      ASSERT_TRUE(Gemm<float>(nullptr, s.m, s.n, s.k, {a.data(), s.k, 1}, {b.data(), s.n, 1}, c.data()).ok());
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          ASSERT_EQ(std::isnan(c[static_cast<size_t>(i * s.n + j)]), j == column) << s.m << " " << s.n << " " << s.k;
        }
      }
    }
  });
}

TEST(Gemm, NaNStaysInItsRow) {
  ForEachInstructionSet([](const char*) {
    for (const Shape& s : kShapes) {
      std::vector<double> a(static_cast<size_t>(s.m * s.k), 1.0), c(static_cast<size_t>(s.m * s.n));
      const std::vector<double> b(static_cast<size_t>(s.k * s.n), 0.0);
      const int64_t row = s.m / 2;
      a[static_cast<size_t>(row * s.k + s.k - 1)] = NAN;
      ASSERT_TRUE(Gemm<double>(nullptr, s.m, s.n, s.k, {a.data(), s.k, 1}, {b.data(), s.n, 1}, c.data()).ok());
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          ASSERT_EQ(std::isnan(c[static_cast<size_t>(i * s.n + j)]), i == row) << s.m << " " << s.n << " " << s.k;
        }
      }
    }
  });
}

// ---- Threads.

template <typename T>
void ExpectSameBitsForAnyNumberOfThreads() {
  constexpr Shape kLarge[] = {{150, 140, 300}, {1, 3000, 100},  {2500, 1, 90},
                              {20, 1100, 150}, {1100, 20, 150}, {300, 300, 700}};
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const Shape& s : kLarge) {
    SCOPED_TRACE(testing::Message() << s.m << "x" << s.k << " times " << s.k << "x" << s.n);
    Matrix<T> a(s.m, s.k, kPlain, T(0));
    Matrix<T> b(s.k, s.n, kPlain, T(0));
    for (T& element : a.elements) element = T(uniform(random));
    for (T& element : b.elements) element = T(uniform(random));
    for (const bool transpose_b : {false, true}) {
      MatrixView<T> right = b.view();
      if (transpose_b) right = {b.elements.data(), 1, s.k};
      std::vector<T> alone(static_cast<size_t>(s.m * s.n));
      ASSERT_TRUE(Gemm<T>(nullptr, s.m, s.n, s.k, a.view(), right, alone.data()).ok());
      for (const int threads : {2, 5}) {
        const std::unique_ptr<WorkQueue> queue = CreateMultiThreadedWorkQueue(threads);
        std::vector<T> shared(alone.size());
        ASSERT_TRUE(Gemm<T>(queue.get(), s.m, s.n, s.k, a.view(), right, shared.data()).ok());
        EXPECT_EQ(std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(T)), 0) << threads << " threads";
      }
    }
  }
}

// Work of ten microseconds is shared with a thread that is awake, and wakes none.
TEST(Gemm, SharesASmallProductWithAReadyHelperOnly) {
  HelpedQueue queue;
  const auto num_tasks = [&](int64_t size) {
    Matrix<float> a(size, size, kPlain, 1.0f);
    std::vector<float> c(static_cast<size_t>(size * size));
    EXPECT_TRUE(Gemm<float>(&queue, size, size, size, a.view(), a.view(), c.data()).ok());
    return queue.TakeNumTasks();
  };
  for (const int64_t size : {16, 128}) EXPECT_EQ(num_tasks(size), 0) << size;
  queue.set_helper_ready(true);
  EXPECT_EQ(num_tasks(16), 0);
  EXPECT_GT(num_tasks(128), 0);
  queue.Quiesce();
}

TEST(Gemm, OfF32HasTheSameBitsForAnyNumberOfThreads) {
  ForEachInstructionSet([](const char*) { ExpectSameBitsForAnyNumberOfThreads<float>(); });
}
TEST(Gemm, OfF64HasTheSameBitsForAnyNumberOfThreads) { ExpectSameBitsForAnyNumberOfThreads<double>(); }
TEST(Gemm, OfF16HasTheSameBitsForAnyNumberOfThreads) { ExpectSameBitsForAnyNumberOfThreads<Float16>(); }
TEST(Gemm, OfBF16HasTheSameBitsForAnyNumberOfThreads) {
  ForEachInstructionSet([](const char*) { ExpectSameBitsForAnyNumberOfThreads<BFloat16>(); });
}
TEST(Gemm, OfC64HasTheSameBitsForAnyNumberOfThreads) { ExpectSameBitsForAnyNumberOfThreads<std::complex<float>>(); }

// ---- Memory.

template <typename T>
Status MultiplyWithoutMemory(const Shape& s, bool transpose_b) {
  const std::vector<T> a(static_cast<size_t>(s.m * s.k), T(1.0f)), b(static_cast<size_t>(s.k * s.n), T(1.0f));
  std::vector<T> c(static_cast<size_t>(s.m * s.n));
  MatrixView<T> right = {b.data(), s.n, 1};
  if (transpose_b) right = {b.data(), 1, s.k};
  return WithoutMemory([&] { return Gemm<T>(nullptr, s.m, s.n, s.k, {a.data(), s.k, 1}, right, c.data()); });
}

// ER-5
TEST(Gemm, WithoutMemoryForPackingIsAnError) {
  for (const Status& status :
       {MultiplyWithoutMemory<float>({300, 300, 300}, true), MultiplyWithoutMemory<Float16>({300, 300, 300}, false),
        MultiplyWithoutMemory<int32_t>({300, 300, 300}, false)}) {
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  }
}

TEST(Gemm, OfSmallMatricesNeedsNoMemory) {
  for (const bool transpose_b : {false, true}) {
    EXPECT_TRUE(MultiplyWithoutMemory<float>({4, 4, 4}, transpose_b).ok());
    EXPECT_TRUE(MultiplyWithoutMemory<double>({2, 3, 4}, transpose_b).ok());
    EXPECT_TRUE(MultiplyWithoutMemory<Float16>({4, 4, 4}, transpose_b).ok());
    EXPECT_TRUE(MultiplyWithoutMemory<int64_t>({4, 4, 4}, transpose_b).ok());
    EXPECT_TRUE(MultiplyWithoutMemory<std::complex<float>>({4, 4, 4}, transpose_b).ok());
  }
}

}  // namespace
}  // namespace tandem::cpu
