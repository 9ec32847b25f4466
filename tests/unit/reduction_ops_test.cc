// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Sum, Mean, Prod, Max, Min, All and Any, against references that visit one element after the other.

#include <cmath>
#include <complex>
#include <functional>
#include <limits>

#include "op_test_fixture.h"

namespace tandem {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ReductionOpsTest : public OpTest {
 protected:
  TensorHandle Axes(const std::vector<int32_t>& axes) {
    return Dense<int32_t>({static_cast<int64_t>(axes.size())}, axes);
  }
  template <typename T>
  TensorHandle Reduce(std::string_view op, const TensorShape& shape, std::type_identity_t<std::span<const T>> values,
                      const std::vector<int32_t>& axes, const OpAttrsRef& attrs = {}) {
    return Run(op, {Dense<T>(shape, values), Axes(axes)}, attrs);
  }
};

std::vector<double> Sequence(int64_t n, double (*value)(int64_t)) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(value(i));
  return values;
}

template <typename T>
std::vector<T> As(const std::vector<double>& values) {
  std::vector<T> converted;
  for (const double value : values) {
    if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
      converted.push_back(T(static_cast<float>(value)));
    } else {
      converted.push_back(static_cast<T>(value));
    }
  }
  return converted;
}

// For each element of the result, the elements of the input that are reduced to it, in order.
std::vector<std::vector<double>> Groups(const TensorShape& shape, const std::vector<double>& values,
                                        const std::vector<int32_t>& axes) {
  std::vector<bool> reduced(static_cast<size_t>(shape.rank()));
  for (const int32_t axis : axes) reduced[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  int64_t num_groups = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    num_groups *= reduced[static_cast<size_t>(axis)] ? 1 : shape.dim(axis);
  std::vector<std::vector<double>> groups(static_cast<size_t>(num_groups));
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i);
    int64_t group = 0;
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const int64_t position = rest % shape.dim(axis);
      rest /= shape.dim(axis);
      if (reduced[static_cast<size_t>(axis)]) continue;
      group += position * stride;
      stride *= shape.dim(axis);
    }
    groups[static_cast<size_t>(group)].push_back(values[i]);
  }
  return groups;
}

using Reference = std::function<double(const std::vector<double>&)>;

double SumOf(const std::vector<double>& group) {
  long double sum = 0;
  for (const double value : group) sum += value;
  return static_cast<double>(sum);
}
double ProductOf(const std::vector<double>& group) {
  double product = 1;
  for (const double value : group) product *= value;
  return product;
}
double LargestOf(const std::vector<double>& group) { return *std::max_element(group.begin(), group.end()); }
double SmallestOf(const std::vector<double>& group) { return *std::min_element(group.begin(), group.end()); }
double MeanOf(const std::vector<double>& group) { return SumOf(group) / static_cast<double>(group.size()); }

std::vector<double> Expected(const TensorShape& shape, const std::vector<double>& values,
                             const std::vector<int32_t>& axes, const Reference& reference) {
  std::vector<double> expected;
  for (const std::vector<double>& group : Groups(shape, values, axes)) expected.push_back(reference(group));
  return expected;
}

// Few factors that are not 1, so that products are exact in every dtype.
double Factor(int64_t i) { return i % 11 == 3 ? 2 : 1; }
double SmallNumber(int64_t i) { return static_cast<double>(i * 7 % 5); }

TEST_F(ReductionOpsTest, SumReducesAnySetOfDimensions) {
  const TensorShape shape = {3, 4, 1, 5, 2};
  const std::vector<double> values = Sequence(120, [](int64_t i) { return static_cast<double>(i * 37 % 101 - 50); });
  for (uint32_t mask = 0; mask < 32; ++mask) {
    std::vector<int32_t> axes;
    for (int axis = 0; axis < 5; ++axis) {
      if ((mask >> axis & 1) != 0) axes.push_back(axis % 2 == 0 ? axis : axis - 5);
    }
    SCOPED_TRACE(mask);
    EXPECT_EQ(Doubles(Reduce<float>("tf.Sum", shape, As<float>(values), axes)), Expected(shape, values, axes, SumOf));
    EXPECT_EQ(Doubles(Reduce<int32_t>("tf.Max", shape, As<int32_t>(values), axes)),
              Expected(shape, values, axes, LargestOf));
  }
}

TEST_F(ReductionOpsTest, ReducesEveryOtherOfEightDimensions) {
  const TensorShape shape = {2, 3, 2, 3, 2, 3, 2, 3};
  const std::vector<double> values = Sequence(1296, SmallNumber);
  for (const std::vector<int32_t>& axes : {std::vector<int32_t>{0, 2, 4, 6}, {1, 3, 5, 7}, {0, 3, 4, 7}}) {
    EXPECT_EQ(Doubles(Reduce<float>("tf.Sum", shape, As<float>(values), axes)), Expected(shape, values, axes, SumOf));
    EXPECT_EQ(Doubles(Reduce<Float16>("tf.Max", shape, As<Float16>(values), axes)),
              Expected(shape, values, axes, LargestOf));
  }
}

template <typename T>
class ReductionDTypesTest : public ReductionOpsTest {};
using RealTypes = testing::Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Float16,
                                 BFloat16, float, double>;
TYPED_TEST_SUITE(ReductionDTypesTest, RealTypes);

TYPED_TEST(ReductionDTypesTest, AllOpsOverInnerOuterAndMiddleDimensions) {
  const TensorShape shape = {4, 23, 9};
  const int64_t n = shape.num_elements();
  // Sums stay below 128, so that they are exact in every dtype.
  const std::vector<double> numbers = Sequence(n, [](int64_t i) {
    return i % 13 == 0 ? 3.0 : i % 17 == 0 ? 1.0 : 0.0;
  });
  const std::vector<double> factors = Sequence(n, [](int64_t i) { return i % 31 == 3 ? 2.0 : 1.0; });
  for (const std::vector<int32_t>& axes : {std::vector<int32_t>{0}, {1}, {2}, {1, 2}, {0, 2}}) {
    SCOPED_TRACE(TextOf(DTypeName(kDTypeOf<TypeParam>), " ", axes[0], " of ", axes.size()));
    const auto run = [&](std::string_view op, const std::vector<double>& values) {
      return this->Doubles(this->template Reduce<TypeParam>(op, shape, As<TypeParam>(values), axes));
    };
    EXPECT_EQ(run("tf.Sum", numbers), Expected(shape, numbers, axes, SumOf));
    EXPECT_EQ(run("tf.Max", numbers), Expected(shape, numbers, axes, LargestOf));
    EXPECT_EQ(run("tf.Min", factors), Expected(shape, factors, axes, SmallestOf));
    if (axes.size() == 1) {
      const Reference product = [](const std::vector<double>& group) {
        return static_cast<double>(static_cast<TypeParam>(static_cast<float>(ProductOf(group))));
      };
      EXPECT_EQ(run("tf.Prod", factors), Expected(shape, factors, axes, product));
    }
    const Reference mean = [](const std::vector<double>& group) {
      const double exact = MeanOf(group);
      if constexpr (std::is_integral_v<TypeParam>) return std::trunc(exact);
      if constexpr (std::is_same_v<TypeParam, double>) return exact;
      return static_cast<double>(static_cast<TypeParam>(static_cast<float>(exact)));
    };
    EXPECT_EQ(run("tf.Mean", numbers), Expected(shape, numbers, axes, mean));
  }
}

TYPED_TEST(ReductionDTypesTest, WithoutElements) {
  using Limits = std::numeric_limits<TypeParam>;
  const auto run = [this](std::string_view op) {
    return this->Doubles(this->template Reduce<TypeParam>(op, {0, 2}, {}, {0}));
  };
  const auto both = [](double value) { return std::vector<double>{value, value}; };
  EXPECT_EQ(run("tf.Sum"), both(0));
  EXPECT_EQ(run("tf.Prod"), both(1));
  if constexpr (std::is_integral_v<TypeParam>) {
    EXPECT_EQ(run("tf.Max"), both(static_cast<double>(Limits::min())));
    EXPECT_EQ(run("tf.Min"), both(static_cast<double>(Limits::max())));
    EXPECT_EQ(run("tf.Mean"), both(0));
  } else {
    EXPECT_EQ(run("tf.Max"), both(-kInf));
    EXPECT_EQ(run("tf.Min"), both(kInf));
    for (const double value : run("tf.Mean")) EXPECT_TRUE(std::isnan(value));
  }
}

// Shapes that are cut into chunks of rows, tiles of columns, both, and narrow rows side by side.
TEST_F(ReductionOpsTest, LargeShapesAreExactForIntegers) {
  struct Case {
    TensorShape shape;
    std::vector<int32_t> axes;
  };
  const Case cases[] = {
      {{100'003}, {0}},        {{3, 40'001}, {1}},     {{40'001, 3}, {0}},         {{2, 5'003, 7}, {1}},
      {{1'300, 64}, {0}},      {{1'300, 65}, {0}},     {{700, 301}, {0}},          {{50, 4'100}, {0}},
      {{33'000, 2}, {1}},      {{2, 300, 130}, {1}},   {{40, 30, 20, 10}, {0, 2}}, {{40, 30, 20, 10}, {1, 3}},
      {{9, 2'049, 2}, {0, 2}}, {{100, 1'000}, {0, 1}}, {{300, 2'050}, {0}},
  };
  for (const auto& [shape, axes] : cases) {
    SCOPED_TRACE(TextOf(shape, " axis ", axes[0]));
    const std::vector<double> values =
        Sequence(shape.num_elements(), [](int64_t i) { return static_cast<double>(i * 7919 % 1009 - 500); });
    EXPECT_EQ(Doubles(Reduce<int32_t>("tf.Sum", shape, As<int32_t>(values), axes)),
              Expected(shape, values, axes, SumOf));
    EXPECT_EQ(Doubles(Reduce<float>("tf.Max", shape, As<float>(values), axes)),
              Expected(shape, values, axes, LargestOf));
    EXPECT_EQ(Doubles(Reduce<int16_t>("tf.Min", shape, As<int16_t>(values), axes)),
              Expected(shape, values, axes, SmallestOf));
    EXPECT_EQ(Doubles(Reduce<double>("tf.Sum", shape, values, axes)), Expected(shape, values, axes, SumOf));
    const std::vector<double> factors = Sequence(shape.num_elements(), Factor);
    const std::vector<double> signs = Sequence(shape.num_elements(), [](int64_t i) { return i % 5 == 1 ? -1.0 : 1.0; });
    EXPECT_EQ(Doubles(Reduce<float>("tf.Prod", shape, As<float>(signs), axes)),
              Expected(shape, signs, axes, ProductOf));
    const Reference wrapped = [](const std::vector<double>& group) {
      uint32_t product = 1;
      for (const double value : group) product *= static_cast<uint32_t>(value);
      return static_cast<double>(product);
    };
    EXPECT_EQ(Doubles(Reduce<uint32_t>("tf.Prod", shape, As<uint32_t>(factors), axes)),
              Expected(shape, factors, axes, wrapped));
  }
}

TEST_F(ReductionOpsTest, RoundingErrorsDoNotGrowWithTheNumberOfElements) {
  constexpr int64_t kCount = 4'000'000;
  const std::vector<float> tenths(kCount, 0.1f);
  const double exact = static_cast<double>(0.1f) * kCount;
  struct Case {
    TensorShape shape;
    std::vector<int32_t> axes;
    double count;  // of results
  };
  const Case cases[] = {{{kCount}, {0}, 1},
                        {{kCount / 4, 4}, {0}, 4},
                        {{kCount / 100, 100}, {0}, 100},
                        {{2, kCount / 2}, {0, 1}, 1},
                        {{500, 8, 1000}, {0, 2}, 8}};
  for (const auto& [shape, axes, count] : cases) {
    SCOPED_TRACE(TextOf(shape));
    for (const double sum : Doubles(Reduce<float>("tf.Sum", shape, tenths, axes))) {
      EXPECT_NEAR(sum, exact / count, exact / count * 2e-6);
    }
    for (const double mean : Doubles(Reduce<float>("tf.Mean", shape, tenths, axes))) EXPECT_NEAR(mean, 0.1f, 2e-7);
  }
}

TEST_F(ReductionOpsTest, BitsDoNotDependOnTheNumberOfThreads) {
  const std::unique_ptr<WorkQueue> alone = CreateSingleThreadedWorkQueue();
  std::vector<float> values;
  for (int i = 0; i < 400'000; ++i) values.push_back(std::sin(static_cast<float>(i)) * static_cast<float>(i % 1000));
  for (const TensorShape& shape : {TensorShape{400'000, 1}, TensorShape{50'000, 8}, TensorShape{200, 2'000}}) {
    const std::vector<float> parallel = Values<float>(Reduce<float>("tf.Sum", shape, values, {0}));
    TensorHandle args[] = {Dense<float>(shape, values), Axes({0})};
    TensorHandle result;
    runtime().Execute(ExecutionContext(host(), Location(), {}, alone.get()), "tf.Sum", cpu(), args, {}, {&result, 1});
    alone->Quiesce();
    EXPECT_EQ(Values<float>(result), parallel);
  }
}

TEST_F(ReductionOpsTest, HalvesAreSummedInF32) {
  const std::vector<Float16> f16(5'000, Float16(1.0f));  // f16 alone would stay at 2048
  EXPECT_EQ(Doubles(Reduce<Float16>("tf.Sum", {5'000}, f16, {0})), std::vector<double>{5'000});
  EXPECT_EQ(Doubles(Reduce<Float16>("tf.Sum", {2'500, 2}, f16, {0})), (std::vector<double>{2'500, 2'500}));
  const std::vector<BFloat16> bf16(1'000, BFloat16(1.0f));  // bf16 alone would stay at 256
  EXPECT_EQ(Doubles(Reduce<BFloat16>("tf.Sum", {1'000}, bf16, {0})), std::vector<double>{1'000});
  EXPECT_EQ(Doubles(Reduce<BFloat16>("tf.Mean", {500, 2}, bf16, {0})), (std::vector<double>{1, 1}));
}

TEST_F(ReductionOpsTest, HalvesOfEveryKindAreRead) {
  std::vector<Float16> values;
  std::vector<double> expected;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 value = Float16::FromBits(static_cast<uint16_t>(bits));
    if (std::isnan(static_cast<float>(value))) continue;
    values.insert(values.end(), {value, value, value, value});
    expected.push_back(static_cast<float>(value));
  }
  const auto n = static_cast<int64_t>(expected.size());
  EXPECT_EQ(Doubles(Reduce<Float16>("tf.Max", {n, 4}, values, {1})), expected);
  EXPECT_EQ(Doubles(Reduce<Float16>("tf.Min", {n, 2, 2}, values, {1})).size(), values.size() / 2);
}

TEST_F(ReductionOpsTest, NanWinsInMaxAndMinWhereverItIs) {
  for (const TensorShape& shape :
       {TensorShape{9, 1}, TensorShape{1'000, 1}, TensorShape{100, 3}, TensorShape{7, 200}, TensorShape{70'000, 1}}) {
    for (const int64_t row : {int64_t{0}, shape.dim(0) / 2, shape.dim(0) - 1}) {
      SCOPED_TRACE(TextOf(shape, " row ", row));
      std::vector<double> values(static_cast<size_t>(shape.num_elements()), 1);
      values[static_cast<size_t>(row * shape.dim(1))] = kNan;
      for (const std::string_view op : {"tf.Max", "tf.Min"}) {
        EXPECT_TRUE(std::isnan(Doubles(Reduce<float>(op, shape, As<float>(values), {0}))[0]));
        EXPECT_TRUE(std::isnan(Doubles(Reduce<double>(op, shape, values, {0}))[0]));
        EXPECT_TRUE(std::isnan(Doubles(Reduce<Float16>(op, shape, As<Float16>(values), {0}))[0]));
        EXPECT_TRUE(std::isnan(Doubles(Reduce<BFloat16>(op, shape, As<BFloat16>(values), {0}))[0]));
      }
    }
  }
}

TEST_F(ReductionOpsTest, InfinitiesAreNumbers) {
  const std::vector<float> values = {-INFINITY, 3, INFINITY};
  EXPECT_EQ(Doubles(Reduce<float>("tf.Max", {3}, values, {0})), std::vector<double>{kInf});
  EXPECT_EQ(Doubles(Reduce<float>("tf.Min", {3}, values, {0})), std::vector<double>{-kInf});
  EXPECT_TRUE(std::isnan(Doubles(Reduce<float>("tf.Sum", {3}, values, {0}))[0]));
  const std::vector<float> lowest(20, -INFINITY);
  EXPECT_EQ(Doubles(Reduce<float>("tf.Max", {20}, lowest, {0})), std::vector<double>{-kInf});
}

TEST_F(ReductionOpsTest, IntegerSumsWrapAroundAndMeansDoNot) {
  EXPECT_EQ(Values<int8_t>(Reduce<int8_t>("tf.Sum", {3}, {{100, 100, 100}}, {0})), std::vector<int8_t>{44});
  EXPECT_EQ(Values<int8_t>(Reduce<int8_t>("tf.Mean", {3}, {{100, 100, 100}}, {0})), std::vector<int8_t>{100});
  EXPECT_EQ(Values<int32_t>(Reduce<int32_t>("tf.Mean", {4}, {{-1, -2, -1, -2}}, {0})), std::vector<int32_t>{-1});
  const uint64_t half = uint64_t{1} << 63;
  EXPECT_EQ(Values<uint64_t>(Reduce<uint64_t>("tf.Mean", {2}, {{half, half - 2}}, {0})),
            std::vector<uint64_t>{half - 1});
}

TEST_F(ReductionOpsTest, ComplexNumbers) {
  using C = std::complex<float>;
  std::vector<C> values;
  for (int i = 0; i < 24; ++i) values.emplace_back(static_cast<float>(i), static_cast<float>(i * i % 7));
  C sums[3] = {};
  for (int i = 0; i < 24; ++i) sums[i % 3] += values[static_cast<size_t>(i)];
  EXPECT_EQ(Values<C>(Reduce<C>("tf.Sum", {2, 4, 3}, values, {0, 1})), (std::vector<C>{sums[0], sums[1], sums[2]}));
  EXPECT_EQ(Values<C>(Reduce<C>("tf.Sum", {24}, values, {0})), std::vector<C>{sums[0] + sums[1] + sums[2]});
  EXPECT_EQ(Values<C>(Reduce<C>("tf.Mean", {2, 4, 3}, values, {0, 1})),
            (std::vector<C>{sums[0] / 8.0f, sums[1] / 8.0f, sums[2] / 8.0f}));
  EXPECT_EQ(Values<C>(Reduce<C>("tf.Prod", {2, 2}, {{C(1, 2), C(0, 1), C(3, -1), C(0, 1)}}, {0})),
            (std::vector<C>{C(5, 5), C(-1, 0)}));
  EXPECT_EQ(Values<C>(Reduce<C>("tf.Prod", {0}, {}, {0})), std::vector<C>{C(1, 0)});
  EXPECT_EQ(Values<C>(Reduce<C>("tf.Sum", {0}, {}, {0})), std::vector<C>{C(0, 0)});
}

TEST_F(ReductionOpsTest, AllAndAny) {
  const bool values[] = {true, false, true, true, true, true};
  EXPECT_EQ(Values<bool>(Reduce<bool>("tf.All", {2, 3}, values, {1})), (std::vector<bool>{false, true}));
  EXPECT_EQ(Values<bool>(Reduce<bool>("tf.All", {2, 3}, values, {0})), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(Values<bool>(Reduce<bool>("tf.Any", {2, 3}, values, {0, 1})), std::vector<bool>{true});
  EXPECT_EQ(Values<bool>(Reduce<bool>("tf.All", {0}, {}, {0})), std::vector<bool>{true});
  EXPECT_EQ(Values<bool>(Reduce<bool>("tf.Any", {0}, {}, {0})), std::vector<bool>{false});
  const auto many = std::make_unique<bool[]>(200'000);
  many[150'001] = true;
  EXPECT_EQ(Values<bool>(Reduce<bool>("tf.Any", {100'000, 2}, {many.get(), 200'000}, {0})),
            (std::vector<bool>{false, true}));
}

TEST_F(ReductionOpsTest, IndicesMayBeI64ScalarsOrEmpty) {
  const TensorHandle x = Dense<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Values<float>(Run("tf.Sum", {x, Scalar<int64_t>(-1)})), (std::vector<float>{3, 7}));
  EXPECT_EQ(Values<float>(Run("tf.Sum", {x, Dense<int64_t>({1}, {0})})), (std::vector<float>{4, 6}));
  EXPECT_EQ(Values<float>(Run("tf.Sum", {x, Spread<int32_t>({1}, 1)})), (std::vector<float>{3, 7}));
  EXPECT_EQ(Values<float>(Run("tf.Mean", {x, Axes({})})), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(MetadataOf(Run("tf.Mean", {x, Axes({})})), "f32[2,2]");
}

TEST_F(ReductionOpsTest, InputMayBeAScalarHostTensor) {
  EXPECT_EQ(Values<float>(Run("tf.Sum", {Spread<float>({3, 4}, 2), Axes({1})})), (std::vector<float>{8, 8, 8}));
  EXPECT_EQ(Values<float>(Run("tf.Mean", {Spread<float>({3}, 2), Axes({})})), (std::vector<float>{2, 2, 2}));
}

TEST_F(ReductionOpsTest, AScalarReducesToItself) {
  EXPECT_EQ(Values<float>(Run("tf.Sum", {Scalar<float>(5), Axes({})})), std::vector<float>{5});
}

TEST_F(ReductionOpsTest, KeepDims) {  // MD-2
  const TensorHandle x = Dense<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](const std::vector<int32_t>& axes) {
    return Run("tf.Sum", {x, Axes(axes)}, Attrs("keep_dims", true));
  };
  EXPECT_EQ(MetadataOf(run({1})), "f32[1,1,3]");
  EXPECT_EQ(MetadataOf(run({0, 2})), "f32[1,2,1]");
  EXPECT_EQ(MetadataOf(run({0, 1, 2})), "f32[1,1,1]");
  EXPECT_EQ(Values<float>(run({2})), (std::vector<float>{6, 15}));
  EXPECT_EQ(MetadataOf(Run("tf.Sum", {x, Axes({0})})), "f32[2,3]");
}

TEST_F(ReductionOpsTest, EmptyResults) {
  EXPECT_EQ(MetadataOf(Reduce<float>("tf.Sum", {3, 0, 2}, {}, {0})), "f32[0,2]");
  EXPECT_EQ(MetadataOf(Reduce<float>("tf.Max", {0}, {}, {})), "f32[0]");
  EXPECT_EQ(Values<float>(Reduce<float>("tf.Sum", {0, 3}, {}, {0, 1})), std::vector<float>{0});
}

TEST_F(ReductionOpsTest, WrongCalls) {  // MD-2, EX-5, ER-2
  const TensorHandle x = Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ErrorOf(Run("tf.Sum", {x, Axes({2})})), "[tf.Sum] reduction_indices must be in [-2, 2), got 2");
  EXPECT_EQ(ErrorOf(Run("tf.Sum", {x, Axes({-3})})), "[tf.Sum] reduction_indices must be in [-2, 2), got -3");
  EXPECT_EQ(ErrorOf(Run("tf.Max", {x, Axes({1, -1})})),
            "[tf.Max] reduction_indices must name each dimension once, got dimension 1 twice for input: f32[2,3]");
  EXPECT_EQ(ErrorOf(Run("tf.Mean", {x, Dense<int32_t>({1, 1}, {0})})),
            "[tf.Mean] reduction_indices must be a scalar or a vector, got reduction_indices: i32[1,1]");
  EXPECT_EQ(ErrorOf(Run("tf.Mean", {x, x})),
            "[tf.Mean] argument 1 (reduction_indices) must be one of {i32, i64}, got f32[2,3]");
  EXPECT_EQ(ErrorOf(Run("tf.All", {x, Axes({0})})), "[tf.All] argument 0 (input) must be bool, got f32[2,3]");
  EXPECT_EQ(ErrorOf(Run("tf.Max", {Strings({}, {"a"}), Axes({})})).substr(0, 43),
            "[tf.Max] argument 0 (input) must be one of ");
}

}  // namespace
}  // namespace tandem
