// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GpuDevice: a device whose op handler runs shaders: its queue, memory, pipelines and what has failed on it.

#ifndef TANDEM_SHADER_GPU_DEVICE_H_
#define TANDEM_SHADER_GPU_DEVICE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "tandem/device.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/growing_array.h"
#include "tandem/shader/gpu_memory.h"
#include "tandem/shader/gpu_queue.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor.h"
#include "tandem/tensor_conversions.h"

namespace tandem::shader {

// Dense tensors in a GpuBuffer, row-major without gaps from its start. bool takes 4 bytes an element, 0 or 1; all other
// dtypes have the layout they have on the host.
TANDEM_EXPORT extern const TensorType kDenseGpu;

// Bytes of a tensor on a GPU, not rounded.
TANDEM_EXPORT uint64_t GpuByteSize(const TensorMetadata& metadata);

// Thread-safe.
class TANDEM_EXPORT GpuDevice final : public Device, private GpuListener {
 public:
  // `memory` is of `queue`.
  GpuDevice(std::string_view name, std::unique_ptr<GpuQueue> queue, RcRef<GpuMemory> memory);
  ~GpuDevice();

  GpuQueue& queue() const { return *queue_; }
  const GpuLimits& limits() const { return limits_; }
  GpuMemory& memory() const { return *memory_; }

  // The pipeline of a variant, made the first time it is asked for, and how many buffers, the last ones, it writes. An
  // error is not kept: what failed for lack of memory, or because the device was busy, is tried again.
  struct VariantPipeline {
    AsyncValueRef<RcRef<Pipeline>> value;
    size_t num_written = 0;
  };
  VariantPipeline FindPipeline(const ShaderVariant& variant);

  // Ok, or why the content of the buffer is unusable: the device is lost, or a batch that wrote it failed.
  Status CheckUsable(const GpuBuffer& buffer) const {
    return has_failed_.load(std::memory_order_acquire) ? CheckFailures(buffer) : Status();
  }
  // Ok, or why the device is gone.
  Status CheckLost() const;
  // Makes everything fail as when the device is lost.
  void Lose(const Status& error) { OnDeviceLost(error); }

  // A tensor without content.
  StatusOr<Tensor> Allocate(const TensorMetadata& metadata, const CommandOrigin& origin);
  // A copy of a dense or scalar tensor of the host. Single elements come from a cache of constants.
  StatusOr<Tensor> Upload(const ExecutionContext& exec, const Tensor& host);
  // A copy on the host, of the same metadata; pending.
  AsyncValueRef<Tensor> Download(const ExecutionContext& exec, const Tensor& tensor);

  // The buffer of a tensor that is on a GPU.
  static GpuBuffer& BufferOf(const Tensor& tensor) { return static_cast<GpuBuffer&>(*tensor.storage()); }

  // Adds the ways between the host and devices of this class; nothing if they are there.
  static Status RegisterConversions(TensorConversions& conversions);

 private:
  struct Failure {
    uint64_t first;
    uint64_t last;
    Status error;
  };
  struct Constant {
    std::pair<DType, uint64_t> key;  // dtype and bits
    RcRef<GpuBuffer> buffer;
  };

  struct KnownVariant {
    ShaderVariant variant;
    VariantPipeline pipeline;  // its value is null until it was first made
    std::unique_ptr<KnownVariant> next;
  };
  static constexpr size_t kVariantBuckets = 512;

  void OnBatchesFailed(uint64_t first, uint64_t last, const Status& error) override;
  void OnDeviceLost(const Status& error) override;
  Status CheckFailures(const GpuBuffer& buffer) const;
  // The place of a variant; null if memory is exhausted.
  VariantPipeline* FindVariant(const ShaderVariant& variant);
  StatusOr<Tensor> UploadElements(const TensorMetadata& metadata, const void* data, RcRef<TensorStorage> owner,
                                  const CommandOrigin& origin);
  StatusOr<Tensor> UploadConstant(const TensorMetadata& metadata, const void* data, const CommandOrigin& origin);

  std::unique_ptr<GpuQueue> queue_;
  const GpuLimits limits_;
  RcRef<GpuMemory> memory_;

  std::mutex pipelines_mutex_;
  std::array<std::unique_ptr<KnownVariant>, kVariantBuckets> variants_;  // by hash

  std::mutex constants_mutex_;
  GrowingArray<Constant> constants_;  // by key

  std::atomic<bool> has_failed_{false};
  mutable std::mutex failures_mutex_;
  GrowingArray<Failure> failures_;
  Status lost_;
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_GPU_DEVICE_H_
