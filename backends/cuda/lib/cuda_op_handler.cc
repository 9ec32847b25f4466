// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/cuda/cuda_op_handler.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cuda_device.h"
#include "cuda_dlpack.h"
#include "cuda_handler.h"
#include "cuda_queue.h"

namespace tandem::cuda {

namespace {

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

uint64_t CacheLimit(const CudaOptions& options, const CudaDevice& device) {
  return std::min(options.memory.cache_limit, device.total_bytes() / 4);
}

// `host`: whose traces show the device's times; null: none do.
StatusOr<std::unique_ptr<CudaQueue>> MakeQueue(const CudaOptions& options, HostContext* host) {
  TANDEM_ASSIGN_OR_RETURN(const DriverFunctions driver, OpenDriver());
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device, CudaDevice::Create(driver, options.device));
  TANDEM_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::Open());
  CudaQueueOptions queue_options;
  queue_options.cublaslt = OpenCublaslt();
  queue_options.cudnn = OpenCudnn();
  queue_options.uses_tf32 = options.uses_tf32.value_or(IsSet("TANDEM_CUDA_TF32"));
  queue_options.cache_folder = options.cache_folder;
  queue_options.synchronous = options.synchronous.value_or(IsSet("TANDEM_CUDA_SYNCHRONOUS"));
  queue_options.pool_bytes = CacheLimit(options, *device);
  if (options.graphs.value_or(IsSet("TANDEM_CUDA_GRAPHS"))) queue_options.graphs = OpenGraphFunctions();
  queue_options.host = host;
  return CudaQueue::Create(std::move(device), std::move(nvrtc), queue_options);
}

}  // namespace

StatusOr<std::unique_ptr<shader::ShaderQueue>> CreateCudaQueue(const CudaOptions& options) {
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<CudaQueue> queue, MakeQueue(options, nullptr));
  return std::unique_ptr<shader::ShaderQueue>(std::move(queue));
}

StatusOr<shader::ShaderOpHandler*> AddCudaOpHandler(CoreRuntime& runtime, std::unique_ptr<CudaQueue> queue,
                                                    const CudaOptions& options) {
  CudaQueue& ours = *queue;
  DeviceReport report = queue->report();
  shader::ShaderOpHandlerOptions handler;
  handler.name = "cuda";
  handler.memory = options.memory;
  handler.memory.cache_limit = CacheLimit(options, ours.device());
  handler.fallback = options.fallback;
  TANDEM_ASSIGN_OR_RETURN(shader::ShaderOpHandler* const made,
                          shader::CreateShaderOpHandler(runtime, std::move(queue), handler));
  TANDEM_RETURN_IF_ERROR(made->TakeUserShaders());
  const bool is_told = AddDlpackDevice(runtime, std::make_shared<CudaDlpack>(made->gpu(), ours)) &&
                       AddDeviceReport(runtime, made->gpu(), std::move(report));
  return is_told ? StatusOr<shader::ShaderOpHandler*>(made) : Status::OutOfMemory();
}

StatusOr<shader::ShaderOpHandler*> CreateCudaOpHandler(CoreRuntime& runtime, const CudaOptions& options) {
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<CudaQueue> queue, MakeQueue(options, &runtime.host()));
  return AddCudaOpHandler(runtime, std::move(queue), options);
}

}  // namespace tandem::cuda
