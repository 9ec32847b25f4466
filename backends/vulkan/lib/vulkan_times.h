// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// VulkanTimes: how long commands of batches took, by the device's clock, for traces (TR-2).

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_TIMES_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_TIMES_H_

#include <cstdint>
#include <string_view>

#include "tandem/gpu/device_times.h"
#include "vulkan_batch.h"
#include "vulkan_device.h"

namespace tandem::vulkan {

// A command takes from the end of the one before it to its own. Where the device counts no time, or memory is
// exhausted, there are no times.
class VulkanTimes {
 public:
  VulkanTimes(const VulkanDevice& device, HostContext& host) : device_(device), times_(host, "vulkan") {}

  // Before a command is recorded into a batch.
  void Begin(Batch& batch) const {
    if (batch.num_times == 0 && times_.IsWanted()) [[unlikely]]
      Start(batch);
  }
  // After it was.
  void End(Batch& batch, std::string_view op) const {
    if (batch.num_times > 0) [[unlikely]]
      Mark(batch, op);
  }
  // Of a batch that is done; in the order of batches.
  void Tell(const Batch& batch);

 private:
  static constexpr uint32_t kMostTimes = 512;  // of a batch

  void Start(Batch& batch) const;
  void Mark(Batch& batch, std::string_view op) const;

  const VulkanDevice& device_;
  gpu::DeviceTimes times_;
  // What the device has counted, since its counter may begin anew.
  uint64_t last_count_ = 0;
  uint64_t count_ = 0;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_TIMES_H_
