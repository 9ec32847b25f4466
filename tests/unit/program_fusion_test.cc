// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs whose element-wise ops are computed as one: same results, same errors, fewer ops (PR-5).

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/program_runner.h"

namespace tandem {
namespace {

class ProgramFusionTest : public OpTest {
 protected:
  void SetUp() override {
    if (cpu()->fuser() == nullptr) GTEST_SKIP() << "this build is for small modules, which run no programs";
  }

  ProgramRunner Make(std::string_view text, bool fuse) {
    StatusOr<RcRef<const Program>> program = Program::FromText(text, "test.mlir");
    EXPECT_TRUE(program.ok()) << program.status().ToString();
    ProgramRunner::Options options;
    options.fuse = fuse;
    StatusOr<ProgramRunner> runner = ProgramRunner::Create(runtime(), *std::move(program), options);
    EXPECT_TRUE(runner.ok()) << runner.status().ToString();
    return *std::move(runner);
  }
  std::vector<TensorHandle> RunMain(const ProgramRunner& runner, const std::vector<TensorHandle>& inputs,
                                    size_t num_results) {
    std::vector<TensorHandle> args;
    for (const TensorHandle& input : inputs) args.push_back(input.CopyRef());
    std::vector<TensorHandle> results(num_results);
    runner.Run("main", ExecutionContext(host(), Location()), args, results);
    return results;
  }
  // How many ops a run of the program executes.
  int64_t CountOps(const ProgramRunner& runner, const std::vector<TensorHandle>& inputs, size_t num_results) {
    host().tracer().Clear();
    host().StartTracing();
    for (const TensorHandle& result : RunMain(runner, inputs, num_results)) {
      static_cast<void>(host().Await(result));
    }
    host().StopTracing();
    return host().tracer().num_events();
  }
  void ExpectSame(std::string_view text, const std::vector<TensorHandle>& inputs, size_t num_results) {
    const auto fused = RunMain(Make(text, true), inputs, num_results);
    const auto expected = RunMain(Make(text, false), inputs, num_results);
    for (size_t i = 0; i < num_results; ++i) {
      ASSERT_TRUE(host().Await(fused[i]).ok()) << host().Await(fused[i]).ToString();
      ASSERT_TRUE(host().Await(expected[i]).ok());
      ASSERT_EQ(TextOf(fused[i].metadata()), TextOf(expected[i].metadata()));
      const StatusOr<Tensor> x = ToDense(fused[i].tensor(), host().allocator());
      const StatusOr<Tensor> y = ToDense(expected[i].tensor(), host().allocator());
      ASSERT_TRUE(x.ok() && y.ok());
      EXPECT_EQ(std::memcmp(x->data(), y->data(), x->metadata().byte_size()), 0) << "result " << i;
    }
  }
  std::vector<TensorHandle> Two(std::vector<float> x, std::vector<float> y) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({static_cast<int64_t>(x.size())}, x));
    inputs.push_back(Dense<float>({static_cast<int64_t>(y.size())}, y));
    return inputs;
  }
};

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
