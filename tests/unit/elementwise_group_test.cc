// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Groups of element-wise ops: the same bits as the ops one by one, whatever ops, dtypes, shapes and representations
// (PR-5, PR-6).

#include "tandem/elementwise_group.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "elementwise_group_test_fixture.h"

namespace tandem {
namespace {

class ElementwiseGroupTest : public ElementwiseGroups {
 protected:
  void SetUp() override {
    if (cpu()->fuser() == nullptr) GTEST_SKIP() << "this build is for small modules, which run no programs";
  }
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
  const std::vector<Step> steps = {{"tf.Mul", {0, 1}}, {"tf.Tanh", {2}}, {"tf.AddV2", {3, 0}}, {"tf.Neg", {4}}};
  for (const int64_t n : {0, 1, 7, 1023, 1024, 1025, 5000, 70001}) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Random<float>({n}, 1));
    inputs.push_back(Random<float>({n}, 2));
    ExpectSame(steps, {3}, std::move(inputs), std::to_string(n));
  }
}

TEST_F(ElementwiseGroupTest, PR5_WhatIsBetweenIsThereIfSomebodyWantsIt) {
  const std::vector<Step> steps = {{"tf.Mul", {0, 0}}, {"tf.AddV2", {1, 0}}, {"tf.Neg", {2}}};
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>({3000}, 3));
  ExpectSame(steps, {0, 1, 2}, Copies(inputs), "all of them");
  ExpectSame(steps, {1, 2}, std::move(inputs), "two of them");
}

TEST_F(ElementwiseGroupTest, PR5_StretchedAndSingleInputs) {
  const std::vector<Step> steps = {
      {"tf.Sub", {0, 1}}, {"tf.Mul", {4, 2}}, {"tf.AddV2", {3, 5}}, {"tf.Maximum", {6, 2}}};
  const auto shapes = std::vector<TensorShape>{{}, {1}, {40}, {9, 1}, {5, 1, 40}, {5, 9, 40}, {1, 1, 1}};
  int seed = 0;
  for (const TensorShape& b : shapes) {
    for (const TensorShape& c : shapes) {
      std::vector<TensorHandle> inputs;
      inputs.push_back(Random<float>({5, 9, 40}, ++seed));
      inputs.push_back(Random<float>(b, ++seed));
      inputs.push_back(Random<float>(c, ++seed));
      inputs.push_back(Spread<float>(b, 0.75f));
      ExpectSame(steps, {3}, std::move(inputs), TextOf(b, " and ", c));
    }
  }
}

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

TEST_F(ElementwiseGroupTest, PR6_InputsMayBePending) {
  const auto group = Group(1, {{"tf.Neg", {0}}, {"tf.AddV2", {1, 0}}, {"tf.Exp", {2}}}, {2});
  auto producer = Producer<Tensor>::MakeConstructed(TensorMetadata(DType::kF32, {3}), &host().device());
  std::vector<TensorHandle> inputs;
  inputs.emplace_back(producer.ref(), &host().device());
  const auto results = RunGroup(group, std::move(inputs));
  EXPECT_FALSE(results[0].IsAvailable());
  EXPECT_EQ(TextOf(results[0].metadata()), "f32[3]");
  producer.value().TakePayload(Dense<float>({3}, {1, 2, 3}).tensor());
  producer.SetConcrete();
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{1, 1, 1}));
}

TEST_F(ElementwiseGroupTest, PR5_RandomGraphs) { ExpectSameOfRandomGraphs(200); }

}  // namespace
}  // namespace tandem
