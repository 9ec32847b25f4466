// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Gemm of bf16, which processors with AMX do by other instructions and another order of sums (NU-1) than those of other
// types: against f64 and, bit by bit, against that order written out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "gemm/gemm.h"
#include "gemm/gemm_kernels.h"
#include "instruction_sets.h"
#include "tandem/float16.h"

namespace tandem::cpu {
namespace {

struct Shape {
  int64_t m, n, k;
};

// Around tiles of 16 and panels of 32 rows and columns, steps of 32 and slices of 256 and 512 of the depth.
constexpr Shape kShapes[] = {{1, 1, 1},     {1, 1, 33},   {2, 3, 31},    {16, 16, 32},   {17, 15, 33},  {31, 33, 64},
                             {32, 32, 511}, {33, 64, 48}, {64, 40, 513}, {40, 40, 1024}, {65, 1, 1025}, {1, 100, 1100}};

// Elements, `gap` between those of a row, and a row or column that is not of the matrix behind each.
class Matrix {
 public:
  Matrix(int64_t rows, int64_t cols, bool is_transposed, int64_t gap, int64_t stride_more = 0)
      : rows_(rows), cols_(cols) {
    const int64_t near = gap + 1;
    const int64_t far = (is_transposed ? rows : cols) * near + stride_more;
    view_ = {nullptr, is_transposed ? near : far, is_transposed ? far : near};
    elements_.assign(static_cast<size_t>((is_transposed ? cols : rows) * far), BFloat16(NAN));
    view_.data = elements_.data();
  }
  BFloat16& at(int64_t i, int64_t j) {
    return elements_[static_cast<size_t>(i * view_.row_stride + j * view_.col_stride)];
  }
  void Fill(std::mt19937& random) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < cols_; ++j) at(i, j) = BFloat16(uniform(random));
    }
  }
  const MatrixView<BFloat16>& view() const { return view_; }

 private:
  const int64_t rows_, cols_;
  std::vector<BFloat16> elements_;
  MatrixView<BFloat16> view_;
};

// Calls test(shape, a, b) with random matrices of each shape, as rows, columns, or neither.
template <typename F>
void ForEachProduct(F test) {
  std::mt19937 random(1);
  for (const Shape& s : kShapes) {
    for (const auto& [a_transposed, a_gap, b_transposed, b_gap] : {std::tuple(false, 0, false, 0),
                                                                   {false, 0, true, 0},
                                                                   {true, 0, false, 0},
                                                                   {true, 0, true, 0},
                                                                   {false, 1, true, 2}}) {
      SCOPED_TRACE(testing::Message() << s.m << "x" << s.k << (a_transposed ? " transposed" : "") << " times " << s.k
                                      << "x" << s.n << (b_transposed ? " transposed" : "") << ", gaps " << a_gap << ", "
                                      << b_gap);
      Matrix a(s.m, s.k, a_transposed, a_gap, 3), b(s.k, s.n, b_transposed, b_gap, 5);
      a.Fill(random);
      b.Fill(random);
      test(s, a, b);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// C with a guard behind each row.
class Product {
 public:
  Product(const Shape& s, const Matrix& a, const Matrix& b, const GemmEpilogue& epilogue = {})
      : m_(s.m), n_(s.n), elements_(static_cast<size_t>(s.m * (s.n + 1)), BFloat16(kGuard)) {
    EXPECT_TRUE(Gemm<BFloat16>(nullptr, s.m, s.n, s.k, a.view(), b.view(), elements_.data(), n_ + 1, epilogue).ok());
    for (int64_t i = 0; i < m_; ++i) EXPECT_EQ(at(i, n_), kGuard) << "wrote behind row " << i;
  }
  float at(int64_t i, int64_t j) const { return elements_[static_cast<size_t>(i * (n_ + 1) + j)]; }

 private:
  static constexpr float kGuard = 0x1.8p20f;

  const int64_t m_, n_;
  std::vector<BFloat16> elements_;
};

TEST(GemmOfBF16, IsRoundedOnceFromSumsInF32) {
  ForEachInstructionSet([](const char*) {
    ForEachProduct([](const Shape& s, Matrix& a, Matrix& b) {
      const Product c(s, a, b);
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          double sum = 0, absolute = 0;
          for (int64_t p = 0; p < s.k; ++p) {
            const double product = static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
            sum += product;
            absolute += std::abs(product);
          }
          // Of k products added up in any order, and half a unit in the last place of 8 bits.
          const double bound = static_cast<double>(s.k) * 0x1p-24 * absolute + 0x1p-8 * std::abs(sum);
          ASSERT_NEAR(c.at(i, j), sum, bound) << "at " << i << ", " << j;
        }
      }
    });
  });
}

TEST(GemmOfBF16, KeepsInfinityAndNaNInTheirRowsAndColumns) {
  ForEachInstructionSet([](const char*) {
    ForEachProduct([](const Shape& s, Matrix& a, Matrix& b) {
      for (int64_t p = 0; p < s.k; ++p) {
        for (int64_t i = 0; i < s.m; ++i) a.at(i, p) = BFloat16(1.0f);
        for (int64_t j = 0; j < s.n; ++j) b.at(p, j) = BFloat16(1.0f);
      }
      a.at(s.m - 1, s.k - 1) = BFloat16(NAN);
      b.at(s.k / 2, s.n - 1) = BFloat16(INFINITY);
      const Product c(s, a, b);
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          if (i == s.m - 1) {
            ASSERT_TRUE(std::isnan(c.at(i, j))) << i << ", " << j;
          } else {
            ASSERT_EQ(c.at(i, j), j == s.n - 1 ? INFINITY : BFloat16(static_cast<float>(s.k))) << i << ", " << j;
          }
        }
      }
    });
  });
}

TEST(GemmOfBF16, GivesTheEpilogueEachSumOnceAndBeforeItIsRounded) {
  ForEachInstructionSet([](const char*) {
    ForEachProduct([](const Shape& s, Matrix& a, Matrix& b) {
      struct Context {
        int64_t n;
        float* seen;
      };
      std::vector<float> sums_seen(static_cast<size_t>(s.m * s.n), NAN);
      const Context context = {s.n, sums_seen.data()};
      const GemmEpilogue epilogue = {
          [](const void* context_data, void* sums, int64_t ldc, int64_t row, int64_t rows, int64_t col, int64_t cols) {
            const auto& [n, seen] = *static_cast<const Context*>(context_data);
            for (int64_t i = 0; i < rows; ++i) {
              for (int64_t j = 0; j < cols; ++j) {
                float& sum = static_cast<float*>(sums)[i * ldc + j];
                float& place = seen[(row + i) * n + col + j];
                EXPECT_TRUE(std::isnan(place)) << "again " << row + i << ", " << col + j;
                place = sum;
                sum = static_cast<float>((row + i) % 16 * 16 + (col + j) % 16);
              }
            }
          },
          &context};
      const Product plain(s, a, b), finished(s, a, b, epilogue);
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          ASSERT_EQ(BFloat16(sums_seen[static_cast<size_t>(i * s.n + j)]), plain.at(i, j)) << i << ", " << j;
          ASSERT_EQ(finished.at(i, j), static_cast<float>(i % 16 * 16 + j % 16)) << i << ", " << j;
        }
      }
    });
  });
}

// AMX takes numbers below 2^-126 for 0: where there may be some, it is not to be used. The sums are of few bits, so
// that f64 has them exactly.
TEST(GemmOfBF16, HasSubnormalNumbersProductsAndSums) {
  ForEachInstructionSet([](const char*) {
    for (const int exponent_of_b : {110, 5, -1, -40, -56, -57, -63, -70, -100, -126}) {
      for (const int exponent_of_product : {-20, -112, -113, -119, -126, -127, -131}) {
        const int exponent_of_a = exponent_of_product - exponent_of_b;
        if (exponent_of_a < -130 || exponent_of_a > 110) continue;
        SCOPED_TRACE(testing::Message() << "2^" << exponent_of_a << " times 2^" << exponent_of_b);
        for (const Shape& s : {Shape{3, 5, 2}, {40, 33, 64}, {70, 40, 515}}) {
          // Two products of opposite signs, and zeros.
          Matrix a(s.m, s.k, false, 0), b(s.k, s.n, true, 0);
          for (int64_t p = 0; p < s.k; ++p) {
            for (int64_t i = 0; i < s.m; ++i) {
              a.at(i, p) = BFloat16(p < 2 ? std::ldexp(p == 0 ? 1.5f : -1.25f, exponent_of_a) : 0.0f);
            }
            for (int64_t j = 0; j < s.n; ++j) {
              b.at(p, j) = BFloat16(p < 2 ? std::ldexp(j % 3 == 0 ? 1.0f : 1.0625f, exponent_of_b) : 1.0f);
            }
          }
          const Product c(s, a, b);
          const auto exact = [&](int64_t i, int64_t j, int64_t p) { return double{a.at(i, p)} * double{b.at(p, j)}; };
          for (int64_t i = 0; i < s.m; ++i) {
            for (int64_t j = 0; j < s.n; ++j) {
              const auto sum = static_cast<float>(exact(i, j, 0) + exact(i, j, 1));
              ASSERT_EQ(c.at(i, j), static_cast<float>(BFloat16(sum))) << "at " << i << ", " << j;
            }
          }
        }
      }
    }
  });
}

TEST(GemmOfBF16, HasSubnormalResultsOfAnEpilogue) {
  const float kTiny = 0x1p-130f;
  const GemmEpilogue epilogue = {
      [](const void* tiny, void* sums, int64_t ldc, int64_t, int64_t rows, int64_t, int64_t cols) {
        for (int64_t i = 0; i < rows; ++i) {
          std::fill_n(static_cast<float*>(sums) + i * ldc, cols, *static_cast<const float*>(tiny));
        }
      },
      &kTiny};
  ForEachInstructionSet([&](const char*) {
    ForEachProduct([&](const Shape& s, Matrix& a, Matrix& b) {
      const Product c(s, a, b, epilogue);
      ASSERT_EQ(c.at(0, 0), kTiny);
      ASSERT_EQ(c.at(s.m - 1, s.n - 1), kTiny);
    });
  });
}

// NU-1: by AMX, the products of 32 steps are added up in two sums, of even and of odd ones, in order; then both are
// added to each other, and to the sum of what came before.
TEST(GemmOfBF16, NU1_AddsUpInTheOrderOfAmxWhereThereIsOne) {
#ifdef TANDEM_CPU_MAY_HAVE_AMX
  if (GetAmxKernels() == nullptr) GTEST_SKIP() << "no AMX for bf16 here";
  ForEachProduct([](const Shape& s, Matrix& a, Matrix& b) {
    const Product c(s, a, b);
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        float sum = 0;
        for (int64_t step = 0; step < s.k; step += 32) {
          float halves[2] = {};
          for (int64_t p = step; p < std::min(s.k, step + 32); ++p) {
            halves[p % 2] = std::fma(a.at(i, p), b.at(p, j), halves[p % 2]);
          }
          sum += halves[0] + halves[1];
        }
        ASSERT_EQ(c.at(i, j), static_cast<float>(BFloat16(sum))) << "at " << i << ", " << j;
      }
    }
  });
#else
  GTEST_SKIP() << "no AMX for bf16 here";
#endif
}

}  // namespace
}  // namespace tandem::cpu
