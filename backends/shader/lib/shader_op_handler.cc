// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/shader/shader_op_handler.h"

#include <new>
#include <utility>

#include "kernels/kernels.h"

namespace tandem::shader {

ShaderOpHandler::ShaderOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback,
                                 std::unique_ptr<GpuDevice> device, Policy policy)
    : KernelOpHandler(name, runtime, fallback, *device, policy), gpu_(std::move(device)) {}

StatusOr<ShaderOpHandler*> CreateShaderOpHandler(CoreRuntime& runtime, std::unique_ptr<GpuQueue> queue,
                                                 const ShaderOpHandlerOptions& options) {
  auto memory = MakeRef<GpuMemory>(*queue, options.memory);
  if (!memory) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(GpuDevice::RegisterConversions(runtime.host().conversions()));
  auto device = std::make_unique<GpuDevice>(options.name, std::move(queue), std::move(memory));
  KernelOpHandler::Policy policy;
  policy.use_work_queue = false;
  policy.transfer_for_fallback = true;
  policy.take_host_tensors = true;
  auto handler = std::make_unique<ShaderOpHandler>(options.name, runtime, options.fallback, std::move(device), policy);
  TANDEM_RETURN_IF_ERROR(RegisterKernels(*handler));
  return static_cast<ShaderOpHandler*>(runtime.AddHandler(std::move(handler)));
}

}  // namespace tandem::shader
