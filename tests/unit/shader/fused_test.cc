// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Groups of element-wise ops on a device without a GPU: parts within the limits, one pipeline for a structure, waiting
// for it, failures, and constants of programs that are brought to the device once (PR-5).

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "elementwise_group_test_fixture.h"
#include "fake_shader_queue.h"
#include "kernels/elementwise/shader_fuser.h"
#include "tandem/program_runner.h"
#include "tandem/shader/shader_op_handler.h"

namespace tandem::shader {
namespace {

// Of inputs a, b, c: a * b + c, maybe in the place of a; all have the same shape, of a multiple of four elements.
void MultiplyAndAdd(std::span<Words* const> buffers, std::span<const uint32_t> parameters,
                    const std::array<uint32_t, 3>&) {
  const size_t last = buffers.size() - 1;
  const auto number = [&](size_t buffer, size_t i) { return std::bit_cast<float>((*buffers[buffer])[i]); };
  for (size_t i = 0; i < parameters[0] * 4; ++i) {
    const float a = number(last == 3 ? 0 : last, i);
    (*buffers[last])[i] = std::bit_cast<uint32_t>(a * number(last - 2, i) + number(last - 1, i));
  }
}

// Outlives the runtime, and so comes before it.
struct FakeControls {
  FakeShaderQueue::Controls controls_;
};

class FusedTest : protected FakeControls, public ElementwiseGroups {
 protected:
  FusedTest() {
    controls_.shaders["tandem.Fused"] = &MultiplyAndAdd;
    auto handler = CreateShaderOpHandler(runtime(), std::make_unique<FakeShaderQueue>(controls_),
                                         {.name = "fake", .memory = {}, .fallback = cpu()});
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
    EnableProgramFusion(*handler_);
  }
  KernelOpHandler* handler() override { return handler_; }

  std::shared_ptr<const ElementwiseGroup> MultiplyAndAddGroup() {
    return Group(3, {{"tf.Mul", {0, 1}}, {"tf.AddV2", {3, 2}}}, {1});
  }
  std::vector<TensorHandle> Three() {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({4}, {1, 2, 3, 4}));
    inputs.push_back(Dense<float>({4}, {5, 6, 7, 8}));
    inputs.push_back(Dense<float>({4}, {9, 10, 11, 12}));
    return inputs;
  }

  // The plan of a group of `fuser`.
  RcRef<const FusedPlan> PlanOf(const ShaderFuser& fuser, uint32_t num_inputs, const std::vector<Step>& steps,
                                const std::vector<uint32_t>& outputs, const std::vector<TensorMetadata>& inputs) {
    std::vector<ElementwiseStep> group_steps;
    for (const Step& step : steps) {
      group_steps.push_back({runtime().registry().FindShared(step.op), step.attrs, step.operands});
    }
    const ElementwiseGroup group(fuser, num_inputs, std::move(group_steps), outputs);
    std::vector<const TensorMetadata*> metadata;
    for (const TensorMetadata& input : inputs) metadata.push_back(&input);
    auto typing = group.Infer(metadata);
    return typing ? fuser.MakePlan(group, std::move(typing)) : nullptr;
  }
  // Every tensor is given before it is read, outputs are given once, and each shader is within the limits.
  static void ExpectValid(const FusedPlan& plan, uint32_t num_inputs, size_t num_outputs, const GpuLimits& limits) {
    std::set<uint32_t> given;
    for (uint32_t i = 0; i < num_inputs; ++i) given.insert(i);
    size_t num_given = 0;
    for (const FusedPlan::Part& part : plan.parts) {
      for (const uint32_t place : part.reads) EXPECT_TRUE(given.contains(place));
      for (const uint32_t place : part.writes) {
        EXPECT_EQ(std::ranges::count(part.reads, place), 0);
        if (place < num_inputs + num_outputs) {
          EXPECT_TRUE(given.insert(place).second);
          ++num_given;
        } else {
          EXPECT_LT(place - num_inputs - num_outputs, plan.temporary_bytes.size());
          given.insert(place);
        }
      }
      const ShaderText text = part.launch.variant.Compose();
      EXPECT_EQ(text.buffers.size(), part.reads.size() + part.writes.size());
      EXPECT_LE(text.buffers.size(), limits.max_storage_buffers);
      EXPECT_EQ(text.num_parameters, part.launch.parameters.words().size());
      EXPECT_LE(text.wgsl.size(), 40'000u);
    }
    EXPECT_EQ(num_given, num_outputs);
  }

  ShaderOpHandler* handler_ = nullptr;
};

TEST_F(FusedTest, PR5_AGroupIsOneDispatchOfItsBuffers) {
  const auto results = RunGroup(MultiplyAndAddGroup(), Three());
  EXPECT_EQ(Values<float>(OnHost(results[0])), (std::vector<float>{14, 22, 32, 44}));
  EXPECT_EQ(controls_.counters.dispatches, 1u);
}

TEST_F(FusedTest, PR5_PipelinesAreOfStructuresAndNotOfGroups) {
  for (int i = 0; i < 3; ++i) static_cast<void>(OnHost(RunGroup(MultiplyAndAddGroup(), Three())[0]));
  // Other inputs in other places, and other sizes.
  const auto same = Group(4, {{"tf.Mul", {3, 1}}, {"tf.AddV2", {4, 0}}}, {1});
  std::vector<TensorHandle> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(Random<float>({6, 4}, i));
  static_cast<void>(OnHost(RunGroup(same, std::move(inputs))[0]));
  EXPECT_EQ(controls_.compiled, std::vector<std::string>{"tandem.Fused"});
  EXPECT_EQ(static_cast<const ShaderFuser*>(handler_->fuser())->num_sources(), 1u);
}

TEST_F(FusedTest, DI4_ResultsWaitForTheirPipelines) {
  controls_.holds_pipelines = true;
  const auto results = RunGroup(MultiplyAndAddGroup(), Three());
  EXPECT_FALSE(results[0].IsAvailable());
  EXPECT_EQ(TextOf(results[0].metadata()), "f32[4]");
  controls_.ReleasePipelines();
  EXPECT_TRUE(results[0].IsConcrete());
  EXPECT_EQ(Values<float>(OnHost(results[0])), (std::vector<float>{14, 22, 32, 44}));
}

TEST_F(FusedTest, ER5_AShaderThatDoesNotCompileIsAnErrorOfTheGroup) {
  controls_.shaders.clear();
  const auto results = RunGroup(MultiplyAndAddGroup(), Three());
  EXPECT_EQ(ErrorOf(results[0]),
            "[tandem.Fused(tf.Mul, tf.AddV2)] shader tandem.Fused must compile, got: no such thing");
}

TEST_F(FusedTest, ER5_MemoryThatCannotBeHadIsAnErrorOfTheGroup) {
  std::vector<TensorHandle> inputs;
  for (const TensorHandle& input : Three()) {
    inputs.push_back(input.TransferTo(ExecutionContext(host(), Location()), handler_->gpu()));
  }
  const auto kept = Copies(inputs);
  controls_.capacity = controls_.bytes;
  const auto results = RunGroup(MultiplyAndAddGroup(), std::move(inputs));
  EXPECT_EQ(ErrorCodeOf(results[0]), StatusCode::kResourceExhausted);
}

TEST_F(FusedTest, PR5_AttributesAndSizesAreParameters) {
  const ShaderFuser fuser((GpuLimits()));
  const auto plan = [&](float alpha, const TensorShape& shape) {
    return PlanOf(fuser, 2, {{"tf.LeakyRelu", {0}, Attrs("alpha", alpha)}, {"tf.AddV2", {2, 1}}}, {1},
                  {{DType::kF32, shape}, {DType::kF32, {shape.dim(1)}}});
  };
  const auto one = plan(0.25f, {6, 8});
  const auto other = plan(0.5f, {3, 100});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->parts[0].launch.variant, other->parts[0].launch.variant);
  const std::span<const uint32_t> words = other->parts[0].launch.parameters.words();
  // Units, nothing, alpha, units of a row, strides of the second input.
  EXPECT_EQ(std::vector<uint32_t>(words.begin(), words.end()),
            (std::vector<uint32_t>{75, 0, std::bit_cast<uint32_t>(0.5f), 25, 0, 1}));
  EXPECT_EQ(fuser.num_sources(), 1u);
}

TEST_F(FusedTest, PR5_RandomGroupsKeepTheLimits) {
  std::mt19937 random(5);
  const auto shapes =
      std::vector<TensorShape>{{4, 1, 3, 1, 2, 1, 5, 8}, {8}, {}, {1, 2, 1, 1, 2, 1, 1, 1}, {2, 1, 5, 1}};
  for (int round = 0; round < 200; ++round) {
    GpuLimits limits;
    limits.max_storage_buffers = round % 2 == 0 ? 8 : 16;
    const ShaderFuser fuser(limits);
    const uint32_t num_inputs = 1 + random() % 20;
    std::vector<TensorMetadata> inputs = {{DType::kF32, {4, 2, 3, 3, 2, 7, 5, 8}}};
    for (uint32_t i = 1; i < num_inputs; ++i) inputs.push_back({DType::kF32, shapes[random() % shapes.size()]});
    std::vector<Step> steps;
    std::vector<uint32_t> outputs;
    const uint32_t num_steps = 2 + random() % 120;
    for (uint32_t i = 0; i < num_steps; ++i) {
      const uint32_t whole = i == 0 || random() % 8 == 0 ? 0 : num_inputs + random() % i;
      const uint32_t other = random() % (num_inputs + i);
      if (random() % 4 == 0) {
        steps.push_back({"tf.LeakyRelu", {whole}, Attrs("alpha", 0.5f)});
      } else {
        steps.push_back({random() % 2 == 0 ? "tf.Mul" : "tf.Pow", {whole, other}});
      }
      if (i + 1 == num_steps || random() % 4 == 0) outputs.push_back(i);
    }
    const auto plan = PlanOf(fuser, num_inputs, steps, outputs, inputs);
    ASSERT_TRUE(plan) << round;
    ExpectValid(*plan, num_inputs, outputs.size(), limits);
  }
}

TEST_F(FusedTest, PR5_TemporariesAreUsedAgain) {
  const ShaderFuser fuser((GpuLimits()));
  std::vector<Step> steps;
  for (uint32_t i = 0; i < 256; ++i) steps.push_back({"tf.AddV2", {i == 0 ? 0 : 1 + i, 1}});
  const std::vector<TensorMetadata> inputs(2, {DType::kF32, {1000}});
  const auto plan = PlanOf(fuser, 2, steps, {255}, inputs);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->parts.size(), 256 / ShaderFuser::kMaxSteps);
  EXPECT_EQ(plan->temporary_bytes, (std::vector<uint64_t>{4000, 4000}));
  ExpectValid(*plan, 2, 1, GpuLimits());
}

TEST_F(FusedTest, PR5_StructuresThatAreRememberedAreBounded) {
  const ShaderFuser fuser((GpuLimits()));
  const std::vector<TensorMetadata> inputs(2, {DType::kF32, {4}});
  std::mt19937 random(3);
  for (int round = 0; round < 1200; ++round) {
    std::vector<Step> steps;
    for (uint32_t i = 0; i < 16; ++i) {
      steps.push_back({random() % 2 == 0 ? "tf.AddV2" : "tf.Mul", {i == 0 ? 0 : 1 + i, 1}});
    }
    const auto plan = PlanOf(fuser, 2, steps, {15}, inputs);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->parts.size(), round < 1000 ? 1u : round < 1100 ? plan->parts.size() : 16u) << "one by one at last";
  }
  EXPECT_LE(fuser.num_sources(), ShaderFuser::kMaxSources + 4);
}

// ---- Programs.

constexpr std::string_view kProgram = R"(
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("fake")
  %w = corert.const_dense_tensor dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %b = corert.const_dense_tensor dense<[9.0, 10.0, 11.0, 12.0]> : tensor<4xf32>
  %y = corert.executeop(%gpu) "tf.Mul"(%x, %w)
  %z = corert.executeop(%gpu) "tf.AddV2"(%y, %b)
  tfrt.return %z : !corert.tensorhandle
})";

class FusedProgramTest : public FusedTest {
 protected:
  StatusOr<ProgramRunner> Make(std::string_view text, bool fuse = true) {
    StatusOr<RcRef<const Program>> program = Program::FromText(text, "test.mlir");
    if (!program.ok()) return program.status();
    ProgramRunner::Options options;
    options.fuse = fuse;
    return ProgramRunner::Create(runtime(), *std::move(program), options);
  }
  TensorHandle RunMain(const ProgramRunner& runner) {
    TensorHandle x = Dense<float>({4}, {1, 2, 3, 4});
    x = x.TransferTo(ExecutionContext(host(), Location()), handler_->gpu());
    TensorHandle result;
    runner.Run("main", ExecutionContext(host(), Location()), {&x, 1}, {&result, 1});
    return result;
  }
};

TEST_F(FusedProgramTest, PR5_ConstantsAreBroughtToTheDeviceOnce) {
  StatusOr<ProgramRunner> runner = Make(kProgram);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  EXPECT_EQ(controls_.uploads, 2u) << "when the program is made ready";
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(Values<float>(OnHost(RunMain(*runner))), (std::vector<float>{14, 22, 32, 44}));
    EXPECT_EQ(controls_.uploads, 2 + i) << "the argument";
  }
  const uint64_t bytes = handler_->gpu().memory().stats().bytes_in_use;
  runner = InvalidArgument("gone");
  EXPECT_LT(handler_->gpu().memory().stats().bytes_in_use, bytes) << "freed with the runner";
  EXPECT_EQ(handler_->gpu().memory().stats().bytes_in_use, 0u);
}

TEST_F(FusedProgramTest, PR5_ConstantsAreBroughtOnceForOpsThatAreNotFusedToo) {
  controls_.shaders["tf.Mul"] =
      controls_.shaders["tf.AddV2"] = [](std::span<Words* const> buffers, std::span<const uint32_t>,
                                         const std::array<uint32_t, 3>&) { std::ranges::fill(*buffers.back(), 0); };
  const StatusOr<ProgramRunner> runner = Make(kProgram, /*fuse=*/false);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(Values<float>(OnHost(RunMain(*runner))), (std::vector<float>{0, 0, 0, 0}));
    EXPECT_EQ(controls_.uploads, 2 + i);
  }
}

TEST_F(FusedProgramTest, EX13_WhatTheHostReadsOrTheFallbackComputesStaysThere) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("fake")
  %shape = corert.const_dense_tensor dense<[2, 2]> : tensor<2xi64>
  %double = corert.const_dense_tensor dense<[1.0, 2.0]> : tensor<2xf64>
  %y = corert.executeop(%gpu) "tf.Reshape"(%x, %shape)
  %z = corert.executeop(%gpu) "tf.Neg"(%double)
  tfrt.return %y : !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  EXPECT_EQ(controls_.uploads, 0u);
  EXPECT_EQ(Values<float>(OnHost(RunMain(*runner))), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(FusedProgramTest, ER5_AConstantThatCouldNotBeBroughtIsTriedAgain) {
  controls_.upload_error = ResourceExhausted("the fake is busy");
  const StatusOr<ProgramRunner> runner = Make(kProgram);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  controls_.upload_error = Status();
  EXPECT_EQ(Values<float>(OnHost(RunMain(*runner))), (std::vector<float>{14, 22, 32, 44}));
}

TEST_F(FusedProgramTest, PR5_ATransferOfAConstantIsDoneOnce) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("fake")
  %w = corert.const_dense_tensor dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %y = corert.transfer %w, %gpu
  tfrt.return %y : !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const TensorHandle first = RunMain(*runner);
  const TensorHandle second = RunMain(*runner);
  EXPECT_EQ(&ShaderDevice::BufferOf(first.tensor()), &ShaderDevice::BufferOf(second.tensor()));
  EXPECT_EQ(Values<float>(OnHost(first)), (std::vector<float>{5, 6, 7, 8}));
}

}  // namespace
}  // namespace tandem::shader
