// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Groups of element-wise ops on a GPU: the same bits as the ops one by one, whatever ops, dtypes, shapes and limits
// (PR-5, PR-6).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "elementwise_group_test_fixture.h"
#include "tandem/program_runner.h"
#include "tandem/vulkan/vulkan_op_handler.h"

namespace tandem::vulkan {
namespace {

class VulkanGroupsTest : public ElementwiseGroups {
 protected:
  void SetUp() override {
    VulkanOptions options;
    options.fallback = cpu();
    options.cache_folder = "off";
    auto handler = CreateVulkanOpHandler(runtime(), options);
    if (!handler.ok()) {
      ASSERT_EQ(handler.status().code(), StatusCode::kNotFound) << handler.status().ToString();
      GTEST_SKIP() << "there is no Vulkan device";
    }
    vulkan_ = *handler;
  }
  KernelOpHandler* handler() override { return vulkan_; }

  TensorHandle OnGpu(const TensorHandle& handle) {
    return handle.TransferTo(ExecutionContext(host(), Location()), vulkan_->gpu());
  }
  uint64_t CountDispatches() { return vulkan_->gpu().queue().counters().dispatches; }
  // Of one run of the group, whose inputs are on the device.
  uint64_t CountDispatches(const std::shared_ptr<const ElementwiseGroup>& group, std::vector<TensorHandle> inputs) {
    // Pipelines are made, and scalars expanded, before.
    for (const TensorHandle& result : RunGroup(group, Copies(inputs))) static_cast<void>(OnHost(result));
    const uint64_t before = CountDispatches();
    for (const TensorHandle& result : RunGroup(group, std::move(inputs))) static_cast<void>(OnHost(result));
    return CountDispatches() - before;
  }

  shader::ShaderOpHandler* vulkan_ = nullptr;
};

TEST_F(VulkanGroupsTest, PR5_AChainIsOneDispatch) {
  const std::vector<Step> steps = {{"tf.Mul", {0, 1}}, {"tf.AddV2", {3, 2}}, {"tf.Relu", {4}}};
  const auto group = Group(3, steps, {2});
  ASSERT_NE(group, nullptr);
  std::vector<TensorHandle> inputs;
  inputs.push_back(OnGpu(Dense<float>({4}, {1, 2, 3, -4})));
  inputs.push_back(OnGpu(Dense<float>({4}, {2, -2, 2, 2})));
  inputs.push_back(OnGpu(Dense<float>({4}, {0.5f, 1, -10, 1})));
  EXPECT_EQ(Values<float>(OnHost(RunGroup(group, Copies(inputs))[0])), (std::vector<float>{2.5f, 0, 0, 0}));
  EXPECT_EQ(CountDispatches(group, std::move(inputs)), 1u);
}

TEST_F(VulkanGroupsTest, PR5_EverySizeFromNoneToManyWorkgroups) {
  ExpectSameOfSizes({0, 1, 4, 7, 1023, 1024, 70001, 300000});
}

TEST_F(VulkanGroupsTest, PR5_WhatIsBetweenIsThereIfSomebodyWantsIt) { ExpectWhatIsBetween(); }

TEST_F(VulkanGroupsTest, PR5_StretchedAndSingleInputs) { ExpectSameOfStretchedInputs(); }

TEST_F(VulkanGroupsTest, PR5_StretchedInputsOfTheHighestRank) {
  const TensorShape whole = {2, 3, 2, 1, 2, 3, 2, 3};
  const auto shapes = std::vector<TensorShape>{
      {2, 1, 2, 1, 2, 1, 2, 1}, {1, 3, 1, 1, 1, 3, 1, 3}, {3, 1, 1, 2, 1, 2, 1}, {2, 1, 1, 1, 1, 1, 1, 1}, {2, 3},
      {1, 1, 2, 1, 1, 3, 2, 3}};
  std::vector<Step> steps;
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>(whole, 50));
  const auto num_inputs = static_cast<uint32_t>(shapes.size()) + 1;
  for (uint32_t i = 1; i < num_inputs; ++i) {
    inputs.push_back(Random<float>(shapes[i - 1], static_cast<int>(50 + i)));
    steps.push_back({i % 2 == 0 ? "tf.AddV2" : "tf.Mul", {i == 1 ? 0 : num_inputs + i - 2, i}});
  }
  ExpectSame(steps, {num_inputs - 2}, std::move(inputs), "more parameters than one shader has");
}

TEST_F(VulkanGroupsTest, PR5_DTypesMix) {
  const std::vector<Step> steps = {{"tf.Cast", {0}, Attrs("DstT", DType::kF32)},
                                   {"tf.Mul", {2, 1}},
                                   {"tf.Greater", {3, 1}},
                                   {"tf.LogicalNot", {4}},
                                   {"tf.SelectV2", {5, 3, 1}},
                                   {"tf.Cast", {6}, Attrs("DstT", DType::kI32)},
                                   {"tf.BitwiseXor", {7, 0}},
                                   {"tf.Cast", {8}, Attrs("DstT", DType::kU32)},
                                   {"tf.Cast", {9}, Attrs("DstT", DType::kBool)}};
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<int32_t>({4000}, 5));
  inputs.push_back(Random<float>({4000}, 6));
  ExpectSame(steps, {2, 5, 7, 8}, std::move(inputs), "i32, f32, u32, bool");
}

TEST_F(VulkanGroupsTest, PR5_HalvesAreRoundedAfterEachOp) {
  if (!vulkan_->gpu().limits().has_f16) GTEST_SKIP() << "the device has no f16";
  const std::vector<Step> steps = {{"tf.Mul", {0, 1}},
                                   {"tf.Exp", {2}},
                                   {"tf.AddV2", {3, 1}},
                                   {"tf.RealDiv", {4, 0}},
                                   {"tf.Cast", {5}, Attrs("DstT", DType::kF32)},
                                   {"tf.Cast", {6}, Attrs("DstT", DType::kF16, "Truncate", true)}};
  for (const int64_t n : {2000, 2001}) {
    std::vector<TensorHandle> halves;
    halves.push_back(Random<Float16>({n}, 7));
    halves.push_back(Random<Float16>({1}, 8));
    ExpectSame(steps, {3, 4, 5}, std::move(halves), "f16");
  }
}

TEST_F(VulkanGroupsTest, PR5_AttributesReachTheirOps) {
  const std::vector<Step> steps = {{"tf.LeakyRelu", {0}, Attrs("alpha", 0.3f)},
                                   {"tandem.Gelu", {1}, Attrs("approximate", true)},
                                   {"tandem.Gelu", {2}},
                                   {"tf.LeakyRelu", {3}}};
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>({1500}, 9));
  ExpectSame(steps, {0, 3}, std::move(inputs), "alpha and approximate");
}

TEST_F(VulkanGroupsTest, PR5_EveryOpAndDType) { EXPECT_GT(ExpectSameOfEveryOpAndDType(DType::kF32), 150); }

TEST_F(VulkanGroupsTest, PR5_RandomGraphs) { ExpectSameOfRandomGraphs(200); }

// What compilers may not join, since ops round one by one.
TEST_F(VulkanGroupsTest, PR5_RoundingIsThatOfEachOp) {
  std::vector<float> x(4096);
  std::vector<float> y(4096);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sqrt(static_cast<float>(i) + 2) / 3;
    y[i] = -1 / (std::sqrt(static_cast<float>(i) + 3) + 7);
  }
  const std::vector<std::pair<std::vector<Step>, uint32_t>> cases = {
      {{{"tf.Mul", {0, 1}}, {"tf.AddV2", {2, 0}}}, 1},
      {{{"tf.Mul", {0, 1}}, {"tf.Sub", {2, 0}}, {"tf.Mul", {3, 3}}, {"tf.AddV2", {4, 2}}}, 3},
      {{{"tf.AddV2", {0, 1}}, {"tf.Sub", {2, 1}}, {"tf.Sub", {3, 0}}}, 2},
      {{{"tf.RealDiv", {0, 1}}, {"tf.Mul", {2, 1}}, {"tf.Sub", {3, 0}}}, 2},
      {{{"tf.Sqrt", {0}}, {"tf.Mul", {2, 2}}, {"tf.Sub", {3, 0}}}, 2},
  };
  for (const auto& [steps, output] : cases) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({4096}, x));
    inputs.push_back(Dense<float>({4096}, y));
    // Where each op rounds, what a difference leaves is the error of rounding.
    ExpectSame(steps, {output}, Copies(inputs), steps.back().op);
  }
}

TEST_F(VulkanGroupsTest, PR5_NaNInfinitiesAndZeros) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {0.0f, -0.0f, 1, -1, kInf, -kInf, kNaN, 3e38f, -3e38f, 1e-30f};
  std::vector<float> x;
  std::vector<float> y;
  for (const float a : numbers) {
    for (const float b : numbers) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  for (const std::string op : {"tf.AddV2", "tf.Mul", "tf.RealDiv", "tf.Maximum", "tf.Minimum", "tf.Pow"}) {
    const std::vector<Step> steps = {{op, {0, 1}},         {"tf.Neg", {2}},      {"tf.IsNan", {3}}, {"tf.Relu", {3}},
                                     {"tf.IsFinite", {5}}, {"tf.Equal", {3, 5}}, {"tf.IsInf", {2}}};
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({100}, x));
    inputs.push_back(Dense<float>({100}, y));
    ExpectSame(steps, {2, 4, 5, 6}, std::move(inputs), op);
  }
}

// A compiler that knows two numbers to be the same may take their difference for 0.
TEST_F(VulkanGroupsTest, PR5_NaNThatIsTakenTwice) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const int64_t n : {5, 8}) {
    std::vector<float> x = {1, kNaN, kInf, -kInf, 0, 2, kNaN, 3};
    x.resize(static_cast<size_t>(n));
    const std::vector<Step> steps = {{"tf.Sub", {0, 0}},   {"tf.RealDiv", {0, 0}},   {"tf.Equal", {0, 0}},
                                     {"tf.Neg", {0}},      {"tf.Neg", {0}},          {"tf.Sub", {4, 5}},
                                     {"tf.Equal", {4, 5}}, {"tf.AddV2", {0, 4}},     {"tf.ClipByValue", {1, 1, 1}},
                                     {"tf.IsNan", {1}},    {"tf.LessEqual", {6, 6}}, {"tf.IsNan", {9}}};
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({n}, x));
    const std::vector<uint32_t> outputs = {2, 6, 9, 10, 11};
    const auto expected = RunOneByOne(steps, outputs, inputs);
    const auto fused = RunGroup(Group(1, steps, outputs), std::move(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      ExpectSameBits(fused[i], expected[i], TextOf("output ", i, " of ", n));
    }
    const std::vector<bool> is_number = {true, false, true, true, true, true, false, true};
    const auto equal = Values<bool>(OnHost(fused[0]));
    EXPECT_EQ(equal, std::vector<bool>(is_number.begin(), is_number.begin() + n));
  }
}

TEST_F(VulkanGroupsTest, PR5_MoreOpsThanAShaderHas) {
  std::vector<Step> steps;
  for (uint32_t i = 0; i < 200; ++i) {
    // Each tenth needs what was given long before.
    const uint32_t other = i % 10 == 9 ? 2 + i - 9 : 1;
    steps.push_back({i % 3 == 0 ? "tf.AddV2" : "tf.Maximum", {i == 0 ? 0 : 1 + i, other}});
  }
  std::vector<TensorHandle> inputs;
  inputs.push_back(OnGpu(Random<float>({1000}, 1)));
  inputs.push_back(OnGpu(Random<float>({1000}, 2)));
  ExpectSame(steps, {77, 199}, Copies(inputs), "200 ops");
  const uint64_t dispatches = CountDispatches(Group(2, steps, {77, 199}), std::move(inputs));
  EXPECT_GE(dispatches, 200u / 32);
  EXPECT_LE(dispatches, 10u);
}

TEST_F(VulkanGroupsTest, PR5_MoreTensorsThanAShaderBinds) {
  std::vector<Step> steps;
  std::vector<TensorHandle> inputs;
  std::vector<uint32_t> outputs;
  for (uint32_t i = 0; i < 20; ++i) inputs.push_back(OnGpu(Random<float>({900}, static_cast<int>(i))));
  for (uint32_t i = 0; i < 19; ++i) {
    steps.push_back({"tf.AddV2", {i == 0 ? 0 : 19 + i, i + 1}});
    if (i % 2 == 0) outputs.push_back(i);
  }
  ExpectSame(steps, outputs, Copies(inputs), "20 inputs and 10 outputs");
  EXPECT_LE(CountDispatches(Group(20, steps, outputs), std::move(inputs)), 8u);
}

TEST_F(VulkanGroupsTest, TH5_TheResultMayTakeOverAnInput) {
  const auto group = Group(2, {{"tf.AddV2", {0, 1}}, {"tf.Greater", {2, 0}}, {"tf.Neg", {2}}}, {1, 2});
  std::vector<TensorHandle> inputs;
  inputs.push_back(OnGpu(Dense<float>({4}, {1, 2, 3, 4})));
  inputs.push_back(OnGpu(Dense<float>({4}, {5, -6, 7, -8})));
  const TensorHandle kept = inputs[0].CopyRef();
  const auto before = vulkan_->gpu().memory().stats().num_allocations;
  const auto results = RunGroup(group, std::move(inputs));
  EXPECT_EQ(Values<float>(OnHost(results[1])), (std::vector<float>{-6, 4, -10, 4}));
  EXPECT_EQ(vulkan_->gpu().memory().stats().num_allocations - before, 1u) << "one for the bool result";
  EXPECT_EQ(Values<float>(OnHost(kept)), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(VulkanGroupsTest, PR6_InputsMayBePending) { ExpectInputsMayBePending(); }

TEST_F(VulkanGroupsTest, PR5_WhatCannotBeOneIsTold) {
  const auto group = Group(2, {{"tf.AddV2", {0, 1}}, {"tf.AddV2", {2, 1}}}, {1});
  const auto can_infer = [&](const TensorMetadata& a, const TensorMetadata& b) {
    const TensorMetadata* const inputs[] = {&a, &b};
    return static_cast<bool>(group->Infer(inputs));
  };
  EXPECT_TRUE(can_infer({DType::kF32, {2}}, {DType::kF32, {2}}));
  EXPECT_FALSE(can_infer({DType::kF32, {2}}, {DType::kF32, {3}})) << "shapes that do not fit";
  EXPECT_FALSE(can_infer({DType::kF32, {2}}, {DType::kI32, {2}})) << "dtypes that do not fit";
  EXPECT_FALSE(can_infer({DType::kF64, {2}}, {DType::kF64, {2}})) << "a dtype of the fallback";
  EXPECT_FALSE(can_infer({DType::kString, {2}}, {DType::kString, {2}})) << "strings";
  const auto most = static_cast<int64_t>(vulkan_->gpu().limits().max_binding_bytes / 4);
  EXPECT_FALSE(can_infer({DType::kF32, {most + 1}}, {DType::kF32, {}})) << "too large to be bound";
  const OpDef* const cast = runtime().registry().Find("tf.Cast");
  EXPECT_TRUE(handler()->fuser()->CanFuse(*cast, Attrs("DstT", DType::kI32)));
  EXPECT_FALSE(handler()->fuser()->CanFuse(*cast, Attrs("DstT", DType::kF64)));
  const OpDef* const equal = runtime().registry().Find("tf.Equal");
  EXPECT_FALSE(handler()->fuser()->CanFuse(*equal, Attrs("incompatible_shape_error", false)));
  EXPECT_FALSE(handler()->fuser()->CanFuse(*runtime().registry().Find("tf.MatMul"), OpAttrsRef()));
}

// ---- Programs.

class VulkanProgramsTest : public VulkanGroupsTest {
 protected:
  ProgramRunner Make(std::string_view text, bool fuse = true) {
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
    std::vector<TensorHandle> args = Copies(inputs);
    std::vector<TensorHandle> results(num_results);
    runner.Run("main", ExecutionContext(host(), Location()), args, results);
    return results;
  }
};

constexpr std::string_view kProgram = R"(
func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle) {
  %gpu = corert.get_op_handler("vulkan")
  %a = corert.executeop(%gpu) "tf.Mul"(%x, %y)
  %half = corert.const_dense_tensor dense<0.5> : tensor<f32>
  %row = corert.const_dense_tensor dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = corert.executeop(%gpu) "tf.AddV2"(%a, %half)
  %c = corert.executeop(%gpu) "tf.Sub"(%b, %row)
  %d = corert.executeop(%gpu) "tf.LeakyRelu"(%c) {alpha = 2}
  %e = corert.executeop(%gpu) "tf.Greater"(%d, %row)
  tfrt.return %d, %e : !corert.tensorhandle, !corert.tensorhandle
})";

TEST_F(VulkanProgramsTest, PR5_AChainIsOneDispatchAndItsConstantsAreThere) {
  const ProgramRunner runner = Make(kProgram);
  std::vector<TensorHandle> inputs;
  inputs.push_back(OnGpu(Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  inputs.push_back(OnGpu(Dense<float>({}, {2})));
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = CountDispatches();
    const auto results = RunMain(runner, inputs, 2);
    EXPECT_EQ(Values<float>(OnHost(results[0])), (std::vector<float>{1.5f, 2.5f, 3.5f, 7.5f, 8.5f, 9.5f}));
    EXPECT_EQ(Values<bool>(OnHost(results[1])), (std::vector<bool>{true, true, true, true, true, true}));
    EXPECT_EQ(CountDispatches() - before, 1u);
  }
}

TEST_F(VulkanProgramsTest, PR5_TheSameBitsAsNotFused) {
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>({70, 3}, 1));
  inputs.push_back(Random<float>({70, 1}, 2));
  const auto fused = RunMain(Make(kProgram), inputs, 2);
  const auto expected = RunMain(Make(kProgram, /*fuse=*/false), inputs, 2);
  for (size_t i = 0; i < 2; ++i) ExpectSameBits(fused[i], expected[i], TextOf("result ", i));
}

// The fallback's is called where the handler has no kernel of its own any more.
TEST_F(VulkanProgramsTest, PR5_AReplacedKernelIsCalled) {
  const auto gives_ten = [](DenseArg, DenseArg, KernelFrame& frame) {
    float* const result = frame.AllocateResult<float>(0);
    if (result != nullptr) std::fill_n(result, frame.result_metadata(0).num_elements(), 10.0f);
    return Status();
  };
  const ProgramRunner before = Make(kProgram);
  vulkan_->RemoveKernels("tf.AddV2", {DType::kF32});
  cpu()->RemoveKernels("tf.AddV2", {DType::kF32});
  ASSERT_TRUE(cpu()->AddKernel("tf.AddV2", {DType::kF32}, MakeKernel(gives_ten)).ok());
  std::vector<TensorHandle> inputs;
  inputs.push_back(OnGpu(Dense<float>({1, 3}, {1, 2, 3})));
  inputs.push_back(OnGpu(Dense<float>({}, {2})));
  for (const bool fuse : {false, true}) {
    EXPECT_EQ(Values<float>(OnHost(RunMain(Make(kProgram, fuse), inputs, 2)[0])), (std::vector<float>{9, 8, 7}));
  }
  EXPECT_EQ(Values<float>(OnHost(RunMain(before, inputs, 2)[0])), (std::vector<float>{1.5f, 2.5f, 3.5f}));
}

TEST_F(VulkanProgramsTest, PR5_RunsFromManyThreadsAtOnce) {
  const ProgramRunner runner = Make(kProgram);
  std::vector<TensorHandle> inputs;
  std::vector<TensorHandle> expected;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(OnGpu(Random<float>({5 + i, 3}, i)));
    std::vector<TensorHandle> args;
    args.push_back(inputs.back().CopyRef());
    args.push_back(inputs.back().CopyRef());
    expected.push_back(std::move(RunMain(Make(kProgram, /*fuse=*/false), args, 2)[0]));
  }
  // Each with a shape of its own, so that plans are made all the time.
  std::vector<TensorHandle> results(40);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::vector<TensorHandle> args;
      args.push_back(inputs[i].CopyRef());
      args.push_back(inputs[i].CopyRef());
      for (size_t run = 0; run < 10; ++run) results[i * 10 + run] = std::move(RunMain(runner, args, 2)[0]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i) ExpectSameBits(results[i], expected[i / 10], TextOf("run ", i));
}

TEST_F(VulkanProgramsTest, PR5_ErrorsAreThoseOfTheOps) {
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>({70, 3}, 1));
  inputs.push_back(Random<float>({71, 1}, 2));
  const auto fused = RunMain(Make(kProgram), inputs, 2);
  const auto expected = RunMain(Make(kProgram, /*fuse=*/false), inputs, 2);
  EXPECT_EQ(ErrorOf(fused[0]), ErrorOf(expected[0]));
  EXPECT_TRUE(ErrorOf(fused[0]).starts_with("[tf.Mul]")) << ErrorOf(fused[0]);
  // Too large for the device.
  const auto most = static_cast<int64_t>(vulkan_->gpu().limits().max_binding_bytes / 4);
  inputs[0] = Spread<float>({most / 1024 + 1, 1}, 1);
  inputs[1] = Spread<float>({1, 1024}, 1);
  const auto large = RunMain(Make(kProgram), inputs, 2);
  EXPECT_EQ(ErrorCodeOf(large[0]), StatusCode::kResourceExhausted);
  EXPECT_TRUE(ErrorOf(large[0]).starts_with("[tf.Mul]")) << ErrorOf(large[0]);
}

}  // namespace
}  // namespace tandem::vulkan
