// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// From calls of any thread to batches on the device's, and from what became of them to values and errors.

#include "tandem/webgpu/webgpu_queue.h"

#include <algorithm>
#include <utility>

#include "batch_times.h"
#include "command_stream.h"

namespace tandem::webgpu {

using gpu::BufferId;
using gpu::BufferRange;
using gpu::CommandOrigin;

namespace {

// Takes the element out for which `is_it` holds, if there is one; false if not. The last one takes its place.
template <typename T, typename Predicate>
bool TakeOut(GrowingArray<T>& from, Predicate is_it, T& taken) {
  T* const place = std::find_if(from.begin(), from.end(), is_it);
  if (place == from.end()) return false;
  std::swap(*place, from.back());
  taken = from.TakeLast();
  return true;
}

}  // namespace

class WebGpuQueue::WebGpuPipeline final : public shader::Pipeline {
 public:
  WebGpuPipeline(WebGpuQueue& queue, shader::ShaderText given) : text(std::move(given)), queue_(queue) {}
  ~WebGpuPipeline() override {
    if (record.number != 0) queue_.DropPipeline(record.number);
  }

  mutable PipelineRecord record;  // guarded by the queue's mutex
  shader::ShaderText text;        // until it is compiled

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

void WebGpuQueue::RequestFlush() {
  const std::lock_guard lock(mutex_);
  RequestFlushLocked();
}

template <typename Record>
StatusOr<uint64_t> WebGpuQueue::Note(Record record) {
  bool is_large;
  uint64_t batch;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.ok()) return lost_;
    if (!record(*stream_)) return Status::OutOfMemory();
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
                           return buffer != 0;
                         }).status());
  return BufferId{buffer};
}

StatusOr<BufferId> WebGpuQueue::AdoptBuffer(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!lost_.ok()) return lost_;
  const uint32_t buffer = stream_->AdoptBuffer(bytes);
  if (buffer == 0) return Status::OutOfMemory();
  return BufferId{buffer};
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
  RcRef<WebGpuPipeline> pipeline = MakeRef<WebGpuPipeline>(*this, std::move(text));
  if (!pipeline) return Ref::MakeError(Status::OutOfMemory());
  const auto noted = Note([&](CommandStream& stream) {
    if (!pipelines_.Reserve(pipelines_.size() + 1)) return false;
    pipeline->record = stream.CreatePipeline(pipeline->text);
    if (pipeline->record.number == 0) return false;
    static_cast<void>(pipelines_.Append({std::move(pipeline), std::move(producer)}));
    return true;
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

StatusOr<uint64_t> WebGpuQueue::Dispatch(const shader::Pipeline& pipeline, std::span<const BufferRange> buffers,
                                         std::span<const uint32_t> parameters,
                                         const std::array<uint32_t, 3>& workgroups, const CommandOrigin& origin) {
  const bool is_timed = times_ && times_->IsWanted();
  return Note([&](CommandStream& stream) {
    const bool is_noted = stream.Dispatch(static_cast<const WebGpuPipeline&>(pipeline).record, buffers, parameters,
                                          workgroups, is_timed, origin);
    if (is_noted && is_timed) [[unlikely]]
      AwaitTimes(stream);
    return is_noted;
  });
}

void WebGpuQueue::AwaitTimes(CommandStream& stream) {
  BatchTimes* const times = stream.times();
  if (times == nullptr || times->end != 0 || !ends_.Reserve(ends_.size() + 1)) return;
  times->end = ++last_end_;
  // Two pointers fit into the function; the reference is given up by the one call.
  auto show = [this, raw = RcRef<BatchTimes>::Share(times).release()](const Status& status) {
    const auto told = RcRef<BatchTimes>::Take(raw);
    if (status.ok()) Show(*told);
  };
  static_cast<void>(ends_.Append({times->end, show}));
}

void WebGpuQueue::Show(const BatchTimes& times) {
  const gpu::DeviceTimes::Clock::time_point seen = gpu::DeviceTimes::Clock::now();
  uint64_t last = 0;
  for (size_t i = 0; i < times.ops.size(); ++i) {
    const uint64_t began = std::max(times.times[2 * i], last);
    const uint64_t ended = times.times[2 * i + 1];
    // What was not executed has none, and WebGPU warns of clocks that go backwards.
    if (began == 0 || ended < began) continue;
    times_->Record({times.ops[i], static_cast<int64_t>(began), static_cast<int64_t>(ended)}, times.submitted, seen);
    last = ended;
  }
}

StatusOr<uint64_t> WebGpuQueue::Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                                       const CommandOrigin& origin) {
  return Note([&](CommandStream& stream) {
    return stream.Upload(static_cast<uint32_t>(to), data, bytes, std::move(owner), origin);
  });
}

StatusOr<uint64_t> WebGpuQueue::Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                                     uint64_t bytes, const CommandOrigin& origin) {
  return Note([&](CommandStream& stream) {
    return stream.Copy(static_cast<uint32_t>(from), from_offset, static_cast<uint32_t>(to), to_offset, bytes, origin);
  });
}

void WebGpuQueue::Download(BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) {
  NoteEnd(std::move(done), [&](CommandStream& stream, uint32_t number) {
    return stream.Download(static_cast<uint32_t>(from), offset, to, bytes, number);
  });
}

void WebGpuQueue::WhenDone(Done done) {
  NoteEnd(std::move(done), [](CommandStream& stream, uint32_t number) { return stream.End(number); });
}

template <typename Record>
void WebGpuQueue::NoteEnd(Done done, Record record) {
  const auto noted = Note([&](CommandStream& stream) {
    if (!ends_.Reserve(ends_.size() + 1) || !record(stream, last_end_ + 1)) return false;
    static_cast<void>(ends_.Append({++last_end_, std::move(done)}));
    return true;
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
  GrowingArray<RcRef<TensorStorage>> owners;  // which may be freed by another memory's owner: without the mutex
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
    if (executed.times) executed.times->submitted = gpu::DeviceTimes::Clock::now();
    // What it is told of the batch comes later, so that the batch stays.
    lock.unlock();
    executor_.Execute(contents);
    owners.clear();
    lock.lock();
    std::swap(owners, executed.owners);
    stream_->FreeData(executed);
  }
}

gpu::Stream::Counters WebGpuQueue::counters() const {
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
    const auto is_it = [pipeline](const PendingPipeline& one) { return one.pipeline->record.number == pipeline; };
    if (!TakeOut(pipelines_, is_it, pending)) return;
  }
  if (code != StatusCode::kOk) {
    const std::string_view name = pending.pipeline->text.name;
    pending.value.SetError(MakeError(code, "expected shader ", name, " to compile, got: ", text));
    return;
  }
  pending.pipeline->text = {};
  pending.value.Emplace(std::move(pending.pipeline));
}

void WebGpuQueue::OnEnd(uint32_t end, StatusCode code, std::string_view text) {
  PendingEnd pending = {};
  {
    const std::lock_guard lock(mutex_);
    if (!TakeOut(
            ends_, [end](const PendingEnd& one) { return one.number == end; }, pending))
      return;
  }
  pending.done(code == StatusCode::kOk ? Status()
                                       : MakeError(code, "expected to read memory of the device, got: ", text));
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
  GrowingArray<PendingPipeline> pipelines;
  GrowingArray<PendingEnd> ends;
  {
    const std::lock_guard lock(mutex_);
    std::swap(pipelines, pipelines_);
    std::swap(ends, ends_);
  }
  for (PendingPipeline& pending : pipelines) pending.value.SetError(error);
  for (PendingEnd& pending : ends) pending.done(error);
}

}  // namespace tandem::webgpu
