// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaPipelineMaker: kernels' texts to functions of the driver, by NVRTC.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_PIPELINE_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_PIPELINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "cuda_device.h"
#include "cuda_staging.h"
#include "disk_cache.h"
#include "nvrtc.h"
#include "pipeline_threads.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::cuda {

// What the queue may dispatch: a kernel, or a call of a library.
class CudaCommand : public shader::Pipeline {
 public:
  // Hands it to the stream, in the context of the calling thread. `failure` is of the driver, the result of a library.
  virtual Status Issue(StreamHandle stream, std::span<const DevicePointer> buffers,
                       std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                       DriverFailure& failure) const = 0;
};

class CudaPipeline final : public CudaCommand {
 public:
  // Unloads a module, once no kernel of it runs any more.
  using Release = std::function<void(ModuleHandle)>;

  CudaPipeline(const DriverFunctions& driver, ModuleHandle module, FunctionHandle function,
               const std::array<uint32_t, 3>& block, const Release& release)
      : driver_(driver), module_(module), function_(function), block_(block), release_(release) {}
  ~CudaPipeline() override { release_(module_); }

  Status Issue(StreamHandle stream, std::span<const DevicePointer> buffers, std::span<const uint32_t> parameters,
               const std::array<uint32_t, 3>& workgroups, DriverFailure& failure) const override;

 private:
  const DriverFunctions& driver_;
  const ModuleHandle module_;
  const FunctionHandle function_;
  const std::array<uint32_t, 3> block_;
  const Release& release_;
};

// Thread-safe.
class CudaPipelineMaker {
 public:
  // `cache_folder` is as for DiskCache, with TANDEM_CUDA_CACHE.
  CudaPipelineMaker(const CudaDevice& device, Nvrtc nvrtc, std::string cache_folder, CudaPipeline::Release release);

  AsyncValueRef<RcRef<shader::Pipeline>> Make(shader::ShaderText text) { return threads_.Make(std::move(text)); }
  std::string compiler_version() const { return nvrtc_.version(); }
  // See PipelineThreads.
  void Stop() { threads_.Stop(); }

 private:
  StatusOr<RcRef<shader::Pipeline>> Compile(const shader::ShaderText& text);
  // The module of a source; from the cache, if it was compiled in an earlier run and the driver takes it.
  StatusOr<ModuleHandle> FindModule(const std::string& source, const std::string& name, bool contracts) const;

  const CudaDevice& device_;
  const Nvrtc nvrtc_;
  const CudaPipeline::Release release_;
  const shader::DiskCache disk_;
  shader::PipelineThreads threads_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_PIPELINE_H_
