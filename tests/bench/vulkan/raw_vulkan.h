// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RawVulkan: a chain of dispatches as a program written for nothing else would record it, for comparison.

#ifndef TANDEM_TESTS_BENCH_VULKAN_RAW_VULKAN_H_
#define TANDEM_TESTS_BENCH_VULKAN_RAW_VULKAN_H_

#include <vulkan/vulkan.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::bench {

// Two buffers, and a shader that reads one and writes the other. Any error ends the program.
class RawVulkan {
 public:
  // On the device of this name. `spirv` has the buffers at the bindings 0 and 1 of set 0, and 8 bytes of push
  // constants.
  RawVulkan(const std::string& device_name, const std::vector<uint32_t>& spirv, uint64_t buffer_bytes);
  ~RawVulkan();
  RawVulkan(const RawVulkan&) = delete;
  RawVulkan& operator=(const RawVulkan&) = delete;

  // Records `count` dispatches of so many workgroups, from one buffer to the other and back, each with a barrier if
  // they are dependent; hands them over together, and waits for the first value of the result.
  float Run(int count, bool dependent, uint32_t workgroups, const std::array<uint32_t, 2>& parameters);

 private:
  VkBuffer MakeBuffer(uint64_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags properties,
                      VkDeviceMemory& memory);
  void MakePipeline(const std::vector<uint32_t>& spirv);
  void MakeSets();

  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  const uint64_t buffer_bytes_;
  std::array<VkBuffer, 3> buffers_ = {};  // the last one is mapped
  std::array<VkDeviceMemory, 3> memories_ = {};
  const float* mapped_ = nullptr;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::array<VkDescriptorSet, 2> sets_ = {};
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace tandem::bench

#endif  // TANDEM_TESTS_BENCH_VULKAN_RAW_VULKAN_H_
