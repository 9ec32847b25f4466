// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaTest: a queue over the emulated driver, with a kernel that adds.

#ifndef TANDEM_TESTS_UNIT_CUDA_CUDA_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_CUDA_CUDA_TEST_FIXTURE_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda_device.h"
#include "cuda_queue.h"
#include "emulated_driver.h"
#include "tandem/shader/shader_source.h"

namespace tandem::cuda {

class RecordingListener final : public gpu::StreamListener {
 public:
  void OnBatchesFailed(uint64_t, uint64_t, const Status& error) override { Add("failed: " + error.ToString()); }
  void OnDeviceLost(const Status& error) override { Add("lost: " + std::string(error.message())); }
  void Add(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

// y[i] = x[i] + amount, in one block of as many threads as there are elements.
inline shader::ShaderText AddShader() {
  return shader::ShaderBuilder("test.Add")
      .Buffer("x", shader::BufferAccess::kRead, "f32")
      .Buffer("y", shader::BufferAccess::kReadWrite, "f32")
      .Parameter("size")
      .Parameter("amount", "f32")
      .Workgroup(64)
      .Finish("fn main() { if (gid.x < parameters.size) { y[gid.x] = x[gid.x] + parameters.amount; } }");
}

class CudaTest : public testing::Test {
 protected:
  CudaTest() {
    cuda_.kernels["tandem_test_Add"] = {{8, 8, 8}, [](void** arguments) {
                                          const float* const x = *static_cast<const float**>(arguments[0]);
                                          float* const y = *static_cast<float**>(arguments[1]);
                                          struct Parameters {
                                            uint32_t size;
                                            float amount;
                                          } parameters;
                                          std::memcpy(&parameters, arguments[2], sizeof(parameters));
                                          for (uint32_t i = 0; i < parameters.size; ++i)
                                            y[i] = x[i] + parameters.amount;
                                          return kDriverSuccess;
                                        }};
  }

  static CudaQueueOptions Options(const std::string& cache_folder = "off", bool synchronous = false) {
    CudaQueueOptions options;
    options.cache_folder = cache_folder;
    options.synchronous = synchronous;
    return options;
  }
  StatusOr<std::unique_ptr<CudaQueue>> TryMakeQueue(const CudaQueueOptions& options = Options()) {
    TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device, CudaDevice::Create(cuda_.driver(), ""));
    return CudaQueue::Create(std::move(device), Nvrtc(cuda_.nvrtc()), options);
  }
  void MakeQueue(const CudaQueueOptions& options = Options()) {
    auto queue = TryMakeQueue(options);
    ASSERT_TRUE(queue.ok()) << queue.status().ToString();
    queue_ = std::move(*queue);
    queue_->SetListener(listener_);
  }

  // Puts an opened library that stands in for NVIDIA's on the emulated stream. What it gives counts descriptions that
  // are not destroyed.
  using NumLive = int (*)();
  static NumLive TakeLibrary(const char* file) {
    return reinterpret_cast<NumLive>(dlsym(EmulatedCuda::TakeLibrary(file), "fakeNumLive"));
  }

  StatusOr<RcRef<shader::Pipeline>> TryMakePipeline(shader::ShaderText text) {
    auto value = queue_->CreatePipeline(std::move(text));
    std::promise<void> made;
    EXPECT_TRUE(value.AndThen([&made] { made.set_value(); }));
    made.get_future().wait();
    if (value.IsError()) return value.GetError();
    return RcRef<shader::Pipeline>(*value);
  }
  RcRef<shader::Pipeline> MakeAdd() {
    StatusOr<RcRef<shader::Pipeline>> pipeline = TryMakePipeline(AddShader());
    EXPECT_TRUE(pipeline.ok()) << pipeline.status().ToString();
    return std::move(*pipeline);
  }

  gpu::BufferId MakeBuffer(const std::vector<float>& values) {
    const StatusOr<gpu::BufferId> buffer = queue_->CreateBuffer(values.size() * 4, {});
    EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
    EXPECT_TRUE(queue_->Upload(*buffer, values.data(), values.size() * 4, nullptr, {}).ok());
    return *buffer;
  }
  StatusOr<uint64_t> Add(const shader::Pipeline& add, gpu::BufferId x, gpu::BufferId y, uint32_t size, float amount,
                         std::string_view op = "tf.AddV2") {
    const gpu::BufferRange buffers[] = {{x, 0, 0}, {y, 0, 0}};
    uint32_t words[2] = {size, 0};
    std::memcpy(&words[1], &amount, 4);
    return queue_->Dispatch(add, buffers, words, {1, 1, 1}, {op, Location()});
  }
  StatusOr<std::vector<float>> Read(gpu::BufferId from, size_t size, uint64_t offset = 0) {
    std::vector<float> values(size);
    std::promise<Status> done;
    queue_->Download(from, offset, values.data(), size * 4, [&](const Status& status) { done.set_value(status); });
    const Status status = done.get_future().get();
    if (!status.ok()) return status;
    return values;
  }
  void ExpectRead(gpu::BufferId from, const std::vector<float>& expected) {
    const StatusOr<std::vector<float>> values = Read(from, expected.size());
    ASSERT_TRUE(values.ok()) << values.status().ToString();
    EXPECT_EQ(*values, expected);
  }

  EmulatedCuda cuda_{EmulatedCuda::Options{}};
  RecordingListener listener_;
  std::unique_ptr<CudaQueue> queue_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_TESTS_UNIT_CUDA_CUDA_TEST_FIXTURE_H_
