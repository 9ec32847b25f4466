// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The queue on a real device.

#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <string>
#include <vector>

#include "tandem/vulkan/vulkan_op_handler.h"
#include "tandem/work_queue.h"

namespace tandem::vulkan {
namespace {

using shader::BufferAccess;
using shader::BufferId;
using shader::GpuQueue;
using shader::Pipeline;
using shader::ShaderText;

class Listener final : public shader::GpuListener {
 public:
  void OnBatchesFailed(uint64_t, uint64_t, const Status& error) override { ADD_FAILURE() << error.ToString(); }
  void OnDeviceLost(const Status& error) override { ADD_FAILURE() << error.ToString(); }
};

class VulkanQueueTest : public testing::Test {
 protected:
  void SetUp() override {
    VulkanOptions options;
    options.on_message = [](std::string_view text) { ADD_FAILURE() << text; };
    options.validation = true;
    auto queue = CreateVulkanQueue(options);
    if (!queue.ok()) GTEST_SKIP() << queue.status().ToString();
    queue_ = std::move(*queue);
    queue_->SetListener(listener_);
  }

  BufferId MakeBuffer(uint64_t bytes) {
    auto buffer = queue_->CreateBuffer(bytes, {});
    EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
    return *buffer;
  }

  template <typename T>
  BufferId MakeBuffer(const std::vector<T>& values) {
    const BufferId buffer = MakeBuffer(values.size() * sizeof(T));
    const auto batch = queue_->Upload(buffer, values.data(), values.size() * sizeof(T), nullptr, {});
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    return buffer;
  }

  template <typename T>
  std::vector<T> Read(BufferId buffer, size_t count) {
    std::vector<T> values(count);
    std::promise<Status> done;
    queue_->Download(buffer, values.data(), count * sizeof(T), [&](const Status& status) { done.set_value(status); });
    const Status status = done.get_future().get();
    EXPECT_TRUE(status.ok()) << status.ToString();
    return values;
  }

  RcRef<Pipeline> MakePipeline(ShaderText text) {
    const auto pipeline = queue_->CreatePipeline(std::move(text));
    const AsyncValue* const value = pipeline.value();
    EXPECT_TRUE(work_->Await({&value, 1}).ok());
    EXPECT_FALSE(pipeline.IsError()) << pipeline.GetError().ToString();
    return pipeline.get();
  }

  Listener listener_;
  std::unique_ptr<WorkQueue> work_ = CreateSingleThreadedWorkQueue();
  std::unique_ptr<GpuQueue> queue_;
};

ShaderText AddShader() {
  ShaderText text;
  text.name = "add";
  text.wgsl = R"(
struct Parameters { n: u32, add: f32, }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> parameters: Parameters;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(global_invocation_id) gid: vec3u) {
  if (gid.x < parameters.n) { y[gid.x] = x[gid.x] + parameters.add; }
}
)";
  text.buffers = {BufferAccess::kRead, BufferAccess::kReadWrite};
  text.num_parameters = 2;
  text.workgroup = {64, 1, 1};
  return text;
}

TEST_F(VulkanQueueTest, DependentDispatchesSeeEachOthersResults) {
  const size_t count = 1000;
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  BufferId a = MakeBuffer(values);
  BufferId b = MakeBuffer(count * 4);
  {
    const RcRef<Pipeline> add = MakePipeline(AddShader());
    const uint32_t parameters[] = {count, std::bit_cast<uint32_t>(1.0f)};
    for (int i = 0; i < 101; ++i) {
      const BufferId buffers[] = {a, b};
      ASSERT_TRUE(queue_->Dispatch(*add, buffers, parameters, {16, 1, 1}, {}).ok());
      std::swap(a, b);
    }
  }
  const std::vector<float> result = Read<float>(a, count);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], static_cast<float>(i) + 101.0f);
  queue_->DestroyBuffer(a);
  queue_->DestroyBuffer(b);
}

}  // namespace
}  // namespace tandem::vulkan
