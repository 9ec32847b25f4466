// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_queue.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "cuda_limits.h"

namespace tandem::cuda {
namespace {

// Small uploads begin at a multiple of this.
constexpr size_t kStagingAlignment = 64;
// How long a result is asked for before the thread sleeps, which costs some 50 µs.
constexpr std::chrono::microseconds kSpin(50);

// For cuBLASLt, which takes more on Hopper and later (cuBLAS, "Using the cuBLASLt API").
constexpr int kHopper = 90;
constexpr uint64_t kWorkspaceBytes = uint64_t{4} << 20;
constexpr uint64_t kHopperWorkspaceBytes = uint64_t{32} << 20;

shader::GpuLimits LimitsOf(const CudaDevice& device) {
  shader::GpuLimits limits = CudaLimits();
  limits.max_buffer_bytes = std::min(limits.max_buffer_bytes, device.total_bytes() / 4 * 4);
  return limits;
}

Status LostDevice(std::string_view reason, std::string_view ops) {
  return MakeError(StatusCode::kUnavailable, "the CUDA device is lost: ", reason, ops.empty() ? "" : "; ", ops);
}

}  // namespace

CudaQueue::CudaQueue(std::unique_ptr<CudaDevice> device, Nvrtc nvrtc, const CudaQueueOptions& options)
    : device_(std::move(device)),
      driver_(device_->driver()),
      options_(options),
      limits_(LimitsOf(*device_)),
      description_(device_->description()),
      life_(std::make_shared<CudaQueueLife>()),
      pipelines_(*device_, std::move(nvrtc), options.cache_folder,
                 [this](ModuleHandle module) { UnloadModule(module); }) {
  life_->queue = this;
  if (options.host != nullptr) times_.emplace(*options.host, "cuda");
}

StatusOr<std::unique_ptr<CudaQueue>> CudaQueue::Create(std::unique_ptr<CudaDevice> device, Nvrtc nvrtc,
                                                       const CudaQueueOptions& options) {
  std::unique_ptr<CudaQueue> queue(new (std::nothrow) CudaQueue(std::move(device), std::move(nvrtc), options));
  if (queue == nullptr) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(queue->Begin());
  return queue;
}

Status CudaQueue::Begin() {
  report_.push_back({"device", device_->description(), "", ""});
  report_.push_back({"NVRTC", pipelines_.compiler_version(), "compiles all other ops' kernels", ""});
  TANDEM_RETURN_IF_ERROR(device_->Check(device_->Enter(), "cuCtxSetCurrent"));
  TANDEM_RETURN_IF_ERROR(device_->Check(driver_.StreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate"));
  PoolProperties properties = {};
  properties.allocation_type = kPoolPinned;
  properties.location = {kPoolOnDevice, device_->number()};
  TANDEM_RETURN_IF_ERROR(device_->Check(driver_.MemPoolCreate(&pool_, &properties), "cuMemPoolCreate"));
  uint64_t kept = options_.pool_bytes;
  TANDEM_RETURN_IF_ERROR(device_->Check(driver_.MemPoolSetAttribute(pool_, kPoolAttributeReleaseThreshold, &kept),
                                        "cuMemPoolSetAttribute"));
  TANDEM_RETURN_IF_ERROR(device_->Check(driver_.EventCreate(&order_event_, kEventDisableTiming), "cuEventCreate"));
  staging_.reset(new (std::nothrow) CudaStaging(driver_, stream_));
  TANDEM_RETURN_IF_ERROR(OpenGraphs());
  if (staging_ == nullptr || !thread_.Start([this] { Watch(); })) return Status::OutOfMemory();
  OpenLibraries();
  return Status();
}

Status CudaQueue::OpenGraphs() {
  Status opened = options_.graphs.status();
  if (opened.ok() && options_.synchronous) opened = InvalidArgument("the device is waited for after each command");
  report_.push_back({"launch by CUDA graphs", "",
                     opened.ok() ? "stretches of commands that come again" : "each command is a launch",
                     std::string(opened.message())});
  if (!opened.ok()) return Status();
  graphs_.reset(new (std::nothrow) CudaGraphs(driver_, *options_.graphs, stream_));
  return graphs_ == nullptr ? Status::OutOfMemory() : Status();
}

void CudaQueue::OpenLibraries() {
  const char* const rounding = options_.uses_tf32 ? " (f32 by TF32)" : "";
  const auto add = [&](const char* name, bool is_there, const Status& opened, const std::string& version,
                       const char* use) {
    if (!opened.ok()) {
      const std::string why(opened.message());
      if (is_there) description_ += std::string(" without ") + name + ": " + why;
      return report_.push_back({name, "", "its ops are kernels'", why});
    }
    description_ += std::string(" with ") + name + " " + version;
    report_.push_back({name, version, std::string(use) + rounding, ""});
  };
  // A library that does not begin is as one that is not there.
  const Status products = options_.cublaslt.ok() ? OpenProducts() : options_.cublaslt.status();
  add("cuBLASLt", options_.cublaslt.ok(), products, products.ok() ? CublasltVersion(*options_.cublaslt) : "",
      "tf.MatMul, tf.BatchMatMulV2, tf._FusedMatMul, tf.Einsum of f32, f16, bf16, f64 and c64");
  const Status dnn = options_.cudnn.ok() ? OpenDnn() : options_.cudnn.status();
  add("cuDNN", options_.cudnn.ok(), dnn, dnn.ok() ? CudnnVersion(*options_.cudnn) : "",
      "tf.Conv2D, its gradients and tf._FusedConv2D of f32, f16, bf16 and f64, but for windows of one pixel and for "
      "more padding behind than before");
}

Status CudaQueue::OpenDnn() {
  const auto grow = [this](size_t bytes, DevicePointer& memory) { return GrowDnnWorkspaceLocked(bytes, memory); };
  TANDEM_ASSIGN_OR_RETURN(dnn_, CudaDnn::Create(*options_.cudnn, stream_, grow, options_.uses_tf32));
  return Status();
}

// Commands use it one after another, and what they used before in the order of the stream.
bool CudaQueue::GrowDnnWorkspaceLocked(size_t bytes, DevicePointer& memory) {
  DevicePointer grown = 0;
  if (!AllocateLocked(bytes, grown).ok()) return false;
  if (memory != 0) {
    if (graphs_ != nullptr) graphs_->ForgetCaptured();
    driver_.MemFreeAsync(memory, stream_);
  }
  memory = grown;
  return true;
}

Status CudaQueue::OpenProducts() {
  CudaProducts::Workspace workspace;
  workspace.bytes = static_cast<size_t>(device_->architecture() >= kHopper ? kHopperWorkspaceBytes : kWorkspaceBytes);
  {
    const std::lock_guard lock(mutex_);
    const DriverFailure failure = AllocateLocked(workspace.bytes, workspace.memory);
    if (!failure.ok()) return device_->Check(failure.result, failure.call);
  }
  auto products = CudaProducts::Create(*options_.cublaslt, workspace, options_.uses_tf32);
  if (!products.ok()) {
    DestroyBuffer(workspace.memory);
    return products.status();
  }
  products_ = std::move(*products);
  return Status();
}

CudaQueue::~CudaQueue() {
  {
    const std::lock_guard lock(life_->mutex);
    life_->queue = nullptr;
  }
  pipelines_.Stop();
  SubmitLate();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.Join();
  // What fails now fails because the context is lost, and its objects with it.
  device_->Enter();
  if (stream_ != nullptr) driver_.StreamSynchronize(stream_);
  graphs_.reset();
  if (open_ != nullptr) staging_->Give(std::move(open_));
  staging_.reset();
  if (dnn_ != nullptr) {
    const DevicePointer workspace = dnn_->workspace();
    dnn_.reset();
    if (workspace != 0) driver_.MemFreeAsync(workspace, stream_);
    driver_.StreamSynchronize(stream_);
  }
  if (products_ != nullptr) {
    const DevicePointer workspace = products_->workspace().memory;
    products_.reset();
    driver_.MemFreeAsync(workspace, stream_);
    driver_.StreamSynchronize(stream_);
  }
  for (const EventHandle event : {order_event_, last_timed_}) {
    if (event != nullptr) driver_.EventDestroy(event);
  }
  if (stream_ != nullptr) driver_.StreamDestroy(stream_);
  if (pool_ != nullptr) driver_.MemPoolDestroy(pool_);
}

// ---- Failures.

Status CudaQueue::CheckUsableLocked(DriverFailure& failure) {
  if (lost_.ok()) failure = {device_->Enter(), "cuCtxSetCurrent"};
  return lost_;
}

std::string CudaQueue::RecentOps() {
  const std::lock_guard lock(mutex_);
  std::string text;
  const size_t count = std::min(num_recent_ops_, kRecentOps);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view op = recent_ops_[(num_recent_ops_ - 1 - i) % kRecentOps];
    text += (i == 0 ? "the last ops issued are " : ", ") + std::string(op);
  }
  if (count > 0) text += " (TANDEM_CUDA_SYNCHRONOUS=1 tells which it was)";
  return text;
}

Status CudaQueue::Tell(const DriverFailure& failure, const gpu::CommandOrigin* origin) {
  if (failure.ok()) return Status();
  const Status status = device_->Check(failure.result, failure.call);
  if (!IsContextLost(failure.result)) return status;
  const bool is_known = options_.synchronous && origin != nullptr;
  const std::string ops = is_known ? "the op is " + std::string(origin->op) : RecentOps();
  Lose(LostDevice(status.message(), ops));
  const std::lock_guard lock(mutex_);
  return lost_;
}

// The listener is told before anybody else can see it.
void CudaQueue::Lose(const Status& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.ok()) return;
  }
  if (listener_ != nullptr) listener_->OnDeviceLost(error);
  const std::lock_guard lock(mutex_);
  if (lost_.ok()) lost_ = error;
}

// ---- Other streams.

Status CudaQueue::Order(StreamHandle first, StreamHandle then) {
  SubmitLate();
  DriverFailure failure;
  {
    const std::lock_guard lock(mutex_);
    TANDEM_RETURN_IF_ERROR(CheckUsableLocked(failure));
    if (failure.ok()) failure = {driver_.EventRecord(order_event_, first), "cuEventRecord"};
    if (failure.ok()) failure = {driver_.StreamWaitEvent(then, order_event_, 0), "cuStreamWaitEvent"};
  }
  return Tell(failure, nullptr);
}

// ---- Memory.

DriverFailure CudaQueue::AllocateLocked(uint64_t bytes, DevicePointer& memory) {
  const auto allocate = [&]() -> DriverFailure {
    return {driver_.MemAllocFromPoolAsync(&memory, static_cast<size_t>(bytes), pool_, stream_),
            "cuMemAllocFromPoolAsync"};
  };
  const DriverFailure failure = allocate();
  if (failure.result != kDriverOutOfMemory) return failure;
  // What was freed in stream order is free when the stream is done with it, and goes back to the device then.
  const DriverFailure waited = {driver_.StreamSynchronize(stream_), "cuStreamSynchronize"};
  if (!waited.ok()) return waited;
  const DriverFailure trimmed = {driver_.MemPoolTrimTo(pool_, 0), "cuMemPoolTrimTo"};
  return trimmed.ok() ? allocate() : trimmed;
}

StatusOr<gpu::BufferId> CudaQueue::CreateBuffer(uint64_t bytes, const gpu::CommandOrigin& origin) {
  DevicePointer memory = 0;
  DriverFailure failure;
  {
    const std::lock_guard lock(mutex_);
    TANDEM_RETURN_IF_ERROR(CheckUsableLocked(failure));
    if (failure.ok()) failure = AllocateLocked(bytes, memory);
  }
  if (failure.result == kDriverOutOfMemory) {
    return ResourceExhausted("expected ", bytes, " bytes of memory of ", adapter_name(), ", which has no more");
  }
  TANDEM_RETURN_IF_ERROR(Tell(failure, &origin));
  return memory;
}

void CudaQueue::DestroyBuffer(gpu::BufferId buffer) {
  SubmitLate();
  DriverFailure failure;
  {
    const std::lock_guard lock(mutex_);
    if (!CheckUsableLocked(failure).ok()) return;  // it went with the context
    if (failure.ok()) failure = {driver_.MemFreeAsync(buffer, stream_), "cuMemFreeAsync"};
  }
  static_cast<void>(Tell(failure, nullptr));
}

// ---- Copies.

DriverFailure CudaQueue::StageLocked(const void* data, size_t bytes, DevicePointer to) {
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const size_t piece = std::min(bytes, CudaStaging::kChunkBytes);
    if (open_ != nullptr && open_->size - open_->used < piece) {
      const DriverFailure issued = staging_->Issue(std::move(open_));
      if (!issued.ok()) return issued;
    }
    if (open_ == nullptr) {
      const DriverFailure taken = staging_->Take(open_);
      if (!taken.ok()) return taken;
    }
    std::byte* const place = open_->memory + open_->used;
    std::memcpy(place, from, piece);
    open_->used =
        std::min(open_->size, (open_->used + piece + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment);
    const DriverFailure copied = {driver_.MemcpyHtoDAsync(to, place, piece, stream_), "cuMemcpyHtoDAsync"};
    if (!copied.ok()) return copied;
    from += piece;
    to += piece;
    bytes -= piece;
  }
  return {};
}

StatusOr<uint64_t> CudaQueue::Upload(gpu::BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage>,
                                     const gpu::CommandOrigin& origin) {
  SubmitLate();
  DriverFailure failure;
  uint64_t batch = 0;
  {
    const std::lock_guard lock(mutex_);
    TANDEM_RETURN_IF_ERROR(CheckUsableLocked(failure));
    std::unique_ptr<Pending> timed = BeginTimedLocked();
    if (failure.ok()) failure = StageLocked(data, static_cast<size_t>(bytes), to);
    if (timed != nullptr) EndTimedLocked(std::move(timed), origin.op);
    if (failure.ok()) failure = EndCommandLocked({});
    batch = batch_;
  }
  TANDEM_RETURN_IF_ERROR(Tell(failure, &origin));
  return batch;
}

StatusOr<uint64_t> CudaQueue::Copy(gpu::BufferId from, uint64_t from_offset, gpu::BufferId to, uint64_t to_offset,
                                   uint64_t bytes, const gpu::CommandOrigin& origin) {
  if (PutsOff()) {
    CudaLaunch launch;
    launch.buffers[0] = from + from_offset;
    launch.buffers[1] = to + to_offset;
    launch.num_buffers = 2;
    launch.bytes = bytes;
    return PutOff(std::move(launch), origin);
  }
  SubmitLate();
  DriverFailure failure;
  uint64_t batch = 0;
  {
    const std::lock_guard lock(mutex_);
    TANDEM_RETURN_IF_ERROR(CheckUsableLocked(failure));
    std::unique_ptr<Pending> timed = BeginTimedLocked();
    if (failure.ok()) {
      failure = {driver_.MemcpyDtoDAsync(to + to_offset, from + from_offset, static_cast<size_t>(bytes), stream_),
                 "cuMemcpyDtoDAsync"};
    }
    if (timed != nullptr) EndTimedLocked(std::move(timed), origin.op);
    if (failure.ok()) failure = EndCommandLocked(origin);
    batch = batch_;
  }
  TANDEM_RETURN_IF_ERROR(Tell(failure, &origin));
  return batch;
}

DriverFailure CudaQueue::DownloadPieceLocked(DevicePointer from, void* to, size_t bytes) {
  std::unique_ptr<Pending> piece(new (std::nothrow) Pending);
  if (piece == nullptr) return {kDriverOutOfMemory, "new"};
  const DriverFailure taken = staging_->Take(piece->chunk);
  if (!taken.ok()) return taken;
  piece->to = to;
  piece->bytes = bytes;
  DriverFailure failure = {driver_.MemcpyDtoHAsync(piece->chunk->memory, from, bytes, stream_), "cuMemcpyDtoHAsync"};
  if (failure.ok()) failure = {driver_.EventRecord(piece->chunk->event, stream_), "cuEventRecord"};
  if (failure.ok()) {
    pending_.PushBack(std::move(piece));
  } else {
    staging_->Give(std::move(piece->chunk));
  }
  return failure;
}

// `done` is taken over by the last piece. If that does not come about, but one before it has, by that one, which may
// still write to the memory.
DriverFailure CudaQueue::DownloadLocked(DevicePointer from, void* to, uint64_t bytes, Done& done) {
  auto* place = static_cast<std::byte*>(to);
  DriverFailure failure;
  uint64_t left = bytes;
  do {
    const auto piece = static_cast<size_t>(std::min<uint64_t>(left, CudaStaging::kChunkBytes));
    failure = DownloadPieceLocked(from, place, piece);
    if (!failure.ok()) break;
    from += piece;
    place += piece;
    left -= piece;
  } while (left > 0);
  if (failure.ok() || left < bytes) {
    pending_.last()->error = device_->Check(failure.result, failure.call);
    pending_.last()->done = std::exchange(done, nullptr);
  }
  return failure;
}

DriverFailure CudaQueue::MarkEndLocked(Done& done) {
  std::unique_ptr<Pending> end(new (std::nothrow) Pending);
  if (end == nullptr) return {kDriverOutOfMemory, "new"};
  EventHandle& event = end->timed.end;
  DriverFailure failure = {driver_.EventCreate(&event, kEventDisableTiming | kEventBlockingSync), "cuEventCreate"};
  if (failure.ok()) failure = {driver_.EventRecord(event, stream_), "cuEventRecord"};
  if (!failure.ok()) {
    DropTimed(end->timed);
    return failure;
  }
  end->done = std::exchange(done, nullptr);
  pending_.PushBack(std::move(end));
  return failure;
}

template <typename F>
void CudaQueue::Await(Done done, F issue_locked) {
  SubmitLate();
  DriverFailure failure;
  Status status;
  {
    const std::lock_guard lock(mutex_);
    status = CheckUsableLocked(failure);
    if (status.ok() && failure.ok()) failure = issue_locked(done);
    has_commands_ = true;
  }
  Flush();
  wake_.notify_one();
  if (status.ok()) status = Tell(failure, nullptr);
  if (done) done(status);
}

void CudaQueue::Download(gpu::BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) {
  if (bytes == 0) return WhenDone(std::move(done));
  Await(std::move(done), [&](Done& taken) { return DownloadLocked(from + offset, to, bytes, taken); });
}

void CudaQueue::WhenDone(Done done) {
  Await(std::move(done), [this](Done& taken) { return MarkEndLocked(taken); });
}

void CudaQueue::Flush() {
  SubmitLate();
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_commands_, false)) return;
  ++batch_;
  ++counters_.submits;
}

gpu::Stream::Counters CudaQueue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

// Asks for a while, since small results are there at once, and then sleeps.
DriverFailure CudaQueue::WaitFor(EventHandle event) const {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    const DriverResult result = driver_.EventQuery(event);
    if (result != kDriverNotReady) return {result, "cuEventQuery"};
  } while (std::chrono::steady_clock::now() < end);
  return {driver_.EventSynchronize(event), "cuEventSynchronize"};
}

void CudaQueue::Watch() {
  std::unique_lock lock(mutex_);
  device_->Enter();
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const EventHandle event = pending_.first()->event();
    Status status = lost_;
    lock.unlock();
    if (status.ok()) status = Tell(WaitFor(event), nullptr);
    lock.lock();
    std::unique_ptr<Pending> piece = pending_.PopFront();
    lock.unlock();
    if (status.ok()) status = piece->error;
    if (status.ok() && piece->bytes > 0) std::memcpy(piece->to, piece->chunk->memory, piece->bytes);
    status.ok() && piece->timed.begin != nullptr ? RecordTime(piece->timed) : DropTimed(piece->timed);
    if (piece->done) std::exchange(piece->done, nullptr)(status);
    lock.lock();
    if (piece->chunk != nullptr) staging_->Give(std::move(piece->chunk));
  }
}

// ---- Commands that are put off.

StatusOr<uint64_t> CudaQueue::PutOff(CudaLaunch launch, const gpu::CommandOrigin& origin) {
  launch.op = origin.op;
  Submitted submitted;
  uint64_t batch = 0;
  {
    const std::lock_guard lock(mutex_);
    TANDEM_RETURN_IF_ERROR(lost_);
    counters_.dispatches += launch.pipeline ? 1 : 0;
    has_commands_ = true;
    if (!origin.op.empty()) recent_ops_[num_recent_ops_++ % kRecentOps] = origin.op;
    if (late_.Append(std::move(launch)) == nullptr) return Status::OutOfMemory();
    batch = batch_;
    if (late_.size() >= CudaGraphs::kMostCommands) SubmitLocked(submitted);
  }
  TellSubmitted(submitted);
  return batch;
}

void CudaQueue::SubmitLate() {
  if (graphs_ == nullptr) return;
  Submitted submitted;
  {
    const std::lock_guard lock(mutex_);
    SubmitLocked(submitted);
  }
  TellSubmitted(submitted);
}

void CudaQueue::SubmitLocked(Submitted& submitted) {
  if (late_.empty()) return;
  std::swap(submitted.commands, late_);
  submitted.batch = batch_++;
  ++counters_.submits;
  has_commands_ = false;
  DriverFailure& failure = submitted.failed.failure;
  if (CheckUsableLocked(failure).ok() && failure.ok()) submitted.failed = graphs_->Issue(submitted.commands);
}

void CudaQueue::TellSubmitted(const Submitted& submitted) {
  const CudaGraphs::Failed& failed = submitted.failed;
  if (failed.ok()) return;
  Status error = failed.status.ok() ? Tell(failed.failure, nullptr) : failed.status;
  if (listener_ == nullptr || IsContextLost(failed.failure.result)) return;
  if (!failed.op.empty()) error = error.WithContext(failed.op, Location());
  listener_->OnBatchesFailed(submitted.batch, submitted.batch, error);
}

// ---- Times of commands, while there is a trace.

std::unique_ptr<CudaQueue::Pending> CudaQueue::BeginTimedLocked() {
  if (!times_ || !times_->IsWanted()) [[likely]]
    return nullptr;
  std::unique_ptr<Pending> command(new (std::nothrow) Pending);
  if (command == nullptr) return nullptr;
  Timed& timed = command->timed;
  timed.issued = gpu::DeviceTimes::Clock::now();
  if (driver_.EventCreate(&timed.begin, kEventBlockingSync) == kDriverSuccess &&
      driver_.EventCreate(&timed.end, kEventBlockingSync) == kDriverSuccess &&
      driver_.EventRecord(timed.begin, stream_) == kDriverSuccess) {
    return command;
  }
  DropTimed(timed);
  return nullptr;
}

void CudaQueue::EndTimedLocked(std::unique_ptr<Pending> command, std::string_view op) {
  command->timed.op = op;
  if (driver_.EventRecord(command->timed.end, stream_) != kDriverSuccess) return DropTimed(command->timed);
  pending_.PushBack(std::move(command));
  wake_.notify_one();
}

// Of the watching thread.
void CudaQueue::RecordTime(const Timed& timed) {
  const gpu::DeviceTimes::Clock::time_point seen = gpu::DeviceTimes::Clock::now();
  const auto between = [&](EventHandle from, EventHandle to, int64_t& nanoseconds) {
    float milliseconds = 0;
    if (driver_.EventElapsedTime(&milliseconds, from, to) != kDriverSuccess) return false;
    nanoseconds = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return true;
  };
  Timed ended = timed;
  gpu::DeviceTimes::Command command = {timed.op};
  int64_t since_last = 0, taken = 0;
  const bool is_first = last_timed_ == nullptr;
  if ((is_first || between(last_timed_, timed.begin, since_last)) && between(timed.begin, timed.end, taken)) {
    command.began = last_time_ + since_last;
    command.ended = command.began + taken;
    times_->Record(command, timed.issued, seen);
    // From one command to the next, since the driver's floats are the less exact the longer it is.
    last_time_ = command.ended;
    std::swap(last_timed_, ended.end);
  }
  DropTimed(ended);
}

void CudaQueue::DropTimed(const Timed& timed) const {
  for (const EventHandle event : {timed.begin, timed.end}) {
    if (event != nullptr) driver_.EventDestroy(event);
  }
}

// ---- Kernels.

AsyncValueRef<RcRef<shader::Pipeline>> CudaQueue::CreatePipeline(shader::ShaderText text) {
  return pipelines_.Make(std::move(text));
}

AsyncValueRef<RcRef<shader::Pipeline>> CudaQueue::FindProduct(const shader::LibraryProduct& product) {
  if (products_ == nullptr || device_->Enter() != kDriverSuccess) return {};
  return products_->Find(product);
}

AsyncValueRef<RcRef<shader::Pipeline>> CudaQueue::FindConvolution(const shader::LibraryConvolution& op) {
  if (dnn_ == nullptr) return {};
  const std::lock_guard lock(mutex_);
  return lost_.ok() && device_->Enter() == kDriverSuccess ? dnn_->Find(op) : AsyncValueRef<RcRef<shader::Pipeline>>();
}

void CudaQueue::UnloadModule(ModuleHandle module) {
  const std::lock_guard lock(mutex_);
  if (!lost_.ok() || device_->Enter() != kDriverSuccess) return;
  // Kernels of it may still run.
  if (driver_.StreamSynchronize(stream_) == kDriverSuccess) driver_.ModuleUnload(module);
}

DriverFailure CudaQueue::EndCommandLocked(const gpu::CommandOrigin& origin) {
  has_commands_ = true;
  if (!origin.op.empty()) recent_ops_[num_recent_ops_++ % kRecentOps] = origin.op;
  if (!options_.synchronous) return {};
  return {driver_.StreamSynchronize(stream_), "cuStreamSynchronize"};
}

StatusOr<uint64_t> CudaQueue::Dispatch(const shader::Pipeline& pipeline, std::span<const gpu::BufferRange> buffers,
                                       std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                                       const gpu::CommandOrigin& origin) {
  const auto& ours = static_cast<const CudaCommand&>(pipeline);
  std::array<DevicePointer, shader::ShaderCall::kMaxBuffers> addresses;
  if (buffers.size() > addresses.size()) return Internal("a kernel has more buffers than a call");
  for (size_t i = 0; i < buffers.size(); ++i) addresses[i] = buffers[i].buffer + buffers[i].offset;
  if (PutsOff()) {
    CudaLaunch launch;
    launch.pipeline = RcRef<const shader::Pipeline>::Share(&pipeline);
    std::copy_n(addresses.begin(), buffers.size(), launch.buffers.begin());
    launch.num_buffers = static_cast<uint32_t>(buffers.size());
    launch.num_words = static_cast<uint32_t>(parameters.size());
    std::copy(parameters.begin(), parameters.end(), launch.words.begin());
    launch.workgroups = workgroups;
    return PutOff(std::move(launch), origin);
  }
  SubmitLate();
  DriverFailure failure;
  uint64_t batch = 0;
  {
    const std::lock_guard lock(mutex_);
    TANDEM_RETURN_IF_ERROR(CheckUsableLocked(failure));
    std::unique_ptr<Pending> timed = BeginTimedLocked();
    if (failure.ok()) {
      const Status issued = ours.Issue(stream_, {addresses.data(), buffers.size()}, parameters, workgroups, failure);
      if (timed != nullptr) EndTimedLocked(std::move(timed), origin.op);
      TANDEM_RETURN_IF_ERROR(issued);
    }
    if (failure.ok()) failure = EndCommandLocked(origin);
    ++counters_.dispatches;
    batch = batch_;
  }
  TANDEM_RETURN_IF_ERROR(Tell(failure, &origin));
  return batch;
}

}  // namespace tandem::cuda
