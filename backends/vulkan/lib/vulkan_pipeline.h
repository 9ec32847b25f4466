// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PipelineMaker: shaders to pipelines.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_PIPELINE_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_PIPELINE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "disk_cache.h"
#include "glsl_text.h"
#include "pipeline_threads.h"
#include "spirv.h"
#include "tandem/async_value.h"
#include "tandem/growing_array.h"
#include "tandem/shader/shader_queue.h"
#include "vulkan_device.h"

namespace tandem::vulkan {

struct Batch;

// The most buffers of a shader.
inline constexpr size_t kMostBuffers = 32;

// The last batch with a command that uses something, and its number. The batch is there as long as it is not done.
struct LastUse {
  uint64_t number = 0;
  Batch* batch = nullptr;
};

// What all pipelines with the same number of buffers, and parameters in the same place, have in common.
struct PipelineLayout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
  // Of an array of VkDescriptorBufferInfo: the buffers, then the parameters if they are in a buffer.
  VkDescriptorUpdateTemplate update = VK_NULL_HANDLE;
  uint32_t num_buffers = 0;
  bool uses_uniform_buffer = false;
};

// A pipeline of the driver's, which may outlive the VulkanPipeline that it is of.
struct PipelineHandle {
  VkPipeline pipeline = VK_NULL_HANDLE;
  LastUse last_use;  // guarded by the queue's mutex
  std::unique_ptr<PipelineHandle> next;
};

class VulkanPipeline final : public shader::Pipeline {
 public:
  // Gets the handle back, to destroy it once no batch uses it.
  using Release = std::function<void(std::unique_ptr<PipelineHandle>)>;

  VulkanPipeline(std::unique_ptr<PipelineHandle> handle, const PipelineLayout& layout, const shader::ShaderText& text,
                 const Release& release)
      : handle_(std::move(handle)), layout_(layout), num_parameters_(text.num_parameters), release_(release) {
    for (size_t i = 0; i < text.buffers.size(); ++i) {
      if (text.buffers[i] == shader::BufferAccess::kReadWrite) written_ |= uint32_t{1} << i;
    }
  }
  ~VulkanPipeline() override { release_(std::move(handle_)); }

  PipelineHandle& handle() const { return *handle_; }
  const PipelineLayout& layout() const { return layout_; }
  // A bit for each buffer.
  uint32_t written() const { return written_; }
  uint32_t num_parameters() const { return num_parameters_; }

 private:
  std::unique_ptr<PipelineHandle> handle_;
  const PipelineLayout& layout_;
  uint32_t written_ = 0;
  const uint32_t num_parameters_;
  const Release& release_;
};

// Thread-safe.
class PipelineMaker {
 public:
  // `release` is for each pipeline.
  PipelineMaker(const VulkanDevice& device, std::string cache_folder, VulkanPipeline::Release release);
  // Stops, if that was not done. All pipelines made must have been dropped. Keeps what the driver compiled for the next
  // run.
  ~PipelineMaker();

  AsyncValueRef<RcRef<shader::Pipeline>> Make(shader::ShaderText text) { return threads_.Make(std::move(text)); }
  // See PipelineThreads.
  void Stop() { threads_.Stop(); }

 private:
  // From the cache, if the text was compiled in an earlier run.
  StatusOr<std::vector<uint32_t>> FindSpirv(const shader::ShaderText& text, ParameterPlace place);
  std::string DriverKey() const;
  void OpenPipelineCache();
  void SavePipelineCache();
  StatusOr<RcRef<shader::Pipeline>> Compile(const shader::ShaderText& text);
  Status CreatePipeline(const std::vector<uint32_t>& spirv, const PipelineLayout& layout, VkPipeline& pipeline);
  StatusOr<const PipelineLayout*> FindLayout(uint32_t num_buffers, bool uses_uniform_buffer);
  Status FillLayout(PipelineLayout& layout);
  void DestroyLayout(const PipelineLayout& layout);

  const VulkanDevice& device_;
  const VulkanPipeline::Release release_;
  const SpirvCompiler compiler_;
  const shader::DiskCache disk_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::atomic<uint32_t> num_unsaved_{0};

  std::mutex layouts_mutex_;
  GrowingArray<std::unique_ptr<PipelineLayout>> layouts_;

  shader::PipelineThreads threads_;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_PIPELINE_H_
