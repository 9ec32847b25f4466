// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls of several threads on a WebGPU device in front of whose queue the code that fuses calls is put meanwhile
// (PR-6).

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/op_families.h"
#include "tandem/shader/shader_op_handler.h"
#include "test_runtime.h"
#include "webgpu/fake_executor.h"

namespace tandem::webgpu {
namespace {

constexpr size_t kCount = 4096;

class WebGpuLaterFusionTest : public testing::Test {
 protected:
  WebGpuLaterFusionTest() {
    EXPECT_TRUE(RegisterAllOps(rt_.runtime().registry()).ok());
    AddShader("tf.Neg", [](float x) { return -x; });
    AddShader("tf.Square", [](float x) { return x * x; });
    executor_.wrong_shaders.insert("tandem.Fused");
    auto queue = std::make_unique<WebGpuQueue>(executor_, "fake", shader::GpuLimits());
    queue_ = queue.get();
    shader::ShaderOpHandlerOptions options;
    options.name = "webgpu";
    options.want_call_fusion = [this] { ++num_wanted_; };
    auto handler = shader::CreateShaderOpHandler(rt_.runtime(), std::move(queue), options);
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
  }

  // Of one argument, which the result may take over.
  void AddShader(const char* name, float (*function)(float)) {
    executor_.shaders[name] = [function](const std::vector<Words*>& buffers, const uint32_t*) {
      for (size_t i = 0; i < kCount; ++i) {
        (*buffers.back())[i] = std::bit_cast<uint32_t>(function(std::bit_cast<float>((*buffers.front())[i])));
      }
    };
  }
  TensorHandle Call(std::string_view op, TensorHandle x) {
    TensorHandle result;
    rt_.runtime().Execute(ExecutionContext(rt_.host(), Location()), op, handler_, {&x, 1}, OpAttrsRef(), {&result, 1});
    return result;
  }
  TensorHandle ToGpu(float value) {
    return rt_.F32(std::vector<float>(kCount, value)).TransferTo({rt_.host(), Location()}, handler_->gpu());
  }
  // What JavaScript does at the end of a task.
  void EndTask() {
    handler_->gpu().queue().Flush();
    executor_.TellAll(*queue_);
  }
  std::vector<float> Read(const TensorHandle& handle) {
    const TensorHandle there = handle.TransferTo({rt_.host(), Location()}, rt_.host().device());
    for (int i = 0; i < 10 && !there.IsAvailable(); ++i) EndTask();
    EXPECT_TRUE(there.IsConcrete());
    return there.IsConcrete() ? rt_.Values(there) : std::vector<float>();
  }

  // Destroyed last.
  FakeExecutor executor_;
  std::atomic<int> num_wanted_{0};
  TestRuntime rt_;
  WebGpuQueue* queue_ = nullptr;
  shader::ShaderOpHandler* handler_ = nullptr;
};

TEST_F(WebGpuLaterFusionTest, PR6_WhileThreadsCall) {
  constexpr int kThreads = 3;
  constexpr int kChains = 20;
  std::vector<std::vector<TensorHandle>> results(kThreads);
  std::atomic<int> num_done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const TensorHandle x = ToGpu(static_cast<float>(t + 1));
      for (int i = 0; i < kChains; ++i) {
        TensorHandle y = Call("tf.Neg", x.CopyRef());
        if (i % 4 == 0) results[static_cast<size_t>(t)].push_back(y.CopyRef());
        results[static_cast<size_t>(t)].push_back(Call("tf.Neg", Call("tf.Square", std::move(y))));
      }
      ++num_done;
    });
  }
  for (int i = 0; num_done < kThreads; ++i) {
    EndTask();
    if (i == 3) EnableCallFusion(*handler_);
  }
  for (std::thread& thread : threads) thread.join();
  EnableCallFusion(*handler_);
  EXPECT_LE(num_wanted_, 1);
  for (int t = 0; t < kThreads; ++t) {
    const auto x = static_cast<float>(t + 1);
    auto expect_next = [&, next = size_t{0}](float value) mutable {
      EXPECT_EQ(Read(results[static_cast<size_t>(t)][next++]), std::vector<float>(kCount, value)) << "of thread " << t;
    };
    for (int i = 0; i < kChains; ++i) {
      if (i % 4 == 0) expect_next(-x);
      expect_next(-x * x);
    }
  }
}

TEST_F(WebGpuLaterFusionTest, PR6_AFlushIsRequestedForWhatIsPutOff) {
  const TensorHandle x = ToGpu(3);
  EXPECT_EQ(Read(Call("tf.Neg", x.CopyRef())), std::vector<float>(kCount, -3));  // there is its shader
  EnableCallFusion(*handler_);
  // The memory of the result is there from before, so that its call is all that there is to hand over.
  for (int i = 0; i < 2; ++i) {
    EndTask();
    const int before = executor_.num_requests;
    const TensorHandle y = Call("tf.Neg", x.CopyRef());
    EXPECT_EQ(executor_.num_requests, before + 1);
    EXPECT_EQ(queue_->counters().dispatches, static_cast<uint64_t>(1 + i));
    EndTask();
    EXPECT_EQ(queue_->counters().dispatches, static_cast<uint64_t>(2 + i));
  }
}

}  // namespace
}  // namespace tandem::webgpu
