// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Unary and binary element-wise ops on the CPU, by dtype: values against references computed here, special values,
// errors that depend on values.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "elementwise_test_fixture.h"

namespace tandem {
namespace {

using ElementwiseOpsTest = ElementwiseTest;

// ---- Unary ----

struct UnaryCase {
  const char* op;
  double (*reference)(double);
  std::vector<double> inputs;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_F(ElementwiseOpsTest, FunctionsOfFloatsAgreeWithDoublePrecision) {
  const std::vector<double> any = {-20, -3.5, -1, -0.25, -0.0078125, 0, 0.0078125, 0.5, 1, 2.25, 7, 20};
  const std::vector<double> positive = {0.0078125, 0.25, 0.5, 1, 1.5, 2, 3, 10, 100, 1000};
  const std::vector<double> above_minus_one = {-0.75, -0.5, -0.0078125, 0, 0.0078125, 0.5, 1, 2, 100};
  const UnaryCase cases[] = {
      {"tf.Exp", [](double x) { return std::exp(x); }, {-8, -3.5, -1, -0.25, 0, 0.5, 1, 2.25, 7}},
      {"tf.Expm1", [](double x) { return std::expm1(x); }, {-8, -3.5, -1, -0.0078125, 0, 0.0078125, 1, 2.25, 7}},
      {"tf.Log", [](double x) { return std::log(x); }, positive},
      {"tf.Log1p", [](double x) { return std::log1p(x); }, above_minus_one},
      {"tf.Sin", [](double x) { return std::sin(x); }, any},
      {"tf.Cos", [](double x) { return std::cos(x); }, any},
      {"tf.Tanh", [](double x) { return std::tanh(x); }, any},
      {"tf.Sigmoid", Sigmoid, {-8, -3.5, -1, -0.25, 0, 0.5, 1, 2.25, 7}},
      {"tf.Erf", [](double x) { return std::erf(x); }, any},
      {"tf.Sqrt", [](double x) { return std::sqrt(x); }, positive},
      {"tf.Rsqrt", [](double x) { return 1 / std::sqrt(x); }, positive},
      {"tf.Reciprocal", [](double x) { return 1 / x; }, positive},
  };
  for (const UnaryCase& test : cases) {
    std::vector<double> expected;
    for (double x : test.inputs) expected.push_back(test.reference(x));
    const TensorShape shape = {static_cast<int64_t>(test.inputs.size())};
    ExpectNear(Doubles(Run(test.op, {Numbers<float>(shape, test.inputs)})), expected, 0x1p-21, test.op);
    ExpectNear(Doubles(Run(test.op, {Numbers<double>(shape, test.inputs)})), expected, 0x1p-49, test.op);
    ExpectNear(Doubles(Run(test.op, {Numbers<Float16>(shape, test.inputs)})), expected, 0x1p-10, test.op);
    ExpectNear(Doubles(Run(test.op, {Numbers<BFloat16>(shape, test.inputs)})), expected, 0x1p-7, test.op);
  }
}

TEST_F(ElementwiseOpsTest, SpecialValuesOfFunctions) {
  const UnaryCase cases[] = {
      {"tf.Exp", [](double x) { return std::exp(x); }, {kInf, -kInf, kNan}},
      {"tf.Log", [](double x) { return std::log(x); }, {0, -1, kInf, kNan}},
      {"tf.Log1p", [](double x) { return std::log1p(x); }, {-1, -2, kInf, kNan}},
      {"tf.Sqrt", [](double x) { return std::sqrt(x); }, {0, -1, kInf, kNan}},
      {"tf.Rsqrt", [](double x) { return 1 / std::sqrt(x); }, {0, -1, kInf, kNan}},
      {"tf.Reciprocal", [](double x) { return 1 / x; }, {0, -0.0, kInf, -kInf, kNan}},
      {"tf.Sin", [](double x) { return std::sin(x); }, {kInf, -kInf, kNan, 0, -0.0}},
      {"tf.Tanh", [](double x) { return std::tanh(x); }, {kInf, -kInf, kNan, 0, -0.0}},
      {"tf.Sigmoid", Sigmoid, {kInf, -kInf, kNan, 0}},
      {"tf.Erf", [](double x) { return std::erf(x); }, {kInf, -kInf, kNan, 0, -0.0}},
  };
  for (const UnaryCase& test : cases) {
    std::vector<double> expected;
    for (double x : test.inputs) expected.push_back(test.reference(x));
    const TensorShape shape = {static_cast<int64_t>(test.inputs.size())};
    ForEachType(FloatTypes(), [&]<typename T>() {
      ExpectSame(Doubles(Run(test.op, {Numbers<T>(shape, test.inputs)})), expected, test.op + NameOf<T>());
    });
  }
}

TEST_F(ElementwiseOpsTest, ExactUnaryOpsOfSignedTypes) {
  const std::vector<double> x = {-3, -2, -1, 0, 1, 2, 5};
  const TensorShape shape = {7};
  ForEachType(SignedTypes(), [&]<typename T>() {
    ExpectSame(Doubles(Run("tf.Abs", {Numbers<T>(shape, x)})), {3, 2, 1, 0, 1, 2, 5}, NameOf<T>());
    ExpectSame(Doubles(Run("tf.Sign", {Numbers<T>(shape, x)})), {-1, -1, -1, 0, 1, 1, 1}, NameOf<T>());
    ExpectSame(Doubles(Run("tf.Square", {Numbers<T>(shape, x)})), {9, 4, 1, 0, 1, 4, 25}, NameOf<T>());
    ExpectSame(Doubles(Run("tf.Relu", {Numbers<T>(shape, x)})), {0, 0, 0, 0, 1, 2, 5}, NameOf<T>());
    ExpectSame(Doubles(Run("tf.Round", {Numbers<T>(shape, x)})), x, NameOf<T>());
    const double zero = std::is_integral_v<T> ? 0.0 : -0.0;
    ExpectSame(Doubles(Run("tf.Neg", {Numbers<T>(shape, x)})), {3, 2, 1, zero, -1, -2, -5}, NameOf<T>());
  });
}

TEST_F(ElementwiseOpsTest, UnaryOpsOfUnsignedTypes) {
  ForEachType(UnsignedTypes(), [&]<typename T>() {
    const T max = std::numeric_limits<T>::max();
    EXPECT_EQ(Values<T>(Run("tf.Relu", {Dense<T>({3}, {T{0}, T{1}, max})})), (std::vector<T>{0, 1, max}));
    EXPECT_EQ(Values<T>(Run("tf.Square", {Dense<T>({3}, {T{0}, T{7}, max})})), (std::vector<T>{0, 49, 1}));
  });
}

TEST_F(ElementwiseOpsTest, IntegersWrapAround) {
  ForEachType(SignedIntTypes(), [&]<typename T>() {
    const T min = std::numeric_limits<T>::min();
    const T max = std::numeric_limits<T>::max();
    const std::vector<T> limits = {min, max};
    EXPECT_EQ(Values<T>(Run("tf.Abs", {Dense<T>({2}, limits)})), (std::vector<T>{min, max}));
    EXPECT_EQ(Values<T>(Run("tf.Neg", {Dense<T>({2}, limits)})), (std::vector<T>{min, static_cast<T>(-max)}));
    EXPECT_EQ(Values<T>(Run("tf.AddV2", {Dense<T>({2}, limits), Scalar<T>(1)})),
              (std::vector<T>{static_cast<T>(min + 1), min}));
    EXPECT_EQ(Values<T>(Run("tf.Sub", {Dense<T>({2}, limits), Scalar<T>(1)})),
              (std::vector<T>{max, static_cast<T>(max - 1)}));
    EXPECT_EQ(Values<T>(Run("tf.Mul", {Dense<T>({2}, limits), Dense<T>({2}, limits)})), (std::vector<T>{0, 1}));
    EXPECT_EQ(Values<T>(Run("tf.FloorDiv", {Dense<T>({2}, limits), Scalar<T>(-1)})),
              (std::vector<T>{min, static_cast<T>(-max)}));
    EXPECT_EQ(Values<T>(Run("tf.FloorMod", {Dense<T>({2}, limits), Scalar<T>(-1)})), (std::vector<T>{0, 0}));
    uint64_t power = 1;
    for (int i = 0; i < 65; ++i) power *= static_cast<uint64_t>(-3);
    EXPECT_EQ(Values<T>(Run("tf.Pow", {Dense<T>({2}, {T{2}, T{-3}}), Scalar<T>(T{65})})),
              (std::vector<T>{0, static_cast<T>(power)}));
    EXPECT_EQ(Values<T>(Run("tf.SquaredDifference", {Dense<T>({1}, {max}), Dense<T>({1}, {min})})),
              (std::vector<T>{1}));
  });
  ForEachType(UnsignedTypes(), [&]<typename T>() {
    const T max = std::numeric_limits<T>::max();
    EXPECT_EQ(Values<T>(Run("tf.AddV2", {Scalar<T>(max), Scalar<T>(2)})), (std::vector<T>{1}));
    EXPECT_EQ(Values<T>(Run("tf.Sub", {Scalar<T>(0), Scalar<T>(1)})), (std::vector<T>{max}));
    EXPECT_EQ(Values<T>(Run("tf.Mul", {Scalar<T>(max), Scalar<T>(max)})), (std::vector<T>{1}));
  });
}

TEST_F(ElementwiseOpsTest, RoundingToWholeNumbers) {
  // More than a vector, and values next to halves, where adding a half would round twice.
  const std::vector<double> x = {-2.5, -1.5, -1.25, -1,  -0.75, -0.5, -0.25, -0.0, 0.0,
                                 0.25, 0.5,  0.75,  1.0, 1.25,  1.5,  2.5,   3.5,  1000};
  std::vector<double> rounded;
  std::vector<double> floor;
  std::vector<double> ceil;
  for (double value : x) {
    rounded.push_back(std::nearbyint(value));
    floor.push_back(std::floor(value));
    ceil.push_back(std::ceil(value));
  }
  const TensorShape shape = {static_cast<int64_t>(x.size())};
  ForEachType(FloatTypes(), [&]<typename T>() {
    ExpectSame(Doubles(Run("tf.Round", {Numbers<T>(shape, x)})), rounded, "Round " + NameOf<T>());
    ExpectSame(Doubles(Run("tf.Floor", {Numbers<T>(shape, x)})), floor, "Floor " + NameOf<T>());
    ExpectSame(Doubles(Run("tf.Ceil", {Numbers<T>(shape, x)})), ceil, "Ceil " + NameOf<T>());
  });
}

TEST_F(ElementwiseOpsTest, RoundingLeavesLargeAndSpecialValues) {
  ForEachType(Types<float, double>(), [&]<typename T>() {
    const T almost_half = std::nextafter(T(0.5), T(0));
    const T last_half = T(0.5) / std::numeric_limits<T>::epsilon() - T(0.5);
    const std::vector<double> x = {almost_half,
                                   -almost_half,
                                   last_half,
                                   -last_half,
                                   1 / std::numeric_limits<T>::epsilon(),
                                   std::numeric_limits<T>::max(),
                                   kInf,
                                   -kInf,
                                   kNan,
                                   std::numeric_limits<T>::denorm_min()};
    for (const auto& [op, reference] : std::initializer_list<std::pair<const char*, double (*)(double)>>{
             {"tf.Round", std::nearbyint}, {"tf.Floor", std::floor}, {"tf.Ceil", std::ceil}}) {
      std::vector<double> expected;
      for (double value : x) expected.push_back(reference(value));
      ExpectSame(Doubles(Run(op, {Numbers<T>({static_cast<int64_t>(x.size())}, x)})), expected, op);
    }
  });
}

TEST_F(ElementwiseOpsTest, PredicatesOfFloats) {
  const std::vector<double> x = {0, -0.0, 1, -2.5, kInf, -kInf, kNan, -kNan};
  ForEachType(FloatTypes(), [&]<typename T>() {
    EXPECT_EQ(Doubles(Run("tf.IsNan", {Numbers<T>({8}, x)})), (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1}));
    EXPECT_EQ(Doubles(Run("tf.IsInf", {Numbers<T>({8}, x)})), (std::vector<double>{0, 0, 0, 0, 1, 1, 0, 0}));
    EXPECT_EQ(Doubles(Run("tf.IsFinite", {Numbers<T>({8}, x)})), (std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0}));
  });
}

TEST_F(ElementwiseOpsTest, NanPassesThroughReluAndSign) {
  ForEachType(FloatTypes(), [&]<typename T>() {
    ExpectSame(Doubles(Run("tf.Relu", {Numbers<T>({4}, {kNan, -kInf, kInf, -0.0})})), {kNan, 0, kInf, 0}, NameOf<T>());
    ExpectSame(Doubles(Run("tf.Sign", {Numbers<T>({4}, {kNan, -kInf, kInf, -0.0})})), {kNan, -1, 1, 0}, NameOf<T>());
    ExpectSame(Doubles(Run("tf.Abs", {Numbers<T>({3}, {kNan, -kInf, -0.0})})), {kNan, kInf, 0}, NameOf<T>());
  });
}

TEST_F(ElementwiseOpsTest, LogicalOps) {
  const auto x = [&] { return Dense<bool>({4}, {false, false, true, true}); };
  const auto y = [&] { return Dense<bool>({4}, {false, true, false, true}); };
  EXPECT_EQ(Doubles(Run("tf.LogicalAnd", {x(), y()})), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(Doubles(Run("tf.LogicalOr", {x(), y()})), (std::vector<double>{0, 1, 1, 1}));
  EXPECT_EQ(Doubles(Run("tf.LogicalNot", {x()})), (std::vector<double>{1, 1, 0, 0}));
}

TEST_F(ElementwiseOpsTest, ComplexUnaryOps) {
  const std::vector<Complex> x = {{1, 2}, {-0.5f, 0.25f}, {3, -4}, {0, 1}, {0.001f, -0.002f}, {-2, 0}};
  using Function = std::complex<double> (*)(std::complex<double>);
  const std::pair<const char*, Function> cases[] = {
      {"tf.Neg", [](std::complex<double> z) { return -z; }},
      {"tf.Square", [](std::complex<double> z) { return z * z; }},
      {"tf.Sqrt", [](std::complex<double> z) { return std::sqrt(z); }},
      {"tf.Rsqrt", [](std::complex<double> z) { return 1.0 / std::sqrt(z); }},
      {"tf.Reciprocal", [](std::complex<double> z) { return 1.0 / z; }},
      {"tf.Exp", [](std::complex<double> z) { return std::exp(z); }},
      {"tf.Expm1", [](std::complex<double> z) { return std::exp(z) - 1.0; }},
      {"tf.Log", [](std::complex<double> z) { return std::log(z); }},
      {"tf.Log1p", [](std::complex<double> z) { return std::log(1.0 + z); }},
      {"tf.Sin", [](std::complex<double> z) { return std::sin(z); }},
      {"tf.Cos", [](std::complex<double> z) { return std::cos(z); }},
      {"tf.Tanh", [](std::complex<double> z) { return std::tanh(z); }},
      {"tf.Sigmoid", [](std::complex<double> z) { return 1.0 / (1.0 + std::exp(-z)); }},
      {"tf.Sign", [](std::complex<double> z) { return z / std::abs(z); }},
  };
  for (const auto& [op, reference] : cases) {
    const std::vector<Complex> actual = Values<Complex>(Run(op, {Dense<Complex>({6}, x)}));
    ASSERT_EQ(actual.size(), x.size()) << op;
    for (size_t i = 0; i < x.size(); ++i) {
      const std::complex<double> expected = reference(x[i]);
      EXPECT_LE(std::abs(std::complex<double>(actual[i]) - expected), 1e-6 * std::abs(expected))
          << op << " of " << x[i];
    }
  }
  EXPECT_EQ(Values<Complex>(Run("tf.Round", {Dense<Complex>({1}, {Complex(1.5f, -2.5f)})})),
            (std::vector<Complex>{{2, -2}}));
  EXPECT_EQ(Values<Complex>(Run("tf.Sign", {Dense<Complex>({1}, {Complex(0, 0)})})), (std::vector<Complex>{{0, 0}}));
  // Where the exponential of the opposite overflows.
  EXPECT_EQ(Values<Complex>(Run("tf.Sigmoid", {Dense<Complex>({2}, {Complex(-1000, 1), Complex(1000, 1)})})),
            (std::vector<Complex>{{0, 0}, {1, 0}}));
}

// ---- Binary ----

struct BinaryCase {
  const char* op;
  double (*reference)(double, double);
};

double FloorMod(double x, double y) { return x - std::floor(x / y) * y; }

TEST_F(ElementwiseOpsTest, ArithmeticOfAllRealTypes) {
  const std::vector<double> x = {7, 3, 12, 0, 5, 1, 2, 9, 11, 6, 4, 8, 10, 13, 14, 15, 7, 7, 1};
  const std::vector<double> y = {2, 3, 5, 4, 7, 1, 6, 2, 4, 6, 1, 3, 3, 5, 2, 7, 8, 1, 9};
  const BinaryCase cases[] = {
      {"tf.AddV2", [](double a, double b) { return a + b; }},
      {"tf.Mul", [](double a, double b) { return a * b; }},
      {"tf.FloorDiv", [](double a, double b) { return std::floor(a / b); }},
      {"tf.FloorMod", FloorMod},
      {"tf.Maximum", [](double a, double b) { return std::max(a, b); }},
      {"tf.Minimum", [](double a, double b) { return std::min(a, b); }},
      {"tf.Less", [](double a, double b) { return static_cast<double>(a < b); }},
      {"tf.LessEqual", [](double a, double b) { return static_cast<double>(a <= b); }},
      {"tf.Greater", [](double a, double b) { return static_cast<double>(a > b); }},
      {"tf.GreaterEqual", [](double a, double b) { return static_cast<double>(a >= b); }},
      {"tf.Equal", [](double a, double b) { return static_cast<double>(a == b); }},
      {"tf.NotEqual", [](double a, double b) { return static_cast<double>(a != b); }},
  };
  const TensorShape shape = {static_cast<int64_t>(x.size())};
  for (const BinaryCase& test : cases) {
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(test.reference(x[i], y[i]));
    ForEachType(RealTypes(), [&]<typename T>() {
      ExpectSame(Binary(test.op, Numbers<T>(shape, x), Numbers<T>(shape, y)), expected, test.op + NameOf<T>());
    });
  }
}

TEST_F(ElementwiseOpsTest, ArithmeticOfSignedTypes) {
  const std::vector<double> x = {7, -7, 7, -7, 6, -6, 0, 1, -1, 3};
  const std::vector<double> y = {2, 2, -2, -2, 3, 3, -3, -1, 4, -5};
  const BinaryCase cases[] = {
      {"tf.Sub", [](double a, double b) { return a - b; }},
      {"tf.SquaredDifference", [](double a, double b) { return (a - b) * (a - b); }},
      {"tf.FloorDiv", [](double a, double b) { return std::floor(a / b); }},
      {"tf.FloorMod", FloorMod},
      {"tf.Maximum", [](double a, double b) { return std::max(a, b); }},
      {"tf.Minimum", [](double a, double b) { return std::min(a, b); }},
      {"tf.Less", [](double a, double b) { return static_cast<double>(a < b); }},
      {"tf.Greater", [](double a, double b) { return static_cast<double>(a > b); }},
  };
  for (const BinaryCase& test : cases) {
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(test.reference(x[i], y[i]) + 0.0);
    ForEachType(SignedTypes(), [&]<typename T>() {
      std::vector<double> actual = Binary(test.op, Numbers<T>({10}, x), Numbers<T>({10}, y));
      for (double& value : actual) value += 0.0;  // the sign of zeros is tested elsewhere
      ExpectSame(actual, expected, test.op + NameOf<T>());
    });
  }
}

TEST_F(ElementwiseOpsTest, OrderOfLargeUnsignedNumbers) {
  ForEachType(UnsignedTypes(), [&]<typename T>() {
    const T max = std::numeric_limits<T>::max();
    EXPECT_EQ(Doubles(Run("tf.Less", {Dense<T>({2}, {T{1}, max}), Dense<T>({2}, {max, T{1}})})),
              (std::vector<double>{1, 0}));
    EXPECT_EQ(Values<T>(Run("tf.Maximum", {Dense<T>({2}, {T{1}, max}), Dense<T>({2}, {max, T{1}})})),
              (std::vector<T>{max, max}));
    EXPECT_EQ(Values<T>(Run("tf.FloorDiv", {Scalar<T>(max), Scalar<T>(2)})), (std::vector<T>{static_cast<T>(max / 2)}));
  });
}

TEST_F(ElementwiseOpsTest, RealDivIsIeee) {
  ForEachType(FloatTypes(), [&]<typename T>() {
    ExpectSame(Binary("tf.RealDiv", Numbers<T>({6}, {1, -1, 0, 7, kInf, kNan}), Numbers<T>({6}, {0, 0, 0, 2, 2, 1})),
               {kInf, -kInf, kNan, 3.5, kInf, kNan}, NameOf<T>());
  });
}

TEST_F(ElementwiseOpsTest, FloorDivAndFloorModOfFloatSpecialValues) {
  ForEachType(Types<float, double>(), [&]<typename T>() {
    const auto x = [&] { return Numbers<T>({7}, {1, -1, 5.5, -5.5, kInf, 1, 3}); };
    const auto y = [&] { return Numbers<T>({7}, {0, 0, -2, 2, 2, kInf, kNan}); };
    ExpectSame(Binary("tf.FloorDiv", x(), y()), {kInf, -kInf, -3, -3, kInf, 0, kNan}, "FloorDiv");
    ExpectSame(Binary("tf.FloorMod", x(), y()), {kNan, kNan, -0.5, 0.5, kNan, 1, kNan}, "FloorMod");
  });
}

TEST_F(ElementwiseOpsTest, FloorModOfFloatsIsExact) {
  const std::vector<float> x = {1e30f, 16777215.0f, 0.1f, -1e20f, 5e8f, 3.0000002f, 1.0f, 268435456.0f};
  const std::vector<float> y = {3.0f, 0.1f, 0.033333335f, 7.0f, 1.1f, 1.0000001f, 1e-30f, 1.5f};
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) {
    const double remainder = std::fmod(static_cast<double>(x[i]), static_cast<double>(y[i]));
    expected.push_back(static_cast<float>(remainder < 0 ? remainder + static_cast<double>(y[i]) : remainder));
  }
  ExpectSame(Binary("tf.FloorMod", Dense<float>({8}, x), Dense<float>({8}, y)), expected, "FloorMod");
}

TEST_F(ElementwiseOpsTest, MaximumAndMinimumPassNanOn) {
  ForEachType(FloatTypes(), [&]<typename T>() {
    const auto x = [&] { return Numbers<T>({5}, {kNan, 1, kNan, -kInf, 2}); };
    const auto y = [&] { return Numbers<T>({5}, {1, kNan, kNan, kInf, -3}); };
    ExpectSame(Binary("tf.Maximum", x(), y()), {kNan, kNan, kNan, kInf, 2}, NameOf<T>());
    ExpectSame(Binary("tf.Minimum", x(), y()), {kNan, kNan, kNan, -kInf, -3}, NameOf<T>());
  });
}

TEST_F(ElementwiseOpsTest, ComparisonsWithNanAreFalseButNotEqual) {
  ForEachType(FloatTypes(), [&]<typename T>() {
    const auto nan = [&] { return Numbers<T>({2}, {kNan, kNan}); };
    const auto other = [&] { return Numbers<T>({2}, {1, kNan}); };
    for (const char* op : {"tf.Equal", "tf.Less", "tf.LessEqual", "tf.Greater", "tf.GreaterEqual"}) {
      EXPECT_EQ(Binary(op, nan(), other()), (std::vector<double>{0, 0})) << op;
    }
    EXPECT_EQ(Binary("tf.NotEqual", nan(), other()), (std::vector<double>{1, 1}));
    EXPECT_EQ(Binary("tf.Equal", Numbers<T>({1}, {0}), Numbers<T>({1}, {-0.0})), (std::vector<double>{1}));
  });
}

TEST_F(ElementwiseOpsTest, PowOfFloats) {
  const std::vector<double> x = {2, 2, 9, 0, 0, -2, -8, 1, kInf};
  const std::vector<double> y = {3, -1, 0.5, 0, 2, 3, 0.5, kNan, -1};
  ForEachType(FloatTypes(), [&]<typename T>() {
    ExpectSame(Binary("tf.Pow", Numbers<T>({9}, x), Numbers<T>({9}, y)), {8, 0.5, 3, 1, 0, -8, kNan, 1, 0},
               NameOf<T>());
  });
}

TEST_F(ElementwiseOpsTest, PowOfIntegers) {
  ForEachType(SignedIntTypes(), [&]<typename T>() {
    EXPECT_EQ(Values<T>(Run("tf.Pow", {Dense<T>({5}, {T{2}, T{-3}, T{0}, T{7}, T{-1}}),
                                       Dense<T>({5}, {T{5}, T{3}, T{0}, T{1}, T{101}})})),
              (std::vector<T>{32, -27, 1, 7, -1}));
  });
  EXPECT_EQ(Values<int32_t>(Run("tf.Pow", {Scalar<int32_t>(3), Scalar<int32_t>(21)})),
            (std::vector<int32_t>{static_cast<int32_t>(10460353203 & 0xFFFFFFFF)}));
}

TEST_F(ElementwiseOpsTest, ComplexArithmetic) {
  const std::vector<Complex> x = {{1, 2}, {-3, 0.5f}, {0, 0}};
  const std::vector<Complex> y = {{3, -4}, {2, 2}, {1, -1}};
  const auto run = [&](const char* op) {
    return Values<Complex>(Run(op, {Dense<Complex>({3}, x), Dense<Complex>({3}, y)}));
  };
  EXPECT_EQ(run("tf.AddV2"), (std::vector<Complex>{{4, -2}, {-1, 2.5f}, {1, -1}}));
  EXPECT_EQ(run("tf.Sub"), (std::vector<Complex>{{-2, 6}, {-5, -1.5f}, {-1, 1}}));
  EXPECT_EQ(run("tf.Mul"), (std::vector<Complex>{{11, 2}, {-7, -5}, {0, 0}}));
  EXPECT_EQ(run("tf.RealDiv"), (std::vector<Complex>{{-0.2f, 0.4f}, {-0.625f, 0.875f}, {0, 0}}));
  EXPECT_EQ(run("tf.SquaredDifference"), (std::vector<Complex>{{40, 0}, {27.25f, 0}, {2, 0}}));
  EXPECT_EQ(Doubles(Run("tf.Equal", {Dense<Complex>({3}, x), Dense<Complex>({3}, {x[0], Complex(-3, 1), Complex()})})),
            (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(
      Doubles(Run("tf.NotEqual", {Dense<Complex>({3}, x), Dense<Complex>({3}, {x[0], Complex(-3, 1), Complex()})})),
      (std::vector<double>{0, 1, 0}));
  const Complex power = Values<Complex>(Run("tf.Pow", {Scalar<Complex>({1, 2}), Scalar<Complex>({2, 0})}))[0];
  EXPECT_LE(std::abs(power - Complex(-3, 4)), 1e-6f);
}

TEST_F(ElementwiseOpsTest, ComplexDivisionDoesNotOverflow) {
  EXPECT_EQ(Values<Complex>(Run("tf.RealDiv", {Scalar<Complex>({1e30f, 1e30f}), Scalar<Complex>({1e30f, 1e30f})})),
            (std::vector<Complex>{{1, 0}}));
}

TEST_F(ElementwiseOpsTest, EqualityOfBools) {
  const auto x = [&] { return Dense<bool>({4}, {false, false, true, true}); };
  const auto y = [&] { return Dense<bool>({4}, {false, true, false, true}); };
  EXPECT_EQ(Binary("tf.Equal", x(), y()), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(Binary("tf.NotEqual", x(), y()), (std::vector<double>{0, 1, 1, 0}));
}

TEST_F(ElementwiseOpsTest, EqualityOfStrings) {
  const auto x = [&] { return Strings({2, 2}, {"a", "", "long enough for the heap, if there is one", "b"}); };
  const auto y = [&] { return Strings({2}, {"a", "b"}); };
  EXPECT_EQ(Binary("tf.Equal", x(), y()), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(Binary("tf.NotEqual", x(), y()), (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(Binary("tf.Equal", x(), x()), (std::vector<double>{1, 1, 1, 1}));
}

TEST_F(ElementwiseOpsTest, EqualityOfIncompatibleShapesIfAllowed) {
  const OpAttrsRef lenient = Attrs("incompatible_shape_error", false);
  const auto x = [&] { return Dense<float>({2}, {1, 2}); };
  const auto y = [&] { return Dense<float>({3}, {1, 2, 3}); };
  const TensorHandle equal = Run("tf.Equal", {x(), y()}, lenient);
  EXPECT_EQ(MetadataOf(equal), "bool[]");
  EXPECT_EQ(Doubles(equal), (std::vector<double>{0}));
  EXPECT_EQ(Doubles(Run("tf.NotEqual", {x(), y()}, lenient)), (std::vector<double>{1}));
  EXPECT_EQ(Doubles(Run("tf.Equal", {x(), x()}, lenient)), (std::vector<double>{1, 1}));
  EXPECT_EQ(Doubles(Run("tf.NotEqual", {Strings({2}, {"a", "b"}), Strings({3}, {"a", "b", "c"})}, lenient)),
            (std::vector<double>{1}));
  EXPECT_EQ(ErrorOf(Run("tf.Equal", {x(), y()})),
            "[tf.Equal] shapes must be broadcast compatible, got x: f32[2], y: f32[3]");
}

}  // namespace
}  // namespace tandem
