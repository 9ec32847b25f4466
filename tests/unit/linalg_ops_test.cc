// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MatMul: all dtypes and transposes against the sum of products written out, and wrong calls; large calls of the other
// products, in parallel, against MatMul.

#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include "op_test_fixture.h"

namespace tandem {
namespace {

class LinalgOpsTest : public OpTest {};

// Element (i, j) of a small matrix: whole numbers, so that products are exact in every dtype.
int Element(int64_t i, int64_t j) { return static_cast<int>((i * 3 + j * 5) % 4); }

// Row-major, [rows, cols] or transposed [cols, rows].
template <typename T>
std::vector<T> Matrix(int64_t rows, int64_t cols, bool transposed) {
  std::vector<T> values;
  const int64_t outer = transposed ? cols : rows;
  const int64_t inner = transposed ? rows : cols;
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) {
      values.push_back(static_cast<T>(static_cast<float>(transposed ? Element(j, i) : Element(i, j))));
    }
  }
  return values;
}

TensorShape MatrixShape(int64_t rows, int64_t cols, bool transposed) {
  return transposed ? TensorShape{cols, rows} : TensorShape{rows, cols};
}

template <typename T>
class MatMulDTypesTest : public LinalgOpsTest {};
using MatMulTypes = testing::Types<uint8_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, Float16, BFloat16, float,
                                   double, std::complex<float>>;
TYPED_TEST_SUITE(MatMulDTypesTest, MatMulTypes);

TYPED_TEST(MatMulDTypesTest, AllTransposes) {
  struct Size {
    int64_t m, k, n;
  };
  for (const auto& [m, k, n] : {Size{1, 1, 1}, Size{3, 4, 5}, Size{7, 1, 9}, Size{1, 13, 2}, Size{17, 12, 33}}) {
    std::vector<double> expected;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += Element(i, l) * Element(l, j);
        expected.push_back(sum);
        if constexpr (std::is_same_v<TypeParam, std::complex<float>>) expected.push_back(0);
      }
    }
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(TextOf(m, "x", k, "x", n, " ", transpose_a, " ", transpose_b));
        const TensorHandle product = this->Run(
            "tf.MatMul",
            {this->template Dense<TypeParam>(MatrixShape(m, k, transpose_a), Matrix<TypeParam>(m, k, transpose_a)),
             this->template Dense<TypeParam>(MatrixShape(k, n, transpose_b), Matrix<TypeParam>(k, n, transpose_b))},
            Attrs("transpose_a", transpose_a, "transpose_b", transpose_b));
        EXPECT_EQ(this->Doubles(product), expected);
        EXPECT_EQ(this->MetadataOf(product), TextOf(TensorMetadata(kDTypeOf<TypeParam>, {m, n})));
      }
    }
  }
}

TEST_F(LinalgOpsTest, LargeProductsInParallel) {  // EX-7
  constexpr int64_t kSize = 200;
  const std::vector<float> a = Matrix<float>(kSize, kSize, false);
  std::vector<double> expected;
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      int sum = 0;
      for (int64_t l = 0; l < kSize; ++l) sum += Element(i, l) * Element(l, j);
      expected.push_back(sum);
    }
  }
  const TensorHandle x = Dense<float>({kSize, kSize}, a);
  EXPECT_EQ(Doubles(Run("tf.MatMul", {x, x})), expected);
}

TEST_F(LinalgOpsTest, LargeBatchesInParallel) {  // EX-7
  struct Size {
    int64_t batch, m, k, n;
  };
  // Shared out by products, and each by itself.
  for (const auto& [batch, m, k, n] : {Size{60, 40, 50, 30}, Size{2, 200, 230, 210}}) {
    const std::vector<float> a = Matrix<float>(batch * m, k, false);
    const std::vector<float> b = Matrix<float>(batch * n, k, false);
    std::vector<double> expected;
    for (int64_t i = 0; i < batch; ++i) {
      const TensorHandle x = Dense<float>({m, k}, std::span(a).subspan(i * m * k, m * k));
      const TensorHandle y = Dense<float>({n, k}, std::span(b).subspan(i * n * k, n * k));
      const std::vector<double> product = Doubles(Run("tf.MatMul", {x, y}, Attrs("transpose_b", true)));
      expected.insert(expected.end(), product.begin(), product.end());
    }
    const TensorHandle x = Dense<float>({batch, m, k}, a);
    const TensorHandle y = Dense<float>({batch, n, k}, b);
    EXPECT_EQ(Doubles(Run("tf.BatchMatMulV2", {x, y}, Attrs("adj_y", true))), expected);
    EXPECT_EQ(Doubles(Run("tf.Einsum", {x, y}, Attrs("equation", "bmk,bnk->bmn"))), expected);
  }
}

TEST_F(LinalgOpsTest, LargeFusedProductsInParallel) {  // EX-7
  // Packed with more than one slice of the inner dimension, a few columns, a vector.
  for (const auto& [m, k, n] :
       {std::array<int64_t, 3>{150, 600, 140}, {40'000, 60, 7}, {1, 3'000, 900}, {5'000, 90, 1}}) {
    for (const bool transpose_b : {false, true}) {
      const TensorHandle a = Dense<float>({m, k}, Matrix<float>(m, k, false));
      const TensorHandle b = Dense<float>(MatrixShape(k, n, transpose_b), Matrix<float>(k, n, transpose_b));
      const TensorHandle bias = Dense<float>({n}, std::vector<float>(static_cast<size_t>(n), -100.0f));
      const TensorHandle product = Run("tf.MatMul", {a, b}, Attrs("transpose_b", transpose_b));
      const TensorHandle expected = Run("tf.Relu", {Run("tf.BiasAdd", {product, bias})});
      const OpAttrsRef attrs =
          Attrs("transpose_b", transpose_b, "fused_ops", std::vector<std::string_view>{"BiasAdd", "Relu"});
      EXPECT_TRUE(Doubles(Run("tf._FusedMatMul", {a, b, bias}, attrs)) == Doubles(expected)) << m << " " << transpose_b;
    }
  }
}

TEST_F(LinalgOpsTest, ComplexNumbersAreNotConjugated) {
  using C = std::complex<float>;
  const TensorHandle a = Dense<C>({1, 2}, {C(1, 2), C(3, -1)});
  EXPECT_EQ(Values<C>(Run("tf.MatMul", {a, a}, Attrs("transpose_b", true))), std::vector<C>{C(5, -2)});
}

TEST_F(LinalgOpsTest, EmptyInnerDimensionGivesZeros) {
  const TensorHandle product = Run("tf.MatMul", {Dense<float>({2, 0}, {}), Dense<float>({0, 3}, {})});
  EXPECT_EQ(Values<float>(product), std::vector<float>(6, 0.0f));
}

TEST_F(LinalgOpsTest, EmptyResults) {
  EXPECT_EQ(MetadataOf(Run("tf.MatMul", {Dense<float>({0, 2}, {}), Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6})})),
            "f32[0,3]");
}

TEST_F(LinalgOpsTest, NanAndInfinityPropagate) {
  const TensorHandle a = Dense<float>({1, 2}, {INFINITY, 0});
  EXPECT_TRUE(std::isnan(Values<float>(Run("tf.MatMul", {a, Dense<float>({2, 1}, {0, 1})}))[0]));
  EXPECT_EQ(Values<float>(Run("tf.MatMul", {a, Dense<float>({2, 1}, {1, 1})})), std::vector<float>{INFINITY});
}

TEST_F(LinalgOpsTest, ScalarHostTensorsAreExpanded) {
  EXPECT_EQ(Values<float>(Run("tf.MatMul", {Spread<float>({2, 3}, 2), Dense<float>({3, 1}, {1, 2, 3})})),
            (std::vector<float>{12, 12}));
}

TEST_F(LinalgOpsTest, WrongCalls) {  // MD-2, ER-2
  const TensorHandle a = Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ErrorOf(Run("tf.MatMul", {a, a})), "[tf.MatMul] inner dimensions must agree, got a: f32[2,3], b: f32[2,3]");
  EXPECT_EQ(ErrorOf(Run("tf.MatMul", {a, a}, Attrs("transpose_a", true, "transpose_b", true))),
            "[tf.MatMul] inner dimensions must agree, got a: f32[2,3] transposed, b: f32[2,3] transposed");
  EXPECT_EQ(ErrorOf(Run("tf.MatMul", {Scalar<float>(1), a})), "[tf.MatMul] a must be a matrix, got a: f32[]");
  EXPECT_EQ(ErrorOf(Run("tf.MatMul", {a, Dense<float>({1, 3, 1}, {1, 2, 3})})),
            "[tf.MatMul] b must be a matrix, got b: f32[1,3,1]");
  EXPECT_EQ(ErrorOf(Run("tf.MatMul", {a, Dense<int32_t>({3, 1}, {1, 2, 3})})),
            "[tf.MatMul] argument 1 (b) must be f32 like argument 0 (a), got i32[3,1]");
  EXPECT_EQ(ErrorOf(Run("tf.MatMul", {a})), "[tf.MatMul] expected 2 arguments, got 1");
}

}  // namespace
}  // namespace tandem
