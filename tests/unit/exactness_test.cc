// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Results of calls that are long enough to be shared out, which the conformance cases are not: the same bits with any
// number of threads, in exact mode and without (NU-2, NU-3).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "instruction_sets.h"
#include "tandem/eager.h"
#include "tandem/ops.h"

namespace tandem::eager {
namespace {

std::unique_ptr<Runtime> MakeRuntime(int num_threads, bool exact) {
  return std::move(*Runtime::Create({.num_threads = num_threads, .exact = exact}));
}

TEST(ExactOptionTest, NU3_IsAnOptionOfTheRuntime) {
  EXPECT_FALSE(MakeRuntime(1, false)->host().is_exact());
  EXPECT_TRUE(MakeRuntime(1, true)->host().is_exact());
}

// In [-1, 1), by a linear congruential generator with Knuth's numbers.
template <typename T = float>
Tensor Draw(Runtime& rt, const TensorShape& shape) {
  std::vector<T> values(static_cast<size_t>(shape.num_elements()));
  uint64_t state = values.size();
  for (T& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<T>(static_cast<double>(state >> 40) * 0x1p-23 - 1);
  }
  return rt.FromValues(std::span<const T>(values), shape);
}

struct LongCall {
  std::string_view name;
  std::function<Tensor(Runtime&)> make;

  friend void PrintTo(const LongCall& call, std::ostream* out) { *out << call.name; }
};

const LongCall kLongCalls[] = {
    {"exp", [](Runtime& rt) { return exp(Draw(rt, {300'000})); }},
    {"exp_f64", [](Runtime& rt) { return exp(Draw<double>(rt, {100'000})); }},
    {"broadcast",
     [](Runtime& rt) {
       return Draw(rt, {700, 1, 30}) * Draw(rt, {20, 1});
     }},
    {"matMul",
     [](Runtime& rt) {
       return matMul(Draw(rt, {257, 300}), Draw(rt, {300, 190}));
     }},
    {"matMul_long_sums",
     [](Runtime& rt) {
       return matMul(Draw(rt, {5, 30'000}), Draw(rt, {30'000, 7}));
     }},
    {"matMul_f64",
     [](Runtime& rt) {
       return matMul(Draw<double>(rt, {120, 150}), Draw<double>(rt, {150, 90}));
     }},
    {"matMul_vector",
     [](Runtime& rt) {
       return matMul(Draw(rt, {1, 2000}), Draw(rt, {2000, 900}));
     }},
    {"einsum",
     [](Runtime& rt) {
       return einsum({Draw(rt, {9, 60, 70}), Draw(rt, {9, 70, 50})}, "bij,bjk->bik");
     }},
    {"sum", [](Runtime& rt) { return sum(Draw(rt, {1'000'000}), 0); }},
    {"sum_of_columns",
     [](Runtime& rt) {
       return sum(Draw(rt, {5000, 60}), 0);
     }},
    {"sum_of_rows",
     [](Runtime& rt) {
       return sum(Draw(rt, {600, 700}), 1);
     }},
    {"mean_f64", [](Runtime& rt) { return mean(Draw<double>(rt, {400'000}), 0); }},
    {"cumsum", [](Runtime& rt) { return cumsum(Draw(rt, {300'000}), 0); }},
    {"softmax",
     [](Runtime& rt) {
       return softmax(Draw(rt, {400, 500}));
     }},
    {"layerNorm",
     [](Runtime& rt) {
       return layerNorm(Draw(rt, {300, 400}), Draw(rt, {400}), Draw(rt, {400}));
     }},
    {"layerNormGrad",
     [](Runtime& rt) {
       return layerNormGrad(Draw(rt, {900, 100}), Draw(rt, {900, 100}), Draw(rt, {100})).scale_backprop;
     }},
    {"fusedBatchNorm",
     [](Runtime& rt) {
       return fusedBatchNorm(Draw(rt, {8, 40, 40, 12}), Draw(rt, {12}), Draw(rt, {12}), Draw(rt, {0}), Draw(rt, {0})).y;
     }},
    {"biasAddGrad",
     [](Runtime& rt) {
       return biasAddGrad(Draw(rt, {4, 90, 90, 16}));
     }},
    {"conv2d",
     [](Runtime& rt) {
       return conv2d(Draw(rt, {2, 40, 40, 16}), Draw(rt, {3, 3, 16, 24}), {1, 1, 1, 1}, "SAME");
     }},
    {"conv2dBackpropFilter",
     [](Runtime& rt) {
       return conv2dBackpropFilter(Draw(rt, {6, 30, 30, 16}), {3, 3, 16, 24}, Draw(rt, {6, 30, 30, 24}), {1, 1, 1, 1},
                                   "SAME");
     }},
    {"depthwiseConv2dBackpropFilter",
     [](Runtime& rt) {
       return depthwiseConv2dNativeBackpropFilter(Draw(rt, {6, 40, 40, 16}), {3, 3, 16, 1}, Draw(rt, {6, 40, 40, 16}),
                                                  {1, 1, 1, 1}, "SAME");
     }},
    {"avgPool",
     [](Runtime& rt) {
       return avgPool(Draw(rt, {4, 60, 60, 16}), {1, 3, 3, 1}, {1, 2, 2, 1}, "SAME");
     }},
    {"resizeBilinear",
     [](Runtime& rt) {
       return resizeBilinear(Draw(rt, {2, 60, 60, 3}), {251, 199});
     }},
    {"unsortedSegmentSum",
     [](Runtime& rt) {
       std::vector<int32_t> segments(60'000);
       for (size_t i = 0; i < segments.size(); ++i) segments[i] = static_cast<int32_t>(i * 7919 % 50);
       return unsortedSegmentSum(Draw(rt, {60'000, 3}), rt.FromValues(std::span<const int32_t>(segments), {60'000}),
                                 50);
     }},
};

class ExactnessTest : public testing::TestWithParam<std::tuple<LongCall, bool>> {};

std::vector<std::byte> BytesOf(const Tensor& tensor) {
  EXPECT_TRUE(tensor.Await().ok()) << tensor.Await().ToString();
  if (!tensor.Await().ok()) return {};
  const tandem::Tensor& dense = tensor.handle().tensor();
  const auto* data = static_cast<const std::byte*>(dense.data());
  return {data, data + dense.metadata().byte_size()};
}

TEST_P(ExactnessTest, NU2_ResultsDoNotDependOnTheNumberOfThreads) {
  const auto& [call, exact] = GetParam();
  const std::vector<std::byte> expected = BytesOf(call.make(*MakeRuntime(1, exact)));
  for (const int num_threads : {2, 3, 4}) {
    EXPECT_EQ(BytesOf(call.make(*MakeRuntime(num_threads, exact))), expected) << num_threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, ExactnessTest, testing::Combine(testing::ValuesIn(kLongCalls), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + (std::get<1>(test.param) ? "_exact" : "");
                         });

// Instructions for the larger of two numbers differ in what they make of 0 and -0.
TEST(ExactPoolTest, NU3_ZerosOfBothSignsGiveTheSameBits) {
  for (const int64_t channels : {1, 3, 5, 8, 20}) {
    std::vector<std::vector<std::byte>> results;
    cpu::ForEachInstructionSet([&](const char*) {
      const std::unique_ptr<Runtime> rt = MakeRuntime(1, true);
      const TensorShape shape = {1, 9, 9, channels};
      std::vector<float> zeros(static_cast<size_t>(shape.num_elements()));
      for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = i * i % 7 < 3 ? 0.0f : -0.0f;
      const Tensor x = rt->FromValues(std::span<const float>(zeros), shape);
      results.push_back(BytesOf(maxPool(x, {1, 3, 3, 1}, {1, 2, 2, 1}, "VALID")));
    });
    for (const std::vector<std::byte>& result : results) EXPECT_EQ(result, results[0]) << channels;
  }
}

}  // namespace
}  // namespace tandem::eager
