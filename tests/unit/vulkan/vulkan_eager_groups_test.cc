// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise calls on a GPU, issued one by one: few dispatches, and what each call alone would give (PR-6).

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "elementwise_group_test_fixture.h"
#include "tandem/nan_guard_op_handler.h"
#include "tandem/shader/shader_call.h"
#include "tandem/vulkan/vulkan_op_handler.h"

namespace tandem::vulkan {
namespace {

// Enough for calls to be put off.
constexpr int64_t kMany = int64_t{1} << 15;

class VulkanEagerGroupsTest : public ElementwiseGroups {
 protected:
  void SetUp() override {
    VulkanOptions options;
    options.fallback = cpu();
    options.cache_folder = "off";
    options.memory.memory_limit = kMemoryLimit;
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
  TensorHandle RandomOnGpu(const TensorShape& shape, int seed) { return OnGpu(Random<float>(shape, seed)); }
  TensorHandle Call(std::string_view op, OpArgs args, const OpAttrsRef& attrs = {}, OpHandler* on = nullptr) {
    TensorHandle result;
    runtime().Execute(op, on == nullptr ? vulkan_ : on, Location(), args.span(), attrs, {&result, 1}, nullptr);
    return result;
  }
  uint64_t CountDispatches() {
    vulkan_->gpu().queue().Flush();
    return vulkan_->gpu().queue().counters().dispatches;
  }
  // Of a step with each result read before the next call, so that every call is alone.
  std::vector<TensorHandle> RunAlone(const std::vector<Step>& steps, const std::vector<TensorHandle>& inputs) {
    std::vector<TensorHandle> values = Copies(inputs);
    for (const Step& step : steps) {
      values.push_back(Call(step.op, ArgsOf(step, values), step.attrs));
      static_cast<void>(OnHost(values.back()));
    }
    values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(inputs.size()));
    return values;
  }
  // Keeps the results of `outputs` alone; the others are dropped once the last call that takes them is issued, or, if
  // `drops_early_` is false, all calls are, as where a scope of JavaScript ends.
  std::vector<TensorHandle> RunTogether(const std::vector<Step>& steps, const std::vector<uint32_t>& outputs,
                                        const std::vector<TensorHandle>& inputs) {
    std::vector<TensorHandle> values = Copies(inputs);
    for (size_t i = 0; i < steps.size(); ++i) {
      values.push_back(Call(steps[i].op, ArgsOf(steps[i], values), steps[i].attrs));
      for (size_t k = 0; k < i && drops_early_; ++k) {
        const auto value = static_cast<uint32_t>(inputs.size() + k);
        const auto uses = [&](const Step& step) { return std::ranges::count(step.operands, value) > 0; };
        const bool is_used = std::any_of(steps.begin() + static_cast<ptrdiff_t>(i) + 1, steps.end(), uses);
        if (!is_used && std::ranges::count(outputs, k) == 0) values[value].reset();
      }
    }
    std::vector<TensorHandle> results;
    for (const uint32_t output : outputs) results.push_back(std::move(values[inputs.size() + output]));
    return results;
  }
  static std::vector<TensorHandle> ArgsOf(const Step& step, const std::vector<TensorHandle>& values) {
    std::vector<TensorHandle> args;
    for (const uint32_t operand : step.operands) args.push_back(values[operand].CopyRef());
    return args;
  }
  // Until there is the shader, for which the second time asks, or two minutes have passed: a machine that is busy with
  // other things compiles late. Each time with the same values. Gives the dispatches of the last time.
  uint64_t ExpectSameUntilOne(const std::vector<Step>& steps, const std::vector<uint32_t>& outputs,
                              const std::vector<TensorHandle>& inputs, const std::string& what, uint64_t wanted = 1) {
    const std::vector<TensorHandle> expected = RunAlone(steps, inputs);
    uint64_t dispatches = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    for (int time = 0; time == 0 || std::chrono::steady_clock::now() < deadline; ++time) {
      const uint64_t before = CountDispatches();
      const std::vector<TensorHandle> results = RunTogether(steps, outputs, inputs);
      dispatches = CountDispatches() - before;
      const bool is_last = dispatches <= wanted;
      for (size_t i = 0; i < outputs.size() && (time == 0 || is_last); ++i) {
        ExpectSameBits(results[i], expected[outputs[i]], TextOf(std::string_view(what), ", time ", time));
      }
      if (is_last) break;
    }
    return dispatches;
  }

  static constexpr uint64_t kMemoryLimit = uint64_t{1} << 25;
  const std::vector<Step> chain_ = {
      {"tf.AddV2", {0, 1}}, {"tf.Mul", {2, 1}},   {"tf.Sub", {3, 1}}, {"tf.Maximum", {4, 1}}, {"tf.Abs", {5}},
      {"tf.Neg", {6}},      {"tf.AddV2", {7, 1}}, {"tf.Tanh", {8}},   {"tf.Mul", {9, 0}},     {"tf.Relu", {10}}};
  shader::ShaderOpHandler* vulkan_ = nullptr;
  bool drops_early_ = true;
};

TEST_F(VulkanEagerGroupsTest, PR6_AChainOfCallsIsOneDispatch) {
  const std::vector<TensorHandle> inputs = [&] {
    std::vector<TensorHandle> made;
    made.push_back(RandomOnGpu({kMany}, 1));
    made.push_back(RandomOnGpu({kMany}, 2));
    return made;
  }();
  EXPECT_EQ(ExpectSameUntilOne(chain_, {9}, inputs, "a chain"), 1u);
}

TEST_F(VulkanEagerGroupsTest, PR6_CallsThatWaitForTheirShaders) {
  std::vector<TensorHandle> inputs;
  inputs.push_back(RandomOnGpu({4 * kMany}, 19));
  inputs.push_back(RandomOnGpu({4 * kMany}, 20));
  const std::vector<TensorHandle> results = RunTogether(chain_, {3, 9}, inputs);
  const std::vector<TensorHandle> expected = RunAlone(chain_, inputs);
  ExpectSameBits(results[0], expected[3], "in between");
  ExpectSameBits(results[1], expected[9], "the last");
}

TEST_F(VulkanEagerGroupsTest, PR6_WhoHoldsWhatIsInBetweenGetsIt) {
  std::vector<TensorHandle> inputs;
  inputs.push_back(RandomOnGpu({kMany}, 3));
  inputs.push_back(RandomOnGpu({kMany}, 4));
  EXPECT_EQ(ExpectSameUntilOne(chain_, {2, 6, 9}, inputs, "three are held"), 1u);
  // More than a shader may write.
  EXPECT_LE(ExpectSameUntilOne(chain_, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, inputs, "all are held", 2), 2u);
}

TEST_F(VulkanEagerGroupsTest, PR6_WhatIsDroppedAfterTheLastCallIsNotWritten) {
  drops_early_ = false;
  std::vector<TensorHandle> inputs;
  inputs.push_back(RandomOnGpu({kMany}, 22));
  inputs.push_back(RandomOnGpu({kMany}, 23));
  EXPECT_EQ(ExpectSameUntilOne(chain_, {9}, inputs, "a scope"), 1u);
  EXPECT_EQ(ExpectSameUntilOne(chain_, {2, 9}, inputs, "a scope, one is kept"), 1u);
}

TEST_F(VulkanEagerGroupsTest, PR6_MoreResultsThanAShaderWritesAreSeveralShaders) {
  std::mt19937 random(24);
  for (int round = 0; round < 6; ++round) {
    drops_early_ = round % 2 == 0;
    std::vector<TensorHandle> inputs;
    for (int i = 0; i < 3; ++i) inputs.push_back(RandomOnGpu({kMany}, 25 + i));
    std::vector<Step> steps;
    std::vector<uint32_t> outputs;
    for (uint32_t i = 0; i < 30; ++i) {
      // Mostly of what came just before, so that some results are of no use to anybody, and some to calls much later.
      const auto recent = [&] { return static_cast<uint32_t>(3 + i - 1 - random() % std::min<uint32_t>(i, 4)); };
      const uint32_t a = i == 0 ? 0 : recent();
      const uint32_t b = i == 0 || random() % 3 == 0 ? random() % 3 : static_cast<uint32_t>(random() % (3 + i));
      steps.push_back({random() % 2 == 0 ? "tf.Maximum" : "tf.Sub", {a, b}});
      if (i == 29 || random() % 2 == 0) outputs.push_back(i);
    }
    const std::string what = "round " + std::to_string(round);
    EXPECT_LE(ExpectSameUntilOne(steps, outputs, inputs, what, 8), 8u) << outputs.size() << " outputs";
  }
}

TEST_F(VulkanEagerGroupsTest, PR6_AResultThatIsDroppedIsNotComputed) {
  const TensorHandle x = RandomOnGpu({kMany}, 5);
  static_cast<void>(OnHost(Call("tf.Neg", {x})));  // there is its shader
  const uint64_t before = CountDispatches();
  for (int i = 0; i < 5; ++i) static_cast<void>(Call("tf.Neg", {x}));
  EXPECT_EQ(CountDispatches(), before);
}

TEST_F(VulkanEagerGroupsTest, PR6_SmallTensorsAreNotPutOff) {
  const TensorHandle x = RandomOnGpu({1000}, 6);
  static_cast<void>(OnHost(Call("tf.Neg", {x})));
  const uint64_t before = CountDispatches();
  for (int i = 0; i < 5; ++i) static_cast<void>(Call("tf.Neg", {x}));
  EXPECT_EQ(CountDispatches(), before + 5);
}

TEST_F(VulkanEagerGroupsTest, PR6_StretchedInputsAndDTypesMix) {
  const std::vector<Step> steps = {
      {"tf.AddV2", {0, 1}},       {"tf.LeakyRelu", {3}, Attrs("alpha", 0.25f)}, {"tf.Greater", {4, 2}},
      {"tf.SelectV2", {5, 4, 0}}, {"tf.Cast", {6}, Attrs("DstT", DType::kI32)}, {"tf.BitwiseXor", {7, 7}}};
  std::vector<TensorHandle> inputs;
  inputs.push_back(RandomOnGpu({8, 16, 256}, 7));
  inputs.push_back(RandomOnGpu({16, 1}, 8));
  inputs.push_back(OnGpu(Scalar<float>(0.5f)));
  EXPECT_EQ(ExpectSameUntilOne(steps, {3, 5}, inputs, "broadcasting, bool and i32"), 1u);
}

TEST_F(VulkanEagerGroupsTest, PR6_RandomGraphsGiveTheSame) {
  const std::vector<std::string> unary = {"tf.Neg", "tf.Abs", "tf.Square", "tf.Relu", "tf.Sigmoid", "tf.Floor"};
  const std::vector<std::string> binary = {"tf.AddV2", "tf.Sub", "tf.Mul", "tf.Maximum", "tf.RealDiv"};
  const auto shapes = std::vector<TensorShape>{{8, 16, 256}, {256}, {16, 1}, {1}, {8, 1, 256}};
  std::mt19937 random(21);
  for (int round = 0; round < 5; ++round) {
    std::vector<TensorHandle> inputs;
    const uint32_t num_inputs = 1 + random() % 3;
    for (uint32_t i = 0; i < num_inputs; ++i) {
      inputs.push_back(RandomOnGpu(shapes[i == 0 ? 0 : random() % shapes.size()], static_cast<int>(random() % 1000)));
    }
    std::vector<Step> steps;
    std::vector<uint32_t> outputs;
    const auto num_steps = static_cast<uint32_t>(2 + random() % 8);
    for (uint32_t i = 0; i < num_steps; ++i) {
      const uint32_t whole = i == 0 || random() % 4 == 0 ? 0 : num_inputs + random() % i;
      if (random() % 3 == 0) {
        steps.push_back({unary[random() % unary.size()], {whole}});
      } else {
        steps.push_back(
            {binary[random() % binary.size()], {whole, static_cast<uint32_t>(random() % (num_inputs + i))}});
      }
      if (i + 1 == num_steps || random() % 5 == 0) outputs.push_back(i);
    }
    EXPECT_EQ(ExpectSameUntilOne(steps, outputs, inputs, "round " + std::to_string(round)), 1u);
  }
}

TEST_F(VulkanEagerGroupsTest, PR6_ArgumentsWhoseMemoryIsTakenOver) {
  const TensorHandle x = Random<float>({kMany}, 9);
  const TensorHandle y = Random<float>({kMany}, 10);
  const auto run = [&](bool reads) {
    const auto maybe_read = [&](TensorHandle value) {
      if (reads) static_cast<void>(OnHost(value));
      return value;
    };
    TensorHandle a = maybe_read(Call("tf.Neg", {OnGpu(x)}));
    TensorHandle b = maybe_read(Call("tf.Abs", {OnGpu(y)}));
    TensorHandle sum = maybe_read(Call("tf.AddV2", {a, b}));
    TensorHandle last = maybe_read(Call("tf.Mul", {std::move(b), sum}));
    std::vector<TensorHandle> results;
    results.push_back(std::move(a));
    results.push_back(std::move(sum));
    results.push_back(std::move(last));
    return results;
  };
  const std::vector<TensorHandle> expected = run(/*reads=*/true);
  for (int time = 0; time < 20; ++time) {
    const std::vector<TensorHandle> results = run(/*reads=*/false);
    for (size_t i = 0; i < results.size(); ++i) ExpectSameBits(results[i], expected[i], TextOf("time ", time));
  }
}

TEST_F(VulkanEagerGroupsTest, PR6_ViewsAndPartsOfWhatIsNotWritten) {
  const TensorHandle x = RandomOnGpu({2, kMany}, 11);
  const TensorHandle shape = Dense<int32_t>({3}, {kMany / 512, 2, 512});
  const TensorHandle begin = Dense<int32_t>({2}, {1, 0});
  const TensorHandle size = Dense<int32_t>({2}, {1, kMany});
  const auto run = [&](bool reads) {
    const auto maybe_read = [&](TensorHandle value) {
      if (reads) static_cast<void>(OnHost(value));
      return value;
    };
    const TensorHandle y = maybe_read(Call("tf.Neg", {x}));
    TensorHandle view = maybe_read(Call("tf.Square", {Call("tf.Reshape", {y, shape})}));
    const TensorHandle z = maybe_read(Call("tf.Abs", {x}));
    TensorHandle part = maybe_read(Call("tf.Sub", {Call("tf.Slice", {z, begin, size}), OnGpu(Scalar<float>(3))}));
    std::vector<TensorHandle> results;
    results.push_back(std::move(view));
    results.push_back(std::move(part));
    return results;
  };
  const std::vector<TensorHandle> expected = run(/*reads=*/true);
  for (int time = 0; time < 20; ++time) {
    const std::vector<TensorHandle> results = run(/*reads=*/false);
    for (size_t i = 0; i < results.size(); ++i) ExpectSameBits(results[i], expected[i], TextOf("time ", time));
  }
}

TEST_F(VulkanEagerGroupsTest, PR6_OtherOpsComeAfterWhatTheyRead) {
  const TensorHandle x = RandomOnGpu({kMany}, 12);
  const TensorHandle axes = Dense<int32_t>({1}, {0});
  const auto run = [&](bool reads) {
    TensorHandle y = Call("tf.Mul", {x, x});
    if (reads) static_cast<void>(OnHost(y));
    TensorHandle largest = Call("tf.Max", {y, axes});
    if (reads) static_cast<void>(OnHost(largest));
    return Call("tf.Sub", {std::move(y), std::move(largest)});
  };
  const TensorHandle expected = run(/*reads=*/true);
  for (int time = 0; time < 20; ++time) ExpectSameBits(run(/*reads=*/false), expected, TextOf("time ", time));
}

TEST_F(VulkanEagerGroupsTest, PR6_ErrorsAreThoseOfTheCall) {
  const TensorHandle x = RandomOnGpu({kMany}, 13);
  const TensorHandle y = Call("tf.Neg", {x});
  const TensorHandle wrong = Call("tf.AddV2", {y, RandomOnGpu({kMany + 1}, 14)});
  const TensorHandle z = Call("tf.Abs", {y});
  EXPECT_TRUE(wrong.IsError());
  EXPECT_NE(host().Await(wrong).ToString().find("tf.AddV2"), std::string::npos);
  const TensorHandle after = Call("tf.Neg", {wrong});
  EXPECT_TRUE(after.IsError());
  ExpectSameBits(z, Call("tf.Abs", {x}), "the others");
}

TEST_F(VulkanEagerGroupsTest, PR6_MemoryIsGivenBack) {
  const TensorHandle x = RandomOnGpu({kMany}, 15);
  for (int i = 0; i < 2; ++i)
    static_cast<void>(OnHost(Call("tf.Neg", {Call("tf.Neg", {x})})));  // there are the shaders
  const uint64_t before = vulkan_->gpu().memory().stats().bytes_in_use;
  {
    TensorHandle y = Call("tf.Neg", {x});
    for (int i = 0; i < 100; ++i) y = Call("tf.Neg", {std::move(y)});
    EXPECT_EQ(vulkan_->gpu().memory().stats().bytes_in_use, before + kMany * 4);
    ExpectSameBits(y, Call("tf.Neg", {x}), "101 times");
  }
  EXPECT_EQ(vulkan_->gpu().memory().stats().bytes_in_use, before);
}

TEST_F(VulkanEagerGroupsTest, PR6_NeedsNoMoreThanTheLimit) {
  // Two tensors fit.
  const auto many = static_cast<int64_t>(kMemoryLimit / 4 / 3);
  TensorHandle x = OnGpu(Spread<float>({many}, 2));
  for (int i = 0; i < 3; ++i) {
    TensorHandle y = Call("tf.Square", {x});
    TensorHandle z = Call("tf.RealDiv", {std::move(y), x});
    ASSERT_TRUE(host().Await(z).ok()) << host().Await(z).ToString();
    x = Call("tf.Abs", {std::move(z)});
  }
  const TensorHandle last = OnHost(Call("tf.Slice", {x, Dense<int32_t>({1}, {5}), Dense<int32_t>({1}, {1})}));
  EXPECT_EQ(Values<float>(last), std::vector<float>{2});
}

// A tf.Neg that is none.
Status ShareKernel(KernelFrame& frame) {
  shader::ShaderCall call(frame);
  call.Share(0, 0);
  return call.Finish();
}

TEST_F(VulkanEagerGroupsTest, PR6_AReplacedKernelIsNotFused) {
  vulkan_->RemoveKernels("tf.Neg", {DType::kF32});
  ASSERT_TRUE(vulkan_->AddKernel("tf.Neg", {DType::kF32}, MakeKernel<&ShareKernel>()).ok());
  const TensorHandle x = RandomOnGpu({kMany}, 16);
  const TensorHandle expected = OnHost(Call("tf.Abs", {Call("tf.Square", {x})}));
  for (int time = 0; time < 20; ++time) {
    ExpectSameBits(Call("tf.Abs", {Call("tf.Neg", {Call("tf.Square", {x})})}), expected, TextOf("time ", time));
  }
}

TEST_F(VulkanEagerGroupsTest, PR6_LayersSeeEachOp) {
  std::vector<std::string> found;
  NanGuardOptions options;
  options.sink = [&](const NanFinding& finding) { found.emplace_back(finding.op); };
  OpHandler* const guard =
      runtime().AddHandler(CreateNanGuardOpHandler("nan-guard", runtime(), *vulkan_, std::move(options)));
  const TensorHandle x = OnGpu(Spread<float>({kMany}, 1));
  const TensorHandle y = Call("tf.Square", {Call("tf.Log", {Call("tf.Neg", {x}, {}, guard)}, {}, guard)}, {}, guard);
  EXPECT_NE(host().Await(y).ToString().find("[tf.Log] result 0 must be without NaN"), std::string::npos)
      << host().Await(y).ToString();
  EXPECT_EQ(found, std::vector<std::string>{"tf.Log"});
}

TEST_F(VulkanEagerGroupsTest, PR6_ManyThreadsAtOnce) {
  std::vector<TensorHandle> inputs;
  inputs.push_back(RandomOnGpu({kMany}, 17));
  inputs.push_back(RandomOnGpu({kMany}, 18));
  const std::vector<TensorHandle> expected = RunAlone(chain_, inputs);
  std::vector<std::vector<TensorHandle>> results(4 * 30);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (size_t run = 0; run < 30; ++run) results[i * 30 + run] = RunTogether(chain_, {4, 9}, inputs);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i) {
    ExpectSameBits(results[i][0], expected[4], TextOf("run ", i));
    ExpectSameBits(results[i][1], expected[9], TextOf("run ", i));
  }
}

TEST(VulkanEagerGroupsOptionTest, PR6_OffByTheHostsOption) {
  HostContext::Options options;
  options.fuse = false;
  options.work_queue = CreateSingleThreadedWorkQueue();
  CoreRuntime runtime(std::move(options));
  ASSERT_TRUE(RegisterAllOps(runtime.registry()).ok());
  VulkanOptions vulkan;
  vulkan.cache_folder = "off";
  const auto handler = CreateVulkanOpHandler(runtime, vulkan);
  if (!handler.ok()) GTEST_SKIP() << "there is no Vulkan device";
  HostContext& host = runtime.host();
  const ExecutionContext exec(host, Location());
  const float value = 2;
  TensorHandle x = TensorHandle::MakeAvailable(*MakeScalar({DType::kF32, {kMany}}, &value, host.device()))
                       .TransferTo(exec, (*handler)->gpu());
  const auto run = [&] {
    TensorHandle result = x.CopyRef();
    for (int i = 0; i < 6; ++i) {
      TensorHandle next;
      runtime.Execute("tf.Neg", *handler, Location(), {&result, 1}, OpAttrsRef(), {&next, 1}, nullptr);
      result = std::move(next);
    }
    ASSERT_TRUE(host.Await(result.TransferTo(exec, host.device())).ok());
  };
  for (int time = 0; time < 3; ++time) run();
  const uint64_t before = (*handler)->gpu().queue().counters().dispatches;
  run();
  EXPECT_EQ((*handler)->gpu().queue().counters().dispatches, before + 6);
}

}  // namespace
}  // namespace tandem::vulkan
