// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// WebGpuQueue: the GPU queue of a GPUDevice, which JavaScript has: commands become records, carried out in batches.

#ifndef TANDEM_WEBGPU_WEBGPU_QUEUE_H_
#define TANDEM_WEBGPU_WEBGPU_QUEUE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "tandem/export.h"
#include "tandem/gpu/device_times.h"
#include "tandem/growing_array.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/webgpu/commands.h"

namespace tandem::webgpu {

struct BatchTimes;
class CommandStream;

// The thread that makes it is the device's, and must never wait. Methods named On... are for whoever carries the
// batches out, on that thread.
class TANDEM_EXPORT WebGpuQueue final : public shader::ShaderQueue {
 public:
  // `executor` outlives the queue.
  WebGpuQueue(Executor& executor, std::string_view adapter_name, const shader::GpuLimits& limits);
  ~WebGpuQueue() override;

  // Traces of `host`, which outlives the queue, show when shaders ran by the device's clock; the device has the feature
  // 'timestamp-query'. Before any call that issues commands.
  void ShowTimes(HostContext& host) { times_.emplace(host, "webgpu"); }

  std::string_view adapter_name() const override { return adapter_name_; }
  const shader::GpuLimits& limits() const override { return limits_; }
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
  void RequestFlush() override;
  Counters counters() const override;

  // A number for a buffer that JavaScript has, and puts into its list under this number before it is used here.
  // DestroyBuffer forgets it.
  StatusOr<gpu::BufferId> AdoptBuffer(uint64_t bytes);

  // What has become of a batch, a buffer, a pipeline or a download; `text` is the device's own. Whatever is not known
  // is ignored.

  // Of every batch, in order.
  void OnBatchDone(uint32_t batch);
  // Before OnBatchDone. `word` is where the record is that failed, or kNoWord.
  static constexpr uint32_t kNoWord = UINT32_MAX;
  void OnBatchFailed(uint32_t batch, uint32_t word, StatusCode code, std::string_view text);
  // There was no memory for a buffer. Before OnBatchFailed of the batches that use it. A later use makes it anew.
  void OnBufferFailed(uint32_t buffer, std::string_view text);
  // `code` is kOk if it is ready.
  void OnPipelineDone(uint32_t pipeline, StatusCode code, std::string_view text);
  // Of a download, or an end. After OnBatchDone of its batch and all before it.
  void OnEnd(uint32_t end, StatusCode code, std::string_view text);
  void OnDeviceLost(std::string_view text);

 private:
  class WebGpuPipeline;
  struct PendingPipeline {
    RcRef<WebGpuPipeline> pipeline;
    Producer<RcRef<shader::Pipeline>> value;
  };
  struct PendingEnd {
    uint32_t number;
    Done done;
  };

  // Notes a command by `record(stream)`, which is false if memory is exhausted; gives its batch.
  template <typename Record>
  StatusOr<uint64_t> Note(Record record);
  // Notes a record by `record(stream, number)`, at whose end `done` is called.
  template <typename Record>
  void NoteEnd(Done done, Record record);
  void DropPipeline(uint32_t pipeline);
  // Has the times of the open batch shown, if it has any.
  void AwaitTimes(CommandStream& stream);
  void Show(const BatchTimes& times);
  void RequestFlushLocked();
  void FailPending(const Status& error);

  Executor& executor_;
  const std::string adapter_name_;
  const shader::GpuLimits limits_;
  const std::thread::id device_thread_ = std::this_thread::get_id();
  gpu::StreamListener* listener_ = nullptr;

  mutable std::mutex mutex_;
  // Guarded by the mutex.
  const std::unique_ptr<CommandStream> stream_;
  bool is_flush_requested_ = false;
  Status lost_;
  GrowingArray<PendingPipeline> pipelines_;
  GrowingArray<PendingEnd> ends_;
  uint32_t last_end_ = 0;
  Counters counters_;
  std::optional<gpu::DeviceTimes> times_;  // none: nobody may want to know
};

}  // namespace tandem::webgpu

#endif  // TANDEM_WEBGPU_WEBGPU_QUEUE_H_
