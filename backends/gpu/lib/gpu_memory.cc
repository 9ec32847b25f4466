// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/gpu/gpu_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace tandem::gpu {

namespace {

// Sizes that buffers of nearly the same size share: powers of two up to 4 KiB, then eight steps to each power.
uint64_t RoundToClass(uint64_t bytes, uint64_t largest) {
  constexpr uint64_t kSmallest = 256;
  constexpr uint64_t kFineAbove = 4096;
  uint64_t rounded = std::max(bytes, kSmallest);
  if (rounded <= kFineAbove) {
    rounded = std::bit_ceil(rounded);
  } else {
    const uint64_t step = std::bit_floor(rounded) / 8;
    rounded = (rounded + step - 1) / step * step;
  }
  return std::max(std::min(rounded, largest / 4 * 4), (bytes + 3) / 4 * 4);
}

}  // namespace

void GpuBuffer::Keep(const void* data, uint64_t bytes) {
  if (bytes > kept_.size()) return;
  std::memcpy(kept_.data(), data, static_cast<size_t>(bytes));
  num_kept_ = static_cast<uint8_t>(bytes);
}

RcRef<GpuBuffer> GpuBuffer::Part(uint64_t offset, uint64_t size) {
  GpuBuffer& whole = whole_ ? *whole_ : *this;
  const BufferRange range = {range_.buffer, range_.offset + offset, size};
  return RcRef<GpuBuffer>::Take(new (std::nothrow) GpuBuffer(memory_, RcRef<GpuBuffer>::Share(&whole), range, nullptr));
}

RcRef<GpuBuffer> GpuBuffer::MakeStandIn(uint64_t bytes) {
  return RcRef<GpuBuffer>::Take(new (std::nothrow) GpuBuffer(nullptr, nullptr, {0, 0, bytes}, nullptr));
}

void GpuBuffer::Free() {
  if (release_ != nullptr) {
    release_();
  } else if (!whole_ && memory_) {
    memory_->Take(*this);
  }
  delete this;
}

void GpuMemory::SetStream(Stream& stream) {
  const std::lock_guard lock(mutex_);
  stream_ = &stream;
}

bool GpuMemory::IssueLate() const {
  Stream* stream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    stream = stream_;
  }
  return stream != nullptr && stream->IssueLate();
}

StatusOr<RcRef<GpuBuffer>> GpuMemory::Allocate(uint64_t bytes, const CommandOrigin& origin) {
  StatusOr<RcRef<GpuBuffer>> buffer = TryAllocate(bytes, origin);
  if (buffer.ok() || buffer.status().code() != StatusCode::kResourceExhausted || !IssueLate()) return buffer;
  return TryAllocate(bytes, origin);
}

StatusOr<RcRef<GpuBuffer>> GpuMemory::TryAllocate(uint64_t bytes, const CommandOrigin& origin) {
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr)
    return MakeError(StatusCode::kUnavailable, "expected a device, got one that has been destroyed");
  const uint64_t largest = stream_->limits().max_buffer_bytes;
  if (bytes > largest) {
    return ResourceExhausted("expected a tensor of at most ", largest, " bytes on ", stream_->adapter_name(),
                             ", got one of ", bytes);
  }
  const uint64_t size = RoundToClass(bytes, largest);
  if (size > options_.memory_limit || stats_.bytes_in_use > options_.memory_limit - size) {
    return ResourceExhausted("expected at most ", options_.memory_limit, " bytes of device memory in use, got ", bytes,
                             " more with ", stats_.bytes_in_use, " in use");
  }
  BufferId id = 0;
  if (FreeList* const kept = FindFree(size); kept != nullptr && !kept->ids.empty()) {
    id = kept->ids.TakeLast();
    stats_.bytes_cached -= size;
    ++stats_.num_cache_hits;
  } else {
    StatusOr<BufferId> made = stream_->CreateBuffer(size, origin);
    if (!made.ok() && made.status().code() == StatusCode::kResourceExhausted && stats_.bytes_cached > 0) {
      TrimLocked();
      made = stream_->CreateBuffer(size, origin);
    }
    if (!made.ok()) return made.status();
    id = *made;
  }
  auto* buffer = new (std::nothrow) GpuBuffer(RcRef<GpuMemory>::Share(this), nullptr, {id, 0, size}, nullptr);
  if (buffer == nullptr) {
    stream_->DestroyBuffer(id);
    return Status::OutOfMemory();
  }
  stats_.bytes_in_use += size;
  stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
  ++stats_.num_allocations;
  return RcRef<GpuBuffer>::Take(buffer);
}

StatusOr<RcRef<GpuBuffer>> GpuMemory::WrapExternal(BufferId id, uint64_t bytes, std::function<void()> release) {
  auto* buffer = new (std::nothrow) GpuBuffer(RcRef<GpuMemory>::Share(this), nullptr, {id, 0, bytes}, release);
  if (buffer == nullptr) {
    release();
    return Status::OutOfMemory();
  }
  return RcRef<GpuBuffer>::Take(buffer);
}

void GpuMemory::Take(GpuBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= buffer.size();
  if (stream_ == nullptr) return;
  if (buffer.size() > options_.cache_limit || stats_.bytes_cached > options_.cache_limit - buffer.size()) {
    return stream_->DestroyBuffer(buffer.id());
  }
  if (!PutFree(buffer.size(), buffer.id())) return stream_->DestroyBuffer(buffer.id());
  stats_.bytes_cached += buffer.size();
}

GpuMemory::FreeList* GpuMemory::FindFree(uint64_t size) {
  FreeList* const found = std::ranges::lower_bound(free_, size, {}, &FreeList::size);
  return found != free_.end() && found->size == size ? found : nullptr;
}

bool GpuMemory::PutFree(uint64_t size, BufferId id) {
  FreeList* list = FindFree(size);
  if (list == nullptr) {
    const auto place = std::ranges::lower_bound(free_, size, {}, &FreeList::size) - free_.begin();
    list = free_.Insert(static_cast<size_t>(place), {size, {}});
  }
  return list != nullptr && list->ids.Append(id) != nullptr;
}

GpuMemory::Stats GpuMemory::stats() const {
  IssueLate();
  const std::lock_guard lock(mutex_);
  return stats_;
}

void GpuMemory::Trim() {
  IssueLate();
  const std::lock_guard lock(mutex_);
  if (stream_ != nullptr) TrimLocked();
}

void GpuMemory::TrimLocked() {
  for (const FreeList& list : free_) {
    for (const BufferId id : list.ids) stream_->DestroyBuffer(id);
  }
  free_.clear();
  stats_.bytes_cached = 0;
}

void GpuMemory::Close() {
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr) return;
  TrimLocked();
  stream_ = nullptr;
}

}  // namespace tandem::gpu
