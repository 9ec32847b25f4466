// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// From calls of any thread to batches on the device's, and from what became of them to values and errors.

#include "tandem/webgpu/webgpu_queue.h"

#include <utility>
#include <vector>

#include "command_stream.h"

namespace tandem::webgpu {

using shader::BufferId;
using shader::CommandOrigin;

class WebGpuQueue::WebGpuPipeline final : public shader::Pipeline {
 public:
  WebGpuPipeline(WebGpuQueue& queue, const PipelineRecord& made) : record(made), queue_(queue) {}
  ~WebGpuPipeline() override { queue_.DropPipeline(record.number); }

  mutable PipelineRecord record;  // guarded by the queue's mutex

 private:
  WebGpuQueue& queue_;
};

WebGpuQueue::WebGpuQueue(Executor& executor, std::string_view adapter_name, const shader::GpuLimits& limits)
    : executor_(executor), adapter_name_(adapter_name), limits_(limits), stream_(std::make_unique<CommandStream>()) {}

WebGpuQueue::~WebGpuQueue() {
  const Status cancelled = MakeError(StatusCode::kCancelled, "the device is no longer used");
  {
    const std::lock_guard lock(mutex_);
    if (lost_.ok()) lost_ = cancelled;
  }
  FailPending(cancelled);
}

// Recording.

void WebGpuQueue::RequestFlushLocked() {
  if (is_flush_requested_) return;
  is_flush_requested_ = true;
  executor_.RequestFlush();
}

template <typename Record>
StatusOr<uint64_t> WebGpuQueue::Note(Record record) {
  bool is_large;
  uint64_t batch;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.ok()) return lost_;
    TANDEM_RETURN_IF_ERROR(record(*stream_));
    batch = stream_->batch();
    is_large = stream_->IsLarge();
    if (is_large) stream_->Seal();
    RequestFlushLocked();
  }
  if (is_large && std::this_thread::get_id() == device_thread_) Flush();
  return batch;
}

StatusOr<BufferId> WebGpuQueue::CreateBuffer(uint64_t bytes, const CommandOrigin& origin) {
  uint32_t buffer = 0;
  TANDEM_RETURN_IF_ERROR(Note([&](CommandStream& stream) {
                           buffer = stream.CreateBuffer(bytes, origin);
                           return Status();
                         }).status());
  return BufferId{buffer};
}

StatusOr<BufferId> WebGpuQueue::AdoptBuffer(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!lost_.ok()) return lost_;
  return BufferId{stream_->AdoptBuffer(bytes)};
}

void WebGpuQueue::DestroyBuffer(BufferId buffer) {
  const std::lock_guard lock(mutex_);
  if (!lost_.ok()) return;
  stream_->DropBuffer(static_cast<uint32_t>(buffer));
  RequestFlushLocked();
}

AsyncValueRef<RcRef<shader::Pipeline>> WebGpuQueue::CreatePipeline(shader::ShaderText text) {
  using Ref = AsyncValueRef<RcRef<shader::Pipeline>>;
  auto producer = Producer<RcRef<shader::Pipeline>>::Make();
  if (!producer) return Ref::MakeError(Status::OutOfMemory());
  Ref value = producer.ref();
  std::string name = text.name;
  const auto noted = Note([&](CommandStream& stream) -> Status {
    const PipelineRecord record = stream.CreatePipeline(std::move(text));
    RcRef<WebGpuPipeline> pipeline = MakeRef<WebGpuPipeline>(*this, record);
    if (!pipeline) return Status::OutOfMemory();
    pipelines_.insert_or_assign(record.number,
                                PendingPipeline{std::move(name), std::move(pipeline), std::move(producer)});
    return Status();
  });
  if (!noted.ok()) return Ref::MakeError(noted.status());
  return value;
}

void WebGpuQueue::DropPipeline(uint32_t pipeline) {
  const std::lock_guard lock(mutex_);
  if (!lost_.ok()) return;
  stream_->DropPipeline(pipeline);
  RequestFlushLocked();
}

StatusOr<uint64_t> WebGpuQueue::Dispatch(const shader::Pipeline& pipeline, std::span<const BufferId> buffers,
                                         std::span<const uint32_t> parameters,
                                         const std::array<uint32_t, 3>& workgroups, const CommandOrigin& origin) {
  return Note([&](CommandStream& stream) {
    stream.Dispatch(static_cast<const WebGpuPipeline&>(pipeline).record, buffers, parameters, workgroups, origin);
    return Status();
  });
}

StatusOr<uint64_t> WebGpuQueue::Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                                       const CommandOrigin& origin) {
  return Note([&](CommandStream& stream) {
    const bool is_done = stream.Upload(static_cast<uint32_t>(to), data, bytes, std::move(owner), origin);
    return is_done ? Status() : Status::OutOfMemory();
  });
}

StatusOr<uint64_t> WebGpuQueue::Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                                     uint64_t bytes, const CommandOrigin& origin) {
  return Note([&](CommandStream& stream) {
    stream.Copy(static_cast<uint32_t>(from), from_offset, static_cast<uint32_t>(to), to_offset, bytes, origin);
    return Status();
  });
}

void WebGpuQueue::Download(BufferId from, void* to, uint64_t bytes, Done done) {
  const auto noted = Note([&](CommandStream& stream) {
    downloads_.insert_or_assign(++last_download_, std::move(done));
    stream.Download(static_cast<uint32_t>(from), to, bytes, last_download_);
    return Status();
  });
  if (!noted.ok()) return done(noted.status());
  if (std::this_thread::get_id() == device_thread_) Flush();
}

// Carrying out.

void WebGpuQueue::Flush() {
  if (std::this_thread::get_id() != device_thread_) {
    const std::lock_guard lock(mutex_);
    if (lost_.ok() && !stream_->IsEmpty()) RequestFlushLocked();
    return;
  }
  std::vector<RcRef<TensorStorage>> owners;  // which may be freed by another memory's owner: without the mutex
  std::unique_lock lock(mutex_);
  is_flush_requested_ = false;
  stream_->Seal();
  while (std::unique_ptr<PendingBatch> batch = stream_->TakeSealed()) {
    counters_.submits += batch->has_submit ? 1 : 0;
    counters_.dispatches += batch->num_dispatches;
    ++counters_.crossings;
    PendingBatch& executed = *batch;
    stream_->Executed(std::move(batch));
    const Batch contents = executed.AsBatch();
    // What it is told of the batch comes later, so that the batch stays.
    lock.unlock();
    executor_.Execute(contents);
    owners.clear();
    lock.lock();
    owners.swap(executed.owners);
    stream_->FreeData(executed);
  }
}

shader::GpuQueue::Counters WebGpuQueue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

// Being told.

void WebGpuQueue::OnBatchDone(uint32_t batch) {
  const std::lock_guard lock(mutex_);
  stream_->Done(batch);
}

void WebGpuQueue::OnBatchFailed(uint32_t batch, uint32_t word, StatusCode code, std::string_view text) {
  uint64_t number;
  Status error;
  {
    const std::lock_guard lock(mutex_);
    const PendingBatch* failed = stream_->FindExecuted(batch);
    if (failed == nullptr || !lost_.ok()) return;
    number = failed->number;
    error = stream_->ErrorOf(*failed, word, code, text);
  }
  listener_->OnBatchesFailed(number, number, error);
}

void WebGpuQueue::OnBufferFailed(uint32_t buffer, std::string_view text) {
  const std::lock_guard lock(mutex_);
  stream_->SetFailed(buffer, text);
}

void WebGpuQueue::OnPipelineDone(uint32_t pipeline, StatusCode code, std::string_view text) {
  PendingPipeline pending;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pipelines_.find(pipeline);
    if (found == pipelines_.end()) return;
    pending = std::move(found->second);
    pipelines_.erase(found);
  }
  if (code != StatusCode::kOk) {
    pending.value.SetError(MakeError(code, "expected shader ", pending.name, " to compile, got: ", text));
    return;
  }
  pending.value.Emplace(std::move(pending.pipeline));
}

void WebGpuQueue::OnDownloadDone(uint32_t download, StatusCode code, std::string_view text) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = downloads_.find(download);
    if (found == downloads_.end()) return;
    done = std::move(found->second);
    downloads_.erase(found);
  }
  done(code == StatusCode::kOk ? Status() : MakeError(code, "expected to read memory of the device, got: ", text));
}

void WebGpuQueue::OnDeviceLost(std::string_view text) {
  Status lost;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.ok()) return;
    lost = lost_ =
        MakeError(StatusCode::kUnavailable, "the device ", std::string_view(adapter_name_), " is lost: ", text);
    stream_->Close();
  }
  if (listener_ != nullptr) listener_->OnDeviceLost(lost);
  FailPending(lost);
}

void WebGpuQueue::FailPending(const Status& error) {
  std::unordered_map<uint32_t, PendingPipeline> pipelines;
  std::unordered_map<uint32_t, Done> downloads;
  {
    const std::lock_guard lock(mutex_);
    pipelines.swap(pipelines_);
    downloads.swap(downloads_);
  }
  for (auto& [number, pending] : pipelines) pending.value.SetError(error);
  for (auto& [number, done] : downloads) done(error);
}

}  // namespace tandem::webgpu
