// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GpuDevice: a device that is a stream: its memory, the ways of tensors to and from it, and what has failed on it.

#ifndef TANDEM_GPU_GPU_DEVICE_H_
#define TANDEM_GPU_GPU_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "tandem/chain.h"
#include "tandem/device.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/gpu/gpu_memory.h"
#include "tandem/gpu/stream.h"
#include "tandem/growing_array.h"
#include "tandem/kernel_frame.h"
#include "tandem/tensor.h"
#include "tandem/tensor_conversions.h"

namespace tandem::gpu {

// Dense tensors in a GpuBuffer, row-major without gaps from its start. All dtypes have the layout they have on the
// host, but for bool where the device says so.
TANDEM_EXPORT extern const TensorType kDenseGpu;

// How a device has bool: as on the host, or, where kernels can address no bytes, in 4 bytes an element, 0 or 1.
enum class BoolLayout : uint8_t { kBytes, kWords };

// Bytes of a tensor on a GPU, not rounded.
TANDEM_EXPORT uint64_t GpuByteSize(const TensorMetadata& metadata, BoolLayout layout);

// A derived class may add what its kernels need. Thread-safe.
class TANDEM_EXPORT GpuDevice : public Device, private StreamListener {
 public:
  // Kernels of its handler may take it as a GpuDevice&.
  static const KernelContext kKernelContext;

  // `memory` is of `stream`.
  GpuDevice(std::string_view name, std::unique_ptr<Stream> stream, RcRef<GpuMemory> memory, BoolLayout bools);
  ~GpuDevice() override;

  Stream& stream() const { return *stream_.load(std::memory_order_acquire); }
  GpuMemory& memory() const { return *memory_; }
  uint64_t ByteSize(const TensorMetadata& metadata) const { return GpuByteSize(metadata, bools_); }

  // Ok, or why the content of the buffer is unusable: the device is lost, or a batch that wrote it failed.
  Status CheckUsable(const GpuBuffer& buffer) const {
    return has_failed_.load(std::memory_order_acquire) ? CheckFailures(buffer) : Status();
  }
  // Ok, or why the device is gone.
  Status CheckLost() const;
  // Makes everything fail as when the device is lost.
  void Lose(const Status& error) { OnDeviceLost(error); }

  // A tensor without content.
  StatusOr<Tensor> Allocate(const TensorMetadata& metadata, const CommandOrigin& origin) const;
  StatusOr<Tensor> AllocateDense(const TensorMetadata& metadata, const ExecutionContext& exec,
                                 std::string_view op) const override {
    return Allocate(metadata, {op, exec.location()});
  }
  // A copy of a dense or scalar tensor of the host. Single elements come from a cache of constants.
  StatusOr<Tensor> Upload(const ExecutionContext& exec, const Tensor& host);
  // A copy on the host, of the same metadata; pending.
  AsyncValueRef<Tensor> Download(const ExecutionContext& exec, const Tensor& tensor);
  // A copy of a tensor of another device; through the host, unless a derived class knows better.
  virtual AsyncValueRef<Tensor> TakeFrom(const ExecutionContext& exec, const GpuDevice& device, const Tensor& tensor);
  // An event: concrete when all commands issued so far have been executed, or the error of the device that is lost.
  AsyncValueRef<Chain> RecordEvent();

  // The buffer of a tensor that is on a GPU.
  static GpuBuffer& BufferOf(const Tensor& tensor) { return static_cast<GpuBuffer&>(*tensor.storage()); }
  // The device that a tensor on a GPU is on.
  static GpuDevice& Of(const Device& device) { return const_cast<GpuDevice&>(static_cast<const GpuDevice&>(device)); }

  // Adds the ways between the host and devices of this class, and from one to another; nothing if they are there.
  static Status RegisterConversions(TensorConversions& conversions);

 protected:
  // Has commands pass through `front`, which passes them on to what stream() was until now, whose buffers and batches
  // are its own. Once, at any time while other threads issue commands.
  void PutInFront(std::unique_ptr<Stream> front);

  // Destroys the stream, after which everything fails; nothing the second time. For destructors of derived classes,
  // since the stream may call what waits for it then, which uses them.
  void Close();

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

  bool HasWideBools(const TensorMetadata& metadata) const {
    return bools_ == BoolLayout::kWords && metadata.dtype == DType::kBool;
  }
  void OnBatchesFailed(uint64_t first, uint64_t last, const Status& error) override;
  void OnDeviceLost(const Status& error) override;
  Status CheckFailures(const GpuBuffer& buffer) const;
  StatusOr<Tensor> UploadElements(const TensorMetadata& metadata, const void* data, RcRef<TensorStorage> owner,
                                  const CommandOrigin& origin);
  StatusOr<Tensor> UploadConstant(const TensorMetadata& metadata, const void* data, const CommandOrigin& origin);

  std::unique_ptr<Stream> own_stream_;  // null once closed
  std::unique_ptr<Stream> front_;
  std::atomic<Stream*> stream_;
  RcRef<GpuMemory> memory_;
  const BoolLayout bools_;

  std::mutex constants_mutex_;
  GrowingArray<Constant> constants_;  // by key

  std::atomic<bool> has_failed_{false};
  mutable std::mutex failures_mutex_;
  GrowingArray<Failure> failures_;
  Status lost_;
};

}  // namespace tandem::gpu

#endif  // TANDEM_GPU_GPU_DEVICE_H_
