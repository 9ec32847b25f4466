// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs whose element-wise ops are computed as one: same results, same errors, fewer ops (PR-5).

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program_fusion_test_fixture.h"

namespace tandem {
namespace {

constexpr std::string_view kChain = R"(
func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %a = corert.executeop(%cpu) "tf.Mul"(%x, %y)
  %half = corert.const_dense_tensor dense<0.5> : tensor<f32>
  %b = corert.executeop(%cpu) "tf.AddV2"(%a, %half)
  %c = corert.executeop(%cpu) "tf.Relu"(%b)
  %d = corert.executeop(%cpu) "tf.LeakyRelu"(%c) {alpha = 2}
  %e = corert.executeop(%cpu) "tf.Cast"(%d) {DstT = f64}
  tfrt.return %e : !corert.tensorhandle
})";

TEST_F(ProgramFusionTest, PR5_AChainIsOneOp) {
  const std::vector<TensorHandle> inputs = Two({1, -2, 3}, {2, 2, 2});
  EXPECT_EQ(CountOps(Make(kChain, true), inputs, 1), 1);
  EXPECT_EQ(CountOps(Make(kChain, false), inputs, 1), 5);
  EXPECT_EQ(Values<double>(RunMain(Make(kChain, true), inputs, 1)[0]), (std::vector<double>{2.5, 0, 6.5}));
  ExpectSame(kChain, inputs, 1);
}

TEST_F(ProgramFusionTest, PR5_OtherOpsEndARun) {
  constexpr std::string_view kText = R"(
func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler("cpu")
  %a = corert.executeop(%cpu) "tf.Mul"(%x, %y)
  %b = corert.executeop(%cpu) "tf.Neg"(%a)
  %axis = corert.const_dense_tensor dense<0> : tensor<i32>
  %s = corert.executeop(%cpu) "tf.Sum"(%b, %axis)
  %c = corert.executeop(%cpu) "tf.AddV2"(%a, %s)
  %d = corert.executeop(%cpu) "tf.Abs"(%c)
  tfrt.return %d, %s : !corert.tensorhandle, !corert.tensorhandle
})";
  const std::vector<TensorHandle> inputs = Two({1, 2, 3, 4}, {2, 2, -2, 1});
  EXPECT_EQ(CountOps(Make(kText, true), inputs, 2), 3) << "two runs and the sum between them";
  ExpectSame(kText, inputs, 2);
}

TEST_F(ProgramFusionTest, PR5_WhatIsUsedLaterIsKept) {
  constexpr std::string_view kText = R"(
func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler("cpu")
  %a = corert.executeop(%cpu) "tf.Mul"(%x, %y)
  %b = corert.executeop(%cpu) "tf.AddV2"(%a, %x)
  %c = corert.executeop(%cpu) "tf.Neg"(%b)
  tfrt.return %c, %a, %x : !corert.tensorhandle, !corert.tensorhandle, !corert.tensorhandle
})";
  const std::vector<TensorHandle> inputs = Two({1, 2, 3}, {2, 2, -2});
  EXPECT_EQ(CountOps(Make(kText, true), inputs, 3), 1);
  const auto results = RunMain(Make(kText, true), inputs, 3);
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{-3, -6, 3}));
  EXPECT_EQ(Values<float>(results[1]), (std::vector<float>{2, 4, -6}));
  EXPECT_EQ(Values<float>(results[2]), (std::vector<float>{1, 2, 3}));
}

TEST_F(ProgramFusionTest, PR5_AProgramFitsCallsOfAnyDTypeAndShape) {
  constexpr std::string_view kText = R"(
func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %a = corert.executeop(%cpu) "tf.Mul"(%x, %y)
  %b = corert.executeop(%cpu) "tf.AddV2"(%a, %y)
  tfrt.return %b : !corert.tensorhandle
})";
  const ProgramRunner runner = Make(kText, true);
  EXPECT_EQ(Values<float>(RunMain(runner, Two({1, 2}, {3, 4}), 1)[0]), (std::vector<float>{6, 12}));
  std::vector<TensorHandle> integers;
  integers.push_back(Dense<int32_t>({2, 1}, {1, 2}));
  integers.push_back(Dense<int32_t>({1, 3}, {1, 10, 100}));
  const auto results = RunMain(runner, integers, 1);
  EXPECT_EQ(MetadataOf(results[0]), "i32[2,3]");
  EXPECT_EQ(Values<int32_t>(results[0]), (std::vector<int32_t>{2, 20, 200, 3, 30, 300}));
  EXPECT_EQ(Values<float>(RunMain(runner, Two({1, 2}, {3, 4}), 1)[0]), (std::vector<float>{6, 12}));
}

TEST_F(ProgramFusionTest, PR5_ErrorsAreThoseOfTheOps) {
  const std::vector<TensorHandle> wrong = Two({1, 2}, {1, 2, 3});
  const auto fused = RunMain(Make(kChain, true), wrong, 1);
  const auto expected = RunMain(Make(kChain, false), wrong, 1);
  ASSERT_TRUE(fused[0].IsError());
  EXPECT_EQ(fused[0].GetError().ToString(), expected[0].GetError().ToString());
  EXPECT_EQ(fused[0].GetError().op(), "tf.Mul");
  EXPECT_EQ(fused[0].GetError().location().line, 4u);
  std::vector<TensorHandle> failed;
  failed.push_back(TensorHandle::MakeError(InvalidArgument("bad")));
  failed.push_back(Dense<float>({1}, {1}));
  EXPECT_EQ(RunMain(Make(kChain, true), failed, 1)[0].GetError().ToString(),
            RunMain(Make(kChain, false), failed, 1)[0].GetError().ToString());
}

TEST_F(ProgramFusionTest, PR5_PendingArgumentsAreWaitedFor) {
  auto producer = Producer<Tensor>::MakeConstructed(TensorMetadata(DType::kF32, {2}), &host().device());
  std::vector<TensorHandle> inputs;
  inputs.emplace_back(producer.ref(), &host().device());
  inputs.push_back(Dense<float>({2}, {1, 2}));
  const auto results = RunMain(Make(kChain, true), inputs, 1);
  EXPECT_FALSE(results[0].IsAvailable());
  producer.value().TakePayload(Dense<float>({2}, {3, 4}).tensor());
  producer.SetConcrete();
  EXPECT_EQ(Values<double>(results[0]), (std::vector<double>{3.5, 8.5}));
}

TEST_F(ProgramFusionTest, PR5_ALongChainOfLargeTensors) {
  std::string text =
      "func @main(%x0: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {\n"
      "  %cpu = corert.get_op_handler(\"cpu\")\n";
  constexpr int kOps = 300;  // more than one group
  for (int i = 0; i < kOps; ++i) {
    text += "  %x" + std::to_string(i + 1) + " = corert.executeop(%cpu) \"" +
            (i % 3 == 0   ? "tf.AddV2"
             : i % 3 == 1 ? "tf.Sub"
                          : "tf.Maximum") +
            "\"(%x" + std::to_string(i) + ", %y)\n";
  }
  text += "  tfrt.return %x" + std::to_string(kOps) + " : !corert.tensorhandle\n}\n";
  std::vector<float> x(100000);
  std::vector<float> y(100000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 77) - 30;
  }
  ExpectSame(text, Two(x, y), 1);
}

}  // namespace
}  // namespace tandem
