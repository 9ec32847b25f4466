// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaQueue: a stream of a CUDA device.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_QUEUE_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_QUEUE_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cuda_device.h"
#include "cuda_dnn.h"
#include "cuda_graphs.h"
#include "cuda_pipeline.h"
#include "cuda_products.h"
#include "cuda_staging.h"
#include "native_thread.h"
#include "tandem/device_report.h"
#include "tandem/gpu/device_times.h"
#include "tandem/gpu/linked_queue.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::cuda {

struct CudaQueueOptions {
  std::string cache_folder;  // see CudaPipelineMaker
  // The device is waited for after each command, so that a fault is told of the op that made it.
  bool synchronous = false;
  uint64_t pool_bytes = uint64_t{512} << 20;  // of freed memory that the driver keeps for the stream
  // Why there is none, by default: then their ops are kernels'.
  StatusOr<CublasltFunctions> cublaslt = InvalidArgument("it was not asked for");  // for products of matrices
  StatusOr<CudnnFunctions> cudnn = InvalidArgument("it was not asked for");        // for convolutions and the like
  bool uses_tf32 = false;                                                          // see CudaProducts and CudaDnn
  // With them commands are put off, up to CudaGraphs::kMostCommands or until somebody waits, and stretches of them that
  // come again are launched as one. Not while there is a trace, and not with `synchronous`.
  StatusOr<GraphFunctions> graphs = InvalidArgument("it was not asked for");
  HostContext* host = nullptr;  // whose traces show when commands were executed; null: none do
};

class CudaQueue;

// What a queue is reached by that may be destroyed before.
struct CudaQueueLife {
  std::mutex mutex;
  CudaQueue* queue = nullptr;  // null: it is about to be destroyed; with the mutex held it is not
};

// Commands are handed to the driver as they are issued. A kernel's fault makes the context unusable for all that the
// process does with the device; which kernel it was is not known unless the queue is synchronous, so the error names
// those that were issued last.
class CudaQueue final : public shader::ShaderQueue {
 public:
  static StatusOr<std::unique_ptr<CudaQueue>> Create(std::unique_ptr<CudaDevice> device, Nvrtc nvrtc,
                                                     const CudaQueueOptions& options);
  ~CudaQueue() override;

  std::string_view adapter_name() const override { return description_; }
  const shader::GpuLimits& limits() const override { return limits_; }
  void SetListener(gpu::StreamListener& listener) override { listener_ = &listener; }

  StatusOr<gpu::BufferId> CreateBuffer(uint64_t bytes, const gpu::CommandOrigin& origin) override;
  void DestroyBuffer(gpu::BufferId buffer) override;
  StatusOr<uint64_t> Upload(gpu::BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                            const gpu::CommandOrigin& origin) override;
  StatusOr<uint64_t> Copy(gpu::BufferId from, uint64_t from_offset, gpu::BufferId to, uint64_t to_offset,
                          uint64_t bytes, const gpu::CommandOrigin& origin) override;
  void Download(gpu::BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) override;
  void WhenDone(Done done) override;
  void Flush() override;
  Counters counters() const override;

  AsyncValueRef<RcRef<shader::Pipeline>> CreatePipeline(shader::ShaderText text) override;
  StatusOr<uint64_t> Dispatch(const shader::Pipeline& pipeline, std::span<const gpu::BufferRange> buffers,
                              std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                              const gpu::CommandOrigin& origin) override;
  AsyncValueRef<RcRef<shader::Pipeline>> FindProduct(const shader::LibraryProduct& product) override;
  AsyncValueRef<RcRef<shader::Pipeline>> FindConvolution(const shader::LibraryConvolution& op) override;

  // What of CUDA is used.
  const DeviceReport& report() const { return report_; }
  const CudaDevice& device() const { return *device_; }
  StreamHandle stream() const { return stream_; }
  const std::shared_ptr<CudaQueueLife>& life() const { return life_; }
  // What is issued from now on waits for what another stream of the device has been given so far.
  Status WaitForStream(StreamHandle other) { return Order(other, stream_); }
  // The other way round.
  Status LetStreamWait(StreamHandle other) { return Order(stream_, other); }

 private:
  // A command between two events, or the second one alone, as the end of what was issued before.
  struct Timed {
    EventHandle begin = nullptr;  // null: nobody wants to know the time
    EventHandle end = nullptr;
    gpu::DeviceTimes::Clock::time_point issued;
    std::string_view op;
  };
  // What the watching thread waits for: a piece of a download, an end, or a command that is timed.
  struct Pending {
    EventHandle event() const { return chunk != nullptr ? chunk->event : timed.end; }

    std::unique_ptr<StagingChunk> chunk;  // of a download
    Timed timed;
    void* to = nullptr;
    size_t bytes = 0;
    Done done;     // null: there is a further piece, or nobody waits
    Status error;  // of a further piece that did not come about
    std::unique_ptr<Pending> next;
  };
  static constexpr size_t kRecentOps = 8;

  CudaQueue(std::unique_ptr<CudaDevice> device, Nvrtc nvrtc, const CudaQueueOptions& options);
  Status Begin();
  Status OpenGraphs();
  void OpenLibraries();
  Status OpenProducts();
  Status OpenDnn();
  bool GrowDnnWorkspaceLocked(size_t bytes, DevicePointer& memory);
  Status Order(StreamHandle first, StreamHandle then);

  // Those that have no lock take none; the others are called with the mutex held.
  Status CheckUsableLocked(DriverFailure& failure);
  DriverFailure AllocateLocked(uint64_t bytes, DevicePointer& memory);
  DriverFailure StageLocked(const void* data, size_t bytes, DevicePointer to);
  DriverFailure DownloadLocked(DevicePointer from, void* to, uint64_t bytes, Done& done);
  DriverFailure DownloadPieceLocked(DevicePointer from, void* to, size_t bytes);
  DriverFailure MarkEndLocked(Done& done);
  // Has a command issued, with the mutex held, that takes over `done` if the watching thread is to call it.
  template <typename F>
  void Await(Done done, F issue_locked);
  DriverFailure EndCommandLocked(const gpu::CommandOrigin& origin);
  // Of commands that are put off.
  struct Submitted {
    CudaStretch commands;  // dropped without the mutex
    CudaGraphs::Failed failed;
    uint64_t batch = 0;
  };
  bool PutsOff() const { return graphs_ != nullptr && !(times_ && times_->IsWanted()); }
  // Adds a command, and submits them all if they are as many as go together.
  StatusOr<uint64_t> PutOff(CudaLaunch launch, const gpu::CommandOrigin& origin);
  // Before what must come after them, without the mutex; and what has become of them.
  void SubmitLate();
  void SubmitLocked(Submitted& submitted);
  void TellSubmitted(const Submitted& submitted);
  // Around a command whose time is wanted. A command is issued as well if it cannot be timed.
  std::unique_ptr<Pending> BeginTimedLocked();
  void EndTimedLocked(std::unique_ptr<Pending> command, std::string_view op);
  void RecordTime(const Timed& timed);
  void DropTimed(const Timed& timed) const;
  // What a failure is for the caller. Tells the listener of a lost context.
  Status Tell(const DriverFailure& failure, const gpu::CommandOrigin* origin);
  void Lose(const Status& error);
  std::string RecentOps();
  void UnloadModule(ModuleHandle module);
  void Watch();
  DriverFailure WaitFor(EventHandle event) const;

  const std::unique_ptr<CudaDevice> device_;
  const DriverFunctions& driver_;
  const CudaQueueOptions options_;
  const shader::GpuLimits limits_;
  std::string description_;  // of the device, and which libraries there are
  DeviceReport report_;
  gpu::StreamListener* listener_ = nullptr;
  StreamHandle stream_ = nullptr;
  PoolHandle pool_ = nullptr;
  const std::shared_ptr<CudaQueueLife> life_;
  std::optional<gpu::DeviceTimes> times_;  // none: nobody may want to know

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::unique_ptr<CudaStaging> staging_;
  std::unique_ptr<StagingChunk> open_;  // small uploads share it
  EventHandle order_event_ = nullptr;
  gpu::LinkedQueue<Pending> pending_;
  bool stopping_ = false;
  bool has_commands_ = false;  // since the last flush
  uint64_t batch_ = 1;
  Counters counters_;
  Status lost_;
  std::array<std::string_view, kRecentOps> recent_ops_;
  size_t num_recent_ops_ = 0;

  // Of the watching thread: the end of the last command that was timed, from which the next one's time counts.
  EventHandle last_timed_ = nullptr;
  int64_t last_time_ = 0;

  std::unique_ptr<CudaGraphs> graphs_;  // null: commands are not put off
  CudaStretch late_;
  std::unique_ptr<CudaDnn> dnn_;            // null: there is no cuDNN
  std::unique_ptr<CudaProducts> products_;  // null: there is no cuBLASLt
  shader::NativeThread thread_;
  CudaPipelineMaker pipelines_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_QUEUE_H_
