// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Groups of element-wise ops: the same bits as the ops one by one, whatever ops, dtypes, shapes and representations
// (PR-5, PR-6).

#include "tandem/elementwise_group.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "code_runner.h"
#include "elementwise_group_test_fixture.h"

namespace tandem {
namespace {

class ElementwiseGroupTest : public ElementwiseGroups {
 protected:
  ElementwiseGroupTest() { EnableProgramFusion(*cpu(), TestCodeRunner()); }
};

TEST_F(ElementwiseGroupTest, PR5_AChainIsWhatItsOpsGive) {
  const std::vector<Step> steps = {{"tf.Mul", {0, 1}}, {"tf.AddV2", {3, 2}}, {"tf.Relu", {4}}};
  const auto group = Group(3, steps, {2});
  ASSERT_NE(group, nullptr);
  std::vector<TensorHandle> inputs;
  inputs.push_back(Dense<float>({4}, {1, 2, 3, -4}));
  inputs.push_back(Dense<float>({4}, {2, -2, 2, 2}));
  inputs.push_back(Dense<float>({4}, {0.5f, 1, -10, 1}));
  EXPECT_EQ(Values<float>(RunGroup(group, std::move(inputs))[0]), (std::vector<float>{2.5f, 0, 0, 0}));
}

TEST_F(ElementwiseGroupTest, PR5_EverySizeFromNoneToManyBlocks) {
  ExpectSameOfSizes({0, 1, 7, 1023, 1024, 1025, 5000, 70001});
}

TEST_F(ElementwiseGroupTest, PR5_WhatIsBetweenIsThereIfSomebodyWantsIt) { ExpectWhatIsBetween(); }

TEST_F(ElementwiseGroupTest, PR5_StretchedAndSingleInputs) { ExpectSameOfStretchedInputs(); }

TEST_F(ElementwiseGroupTest, PR5_DTypesMix) {
  const std::vector<Step> steps = {{"tf.Cast", {0}, Attrs("DstT", DType::kF32)},
                                   {"tf.Mul", {2, 1}},
                                   {"tf.Greater", {3, 1}},
                                   {"tf.LogicalNot", {4}},
                                   {"tf.SelectV2", {5, 3, 1}},
                                   {"tf.Cast", {6}, Attrs("DstT", DType::kI32)},
                                   {"tf.BitwiseXor", {7, 0}},
                                   {"tf.Cast", {8}, Attrs("DstT", DType::kI32)}};
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<int32_t>({4000}, 5));
  inputs.push_back(Random<float>({4000}, 6));
  ExpectSame(steps, {2, 5, 7}, std::move(inputs), "i32, f32, bool");
}

TEST_F(ElementwiseGroupTest, PR5_HalvesAreRoundedAfterEachOp) {
  const std::vector<Step> steps = {{"tf.Mul", {0, 1}}, {"tf.Exp", {2}}, {"tf.AddV2", {3, 1}}, {"tf.RealDiv", {4, 0}}};
  std::vector<TensorHandle> halves;
  halves.push_back(Random<Float16>({2000}, 7));
  halves.push_back(Random<Float16>({1}, 8));
  ExpectSame(steps, {3}, std::move(halves), "f16");
  std::vector<TensorHandle> brain;
  brain.push_back(Random<BFloat16>({3, 700}, 7));
  brain.push_back(Random<BFloat16>({700}, 8));
  ExpectSame(steps, {3}, std::move(brain), "bf16");
}

TEST_F(ElementwiseGroupTest, PR5_AttributesReachTheirOps) {
  const std::vector<Step> steps = {{"tf.LeakyRelu", {0}, Attrs("alpha", 0.3f)},
                                   {"tandem.Gelu", {1}, Attrs("approximate", true)},
                                   {"tf.LeakyRelu", {2}}};
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>({1500}, 9));
  ExpectSame(steps, {0, 2}, std::move(inputs), "alpha and approximate");
}

TEST_F(ElementwiseGroupTest, PR5_EveryOpAndDType) { EXPECT_GT(ExpectSameOfEveryOpAndDType(DType::kF64), 300); }

// Numbers for which the order of operands, or how a choice is made, shows: in all pairs, and in tiles as well as in
// what is left of them.
TEST_F(ElementwiseGroupTest, PR5_SpecialNumbersInChainsOfCheapOps) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::vector<float> numbers = {
      0.0f, -0.0f, 1.5f, -1.5f, kInf, -kInf, -kTiny, -kLargest, 7e-39f, 0.1f, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> left;
  std::vector<float> right;
  for (const float x : numbers) {
    for (const float y : numbers) {
      left.push_back(x);
      right.push_back(y);
    }
  }
  const std::vector<std::string> unary = {"tf.Neg", "tf.Abs", "tf.Square", "tf.Relu"};
  const std::vector<std::string> binary = {
      "tf.AddV2", "tf.Sub", "tf.Mul", "tf.RealDiv", "tf.Maximum", "tf.Minimum", "tf.SquaredDifference"};
  const auto count = static_cast<int64_t>(left.size());
  std::vector<TensorHandle> inputs;
  inputs.push_back(Dense<float>({count}, left));
  inputs.push_back(Dense<float>({count}, right));
  // The numbers themselves, from registers: the reverse of the reverse.
  for (const std::string& op : unary) {
    ExpectSame({{"tf.Neg", {0}}, {"tf.Neg", {2}}, {op, {3}}}, {2}, Copies(inputs), op);
  }
  for (const std::string& op : binary) {
    ExpectSame({{"tf.Neg", {0}}, {"tf.Neg", {2}}, {op, {3, 1}}}, {2}, Copies(inputs), op + ", the first computed");
    ExpectSame({{"tf.Neg", {1}}, {"tf.Neg", {2}}, {op, {0, 3}}}, {2}, Copies(inputs), op + ", the second computed");
    ExpectSame({{"tf.Neg", {0}}, {op, {0, 1}}}, {0, 1}, Copies(inputs), op + ", none computed");
    ExpectSame({{"tf.Neg", {0}}, {op, {2, 2}}, {op, {3, 2}}}, {2}, Copies(inputs), op + ", one used twice");
  }
}

TEST_F(ElementwiseGroupTest, PR5_ChainsOfCheapOpsOfEverySize) {
  // One number for all, a row for all rows, one of f16, and steps that have no tiles between others.
  const std::vector<Step> steps = {
      {"tf.Mul", {0, 1}},     {"tf.AddV2", {4, 2}},   {"tf.Sigmoid", {5}},
      {"tf.Sub", {1, 6}},     {"tf.Maximum", {7, 4}}, {"tf.Cast", {3}, Attrs("DstT", DType::kF32)},
      {"tf.RealDiv", {8, 9}}, {"tf.Relu", {10}},      {"tf.Minimum", {2, 11}},
      {"tf.Square", {12}},    {"tf.AddV2", {13, 13}}};
  for (const int64_t columns : {1, 2, 31, 32, 33, 64, 96, 127, 128, 129, 160, 191, 1000, 1056, 5000}) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Random<float>({3, columns}, 1));
    inputs.push_back(Random<float>({1}, 2));
    inputs.push_back(Random<float>({columns}, 3));
    inputs.push_back(Random<Float16>({3, columns}, 4));
    ExpectSame(steps, {10}, Copies(inputs), std::to_string(columns));
    ExpectSame(steps, {1, 4, 9, 10}, std::move(inputs), std::to_string(columns) + ", several results");
  }
}

TEST_F(ElementwiseGroupTest, PR5_OneGroupForInputsOfChangingMetadata) {
  const auto group = Group(2, {{"tf.AddV2", {0, 1}}, {"tf.Maximum", {2, 1}}}, {1});
  for (int round = 0; round < 2; ++round) {
    for (const int64_t n : {3, 100, 2000}) {
      for (const bool is_float : {true, false}) {
        std::vector<TensorHandle> inputs;
        for (const int64_t size : {n, int64_t{1}}) {
          inputs.push_back(is_float ? Random<float>({size}, 1) : Random<int32_t>({size}, 1));
        }
        const auto expected = Run("tf.Maximum", {Run("tf.AddV2", Copies(inputs)), inputs[1].CopyRef()});
        ExpectSameBits(RunGroup(group, std::move(inputs))[0], expected, std::to_string(n));
      }
    }
  }
}

TEST_F(ElementwiseGroupTest, PR5_WhatCannotBeOneIsTold) {
  const std::vector<Step> steps = {{"tf.AddV2", {0, 1}}, {"tf.AddV2", {2, 1}}};
  const auto group = Group(2, steps, {1});
  ASSERT_NE(group, nullptr);
  std::vector<TensorHandle> wrong;
  wrong.push_back(Random<float>({2}, 1));
  wrong.push_back(Random<float>({3}, 1));
  EXPECT_FALSE(CanInfer(*group, wrong)) << "shapes that do not fit";
  wrong[1] = Random<int32_t>({2}, 1);
  EXPECT_FALSE(CanInfer(*group, wrong)) << "dtypes that do not fit";
  wrong[0] = Strings({2}, {"a", "b"});
  wrong[1] = Strings({2}, {"a", "b"});
  EXPECT_FALSE(CanInfer(*group, wrong)) << "strings";

  // The second result is larger than the first.
  const auto growing = Group(3, {{"tf.AddV2", {0, 1}}, {"tf.AddV2", {3, 2}}}, {1});
  std::vector<TensorHandle> shapes;
  shapes.push_back(Random<float>({2}, 1));
  shapes.push_back(Random<float>({2}, 1));
  shapes.push_back(Random<float>({3, 2}, 1));
  EXPECT_FALSE(CanInfer(*growing, shapes));
}

TEST_F(ElementwiseGroupTest, PR5_OpsThatLookAtTheirOperandsStayAlone) {
  const OpDef* const division = runtime().registry().Find("tf.FloorDiv");
  ASSERT_NE(division, nullptr);
  EXPECT_FALSE(cpu()->fuser()->CanFuse(*division, DType::kI32)) << "division by zero is an error";
  const OpDef* const equal = runtime().registry().Find("tf.Equal");
  EXPECT_FALSE(cpu()->fuser()->CanFuse(*equal, Attrs("incompatible_shape_error", false)));
}

TEST_F(ElementwiseGroupTest, TH5_TheResultMayTakeOverAnInput) {
  const auto group = Group(2, {{"tf.AddV2", {0, 1}}, {"tf.Neg", {2}}}, {1});
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>({4000}, 1));
  inputs.push_back(Random<float>({4000}, 2));
  const TensorHandle kept = inputs[0].CopyRef();
  const void* const memory = inputs[1].tensor().data();
  const auto results = RunGroup(group, std::move(inputs));
  ASSERT_TRUE(host().Await(results[0]).ok());
  EXPECT_EQ(results[0].tensor().data(), memory) << "of the one that nobody else has";
  EXPECT_NE(results[0].tensor().data(), kept.tensor().data());
}

TEST_F(ElementwiseGroupTest, PR6_InputsMayBePending) { ExpectInputsMayBePending(); }

TEST_F(ElementwiseGroupTest, PR5_RandomGraphs) { ExpectSameOfRandomGraphs(200); }

}  // namespace
}  // namespace tandem
