// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Uploads, downloads, pipelines, and what has failed on a device.

#include "tandem/shader/gpu_device.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/shader/heap_room.h"

namespace tandem::shader {

constinit const TensorType kDenseGpu("dense_gpu");

namespace {

constexpr size_t kMaxConstants = 256;
// Of the heap, for the strings of which a shader is put together: the longest texts have some 30 KB.
constexpr size_t kComposeBytes = size_t{1} << 20;
constexpr std::string_view kTransferName = "tandem.Transfer";

// bool on the GPU.
void Widen(const void* from, void* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<uint32_t*>(to)[i] = static_cast<const uint8_t*>(from)[i];
}
void Narrow(const void* from, void* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<uint8_t*>(to)[i] = static_cast<const uint32_t*>(from)[i] != 0;
}

GpuDevice& ToGpu(const Device& device) { return const_cast<GpuDevice&>(static_cast<const GpuDevice&>(device)); }

AsyncValueRef<Tensor> HostToGpu(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  StatusOr<Tensor> tensor = ToGpu(target).Upload(exec, from);
  if (!tensor.ok()) return AsyncValueRef<Tensor>::MakeError(tensor.status());
  return AsyncValueRef<Tensor>::MakeAvailable(std::move(*tensor));
}

AsyncValueRef<Tensor> GpuToHost(const ExecutionContext& exec, const Tensor& from, const Device&) {
  return ToGpu(*from.device()).Download(exec, from);
}

// Keeps what a download reads and writes, until it ends.
class PendingDownload : public RefCounted<PendingDownload> {
 public:
  PendingDownload(const GpuDevice& device, Tensor source, Tensor host, RcRef<HostBuffer> words, Producer<Tensor> result)
      : device_(device),
        source_(std::move(source)),
        host_(std::move(host)),
        words_(std::move(words)),
        result_(std::move(result)) {}

  void* destination() { return words_ ? words_->data() : host_.mutable_data(); }

  void End(const Status& status) {
    Status error = status.ok() ? device_.CheckUsable(GpuDevice::BufferOf(source_)) : status;
    source_ = Tensor(nullptr);
    Producer<Tensor> result = std::move(result_);
    if (!error.ok()) return result.SetError(std::move(error));
    if (words_) Narrow(words_->data(), host_.mutable_data(), host_.num_elements());
    result.value().TakePayload(std::move(host_));
    result.SetConcrete();
  }

 private:
  const GpuDevice& device_;
  Tensor source_;
  Tensor host_;
  RcRef<HostBuffer> words_;  // of bool
  Producer<Tensor> result_;
};

}  // namespace

uint64_t GpuByteSize(const TensorMetadata& metadata) {
  const auto elements = static_cast<uint64_t>(metadata.num_elements());
  return elements * (metadata.dtype == DType::kBool ? sizeof(uint32_t) : DTypeSize(metadata.dtype));
}

GpuDevice::GpuDevice(std::string_view name, std::unique_ptr<GpuQueue> queue, RcRef<GpuMemory> memory)
    : Device(name, kDenseGpu), queue_(std::move(queue)), limits_(queue_->limits()), memory_(std::move(memory)) {
  queue_->SetListener(*this);
}

GpuDevice::~GpuDevice() {
  // For the calls whose pipelines the queue gives up now.
  OnDeviceLost(MakeError(StatusCode::kCancelled, "the device was destroyed"));
  constants_.clear();
  for (std::unique_ptr<KnownVariant>& bucket : variants_) bucket.reset();
  memory_->Close();
  queue_.reset();
}

GpuDevice::VariantPipeline* GpuDevice::FindVariant(const ShaderVariant& variant) {
  std::unique_ptr<KnownVariant>* place = &variants_[ShaderVariant::Hash()(variant) % kVariantBuckets];
  while (*place != nullptr && (*place)->variant != variant) place = &(*place)->next;
  if (*place == nullptr) place->reset(new (std::nothrow) KnownVariant{variant, {}, nullptr});
  return *place == nullptr ? nullptr : &(*place)->pipeline;
}

GpuDevice::VariantPipeline GpuDevice::FindPipeline(const ShaderVariant& variant) {
  const std::lock_guard lock(pipelines_mutex_);
  VariantPipeline* const pipeline = FindVariant(variant);
  const bool is_made = pipeline != nullptr && pipeline->value.IsValid() && !pipeline->value.IsError();
  if (!is_made) {
    if (pipeline == nullptr || !HeapHasRoom(kComposeBytes)) {
      return {AsyncValueRef<RcRef<Pipeline>>::MakeError(Status::OutOfMemory())};
    }
    ShaderText text = variant.Compose();
    pipeline->num_written = static_cast<size_t>(std::ranges::count(text.buffers, BufferAccess::kReadWrite));
    pipeline->value = queue_->CreatePipeline(std::move(text));
  }
  return {pipeline->value.CopyRef(), pipeline->num_written};
}

Status GpuDevice::CheckLost() const {
  if (!has_failed_.load(std::memory_order_acquire)) return Status();
  const std::lock_guard lock(failures_mutex_);
  return lost_;
}

void GpuDevice::OnBatchesFailed(uint64_t first, uint64_t last, const Status& error) {
  const std::lock_guard lock(failures_mutex_);
  // What cannot be noted must not be taken for good: then all of the device is.
  if (failures_.Append({first, last, error}) == nullptr && lost_.ok()) lost_ = error;
  has_failed_.store(true, std::memory_order_release);
}

void GpuDevice::OnDeviceLost(const Status& error) {
  const std::lock_guard lock(failures_mutex_);
  if (lost_.ok()) lost_ = error;
  has_failed_.store(true, std::memory_order_release);
}

Status GpuDevice::CheckFailures(const GpuBuffer& buffer) const {
  const std::lock_guard lock(failures_mutex_);
  if (!lost_.ok()) return lost_;
  const uint64_t batch = buffer.last_write();
  for (const Failure& failure : failures_) {
    if (failure.first <= batch && batch <= failure.last) return failure.error;
  }
  return Status();
}

StatusOr<Tensor> GpuDevice::Allocate(const TensorMetadata& metadata, const CommandOrigin& origin) {
  TANDEM_ASSIGN_OR_RETURN(RcRef<GpuBuffer> buffer, memory_->Allocate(GpuByteSize(metadata), origin));
  return Tensor(metadata, this, kDenseGpu, nullptr, std::move(buffer));
}

StatusOr<Tensor> GpuDevice::UploadElements(const TensorMetadata& metadata, const void* data, RcRef<TensorStorage> owner,
                                           const CommandOrigin& origin) {
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, Allocate(metadata, origin));
  const uint64_t bytes = GpuByteSize(metadata);
  if (bytes == 0) return tensor;
  GpuBuffer& buffer = BufferOf(tensor);
  // The queue may be done with the data, and it be freed, when this returns.
  buffer.set_last_write(0);
  if (metadata.dtype == DType::kI32 || metadata.dtype == DType::kI64) buffer.Keep(data, bytes);
  TANDEM_ASSIGN_OR_RETURN(const uint64_t batch, queue_->Upload(buffer.id(), data, bytes, std::move(owner), origin));
  buffer.set_last_upload(batch);
  return tensor;
}

StatusOr<Tensor> GpuDevice::UploadConstant(const TensorMetadata& metadata, const void* data,
                                           const CommandOrigin& origin) {
  uint64_t bits = 0;
  std::memcpy(&bits, data, static_cast<size_t>(GpuByteSize(metadata)));
  const auto key = std::make_pair(metadata.dtype, bits);
  const std::lock_guard lock(constants_mutex_);
  Constant* found = std::ranges::lower_bound(constants_, key, {}, &Constant::key);
  const bool is_known = found != constants_.end() && found->key == key;
  if (is_known && CheckUsable(*found->buffer).ok()) return Tensor(metadata, this, kDenseGpu, nullptr, found->buffer);
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, UploadElements(metadata, data, nullptr, origin));
  auto buffer = RcRef<GpuBuffer>::Share(&BufferOf(tensor));
  if (is_known) {
    found->buffer = std::move(buffer);
    return tensor;
  }
  if (constants_.size() >= kMaxConstants) {
    constants_.clear();
    found = constants_.begin();
  }
  // Without memory to note it, it is uploaded again the next time.
  static_cast<void>(constants_.Insert(static_cast<size_t>(found - constants_.begin()), {key, std::move(buffer)}));
  return tensor;
}

StatusOr<Tensor> GpuDevice::Upload(const ExecutionContext& exec, const Tensor& host) {
  const CommandOrigin origin = {kTransferName, exec.location()};
  const int64_t count = host.num_elements();
  HostAllocator& allocator = exec.host().allocator();
  Tensor dense(nullptr);
  TANDEM_ASSIGN_OR_RETURN(dense, ToDense(host, allocator));
  const TensorMetadata& metadata = host.metadata();
  if (metadata.dtype != DType::kBool) {
    if (count == 1) return UploadConstant(metadata, dense.data(), origin);
    return UploadElements(metadata, dense.data(), dense.storage(), origin);
  }
  if (count == 1) {
    uint32_t word = 0;
    Widen(dense.data(), &word, 1);
    return UploadConstant(metadata, &word, origin);
  }
  if (count == 0) return Allocate(metadata, origin);
  if (GpuByteSize(metadata) > SIZE_MAX) return Status::OutOfMemory();
  TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> words, allocator.Allocate(static_cast<size_t>(GpuByteSize(metadata))));
  Widen(dense.data(), words->data(), count);
  const void* data = words->data();
  return UploadElements(metadata, data, std::move(words), origin);
}

AsyncValueRef<Tensor> GpuDevice::Download(const ExecutionContext& exec, const Tensor& tensor) {
  const auto fail = [](Status error) { return AsyncValueRef<Tensor>::MakeError(std::move(error)); };
  if (Status usable = CheckUsable(BufferOf(tensor)); !usable.ok()) return fail(std::move(usable));
  const TensorMetadata& metadata = tensor.metadata();
  HostContext& host = exec.host();
  StatusOr<Tensor> dense = AllocateDense(metadata, host.device(), host.allocator());
  if (!dense.ok()) return fail(dense.status());
  const uint64_t bytes = GpuByteSize(metadata);
  if (bytes == 0) return AsyncValueRef<Tensor>::MakeAvailable(std::move(*dense));
  if (const std::span<const std::byte> kept = BufferOf(tensor).kept(); kept.size() == bytes) {
    std::memcpy(dense->mutable_data(), kept.data(), kept.size());
    return AsyncValueRef<Tensor>::MakeAvailable(std::move(*dense));
  }
  RcRef<HostBuffer> words;
  if (metadata.dtype == DType::kBool) {
    if (bytes > SIZE_MAX) return fail(Status::OutOfMemory());
    StatusOr<RcRef<HostBuffer>> allocated = host.allocator().Allocate(static_cast<size_t>(bytes));
    if (!allocated.ok()) return fail(allocated.status());
    words = std::move(*allocated);
  }
  auto result = Producer<Tensor>::MakeConstructed(metadata, &host.device());
  if (!result) return fail(Status::OutOfMemory());
  AsyncValueRef<Tensor> value = result.ref();
  auto pending = MakeRef<PendingDownload>(*this, tensor, std::move(*dense), std::move(words), std::move(result));
  if (!pending) return fail(Status::OutOfMemory());
  void* const destination = pending->destination();
  // A pointer fits into the function; its reference is given up by the one call.
  queue_->Download(BufferOf(tensor).id(), destination, bytes,
                   [raw = pending.release()](const Status& status) { RcRef<PendingDownload>::Take(raw)->End(status); });
  return value;
}

Status GpuDevice::RegisterConversions(TensorConversions& conversions) {
  if (conversions.Find(kDenseHost, kDenseGpu) != nullptr) return Status();
  TANDEM_RETURN_IF_ERROR(conversions.Register(kDenseHost, kDenseGpu, &HostToGpu));
  TANDEM_RETURN_IF_ERROR(conversions.Register(kScalarHost, kDenseGpu, &HostToGpu));
  return conversions.Register(kDenseGpu, kDenseHost, &GpuToHost);
}

}  // namespace tandem::shader
