// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "vulkan_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace tandem::vulkan {
namespace {

using shader::BufferAccess;
using shader::BufferId;
using shader::CommandOrigin;

// A batch is handed over early while the device has nothing to do, and is large while it has.
constexpr uint32_t kCommandsWhenIdle = 16;
constexpr uint32_t kMostCommands = 256;
// Who issues more than the device can do waits for it.
constexpr size_t kMostInFlight = 32;
constexpr uint64_t kMostStaged = uint64_t{256} << 20;
// Smaller uploads share chunks, and are copied under the mutex.
constexpr uint64_t kLargeUpload = uint64_t{1} << 16;
constexpr uint32_t kSetsInPool = 256;

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
                 [this](const VulkanPipeline& pipeline) { DestroyPipeline(pipeline); }) {}

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
  for (const auto& batch : free_) {
    for (VkDescriptorPool pool : batch->descriptor_pools) vk.DestroyDescriptorPool(device_->handle(), pool, nullptr);
    vk.DestroyCommandPool(device_->handle(), batch->pool, nullptr);
  }
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
  auto* buffer = new (std::nothrow) VulkanBuffer{*piece};
  if (buffer == nullptr) {
    blocks_.Free(*piece);
    return Status::OutOfMemory();
  }
  return static_cast<BufferId>(reinterpret_cast<uintptr_t>(buffer));
}

// One that is not done.
Batch& VulkanQueue::BatchOf(uint64_t number) {
  if (open_ != nullptr && number == open_->number) return *open_;
  return *in_flight_[number - in_flight_.front()->number];
}

void VulkanQueue::DestroyBuffer(BufferId id) {
  VulkanBuffer* buffer = BufferOf(id);
  const std::lock_guard lock(mutex_);
  if (buffer->last_use <= finished_number_) return Free(buffer);
  BatchOf(buffer->last_use).dead_buffers.push_back(buffer);
}

void VulkanQueue::Free(VulkanBuffer* buffer) {
  blocks_.Free(buffer->piece);
  delete buffer;
}

void VulkanQueue::DestroyPipeline(const VulkanPipeline& pipeline) {
  const std::lock_guard lock(mutex_);
  if (pipeline.last_use <= finished_number_) {
    device_->vk().DestroyPipeline(device_->handle(), pipeline.handle(), nullptr);
  } else {
    BatchOf(pipeline.last_use).dead_pipelines.push_back(pipeline.handle());
  }
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
  for (const auto& batch : in_flight_) {
    if (batch->number <= last) Reclaim(*batch);
  }
}

// Gives back what the commands of a batch needed that are done: all but the downloads.
void VulkanQueue::Reclaim(Batch& batch) {
  for (VulkanBuffer* buffer : batch.dead_buffers) Free(buffer);
  batch.dead_buffers.clear();
  for (VkPipeline pipeline : batch.dead_pipelines) device_->vk().DestroyPipeline(device_->handle(), pipeline, nullptr);
  batch.dead_pipelines.clear();
  for (auto& chunk : batch.to_device) {
    staged_bytes_ -= chunk->size;
    to_device_.Give(std::move(chunk));
  }
  batch.to_device.clear();
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
  if (open_ != nullptr) return Status();
  std::unique_ptr<Batch> batch;
  if (!free_.empty()) {
    batch = std::move(free_.back());
    free_.pop_back();
  } else {
    TANDEM_ASSIGN_OR_RETURN(batch, MakeBatch());
  }
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  const VkResult result = device_->vk().BeginCommandBuffer(batch->commands, &begin);
  if (result != VK_SUCCESS) {
    free_.push_back(std::move(batch));
    return ResultStatus(result, "vkBeginCommandBuffer");
  }
  batch->number = next_number_++;
  open_ = std::move(batch);
  return Status();
}

StatusOr<std::unique_ptr<Batch>> VulkanQueue::MakeBatch() {
  const VulkanFunctions& vk = device_->vk();
  auto batch = std::make_unique<Batch>();
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = device_->queue_family();
  TANDEM_RETURN_IF_ERROR(
      ResultStatus(vk.CreateCommandPool(device_->handle(), &pool, nullptr, &batch->pool), "vkCreateCommandPool"));
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = batch->pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  const VkResult result = vk.AllocateCommandBuffers(device_->handle(), &info, &batch->commands);
  if (result == VK_SUCCESS) return batch;
  vk.DestroyCommandPool(device_->handle(), batch->pool, nullptr);
  return ResultStatus(result, "vkAllocateCommandBuffers");
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
    buffers[i]->last_use = open_->number;
  }
}

// From the open batch's last chunk, or a new one.
StatusOr<BufferSlice> VulkanQueue::TakeChunkSpace(uint64_t bytes, uint64_t alignment, ChunkPool::Use use) {
  const bool to_device = use == ChunkPool::Use::kToDevice;
  auto& chunks = to_device ? open_->to_device : open_->from_device;
  if (chunks.empty() || RoundUp(chunks.back()->used, alignment) + bytes > chunks.back()->size) {
    TANDEM_ASSIGN_OR_RETURN(auto chunk, (to_device ? to_device_ : from_device_).Take(bytes));
    if (to_device) staged_bytes_ += chunk->size;
    chunks.push_back(std::move(chunk));
  }
  DeviceBlock& chunk = *chunks.back();
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

uint64_t VulkanQueue::EndCommand(std::unique_lock<std::mutex>& lock) {
  const uint64_t number = open_->number;
  ++open_->num_commands;
  if (open_->num_commands < (in_flight_.empty() ? kCommandsWhenIdle : kMostCommands)) return number;
  Submit();
  if (in_flight_.size() > kMostInFlight) {
    const uint64_t oldest = std::min(submitted_number_, in_flight_[in_flight_.size() - kMostInFlight]->number);
    lock.unlock();
    // If it fails the thread sees it, too.
    static_cast<void>(WaitFor(oldest));
  }
  return number;
}

void VulkanQueue::Submit() {
  const VulkanFunctions& vk = device_->vk();
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
  in_flight_.push_back(std::move(open_));
  wake_.notify_one();
}

StatusOr<uint64_t> VulkanQueue::Dispatch(const shader::Pipeline& pipeline, std::span<const BufferId> buffers,
                                         std::span<const uint32_t> parameters,
                                         const std::array<uint32_t, 3>& workgroups, const CommandOrigin&) {
  const auto& shader = static_cast<const VulkanPipeline&>(pipeline);
  const PipelineLayout& layout = shader.layout();
  constexpr size_t kMostBuffers = 32;
  assert(buffers.size() == layout.num_buffers && parameters.size() == shader.num_parameters());
  if (buffers.size() > kMostBuffers) return InvalidArgument("expected at most 32 buffers, got ", buffers.size());

  const VulkanFunctions& vk = device_->vk();
  std::array<VulkanBuffer*, kMostBuffers> used;
  std::array<VkDescriptorBufferInfo, kMostBuffers + 1> infos;
  uint32_t written = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    used[i] = BufferOf(buffers[i]);
    const DevicePiece& piece = used[i]->piece;
    infos[i] = {piece.block->buffer, piece.offset, std::min(piece.size, limits().max_binding_bytes)};
    if (shader.access()[i] == BufferAccess::kReadWrite) written |= uint32_t{1} << i;
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
  TANDEM_RETURN_IF_ERROR(BindDescriptors(layout, infos.data()));
  WaitForHazards({used.data(), buffers.size()}, written);
  const VkCommandBuffer commands = open_->commands;
  if (!layout.uses_uniform_buffer && !parameters.empty()) {
    vk.CmdPushConstants(commands, layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        static_cast<uint32_t>(parameters.size_bytes()), parameters.data());
  }
  if (open_->bound != shader.handle()) {
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader.handle());
    open_->bound = shader.handle();
  }
  vk.CmdDispatch(commands, workgroups[0], workgroups[1], workgroups[2]);
  shader.last_use = open_->number;
  ++open_->num_dispatches;
  return EndCommand(lock);
}

Status VulkanQueue::BindDescriptors(const PipelineLayout& layout, const VkDescriptorBufferInfo* infos) {
  const VulkanFunctions& vk = device_->vk();
  if (device_->has_push_descriptors()) {
    vk.CmdPushDescriptorSetWithTemplate(open_->commands, layout.update, layout.pipeline, 0, infos);
    return Status();
  }
  VkDescriptorSet set = VK_NULL_HANDLE;
  VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout.set;
  VkResult result = VK_ERROR_OUT_OF_POOL_MEMORY;
  for (; open_->pool_in_use < open_->descriptor_pools.size(); ++open_->pool_in_use) {
    info.descriptorPool = open_->descriptor_pools[open_->pool_in_use];
    result = vk.AllocateDescriptorSets(device_->handle(), &info, &set);
    if (result == VK_SUCCESS) break;
  }
  if (result != VK_SUCCESS) {
    const uint32_t most = limits().max_storage_buffers;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsInPool * std::min(most, 4u)},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSetsInPool}};
    VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = kSetsInPool;
    pool.poolSizeCount = 2;
    pool.pPoolSizes = sizes;
    TANDEM_RETURN_IF_ERROR(ResultStatus(
        vk.CreateDescriptorPool(device_->handle(), &pool, nullptr, &info.descriptorPool), "vkCreateDescriptorPool"));
    open_->descriptor_pools.push_back(info.descriptorPool);
    TANDEM_RETURN_IF_ERROR(
        ResultStatus(vk.AllocateDescriptorSets(device_->handle(), &info, &set), "vkAllocateDescriptorSets"));
  }
  vk.UpdateDescriptorSetWithTemplate(device_->handle(), set, layout.update, infos);
  vk.CmdBindDescriptorSets(open_->commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout.pipeline, 0, 1, &set, 0, nullptr);
  return Status();
}

StatusOr<uint64_t> VulkanQueue::Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage>,
                                       const CommandOrigin&) {
  VulkanBuffer& buffer = *BufferOf(to);
  const uint64_t rounded = RoundUp(bytes, 4);
  std::unique_lock lock(mutex_);
  if (rounded < kLargeUpload) {
    TANDEM_ASSIGN_OR_RETURN(const BufferSlice slice, BeginCommandWith(rounded, 16, ChunkPool::Use::kToDevice, lock));
    std::memcpy(slice.data(), data, bytes);
    RecordUpload(buffer, slice, rounded);
    return EndCommand(lock);
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
  open_->to_device.insert(open_->to_device.begin(), std::move(chunk));
  return EndCommand(lock);
}

void VulkanQueue::RecordUpload(const VulkanBuffer& buffer, const BufferSlice& from, uint64_t bytes) {
  VulkanBuffer* const used = const_cast<VulkanBuffer*>(&buffer);
  WaitForHazards({&used, 1}, 1);
  const VkBufferCopy region = {from.offset, buffer.piece.offset, bytes};
  device_->vk().CmdCopyBuffer(open_->commands, from.block->buffer, buffer.piece.block->buffer, 1, &region);
}

StatusOr<uint64_t> VulkanQueue::Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                                     uint64_t bytes, const CommandOrigin&) {
  VulkanBuffer* const buffers[] = {BufferOf(from), BufferOf(to)};
  std::unique_lock lock(mutex_);
  TANDEM_RETURN_IF_ERROR(BeginCommand());
  WaitForHazards(buffers, 2);
  const VkBufferCopy region = {buffers[0]->piece.offset + from_offset, buffers[1]->piece.offset + to_offset, bytes};
  device_->vk().CmdCopyBuffer(open_->commands, buffers[0]->piece.block->buffer, buffers[1]->piece.block->buffer, 1,
                              &region);
  return EndCommand(lock);
}

void VulkanQueue::Download(BufferId from, void* to, uint64_t bytes, Done done) {
  const Status status = RecordDownload(*BufferOf(from), to, bytes, done);
  // Unless it was taken over.
  if (!status.ok() && done) done(status);
}

Status VulkanQueue::RecordDownload(VulkanBuffer& buffer, void* to, uint64_t bytes, Done& done) {
  VulkanBuffer* const used = &buffer;
  const uint64_t rounded = RoundUp(bytes, 4);
  std::unique_lock lock(mutex_);
  if (!lost_.ok() && !lost_told_) {
    // The listener hears of it first.
    late_downloads_.push_back(std::exchange(done, nullptr));
    return lost_;
  }
  TANDEM_ASSIGN_OR_RETURN(const BufferSlice slice, BeginCommandWith(rounded, 16, ChunkPool::Use::kFromDevice, lock));
  WaitForHazards({&used, 1}, 0);
  const VkBufferCopy region = {buffer.piece.offset, slice.offset, rounded};
  const VulkanFunctions& vk = device_->vk();
  vk.CmdCopyBuffer(open_->commands, buffer.piece.block->buffer, slice.block->buffer, 1, &region);
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
  open_->downloads.push_back({slice, to, bytes, std::move(done)});
  Submit();
  return Status();
}

void VulkanQueue::Flush() {
  const std::lock_guard lock(mutex_);
  if (open_ != nullptr && lost_.ok()) Submit();
}

shader::GpuQueue::Counters VulkanQueue::counters() const {
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
        in_flight_.push_back(std::move(open_));
      }
      const Status error = lost_;
      lock.unlock();
      if (listener_ != nullptr) listener_->OnDeviceLost(error);
      lock.lock();
      lost_told_ = true;
      const std::vector<Done> late = std::exchange(late_downloads_, {});
      lock.unlock();
      for (const Done& done : late) done(error);
      lock.lock();
    }
    if (in_flight_.empty()) {
      if (stopping_) return;
      continue;
    }
    const uint64_t number = in_flight_.front()->number;
    const Status error = in_flight_.front()->error;
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
    std::unique_ptr<Batch> batch = std::move(in_flight_.front());
    in_flight_.pop_front();
    finished_number_ = number;
    if (!lost_.ok()) batch->error = lost_;
    Reclaim(*batch);
    lock.unlock();
    Finish(std::move(batch));
    lock.lock();
  }
}

// Ends the downloads of a batch that is done, and makes it ready for use again.
void VulkanQueue::Finish(std::unique_ptr<Batch> batch) {
  for (PendingDownload& download : batch->downloads) {
    if (batch->error.ok()) std::memcpy(download.to, download.from.data(), download.bytes);
    const Done done = std::move(download.done);
    done(batch->error);
  }
  batch->downloads.clear();
  const VulkanFunctions& vk = device_->vk();
  vk.ResetCommandPool(device_->handle(), batch->pool, 0);
  for (VkDescriptorPool pool : batch->descriptor_pools) vk.ResetDescriptorPool(device_->handle(), pool, 0);
  batch->pool_in_use = 0;
  batch->num_commands = batch->num_dispatches = 0;
  batch->bound = VK_NULL_HANDLE;
  batch->error = Status();
  const std::lock_guard lock(mutex_);
  for (auto& chunk : batch->from_device) from_device_.Give(std::move(chunk));
  batch->from_device.clear();
  free_.push_back(std::move(batch));
}

}  // namespace tandem::vulkan
