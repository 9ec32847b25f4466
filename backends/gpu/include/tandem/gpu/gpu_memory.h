// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GpuBuffer: device memory of tensors; GpuMemory: where it comes from, with freed buffers kept for reuse.

#ifndef TANDEM_GPU_GPU_MEMORY_H_
#define TANDEM_GPU_GPU_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include "tandem/export.h"
#include "tandem/gpu/stream.h"
#include "tandem/growing_array.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem::gpu {

class GpuMemory;

// One buffer of a stream, or a part of one that a tensor is in without a copy. May outlive the device; then it is only
// destroyed. A part keeps the whole buffer, and is external memory to kernels, which never take it over (TH-5).
class TANDEM_EXPORT GpuBuffer final : public TensorStorage {
 public:
  // Where the content is, as commands take it. `size` is at least what was asked for; a multiple of 4.
  const BufferRange& range() const { return range_; }
  BufferId id() const { return range_.buffer; }
  uint64_t offset() const { return range_.offset; }
  uint64_t size() const { return range_.size; }
  // The buffer that this is a part of, or itself.
  const GpuBuffer& whole() const { return whole_ ? *whole_ : *this; }

  // The last batch with a command that writes the whole buffer; 0: none yet.
  uint64_t last_write() const { return whole().last_write_.load(std::memory_order_relaxed); }
  // It then has other content than was kept. Not of a part.
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

  // A part of this buffer: `offset` is a multiple of StreamLimits::offset_alignment, `size` one of 4. Null if memory is
  // exhausted.
  RcRef<GpuBuffer> Part(uint64_t offset, uint64_t size);

  // What has a size, but no memory, and its id is 0: for who computes which commands there would be. Null if memory of
  // the host is exhausted.
  static RcRef<GpuBuffer> MakeStandIn(uint64_t bytes);

 private:
  friend class GpuMemory;
  GpuBuffer(RcRef<GpuMemory> memory, RcRef<GpuBuffer> whole, const BufferRange& range, std::function<void()> release)
      : TensorStorage(whole || release != nullptr),
        memory_(std::move(memory)),
        whole_(std::move(whole)),
        range_(range),
        release_(std::move(release)) {}
  ~GpuBuffer() override = default;
  void Free() override;

  RcRef<GpuMemory> memory_;
  const RcRef<GpuBuffer> whole_;  // of a part
  const BufferRange range_;
  std::atomic<uint64_t> last_write_{0};
  std::array<std::byte, Tensor::kInlineBytes> kept_;
  uint8_t num_kept_ = 0;
  std::function<void()> release_;  // of external memory
};

// Thread-safe. A freed buffer may be handed out again at once, since commands are executed in order.
class TANDEM_EXPORT GpuMemory : public RefCounted<GpuMemory> {
 public:
  // In bytes.
  struct Options {
    uint64_t memory_limit = UINT64_MAX;          // bytes of live buffers
    uint64_t cache_limit = uint64_t{512} << 20;  // bytes of freed buffers kept
  };
  // Since the memory was made; sizes in bytes.
  struct Stats {
    uint64_t bytes_in_use = 0;  // of live buffers, rounded as they are allocated
    uint64_t peak_bytes_in_use = 0;
    uint64_t bytes_cached = 0;
    uint64_t num_allocations = 0;
    uint64_t num_cache_hits = 0;
  };

  // `stream` is used until Close, or until another takes its place.
  GpuMemory(Stream& stream, const Options& options) : stream_(&stream), options_(options) {}

  // From now on `stream` makes and destroys buffers, those of the one before, too.
  void SetStream(Stream& stream);

  // A buffer of at least `bytes`, never empty. ResourceExhausted, naming size, use and limit, if there is no memory,
  // also when commands that were put off hold none, or no buffer may be as large.
  StatusOr<RcRef<GpuBuffer>> Allocate(uint64_t bytes, const CommandOrigin& origin);
  // A buffer that someone else owns; `release` is called once, when the last reference is gone or this fails.
  StatusOr<RcRef<GpuBuffer>> WrapExternal(BufferId id, uint64_t bytes, std::function<void()> release);

  // Without what commands hold that were put off: they are noted first.
  Stats stats() const;
  // Gives kept buffers back to the device, and before that those that commands hold which were put off.
  void Trim();
  // The stream is about to be destroyed: buffers that are freed from now on do not reach it.
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

  StatusOr<RcRef<GpuBuffer>> TryAllocate(uint64_t bytes, const CommandOrigin& origin);
  // Whether commands that were put off have been noted now.
  bool IssueLate() const;
  void Take(GpuBuffer& buffer);
  void TrimLocked();
  // The list of a size; null if there is none.
  FreeList* FindFree(uint64_t size);
  // Keeps a freed buffer; false if memory for that is exhausted.
  bool PutFree(uint64_t size, BufferId id);

  mutable std::mutex mutex_;
  Stream* stream_;  // null once closed
  const Options options_;
  Stats stats_;
  GrowingArray<FreeList> free_;  // by size
};

}  // namespace tandem::gpu

#endif  // TANDEM_GPU_GPU_MEMORY_H_
