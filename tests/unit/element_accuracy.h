// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How accurate element-wise ops are on f32, against the C library in f64: as their definitions state (NU-1).

#ifndef TANDEM_TESTS_UNIT_ELEMENT_ACCURACY_H_
#define TANDEM_TESTS_UNIT_ELEMENT_ACCURACY_H_

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tandem/eager.h"
#include "tandem/op_def.h"
#include "tandem/op_registry.h"

namespace tandem::eager {

struct AccurateOp {
  const char* op;
  double (*exact)(double x, double y);  // y: of ops with two operands
  int num_operands = 1;
  // What is drawn for the operands: all bit patterns, evenly; else numbers between -span and span.
  double span_of_x = 0;
  double span_of_y = 0;
  bool is_approximate = false;  // the attribute of Gelu
};

inline double ExactSigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

inline const AccurateOp kAccurateOps[] = {
    {"tf.Sqrt", [](double x, double) { return std::sqrt(x); }},
    {"tf.Rsqrt", [](double x, double) { return 1 / std::sqrt(x); }},
    {"tf.Reciprocal", [](double x, double) { return 1 / x; }},
    {"tf.Square", [](double x, double) { return x * x; }},
    {"tf.Exp", [](double x, double) { return std::exp(x); }},
    {"tf.Expm1", [](double x, double) { return std::expm1(x); }},
    {"tf.Log", [](double x, double) { return std::log(x); }},
    {"tf.Log1p", [](double x, double) { return std::log1p(x); }},
    {"tf.Sin", [](double x, double) { return std::sin(x); }},
    {"tf.Cos", [](double x, double) { return std::cos(x); }},
    {"tf.Tan", [](double x, double) { return std::tan(x); }},
    {"tf.Asin", [](double x, double) { return std::asin(x); }},
    {"tf.Acos", [](double x, double) { return std::acos(x); }},
    {"tf.Atan", [](double x, double) { return std::atan(x); }},
    {"tf.Sinh", [](double x, double) { return std::sinh(x); }},
    {"tf.Cosh", [](double x, double) { return std::cosh(x); }},
    {"tf.Tanh", [](double x, double) { return std::tanh(x); }},
    {"tf.Asinh", [](double x, double) { return std::asinh(x); }},
    // musl's gives numbers for large negative arguments.
    {"tf.Acosh", [](double x, double) { return x < 1 ? std::nan("") : std::acosh(x); }},
    {"tf.Atanh", [](double x, double) { return std::atanh(x); }},
    {"tf.Sigmoid", [](double x, double) { return ExactSigmoid(x); }},
    {"tf.Erf", [](double x, double) { return std::erf(x); }},
    {"tf.Elu", [](double x, double) { return x < 0 ? std::expm1(x) : x; }},
    {"tf.Selu", [](double x, double) { return x < 0 ? 1.7580993408473768 * std::expm1(x) : 1.0507009873554805 * x; }},
    {"tf.Softplus", [](double x, double) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
    {"tf.Softsign", [](double x, double) { return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::fabs(x)); }},
    // Where it is tiny, f64 has too few bits for the exponent: simd_math_test looks there.
    {.op = "tandem.Gelu",
     .exact = [](double x, double) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); },
     .span_of_x = 12},
    {.op = "tandem.Gelu",
     .exact = [](double x, double) { return x * ExactSigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)); },
     .span_of_x = 9,
     .is_approximate = true},
    {"tf.AddV2", [](double x, double y) { return x + y; }, 2, 10, 10},
    {"tf.Sub", [](double x, double y) { return x - y; }, 2, 10, 10},
    {"tf.Mul", [](double x, double y) { return x * y; }, 2},
    {"tf.RealDiv", [](double x, double y) { return x / y; }, 2},
    {"tf.FloorMod",
     [](double x, double y) {
       const double rest = std::fmod(x, y);
       return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
     },
     2, 1000, 3},
    {"tf.Mod", [](double x, double y) { return std::fmod(x, y); }, 2},
    {"tf.SquaredDifference", [](double x, double y) { return (x - y) * (x - y); }, 2, 10, 10},
    {"tf.Atan2", [](double y, double x) { return std::atan2(y, x); }, 2},
    {"tf.Atan2", [](double y, double x) { return std::atan2(y, x); }, 2, 3, 3},
    {"tf.Pow", [](double x, double y) { return std::pow(x, y); }, 2},
    {"tf.Pow", [](double x, double y) { return std::pow(x, y); }, 2, 4, 60},
    {"tf.Pow", [](double x, double y) { return std::pow(x, y); }, 2, 1.1, 900},
    {"tf.SoftplusGrad", [](double g, double x) { return g * ExactSigmoid(x); }, 2, 3, 90},
    {"tf.SoftsignGrad", [](double g, double x) { return g / ((1 + std::fabs(x)) * (1 + std::fabs(x))); }, 2, 3, 90},
};

class ElementAccuracy {
 public:
  // `flushes`: as on GPUs, which may take subnormal numbers for zero.
  ElementAccuracy(Runtime& runtime, bool flushes) : runtime_(runtime), flushes_(flushes) {}

  void ExpectAsStated(const AccurateOp& op, int num_chunks) {
    const OpDef* const def = runtime_.core().registry().Find(op.op);
    ASSERT_NE(def, nullptr) << op.op;
    ASSERT_GE(def->max_ulp, 0) << op.op;
    Worst worst;
    for (int chunk = 0; chunk < num_chunks; ++chunk) {
      const std::vector<float> x = Draw(op.span_of_x);
      const std::vector<float> y = Draw(op.span_of_y);
      std::vector<float> results;
      ASSERT_NO_FATAL_FAILURE(Run(op, x, y, results));
      for (size_t i = 0; i < kSize; ++i) {
        const auto exact = static_cast<float>(op.exact(x[i], op.num_operands == 2 ? y[i] : 0));
        worst.Add({Distance(results[i], exact), x[i], y[i], results[i]});
      }
    }
    std::printf("%-22s %lld of %d at (%a, %a): %a\n", op.op, static_cast<long long>(worst.distance), def->max_ulp,
                static_cast<double>(worst.x), static_cast<double>(worst.y), static_cast<double>(worst.result));
    EXPECT_LE(worst.distance, def->max_ulp)
        << op.op << " of " << std::hexfloat << worst.x << " and " << worst.y << " is " << worst.result;
  }

 private:
  static constexpr size_t kSize = 1 << 15;
  static constexpr float kMinNormal = std::numeric_limits<float>::min();

  struct Worst {
    int64_t distance = 0;  // in numbers
    float x = 0;
    float y = 0;
    float result = 0;

    void Add(const Worst& other) {
      if (other.distance > distance) *this = other;
    }
  };

  std::vector<float> Draw(double span) {
    std::vector<float> values(kSize);
    for (float& value : values) {
      const uint64_t bits = random_();
      value = span == 0 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                        : static_cast<float>(static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-63 * span);
      if (flushes_ && std::fabs(value) < kMinNormal) value = 1;
    }
    return values;
  }

  void Run(const AccurateOp& op, std::span<const float> x, std::span<const float> y, std::vector<float>& results) {
    Operand operands[] = {runtime_.FromValues(x, {kSize}), runtime_.FromValues(y, {kSize})};
    OpAttrs attrs;
    if (op.is_approximate) attrs.Set("approximate", true);
    const Tensor tensor = op.num_operands == 1 ? runtime_.Execute(op.op, {&operands[0]}, attrs)
                                               : runtime_.Execute(op.op, {&operands[0], &operands[1]}, attrs);
    StatusOr<std::vector<float>> values = tensor.ToVector<float>();
    ASSERT_TRUE(values.ok()) << values.status().ToString();
    results = std::move(*values);
  }

  // How many numbers `result` is from `exact`; far too many where they differ in kind.
  int64_t Distance(float result, float exact) const {
    if (std::isnan(result) || std::isnan(exact)) return std::isnan(result) && std::isnan(exact) ? 0 : INT64_MAX;
    if (flushes_ && std::fabs(result) <= kMinNormal && std::fabs(exact) <= kMinNormal) return 0;
    const auto place = [](float value) {
      const int64_t size = std::bit_cast<uint32_t>(std::fabs(value));
      return std::signbit(value) ? -size : size;
    };
    return std::abs(place(result) - place(exact));
  }

  Runtime& runtime_;
  const bool flushes_;
  std::mt19937_64 random_{1};
};

}  // namespace tandem::eager

#endif  // TANDEM_TESTS_UNIT_ELEMENT_ACCURACY_H_
