// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors on their way to a device and from it, and what has failed there.

#include "tandem/gpu/gpu_device.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/run_when_ready.h"

namespace tandem::gpu {

constinit const TensorType kDenseGpu("dense_gpu");
constinit const KernelContext GpuDevice::kKernelContext = {"a GPU device"};

namespace {

constexpr size_t kMaxConstants = 256;
constexpr std::string_view kTransferName = "tandem.Transfer";

// bool on the GPU.
void Widen(const void* from, void* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<uint32_t*>(to)[i] = static_cast<const uint8_t*>(from)[i];
}
void Narrow(const void* from, void* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<uint8_t*>(to)[i] = static_cast<const uint32_t*>(from)[i] != 0;
}

AsyncValueRef<Tensor> HostToGpu(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  StatusOr<Tensor> tensor = GpuDevice::Of(target).Upload(exec, from);
  if (!tensor.ok()) return AsyncValueRef<Tensor>::MakeError(tensor.status());
  return AsyncValueRef<Tensor>::MakeAvailable(std::move(*tensor));
}

AsyncValueRef<Tensor> GpuToHost(const ExecutionContext& exec, const Tensor& from, const Device&) {
  return GpuDevice::Of(*from.device()).Download(exec, from);
}

AsyncValueRef<Tensor> GpuToGpu(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  return GpuDevice::Of(target).TakeFrom(exec, GpuDevice::Of(*from.device()), from);
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

uint64_t GpuByteSize(const TensorMetadata& metadata, BoolLayout layout) {
  const bool has_words = metadata.dtype == DType::kBool && layout == BoolLayout::kWords;
  const size_t element = has_words ? sizeof(uint32_t) : DTypeSize(metadata.dtype);
  return static_cast<uint64_t>(metadata.num_elements()) * element;
}

GpuDevice::GpuDevice(std::string_view name, std::unique_ptr<Stream> stream, RcRef<GpuMemory> memory, BoolLayout bools)
    : Device(name, kDenseGpu),
      own_stream_(std::move(stream)),
      stream_(own_stream_.get()),
      memory_(std::move(memory)),
      bools_(bools) {
  own_stream_->SetListener(*this);
}

GpuDevice::~GpuDevice() { Close(); }

void GpuDevice::Close() {
  if (!own_stream_) return;
  // For what the stream calls now.
  Lose(MakeError(StatusCode::kCancelled, "the device was destroyed"));
  constants_.clear();
  memory_->Close();
  stream_.store(own_stream_.get(), std::memory_order_release);
  front_.reset();
  own_stream_.reset();
}

void GpuDevice::PutInFront(std::unique_ptr<Stream> front) {
  front_ = std::move(front);
  front_->SetListener(*this);
  memory_->SetStream(*front_);
  stream_.store(front_.get(), std::memory_order_release);
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

StatusOr<Tensor> GpuDevice::Allocate(const TensorMetadata& metadata, const CommandOrigin& origin) const {
  TANDEM_ASSIGN_OR_RETURN(RcRef<GpuBuffer> buffer, memory_->Allocate(ByteSize(metadata), origin));
  return Tensor(metadata, this, kDenseGpu, nullptr, std::move(buffer));
}

StatusOr<Tensor> GpuDevice::UploadElements(const TensorMetadata& metadata, const void* data, RcRef<TensorStorage> owner,
                                           const CommandOrigin& origin) {
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, Allocate(metadata, origin));
  const uint64_t bytes = ByteSize(metadata);
  if (bytes == 0) return tensor;
  GpuBuffer& buffer = BufferOf(tensor);
  // The queue may be done with the data, and it be freed, when this returns.
  buffer.set_last_write(0);
  if (metadata.dtype == DType::kI32 || metadata.dtype == DType::kI64) buffer.Keep(data, bytes);
  TANDEM_ASSIGN_OR_RETURN(const uint64_t batch, stream().Upload(buffer.id(), data, bytes, std::move(owner), origin));
  buffer.set_last_upload(batch);
  return tensor;
}

StatusOr<Tensor> GpuDevice::UploadConstant(const TensorMetadata& metadata, const void* data,
                                           const CommandOrigin& origin) {
  uint64_t bits = 0;
  std::memcpy(&bits, data, static_cast<size_t>(ByteSize(metadata)));
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
  if (!HasWideBools(metadata)) {
    if (count == 1) return UploadConstant(metadata, dense.data(), origin);
    return UploadElements(metadata, dense.data(), dense.storage(), origin);
  }
  if (count == 1) {
    uint32_t word = 0;
    Widen(dense.data(), &word, 1);
    return UploadConstant(metadata, &word, origin);
  }
  if (count == 0) return Allocate(metadata, origin);
  if (ByteSize(metadata) > SIZE_MAX) return Status::OutOfMemory();
  TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> words, allocator.Allocate(static_cast<size_t>(ByteSize(metadata))));
  Widen(dense.data(), words->data(), count);
  const void* data = words->data();
  return UploadElements(metadata, data, std::move(words), origin);
}

AsyncValueRef<Tensor> GpuDevice::Download(const ExecutionContext& exec, const Tensor& tensor) {
  const auto fail = [](Status error) { return AsyncValueRef<Tensor>::MakeError(std::move(error)); };
  if (Status usable = CheckUsable(BufferOf(tensor)); !usable.ok()) return fail(std::move(usable));
  const TensorMetadata& metadata = tensor.metadata();
  HostContext& host = exec.host();
  StatusOr<Tensor> dense = tandem::AllocateDense(metadata, host.device(), host.allocator());
  if (!dense.ok()) return fail(dense.status());
  const uint64_t bytes = ByteSize(metadata);
  if (bytes == 0) return AsyncValueRef<Tensor>::MakeAvailable(std::move(*dense));
  if (const std::span<const std::byte> kept = BufferOf(tensor).kept(); kept.size() == bytes) {
    std::memcpy(dense->mutable_data(), kept.data(), kept.size());
    return AsyncValueRef<Tensor>::MakeAvailable(std::move(*dense));
  }
  RcRef<HostBuffer> words;
  if (HasWideBools(metadata)) {
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
  const BufferRange& from = BufferOf(tensor).range();
  stream().Download(from.buffer, from.offset, destination, bytes, [raw = pending.release()](const Status& status) {
    RcRef<PendingDownload>::Take(raw)->End(status);
  });
  return value;
}

AsyncValueRef<Tensor> GpuDevice::TakeFrom(const ExecutionContext& exec, const GpuDevice& device, const Tensor& tensor) {
  const auto upload = [](const ExecutionContext& context, GpuDevice& to, const AsyncValueRef<Tensor>& host) {
    return host.IsError() ? StatusOr<Tensor>(host.GetError()) : to.Upload(context, *host);
  };
  const AsyncValueRef<Tensor> host = Of(device).Download(exec, tensor);
  if (host.IsAvailable()) {
    StatusOr<Tensor> there = upload(exec, *this, host);
    return there.ok() ? AsyncValueRef<Tensor>::MakeAvailable(std::move(*there))
                      : AsyncValueRef<Tensor>::MakeError(there.status());
  }
  auto result = Producer<Tensor>::MakeConstructed(tensor.metadata(), this);
  if (!result) return AsyncValueRef<Tensor>::MakeError(Status::OutOfMemory());
  AsyncValueRef<Tensor> value = result.ref();
  AsyncValue* const awaited[] = {host.value()};
  const bool waits = RunWhenReady(
      awaited, [context = exec, this, host = host.CopyRef(), result = std::move(result), upload]() mutable {
        StatusOr<Tensor> there = upload(context, *this, host);
        host.reset();
        if (!there.ok()) return result.SetError(there.status());
        result.value().TakePayload(std::move(*there));
        result.SetConcrete();
      });
  return waits ? std::move(value) : AsyncValueRef<Tensor>::MakeError(Status::OutOfMemory());
}

AsyncValueRef<Chain> GpuDevice::RecordEvent() {
  auto event = MakeUnconstructed<Chain>();
  if (!event) return AsyncValueRef<Chain>::MakeError(Status::OutOfMemory());
  AsyncValueRef<Chain> value{RcRef<AsyncValue>(event)};
  stream().WhenDone([raw = event.release()](const Status& status) {
    const auto ended = RcRef<ConcreteAsyncValue<Chain>>::Take(raw);
    status.ok() ? ended->Emplace() : ended->SetError(status);
  });
  return value;
}

Status GpuDevice::RegisterConversions(TensorConversions& conversions) {
  if (conversions.Find(kDenseHost, kDenseGpu) != nullptr) return Status();
  TANDEM_RETURN_IF_ERROR(conversions.Register(kDenseHost, kDenseGpu, &HostToGpu));
  TANDEM_RETURN_IF_ERROR(conversions.Register(kScalarHost, kDenseGpu, &HostToGpu));
  TANDEM_RETURN_IF_ERROR(conversions.Register(kDenseGpu, kDenseHost, &GpuToHost));
  return conversions.Register(kDenseGpu, kDenseGpu, &GpuToGpu);
}

}  // namespace tandem::gpu
