// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GpuOpHandler: the op handler of a device that is a stream.

#ifndef TANDEM_GPU_GPU_OP_HANDLER_H_
#define TANDEM_GPU_GPU_OP_HANDLER_H_

#include <memory>
#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/gpu/gpu_device.h"
#include "tandem/kernel_op_handler.h"

namespace tandem::gpu {

// Owns its device. Kernels run on the calling thread, since they only issue commands. Dense tensors of the host are
// taken as arguments too, and moved to the device (EX-13).
class TANDEM_EXPORT GpuOpHandler : public KernelOpHandler {
 public:
  // `fallback` runs what has no kernel, with arguments and results moved (OH-2); null: such calls are errors.
  GpuOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback, std::unique_ptr<GpuDevice> device);

  GpuDevice& gpu() const { return *gpu_; }

 private:
  const std::unique_ptr<GpuDevice> gpu_;
};

}  // namespace tandem::gpu

#endif  // TANDEM_GPU_GPU_OP_HANDLER_H_
