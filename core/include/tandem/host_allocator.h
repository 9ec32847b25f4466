// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// HostAllocator: memory for tensor data on the host; keeps freed blocks for reuse, with a limit and statistics.

#ifndef TANDEM_HOST_ALLOCATOR_H_
#define TANDEM_HOST_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tandem/export.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem {

// Host memory of a tensor, aligned to kTensorDataAlignment. Header and data are one block.
class TANDEM_EXPORT HostBuffer : public TensorStorage {
 public:
  void* data() const { return data_; }
  size_t size() const { return size_; }

 protected:
  HostBuffer(void* data, size_t size, bool external) : TensorStorage(external), data_(data), size_(size) {}

 private:
  void* data_;
  size_t size_;
};

// Thread-safe. Shared: buffers keep what they need of it alive, so they may outlive the runtime that made them.
class TANDEM_EXPORT HostAllocator : public RefCounted<HostAllocator> {
 public:
  // Limits, in bytes.
  struct Options {
    size_t memory_limit = SIZE_MAX;          // bytes of live buffers; beyond it allocation fails
    size_t cache_limit = size_t{256} << 20;  // bytes of freed blocks kept for reuse; what is free beside a buffer in
                                             // the same region of memory stays, and may be more
    size_t min_cached_size = 512;            // smaller blocks go straight to the system allocator
    // Called before an allocation of `size` bytes fails because of the limit or the system, on the thread that
    // allocates and without a lock, after kept blocks have been given back. True: something has changed, such as the
    // limit or what is in use, and it is tried again; it may be called again then. Default: fail.
    std::function<bool(size_t size)> on_shortage{};
    // Called when a buffer of `size` bytes is freed that has been written to past its end, on the thread that frees it
    // and without a lock, also after the allocator is gone. If given, each buffer has 64 bytes or more past its end,
    // which are filled and looked at: for tests of kernels. Default: nothing is looked for.
    std::function<void(size_t size)> on_overrun{};
  };
  // While other threads allocate, the numbers need not belong to one and the same moment.
  struct Stats {
    size_t bytes_in_use = 0;       // as asked for, without headers and rounding
    size_t peak_bytes_in_use = 0;  // exact for one thread; with several, too high by at most the small buffers (up to
                                   // 32 KiB each) that they held at different times
    size_t bytes_cached = 0;
    uint64_t num_allocations = 0;  // buffers handed out
    uint64_t num_cache_hits = 0;   // of these, served from a kept block
  };

  // Null if memory is exhausted.
  static RcRef<HostAllocator> Create(const Options& options);

  // A buffer of `size` bytes, uninitialised, with room to read (not write) past its end up to the next multiple of
  // kTensorDataAlignment. Kernels keep with it what they make of its content (TH-10). ResourceExhausted, naming size,
  // use and limit, if the limit or the system does not allow it; kept blocks are given back to the system before that,
  // and what kernels keep is dropped.
  StatusOr<RcRef<HostBuffer>> Allocate(size_t size);

  // A buffer over memory of someone else's; `release` is called once when the last reference is gone, on whatever
  // thread drops it (also when this function fails). Never taken over for results (TH-5). `data` may have any alignment
  // and no room past its end. Status::OutOfMemory() is the only error.
  static StatusOr<RcRef<HostBuffer>> WrapExternal(void* data, size_t size, std::function<void()> release);

  Stats stats() const;
  void set_memory_limit(size_t bytes);
  // Gives kept blocks back to the system, but for what is free beside a buffer in the same region of memory.
  void Trim();

 private:
  friend class RefCounted<HostAllocator>;
  class Impl;
  explicit HostAllocator(Impl* impl) : impl_(impl) {}
  ~HostAllocator();
  Impl* impl_;
};

}  // namespace tandem

#endif  // TANDEM_HOST_ALLOCATOR_H_
