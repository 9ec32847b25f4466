// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler of NVIDIA GPUs, by CUDA.

#ifndef TANDEM_CUDA_CUDA_OP_HANDLER_H_
#define TANDEM_CUDA_CUDA_OP_HANDLER_H_

#include <memory>
#include <optional>
#include <string>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/gpu/gpu_memory.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/status.h"

namespace tandem::cuda {

struct CudaOptions {
  // Which device: its index in the driver's order, or a part of its name in any case. Empty: the first one.
  // TANDEM_CUDA_DEVICE in the environment comes first.
  std::string device;

  // Whether the device is waited for after each command, so that a kernel's fault is told of the op that made it.
  // Default: where TANDEM_CUDA_SYNCHRONOUS=1 is in the environment.
  std::optional<bool> synchronous{};

  // Whether products and convolutions of f32 may round their factors to 10 bits of the fraction (TF32), which tensor
  // cores multiply many times as fast. Default: where TANDEM_CUDA_TF32=1 is in the environment.
  std::optional<bool> uses_tf32{};

  // Whether stretches of commands that come again and again, of programs and of calls, are launched as CUDA graphs,
  // which costs the host less: commands are then put off up to 64 or until somebody waits. By drivers of CUDA 12 and
  // later. Default: where TANDEM_CUDA_GRAPHS=1 is in the environment.
  std::optional<bool> graphs{};

  // Where compiled kernels are kept from one run to the next. Default: TANDEM_CUDA_CACHE in the environment, else
  // `tandem` in the user's cache folder (XDG_CACHE_HOME, or .cache in HOME); "off" keeps none.
  std::string cache_folder;

  // For the op handler. Of freed memory a quarter of the device's is kept at most, both by the handler and by the
  // driver: giving it back and mapping it again takes longer than most ops on it.
  gpu::GpuMemory::Options memory{.cache_limit = UINT64_MAX};
  OpHandler* fallback = nullptr;
};

// A queue of a device of compute capability 7.5 or later. Products of matrices are cuBLASLt's where that is found, as
// TANDEM_CUBLASLT in the environment says (a file, or "off"), and convolutions cuDNN's, as TANDEM_CUDNN says;
// `adapter_name` tells. NotFound if there is no driver (libcuda.so.1), no such device, or no NVRTC (libnvrtc.so, of the
// CUDA Toolkit); FailedPrecondition, naming what it lacks, if driver, NVRTC or device are too old.
TANDEM_EXPORT StatusOr<std::unique_ptr<shader::ShaderQueue>> CreateCudaQueue(const CudaOptions& options);

// Makes the handler "cuda" on such a queue and adds it to the runtime.
TANDEM_EXPORT StatusOr<shader::ShaderOpHandler*> CreateCudaOpHandler(CoreRuntime& runtime, const CudaOptions& options);

}  // namespace tandem::cuda

#endif  // TANDEM_CUDA_CUDA_OP_HANDLER_H_
