// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PipelineMaker: shaders to pipelines, on threads of its own.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_PIPELINE_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_PIPELINE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "disk_cache.h"
#include "glsl_text.h"
#include "native_thread.h"
#include "spirv.h"
#include "tandem/async_value.h"
#include "tandem/shader/gpu_queue.h"
#include "vulkan_device.h"

namespace tandem::vulkan {

// What all pipelines with the same number of buffers, and parameters in the same place, have in common.
struct PipelineLayout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
  // Of an array of VkDescriptorBufferInfo: the buffers, then the parameters if they are in a buffer.
  VkDescriptorUpdateTemplate update = VK_NULL_HANDLE;
  uint32_t num_buffers = 0;
  bool uses_uniform_buffer = false;
};

class VulkanPipeline final : public shader::Pipeline {
 public:
  VulkanPipeline(VkPipeline handle, const PipelineLayout& layout, const shader::ShaderText& text,
                 std::function<void(const VulkanPipeline&)> release)
      : handle_(handle),
        layout_(layout),
        access_(text.buffers),
        num_parameters_(text.num_parameters),
        release_(std::move(release)) {}
  ~VulkanPipeline() override { release_(*this); }

  VkPipeline handle() const { return handle_; }
  const PipelineLayout& layout() const { return layout_; }
  const std::vector<shader::BufferAccess>& access() const { return access_; }
  uint32_t num_parameters() const { return num_parameters_; }

  // The last batch that uses it. Guarded by the queue's mutex.
  mutable uint64_t last_use = 0;

 private:
  const VkPipeline handle_;
  const PipelineLayout& layout_;
  const std::vector<shader::BufferAccess> access_;
  const uint32_t num_parameters_;
  const std::function<void(const VulkanPipeline&)> release_;
};

// Thread-safe.
class PipelineMaker {
 public:
  using Release = std::function<void(const VulkanPipeline&)>;

  // `release` is called with each pipeline when it is dropped, to destroy its handle once no batch uses it.
  PipelineMaker(const VulkanDevice& device, std::string cache_folder, Release release);
  // Stops, if that was not done. All pipelines made must have been dropped. Keeps what the driver compiled for the next
  // run.
  ~PipelineMaker();

  AsyncValueRef<RcRef<shader::Pipeline>> Make(shader::ShaderText text);
  // Ends the threads: pipelines that are not begun become Cancelled errors, as do all that are asked for from now on.
  void Stop();

 private:
  struct Job {
    shader::ShaderText text;
    Producer<RcRef<shader::Pipeline>> result;
  };

  void Work();
  void Run(Job job);
  // From the cache, if the text was compiled in an earlier run.
  StatusOr<std::vector<uint32_t>> FindSpirv(const shader::ShaderText& text, ParameterPlace place);
  std::string DriverKey() const;
  void OpenPipelineCache();
  void SavePipelineCache();
  StatusOr<RcRef<shader::Pipeline>> Compile(const shader::ShaderText& text);
  StatusOr<VkPipeline> CreatePipeline(const std::vector<uint32_t>& spirv, const PipelineLayout& layout);
  StatusOr<const PipelineLayout*> FindLayout(uint32_t num_buffers, bool uses_uniform_buffer);
  Status FillLayout(PipelineLayout& layout);

  const VulkanDevice& device_;
  const Release release_;
  const SpirvCompiler compiler_;
  const DiskCache disk_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::atomic<uint32_t> num_unsaved_{0};

  std::mutex layouts_mutex_;
  std::map<std::pair<uint32_t, bool>, PipelineLayout> layouts_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::vector<std::unique_ptr<NativeThread>> threads_;
  size_t num_idle_ = 0;
  bool stopping_ = false;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_PIPELINE_H_
