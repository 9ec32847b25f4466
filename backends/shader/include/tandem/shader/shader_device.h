// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ShaderDevice: a device whose kernels are shaders: its queue and its pipelines.

#ifndef TANDEM_SHADER_SHADER_DEVICE_H_
#define TANDEM_SHADER_SHADER_DEVICE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "tandem/export.h"
#include "tandem/gpu/gpu_device.h"
#include "tandem/kernel_rehearsal.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

using gpu::GpuBuffer;
using gpu::kDenseGpu;

// Bytes of a tensor where shaders run, not rounded.
inline uint64_t GpuByteSize(const TensorMetadata& metadata) {
  return gpu::GpuByteSize(metadata, gpu::BoolLayout::kWords);
}

// Of arguments that are still to come (see KernelRehearsal); the second of those whose memory may be taken over. Their
// buffers are stand-ins.
TANDEM_EXPORT extern const TensorType kStandInGpu;
TANDEM_EXPORT extern const TensorType kTakenOverStandInGpu;
inline bool IsStandIn(const Tensor& tensor) { return tensor.IsA(kStandInGpu) || tensor.IsA(kTakenOverStandInGpu); }

// Thread-safe.
class TANDEM_EXPORT ShaderDevice final : public gpu::GpuDevice, public KernelRehearsal {
 public:
  // Kernels of its handler may take it as a ShaderDevice&.
  static const KernelContext kKernelContext;

  // `memory` is of `queue`; for `want_call_fusion` see ShaderOpHandlerOptions.
  ShaderDevice(std::string_view name, std::unique_ptr<ShaderQueue> queue, RcRef<gpu::GpuMemory> memory,
               std::function<void()> want_call_fusion = nullptr);
  ~ShaderDevice() override;

  Tensor StandIn(const TensorMetadata& metadata, bool is_taken_over) const override;

  ShaderQueue& queue() const { return static_cast<ShaderQueue&>(stream()); }
  // As GpuDevice::PutInFront.
  void PutInFront(std::unique_ptr<ShaderQueue> front) { GpuDevice::PutInFront(std::move(front)); }
  const GpuLimits& limits() const { return limits_; }

  // The pipeline of a variant, made the first time it is asked for, and how many buffers, the last ones, it writes. An
  // error is not kept: what failed for lack of memory, or because the device was busy, is tried again.
  struct VariantPipeline {
    AsyncValueRef<RcRef<Pipeline>> value;
    size_t num_written = 0;
  };
  VariantPipeline FindPipeline(const ShaderVariant& variant);

  bool fuses_calls_later() const { return want_call_fusion_ != nullptr; }
  // Told of the buffers of each element-wise call that could have been put off, if calls are fused later, and there is
  // nobody yet to do it: it is wanted by a call that takes what the one before it gave.
  void WantCallFusion(std::span<GpuBuffer* const> arguments, const GpuBuffer* result);

 private:
  struct KnownVariant {
    ShaderVariant variant;
    VariantPipeline pipeline;  // its value is null until it was first made
    std::unique_ptr<KnownVariant> next;
  };
  static constexpr size_t kVariantBuckets = 512;

  // The place of a variant; null if memory is exhausted.
  VariantPipeline* FindVariant(const ShaderVariant& variant);

  const GpuLimits limits_;
  const std::function<void()> want_call_fusion_;
  std::atomic<const GpuBuffer*> last_result_{nullptr};
  std::atomic<bool> was_wanted_{false};

  std::mutex pipelines_mutex_;
  std::array<std::unique_ptr<KnownVariant>, kVariantBuckets> variants_;  // by hash
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_SHADER_DEVICE_H_
