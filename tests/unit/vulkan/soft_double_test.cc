// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// f64 by integers (soft_double.wgsl), against the host's f64: every bit of the arithmetic, and the functions to within
// some units in the last place. On whatever Vulkan device there is.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/shader_functions.h"
#include "tandem/shader/shader_source.h"
#include "vulkan_test_fixture.h"

namespace tandem::vulkan {
namespace {

constexpr uint32_t kWorkgroup = 64;

class SoftDoubleTest : public VulkanTest {
 protected:
  // What the device gives for the expression `text` of `a` and `b`, as bits of f64; `values` is a multiple of 64 pairs.
  std::vector<uint64_t> Compute(const std::string& text, const std::vector<double>& values) {
    const size_t count = values.size() / 2;
    const std::string body = R"(
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let a: vec2u = x[2u * gid.x];
  let b: vec2u = x[2u * gid.x + 1u];
  y[gid.x] = )" + text + ";\n}\n";
    shader::ShaderBuilder builder("soft_double");
    builder.Buffer("x", shader::BufferAccess::kRead, "vec2u").Buffer("y", shader::BufferAccess::kReadWrite, "vec2u");
    builder.Workgroup(kWorkgroup).Text(shader::FunctionsCalledBy(body, shader::FunctionTypes::kSoft));
    const PipelineRef pipeline = MakePipeline(builder.Finish(body));
    const BufferId x = MakeBuffer(values);
    const BufferId y = MakeBuffer(count * sizeof(uint64_t));
    const auto batch = queue_->Dispatch(*pipeline, std::array{BufferRange{x}, BufferRange{y}}, {},
                                        {static_cast<uint32_t>(count / kWorkgroup), 1, 1}, {"test", {}});
    EXPECT_TRUE(batch.ok());
    std::vector<uint64_t> bits = Read<uint64_t>(y, count);
    queue_->DestroyBuffer(x);
    queue_->DestroyBuffer(y);
    return bits;
  }

  // Pairs of numbers, many of which are close to each other, have few bits or ends on ties, or are 0.
  std::vector<double> Pairs(int exponents) {
    std::vector<double> values;
    for (int i = 0; i < 64 * 64; ++i) {
      double pair[2];
      for (double& value : pair) {
        const int exponent = std::uniform_int_distribution<int>(-exponents, exponents)(random_);
        value = std::ldexp(1.0 + static_cast<double>(random_() >> 12) * 0x1p-52, exponent);
        if (random_() % 4 == 0 && std::abs(exponent) < 120) value = static_cast<double>(static_cast<float>(value));
        if (random_() % 2 == 0) value = -value;
        if (random_() % 50 == 0) value = 0;
      }
      if (random_() % 8 == 0) pair[1] = -std::nextafter(pair[0], 0.0);
      values.insert(values.end(), {pair[0], pair[1]});
    }
    return values;
  }

  void ExpectSame(const std::string& text, const std::vector<double>& values, double (*expected)(double, double)) {
    const std::vector<uint64_t> bits = Compute(text, values);
    for (size_t i = 0; i < bits.size(); ++i) {
      const double a = values[2 * i], b = values[2 * i + 1];
      ASSERT_EQ(bits[i], std::bit_cast<uint64_t>(expected(a, b))) << text << " of " << a << ", " << b;
    }
  }
  void ExpectClose(const std::string& text, const std::vector<double>& values, double (*expected)(double, double),
                   double tolerance) {
    const std::vector<uint64_t> bits = Compute(text, values);
    for (size_t i = 0; i < bits.size(); ++i) {
      const double a = values[2 * i], b = values[2 * i + 1];
      const double want = expected(a, b);
      ASSERT_NEAR(std::bit_cast<double>(bits[i]), want, want * tolerance) << text << " of " << a << ", " << b;
    }
  }

  std::mt19937_64 random_{1};
};

TEST_F(SoftDoubleTest, ArithmeticRoundsAsTheHost) {
  for (const int exponents : {1, 60, 150}) {
    const std::vector<double> values = Pairs(exponents);
    ExpectSame("double_sum(a, b)", values, [](double a, double b) { return a + b; });
    ExpectSame("double_difference(a, b)", values, [](double a, double b) { return a - b; });
    ExpectSame("double_product(a, b)", values, [](double a, double b) { return a * b; });
    ExpectSame("vec2u(select(0u, 1u, double_less(a, b)), 0u)", values,
               [](double a, double b) { return std::bit_cast<double>(uint64_t{a < b}); });
    std::vector<double> divisors = values;
    for (size_t i = 1; i < divisors.size(); i += 2) divisors[i] = divisors[i] == 0 ? 3 : divisors[i];
    ExpectSame("double_quotient(a, b)", divisors, [](double a, double b) { return a / b; });
  }
}

TEST_F(SoftDoubleTest, WhatIsTooSmallIs0AndWhatIsTooLargeTheLargest) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) values.insert(values.end(), {kLargest, 0x1p-1022});
  ExpectSame("double_product(a, a)", values, [](double, double) { return kLargest; });
  ExpectSame("double_sum(a, a)", values, [](double, double) { return kLargest; });
  ExpectSame("double_quotient(a, vec2u(0u, 0u))", values, [](double, double) { return kLargest; });
  ExpectSame("double_product(b, b)", values, [](double, double) { return 0.0; });
  ExpectSame("double_scaled(b, -1)", values, [](double, double) { return 0.0; });
}

TEST_F(SoftDoubleTest, OtherNumbersAreConvertedAndRoundedOnce) {
  // Subnormal and too large ones of f32, too.
  for (const int exponents : {20, 155}) {
    const std::vector<double> values = Pairs(exponents);
    ExpectSame("vec2u(f32_bits_of_double(a), 0u)", values, [](double a, double) {
      return std::bit_cast<double>(uint64_t{std::bit_cast<uint32_t>(static_cast<float>(a))});
    });
    // Of words, whatever they are as f64.
    ExpectSame("double_of_u32(a.x)", values,
               [](double a, double) { return static_cast<double>(static_cast<uint32_t>(std::bit_cast<uint64_t>(a))); });
    ExpectSame("double_of_i32(bitcast<i32>(a.x))", values,
               [](double a, double) { return static_cast<double>(static_cast<int32_t>(std::bit_cast<uint64_t>(a))); });
    ExpectSame("double_of_f32(bitcast<f32>(a.y))", values, [](double a, double) {
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(std::bit_cast<uint64_t>(a) >> 32)));
    });
    ExpectSame("double_of_f32(bitcast<f32>(a.x & 0x007fffffu))", values, [](double a, double) {
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(std::bit_cast<uint64_t>(a)) & 0x007FFFFFu));
    });
  }
}

TEST_F(SoftDoubleTest, FunctionsAreCloseToTheHosts) {
  std::vector<double> values;
  for (int i = 0; i < 64 * 64; ++i) {
    const double range[] = {1e-9, 1, 20, 700};
    const double exponent = std::uniform_real_distribution<double>(-range[i % 4], 0)(random_);
    const double number =
        std::exp(std::uniform_real_distribution<double>(-range[i % 4] / 3, range[i % 4] / 3)(random_));
    values.insert(values.end(), {exponent, number});
  }
  constexpr double kUlp = std::numeric_limits<double>::epsilon();
  ExpectClose(
      "double_exp(a)", values, [](double a, double) { return std::exp(a); }, 2 * kUlp);
  ExpectClose(
      "double_root(b)", values, [](double, double b) { return std::sqrt(b); }, 2 * kUlp);
  // The logarithm's rounding counts by its size.
  ExpectClose(
      "double_power(b, double_of_f32(-0.75))", values, [](double, double b) { return std::pow(b, -0.75); }, 400 * kUlp);
}

}  // namespace
}  // namespace tandem::vulkan
