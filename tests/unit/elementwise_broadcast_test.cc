// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Broadcasting, scalar host tensors, parallel work and forwarding of element-wise ops on the CPU; SelectV2 and AddN;
// wrong calls.

#include <cstdint>
#include <string>
#include <vector>

#include "elementwise_test_fixture.h"

namespace tandem {
namespace {

using ElementwiseBroadcastTest = ElementwiseTest;

// Position in an operand of shape `shape` of what element `position` of `result` is computed from.
int64_t Source(const TensorShape& shape, const TensorShape& result, int64_t position) {
  int64_t source = 0;
  int64_t stride = 1;
  for (int i = 1; i <= shape.rank(); ++i) {
    const int64_t index = position % result.dim(result.rank() - i);
    position /= result.dim(result.rank() - i);
    if (shape.dim(shape.rank() - i) != 1) source += index * stride;
    stride *= shape.dim(shape.rank() - i);
  }
  return source;
}

struct BroadcastCase {
  TensorShape x;
  TensorShape y;
  TensorShape result;
};

const BroadcastCase kBroadcasts[] = {
    {{}, {}, {}},
    {{1}, {1, 1, 1}, {1, 1, 1}},
    {{5}, {}, {5}},
    {{}, {3000}, {3000}},             // several blocks of one value
    {{40, 3}, {3}, {40, 3}},          // short rows, repeated
    {{700, 3}, {1, 3}, {700, 3}},     // over several blocks
    {{700, 3}, {700, 1}, {700, 3}},   // short rows of one value each
    {{20, 300}, {300}, {20, 300}},    // long rows
    {{20, 1}, {20, 300}, {20, 300}},  // long rows of one value each
    {{3, 2500}, {3, 1}, {3, 2500}},   // rows longer than a block
    {{4, 1}, {1, 5}, {4, 5}},         // outer product
    {{300, 1}, {1, 300}, {300, 300}},
    {{2, 3, 4}, {3, 1}, {2, 3, 4}},
    {{2, 1, 4}, {1, 3, 1}, {2, 3, 4}},
    {{6, 1, 7, 1}, {5, 1, 9}, {6, 5, 7, 9}},
    {{2, 3, 1, 4, 1, 2}, {3, 5, 1, 6, 2}, {2, 3, 5, 4, 6, 2}},
    {{2, 1, 2, 1, 2, 1, 2, 1}, {1, 3, 1, 3, 1, 3, 1, 3}, {2, 3, 2, 3, 2, 3, 2, 3}},
    {{0}, {1}, {0}},
    {{3, 0}, {3, 1}, {3, 0}},
    {{0, 1}, {1, 5}, {0, 5}},
};

TEST_F(ElementwiseBroadcastTest, BroadcastingOfEveryForm) {
  ForEachType(Types<uint8_t, int16_t, float, int64_t, BFloat16>(), [&]<typename T>() {
    for (const BroadcastCase& test : kBroadcasts) {
      std::vector<double> x(static_cast<size_t>(test.x.num_elements()));
      std::vector<double> y(static_cast<size_t>(test.y.num_elements()));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 61 + 60);
      for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i % 59);
      std::vector<double> expected;
      for (int64_t i = 0; i < test.result.num_elements(); ++i) {
        expected.push_back(x[static_cast<size_t>(Source(test.x, test.result, i))] -
                           y[static_cast<size_t>(Source(test.y, test.result, i))]);
      }
      const TensorHandle result = Run("tf.Sub", {Numbers<T>(test.x, x), Numbers<T>(test.y, y)});
      EXPECT_EQ(MetadataOf(result), TextOf(TensorMetadata(kDTypeOf<T>, test.result)));
      EXPECT_EQ(Doubles(result), expected) << TextOf(test.x, " - ", test.y, " ", kDTypeOf<T>);
    }
  });
}

TEST_F(ElementwiseBroadcastTest, ComparisonsBroadcastBothWays) {
  const auto column = [&] { return Dense<int32_t>({3, 1}, {1, 2, 3}); };
  const auto row = [&] { return Dense<int32_t>({3}, {1, 2, 3}); };
  EXPECT_EQ(Binary("tf.Less", column(), row()), (std::vector<double>{0, 1, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(Binary("tf.Greater", column(), row()), (std::vector<double>{0, 0, 0, 1, 0, 0, 1, 1, 0}));
}

TEST_F(ElementwiseBroadcastTest, ScalarHostTensorsAreOperandsAsTheyAre) {
  ForEachType(Types<uint8_t, int32_t, Float16, float, double>(), [&]<typename T>() {
    const auto five = [&](const TensorShape& shape) { return Spread<T>(shape, From<T>(5)); };
    EXPECT_EQ(Doubles(Run("tf.AddV2", {Numbers<T>({2, 2}, {1, 2, 3, 4}), five({2, 2})})),
              (std::vector<double>{6, 7, 8, 9}));
    EXPECT_EQ(Doubles(Run("tf.Maximum", {five({2, 1}), Numbers<T>({2}, {4, 6})})), (std::vector<double>{5, 6, 5, 6}));
    EXPECT_EQ(Doubles(Run("tf.Mul", {five({3}), five({3})})), (std::vector<double>{25, 25, 25}));
    EXPECT_EQ(Doubles(Run("tf.Mul", {five({}), five({})})), (std::vector<double>{25}));
    EXPECT_EQ(Doubles(Run("tf.Square", {five({2, 2})})), (std::vector<double>{25, 25, 25, 25}));
  });
  EXPECT_EQ(Doubles(Run("tf.FloorDiv", {Dense<int32_t>({2}, {7, -7}), Spread<int32_t>({2}, 2)})),
            (std::vector<double>{3, -4}));
  EXPECT_EQ(Doubles(Run("tf.Cast", {Spread<float>({3}, 2.75f)}, Attrs("DstT", DType::kI32))),
            (std::vector<double>{2, 2, 2}));
}

TEST_F(ElementwiseBroadcastTest, LargeTensorsInParallel) {
  const int64_t n = 3'000'001;
  std::vector<float> x(static_cast<size_t>(n));
  std::vector<float> y(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 777);
  }
  const std::vector<float> sum = Values<float>(Run("tf.AddV2", {Dense<float>({n}, x), Dense<float>({n}, y)}));
  const std::vector<float> scaled = Values<float>(Run("tf.Mul", {Dense<float>({n}, x), Scalar<float>(0.5f)}));
  ASSERT_EQ(sum.size(), x.size());
  ASSERT_EQ(scaled.size(), x.size());
  int64_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) wrong += sum[i] != x[i] + y[i] || scaled[i] != x[i] * 0.5f;
  EXPECT_EQ(wrong, 0);
}

TEST_F(ElementwiseBroadcastTest, LargeBroadcastInParallel) {
  const int64_t rows = 1009;
  const int64_t cols = 1013;
  std::vector<double> x(static_cast<size_t>(rows));
  std::vector<double> y(static_cast<size_t>(cols));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i) * 0.5;
  const std::vector<double> sum =
      Values<double>(Run("tf.AddV2", {Dense<double>({rows, 1}, x), Dense<double>({cols}, y)}));
  ASSERT_EQ(sum.size(), x.size() * y.size());
  int64_t wrong = 0;
  for (size_t i = 0; i < sum.size(); ++i) wrong += sum[i] != x[i / y.size()] + y[i % y.size()];
  EXPECT_EQ(wrong, 0);
}

// TH-5
TEST_F(ElementwiseBroadcastTest, ResultTakesOverTheMemoryOfALastReference) {
  for (const char* op : {"tf.AddV2", "tf.Sub", "tf.Maximum"}) {
    TensorHandle x = Dense<float>({100}, std::vector<float>(100, 3.0f));
    TensorHandle y = Dense<float>({1}, {1.0f});
    const void* data = x.tensor().data();
    const TensorHandle result = Run(op, {std::move(x), std::move(y)});
    ASSERT_TRUE(host().Await(result).ok());
    EXPECT_EQ(result.tensor().data(), data) << op;
  }
  TensorHandle x = Dense<float>({100}, std::vector<float>(100, 2.5f));
  const void* data = x.tensor().data();
  const TensorHandle cast = Run("tf.Cast", {std::move(x)}, Attrs("DstT", DType::kI32));
  EXPECT_EQ(Values<int32_t>(cast), std::vector<int32_t>(100, 2));
  EXPECT_EQ(cast.tensor().data(), data);
}

// TH-5
TEST_F(ElementwiseBroadcastTest, MemoryInUseElsewhereIsNotTakenOver) {
  const TensorHandle x = Dense<float>({100}, std::vector<float>(100, 3.0f));
  EXPECT_EQ(Values<float>(Run("tf.Neg", {x})), std::vector<float>(100, -3.0f));
  EXPECT_EQ(Values<float>(Run("tf.Mul", {x, x})), std::vector<float>(100, 9.0f));
  EXPECT_EQ(Values<float>(x), std::vector<float>(100, 3.0f));
}

// TH-5: a stretched operand is read after parts of the result were written to the other's memory.
TEST_F(ElementwiseBroadcastTest, TakenOverMemoryIsReadBeforeItIsWritten) {
  std::vector<double> x(2100);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 50);
  ForEachType(Types<uint8_t, Float16, float, double>(), [&]<typename T>() {
    for (const TensorShape& y : {TensorShape{3}, TensorShape{700, 1}, TensorShape{}}) {
      const std::vector<double> ones(static_cast<size_t>(y.num_elements()), 1);
      std::vector<double> expected = x;
      for (double& value : expected) value += 1;
      EXPECT_EQ(Doubles(Run("tf.AddV2", {Numbers<T>(y, ones), Numbers<T>({700, 3}, x)})), expected);
    }
  });
}

TEST_F(ElementwiseBroadcastTest, SelectOfEveryType) {
  ForEachType(RealTypes(), [&]<typename T>() {
    EXPECT_EQ(Doubles(Run("tf.SelectV2", {Dense<bool>({4}, {true, false, false, true}), Numbers<T>({4}, {1, 2, 3, 4}),
                                          Numbers<T>({4}, {5, 6, 7, 8})})),
              (std::vector<double>{1, 6, 7, 4}))
        << NameOf<T>();
  });
  EXPECT_EQ(Values<Complex>(Run("tf.SelectV2",
                                {Dense<bool>({2}, {true, false}), Dense<Complex>({2}, {Complex(1, 2), Complex(3, 4)}),
                                 Dense<Complex>({2}, {Complex(5, 6), Complex(7, 8)})})),
            (std::vector<Complex>{{1, 2}, {7, 8}}));
  EXPECT_EQ(Doubles(Run("tf.SelectV2", {Dense<bool>({2}, {true, false}), Dense<bool>({2}, {false, false}),
                                        Dense<bool>({2}, {true, true})})),
            (std::vector<double>{0, 1}));
}

TEST_F(ElementwiseBroadcastTest, SelectBroadcastsThreeWays) {
  const TensorHandle result = Run("tf.SelectV2", {Dense<bool>({2, 1, 1}, {true, false}),
                                                  Dense<int32_t>({3, 1}, {1, 2, 3}), Dense<int32_t>({2}, {10, 20})});
  EXPECT_EQ(MetadataOf(result), "i32[2,3,2]");
  EXPECT_EQ(Values<int32_t>(result), (std::vector<int32_t>{1, 1, 2, 2, 3, 3, 10, 20, 10, 20, 10, 20}));
  EXPECT_EQ(Values<float>(Run("tf.SelectV2", {Scalar<bool>(false), Scalar<float>(1), Dense<float>({3}, {2, 3, 4})})),
            (std::vector<float>{2, 3, 4}));
}

TEST_F(ElementwiseBroadcastTest, SelectOfStrings) {
  EXPECT_EQ(StringValues(Run("tf.SelectV2",
                             {Dense<bool>({2, 1}, {true, false}), Strings({2}, {"a", "b"}), Strings({}, {"other"})})),
            (std::vector<std::string>{"a", "b", "other", "other"}));
}

TEST_F(ElementwiseBroadcastTest, AddNSumsAnyNumber) {
  ForEachType(RealTypes(), [&]<typename T>() {
    const auto x = [&](double value) { return Numbers<T>({3}, {value, value + 1, value + 2}); };
    EXPECT_EQ(Doubles(Run("tf.AddN", {x(1)})), (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(Doubles(Run("tf.AddN", {x(1), x(2)})), (std::vector<double>{3, 5, 7}));
    EXPECT_EQ(Doubles(Run("tf.AddN", {x(1), Spread<T>({3}, From<T>(5)), x(2), x(3)})),
              (std::vector<double>{11, 14, 17}));
  });
  EXPECT_EQ(
      Values<Complex>(Run("tf.AddN", {Scalar<Complex>({1, 2}), Scalar<Complex>({3, 4}), Scalar<Complex>({5, 6})})),
      (std::vector<Complex>{{9, 12}}));
}

TEST_F(ElementwiseBroadcastTest, AddNOfHalfPrecisionRoundsOnce) {
  // In steps, 2048 + 1 would be 2048 again and again.
  std::vector<TensorHandle> args;
  args.push_back(Scalar<Float16>(Float16(2048)));
  for (int i = 0; i < 4; ++i) args.push_back(Scalar<Float16>(Float16(1)));
  EXPECT_EQ(Doubles(Run("tf.AddN", std::move(args))), (std::vector<double>{2052}));
}

TEST_F(ElementwiseBroadcastTest, AddNOverManyBlocksInTakenOverMemory) {
  std::vector<float> x(5000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  std::vector<float> expected;
  for (float value : x) expected.push_back(3 * value);
  EXPECT_EQ(Values<float>(Run("tf.AddN", {Dense<float>({5000}, x), Dense<float>({5000}, x), Dense<float>({5000}, x)})),
            expected);
}

TEST_F(ElementwiseBroadcastTest, EmptyTensors) {
  EXPECT_EQ(MetadataOf(Run("tf.Exp", {Dense<float>({0, 3}, {})})), "f32[0,3]");
  EXPECT_EQ(MetadataOf(Run("tf.AddV2",
                           {Dense<Float16>({0, 3}, {}), Dense<Float16>({3}, std::vector<Float16>(3, Float16(1.0f)))})),
            "f16[0,3]");
  EXPECT_EQ(MetadataOf(Run("tf.Cast", {Dense<int64_t>({0}, {})}, Attrs("DstT", DType::kBF16))), "bf16[0]");
  EXPECT_EQ(MetadataOf(Run("tf.AddN", {Dense<float>({0}, {}), Dense<float>({0}, {})})), "f32[0]");
  EXPECT_EQ(MetadataOf(Run("tf.SelectV2", {Scalar<bool>(true), Dense<int32_t>({0}, {}), Scalar<int32_t>(1)})),
            "i32[0]");
  EXPECT_EQ(MetadataOf(Run("tf.Equal", {Strings({0}, {}), Strings({1}, {"a"})})), "bool[0]");
  // Nothing is divided.
  EXPECT_EQ(MetadataOf(Run("tf.FloorDiv", {Dense<int32_t>({0}, {}), Dense<int32_t>({1}, {0})})), "i32[0]");
}

TEST_F(ElementwiseBroadcastTest, IntegerDivisionByZeroIsAnError) {
  ForEachType(IntTypes(), [&]<typename T>() {
    EXPECT_EQ(ErrorOf(Run("tf.FloorDiv", {Dense<T>({2}, {T{1}, T{2}}), Dense<T>({2}, {T{1}, T{0}})})),
              "[tf.FloorDiv] y must not be zero, got y[1] = 0");
    EXPECT_EQ(ErrorOf(Run("tf.FloorMod", {Dense<T>({2}, {T{1}, T{2}}), Spread<T>({2}, 0)})),
              "[tf.FloorMod] y must not be zero, got y[0] = 0");
  });
}

TEST_F(ElementwiseBroadcastTest, NegativeExponentOfIntegersIsAnError) {
  const TensorHandle power = Run("tf.Pow", {Scalar<int32_t>(2), Dense<int32_t>({3}, {1, -2, -3})});
  EXPECT_EQ(ErrorOf(power), "[tf.Pow] y must not be negative, got y[1] = -2");
  EXPECT_EQ(ErrorCodeOf(power), StatusCode::kInvalidArgument);
}

// ER-2, MD-2
TEST_F(ElementwiseBroadcastTest, ShapesThatDoNotFit) {
  EXPECT_EQ(ErrorOf(Run("tf.AddV2", {Dense<float>({2, 3}, std::vector<float>(6)), Dense<float>({2}, {1, 2})})),
            "[tf.AddV2] shapes must be broadcast compatible, got x: f32[2,3], y: f32[2]");
  EXPECT_EQ(ErrorOf(Run("tf.Less", {Dense<float>({2}, {1, 2}), Dense<float>({3}, {1, 2, 3})})),
            "[tf.Less] shapes must be broadcast compatible, got x: f32[2], y: f32[3]");
  EXPECT_EQ(
      ErrorOf(Run("tf.SelectV2", {Dense<bool>({2}, {true, false}), Dense<float>({3}, {1, 2, 3}), Scalar<float>(0)})),
      "[tf.SelectV2] shapes must be broadcast compatible, got condition: bool[2], t: f32[3], e: f32[]");
  EXPECT_EQ(ErrorOf(Run("tf.AddN", {Dense<float>({1}, {1}), Dense<float>({1}, {1}), Scalar<float>(1)})),
            "[tf.AddN] inputs must have the same shape, got inputs[0]: f32[1], inputs[2]: f32[]");
}

// EX-5
TEST_F(ElementwiseBroadcastTest, DTypesOutsideTheDefinition) {
  for (const TensorHandle& result :
       {Run("tf.Exp", {Scalar<int32_t>(1)}), Run("tf.AddV2", {Scalar<bool>(true), Scalar<bool>(true)}),
        Run("tf.LogicalNot", {Scalar<float>(1)}), Run("tf.AddV2", {Scalar<float>(1), Scalar<double>(1)}),
        Run("tf.Cast", {Scalar<float>(1)})}) {
    EXPECT_EQ(ErrorCodeOf(result), StatusCode::kInvalidArgument);
  }
}

TEST_F(ElementwiseBroadcastTest, SparseTensorsAreRejected) {
  const StatusOr<Tensor> sparse = ToSparseCoo(Dense<float>({2}, {0, 1}).tensor(), host().allocator());
  EXPECT_EQ(ErrorOf(Run("tf.AddV2", {Dense<float>({2}, {1, 2}), Available(sparse)})),
            "[tf.AddV2] argument 1 (y) must be a dense tensor, got f32[2] as sparse_coo_host");
}

// Every dtype that a definition allows has a kernel.
TEST_F(ElementwiseBroadcastTest, EveryAllowedDTypeHasAKernel) {
  const auto of = [&](DType dtype) -> TensorHandle {
    switch (dtype) {
#define TANDEM_ONE_OF(name, type) \
  case DType::name:               \
    return Dense<type>({1}, {type(1)});
      TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_ONE_OF)
#undef TANDEM_ONE_OF
      default:
        return Strings({1}, {"1"});
    }
  };
  for (const char* name : {"tf.Abs",        "tf.Neg",      "tf.Sign",
                           "tf.Square",     "tf.Sqrt",     "tf.Rsqrt",
                           "tf.Reciprocal", "tf.Exp",      "tf.Expm1",
                           "tf.Log",        "tf.Log1p",    "tf.Sin",
                           "tf.Cos",        "tf.Tanh",     "tf.Sigmoid",
                           "tf.Erf",        "tf.Relu",     "tf.Floor",
                           "tf.Ceil",       "tf.Round",    "tf.IsNan",
                           "tf.IsInf",      "tf.IsFinite", "tf.AddV2",
                           "tf.Sub",        "tf.Mul",      "tf.RealDiv",
                           "tf.FloorDiv",   "tf.FloorMod", "tf.Maximum",
                           "tf.Minimum",    "tf.Pow",      "tf.SquaredDifference",
                           "tf.Equal",      "tf.NotEqual", "tf.Less",
                           "tf.LessEqual",  "tf.Greater",  "tf.GreaterEqual",
                           "tf.SelectV2",   "tf.AddN"}) {
    const OpDef* def = runtime().registry().Find(name);
    ASSERT_NE(def, nullptr) << name;
    const AttrDef& attr = def->attrs[static_cast<size_t>(def->kernel_type_attr)];
    for (int i = 1; i < kNumDTypes; ++i) {
      const DType dtype = static_cast<DType>(i);
      if (!attr.allowed_dtypes.Contains(dtype)) continue;
      std::vector<TensorHandle> args;
      for (const ArgDef& input : def->inputs) args.push_back(of(input.dtype == DType::kInvalid ? dtype : input.dtype));
      EXPECT_EQ(ErrorOf(Run(name, std::move(args))), "") << name << " " << DTypeName(dtype);
    }
  }
}

}  // namespace
}  // namespace tandem
