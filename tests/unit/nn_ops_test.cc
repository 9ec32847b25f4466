// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// BiasAdd and its gradient, Softmax, LogSoftmax, the sparse cross entropy, and gradients of activations.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "op_test_fixture.h"

namespace tandem {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class NnOpsTest : public OpTest {
 protected:
  void ExpectNear(const std::vector<double>& values, const std::vector<double>& expected, double tolerance) {
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
  }
};

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Of the result, relative to 1.
template <typename T>
double Tolerance() {
  if (std::is_same_v<T, Float16>) return 1e-3;
  if (std::is_same_v<T, BFloat16>) return 8e-3;
  return std::is_same_v<T, float> ? 1e-6 : 1e-14;
}

template <typename T>
std::vector<T> As(const std::vector<double>& values) {
  std::vector<T> converted;
  for (const double value : values) {
    if constexpr (kIsHalf<T> || std::is_same_v<T, std::complex<float>>) {
      converted.push_back(T(static_cast<float>(value)));
    } else {
      converted.push_back(static_cast<T>(value));
    }
  }
  return converted;
}

std::vector<double> SmallNumbers(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i * 7 % 10));
  return values;
}

template <typename T>
class BiasTest : public NnOpsTest {};
using NumericTypes = testing::Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Float16,
                                    BFloat16, float, double>;
TYPED_TEST_SUITE(BiasTest, NumericTypes);

TYPED_TEST(BiasTest, AddsAlongTheChannels) {
  for (const TensorShape& shape : {TensorShape{3, 4}, TensorShape{2, 4, 5}, TensorShape{2, 3, 2, 70}}) {
    for (const std::string_view format : {"NHWC", "NCHW"}) {
      SCOPED_TRACE(TextOf(shape, " ", format));
      const int axis = format == "NCHW" ? 1 : shape.rank() - 1;
      const std::vector<double> value = SmallNumbers(shape.num_elements());
      const std::vector<double> bias = SmallNumbers(shape.dim(axis));
      int64_t inner = 1;
      for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
      std::vector<double> expected;
      for (size_t i = 0; i < value.size(); ++i) {
        expected.push_back(value[i] + bias[i / static_cast<size_t>(inner) % bias.size()]);
      }
      const TensorHandle sum = this->Run("tf.BiasAdd",
                                         {this->template Dense<TypeParam>(shape, As<TypeParam>(value)),
                                          this->template Dense<TypeParam>({shape.dim(axis)}, As<TypeParam>(bias))},
                                         Attrs("data_format", format));
      EXPECT_EQ(this->Doubles(sum), expected);
    }
  }
}

TYPED_TEST(BiasTest, GradientSumsAllButTheChannels) {
  for (const TensorShape& shape : {TensorShape{3, 4}, TensorShape{2, 4, 3}, TensorShape{1, 2, 1, 3}}) {
    for (const std::string_view format : {"NHWC", "NCHW"}) {
      SCOPED_TRACE(TextOf(shape, " ", format));
      const int axis = format == "NCHW" ? 1 : shape.rank() - 1;
      const std::vector<double> gradient = SmallNumbers(shape.num_elements());
      int64_t inner = 1;
      for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
      std::vector<double> expected(static_cast<size_t>(shape.dim(axis)));
      for (size_t i = 0; i < gradient.size(); ++i) {
        expected[i / static_cast<size_t>(inner) % expected.size()] += gradient[i];
      }
      const TensorHandle sum =
          this->Run("tf.BiasAddGrad", {this->template Dense<TypeParam>(shape, As<TypeParam>(gradient))},
                    Attrs("data_format", format));
      EXPECT_EQ(this->Doubles(sum), expected);
    }
  }
}

TEST_F(NnOpsTest, BiasOfComplexNumbers) {
  using C = std::complex<float>;
  const TensorHandle value = Dense<C>({2, 2}, {C(1, 1), C(2, 2), C(3, 3), C(4, 4)});
  EXPECT_EQ(Values<C>(Run("tf.BiasAdd", {value, Dense<C>({2}, {C(0, 1), C(1, 0)})})),
            (std::vector<C>{C(1, 2), C(3, 2), C(3, 4), C(5, 4)}));
  EXPECT_EQ(Values<C>(Run("tf.BiasAddGrad", {value})), (std::vector<C>{C(4, 4), C(6, 6)}));
}

TEST_F(NnOpsTest, BiasAddTakesOverItsInput) {  // TH-5
  const TensorHandle expected = Dense<float>({100}, std::vector<float>(100, 3));
  TensorHandle value = Dense<float>({100, 1}, std::vector<float>(100, 1));
  const void* data = value.tensor().data();
  const TensorHandle sum = Run("tf.BiasAdd", {std::move(value), Dense<float>({1}, {2})});
  EXPECT_EQ(Values<float>(sum), Values<float>(expected));
  EXPECT_EQ(sum.tensor().data(), data);
}

TEST_F(NnOpsTest, LargeBiases) {
  const std::vector<float> ones(600'000, 1);
  const std::vector<float> bias(300, 2);
  EXPECT_EQ(Values<float>(Run("tf.BiasAdd", {Dense<float>({2'000, 300}, ones), Dense<float>({300}, bias)})),
            std::vector<float>(600'000, 3));
  EXPECT_EQ(Values<float>(Run("tf.BiasAddGrad", {Dense<float>({2'000, 300}, ones)})), std::vector<float>(300, 2'000));
}

TEST_F(NnOpsTest, EmptyBiases) {
  EXPECT_EQ(MetadataOf(Run("tf.BiasAdd", {Dense<float>({0, 3}, {}), Dense<float>({3}, {1, 2, 3})})), "f32[0,3]");
  EXPECT_EQ(Values<float>(Run("tf.BiasAddGrad", {Dense<float>({0, 3}, {})})), (std::vector<float>{0, 0, 0}));
}

TEST_F(NnOpsTest, WrongBiases) {  // MD-2, ER-2
  const TensorHandle value = Dense<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ErrorOf(Run("tf.BiasAdd", {value, Dense<float>({2}, {1, 2})})),
            "[tf.BiasAdd] bias must be a vector with an element for each index of dimension 2 of value, got value: "
            "f32[1,2,3], bias: f32[2]");
  EXPECT_EQ(ErrorOf(Run("tf.BiasAdd", {value, value}, Attrs("data_format", "NCHW"))),
            "[tf.BiasAdd] bias must be a vector with an element for each index of dimension 1 of value, got value: "
            "f32[1,2,3], bias: f32[1,2,3]");
  EXPECT_EQ(ErrorOf(Run("tf.BiasAdd", {Scalar<float>(1), value})),
            "[tf.BiasAdd] value must have at least two dimensions, got value: f32[]");
  EXPECT_EQ(ErrorOf(Run("tf.BiasAddGrad", {Dense<float>({1}, {1})})),
            "[tf.BiasAddGrad] out_backprop must have at least two dimensions, got out_backprop: f32[1]");
  EXPECT_EQ(ErrorOf(Run("tf.BiasAdd", {value, value}, Attrs("data_format", "CHWN"))),
            "[tf.BiasAdd] attribute data_format must be one of 'NHWC', 'NCHW', got 'CHWN'");
}

// Row by row, log(sum(exp(x))).
std::vector<double> LogSums(const std::vector<double>& x, size_t cols) {
  std::vector<double> result;
  for (size_t begin = 0; begin < x.size(); begin += cols) {
    const double max = *std::max_element(&x[begin], &x[begin] + cols);
    double sum = 0;
    for (size_t i = begin; i < begin + cols; ++i) sum += std::exp(x[i] - max);
    result.push_back(max + std::log(sum));
  }
  return result;
}

std::vector<double> Logits(size_t n) {
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i * 37 % 64) / 8 - 4);  // exact in every dtype
  return values;
}

template <typename T>
class SoftmaxTest : public NnOpsTest {};
using FloatTypes = testing::Types<Float16, BFloat16, float, double>;
TYPED_TEST_SUITE(SoftmaxTest, FloatTypes);

TYPED_TEST(SoftmaxTest, AlongTheLastDimension) {
  for (const TensorShape& shape : {TensorShape{1}, TensorShape{5}, TensorShape{3, 10}, TensorShape{2, 3, 33},
                                   TensorShape{1'000, 100}, TensorShape{2, 3'000}}) {
    SCOPED_TRACE(TextOf(shape));
    const auto cols = static_cast<size_t>(shape.dim(shape.rank() - 1));
    const std::vector<double> x = Logits(static_cast<size_t>(shape.num_elements()));
    const std::vector<double> log_sums = LogSums(x, cols);
    std::vector<double> softmax;
    std::vector<double> log_softmax;
    for (size_t i = 0; i < x.size(); ++i) {
      log_softmax.push_back(x[i] - log_sums[i / cols]);
      softmax.push_back(std::exp(log_softmax.back()));
    }
    const TensorHandle logits = this->template Dense<TypeParam>(shape, As<TypeParam>(x));
    this->ExpectNear(this->Doubles(this->Run("tf.Softmax", {logits})), softmax, Tolerance<TypeParam>());
    this->ExpectNear(this->Doubles(this->Run("tf.LogSoftmax", {logits})), log_softmax, 16 * Tolerance<TypeParam>());
    EXPECT_EQ(this->Doubles(logits), x);  // TH-5
  }
}

TYPED_TEST(SoftmaxTest, LargeNumbersDoNotOverflow) {
  const TensorHandle logits = this->template Dense<TypeParam>({1, 3}, As<TypeParam>({30'000, 30'000, -30'000}));
  this->ExpectNear(this->Doubles(this->Run("tf.Softmax", {logits})), {0.5, 0.5, 0}, Tolerance<TypeParam>());
}

TYPED_TEST(SoftmaxTest, CrossEntropyAndItsGradient) {
  for (const size_t cols : {1u, 2u, 10u, 700u}) {
    SCOPED_TRACE(cols);
    const size_t rows = 17;
    const std::vector<double> x = Logits(rows * cols);
    const std::vector<double> log_sums = LogSums(x, cols);
    std::vector<int64_t> labels;
    std::vector<double> losses;
    std::vector<double> gradients;
    for (size_t row = 0; row < rows; ++row) {
      const size_t label = row * 7 % cols;
      labels.push_back(static_cast<int64_t>(label));
      losses.push_back(log_sums[row] - x[row * cols + label]);
      for (size_t col = 0; col < cols; ++col) {
        gradients.push_back(std::exp(x[row * cols + col] - log_sums[row]) - (col == label ? 1 : 0));
      }
    }
    const TensorHandle features =
        this->template Dense<TypeParam>({static_cast<int64_t>(rows), static_cast<int64_t>(cols)}, As<TypeParam>(x));
    const std::vector<int32_t> i32_labels(labels.begin(), labels.end());
    for (const bool wide : {false, true}) {
      const TensorHandle label_handle =
          wide ? this->template Dense<int64_t>({rows}, labels) : this->template Dense<int32_t>({rows}, i32_labels);
      const std::vector<TensorHandle> results =
          this->RunN("tf.SparseSoftmaxCrossEntropyWithLogits", {features, label_handle}, 2);
      this->ExpectNear(this->Doubles(results[0]), losses, 16 * Tolerance<TypeParam>());
      this->ExpectNear(this->Doubles(results[1]), gradients, Tolerance<TypeParam>());
    }
    EXPECT_EQ(this->Doubles(features), x);  // TH-5
  }
}

TEST_F(NnOpsTest, CrossEntropyMayTakeOverItsFeatures) {  // TH-5
  TensorHandle features = Dense<float>({2, 20}, std::vector<float>(40, 1));
  const void* data = features.tensor().data();
  const std::vector<TensorHandle> results =
      RunN("tf.SparseSoftmaxCrossEntropyWithLogits", {std::move(features), Dense<int32_t>({2}, {0, 19})}, 2);
  EXPECT_EQ(results[1].tensor().data(), data);
  ExpectNear(Doubles(results[0]), {std::log(20), std::log(20)}, 1e-6);
  std::vector<double> gradient(40, 0.05);
  gradient[0] = gradient[39] = -0.95;
  ExpectNear(Doubles(results[1]), gradient, 1e-7);
}

TEST_F(NnOpsTest, CrossEntropyOfAClassThatIsFarFromLikely) {
  const std::vector<TensorHandle> results =
      RunN("tf.SparseSoftmaxCrossEntropyWithLogits", {Dense<float>({1, 2}, {200, -300}), Dense<int32_t>({1}, {1})}, 2);
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>{500});
  EXPECT_EQ(Values<float>(results[1]), (std::vector<float>{1, -1}));
}

TEST_F(NnOpsTest, SoftmaxOfNanAndInfinity) {
  for (const double value : Doubles(Run("tf.Softmax", {Dense<float>({2}, {NAN, 1})}))) EXPECT_TRUE(std::isnan(value));
  for (const double value : Doubles(Run("tf.Softmax", {Dense<float>({2}, {INFINITY, 1})}))) {
    EXPECT_TRUE(std::isnan(value));
  }
  EXPECT_EQ(Doubles(Run("tf.Softmax", {Dense<float>({2}, {-INFINITY, 1})})), (std::vector<double>{0, 1}));
  EXPECT_EQ(Doubles(Run("tf.LogSoftmax", {Dense<double>({2}, {-kInf, 1})})), (std::vector<double>{-kInf, 0}));
}

TEST_F(NnOpsTest, EmptySoftmax) {
  EXPECT_EQ(MetadataOf(Run("tf.Softmax", {Dense<float>({0, 3}, {})})), "f32[0,3]");
  EXPECT_EQ(MetadataOf(Run("tf.LogSoftmax", {Dense<Float16>({3, 0}, {})})), "f16[3,0]");
  const std::vector<TensorHandle> results =
      RunN("tf.SparseSoftmaxCrossEntropyWithLogits", {Dense<float>({0, 3}, {}), Dense<int64_t>({0}, {})}, 2);
  EXPECT_EQ(MetadataOf(results[0]), "f32[0]");
  EXPECT_EQ(MetadataOf(results[1]), "f32[0,3]");
}

TEST_F(NnOpsTest, WrongSoftmax) {  // MD-2, ER-2
  EXPECT_EQ(ErrorOf(Run("tf.Softmax", {Scalar<float>(1)})),
            "[tf.Softmax] logits must have at least one dimension, got logits: f32[]");
  EXPECT_EQ(ErrorOf(Run("tf.Softmax", {Dense<int32_t>({1}, {1})})),
            "[tf.Softmax] argument 0 (logits) must be one of {f16, bf16, f32, f64}, got i32[1]");
}

TEST_F(NnOpsTest, WrongCrossEntropy) {  // MD-2, DI-2, ER-2
  const TensorHandle features = Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto error = [&](const TensorHandle& x, const TensorHandle& labels) {
    const std::vector<TensorHandle> results = RunN("tf.SparseSoftmaxCrossEntropyWithLogits", {x, labels}, 2);
    EXPECT_EQ(ErrorOf(results[0]), ErrorOf(results[1]));
    return ErrorOf(results[0]);
  };
  const std::string op = "[tf.SparseSoftmaxCrossEntropyWithLogits] ";
  EXPECT_EQ(error(features, Dense<int32_t>({2}, {0, 3})), op + "labels must be in [0, 3), got 3 in row 1");
  EXPECT_EQ(error(features, Dense<int64_t>({2}, {-1, 0})), op + "labels must be in [0, 3), got -1 in row 0");
  EXPECT_EQ(error(features, Dense<int64_t>({3}, {0, 0, 0})),
            op + "labels must be a vector with one element for each row of features, got features: f32[2,3], labels: "
                 "i64[3]");
  EXPECT_EQ(error(Dense<float>({2}, {1, 2}), Dense<int64_t>({2}, {0, 0})),
            op + "features must be a matrix, got features: f32[2]");
  EXPECT_EQ(error(Dense<float>({2, 0}, {}), Dense<int64_t>({2}, {0, 0})),
            op + "features must have at least one class, got features: f32[2,0]");
}

template <typename T>
class FeaturesGradTest : public NnOpsTest {};
TYPED_TEST_SUITE(FeaturesGradTest, NumericTypes);

TYPED_TEST(FeaturesGradTest, ReluAndRelu6) {
  std::vector<double> gradients;
  std::vector<double> features;
  std::vector<double> relu;
  std::vector<double> relu6;
  for (int i = 0; i < 2'000; ++i) {
    gradients.push_back(i % 23);
    features.push_back(std::is_unsigned_v<TypeParam> ? i % 9 : i % 9 - 2);
    relu.push_back(features.back() > 0 ? gradients.back() : 0);
    relu6.push_back(features.back() > 0 && features.back() < 6 ? gradients.back() : 0);
  }
  const TensorShape shape = {40, 50};
  const TensorHandle g = this->template Dense<TypeParam>(shape, As<TypeParam>(gradients));
  const TensorHandle x = this->template Dense<TypeParam>(shape, As<TypeParam>(features));
  EXPECT_EQ(this->Doubles(this->Run("tf.ReluGrad", {g, x})), relu);
  EXPECT_EQ(this->Doubles(this->Run("tf.Relu6Grad", {g, x})), relu6);
}

TYPED_TEST(SoftmaxTest, SigmoidAndTanhGradients) {
  std::vector<double> y;
  std::vector<double> dy;
  std::vector<double> sigmoid;
  std::vector<double> tanh;
  for (int i = 0; i < 300; ++i) {
    y.push_back((i % 17) / 16.0);
    dy.push_back(i % 5 - 2);
    sigmoid.push_back(dy.back() * y.back() * (1 - y.back()));
    tanh.push_back(dy.back() * (1 - y.back() * y.back()));
  }
  const TensorHandle a = this->template Dense<TypeParam>({300}, As<TypeParam>(y));
  const TensorHandle b = this->template Dense<TypeParam>({300}, As<TypeParam>(dy));
  this->ExpectNear(this->Doubles(this->Run("tf.SigmoidGrad", {a, b})), sigmoid, 2 * Tolerance<TypeParam>());
  this->ExpectNear(this->Doubles(this->Run("tf.TanhGrad", {a, b})), tanh, 2 * Tolerance<TypeParam>());
}

TEST_F(NnOpsTest, GradientsOfComplexNumbers) {
  using C = std::complex<float>;
  const C y(0.5f, 0.25f);
  const C dy(2, -1);
  const TensorHandle a = Dense<C>({1}, {y});
  const TensorHandle b = Dense<C>({1}, {dy});
  EXPECT_EQ(Values<C>(Run("tf.SigmoidGrad", {a, b})), std::vector<C>{dy * y * (C(1) - y)});
  EXPECT_EQ(Values<C>(Run("tf.TanhGrad", {a, b})), std::vector<C>{dy * (C(1) - y * y)});
}

TEST_F(NnOpsTest, ReluGradientIgnoresWhatItStops) {
  const TensorHandle g = Dense<float>({4}, {INFINITY, NAN, 5, 6});
  EXPECT_EQ(Values<float>(Run("tf.ReluGrad", {g, Dense<float>({4}, {0, -1, NAN, INFINITY})})),
            (std::vector<float>{0, 0, 0, 6}));
}

TEST_F(NnOpsTest, EmptyGradients) {
  EXPECT_EQ(MetadataOf(Run("tf.ReluGrad", {Dense<float>({0, 2}, {}), Dense<float>({0, 2}, {})})), "f32[0,2]");
}

TEST_F(NnOpsTest, WrongGradients) {  // MD-2, ER-2
  const TensorHandle one = Dense<float>({1}, {1});
  const TensorHandle two = Dense<float>({2}, {1, 2});
  EXPECT_EQ(ErrorOf(Run("tf.ReluGrad", {one, two})),
            "[tf.ReluGrad] shapes must be equal, got gradients: f32[1], features: f32[2]");
  EXPECT_EQ(ErrorOf(Run("tf.TanhGrad", {one, two})), "[tf.TanhGrad] shapes must be equal, got y: f32[1], dy: f32[2]");
}

}  // namespace
}  // namespace tandem
