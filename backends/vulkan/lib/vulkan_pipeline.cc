// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_pipeline.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "tandem/gpu/heap_room.h"

namespace tandem::vulkan {

namespace {

// Part of all keys of what this source makes of a text: another translation makes another key.
constexpr std::string_view kSpirvVersion = "tandem spirv 1";
constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr uint32_t kSaveAfter = 32;  // pipelines
// Of the heap, for translation and glslang, which takes some 4 MB, and 16 MB the first time.
constexpr size_t kCompileBytes = size_t{64} << 20;

}  // namespace

PipelineMaker::PipelineMaker(const VulkanDevice& device, std::string cache_folder, VulkanPipeline::Release release)
    : device_(device),
      release_(std::move(release)),
      disk_(std::move(cache_folder), "TANDEM_VULKAN_CACHE"),
      threads_([this](const shader::ShaderText& text) { return Compile(text); },
               [this] {
                 if (num_unsaved_.load(std::memory_order_relaxed) >= kSaveAfter) SavePipelineCache();
               }) {
  OpenPipelineCache();
}

PipelineMaker::~PipelineMaker() {
  Stop();
  SavePipelineCache();
  const VulkanFunctions& vk = device_.vk();
  vk.DestroyPipelineCache(device_.handle(), cache_, nullptr);
  for (const auto& layout : layouts_) DestroyLayout(*layout);
}

void PipelineMaker::DestroyLayout(const PipelineLayout& layout) {
  const VulkanFunctions& vk = device_.vk();
  vk.DestroyDescriptorUpdateTemplate(device_.handle(), layout.update, nullptr);
  vk.DestroyPipelineLayout(device_.handle(), layout.pipeline, nullptr);
  vk.DestroyDescriptorSetLayout(device_.handle(), layout.set, nullptr);
}

// Of the driver that made the data, to the version.
std::string PipelineMaker::DriverKey() const {
  const VkPhysicalDeviceProperties& properties = device_.properties();
  std::string key("tandem pipelines 1 ");
  for (const uint32_t number : {properties.vendorID, properties.deviceID, properties.driverVersion}) {
    key += std::to_string(number) + " ";
  }
  key.append(reinterpret_cast<const char*>(properties.pipelineCacheUUID), sizeof(properties.pipelineCacheUUID));
  return key;
}

void PipelineMaker::OpenPipelineCache() {
  const auto data = disk_.Read("pipelines", DriverKey());
  VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  if (data) {
    info.initialDataSize = data->size();
    info.pInitialData = data->data();
  }
  // Without one, pipelines are compiled again.
  const VulkanFunctions& vk = device_.vk();
  if (vk.CreatePipelineCache(device_.handle(), &info, nullptr, &cache_) == VK_SUCCESS) return;
  cache_ = VK_NULL_HANDLE;
}

void PipelineMaker::SavePipelineCache() {
  if (cache_ == VK_NULL_HANDLE || !disk_.is_on() || num_unsaved_.exchange(0) == 0) return;
  const VulkanFunctions& vk = device_.vk();
  size_t size = 0;
  if (vk.GetPipelineCacheData(device_.handle(), cache_, &size, nullptr) != VK_SUCCESS) return;
  if (!gpu::HeapHasRoom(2 * size + kCompileBytes)) return;
  std::vector<std::byte> data(size);
  if (vk.GetPipelineCacheData(device_.handle(), cache_, &size, data.data()) != VK_SUCCESS) return;
  disk_.Write("pipelines", DriverKey(), {data.data(), size});
}

StatusOr<std::vector<uint32_t>> PipelineMaker::FindSpirv(const shader::ShaderText& text, ParameterPlace place) {
  std::string key(kSpirvVersion);
  key.append({static_cast<char>(place)}).append(text.wgsl);
  std::vector<uint32_t> words;
  if (const auto found = disk_.Read("spirv", key); found && found->size() % sizeof(uint32_t) == 0 && !found->empty()) {
    words.resize(found->size() / sizeof(uint32_t));
    std::memcpy(words.data(), found->data(), found->size());
    if (words[0] == kSpirvMagic) return words;
  }
  TANDEM_ASSIGN_OR_RETURN(const std::string glsl, TranslateToGlsl(text.wgsl, place));
  TANDEM_ASSIGN_OR_RETURN(words, compiler_.Compile(glsl));
  disk_.Write("spirv", key, std::as_bytes(std::span(words)));
  return words;
}

StatusOr<RcRef<shader::Pipeline>> PipelineMaker::Compile(const shader::ShaderText& text) {
  const auto in_shader = [&](const Status& error) {
    return MakeError(error.code(), "shader ", text.name, ": ", error.message());
  };
  if (text.buffers.empty() || text.buffers.size() > kMostBuffers) {
    return in_shader(InvalidArgument("expected 1 to ", kMostBuffers, " storage buffers, got ", text.buffers.size()));
  }
  if (!gpu::HeapHasRoom(kCompileBytes)) return Status::OutOfMemory();
  const uint32_t parameter_bytes = text.num_parameters * 4;
  const bool pushes = parameter_bytes <= device_.properties().limits.maxPushConstantsSize;
  const StatusOr<std::vector<uint32_t>> spirv =
      FindSpirv(text, pushes ? ParameterPlace::kPushConstants : ParameterPlace::kUniformBuffer);
  if (!spirv.ok()) return in_shader(spirv.status());
  TANDEM_ASSIGN_OR_RETURN(const PipelineLayout* const layout,
                          FindLayout(static_cast<uint32_t>(text.buffers.size()), parameter_bytes > 0 && !pushes));
  std::unique_ptr<PipelineHandle> handle(new (std::nothrow) PipelineHandle);
  if (handle == nullptr) return Status::OutOfMemory();
  const Status created = CreatePipeline(*spirv, *layout, handle->pipeline);
  if (!created.ok()) return in_shader(created);
  if (auto pipeline = MakeRef<VulkanPipeline>(std::move(handle), *layout, text, release_)) {
    return RcRef<shader::Pipeline>(std::move(pipeline));
  }
  // It was not moved.
  device_.vk().DestroyPipeline(device_.handle(), handle->pipeline, nullptr);
  return Status::OutOfMemory();
}

Status PipelineMaker::CreatePipeline(const std::vector<uint32_t>& spirv, const PipelineLayout& layout,
                                     VkPipeline& pipeline) {
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
  const VkResult result = vk.CreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
  vk.DestroyShaderModule(device_.handle(), module, nullptr);
  TANDEM_RETURN_IF_ERROR(ResultStatus(result, "vkCreateComputePipelines"));
  num_unsaved_.fetch_add(1, std::memory_order_relaxed);
  return Status();
}

StatusOr<const PipelineLayout*> PipelineMaker::FindLayout(uint32_t num_buffers, bool uses_uniform_buffer) {
  const std::lock_guard lock(layouts_mutex_);
  for (const auto& known : layouts_) {
    if (known->num_buffers == num_buffers && known->uses_uniform_buffer == uses_uniform_buffer) return known.get();
  }
  std::unique_ptr<PipelineLayout> layout(new (std::nothrow) PipelineLayout);
  if (layout == nullptr || !layouts_.Reserve(layouts_.size() + 1)) return Status::OutOfMemory();
  layout->num_buffers = num_buffers;
  layout->uses_uniform_buffer = uses_uniform_buffer;
  if (const Status filled = FillLayout(*layout); !filled.ok()) {
    DestroyLayout(*layout);
    return filled;
  }
  return layouts_.Append(std::move(layout))->get();
}

Status PipelineMaker::FillLayout(PipelineLayout& layout) {
  const VulkanFunctions& vk = device_.vk();
  const uint32_t num_bindings = layout.num_buffers + (layout.uses_uniform_buffer ? 1 : 0);
  const bool pushes = device_.has_push_descriptors();
  std::array<VkDescriptorSetLayoutBinding, kMostBuffers + 1> bindings;
  std::array<VkDescriptorUpdateTemplateEntry, kMostBuffers + 1> entries;
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
