// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GpuBuffer: device memory of tensors; GpuMemory: where it comes from, with freed buffers kept for reuse.

#ifndef TANDEM_SHADER_GPU_MEMORY_H_
#define TANDEM_SHADER_GPU_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include "tandem/export.h"
#include "tandem/growing_array.h"
#include "tandem/ref_counted.h"
#include "tandem/shader/gpu_queue.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem::shader {

class GpuMemory;

// One buffer of a queue. May outlive the device; then it is only destroyed.
class TANDEM_EXPORT GpuBuffer final : public TensorStorage {
 public:
  BufferId id() const { return id_; }
  // At least what was asked for; a multiple of 4.
  uint64_t size() const { return size_; }

  // The last batch with a command that writes it; 0: none yet.
  uint64_t last_write() const { return last_write_.load(std::memory_order_relaxed); }
  // It then has other content than was kept.
  void set_last_write(uint64_t batch) {
    last_write_.store(batch, std::memory_order_relaxed);
    num_kept_ = 0;
  }

  // As above for an upload of the content that is kept.
  void set_last_upload(uint64_t batch) { last_write_.store(batch, std::memory_order_relaxed); }

  // A copy of what it was filled with from the host, if that is so little as lists of axes and sizes are: then nobody
  // has to wait for the device to know it. Set before others see the buffer.
  std::span<const std::byte> kept() const { return {kept_.data(), num_kept_}; }
  void Keep(const void* data, uint64_t bytes);

 private:
  friend class GpuMemory;
  GpuBuffer(RcRef<GpuMemory> memory, BufferId id, uint64_t size, std::function<void()> release)
      : TensorStorage(release != nullptr),
        memory_(std::move(memory)),
        id_(id),
        size_(size),
        release_(std::move(release)) {}
  ~GpuBuffer() override = default;
  void Free() override;

  RcRef<GpuMemory> memory_;
  BufferId id_;
  uint64_t size_;
  std::atomic<uint64_t> last_write_{0};
  std::array<std::byte, Tensor::kInlineBytes> kept_;
  uint8_t num_kept_ = 0;
  std::function<void()> release_;  // of external memory
};

// Thread-safe. A freed buffer may be handed out again at once, since commands are executed in order.
class TANDEM_EXPORT GpuMemory : public RefCounted<GpuMemory> {
 public:
  struct Options {
    uint64_t memory_limit = UINT64_MAX;          // bytes of live buffers
    uint64_t cache_limit = uint64_t{512} << 20;  // bytes of freed buffers kept
  };
  struct Stats {
    uint64_t bytes_in_use = 0;  // of live buffers, rounded as they are allocated
    uint64_t peak_bytes_in_use = 0;
    uint64_t bytes_cached = 0;
    uint64_t num_allocations = 0;
    uint64_t num_cache_hits = 0;
  };

  // `queue` is used until Close.
  GpuMemory(GpuQueue& queue, const Options& options) : queue_(&queue), options_(options) {}

  // A buffer of at least `bytes`, never empty. ResourceExhausted, naming size, use and limit, if there is no memory or
  // no buffer may be as large.
  StatusOr<RcRef<GpuBuffer>> Allocate(uint64_t bytes, const CommandOrigin& origin);
  // A buffer that someone else owns; `release` is called once, when the last reference is gone or this fails.
  StatusOr<RcRef<GpuBuffer>> WrapExternal(BufferId id, uint64_t bytes, std::function<void()> release);

  Stats stats() const;
  // Gives kept buffers back to the device.
  void Trim();
  // The queue is about to be destroyed: buffers that are freed from now on do not reach it.
  void Close();

 private:
  friend class RefCounted<GpuMemory>;
  friend class GpuBuffer;
  ~GpuMemory() = default;
  // Freed buffers of one size.
  struct FreeList {
    uint64_t size;
    GrowingArray<BufferId> ids;
  };

  void Take(GpuBuffer& buffer);
  void TrimLocked();
  // The list of a size; null if there is none.
  FreeList* FindFree(uint64_t size);
  // Keeps a freed buffer; false if memory for that is exhausted.
  bool PutFree(uint64_t size, BufferId id);

  mutable std::mutex mutex_;
  GpuQueue* queue_;  // null once closed
  const Options options_;
  Stats stats_;
  GrowingArray<FreeList> free_;  // by size
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_GPU_MEMORY_H_
