// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// BatchTimes: when shaders of a batch began and ended, by the device's clock, for traces (TR-2).

#ifndef TANDEM_BACKENDS_WEBGPU_LIB_BATCH_TIMES_H_
#define TANDEM_BACKENDS_WEBGPU_LIB_BATCH_TIMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem/gpu/device_times.h"
#include "tandem/growing_array.h"
#include "tandem/ref_counted.h"
#include "tandem/webgpu/commands.h"

namespace tandem::webgpu {

// Of a batch that has kTimedDispatch records. Copies and transfers have no times in WebGPU.
struct BatchTimes : RefCounted<BatchTimes> {
  GrowingArray<std::string_view> ops;  // of the records
  // Of each its beginning and its end, once kReadTimes is done.
  std::array<uint64_t, size_t{2} * kMostTimedDispatches> times{};
  uint32_t end = 0;  // the number of that record's end; 0: there is none
  gpu::DeviceTimes::Clock::time_point submitted;
};

}  // namespace tandem::webgpu

#endif  // TANDEM_BACKENDS_WEBGPU_LIB_BATCH_TIMES_H_
