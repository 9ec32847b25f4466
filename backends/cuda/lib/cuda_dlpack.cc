// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_dlpack.h"

#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "cuda_limits.h"

namespace tandem::cuda {

namespace {

// DLDeviceType.
constexpr int32_t kDeviceType = 2;
constexpr int32_t kManagedType = 13;

constexpr std::string_view kImportName = "from_dlpack";

StreamHandle HandleOf(int64_t stream) { return reinterpret_cast<StreamHandle>(static_cast<intptr_t>(stream)); }

Status CheckStream(int64_t stream) {
  if (stream == kDlpackNoStream || stream > 0) return Status();
  return InvalidArgument("expected a stream of CUDA, or ", kDlpackNoStream, " for none, got ", stream);
}

}  // namespace

struct CudaDlpack::Foreign {
  std::shared_ptr<CudaQueueLife> life;
  std::function<void()> release;
  std::atomic<int> num_left{2};

  void End() {
    if (num_left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    release();
    delete this;
  }
};

int32_t CudaDlpack::type() const { return kDeviceType; }

bool CudaDlpack::Takes(int32_t type) const { return type == kManagedType; }

int64_t CudaDlpack::stream() const { return static_cast<int64_t>(reinterpret_cast<intptr_t>(queue_.stream())); }

Status CudaDlpack::CheckPointer(uint64_t address) const {
  const DriverFunctions& driver = queue_.device().driver();
  TANDEM_RETURN_IF_ERROR(queue_.device().Check(queue_.device().Enter(), "cuCtxSetCurrent"));
  int ordinal = -1;
  unsigned type = 0;
  const bool is_known = driver.PointerGetAttribute(&ordinal, kPointerDeviceOrdinal, address) == kDriverSuccess &&
                        driver.PointerGetAttribute(&type, kPointerMemoryType, address) == kDriverSuccess;
  if (!is_known) {
    return InvalidArgument("expected memory of CUDA device ", number_, ", got a pointer that CUDA does not know");
  }
  if (type == kMemoryOfHost) {
    return InvalidArgument("expected memory of CUDA device ", number_, ", got that of the host");
  }
  if (ordinal == number_) return Status();
  return InvalidArgument("expected memory of CUDA device ", number_, ", got that of device ", ordinal);
}

Status CudaDlpack::CheckElements(const TensorMetadata& metadata, std::string_view advice) const {
  if (metadata.dtype != DType::kBool) return Status();
  return InvalidArgument("expected elements that have the size on ", device_.name(), " that DLPack gives them, got ",
                         metadata, ", which has 4 bytes there; ", advice);
}

Status CudaDlpack::CheckForeign(const TensorMetadata& metadata, uint64_t address, int64_t stream) const {
  TANDEM_RETURN_IF_ERROR(device_.CheckLost());
  TANDEM_RETURN_IF_ERROR(CheckStream(stream));
  TANDEM_RETURN_IF_ERROR(CheckElements(metadata, "pass u8 and cast it"));
  if (device_.ByteSize(metadata) > device_.limits().max_buffer_bytes) {
    return InvalidArgument("expected a tensor of at most ", device_.limits().max_buffer_bytes, " bytes on ",
                           device_.name(), ", got ", metadata);
  }
  return CheckPointer(address);
}

void CudaDlpack::LetGo(Foreign* foreign) {
  {
    const std::lock_guard lock(foreign->life->mutex);
    CudaQueue* const queue = foreign->life->queue;
    if (queue != nullptr) {
      queue->WhenDone([foreign](const Status&) { foreign->End(); });
    } else {
      foreign->num_left.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  // Without the lock, since what is called is somebody else's.
  foreign->End();
}

StatusOr<Tensor> CudaDlpack::Wrap(const TensorMetadata& metadata, uint64_t address, int64_t stream,
                                  std::function<void()> release) {
  Status wrong = CheckForeign(metadata, address, stream);
  if (wrong.ok() && stream != kDlpackNoStream) wrong = queue_.WaitForStream(HandleOf(stream));
  auto* const foreign = wrong.ok() ? new (std::nothrow) Foreign{life_, release} : nullptr;
  if (foreign == nullptr) {
    release();
    return wrong.ok() ? Status::OutOfMemory() : wrong;
  }
  const uint64_t bytes = device_.ByteSize(metadata);
  if (address % device_.limits().offset_alignment == 0) {
    // Kernels may read, but not use, what follows up to the next multiple of their alignment, which no allocation ends
    // within.
    TANDEM_ASSIGN_OR_RETURN(RcRef<gpu::GpuBuffer> buffer,
                            device_.memory().WrapExternal(address, (bytes + 3) / 4 * 4, [foreign] { LetGo(foreign); }));
    return Tensor(metadata, &device_, gpu::kDenseGpu, nullptr, std::move(buffer));
  }
  const gpu::CommandOrigin origin = {kImportName, Location()};
  StatusOr<Tensor> copy = device_.Allocate(metadata, origin);
  if (copy.ok()) {
    gpu::GpuBuffer& buffer = gpu::GpuDevice::BufferOf(*copy);
    const StatusOr<uint64_t> batch = device_.stream().Copy(address, 0, buffer.id(), buffer.offset(), bytes, origin);
    if (batch.ok()) {
      buffer.set_last_write(*batch);
    } else {
      copy = batch.status();
    }
  }
  LetGo(foreign);
  return copy;
}

StatusOr<uint64_t> CudaDlpack::Share(const Tensor& tensor, int64_t stream) {
  TANDEM_RETURN_IF_ERROR(CheckStream(stream));
  const gpu::GpuBuffer& buffer = gpu::GpuDevice::BufferOf(tensor);
  TANDEM_RETURN_IF_ERROR(CheckElements(tensor.metadata(), "cast it to u8"));
  // What was put off comes before what others issue.
  device_.stream().Flush();
  TANDEM_RETURN_IF_ERROR(device_.CheckUsable(buffer));
  if (stream != kDlpackNoStream) TANDEM_RETURN_IF_ERROR(queue_.LetStreamWait(HandleOf(stream)));
  return buffer.id() + buffer.offset();
}

void CudaDlpack::TakeBack(int64_t stream) {
  if (stream == kDlpackNoStream) return;
  const std::lock_guard lock(life_->mutex);
  // An error is that of a device that is lost, which has told everybody.
  if (life_->queue != nullptr) static_cast<void>(life_->queue->WaitForStream(HandleOf(stream)));
}

}  // namespace tandem::cuda
