// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ElementwiseTest: the fixture of the tests of element-wise ops: tensors of any dtype from doubles, and comparisons.

#ifndef TANDEM_TESTS_UNIT_ELEMENTWISE_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_ELEMENTWISE_TEST_FIXTURE_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "op_test_fixture.h"

namespace tandem {

using Complex = std::complex<float>;

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class ElementwiseTest : public OpTest {
 protected:
  // Elements of any dtype from doubles that it represents.
  template <typename T>
  TensorHandle Numbers(const TensorShape& shape, const std::vector<double>& values) {
    const auto elements = std::make_unique<T[]>(values.size());  // a vector would pack bools
    for (size_t i = 0; i < values.size(); ++i) elements[i] = From<T>(values[i]);
    return Dense<T>(shape, std::span<const T>(elements.get(), values.size()));
  }
  template <typename T>
  static T From(double value) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      return T(static_cast<float>(value));
    } else {
      return static_cast<T>(value);
    }
  }
  std::vector<double> Binary(std::string_view op, const TensorHandle& x, const TensorHandle& y) {
    return Doubles(Run(op, {x, y}));
  }
};

// NaN equals NaN, and zeros are told apart.
inline void ExpectSame(const std::vector<double>& actual, const std::vector<double>& expected, std::string_view what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool is_same = std::isnan(expected[i])
                             ? std::isnan(actual[i])
                             : actual[i] == expected[i] && std::signbit(actual[i]) == std::signbit(expected[i]);
    EXPECT_TRUE(is_same) << what << " at " << i << ": got " << actual[i] << ", expected " << expected[i];
  }
}

// |actual - expected| <= tolerance * max(|expected|, floor).
inline void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance,
                       std::string_view what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]) || std::isinf(expected[i])) {
      EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(actual[i]) : actual[i] == expected[i])
          << what << " at " << i << ": got " << actual[i] << ", expected " << expected[i];
    } else {
      EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(std::fabs(expected[i]), 1e-30)) << what << " at " << i;
    }
  }
}

template <typename T>
std::string NameOf() {
  return std::string(DTypeName(kDTypeOf<T>));
}

template <typename... T>
struct Types {};
using IntTypes = Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
using UnsignedTypes = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using SignedIntTypes = Types<int8_t, int16_t, int32_t, int64_t>;
using FloatTypes = Types<Float16, BFloat16, float, double>;
using SignedTypes = Types<int8_t, int16_t, int32_t, int64_t, Float16, BFloat16, float, double>;
using RealTypes =
    Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Float16, BFloat16, float, double>;
using FixedSizeTypes = Types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Float16,
                             BFloat16, float, double, Complex>;

// Calls `fn` with each of the types: `[&]<typename T>() { ... }`.
template <typename... T, typename Fn>
void ForEachType(Types<T...>, const Fn& fn) {
  (fn.template operator()<T>(), ...);
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_ELEMENTWISE_TEST_FIXTURE_H_
