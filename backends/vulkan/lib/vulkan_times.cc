// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_times.h"

#include <array>

namespace tandem::vulkan {

void VulkanTimes::Start(Batch& batch) const {
  const VulkanFunctions& vk = device_.vk();
  if (device_.timestamp_bits() == 0) return;
  if (batch.times == VK_NULL_HANDLE) {
    VkQueryPoolCreateInfo info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = kMostTimes;
    if (vk.CreateQueryPool(device_.handle(), &info, nullptr, &batch.times) != VK_SUCCESS) {
      batch.times = VK_NULL_HANDLE;
      return;
    }
  }
  vk.CmdResetQueryPool(batch.commands, batch.times, 0, kMostTimes);
  vk.CmdWriteTimestamp(batch.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, batch.times, 0);
  batch.num_times = 1;
}

void VulkanTimes::Mark(Batch& batch, std::string_view op) const {
  if (batch.num_times == kMostTimes || batch.timed_ops.Append(op) == nullptr) return;
  device_.vk().CmdWriteTimestamp(batch.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, batch.times, batch.num_times);
  ++batch.num_times;
}

void VulkanTimes::Tell(const Batch& batch) {
  if (batch.num_times < 2) return;
  const gpu::DeviceTimes::Clock::time_point seen = gpu::DeviceTimes::Clock::now();
  std::array<uint64_t, kMostTimes> counts;
  const VkResult result = device_.vk().GetQueryPoolResults(
      device_.handle(), batch.times, 0, batch.num_times, batch.num_times * sizeof(uint64_t), counts.data(),
      sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (result != VK_SUCCESS) return;
  const uint32_t bits = device_.timestamp_bits();
  const uint64_t mask = bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  const double period = device_.properties().limits.timestampPeriod;  // nanoseconds
  const auto advance = [&](uint64_t count) {
    count_ += (count - last_count_) & mask;
    last_count_ = count & mask;
    return static_cast<int64_t>(static_cast<double>(count_) * period);
  };
  int64_t began = advance(counts[0]);
  for (uint32_t i = 1; i < batch.num_times; ++i) {
    const int64_t ended = advance(counts[i]);
    times_.Record({batch.timed_ops[i - 1], began, ended}, batch.submitted, seen);
    began = ended;
  }
}

}  // namespace tandem::vulkan
