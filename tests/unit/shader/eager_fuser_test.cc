// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise calls that are put off, on a device whose failures a test brings about (PR-6).

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_shader_queue.h"
#include "kernels/elementwise/call_delayer.h"
#include "tandem/op_families.h"
#include "tandem/shader/shader_op_handler.h"
#include "test_runtime.h"

namespace tandem::shader {
namespace {

constexpr int64_t kMany = CallDelayer::kLeastElements;

class EagerFuserTest : public testing::Test {
 protected:
  explicit EagerFuserTest(std::function<void()> want_call_fusion = nullptr) {
    EXPECT_TRUE(RegisterAllOps(rt_.runtime().registry()).ok());
    AddShader("tf.Neg", [](float x) { return -x; });
    AddShader("tf.Square", [](float x) { return x * x; });
    AddShader("tf.Relu", [](float x) { return std::max(x, 0.0f); });
    ShaderOpHandlerOptions options;
    options.name = "fake";
    options.want_call_fusion = std::move(want_call_fusion);
    options.memory.cache_limit = 0;  // a buffer that is freed ends
    auto handler = CreateShaderOpHandler(rt_.runtime(), std::make_unique<FakeShaderQueue>(controls_), options);
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
    x_ = ToGpu(std::vector<float>(kMany, 3));
  }

  // Of one argument, which the result may take over, in units of four.
  void AddShader(const std::string& name, float (*function)(float)) {
    controls_.shaders[name] = [function](std::span<Words* const> buffers, std::span<const uint32_t> parameters,
                                         const std::array<uint32_t, 3>&) {
      for (size_t i = 0; i < 4 * parameters[0]; ++i) {
        (*buffers.back())[i] = std::bit_cast<uint32_t>(function(std::bit_cast<float>((*buffers[0])[i])));
      }
    };
  }
  TensorHandle ToGpu(const std::vector<float>& values) {
    return rt_.F32(values).TransferTo(ExecutionContext(rt_.host(), Location::Current()), handler_->gpu());
  }
  TensorHandle Call(std::string_view op, Args args, std::source_location site = std::source_location::current()) {
    TensorHandle result;
    rt_.runtime().Execute(ExecutionContext(rt_.host(), site), op, handler_, args.span(), OpAttrsRef(), {&result, 1});
    return result;
  }
  TensorHandle ToHost(const TensorHandle& handle) {
    return handle.TransferTo(ExecutionContext(rt_.host(), Location::Current()), rt_.host().device());
  }
  // -(x^2), both calls put off.
  TensorHandle RunChain() { return Call("tf.Neg", {Call("tf.Square", {x_})}); }
  void ExpectAll(const TensorHandle& handle, float value) {
    EXPECT_EQ(rt_.Values(ToHost(handle)), std::vector<float>(kMany, value));
  }
  int64_t NumFusedShaders() const { return std::ranges::count(controls_.compiled, "tandem.Fused"); }

  // Destroyed last.
  FakeShaderQueue::Controls controls_;
  TestRuntime rt_;
  ShaderOpHandler* handler_;
  TensorHandle x_;
};

TEST_F(EagerFuserTest, PR6_AShaderIsMadeForWhatIsThereTheSecondTime) {
  controls_.shaders["tandem.Fused"] = [](std::span<Words* const> buffers, std::span<const uint32_t>,
                                         const std::array<uint32_t, 3>&) {
    EXPECT_EQ(buffers.size(), 2u);
    std::ranges::fill(*buffers[1], std::bit_cast<uint32_t>(-9.0f));
  };
  ExpectAll(RunChain(), -9);
  EXPECT_EQ(NumFusedShaders(), 0);
  const uint64_t before = controls_.counters.dispatches;
  ExpectAll(RunChain(), -9);
  EXPECT_EQ(NumFusedShaders(), 1);
  EXPECT_EQ(controls_.counters.dispatches, before + 1);
}

TEST_F(EagerFuserTest, PR6_OneByOneUntilTheShaderIsReady) {
  controls_.shaders["tandem.Fused"] = [](std::span<Words* const> buffers, std::span<const uint32_t>,
                                         const std::array<uint32_t, 3>&) {
    std::ranges::fill(*buffers[1], std::bit_cast<uint32_t>(-9.0f));
  };
  ExpectAll(RunChain(), -9);
  controls_.holds_pipelines = true;
  uint64_t before = controls_.counters.dispatches;
  ExpectAll(RunChain(), -9);
  EXPECT_EQ(controls_.counters.dispatches, before + 2);
  controls_.ReleasePipelines();
  before = controls_.counters.dispatches;
  ExpectAll(RunChain(), -9);
  EXPECT_EQ(controls_.counters.dispatches, before + 1);
}

TEST_F(EagerFuserTest, PR6_AShaderThatDoesNotCompileIsMadeOnce) {
  for (int i = 0; i < 5; ++i) ExpectAll(RunChain(), -9);
  EXPECT_EQ(NumFusedShaders(), 1);
}

TEST_F(EagerFuserTest, PR6_MemoryOfDroppedResultsIsThereUntilTheCallsAreIssued) {
  TensorHandle y = Call("tf.Neg", {x_});
  for (int i = 0; i < 4; ++i) y = Call("tf.Neg", {std::move(y)});
  // A queue that has forgotten a buffer would not find it.
  ExpectAll(y, -3);
  y.reset();
  EXPECT_EQ(handler_->gpu().memory().stats().bytes_in_use, static_cast<uint64_t>(kMany) * 4);
  handler_->gpu().queue().Flush();
  EXPECT_EQ(controls_.buffers.size(), 1u);
}

TEST_F(EagerFuserTest, PR6_ResultsAreConcreteAndNothingIsIssuedBeforeItIsWanted) {
  ExpectAll(RunChain(), -9);
  const uint64_t before = controls_.counters.dispatches;
  const TensorHandle y = RunChain();
  EXPECT_TRUE(y.IsConcrete());
  const TensorHandle uploaded = ToGpu(std::vector<float>(kMany, 5));
  EXPECT_EQ(controls_.counters.dispatches, before);
  ExpectAll(uploaded, 5);
  EXPECT_GT(controls_.counters.dispatches, before);
}

TEST_F(EagerFuserTest, PR6_ACallThatCannotBeIssuedFailsAndWhoNeedsItDoes) {
  ExpectAll(Call("tf.Relu", {RunChain()}), 0);  // there are the shaders
  controls_.dispatch_errors["tf.Square"] = ResourceExhausted("no room for commands");
  const TensorHandle good = Call("tf.Relu", {x_});
  const uint32_t line = __LINE__ + 1;
  const TensorHandle square = Call("tf.Square", {x_});
  const TensorHandle after = Call("tf.Neg", {square});
  const TensorHandle other = Call("tf.Neg", {good});
  ExpectAll(good, 3);
  ExpectAll(other, -3);
  for (const TensorHandle* failed : {&square, &after}) {
    const Status error = rt_.host().Await(ToHost(*failed));
    EXPECT_NE(error.ToString().find("[tf.Square"), std::string::npos) << error.ToString();
    EXPECT_NE(error.ToString().find("no room for commands"), std::string::npos) << error.ToString();
    EXPECT_EQ(error.location().line, line);
  }
  const TensorHandle later = Call("tf.Neg", {after});
  ASSERT_TRUE(later.IsError());
  EXPECT_NE(rt_.ErrorOf(later).find("no room for commands"), std::string::npos);
}

TEST_F(EagerFuserTest, PR6_ALostDeviceFailsWhatWasPutOff) {
  ExpectAll(RunChain(), -9);
  const TensorHandle y = RunChain();
  controls_.listener->OnDeviceLost(MakeError(StatusCode::kUnavailable, "gone"));
  EXPECT_NE(rt_.ErrorOf(ToHost(y)).find("gone"), std::string::npos);
}

TEST_F(EagerFuserTest, PR6_WhatWasPutOffEndsWithTheDevice) {
  ExpectAll(RunChain(), -9);
  const TensorHandle held = RunChain();
  static_cast<void>(RunChain());
}

TEST_F(EagerFuserTest, PR6_AFlushIsRequestedByTheFirstCallThatIsPutOff) {
  ExpectAll(RunChain(), -9);  // there are the shaders
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t before = controls_.flush_requests;
    const TensorHandle y = RunChain();
    EXPECT_EQ(controls_.flush_requests, before + 1);
    handler_->gpu().queue().Flush();
    ExpectAll(y, -9);
  }
}

// With a module whose code for it comes when it is wanted.
class LaterEagerFuserTest : public EagerFuserTest {
 protected:
  LaterEagerFuserTest() : EagerFuserTest([this] { ++num_wanted_; }) {}

  int num_wanted_ = 0;
};

TEST_F(LaterEagerFuserTest, PR6_IsWantedOnceByCallsThatFollowEachOther) {
  for (int i = 0; i < 2; ++i) ExpectAll(Call("tf.Neg", {x_}), -3);  // none of the other's result
  const TensorHandle few = ToGpu(std::vector<float>(kMany - 4, 3));
  const TensorHandle fewer = Call("tf.Neg", {Call("tf.Square", {few})});
  EXPECT_EQ(rt_.Values(ToHost(fewer)), std::vector<float>(kMany - 4, -9));
  EXPECT_EQ(num_wanted_, 0);
  const uint64_t before = controls_.counters.dispatches;
  for (uint64_t i = 1; i <= 3; ++i) {
    ExpectAll(RunChain(), -9);
    EXPECT_EQ(num_wanted_, 1);
    EXPECT_EQ(controls_.counters.dispatches, before + 2 * i);
  }
  EXPECT_EQ(NumFusedShaders(), 0);
}

TEST_F(LaterEagerFuserTest, PR6_PutsCallsOffOnceTheCodeIsThere) {
  controls_.shaders["tandem.Fused"] = [](std::span<Words* const> buffers, std::span<const uint32_t>,
                                         const std::array<uint32_t, 3>&) {
    std::ranges::fill(*buffers[1], std::bit_cast<uint32_t>(-9.0f));
  };
  const TensorHandle early = Call("tf.Square", {x_});
  for (int i = 0; i < 2; ++i) EnableCallFusion(*handler_);
  ExpectAll(Call("tf.Neg", {early}), -9);
  const uint64_t before = controls_.counters.dispatches;
  for (uint64_t i = 0; i < 3; ++i) ExpectAll(RunChain(), -9);
  EXPECT_EQ(controls_.counters.dispatches, before + 4);  // the first one by one
  EXPECT_EQ(NumFusedShaders(), 1);
  EXPECT_EQ(num_wanted_, 0);
}

TEST_F(LaterEagerFuserTest, PR6_UsesTheFuserOfPrograms) {
  EnableProgramFusion(*handler_);
  const ElementwiseFuser* const fuser = handler_->fuser();
  ASSERT_NE(fuser, nullptr);
  EnableCallFusion(*handler_);
  EXPECT_EQ(handler_->fuser(), fuser);
  ExpectAll(RunChain(), -9);
  const uint64_t before = controls_.counters.dispatches;
  const TensorHandle y = RunChain();
  EXPECT_EQ(controls_.counters.dispatches, before);
  ExpectAll(y, -9);
}

}  // namespace
}  // namespace tandem::shader
