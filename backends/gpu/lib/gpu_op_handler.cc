// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/gpu/gpu_op_handler.h"

#include <utility>

namespace tandem::gpu {

GpuOpHandler::GpuOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback,
                           std::unique_ptr<GpuDevice> device)
    : KernelOpHandler(name, runtime, fallback, *device,
                      {.use_work_queue = false, .transfer_for_fallback = true, .take_host_tensors = true}),
      gpu_(std::move(device)) {
  Provide(*gpu_);
}

}  // namespace tandem::gpu
