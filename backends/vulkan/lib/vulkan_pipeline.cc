// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_pipeline.h"

#include <algorithm>
#include <system_error>

#include "glsl_text.h"

namespace tandem::vulkan {

PipelineMaker::~PipelineMaker() {
  std::deque<Job> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    left.swap(jobs_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (Job& job : left) {
    job.result->SetError(Status::Error(StatusCode::kCancelled, "the device is being destroyed"));
  }
  const VulkanFunctions& vk = device_.vk();
  for (auto& [key, layout] : layouts_) {
    vk.DestroyDescriptorUpdateTemplate(device_.handle(), layout.update, nullptr);
    vk.DestroyPipelineLayout(device_.handle(), layout.pipeline, nullptr);
    vk.DestroyDescriptorSetLayout(device_.handle(), layout.set, nullptr);
  }
}

AsyncValueRef<RcRef<shader::Pipeline>> PipelineMaker::Make(shader::ShaderText text) {
  using Result = AsyncValueRef<RcRef<shader::Pipeline>>;
  auto result = MakeUnconstructed<RcRef<shader::Pipeline>>();
  if (!result) return Result(OutOfMemoryAsyncValue());
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(text), result});
    // Half the cores, since the program has work of its own.
    const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 1, 8);
    if (num_idle_ < jobs_.size() && threads_.size() < most) threads_.emplace_back([this] { Work(); });
  }
  wake_.notify_one();
  return Result(std::move(result));
}

void PipelineMaker::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++num_idle_;
    wake_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    --num_idle_;
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    StatusOr<RcRef<shader::Pipeline>> pipeline = Compile(job.text);
    if (pipeline.ok()) {
      job.result->Emplace(std::move(*pipeline));
    } else {
      job.result->SetError(pipeline.status());
    }
    job = {};
    lock.lock();
  }
}

StatusOr<RcRef<shader::Pipeline>> PipelineMaker::Compile(const shader::ShaderText& text) {
  const auto in_shader = [&](const Status& error) {
    return MakeError(error.code(), "shader ", text.name, ": ", error.message());
  };
  const uint32_t parameter_bytes = text.num_parameters * 4;
  const bool pushes = parameter_bytes <= device_.properties().limits.maxPushConstantsSize;
  const StatusOr<std::string> glsl =
      TranslateToGlsl(text.wgsl, pushes ? ParameterPlace::kPushConstants : ParameterPlace::kUniformBuffer);
  if (!glsl.ok()) return in_shader(glsl.status());
  const StatusOr<std::vector<uint32_t>> spirv = compiler_.Compile(*glsl);
  if (!spirv.ok()) return in_shader(spirv.status());
  TANDEM_ASSIGN_OR_RETURN(const PipelineLayout* const layout,
                          FindLayout(static_cast<uint32_t>(text.buffers.size()), parameter_bytes > 0 && !pushes));
  const StatusOr<VkPipeline> handle = CreatePipeline(*spirv, *layout);
  if (!handle.ok()) return in_shader(handle.status());
  return RcRef<shader::Pipeline>(MakeRef<VulkanPipeline>(*handle, *layout, text, release_));
}

StatusOr<VkPipeline> PipelineMaker::CreatePipeline(const std::vector<uint32_t>& spirv, const PipelineLayout& layout) {
  const VulkanFunctions& vk = device_.vk();
  VkShaderModuleCreateInfo module_info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = spirv.size() * sizeof(uint32_t);
  module_info.pCode = spirv.data();
  VkShaderModule module = VK_NULL_HANDLE;
  TANDEM_RETURN_IF_ERROR(
      ResultStatus(vk.CreateShaderModule(device_.handle(), &module_info, nullptr, &module), "vkCreateShaderModule"));
  VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = layout.pipeline;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result = vk.CreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
  vk.DestroyShaderModule(device_.handle(), module, nullptr);
  TANDEM_RETURN_IF_ERROR(ResultStatus(result, "vkCreateComputePipelines"));
  return pipeline;
}

StatusOr<const PipelineLayout*> PipelineMaker::FindLayout(uint32_t num_buffers, bool uses_uniform_buffer) {
  const std::lock_guard lock(layouts_mutex_);
  PipelineLayout& layout = layouts_[{num_buffers, uses_uniform_buffer}];
  if (layout.update != VK_NULL_HANDLE) return &layout;
  layout.num_buffers = num_buffers;
  layout.uses_uniform_buffer = uses_uniform_buffer;
  TANDEM_RETURN_IF_ERROR(FillLayout(layout));
  return &layout;
}

Status PipelineMaker::FillLayout(PipelineLayout& layout) {
  const VulkanFunctions& vk = device_.vk();
  const uint32_t num_bindings = layout.num_buffers + (layout.uses_uniform_buffer ? 1 : 0);
  const bool pushes = device_.max_push_descriptors() > 0;
  std::vector<VkDescriptorSetLayoutBinding> bindings(num_bindings);
  std::vector<VkDescriptorUpdateTemplateEntry> entries(num_bindings);
  for (uint32_t i = 0; i < num_bindings; ++i) {
    const VkDescriptorType type =
        i < layout.num_buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    bindings[i] = {i, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    entries[i] = {i, 0, 1, type, i * sizeof(VkDescriptorBufferInfo), sizeof(VkDescriptorBufferInfo)};
  }
  VkDescriptorSetLayoutCreateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.flags = pushes ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0;
  set.bindingCount = num_bindings;
  set.pBindings = bindings.data();
  TANDEM_RETURN_IF_ERROR(ResultStatus(vk.CreateDescriptorSetLayout(device_.handle(), &set, nullptr, &layout.set),
                                      "vkCreateDescriptorSetLayout"));
  const uint32_t push_bytes =
      std::min<uint32_t>(shader::kMaxParameters * 4, device_.properties().limits.maxPushConstantsSize);
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes / 4 * 4};
  VkPipelineLayoutCreateInfo pipeline = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &layout.set;
  pipeline.pushConstantRangeCount = 1;
  pipeline.pPushConstantRanges = &range;
  TANDEM_RETURN_IF_ERROR(ResultStatus(vk.CreatePipelineLayout(device_.handle(), &pipeline, nullptr, &layout.pipeline),
                                      "vkCreatePipelineLayout"));
  VkDescriptorUpdateTemplateCreateInfo update = {VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
  update.descriptorUpdateEntryCount = num_bindings;
  update.pDescriptorUpdateEntries = entries.data();
  update.templateType = pushes ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
                               : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
  update.descriptorSetLayout = layout.set;
  update.pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE;
  update.pipelineLayout = layout.pipeline;
  return ResultStatus(vk.CreateDescriptorUpdateTemplate(device_.handle(), &update, nullptr, &layout.update),
                      "vkCreateDescriptorUpdateTemplate");
}

}  // namespace tandem::vulkan
