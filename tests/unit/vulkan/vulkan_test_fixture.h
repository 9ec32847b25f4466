// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A queue on a real device, watched by the validation layer where that is installed; tests are skipped where there is
// no device.

#ifndef TANDEM_TESTS_UNIT_VULKAN_VULKAN_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_VULKAN_VULKAN_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tandem/shader/shader_queue.h"
#include "tandem/work_queue.h"
#include "vulkan_device.h"
#include "vulkan_queue.h"

namespace tandem::vulkan {

// Keeps what it is told, in order.
class RecordingListener final : public gpu::StreamListener {
 public:
  void OnBatchesFailed(uint64_t first, uint64_t last, const Status& error) override {
    Add("failed " + std::to_string(first) + "-" + std::to_string(last) + ": " + std::string(error.message()));
  }
  void OnDeviceLost(const Status& error) override { Add("lost: " + std::string(error.message())); }

  void Add(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

class VulkanTest : public testing::Test {
 protected:
  using BufferId = gpu::BufferId;
  using BufferRange = gpu::BufferRange;
  using PipelineRef = RcRef<shader::Pipeline>;

  // Null, and the test skipped, where there is none.
  std::unique_ptr<VulkanDevice> MakeDevice() {
    VulkanOptions options;
    options.validation = true;
    options.on_message = [](std::string_view text) { ADD_FAILURE() << "the validation layer says: " << text; };
    StatusOr<std::unique_ptr<VulkanDevice>> device = VulkanDevice::Create(options);
    if (device.ok()) return std::move(*device);
    EXPECT_EQ(device.status().code(), StatusCode::kNotFound) << device.status().ToString();
    return nullptr;
  }

  void SetUp() override {
    std::unique_ptr<VulkanDevice> device = MakeDevice();
    if (device == nullptr) GTEST_SKIP() << "there is no Vulkan device";
    Use(std::move(device));
  }

  void Use(std::unique_ptr<VulkanDevice> device, const std::string& cache_folder = "off") {
    functions_ = &device->functions();
    StatusOr<std::unique_ptr<VulkanQueue>> queue = VulkanQueue::Create(std::move(device), cache_folder);
    ASSERT_TRUE(queue.ok()) << queue.status().ToString();
    queue_ = std::move(*queue);
    queue_->SetListener(listener_);
  }

  BufferId MakeBuffer(uint64_t bytes) {
    StatusOr<BufferId> buffer = queue_->CreateBuffer(bytes, {});
    EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
    return buffer.ok() ? *buffer : 0;
  }

  template <typename T>
  BufferId MakeBuffer(const std::vector<T>& values) {
    const uint64_t bytes = values.size() * sizeof(T);
    const BufferId buffer = MakeBuffer((bytes + 3) / 4 * 4);
    Upload(buffer, values);
    return buffer;
  }

  template <typename T>
  void Upload(BufferId buffer, const std::vector<T>& values) {
    const auto batch = queue_->Upload(buffer, values.data(), values.size() * sizeof(T), nullptr, {});
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
  }

  template <typename T>
  StatusOr<std::vector<T>> TryRead(BufferId buffer, size_t count) {
    std::vector<T> values(count);
    std::promise<Status> done;
    queue_->Download(buffer, 0, values.data(), count * sizeof(T),
                     [&](const Status& status) { done.set_value(status); });
    TANDEM_RETURN_IF_ERROR(done.get_future().get());
    return values;
  }

  template <typename T>
  std::vector<T> Read(BufferId buffer, size_t count) {
    StatusOr<std::vector<T>> values = TryRead<T>(buffer, count);
    EXPECT_TRUE(values.ok()) << values.status().ToString();
    return values.ok() ? *values : std::vector<T>(count);
  }

  StatusOr<PipelineRef> TryMakePipeline(shader::ShaderText text) {
    const auto pipeline = queue_->CreatePipeline(std::move(text));
    const AsyncValue* const value = pipeline.value();
    TANDEM_RETURN_IF_ERROR(work_->Await({&value, 1}));
    if (pipeline.IsError()) return pipeline.GetError();
    return pipeline.get();
  }

  PipelineRef MakePipeline(shader::ShaderText text) {
    StatusOr<PipelineRef> pipeline = TryMakePipeline(std::move(text));
    EXPECT_TRUE(pipeline.ok()) << pipeline.status().ToString();
    return pipeline.ok() ? *pipeline : nullptr;
  }

  // y = x + parameters.add, for `n` floats; 64 invocations.
  static shader::ShaderText AddShader() {
    shader::ShaderText text;
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
    text.buffers = {shader::BufferAccess::kRead, shader::BufferAccess::kReadWrite};
    text.num_parameters = 2;
    text.workgroup = {64, 1, 1};
    return text;
  }

  StatusOr<uint64_t> TryAdd(const shader::Pipeline& add, BufferId x, BufferId y, size_t n, float value) {
    const BufferRange buffers[] = {{x}, {y}};
    const uint32_t parameters[] = {static_cast<uint32_t>(n), std::bit_cast<uint32_t>(value)};
    return queue_->Dispatch(add, buffers, parameters, {static_cast<uint32_t>((n + 63) / 64), 1, 1}, {});
  }

  void Add(const shader::Pipeline& add, BufferId x, BufferId y, size_t n, float value) {
    const StatusOr<uint64_t> batch = TryAdd(add, x, y, n, value);
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  }

  void Destroy(std::initializer_list<BufferId> buffers) {
    for (BufferId buffer : buffers) queue_->DestroyBuffer(buffer);
  }

  RecordingListener listener_;
  std::unique_ptr<WorkQueue> work_ = CreateSingleThreadedWorkQueue();
  std::unique_ptr<VulkanQueue> queue_;
  VulkanFunctions* functions_ = nullptr;  // the queue's
};

}  // namespace tandem::vulkan

#endif  // TANDEM_TESTS_UNIT_VULKAN_VULKAN_TEST_FIXTURE_H_
