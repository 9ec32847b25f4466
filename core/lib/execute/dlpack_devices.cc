// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DLPack in and out for all devices of a runtime, each of which does its part.

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/dlpack.h"
#include "tensor/dlpack_layout.h"

namespace tandem {

DlpackDevice::~DlpackDevice() = default;

namespace {

// The devices of a runtime whose memory others can use. Thread-safe.
class DlpackDevices final : public SharedContext {
 public:
  void Add(std::shared_ptr<DlpackDevice> device) {
    const std::lock_guard lock(mutex_);
    devices_.push_back(std::move(device));
  }
  std::vector<std::shared_ptr<DlpackDevice>> All() const {
    const std::lock_guard lock(mutex_);
    return devices_;
  }
  std::shared_ptr<DlpackDevice> Find(const Device& device) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(devices_, [&](const auto& known) { return &known->device() == &device; });
    return found == devices_.end() ? nullptr : *found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<DlpackDevice>> devices_;
};

bool IsOfHost(int32_t type) { return type == dlpack::kCpu || type == dlpack::kCudaHost || type == dlpack::kRocmHost; }

// The device of some memory.
StatusOr<std::shared_ptr<DlpackDevice>> FindOwner(CoreRuntime& runtime, const DLDevice& owner) {
  std::string known = "the CPU";
  const auto devices = runtime.GetOrCreateSharedContext<DlpackDevices>();
  if (!devices) return Status::OutOfMemory();
  for (std::shared_ptr<DlpackDevice>& device : devices->All()) {
    const bool is_its_type = device->type() == owner.device_type && device->number() == owner.device_id;
    if (is_its_type || device->Takes(owner.device_type)) return std::move(device);
    known += " or of " + std::string(device->device().name()) + " (device " + std::to_string(device->number()) +
             " of type " + std::to_string(device->type()) + ")";
  }
  return InvalidArgument("expected memory of ", std::string_view(known), ", got that of device ", owner.device_id,
                         " of type ", owner.device_type);
}

// `is_taken`: whether the tensor, or what failed, calls the deleter.
template <typename Managed>
StatusOr<Tensor> Wrap(CoreRuntime& runtime, Managed* managed, int64_t stream, bool& is_taken) {
  const DLTensor& from = managed->dl_tensor;
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata metadata, dlpack::CheckMetadata(from));
  TANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<DlpackDevice> device, FindOwner(runtime, from.device));
  dlpack::Elements elements;
  TANDEM_RETURN_IF_ERROR(dlpack::FindElements(from, metadata, &elements));
  if (elements.base == nullptr) {
    const ExecutionContext exec(runtime.host(), Location());
    return device->device().AllocateDense(metadata, exec, "from_dlpack");
  }
  if (!dlpack::IsRowMajor(metadata, elements.strides)) {
    return InvalidArgument("expected elements of ", metadata, " on ", device->device().name(),
                           " to be row-major without gaps, got others");
  }
  is_taken = true;
  return device->Wrap(metadata, reinterpret_cast<uintptr_t>(elements.base), stream,
                      [managed] { dlpack::Release(managed); });
}

template <typename Managed>
StatusOr<Tensor> Import(CoreRuntime& runtime, Managed* managed, int64_t stream) {
  if (managed == nullptr) return InvalidArgument("expected a tensor of DLPack, got null");
  if (IsOfHost(managed->dl_tensor.device.device_type) || !dlpack::CheckVersion(*managed).ok()) {
    return FromDlpack(managed, runtime.host().device(), runtime.host().allocator());
  }
  bool is_taken = false;
  StatusOr<Tensor> tensor = Wrap(runtime, managed, stream, is_taken);
  if (!is_taken) dlpack::Release(managed);
  return tensor;
}

// What a tensor that goes out is kept by.
template <typename Managed>
struct Shared {
  Shared(std::shared_ptr<DlpackDevice> on, Tensor from, int64_t to)
      : device(std::move(on)), tensor(std::move(from)), stream(to) {}
  Managed managed = {};
  std::shared_ptr<DlpackDevice> device;
  Tensor tensor;
  int64_t stream;
  int64_t shape[TensorShape::kMaxRank];
  int64_t strides[TensorShape::kMaxRank];
};

template <typename Managed>
StatusOr<Managed*> Share(std::shared_ptr<DlpackDevice> device, const Tensor& tensor, int64_t stream) {
  const TensorMetadata& metadata = tensor.metadata();
  uint64_t address = 0;
  if (metadata.num_elements() > 0) {
    TANDEM_ASSIGN_OR_RETURN(address, device->Share(tensor, stream));
  }
  const DLDevice place = {device->type(), device->number()};
  auto* const shared = new (std::nothrow) Shared<Managed>(std::move(device), tensor, stream);
  if (shared == nullptr) return Status::OutOfMemory();
  std::copy_n(metadata.shape.dims().begin(), metadata.rank(), shared->shape);
  dlpack::RowMajorStrides(metadata.shape, shared->strides);
  shared->managed.dl_tensor = {reinterpret_cast<void*>(static_cast<uintptr_t>(address)),
                               place,
                               metadata.rank(),
                               dlpack::TypeOf(metadata.dtype),
                               shared->shape,
                               shared->strides,
                               0};
  shared->managed.manager_ctx = shared;
  shared->managed.deleter = [](Managed* self) {
    auto* const ended = static_cast<Shared<Managed>*>(self->manager_ctx);
    ended->device->TakeBack(ended->stream);
    delete ended;
  };
  return &shared->managed;
}

StatusOr<std::shared_ptr<DlpackDevice>> DeviceOf(CoreRuntime& runtime, const Device& device) {
  if (auto found = FindDlpackDevice(runtime, device)) return found;
  return MakeError(StatusCode::kUnimplemented, "expected a device whose memory other libraries can use, got ",
                   device.name());
}

}  // namespace

StatusOr<Tensor> FromDlpack(CoreRuntime& runtime, DLManagedTensorVersioned* managed, int64_t stream) {
  return Import(runtime, managed, stream);
}

StatusOr<Tensor> FromDlpack(CoreRuntime& runtime, DLManagedTensor* managed, int64_t stream) {
  return Import(runtime, managed, stream);
}

StatusOr<DLManagedTensorVersioned*> ToDlpack(CoreRuntime& runtime, const Tensor& tensor, int64_t stream) {
  if (tensor.device() == &runtime.host().device()) return ToDlpack(tensor, runtime.host().allocator());
  TANDEM_ASSIGN_OR_RETURN(std::shared_ptr<DlpackDevice> device, DeviceOf(runtime, *tensor.device()));
  TANDEM_ASSIGN_OR_RETURN(DLManagedTensorVersioned* const managed,
                          Share<DLManagedTensorVersioned>(std::move(device), tensor, stream));
  managed->version = dlpack::kVersion;
  managed->flags = dlpack::kReadOnly;
  return managed;
}

StatusOr<DLManagedTensor*> ToUnversionedDlpack(CoreRuntime& runtime, const Tensor& tensor, int64_t stream) {
  if (tensor.device() == &runtime.host().device()) return ToUnversionedDlpack(tensor, runtime.host().allocator());
  TANDEM_ASSIGN_OR_RETURN(std::shared_ptr<DlpackDevice> device, DeviceOf(runtime, *tensor.device()));
  return Share<DLManagedTensor>(std::move(device), tensor, stream);
}

StatusOr<int64_t> FindDlpackStream(CoreRuntime& runtime, const Device& device) {
  if (&device == &runtime.host().device()) return kDlpackNoStream;
  TANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<DlpackDevice> found, DeviceOf(runtime, device));
  return found->stream();
}

bool AddDlpackDevice(CoreRuntime& runtime, std::shared_ptr<DlpackDevice> device) {
  const auto devices = runtime.GetOrCreateSharedContext<DlpackDevices>();
  if (devices) devices->Add(std::move(device));
  return static_cast<bool>(devices);
}

std::shared_ptr<DlpackDevice> FindDlpackDevice(CoreRuntime& runtime, const Device& device) {
  const auto devices = runtime.GetOrCreateSharedContext<DlpackDevices>();
  return devices ? devices->Find(device) : nullptr;
}

}  // namespace tandem
