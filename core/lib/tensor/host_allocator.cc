// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The caching allocator: blocks of header and data. Small ones are kept in size classes and accounted per group of
// threads, so that threads which allocate at the same time do not share a cache line; large ones are parts of regions.

#include "tandem/host_allocator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <span>
#include <thread>

#if defined(__linux__) && !defined(__EMSCRIPTEN__)
#include <sys/mman.h>
#endif

#include "base/this_thread.h"
#include "tensor/block_regions.h"
#include "tensor/forms_list.h"

namespace tandem {

namespace {

constexpr size_t kAlignment = kTensorDataAlignment;
// Past the end of buffers, where overruns are looked for.
constexpr unsigned char kGuard = 0xA5;
// A power of two.
constexpr size_t kNumShards = 32;
// Buffers of up to this capacity belong to a shard, larger ones to the allocator as a whole.
constexpr size_t kMaxShardBytes = size_t{32} << 10;
// Kept blocks of one shard.
constexpr size_t kMaxShardCache = size_t{256} << 10;
// Of smaller buffers kernels keep nothing (TH-10): to look for it would take as long as to make it.
constexpr size_t kMinBytesWithForms = size_t{16} << 10;
// Under a limit, the bytes a shard may use before it has to ask again.
constexpr size_t kAllowanceStep = size_t{64} << 10;

// Of the regions of large buffers, if so much may be kept. Where memory is taken before it is touched, and where there
// is little, each has what one buffer needs; so that the address sanitizer sees what goes beyond, in its builds, too.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kRegionBytes = 0;
#else
constexpr size_t kRegionBytes = sizeof(void*) == 8 ? size_t{16} << 20 : 0;
#endif

// Size classes: each power of two above 32 split in four. The class of `capacity`, a multiple of kAlignment.
struct SizeClass {
  size_t index;
  size_t capacity;  // of the blocks in it, at most 1.25 times what was asked for
};
constexpr SizeClass SizeClassOf(size_t capacity) {
  const int log2 = std::bit_width(capacity - 1) - 1;
  const size_t base = size_t{1} << log2;
  const size_t quarter = base / 4;
  const size_t quarters = (capacity - base + quarter - 1) / quarter;
  return {static_cast<size_t>(log2 - 5) * 4 + quarters - 1, base + quarters * quarter};
}
constexpr size_t kNumClasses = SizeClassOf(kMaxShardBytes).index + 1;
static_assert(SizeClassOf(64).index == 3 && SizeClassOf(64).capacity == 64);
static_assert(SizeClassOf(4096).capacity == 4096 && SizeClassOf(4160).capacity == 5120);

// What a kept block holds in place of the buffer object.
struct FreeBlock {
  FreeBlock* next;
  size_t capacity;
};

void Push(FreeBlock*& list, FreeBlock* block) {
  block->next = list;
  list = block;
}
FreeBlock* Pop(FreeBlock*& list) {
  FreeBlock* block = list;
  if (block != nullptr) list = block->next;
  return block;
}
void MoveAll(FreeBlock*& from, FreeBlock*& to) {
  while (FreeBlock* block = Pop(from)) Push(to, block);
}
void GiveToSystem(FreeBlock* list) {
  while (FreeBlock* block = Pop(list)) ::operator delete(static_cast<void*>(block));
}

// Fewer pages for the processor to look up, and for the system to clear one by one.
void PreferHugePages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(kHugePage - 1);
  if (begin < end) static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}

// Held for some nanoseconds, and rarely wanted by two.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) {
      while (locked_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

// The buffers of one group of threads, or the large ones. A buffer returns to the account it came from.
struct Account {
  size_t in_use = 0;   // bytes
  size_t high = 0;     // most bytes in use since the peak was last computed; not used for the large ones
  size_t allowed = 0;  // bytes that may be in use without asking; not used for the large ones
  size_t cached = 0;   // bytes of kept blocks
  uint64_t allocations = 0;
  uint64_t cache_hits = 0;
  size_t live = 0;        // buffers
  bool orphaned = false;  // the allocator is gone: nothing is kept any more

  void Take(size_t size, bool was_kept) {
    in_use += size;
    high = std::max(high, in_use);
    ++live;
    ++allocations;
    cache_hits += was_kept;
  }
  // True if this was the last buffer of an orphaned account.
  bool Return(size_t size) {
    in_use -= size;
    return --live == 0 && orphaned;
  }
};

struct alignas(128) Shard {
  SpinLock lock;
  bool registered = false;  // written under the allocator's mutex and this lock
  Account account;
  FreeBlock* free[kNumClasses] = {};
};

// What is to be allocated.
struct Request {
  size_t size;
  size_t capacity;
  size_t size_class;  // of a small one that comes from the kept ones and goes there again
  bool is_keepable;
  Shard* shard;  // null if it is large
};

}  // namespace

// Locks: `mutex_` before a shard's.
class HostAllocator::Impl {
 public:
  explicit Impl(const Options& options)
      : limit_(options.memory_limit),
        regions_(BufferHeaderBytes()),
        min_kept_size_(options.min_cached_size),
        shard_cache_limit_(std::min(kMaxShardCache, options.cache_limit / 2 / kNumShards)),
        cache_limit_(options.cache_limit - kNumShards * shard_cache_limit_),
        min_region_bytes_(cache_limit_ >= kRegionBytes ? kRegionBytes : 0),
        guard_bytes_(options.on_overrun ? kAlignment : 0),
        on_shortage_(options.on_shortage),
        on_overrun_(options.on_overrun) {}

  StatusOr<RcRef<HostBuffer>> Allocate(size_t size);
  Stats GetStats();
  void SetLimit(size_t bytes);
  void Trim();
  // Called once, when the allocator is gone; the last buffer deletes this.
  void Orphan();

 private:
  class Buffer;
  class BufferForms;
  static size_t BufferHeaderBytes();

  // All of a request for `size` bytes but its shard. What was allocated under one is freed under the same.
  Request Describe(size_t size) const;
  // A buffer's bytes and its guard, up to a multiple of kAlignment.
  size_t Padded(size_t size) const { return (size + guard_bytes_ + kAlignment - 1) & ~(kAlignment - 1); }
  // What is past the end of a buffer of `size` bytes at `data`.
  std::span<unsigned char> GuardOf(void* data, size_t size) const {
    return {static_cast<unsigned char*>(data) + size, Padded(size) - size};
  }
  void* TryAllocate(const Request& request);
  void* TakeFromShard(const Request& request);
  bool Take(const Request& request, bool was_kept);
  bool MayTakeLocked(size_t size);
  void WithdrawAllowancesLocked();
  void FoldPeakLocked();
  void Free(Shard* shard, FreeBlock* block, size_t size);
  void FreeLarge(void* block, size_t size);
  void* TakeKept(const Request& request);
  void* TakeNew(const Request& request);
  void* TakeNewLarge(size_t capacity);
  void GiveBack(const Request& request, void* block);
  void KeepLocked(FreeBlock* block, FreeBlock*& unwanted);
  void KeepLargeLocked(void* block, FreeBlock*& unwanted);
  void MakeRoomLocked(size_t bytes, FreeBlock*& unwanted);
  Status Exhausted(size_t size);
  bool DropForms(size_t size);
  bool HasRoomForForm(size_t bytes);
  void DropHold() {
    if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::mutex mutex_;
  std::atomic<size_t> limit_;  // written under the mutex
  size_t peak_ = 0;
  Account large_;       // `cached` has the small blocks that are kept outside the shards
  size_t allowed_ = 0;  // by all shards together, if there is a limit
  FreeBlock* free_[kNumClasses] = {};
  internal::BlockRegions regions_;  // of large blocks
  size_t next_evicted_ = 0;         // the class from which room is made next, or kNumClasses for the regions
  Shard* used_[kNumShards];
  size_t num_used_ = 0;

  internal::FormsList forms_;  // of buffers

  const size_t min_kept_size_;
  const size_t shard_cache_limit_;
  const size_t cache_limit_;  // outside the shards
  const size_t min_region_bytes_;
  const size_t guard_bytes_;  // at least, past the end of each buffer; 0 without on_overrun_
  const std::function<bool(size_t)> on_shortage_;
  const std::function<void(size_t)> on_overrun_;
  std::atomic<size_t> holds_{1};  // the allocator's; once it is gone, one for each account with live buffers
  Shard shards_[kNumShards];
};

// What kernels keep of a buffer's content.
class HostAllocator::Impl::BufferForms final : public internal::ListedForms {
 public:
  explicit BufferForms(Impl* impl) : impl_(impl) {}

 private:
  bool HasRoomFor(size_t bytes) const override { return impl_->HasRoomForForm(bytes); }

  Impl* const impl_;
};

class HostAllocator::Impl::Buffer final : public HostBuffer {
 public:
  // A block is aligned as `operator new` does by itself, which is much cheaper than asking it for more.
  static constexpr size_t HeaderBytes() {
    constexpr size_t kGiven = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    return (sizeof(Buffer) + kGiven - 1) / kGiven * kGiven + kAlignment - kGiven;
  }

  static Buffer* Create(void* block, Impl* impl, const Request& request) {
    const uintptr_t header_end = reinterpret_cast<uintptr_t>(block) + sizeof(Buffer);
    void* data = reinterpret_cast<void*>((header_end + kAlignment - 1) & ~(kAlignment - 1));
    return new (block) Buffer(impl, data, request);
  }

  // Null also if memory is exhausted.
  ConstantForms* constant_forms() const override {
    if (size() < kMinBytesWithForms) return nullptr;
    BufferForms* forms = forms_.load(std::memory_order_acquire);
    if (forms != nullptr) return forms;
    auto* const made = new (std::nothrow) BufferForms(impl_);
    if (made == nullptr) return nullptr;
    if (!forms_.compare_exchange_strong(forms, made, std::memory_order_acq_rel, std::memory_order_acquire)) {
      delete made;
      return forms;
    }
    impl_->forms_.Add(made);
    return made;
  }
  void DropForms() override {
    if (BufferForms* const forms = forms_.load(std::memory_order_acquire)) forms->Drop();
  }

 private:
  Buffer(Impl* impl, void* data, const Request& request)
      : HostBuffer(data, request.size, /*external=*/false), impl_(impl), shard_(request.shard) {}

  void Free() override {
    Impl* const impl = impl_;
    Shard* const shard = shard_;
    const size_t bytes = size();
    if (BufferForms* const forms = forms_.load(std::memory_order_acquire)) {
      impl->forms_.Remove(forms);
      delete forms;
    }
    if (impl->guard_bytes_ > 0 &&
        !std::ranges::all_of(impl->GuardOf(data(), bytes), [](auto byte) { return byte == kGuard; })) {
      impl->on_overrun_(bytes);
    }
    this->~Buffer();
    void* const block = this;
    if (shard == nullptr) return impl->FreeLarge(block, bytes);
    impl->Free(shard, new (block) FreeBlock{nullptr, impl->Describe(bytes).capacity}, bytes);
  }

  Impl* const impl_;
  Shard* const shard_;
  mutable std::atomic<BufferForms*> forms_{nullptr};  // own
};

size_t HostAllocator::Impl::BufferHeaderBytes() { return Buffer::HeaderBytes(); }

Request HostAllocator::Impl::Describe(size_t size) const {
  const size_t capacity = std::max(Padded(size), kAlignment);
  if (size < min_kept_size_) return {size, capacity, 0, false, nullptr};
  if (capacity > kMaxShardBytes) return {size, capacity, 0, true, nullptr};
  const SizeClass size_class = SizeClassOf(capacity);
  return {size, size_class.capacity, size_class.index, true, nullptr};
}

StatusOr<RcRef<HostBuffer>> HostAllocator::Impl::Allocate(size_t size) {
  if (size > size_t{PTRDIFF_MAX} - kAlignment - guard_bytes_) {
    Trim();
    return Exhausted(size);
  }
  Request request = Describe(size);
  if (request.capacity <= kMaxShardBytes) request.shard = &shards_[internal::ShardOfThisThread(kNumShards)];

  void* block = TryAllocate(request);
  while (block == nullptr) {
    Trim();
    block = TryAllocate(request);
    if (block != nullptr || DropForms(size)) continue;
    if (!on_shortage_ || !on_shortage_(size)) return Exhausted(size);
  }
  Buffer* const buffer = Buffer::Create(block, this, request);
  if (guard_bytes_ > 0) [[unlikely]]
    std::ranges::fill(GuardOf(buffer->data(), size), kGuard);
  return RcRef<HostBuffer>::Take(buffer);
}

Status HostAllocator::Impl::Exhausted(size_t size) {
  const size_t in_use = GetStats().bytes_in_use;
  const size_t limit = limit_.load(std::memory_order_relaxed);
  if (limit == SIZE_MAX) {
    return ResourceExhausted("cannot allocate ", size, " bytes for a tensor: ", in_use, " bytes in use, no limit");
  }
  return ResourceExhausted("cannot allocate ", size, " bytes for a tensor: ", in_use, " bytes in use, limit ", limit,
                           " bytes");
}

// A block that is accounted for; null if the limit or the system does not allow it.
void* HostAllocator::Impl::TryAllocate(const Request& request) {
  if (request.size > limit_.load(std::memory_order_relaxed)) return nullptr;
  void* block = nullptr;
  if (request.is_keepable) {
    if (request.shard != nullptr && (block = TakeFromShard(request)) != nullptr) return block;
    block = TakeKept(request);
  }
  const bool was_kept = block != nullptr;
  if (!was_kept) block = TakeNew(request);
  if (block == nullptr || Take(request, was_kept)) return block;
  GiveBack(request, block);
  return nullptr;
}

// Not accounted for, as are the next two.
void* HostAllocator::Impl::TakeKept(const Request& request) {
  std::lock_guard lock(mutex_);
  if (request.shard == nullptr) return regions_.Take(request.capacity);
  FreeBlock* block = Pop(free_[request.size_class]);
  if (block != nullptr) large_.cached -= request.capacity;
  return block;
}

void* HostAllocator::Impl::TakeNew(const Request& request) {
  if (request.is_keepable && request.shard == nullptr) return TakeNewLarge(request.capacity);
  return ::operator new(request.capacity + Buffer::HeaderBytes(), std::nothrow);
}

void* HostAllocator::Impl::TakeNewLarge(size_t capacity) {
  {
    std::lock_guard lock(mutex_);
    if (void* block = regions_.TakeUnused(capacity)) return block;
  }
  // Buffers that are a little larger are to fit, too, when it has become free.
  size_t bytes = std::max(min_region_bytes_, regions_.RegionBytes(SizeClassOf(capacity).capacity));
  void* region = ::operator new(bytes, std::nothrow);
  if (region == nullptr) {
    bytes = regions_.RegionBytes(capacity);
    region = ::operator new(bytes, std::nothrow);
  }
  if (region == nullptr) return nullptr;
  PreferHugePages(region, bytes);
  std::lock_guard lock(mutex_);
  regions_.Add(region, bytes);
  return regions_.TakeUnused(capacity);
}

void HostAllocator::Impl::GiveBack(const Request& request, void* block) {
  if (!request.is_keepable || request.shard != nullptr) return ::operator delete(block);
  FreeBlock* unwanted = nullptr;
  {
    std::lock_guard lock(mutex_);
    KeepLargeLocked(block, unwanted);
  }
  GiveToSystem(unwanted);
}

// The shortest way: a block that the shard keeps, accounted for.
void* HostAllocator::Impl::TakeFromShard(const Request& request) {
  Account& account = request.shard->account;
  std::lock_guard lock(request.shard->lock);
  if (request.size > account.allowed - account.in_use) return nullptr;
  FreeBlock* block = Pop(request.shard->free[request.size_class]);
  if (block == nullptr) return nullptr;
  account.cached -= request.capacity;
  account.Take(request.size, /*was_kept=*/true);
  return block;
}

// Accounts for a block; false if the limit forbids it.
bool HostAllocator::Impl::Take(const Request& request, bool was_kept) {
  Shard* const shard = request.shard;
  if (shard != nullptr) {
    std::lock_guard lock(shard->lock);
    Account& account = shard->account;
    if (shard->registered && request.size <= account.allowed - account.in_use) {
      account.Take(request.size, was_kept);
      return true;
    }
  }
  std::lock_guard lock(mutex_);
  FoldPeakLocked();
  if (!MayTakeLocked(request.size)) return false;
  if (shard == nullptr) {
    large_.Take(request.size, was_kept);
    return true;
  }
  std::lock_guard shard_lock(shard->lock);
  Account& account = shard->account;
  if (!shard->registered) {
    shard->registered = true;
    used_[num_used_++] = shard;
  }
  const size_t limit = limit_.load(std::memory_order_relaxed);
  if (limit == SIZE_MAX) {
    account.allowed = SIZE_MAX;
  } else {
    const size_t room = limit - large_.in_use - allowed_ - request.size;
    const size_t grant = request.size + std::min(room, kAllowanceStep);
    account.allowed += grant;
    allowed_ += grant;
  }
  account.Take(request.size, was_kept);
  return true;
}

bool HostAllocator::Impl::MayTakeLocked(size_t size) {
  const size_t limit = limit_.load(std::memory_order_relaxed);
  if (limit == SIZE_MAX) return true;
  auto fits = [&] {
    return large_.in_use <= limit && allowed_ <= limit - large_.in_use && size <= limit - large_.in_use - allowed_;
  };
  if (fits()) return true;
  // What shards were allowed but do not use is room, too.
  WithdrawAllowancesLocked();
  return fits();
}

void HostAllocator::Impl::WithdrawAllowancesLocked() {
  allowed_ = 0;
  for (size_t i = 0; i < num_used_; ++i) {
    std::lock_guard lock(used_[i]->lock);
    Account& account = used_[i]->account;
    account.allowed = account.in_use;
    allowed_ += account.in_use;
  }
}

// Called before the large buffers change, so that their sum with each shard's highest use is what it was meanwhile:
// exact for one thread, for several at most too high by what they freed in this time.
void HostAllocator::Impl::FoldPeakLocked() {
  size_t high = large_.in_use;
  for (size_t i = 0; i < num_used_; ++i) {
    std::lock_guard lock(used_[i]->lock);
    Account& account = used_[i]->account;
    high += account.high;
    account.high = account.in_use;
  }
  peak_ = std::max(peak_, high);
}

void HostAllocator::Impl::Free(Shard* shard, FreeBlock* block, size_t size) {
  Account& account = shard->account;
  FreeBlock* unwanted = nullptr;
  std::unique_lock lock(shard->lock);
  if (size >= min_kept_size_) {
    if (!account.orphaned && block->capacity <= shard_cache_limit_ - account.cached) {
      account.cached += block->capacity;
      Push(shard->free[SizeClassOf(block->capacity).index], block);
    } else {
      lock.unlock();
      {
        std::lock_guard all(mutex_);
        KeepLocked(block, unwanted);
      }
      lock.lock();
    }
  } else {
    Push(unwanted, block);
  }
  // From here on this object may be gone at any time.
  const bool was_last = account.Return(size);
  lock.unlock();
  GiveToSystem(unwanted);
  if (was_last) DropHold();
}

void HostAllocator::Impl::FreeLarge(void* block, size_t size) {
  FreeBlock* unwanted = nullptr;
  std::unique_lock lock(mutex_);
  FoldPeakLocked();
  if (size >= min_kept_size_) {
    KeepLargeLocked(block, unwanted);
  } else {
    Push(unwanted, new (block) FreeBlock);
  }
  const bool was_last = large_.Return(size);
  lock.unlock();
  GiveToSystem(unwanted);
  if (was_last) DropHold();
}

void HostAllocator::Impl::KeepLocked(FreeBlock* block, FreeBlock*& unwanted) {
  if (large_.orphaned || block->capacity > cache_limit_) return Push(unwanted, block);
  MakeRoomLocked(block->capacity, unwanted);
  large_.cached += block->capacity;
  Push(free_[SizeClassOf(block->capacity).index], block);
}

void HostAllocator::Impl::KeepLargeLocked(void* block, FreeBlock*& unwanted) {
  if (void* region = regions_.Free(block, large_.orphaned ? 0 : cache_limit_)) Push(unwanted, new (region) FreeBlock);
  MakeRoomLocked(0, unwanted);
}

// From all classes and the regions in turn: what is in use comes back soon, what is not is gone in the end.
void HostAllocator::Impl::MakeRoomLocked(size_t bytes, FreeBlock*& unwanted) {
  for (size_t num_empty = 0;
       large_.cached + regions_.free_region_bytes() > cache_limit_ - bytes && num_empty <= kNumClasses;) {
    if (next_evicted_ == kNumClasses) {
      void* const region = regions_.PopFreeRegion();
      num_empty = region == nullptr ? num_empty + 1 : 0;
      if (region != nullptr) Push(unwanted, new (region) FreeBlock);
    } else if (FreeBlock* evicted = Pop(free_[next_evicted_])) {
      num_empty = 0;
      large_.cached -= evicted->capacity;
      Push(unwanted, evicted);
    } else {
      ++num_empty;
    }
    next_evicted_ = (next_evicted_ + 1) % (kNumClasses + 1);
  }
}

// What kernels keep, for `size` bytes that may have room then; true if there was something.
bool HostAllocator::Impl::DropForms(size_t size) {
  if (size > limit_.load(std::memory_order_relaxed) || !forms_.DropAll()) return false;
  const size_t in_use = GetStats().bytes_in_use;
  forms_.Narrow(in_use + std::min(size, SIZE_MAX - in_use));
  return true;
}

// A quarter of what is allowed is left to others from the start.
bool HostAllocator::Impl::HasRoomForForm(size_t bytes) {
  const size_t limit = limit_.load(std::memory_order_relaxed);
  const size_t room = std::min(limit - limit / 4, forms_.room());
  return bytes <= room && GetStats().bytes_in_use <= room - bytes;
}

HostAllocator::Stats HostAllocator::Impl::GetStats() {
  std::lock_guard lock(mutex_);
  FoldPeakLocked();
  Stats stats;
  auto add = [&stats](const Account& account) {
    stats.bytes_in_use += account.in_use;
    stats.bytes_cached += account.cached;
    stats.num_allocations += account.allocations;
    stats.num_cache_hits += account.cache_hits;
  };
  add(large_);
  stats.bytes_cached += regions_.free_bytes();
  for (size_t i = 0; i < num_used_; ++i) {
    std::lock_guard shard_lock(used_[i]->lock);
    add(used_[i]->account);
  }
  stats.peak_bytes_in_use = std::max(peak_, stats.bytes_in_use);
  return stats;
}

void HostAllocator::Impl::SetLimit(size_t bytes) {
  std::lock_guard lock(mutex_);
  limit_.store(bytes, std::memory_order_relaxed);
  forms_.Widen();
  WithdrawAllowancesLocked();
}

void HostAllocator::Impl::Trim() {
  FreeBlock* kept = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (FreeBlock*& list : free_) MoveAll(list, kept);
    large_.cached = 0;
    while (void* region = regions_.PopFreeRegion()) Push(kept, new (region) FreeBlock);
    for (size_t i = 0; i < num_used_; ++i) {
      std::lock_guard shard_lock(used_[i]->lock);
      for (FreeBlock*& list : used_[i]->free) MoveAll(list, kept);
      used_[i]->account.cached = 0;
    }
  }
  GiveToSystem(kept);
}

void HostAllocator::Impl::Orphan() {
  {
    std::lock_guard lock(mutex_);
    large_.orphaned = true;
    if (large_.live > 0) holds_.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < num_used_; ++i) {
      std::lock_guard shard_lock(used_[i]->lock);
      used_[i]->account.orphaned = true;
      if (used_[i]->account.live > 0) holds_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  Trim();
  DropHold();
}

namespace {

class ExternalBuffer final : public HostBuffer {
 public:
  ExternalBuffer(void* data, size_t size) : HostBuffer(data, size, /*external=*/true) {}
  ~ExternalBuffer() override {
    if (release_) release_();
  }
  void set_release(std::function<void()> release) { release_ = std::move(release); }

 private:
  std::function<void()> release_;
};

}  // namespace

RcRef<HostAllocator> HostAllocator::Create(const Options& options) {
  auto* impl = new (std::nothrow) Impl(options);
  if (impl == nullptr) return nullptr;
  auto* allocator = new (std::nothrow) HostAllocator(impl);
  if (allocator == nullptr) impl->Orphan();
  return RcRef<HostAllocator>::Take(allocator);
}

HostAllocator::~HostAllocator() { impl_->Orphan(); }

StatusOr<RcRef<HostBuffer>> HostAllocator::Allocate(size_t size) { return impl_->Allocate(size); }

StatusOr<RcRef<HostBuffer>> HostAllocator::WrapExternal(void* data, size_t size, std::function<void()> release) {
  auto buffer = MakeRef<ExternalBuffer>(data, size);
  if (!buffer) {
    if (release) release();
    return Status::OutOfMemory();
  }
  buffer->set_release(std::move(release));
  return RcRef<HostBuffer>(std::move(buffer));
}

HostAllocator::Stats HostAllocator::stats() const { return impl_->GetStats(); }

void HostAllocator::set_memory_limit(size_t bytes) { impl_->SetLimit(bytes); }

void HostAllocator::Trim() { impl_->Trim(); }

}  // namespace tandem
