// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// VulkanQueue: a ShaderQueue on one queue of a Vulkan device.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_VULKAN_QUEUE_H_
#define TANDEM_BACKENDS_VULKAN_LIB_VULKAN_QUEUE_H_

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "native_thread.h"
#include "tandem/gpu/linked_queue.h"
#include "tandem/growing_array.h"
#include "tandem/shader/shader_queue.h"
#include "vulkan_batch.h"
#include "vulkan_device.h"
#include "vulkan_memory.h"
#include "vulkan_pipeline.h"
#include "vulkan_times.h"

namespace tandem::vulkan {

// Commands are recorded under a mutex into the open batch; batches are numbered by the value that the timeline
// semaphore takes when they are done. A thread waits for them, tells failures and ends downloads.
class VulkanQueue final : public shader::ShaderQueue {
 public:
  // See VulkanOptions for `cache_folder`.
  static StatusOr<std::unique_ptr<VulkanQueue>> Create(std::unique_ptr<VulkanDevice> device, std::string cache_folder);
  ~VulkanQueue() override;

  std::string_view adapter_name() const override { return device_->properties().deviceName; }
  const shader::GpuLimits& limits() const override { return device_->limits(); }
  void SetListener(gpu::StreamListener& listener) override { listener_ = &listener; }
  StatusOr<gpu::BufferId> CreateBuffer(uint64_t bytes, const gpu::CommandOrigin& origin) override;
  void DestroyBuffer(gpu::BufferId buffer) override;
  AsyncValueRef<RcRef<shader::Pipeline>> CreatePipeline(shader::ShaderText text) override;
  StatusOr<uint64_t> Dispatch(const shader::Pipeline& pipeline, std::span<const gpu::BufferRange> buffers,
                              std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                              const gpu::CommandOrigin& origin) override;
  StatusOr<uint64_t> Upload(gpu::BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                            const gpu::CommandOrigin& origin) override;
  StatusOr<uint64_t> Copy(gpu::BufferId from, uint64_t from_offset, gpu::BufferId to, uint64_t to_offset,
                          uint64_t bytes, const gpu::CommandOrigin& origin) override;
  void Download(gpu::BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) override;
  void WhenDone(Done done) override;
  void Flush() override;
  Counters counters() const override;

  // Has the host's traces show when commands were executed. Before any other call.
  void ShowTimes(HostContext& host) { times_.emplace(*device_, host); }

  // Behaves from now on as if the driver had reported the device lost.
  void Lose();

  const VulkanDevice& device() const { return *device_; }

 private:
  VulkanQueue(std::unique_ptr<VulkanDevice> device, std::string cache_folder);
  Status Start();

  // The following are called with `mutex_` held; those that take the lock may let go of it for a while.
  Status BeginCommand();
  Status OpenBatch();
  void WaitForHazards(std::span<VulkanBuffer* const> buffers, uint32_t written);
  StatusOr<BufferSlice> TakeChunkSpace(uint64_t bytes, uint64_t alignment, ChunkPool::Use use);
  StatusOr<BufferSlice> BeginCommandWith(uint64_t bytes, uint64_t alignment, ChunkPool::Use use,
                                         std::unique_lock<std::mutex>& lock);
  StatusOr<std::unique_ptr<DeviceBlock>> TakeChunk(uint64_t bytes, std::unique_lock<std::mutex>& lock);
  void RecordUpload(const VulkanBuffer& buffer, const BufferSlice& from, uint64_t bytes);
  uint64_t EndCommand(std::string_view op, std::unique_lock<std::mutex>& lock);
  void Submit();
  // Hands over what is recorded. If the device is far behind, waits for it, without the lock, which is not taken again.
  void SubmitAndWaitForRoom(std::unique_lock<std::mutex>& lock);
  void MarkLost(const Status& error);
  void Free(VulkanBuffer* buffer);
  // Hands over what is recorded, and waits until the device has done all; then memory that waited for that is free.
  void Drain(std::unique_lock<std::mutex>& lock);
  void Reclaim(Batch& batch);

  // The thread's.
  void WatchBatches();
  void Finish(std::unique_ptr<Batch> batch);

  // Waits for the device without the mutex.
  Status WaitFor(uint64_t number) const;
  Status CheckBeforeEnd(Done& done);
  Status RecordDownload(VulkanBuffer& buffer, uint64_t offset, void* to, uint64_t bytes, Done& done);
  Status RecordEnd(Done& done);
  void DestroyPipeline(std::unique_ptr<PipelineHandle> handle);

  const std::unique_ptr<VulkanDevice> device_;
  gpu::StreamListener* listener_ = nullptr;
  VkSemaphore timeline_ = VK_NULL_HANDLE;

  mutable std::mutex mutex_;
  std::condition_variable wake_;  // of the thread
  Status lost_;
  bool lost_told_ = false;
  GrowingArray<Done> late_ends_;  // of what was issued after the loss, before it was told
  bool stopping_ = false;

  BlockAllocator blocks_;
  ChunkPool to_device_;
  ChunkPool from_device_;
  VulkanBuffer* buffers_ = nullptr;    // all that are not freed, linked
  std::unique_ptr<Batch> open_;        // null: nothing is recorded
  gpu::LinkedQueue<Batch> in_flight_;  // by number
  gpu::LinkedQueue<Batch> free_;
  uint64_t next_number_ = 1;
  uint64_t submitted_number_ = 0;  // the last one that the device has
  uint64_t finished_number_ = 0;   // the last one that the thread has seen done
  uint64_t barriers_ = 1;          // barriers recorded so far, and one
  bool needs_barrier_ = false;     // a batch with barriers was not handed over
  uint64_t staged_bytes_ = 0;      // of chunks with uploads that are not done
  Counters counters_;
  std::optional<VulkanTimes> times_;  // none: nobody may want to know

  PipelineMaker pipelines_;
  shader::NativeThread thread_;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_VULKAN_QUEUE_H_
