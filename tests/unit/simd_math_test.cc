// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The elementary functions, sums and softmax of simd_math.h against the C++ library in higher precision, for every
// instruction set that this processor has. Prints the worst error of each function.

#include "simd/simd_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "instruction_sets.h"
#include "tandem/op_def.h"
#include "tandem/op_families.h"
#include "tandem/op_registry.h"

namespace tandem::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The distance of `got` from `want` in units of the last place of `want`; infinite where they differ in kind: NaN,
// infinity, the sign of zero.
template <typename T>
double UlpError(T got, long double want) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  const T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : kWrong;
  if (std::isnan(got)) return kWrong;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : kWrong;
  if (rounded == 0 && got == 0) return std::signbit(got) == std::signbit(rounded) ? 0 : kWrong;
  const int exponent = rounded == 0 ? std::numeric_limits<T>::min_exponent : std::ilogb(rounded) + 1;
  const int unit = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::ldexp(std::abs(static_cast<long double>(got) - want), -unit));
}

struct Function {
  const char* name;
  const char* op;  // that it is the kernel of
  void (*f32)(const float*, int64_t, float*);
  void (*f64)(const double*, int64_t, double*);
  double (*reference)(double);                 // for f32
  long double (*long_reference)(long double);  // for f64
  double f32_limit;                            // in ULP
  double f64_limit;
};

template <typename T>
T ReferenceSigmoid(T x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <typename T>
T ReferenceRsqrt(T x) {
  return 1 / std::sqrt(x);
}
template <typename T>
T ReferenceSoftplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
template <typename T>
T ReferenceElu(T x) {
  return x < 0 ? std::expm1(x) : x;
}
template <typename T>
T ReferenceSelu(T x) {
  return x < 0 ? T(1.7580993408473768599402175208123L) * std::expm1(x) : T(1.0507009873554804934193349852946L) * x;
}
// In more bits than T has, since relative errors of the exponent grow with it. At -inf: the limit.
template <typename T>
T ReferenceGelu(T x) {
  const auto z = static_cast<long double>(x);
  return x < -60 ? -T(0) : static_cast<T>(0.5L * z * std::erfc(-z * std::sqrt(0.5L)));
}
template <typename T>
T ReferenceGeluTanh(T x) {
  const auto z = static_cast<long double>(x);
  const long double twice =
      2.0L * std::sqrt(2.0L / 3.14159265358979323846264338327950288L) * (z + 0.044715L * z * z * z);
  return x < -60 ? -T(0) : static_cast<T>(z / (1 + std::exp(-twice)));
}

const Function kFunctions[] = {
    {"exp", "tf.Exp", simd::Exp, simd::Exp, std::exp, std::exp, 1.0, 1.0},
    {"expm1", "tf.Expm1", simd::Expm1, simd::Expm1, std::expm1, std::expm1, 1.5, 2.0},
    {"log", "tf.Log", simd::Log, simd::Log, std::log, std::log, 1.0, 1.0},
    {"log1p", "tf.Log1p", simd::Log1p, simd::Log1p, std::log1p, std::log1p, 1.0, 1.0},
    {"sin", "tf.Sin", simd::Sin, simd::Sin, std::sin, std::sin, 1.6, 2.5},
    {"cos", "tf.Cos", simd::Cos, simd::Cos, std::cos, std::cos, 1.6, 2.5},
    {"tanh", "tf.Tanh", simd::Tanh, simd::Tanh, std::tanh, std::tanh, 3.5, 2.5},
    {"sigmoid", "tf.Sigmoid", simd::Sigmoid, simd::Sigmoid, ReferenceSigmoid, ReferenceSigmoid, 2.5, 2.5},
    {"erf", "tf.Erf", simd::Erf, simd::Erf, std::erf, std::erf, 1.5, 1.5},
    {"sqrt", "tf.Sqrt", simd::Sqrt, simd::Sqrt, std::sqrt, std::sqrt, 0.501, 0.501},
    {"rsqrt", "tf.Rsqrt", simd::Rsqrt, simd::Rsqrt, ReferenceRsqrt, ReferenceRsqrt, 1.5, 1.5},
    {"tan", "tf.Tan", simd::Tan, simd::Tan, std::tan, std::tan, 3.8, 2.0},
    {"sinh", "tf.Sinh", simd::Sinh, simd::Sinh, std::sinh, std::sinh, 2.0, 2.5},
    {"cosh", "tf.Cosh", simd::Cosh, simd::Cosh, std::cosh, std::cosh, 2.0, 2.0},
    {"asin", "tf.Asin", simd::Asin, simd::Asin, std::asin, std::asin, 2.5, 2.0},
    {"acos", "tf.Acos", simd::Acos, simd::Acos, std::acos, std::acos, 1.5, 2.0},
    {"atan", "tf.Atan", simd::Atan, simd::Atan, std::atan, std::atan, 1.8, 2.0},
    {"asinh", "tf.Asinh", simd::Asinh, simd::Asinh, std::asinh, std::asinh, 2.0, 2.5},
    {"acosh", "tf.Acosh", simd::Acosh, simd::Acosh, std::acosh, std::acosh, 2.2, 2.5},
    {"atanh", "tf.Atanh", simd::Atanh, simd::Atanh, std::atanh, std::atanh, 2.2, 2.5},
    {"softplus", "tf.Softplus", simd::Softplus, simd::Softplus, ReferenceSoftplus, ReferenceSoftplus, 2.0, 2.0},
    {"elu", "tf.Elu", simd::Elu, simd::Elu, ReferenceElu, ReferenceElu, 1.5, 2.0},
    {"selu", "tf.Selu", simd::Selu, simd::Selu, ReferenceSelu, ReferenceSelu, 2.0, 2.0},
    {"gelu", "tandem.Gelu", simd::Gelu, simd::Gelu, ReferenceGelu, ReferenceGelu, 3.5, 4.0},
    {"gelu_tanh", "tandem.Gelu", simd::GeluTanh, simd::GeluTanh, ReferenceGeluTanh, ReferenceGeluTanh, 3.5, 3.5},
};

class SimdMath : public testing::TestWithParam<Function> {};

template <typename T>
struct Worst {
  double error = 0;
  T argument = 0;
  T result = 0;

  void Add(T x, T y, long double want) {
    const double e = UlpError(y, want);
    if (e <= error) return;
    error = e;
    argument = x;
    result = y;
  }
  std::string Describe(const Function& function, const char* type, const char* target) const {
    char text[160];
    std::snprintf(text, sizeof(text), "%-8s %s %-8s worst %.3f ULP at %a (result %a)", function.name, type, target,
                  error, static_cast<double>(argument), static_cast<double>(result));
    return text;
  }
};

TEST_P(SimdMath, OfF32IsAccurateForArgumentsOfEveryKind) {
  const Function& function = GetParam();
  ForEachInstructionSet([&](const char* target) {
    Worst<float> worst;
    std::vector<float> x(4096), y(x.size());
    // All bit patterns at a small prime distance: every exponent, both signs, NaN and subnormal numbers.
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
      for (float& element : x) {
        element = std::bit_cast<float>(static_cast<uint32_t>(bits));
        bits += 2503;
      }
      function.f32(x.data(), static_cast<int64_t>(x.size()), y.data());
      for (size_t i = 0; i < x.size(); ++i) worst.Add(x[i], y[i], function.reference(static_cast<double>(x[i])));
    }
    std::puts(worst.Describe(function, "f32", target).c_str());
    EXPECT_LE(worst.error, function.f32_limit) << worst.Describe(function, "f32", target);
  });
}

TEST_P(SimdMath, OfF64IsAccurateForArgumentsOfEveryKind) {
  const Function& function = GetParam();
  ForEachInstructionSet([&](const char* target) {
    Worst<double> worst;
    std::mt19937_64 random(1);
    std::vector<double> x(4096), y(x.size());
    for (int round = 0; round < 60; ++round) {
      for (double& element : x) {
        const double uniform = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63);
        const int exponent = static_cast<int>(random() % 44) - 24;
        const double kinds[] = {std::bit_cast<double>(random()), 40 * uniform, 750 * uniform,
                                std::ldexp(uniform, exponent)};
        element = kinds[round % 4];
      }
      function.f64(x.data(), static_cast<int64_t>(x.size()), y.data());
      for (size_t i = 0; i < x.size(); ++i) worst.Add(x[i], y[i], function.long_reference(x[i]));
    }
    std::puts(worst.Describe(function, "f64", target).c_str());
    EXPECT_LE(worst.error, function.f64_limit) << worst.Describe(function, "f64", target);
  });
}

// Where what is left of an argument is small: the numbers around each multiple of pi/2 that is reduced in f32, and
// beyond.
TEST_P(SimdMath, OfF32IsAccurateAroundMultiplesOfHalfPi) {
  const Function& function = GetParam();
  ForEachInstructionSet([&](const char* target) {
    Worst<float> worst;
    std::vector<float> x(32), y(x.size());
    for (int multiple = 1; multiple < 3000; ++multiple) {
      const auto middle = static_cast<float>(multiple * 1.5707963267948966);
      for (size_t i = 0; i < x.size() / 2; ++i) {
        x[2 * i] = std::bit_cast<float>(std::bit_cast<uint32_t>(middle) + static_cast<uint32_t>(i) - 8);
        x[2 * i + 1] = -x[2 * i];
      }
      function.f32(x.data(), static_cast<int64_t>(x.size()), y.data());
      for (size_t i = 0; i < x.size(); ++i) worst.Add(x[i], y[i], function.reference(static_cast<double>(x[i])));
    }
    EXPECT_LE(worst.error, function.f32_limit) << worst.Describe(function, "f32", target);
  });
}

// What is stated counts numbers from the exact result, rounded: half a unit more.
TEST_P(SimdMath, NU1_LimitsAreThoseOfTheDefinition) {
  OpRegistry registry;
  ASSERT_TRUE(RegisterAllOps(registry).ok());
  const OpDef* const def = registry.Find(GetParam().op);
  ASSERT_NE(def, nullptr);
  EXPECT_LE(GetParam().f32_limit, def->max_ulp + 0.501);
  EXPECT_LE(GetParam().f64_limit, def->max_ulp + 0.501);
}

// NaN, infinities, zeros, the ends of the range of results, and the points where functions change their method.
TEST_P(SimdMath, TreatsSpecialValuesAsCDoes) {
  const Function& function = GetParam();
  using F = std::numeric_limits<float>;
  using L = std::numeric_limits<double>;
  std::vector<float> floats = {kNaN,       kInfinity, 0.0f,      F::denorm_min(), F::min(),   F::max(),   F::epsilon(),
                               1.0f,       2.0f,      0.5f,      88.72283f,       88.72284f,  87.33654f,  103.97207f,
                               103.97208f, 104.0f,    17.32868f, 18.0f,           9.01f,      10.0f,      3.92f,
                               3.95f,      0x1p-13f,  0x1p20f,   0x1.000002p20f,  1.5707964f, 3.1415927f, 0x1p12f};
  std::vector<double> doubles = {kNaN,
                                 kInfinity,
                                 0.0,
                                 L::denorm_min(),
                                 L::min(),
                                 L::max(),
                                 L::epsilon(),
                                 1.0,
                                 2.0,
                                 0.5,
                                 709.782712893384,
                                 709.7827128933841,
                                 708.3964185322641,
                                 745.1332191019411,
                                 745.1332191019412,
                                 746.0,
                                 36.7368005696771,
                                 38.0,
                                 19.0615,
                                 20.0,
                                 0x1p-28,
                                 0x1p20,
                                 0x1.0000000000001p20,
                                 1.5707963267948966,
                                 3.141592653589793,
                                 1e15,
                                 1e300};
  for (size_t i = 0, count = floats.size(); i < count; ++i) {
    for (float x : {floats[i], std::nextafter(floats[i], 0.0f), std::nextafter(floats[i], kInfinity)}) {
      floats.insert(floats.end(), {x, -x});
    }
  }
  for (size_t i = 0, count = doubles.size(); i < count; ++i) {
    for (double x : {doubles[i], std::nextafter(doubles[i], 0.0), std::nextafter(doubles[i], HUGE_VAL)}) {
      doubles.insert(doubles.end(), {x, -x});
    }
  }
  ForEachInstructionSet([&](const char*) {
    for (const float x : floats) {
      float y = 0;
      function.f32(&x, 1, &y);
      EXPECT_LE(UlpError(y, function.reference(static_cast<double>(x))), function.f32_limit) << x << " gave " << y;
    }
    for (const double x : doubles) {
      double y = 0;
      function.f64(&x, 1, &y);
      EXPECT_LE(UlpError(y, function.long_reference(x)), function.f64_limit) << x << " gave " << y;
    }
  });
}

template <typename T>
void ExpectIndependentOfPlace(void (*function)(const T*, int64_t, T*)) {
  constexpr int64_t kMax = 70;
  std::vector<T> x(kMax), alone(kMax);
  for (int64_t i = 0; i < kMax; ++i) {
    x[static_cast<size_t>(i)] = static_cast<T>(0.37) * static_cast<T>(i) - static_cast<T>(5.1);
    function(&x[static_cast<size_t>(i)], 1, &alone[static_cast<size_t>(i)]);
  }
  for (int64_t count = 0; count < kMax; ++count) {
    std::vector<T> y = x;  // in place
    function(y.data(), count, y.data());
    EXPECT_EQ(std::memcmp(y.data(), alone.data(), static_cast<size_t>(count) * sizeof(T)), 0) << count;
    const T* untouched = x.data() + count;
    EXPECT_EQ(std::memcmp(y.data() + count, untouched, static_cast<size_t>(kMax - count) * sizeof(T)), 0) << count;
  }
}

// With neighbours for which the fast way is not good enough.
template <typename T>
void ExpectIndependentOfNeighbours(void (*function)(const T*, int64_t, T*)) {
  for (const T neighbour : {T(-200), T(-2000), T(2000), T(5000), T(1e30), std::numeric_limits<T>::quiet_NaN()}) {
    for (const T x : {T(-80), T(-5.1), T(-0.3), T(0.7), T(3.3), T(80)}) {
      T alone = 0;
      function(&x, 1, &alone);
      const std::vector<T> row = {x, neighbour};
      std::vector<T> y(2);
      function(row.data(), 2, y.data());
      EXPECT_EQ(std::memcmp(&y[0], &alone, sizeof(T)), 0) << x << " beside " << neighbour;
    }
  }
}

TEST_P(SimdMath, GivesTheSameAtEveryPlaceAndTouchesNothingElse) {
  ForEachInstructionSet([&](const char*) {
    ExpectIndependentOfPlace(GetParam().f32);
    ExpectIndependentOfPlace(GetParam().f64);
    ExpectIndependentOfNeighbours(GetParam().f32);
    ExpectIndependentOfNeighbours(GetParam().f64);
  });
}

template <typename T>
void ExpectAtan2(void (*function)(const T*, const T*, int64_t, T*), double limit) {
  std::vector<T> values;
  for (const T x : {T(0), T(1), T(0.5), T(3), T(1e-3), T(1e30), T(1e-30), std::numeric_limits<T>::denorm_min(),
                    std::numeric_limits<T>::max(), std::numeric_limits<T>::infinity()}) {
    values.insert(values.end(), {x, -x});
  }
  values.push_back(std::numeric_limits<T>::quiet_NaN());
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) values.push_back(static_cast<T>(std::ldexp(random() - 0x1p31, -31 + i % 17 - 8)));
  std::vector<T> x(values.size()), out(values.size());
  double worst = 0;
  for (const T first : values) {
    x.assign(values.size(), first);
    function(values.data(), x.data(), static_cast<int64_t>(values.size()), out.data());
    for (size_t i = 0; i < values.size(); ++i) {
      const long double want = std::atan2(static_cast<long double>(values[i]), static_cast<long double>(first));
      const double error = UlpError(out[i], want);
      ASSERT_LE(error, limit) << "y = " << values[i] << ", x = " << first << " gave " << out[i];
      worst = std::max(worst, error);
    }
  }
  std::printf("atan2 %zu bytes worst %.3f ULP\n", sizeof(T), worst);
}

TEST(SimdAtan2, IsAccurateInAllQuadrantsAndAtTheirEnds) {
  ForEachInstructionSet([](const char*) {
    ExpectAtan2<float>(simd::Atan2, 1.8);
    ExpectAtan2<double>(simd::Atan2, 2.0);
  });
}

INSTANTIATE_TEST_SUITE_P(All, SimdMath, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- Sums and extremes.

TEST(SimdSum, OfAMillionOnesIsAMillion) {
  const std::vector<float> ones(1'000'000, 1.0f);
  ForEachInstructionSet([&](const char*) { EXPECT_EQ(simd::Sum(ones.data(), 1'000'000), 1e6f); });
}

TEST(SimdSum, OfManyF32IsWithinAFewUlp) {
  constexpr int64_t kCount = 16'000'000;
  std::mt19937 random(1);
  std::vector<float> x(kCount);
  double sum = 0;
  for (float& element : x) sum += element = static_cast<float>(random() >> 8) * 0x1p-24f;
  ForEachInstructionSet([&](const char*) { EXPECT_LE(UlpError(simd::Sum(x.data(), kCount), sum), 4.0); });
}

TEST(SimdSum, OfWholeNumbersIsExactForEveryLength) {
  std::vector<float> floats;
  std::vector<double> doubles;
  int64_t sum = 0;
  ForEachInstructionSet([&](const char*) {
    floats.clear();
    doubles.clear();
    sum = 0;
    for (int64_t count = 0; count < 9000; ++count) {
      if (count < 300 || count % 97 == 0) {
        ASSERT_EQ(simd::Sum(floats.data(), count), static_cast<float>(sum)) << count;
        ASSERT_EQ(simd::Sum(doubles.data(), count), static_cast<double>(sum)) << count;
      }
      const int64_t next = count * 37 % 101 - 50;
      sum += next;
      floats.push_back(static_cast<float>(next));
      doubles.push_back(static_cast<double>(next));
    }
  });
}

TEST(SimdSum, PropagatesNaNAndInfinity) {
  ForEachInstructionSet([](const char*) {
    for (size_t count : {1u, 5u, 70u, 5000u}) {
      std::vector<float> x(count, 1.0f);
      x[count / 2] = kInfinity;
      EXPECT_EQ(simd::Sum(x.data(), static_cast<int64_t>(count)), kInfinity);
      x[count - 1] = kNaN;
      EXPECT_TRUE(std::isnan(simd::Sum(x.data(), static_cast<int64_t>(count))));
    }
  });
}

template <typename T>
void ExpectExtremes() {
  constexpr T kHuge = std::numeric_limits<T>::infinity();
  EXPECT_EQ(simd::Max(static_cast<const T*>(nullptr), 0), -kHuge);
  EXPECT_EQ(simd::Min(static_cast<const T*>(nullptr), 0), kHuge);
  for (size_t count = 1; count < 200; ++count) {
    for (size_t place : {size_t{0}, count / 2, count - 1}) {
      std::vector<T> x(count, T{1});
      const auto n = static_cast<int64_t>(count);
      x[place] = T{3};
      ASSERT_EQ(simd::Max(x.data(), n), T{3}) << place << " of " << count;
      x[place] = T{-3};
      ASSERT_EQ(simd::Min(x.data(), n), T{-3}) << place << " of " << count;
      x[place] = std::numeric_limits<T>::quiet_NaN();
      ASSERT_TRUE(std::isnan(simd::Max(x.data(), n))) << place << " of " << count;
      ASSERT_TRUE(std::isnan(simd::Min(x.data(), n))) << place << " of " << count;
    }
  }
  // Among zeros, -0 is the smaller one wherever it is.
  for (size_t count = 1; count < 70; ++count) {
    for (const size_t place : {size_t{0}, count / 2, count - 1}) {
      const auto n = static_cast<int64_t>(count);
      std::vector<T> x(count, -T{0});
      ASSERT_TRUE(std::signbit(simd::Max(x.data(), n))) << count;
      x[place] = T{0};
      ASSERT_FALSE(std::signbit(simd::Max(x.data(), n))) << place << " of " << count;
      x.assign(count, T{0});
      ASSERT_FALSE(std::signbit(simd::Min(x.data(), n))) << count;
      x[place] = -T{0};
      ASSERT_TRUE(std::signbit(simd::Min(x.data(), n))) << place << " of " << count;
    }
  }
  const std::vector<T> least(40, -kHuge);
  EXPECT_EQ(simd::Max(least.data(), 40), -kHuge);
}

TEST(SimdExtremes, OfF32AreFoundAtEveryPlaceAndKeepNaN) {
  ForEachInstructionSet([](const char*) { ExpectExtremes<float>(); });
}
TEST(SimdExtremes, OfF64AreFoundAtEveryPlaceAndKeepNaN) {
  ForEachInstructionSet([](const char*) { ExpectExtremes<double>(); });
}

// ---- Softmax.

// The rounding of x - max, and the exponential of what it leaves, cost |x - max| half units; the rest is a few ULP.
// Elements are `spread` apart at most.
template <typename T>
void ExpectSoftmax(bool logarithm, double spread = 60) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-spread / 2, spread / 2);
  for (int64_t cols : {1, 2, 3, 7, 10, 16, 17, 31, 33, 63, 65, 100, 1000, 5000}) {
    constexpr int64_t kRows = 3;
    std::vector<T> x(static_cast<size_t>(kRows * cols)), y(x.size());
    for (T& element : x) element = static_cast<T>(uniform(random));
    if (logarithm) {
      simd::LogSoftmax(x.data(), kRows, cols, y.data());
    } else {
      simd::Softmax(x.data(), kRows, cols, y.data());
    }
    for (int64_t row = 0; row < kRows; ++row) {
      const T* from = x.data() + row * cols;
      const T* to = y.data() + row * cols;
      const long double max = *std::max_element(from, from + cols);
      long double sum = 0;
      for (int64_t i = 0; i < cols; ++i) sum += std::exp(from[i] - max);
      constexpr long double kEpsilon = std::numeric_limits<T>::epsilon();
      for (int64_t i = 0; i < cols; ++i) {
        const long double log_want = from[i] - max - std::log(sum);
        const long double want = logarithm ? log_want : std::exp(log_want);
        const long double relative = (8 + std::abs(from[i] - max)) * kEpsilon;
        // A logarithm near zero comes from 1 + something: its error is absolute.
        const long double scale = logarithm ? 1 + std::abs(log_want) / 8 : std::abs(want);
        const long double least = std::numeric_limits<T>::denorm_min();
        ASSERT_LE(std::abs(to[i] - want), relative * scale + least) << "row of " << cols << " at " << i;
      }
    }
  }
}

TEST(SimdSoftmax, OfF32IsAccurate) {
  ForEachInstructionSet([](const char*) { ExpectSoftmax<float>(false); });
}
TEST(SimdSoftmax, OfF64IsAccurate) {
  ForEachInstructionSet([](const char*) { ExpectSoftmax<double>(false); });
}
// Some of their exponentials are no normal numbers.
TEST(SimdSoftmax, OfWideRowsOfF32IsAccurate) {
  ForEachInstructionSet([](const char*) { ExpectSoftmax<float>(false, 200); });
}
TEST(SimdSoftmax, OfWideRowsOfF64IsAccurate) {
  ForEachInstructionSet([](const char*) { ExpectSoftmax<double>(false, 1500); });
}
TEST(SimdSoftmax, LogarithmOfF32IsAccurate) {
  ForEachInstructionSet([](const char*) { ExpectSoftmax<float>(true); });
}
TEST(SimdSoftmax, LogarithmOfF64IsAccurate) {
  ForEachInstructionSet([](const char*) { ExpectSoftmax<double>(true); });
}

TEST(SimdSoftmax, HugeElementsDoNotOverflow) {
  ForEachInstructionSet([](const char*) {
    float x[] = {3e38f, 3e38f, -3e38f, -kInfinity};
    simd::Softmax(x, 1, 4, x);
    EXPECT_EQ(x[0], 0.5f);
    EXPECT_EQ(x[1], 0.5f);
    EXPECT_EQ(x[2], 0.0f);
    EXPECT_EQ(x[3], 0.0f);
  });
}

TEST(SimdSoftmax, LogarithmOfANegligibleElementIsFinite) {
  ForEachInstructionSet([](const char*) {
    float x[] = {0.0f, -1000.0f, -kInfinity};
    simd::LogSoftmax(x, 1, 3, x);
    EXPECT_EQ(x[0], 0.0f);
    EXPECT_EQ(x[1], -1000.0f);
    EXPECT_EQ(x[2], -kInfinity);
  });
}

TEST(SimdSoftmax, RowsWithoutAFiniteMaximumBecomeNaNAndNoOthers) {
  ForEachInstructionSet([](const char*) {
    const float x[4][2] = {{1, kNaN}, {kInfinity, 0}, {-kInfinity, -kInfinity}, {7, 7}};
    for (const bool logarithm : {false, true}) {
      float y[4][2];
      if (logarithm) {
        simd::LogSoftmax(&x[0][0], 4, 2, &y[0][0]);
      } else {
        simd::Softmax(&x[0][0], 4, 2, &y[0][0]);
      }
      for (int row = 0; row < 3; ++row) {
        EXPECT_TRUE(std::isnan(y[row][0]) && std::isnan(y[row][1])) << row;
      }
      EXPECT_FLOAT_EQ(y[3][0], logarithm ? std::log(0.5f) : 0.5f);
    }
  });
}

template <typename T>
void ExpectNaNSpoilsItsRowAlone() {
  for (int64_t cols = 1; cols < 70; ++cols) {
    for (int64_t place = 0; place < cols; ++place) {
      std::vector<T> x(static_cast<size_t>(2 * cols), T{1});
      x[static_cast<size_t>(place)] = std::numeric_limits<T>::quiet_NaN();
      simd::Softmax(x.data(), 2, cols, x.data());
      for (int64_t i = 0; i < cols; ++i) {
        ASSERT_TRUE(std::isnan(x[static_cast<size_t>(i)])) << cols << " columns, NaN at " << place << ", read at " << i;
        ASSERT_NEAR(x[static_cast<size_t>(cols + i)], 1.0 / static_cast<double>(cols), 1e-6) << cols;
      }
    }
  }
}
TEST(SimdSoftmax, NaNAnywhereSpoilsItsRowAlone) {
  ForEachInstructionSet([](const char*) {
    ExpectNaNSpoilsItsRowAlone<float>();
    ExpectNaNSpoilsItsRowAlone<double>();
  });
}

TEST(SimdSoftmax, OfNothingDoesNothing) {
  simd::Softmax(static_cast<const float*>(nullptr), 3, 0, nullptr);
  simd::LogSoftmax(static_cast<const double*>(nullptr), 0, 5, nullptr);
}

}  // namespace
}  // namespace tandem::cpu
