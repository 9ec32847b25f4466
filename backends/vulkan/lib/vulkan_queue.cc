// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

namespace tandem::vulkan {
namespace {

using gpu::BufferId;
using gpu::BufferRange;
using gpu::CommandOrigin;

// A batch is handed over early while the device has nothing to do, and is large while it has.
constexpr uint32_t kCommandsWhenIdle = 16;
constexpr uint32_t kMostCommands = 256;
// Who issues more than the device can do waits for it.
constexpr uint64_t kMostInFlight = 32;
constexpr uint64_t kMostStaged = uint64_t{256} << 20;
// Smaller uploads share chunks, and are copied under the mutex.
constexpr uint64_t kLargeUpload = uint64_t{1} << 16;

constexpr std::string_view kDownloadName = "tandem.Transfer";  // in traces

VulkanBuffer* BufferOf(BufferId id) { return reinterpret_cast<VulkanBuffer*>(static_cast<uintptr_t>(id)); }

uint64_t RoundUp(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

}  // namespace

StatusOr<std::unique_ptr<VulkanQueue>> VulkanQueue::Create(std::unique_ptr<VulkanDevice> device,
                                                           std::string cache_folder) {
  std::unique_ptr<VulkanQueue> queue(new VulkanQueue(std::move(device), std::move(cache_folder)));
  TANDEM_RETURN_IF_ERROR(queue->Start());
  return queue;
}

VulkanQueue::VulkanQueue(std::unique_ptr<VulkanDevice> device, std::string cache_folder)
    : device_(std::move(device)),
      blocks_(*device_),
      to_device_(*device_, ChunkPool::Use::kToDevice),
      from_device_(*device_, ChunkPool::Use::kFromDevice),
      pipelines_(*device_, std::move(cache_folder),
                 [this](std::unique_ptr<PipelineHandle> handle) { DestroyPipeline(std::move(handle)); }) {}

Status VulkanQueue::Start() {
  VkSemaphoreTypeCreateInfo type = {VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  const VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
  TANDEM_RETURN_IF_ERROR(
      ResultStatus(device_->vk().CreateSemaphore(device_->handle(), &info, nullptr, &timeline_), "vkCreateSemaphore"));
  if (!thread_.Start([this] { WatchBatches(); })) return ResourceExhausted("expected a thread, got none");
  return Status();
}

VulkanQueue::~VulkanQueue() {
  // What waits for pipelines may still issue commands.
  pipelines_.Stop();
  {
    const std::lock_guard lock(mutex_);
    if (open_ != nullptr && lost_.ok()) Submit();
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.Join();
  const VulkanFunctions& vk = device_->vk();
  vk.DeviceWaitIdle(device_->handle());
  while (!free_.empty()) DestroyBatch(*device_, *free_.PopFront());
  // Those of tensors that outlive the device, which nobody destroys any more.
  while (buffers_ != nullptr) Free(buffers_);
  vk.DestroySemaphore(device_->handle(), timeline_, nullptr);
}

void VulkanQueue::MarkLost(const Status& error) {
  if (!lost_.ok()) return;
  lost_ = error;
  wake_.notify_all();
}

void VulkanQueue::Lose() {
  const std::lock_guard lock(mutex_);
  MarkLost(MakeError(StatusCode::kUnavailable, "the device is lost: it was given up"));
}

StatusOr<BufferId> VulkanQueue::CreateBuffer(uint64_t bytes, const CommandOrigin&) {
  assert(bytes > 0 && bytes % 4 == 0 && bytes <= limits().max_buffer_bytes);
  std::unique_lock lock(mutex_);
  TANDEM_RETURN_IF_ERROR(lost_);
  StatusOr<DevicePiece> piece = blocks_.Allocate(bytes);
  if (!piece.ok() && submitted_number_ + (open_ != nullptr) > finished_number_) {
    // Buffers that were destroyed may still wait for their last commands.
    Drain(lock);
    TANDEM_RETURN_IF_ERROR(lost_);
    piece = blocks_.Allocate(bytes);
  }
  TANDEM_RETURN_IF_ERROR(piece.status());
  auto* buffer = new (std::nothrow) VulkanBuffer;
  if (buffer == nullptr) {
    blocks_.Free(*piece);
    return Status::OutOfMemory();
  }
  buffer->piece = *piece;
  buffer->next = std::exchange(buffers_, buffer);
  if (buffer->next != nullptr) buffer->next->previous = buffer;
  return static_cast<BufferId>(reinterpret_cast<uintptr_t>(buffer));
}

void VulkanQueue::DestroyBuffer(BufferId id) {
  VulkanBuffer* buffer = BufferOf(id);
  const std::lock_guard lock(mutex_);
  if (buffer->last_use.number <= finished_number_) return Free(buffer);
  buffer->next_dead = std::exchange(buffer->last_use.batch->dead_buffers, buffer);
}

void VulkanQueue::Free(VulkanBuffer* buffer) {
  (buffer->previous == nullptr ? buffers_ : buffer->previous->next) = buffer->next;
  if (buffer->next != nullptr) buffer->next->previous = buffer->previous;
  blocks_.Free(buffer->piece);
  delete buffer;
}

void VulkanQueue::DestroyPipeline(std::unique_ptr<PipelineHandle> handle) {
  const std::lock_guard lock(mutex_);
  const LastUse last_use = handle->last_use;
  if (last_use.number > finished_number_) return last_use.batch->dead_pipelines.PushBack(std::move(handle));
  device_->vk().DestroyPipeline(device_->handle(), handle->pipeline, nullptr);
}

void VulkanQueue::Drain(std::unique_lock<std::mutex>& lock) {
  if (open_ != nullptr) Submit();
  const uint64_t last = submitted_number_;
  if (last <= finished_number_) return;
  lock.unlock();
  // Not for the thread to end them: this may be the thread.
  const Status status = WaitFor(last);
  lock.lock();
  if (!status.ok()) return MarkLost(status);
  for (Batch* batch = in_flight_.first(); batch != nullptr && batch->number <= last; batch = batch->next.get()) {
    Reclaim(*batch);
  }
}

// Gives back what the commands of a batch needed that are done: all but the downloads.
void VulkanQueue::Reclaim(Batch& batch) {
  while (VulkanBuffer* const buffer = batch.dead_buffers) {
    batch.dead_buffers = buffer->next_dead;
    Free(buffer);
  }
  while (const std::unique_ptr<PipelineHandle> dead = batch.dead_pipelines.PopFront()) {
    device_->vk().DestroyPipeline(device_->handle(), dead->pipeline, nullptr);
  }
  while (std::unique_ptr<DeviceBlock> chunk = batch.to_device.PopFront()) {
    staged_bytes_ -= chunk->size;
    to_device_.Give(std::move(chunk));
  }
}

AsyncValueRef<RcRef<shader::Pipeline>> VulkanQueue::CreatePipeline(shader::ShaderText text) {
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.ok()) return AsyncValueRef<RcRef<shader::Pipeline>>::MakeError(lost_);
  }
  return pipelines_.Make(std::move(text));
}

// Makes sure that there is an open batch.
Status VulkanQueue::BeginCommand() {
  TANDEM_RETURN_IF_ERROR(lost_);
  if (open_ == nullptr) TANDEM_RETURN_IF_ERROR(OpenBatch());
  if (times_) times_->Begin(*open_);
  return Status();
}

Status VulkanQueue::OpenBatch() {
  std::unique_ptr<Batch> batch = free_.PopFront();
  if (batch == nullptr) {
    TANDEM_ASSIGN_OR_RETURN(batch, MakeBatch(*device_));
  }
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  const VkResult result = device_->vk().BeginCommandBuffer(batch->commands, &begin);
  if (result != VK_SUCCESS) {
    free_.PushFront(std::move(batch));
    return ResultStatus(result, "vkBeginCommandBuffer");
  }
  batch->number = next_number_++;
  open_ = std::move(batch);
  return Status();
}

// Records a barrier if a command that uses `buffers`, and writes those whose bit is set in `written`, must wait for one
// recorded since the last barrier. Those of earlier batches count as recorded before: they are one stream.
void VulkanQueue::WaitForHazards(std::span<VulkanBuffer* const> buffers, uint32_t written) {
  bool waits = std::exchange(needs_barrier_, false);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool writes = (written >> i & 1) != 0;
    waits |= buffers[i]->last_write == barriers_ || (writes && buffers[i]->last_read == barriers_);
  }
  if (waits) {
    constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                            VK_ACCESS_TRANSFER_WRITE_BIT;
    device_->vk().CmdPipelineBarrier(open_->commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    ++barriers_;
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if ((written >> i & 1) != 0) {
      buffers[i]->last_write = barriers_;
    } else {
      buffers[i]->last_read = barriers_;
    }
    buffers[i]->last_use = {open_->number, open_.get()};
  }
}

// From the open batch's last chunk, or a new one.
StatusOr<BufferSlice> VulkanQueue::TakeChunkSpace(uint64_t bytes, uint64_t alignment, ChunkPool::Use use) {
  const bool to_device = use == ChunkPool::Use::kToDevice;
  auto& chunks = to_device ? open_->to_device : open_->from_device;
  if (chunks.empty() || RoundUp(chunks.last()->used, alignment) + bytes > chunks.last()->size) {
    TANDEM_ASSIGN_OR_RETURN(auto chunk, (to_device ? to_device_ : from_device_).Take(bytes));
    if (to_device) staged_bytes_ += chunk->size;
    chunks.PushBack(std::move(chunk));
  }
  DeviceBlock& chunk = *chunks.last();
  const uint64_t offset = RoundUp(chunk.used, alignment);
  chunk.used = offset + bytes;
  return BufferSlice{&chunk, offset};
}

// Begins a command that needs such space.
StatusOr<BufferSlice> VulkanQueue::BeginCommandWith(uint64_t bytes, uint64_t alignment, ChunkPool::Use use,
                                                    std::unique_lock<std::mutex>& lock) {
  TANDEM_RETURN_IF_ERROR(BeginCommand());
  StatusOr<BufferSlice> slice = TakeChunkSpace(bytes, alignment, use);
  if (slice.ok()) return slice;
  Drain(lock);
  TANDEM_RETURN_IF_ERROR(BeginCommand());
  return TakeChunkSpace(bytes, alignment, use);
}

// A chunk for one upload.
StatusOr<std::unique_ptr<DeviceBlock>> VulkanQueue::TakeChunk(uint64_t bytes, std::unique_lock<std::mutex>& lock) {
  TANDEM_RETURN_IF_ERROR(lost_);
  if (staged_bytes_ > 0 && staged_bytes_ + bytes > kMostStaged) Drain(lock);
  StatusOr<std::unique_ptr<DeviceBlock>> chunk = to_device_.Take(bytes);
  if (!chunk.ok()) {
    Drain(lock);
    chunk = to_device_.Take(bytes);
  }
  if (chunk.ok()) staged_bytes_ += (*chunk)->size;
  return chunk;
}

uint64_t VulkanQueue::EndCommand(std::string_view op, std::unique_lock<std::mutex>& lock) {
  if (times_) times_->End(*open_, op);
  const uint64_t number = open_->number;
  ++open_->num_commands;
  if (open_->num_commands >= (in_flight_.empty() ? kCommandsWhenIdle : kMostCommands)) SubmitAndWaitForRoom(lock);
  return number;
}

void VulkanQueue::SubmitAndWaitForRoom(std::unique_lock<std::mutex>& lock) {
  const uint64_t number = open_->number;
  Submit();
  // Their numbers follow each other.
  if (number - in_flight_.first()->number < kMostInFlight) return;
  const uint64_t oldest = std::min(submitted_number_, number - kMostInFlight + 1);
  lock.unlock();
  // If it fails the thread sees it, too.
  static_cast<void>(WaitFor(oldest));
}

void VulkanQueue::Submit() {
  const VulkanFunctions& vk = device_->vk();
  if (open_->num_times > 0) open_->submitted = gpu::DeviceTimes::Clock::now();
  VkResult result = vk.EndCommandBuffer(open_->commands);
  if (result == VK_SUCCESS) {
    VkTimelineSemaphoreSubmitInfo timeline = {VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &open_->number;
    VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, &timeline};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &open_->commands;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &timeline_;
    result = vk.QueueSubmit(device_->queue(), 1, &submit, VK_NULL_HANDLE);
  }
  if (result == VK_SUCCESS) {
    ++counters_.submits;
    counters_.dispatches += open_->num_dispatches;
    submitted_number_ = open_->number;
  } else {
    open_->error = ResultStatus(result, "vkQueueSubmit");
    needs_barrier_ = true;
    if (result == VK_ERROR_DEVICE_LOST) MarkLost(open_->error);
  }
  in_flight_.PushBack(std::move(open_));
  wake_.notify_one();
}

StatusOr<uint64_t> VulkanQueue::Dispatch(const shader::Pipeline& pipeline, std::span<const BufferRange> buffers,
                                         std::span<const uint32_t> parameters,
                                         const std::array<uint32_t, 3>& workgroups, const CommandOrigin& origin) {
  const auto& shader = static_cast<const VulkanPipeline&>(pipeline);
  const PipelineLayout& layout = shader.layout();
  assert(buffers.size() == layout.num_buffers && parameters.size() == shader.num_parameters());

  const VulkanFunctions& vk = device_->vk();
  std::array<VulkanBuffer*, kMostBuffers> used;
  std::array<VkDescriptorBufferInfo, kMostBuffers + 1> infos;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferRange& range = buffers[i];
    used[i] = BufferOf(range.buffer);
    const DevicePiece& piece = used[i]->piece;
    const uint64_t size = range.size == 0 ? piece.size - range.offset : range.size;
    infos[i] = {piece.block->buffer, piece.offset + range.offset, std::min(size, limits().max_binding_bytes)};
  }

  std::unique_lock lock(mutex_);
  if (layout.uses_uniform_buffer) {
    const uint64_t bytes = RoundUp(parameters.size_bytes(), 16);
    const uint64_t alignment = device_->properties().limits.minUniformBufferOffsetAlignment;
    TANDEM_ASSIGN_OR_RETURN(const BufferSlice slice,
                            BeginCommandWith(bytes, alignment, ChunkPool::Use::kToDevice, lock));
    std::memcpy(slice.data(), parameters.data(), parameters.size_bytes());
    infos[buffers.size()] = {slice.block->buffer, slice.offset, bytes};
  } else {
    TANDEM_RETURN_IF_ERROR(BeginCommand());
  }
  TANDEM_RETURN_IF_ERROR(BindDescriptors(*device_, *open_, layout, infos.data()));
  WaitForHazards({used.data(), buffers.size()}, shader.written());
  const VkCommandBuffer commands = open_->commands;
  if (!layout.uses_uniform_buffer && !parameters.empty()) {
    vk.CmdPushConstants(commands, layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        static_cast<uint32_t>(parameters.size_bytes()), parameters.data());
  }
  PipelineHandle& handle = shader.handle();
  if (open_->bound != handle.pipeline) {
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, handle.pipeline);
    open_->bound = handle.pipeline;
  }
  vk.CmdDispatch(commands, workgroups[0], workgroups[1], workgroups[2]);
  handle.last_use = {open_->number, open_.get()};
  ++open_->num_dispatches;
  return EndCommand(origin.op, lock);
}

StatusOr<uint64_t> VulkanQueue::Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage>,
                                       const CommandOrigin& origin) {
  VulkanBuffer& buffer = *BufferOf(to);
  const uint64_t rounded = RoundUp(bytes, 4);
  std::unique_lock lock(mutex_);
  if (rounded < kLargeUpload) {
    TANDEM_ASSIGN_OR_RETURN(const BufferSlice slice, BeginCommandWith(rounded, 16, ChunkPool::Use::kToDevice, lock));
    std::memcpy(slice.data(), data, bytes);
    RecordUpload(buffer, slice, rounded);
    return EndCommand(origin.op, lock);
  }
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<DeviceBlock> chunk, TakeChunk(rounded, lock));
  lock.unlock();
  std::memcpy(chunk->mapped, data, bytes);
  lock.lock();
  if (const Status status = BeginCommand(); !status.ok()) {
    staged_bytes_ -= chunk->size;
    to_device_.Give(std::move(chunk));
    return status;
  }
  RecordUpload(buffer, {chunk.get(), 0}, rounded);
  chunk->used = chunk->size;
  // In front, since the last one is being filled.
  open_->to_device.PushFront(std::move(chunk));
  return EndCommand(origin.op, lock);
}

void VulkanQueue::RecordUpload(const VulkanBuffer& buffer, const BufferSlice& from, uint64_t bytes) {
  VulkanBuffer* const used = const_cast<VulkanBuffer*>(&buffer);
  WaitForHazards({&used, 1}, 1);
  const VkBufferCopy region = {from.offset, buffer.piece.offset, bytes};
  device_->vk().CmdCopyBuffer(open_->commands, from.block->buffer, buffer.piece.block->buffer, 1, &region);
}

StatusOr<uint64_t> VulkanQueue::Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                                     uint64_t bytes, const CommandOrigin& origin) {
  VulkanBuffer* const buffers[] = {BufferOf(from), BufferOf(to)};
  std::unique_lock lock(mutex_);
  TANDEM_RETURN_IF_ERROR(BeginCommand());
  WaitForHazards(buffers, 2);
  const VkBufferCopy region = {buffers[0]->piece.offset + from_offset, buffers[1]->piece.offset + to_offset, bytes};
  device_->vk().CmdCopyBuffer(open_->commands, buffers[0]->piece.block->buffer, buffers[1]->piece.block->buffer, 1,
                              &region);
  return EndCommand(origin.op, lock);
}

void VulkanQueue::Download(BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) {
  const Status status = RecordDownload(*BufferOf(from), offset, to, bytes, done);
  // Unless it was taken over.
  if (!status.ok() && done) done(status);
}

void VulkanQueue::WhenDone(Done done) {
  const Status status = RecordEnd(done);
  if (!status.ok() && done) done(status);
}

// Where the device is lost, takes `done` over if the listener is to hear of that first.
Status VulkanQueue::CheckBeforeEnd(Done& done) {
  if (lost_.ok() || lost_told_) return lost_;
  if (!late_ends_.Reserve(late_ends_.size() + 1)) return Status::OutOfMemory();
  static_cast<void>(late_ends_.Append(std::exchange(done, nullptr)));
  return lost_;
}

Status VulkanQueue::RecordEnd(Done& done) {
  std::unique_lock lock(mutex_);
  TANDEM_RETURN_IF_ERROR(CheckBeforeEnd(done));
  TANDEM_RETURN_IF_ERROR(BeginCommand());
  open_->download = {{}, nullptr, 0, std::move(done)};
  SubmitAndWaitForRoom(lock);
  return Status();
}

Status VulkanQueue::RecordDownload(VulkanBuffer& buffer, uint64_t offset, void* to, uint64_t bytes, Done& done) {
  VulkanBuffer* const used = &buffer;
  const uint64_t rounded = RoundUp(bytes, 4);
  std::unique_lock lock(mutex_);
  TANDEM_RETURN_IF_ERROR(CheckBeforeEnd(done));
  TANDEM_ASSIGN_OR_RETURN(const BufferSlice slice, BeginCommandWith(rounded, 16, ChunkPool::Use::kFromDevice, lock));
  WaitForHazards({&used, 1}, 0);
  const VkBufferCopy region = {buffer.piece.offset + offset, slice.offset, rounded};
  const VulkanFunctions& vk = device_->vk();
  vk.CmdCopyBuffer(open_->commands, buffer.piece.block->buffer, slice.block->buffer, 1, &region);
  if (times_) times_->End(*open_, kDownloadName);
  // The end of a batch alone does not make visible to the host what it wrote.
  VkBufferMemoryBarrier barrier = {VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.buffer = slice.block->buffer;
  barrier.offset = slice.offset;
  barrier.size = rounded;
  vk.CmdPipelineBarrier(open_->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 0, nullptr, 1,
                        &barrier, 0, nullptr);
  open_->download = {slice, to, bytes, std::move(done)};
  SubmitAndWaitForRoom(lock);
  return Status();
}

void VulkanQueue::Flush() {
  std::unique_lock lock(mutex_);
  if (open_ != nullptr && lost_.ok()) SubmitAndWaitForRoom(lock);
}

gpu::Stream::Counters VulkanQueue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

Status VulkanQueue::WaitFor(uint64_t number) const {
  VkSemaphoreWaitInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &number;
  return ResultStatus(device_->vk().WaitSemaphores(device_->handle(), &info, UINT64_MAX), "vkWaitSemaphores");
}

void VulkanQueue::WatchBatches() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || !in_flight_.empty() || (!lost_.ok() && !lost_told_); });
    if (!lost_.ok() && !lost_told_) {
      if (open_ != nullptr) {
        open_->error = lost_;
        in_flight_.PushBack(std::move(open_));
      }
      const Status error = lost_;
      lock.unlock();
      if (listener_ != nullptr) listener_->OnDeviceLost(error);
      lock.lock();
      lost_told_ = true;
      const GrowingArray<Done> late = std::exchange(late_ends_, {});
      lock.unlock();
      for (const Done& done : late) done(error);
      lock.lock();
    }
    if (in_flight_.empty()) {
      if (stopping_) return;
      continue;
    }
    const uint64_t number = in_flight_.first()->number;
    const Status error = in_flight_.first()->error;
    const bool tells = !error.ok() && lost_.ok() && listener_ != nullptr;
    lock.unlock();
    const Status waited = error.ok() ? WaitFor(number) : Status();
    if (tells) listener_->OnBatchesFailed(number, number, error);
    lock.lock();
    if (!waited.ok() && lost_.ok()) {
      // Whatever the reason, nothing more will be heard of the device.
      MarkLost(waited);
      continue;  // tells it, and comes back to this batch
    }
    std::unique_ptr<Batch> batch = in_flight_.PopFront();
    finished_number_ = number;
    if (!lost_.ok()) batch->error = lost_;
    Reclaim(*batch);
    lock.unlock();
    Finish(std::move(batch));
    lock.lock();
  }
}

// Ends the download of a batch that is done, and makes it ready for use again.
void VulkanQueue::Finish(std::unique_ptr<Batch> batch) {
  if (times_ && batch->error.ok()) times_->Tell(*batch);
  if (const PendingDownload download = std::exchange(batch->download, {}); download.done) {
    if (batch->error.ok() && download.bytes > 0) std::memcpy(download.to, download.from.data(), download.bytes);
    download.done(batch->error);
  }
  ResetBatch(*device_, *batch);
  const std::lock_guard lock(mutex_);
  while (std::unique_ptr<DeviceBlock> chunk = batch->from_device.PopFront()) from_device_.Give(std::move(chunk));
  free_.PushFront(std::move(batch));
}

}  // namespace tandem::vulkan
