// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The host allocator: alignment, reuse, limit, statistics (TH-8, ER-5), and its lifetime (WQ-3).

#include "tandem/host_allocator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"

namespace tandem {
namespace {

using Buffer = RcRef<HostBuffer>;

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

Buffer Allocate(HostAllocator& allocator, size_t size) {
  StatusOr<Buffer> buffer = allocator.Allocate(size);
  EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
  return buffer.ok() ? *buffer : nullptr;
}

TEST(HostAllocatorTest, DataIsAlignedAndWritable) {
  const auto allocator = HostAllocator::Create({});
  for (size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{1000}, 4 * kKiB, 33 * kKiB, kMiB,
                      3 * kMiB + 1}) {
    const Buffer buffer = Allocate(*allocator, size);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->size(), size);
    EXPECT_FALSE(buffer->is_external());
    ASSERT_NE(buffer->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kTensorDataAlignment, 0u);
    std::memset(buffer->data(), 1, size);
  }
}

TEST(HostAllocatorTest, MayBeReadUpToTheNextMultipleOfTheAlignment) {
  const auto allocator = HostAllocator::Create({});
  for (size_t size = 1; size < 300; ++size) {
    const Buffer buffer = Allocate(*allocator, size);
    // To write there is the way to let the address sanitizer look, too.
    std::memset(buffer->data(), 0, (size + 63) / 64 * 64);
  }
}

TEST(HostAllocatorTest, OverrunsAreTold) {
  std::vector<size_t> told;
  const auto allocator = HostAllocator::Create({.on_overrun = [&](size_t size) { told.push_back(size); }});
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{1000}, 64 * kKiB}) {
    // Each place of the first 64 bytes past the end, in blocks that were used before, too.
    for (size_t i = 0; i < 64; ++i) {
      Buffer buffer = Allocate(*allocator, size);
      std::memset(buffer->data(), 1, size);
      buffer.reset();
      EXPECT_EQ(told, std::vector<size_t>());
      buffer = Allocate(*allocator, size);
      static_cast<unsigned char*>(buffer->data())[size + i] ^= 1;
      buffer.reset();
      EXPECT_EQ(told, std::vector<size_t>({size}));
      told.clear();
    }
  }
  EXPECT_EQ(allocator->stats().bytes_in_use, 0u);
}

TEST(HostAllocatorTest, TrimGivesBackGuardedBuffersOfEachSize) {
  const auto allocator = HostAllocator::Create({.on_overrun = [](size_t) {}});
  Allocate(*allocator, 1);
  allocator->Trim();
  const int64_t before = num_live_blocks;
  // With their guards some of them are larger than what small buffers may be.
  for (const size_t size : {32 * kKiB - 65, 32 * kKiB - 64, 32 * kKiB - 63, 32 * kKiB, 32 * kKiB + 1}) {
    Allocate(*allocator, size);
    EXPECT_EQ(num_live_blocks, before + 1) << size << " bytes are not kept";
    allocator->Trim();
    EXPECT_EQ(num_live_blocks, before) << size << " bytes stay";
    EXPECT_EQ(allocator->stats().bytes_cached, 0u);
  }
}

TEST(HostAllocatorTest, SmallBuffersCostOneRequestToTheSystem) {
  const auto allocator = HostAllocator::Create({});
  Allocate(*allocator, 100);
  const int64_t before = thread_heap.num_allocations;
  const Buffer buffer = Allocate(*allocator, 100);
  EXPECT_EQ(thread_heap.num_allocations - before, 1);
}

TEST(HostAllocatorTest, FreedBlocksAreUsedAgain) {
  for (size_t size : {5 * kKiB, 20 * kKiB, 40 * kKiB, 5 * kMiB, 50 * kMiB}) {
    const auto allocator = HostAllocator::Create({});
    const HostAllocator::Stats before = allocator->stats();
    const void* const first = Allocate(*allocator, size)->data();
    EXPECT_GE(allocator->stats().bytes_cached - before.bytes_cached, size);
    const int64_t requests = thread_heap.num_allocations;
    const Buffer second = Allocate(*allocator, size - 10);
    EXPECT_EQ(thread_heap.num_allocations, requests);
    EXPECT_EQ(second->data(), first);
    EXPECT_EQ(allocator->stats().num_cache_hits - before.num_cache_hits, 1u);
    EXPECT_EQ(allocator->stats().bytes_cached, before.bytes_cached);
  }
}

TEST(HostAllocatorTest, BlocksAreAtMostAQuarterLargerThanAsked) {
  for (size_t size = 4 * kKiB; size < 70 * kKiB; size += 997) {
    const auto allocator = HostAllocator::Create({});
    Allocate(*allocator, size).reset();
    const size_t kept = allocator->stats().bytes_cached;
    EXPECT_GE(kept, size);
    EXPECT_LE(kept, size + size / 4 + 64);
  }
}

TEST(HostAllocatorTest, LargeBuffersOfAllSizesUseTheSameMemory) {
  const auto allocator = HostAllocator::Create({});
  const auto* const first = static_cast<const char*>(Allocate(*allocator, 5 * kMiB)->data());
  std::vector<Buffer> buffers;
  buffers.reserve(40);
  const int64_t requests = thread_heap.num_allocations;
  for (size_t i = 0; i < 40; ++i) buffers.push_back(Allocate(*allocator, (i % 3 + 1) * 50 * kKiB));
  EXPECT_EQ(thread_heap.num_allocations, requests);
  for (const Buffer& buffer : buffers) {
    const auto* const data = static_cast<const char*>(buffer->data());
    EXPECT_TRUE(data >= first && data + buffer->size() <= first + 5 * kMiB);
  }
  // What has been joined again is as large as it was, in whatever order its parts came back.
  for (const size_t step : {7, 11, 13}) {
    for (size_t i = 0; i < buffers.size(); ++i) buffers[i * step % buffers.size()].reset();
    EXPECT_EQ(Allocate(*allocator, 5 * kMiB)->data(), first) << step;
    EXPECT_EQ(thread_heap.num_allocations, requests) << step;
    for (size_t i = 0; i < 40; ++i) buffers[i] = Allocate(*allocator, (i * step % 5 + 1) * 33 * kKiB);
  }
  EXPECT_EQ(thread_heap.num_allocations, requests);
}

TEST(HostAllocatorTest, LargeBuffersKeepTheirContents) {
  const auto allocator = HostAllocator::Create({.cache_limit = 3 * kMiB});
  std::vector<std::pair<Buffer, unsigned char>> buffers(60);
  uint32_t random = 1;
  const auto check = [](const std::pair<Buffer, unsigned char>& held) {
    const auto* const data = static_cast<const unsigned char*>(held.first->data());
    for (size_t i = 0; i < held.first->size(); i += 509) {
      if (data[i] != held.second) return false;
    }
    return held.first->size() == 0 || data[held.first->size() - 1] == held.second;
  };
  for (int round = 0; round < 20000; ++round) {
    random = random * 1664525 + 1013904223;
    auto& held = buffers[(random >> 8) % buffers.size()];
    if (held.first) {
      ASSERT_TRUE(check(held));
      held.first.reset();
      if (round % 3 == 0) continue;
    }
    held = {Allocate(*allocator, 20 * kKiB + random % (300 * kKiB)), static_cast<unsigned char>(round)};
    std::memset(held.first->data(), held.second, held.first->size());
    if (round % 997 == 0) allocator->Trim();
  }
  for (auto& held : buffers) held.first.reset();
  allocator->Trim();
  EXPECT_EQ(allocator->stats().bytes_cached, 0u);
  EXPECT_EQ(allocator->stats().bytes_in_use, 0u);
}

TEST(HostAllocatorTest, SmallBlocksAreNotKept) {
  const auto allocator = HostAllocator::Create({.min_cached_size = 8 * kKiB});
  Allocate(*allocator, 8 * kKiB - 1).reset();
  EXPECT_EQ(allocator->stats().bytes_cached, 0u);
  Allocate(*allocator, 8 * kKiB).reset();
  EXPECT_EQ(allocator->stats().bytes_cached, 8 * kKiB);
}

TEST(HostAllocatorTest, TheCacheStaysWithinItsLimit) {
  for (size_t limit : {size_t{0}, 100 * kKiB, 5 * kMiB}) {
    const auto allocator = HostAllocator::Create({.cache_limit = limit});
    std::vector<Buffer> buffers;
    for (size_t i = 0; i < 100; ++i) buffers.push_back(Allocate(*allocator, (i % 10 + 1) * 13 * kKiB));
    for (Buffer& buffer : buffers) {
      buffer.reset();
      ASSERT_LE(allocator->stats().bytes_cached, limit);
    }
    EXPECT_GE(allocator->stats().bytes_cached, limit / 4);
  }
}

TEST(HostAllocatorTest, SizesOutOfUseMakeRoomForThoseInUse) {
  const auto allocator = HostAllocator::Create({.cache_limit = 4 * kMiB});
  std::vector<Buffer> early;
  for (int i = 0; i < 40; ++i) early.push_back(Allocate(*allocator, 100 * kKiB));
  early.clear();
  Allocate(*allocator, 2 * kMiB).reset();
  const uint64_t hits = allocator->stats().num_cache_hits;
  Allocate(*allocator, 2 * kMiB).reset();
  EXPECT_EQ(allocator->stats().num_cache_hits, hits + 1);
}

TEST(HostAllocatorTest, TrimGivesEverythingBack) {
  const auto allocator = HostAllocator::Create({});
  for (size_t size : {5 * kKiB, 50 * kKiB, 500 * kKiB}) Allocate(*allocator, size).reset();
  EXPECT_GT(allocator->stats().bytes_cached, 0u);
  allocator->Trim();
  EXPECT_EQ(allocator->stats().bytes_cached, 0u);
  EXPECT_TRUE(Allocate(*allocator, 50 * kKiB));
}

TEST(HostAllocatorTest, StatisticsCountWhatWasAskedFor) {
  const auto allocator = HostAllocator::Create({});
  const Buffer a = Allocate(*allocator, 1000);
  Buffer b = Allocate(*allocator, kMiB + 1);
  Buffer c = Allocate(*allocator, 5000);
  EXPECT_EQ(allocator->stats().bytes_in_use, 1000 + kMiB + 1 + 5000);
  EXPECT_EQ(allocator->stats().num_allocations, 3u);
  EXPECT_EQ(allocator->stats().num_cache_hits, 0u);
  b.reset();
  c.reset();
  EXPECT_EQ(allocator->stats().bytes_in_use, 1000u);
}

TEST(HostAllocatorTest, ThePeakOfOneThreadIsExact) {
  const auto allocator = HostAllocator::Create({});
  auto peak = [&] { return allocator->stats().peak_bytes_in_use; };
  Buffer small = Allocate(*allocator, 100);
  small.reset();
  EXPECT_EQ(peak(), 100u);
  Buffer large = Allocate(*allocator, kMiB);
  small = Allocate(*allocator, 200);
  small.reset();
  large.reset();
  small = Allocate(*allocator, 30 * kKiB);
  EXPECT_EQ(peak(), kMiB + 200);
  large = Allocate(*allocator, kMiB);
  EXPECT_EQ(peak(), kMiB + 30 * kKiB);
}

// ER-5
TEST(HostAllocatorTest, ER5_TheLimitIsExact) {
  const auto allocator = HostAllocator::Create({.memory_limit = 100 * kKiB});
  const Buffer a = Allocate(*allocator, 30 * kKiB);
  Buffer b = Allocate(*allocator, 60 * kKiB);
  const Buffer c = Allocate(*allocator, 10 * kKiB);
  EXPECT_FALSE(allocator->Allocate(1).ok());
  EXPECT_FALSE(allocator->Allocate(60 * kKiB).ok());
  b.reset();
  EXPECT_FALSE(allocator->Allocate(60 * kKiB + 1).ok());
  b = Allocate(*allocator, 60 * kKiB);
  EXPECT_EQ(allocator->stats().bytes_in_use, 100 * kKiB);
  EXPECT_EQ(allocator->stats().peak_bytes_in_use, 100 * kKiB);
}

// ER-5
TEST(HostAllocatorTest, ER5_TheErrorNamesSizeUseAndLimit) {
  const auto allocator = HostAllocator::Create({.memory_limit = 200});
  const Buffer buffer = Allocate(*allocator, 100);
  const Status status = allocator->Allocate(4096).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "cannot allocate 4096 bytes for a tensor: 100 bytes in use, limit 200 bytes");
}

// ER-5
TEST(HostAllocatorTest, ER5_AShortageIsToldBeforeItIsAnError) {
  Buffer garbage;
  std::vector<size_t> told;
  const auto allocator = HostAllocator::Create({.memory_limit = 100 * kKiB, .on_shortage = [&](size_t size) {
                                                  told.push_back(size);
                                                  const bool helps = static_cast<bool>(garbage);
                                                  garbage.reset();
                                                  return helps;
                                                }});
  garbage = Allocate(*allocator, 60 * kKiB);
  EXPECT_TRUE(told.empty());
  const Buffer buffer = Allocate(*allocator, 50 * kKiB);
  EXPECT_EQ(told, std::vector<size_t>({50 * kKiB}));
  EXPECT_EQ(allocator->Allocate(60 * kKiB).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(told, std::vector<size_t>({50 * kKiB, 60 * kKiB}));
  EXPECT_EQ(allocator->stats().bytes_in_use, 50 * kKiB);
}

// ER-5
TEST(HostAllocatorTest, ER5_AShortageMayBeAnsweredByAHigherLimit) {
  RcRef<HostAllocator> allocator;
  size_t limit = 10 * kKiB;
  allocator = HostAllocator::Create({.memory_limit = limit, .on_shortage = [&](size_t) {
                                       allocator->set_memory_limit(limit *= 2);
                                       return limit < 100 * kKiB;
                                     }});
  // Again and again, as long as it says that something has changed.
  EXPECT_TRUE(Allocate(*allocator, 70 * kKiB));
  EXPECT_EQ(limit, 80 * kKiB);
  EXPECT_FALSE(allocator->Allocate(900 * kKiB).ok());
}

// ER-5
TEST(HostAllocatorTest, ER5_TheLimitMayChange) {
  const auto allocator = HostAllocator::Create({});
  Buffer small = Allocate(*allocator, 1000);
  Buffer large = Allocate(*allocator, 100 * kKiB);
  allocator->set_memory_limit(50 * kKiB);
  EXPECT_FALSE(allocator->Allocate(1).ok());
  large.reset();
  EXPECT_TRUE(Allocate(*allocator, 49 * kKiB));
  EXPECT_FALSE(allocator->Allocate(50 * kKiB).ok());
  allocator->set_memory_limit(SIZE_MAX);
  EXPECT_TRUE(Allocate(*allocator, 100 * kKiB));
  allocator->set_memory_limit(0);
  EXPECT_FALSE(allocator->Allocate(1).ok());
}

// ER-5
TEST(HostAllocatorTest, ER5_TheLimitHoldsForAllThreadsTogether) {
  constexpr size_t kLimit = 200 * kKiB;
  const auto allocator = HostAllocator::Create({.memory_limit = kLimit});
  std::atomic<size_t> in_use = 0;
  std::atomic<bool> exceeded = false;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Buffer> buffers;
      for (size_t i = 0; i < 3000; ++i) {
        const size_t size = (i * 7919 + t) % 3 == 0 ? 40 * kKiB : (i * 104729) % 9000;
        if (StatusOr<Buffer> buffer = allocator->Allocate(size); buffer.ok()) {
          if (in_use.fetch_add(size) + size > kLimit) exceeded = true;
          buffers.push_back(*buffer);
        } else {
          // Subtracted before it is freed: the sum is never more than what the allocator has seen.
          for (const Buffer& held : buffers) in_use -= held->size();
          buffers.clear();
        }
      }
      for (const Buffer& held : buffers) in_use -= held->size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(allocator->stats().bytes_in_use, 0u);
  EXPECT_TRUE(Allocate(*allocator, kLimit));
}

// TH-8
TEST(HostAllocatorTest, TH8_SizesNearTheEndOfTheAddressSpaceAreAnError) {
  const auto allocator = HostAllocator::Create({});
  for (size_t back = 0; back < 300; ++back) {
    for (size_t size : {SIZE_MAX - back, size_t{PTRDIFF_MAX} - back % 64}) {
      EXPECT_EQ(allocator->Allocate(size).status().code(), StatusCode::kResourceExhausted);
    }
  }
  EXPECT_EQ(allocator->stats().bytes_in_use, 0u);
  EXPECT_EQ(allocator->stats().peak_bytes_in_use, 0u);
}

// ER-5
TEST(HostAllocatorTest, ER5_KeptBlocksGoBackBeforeTheSystemsNoIsFinal) {
  const auto allocator = HostAllocator::Create({});
  Allocate(*allocator, kMiB).reset();
  const Buffer held = Allocate(*allocator, 10);
  thread_heap.largest = 40 * kMiB;
  const Status status = allocator->Allocate(50 * kMiB).status();
  const Status small = allocator->Allocate(10).status();
  thread_heap.largest = SIZE_MAX;
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "cannot allocate 52428800 bytes for a tensor: 10 bytes in use, no limit");
  EXPECT_TRUE(small.ok());
  EXPECT_EQ(allocator->stats().bytes_cached, 0u);
  EXPECT_EQ(allocator->stats().peak_bytes_in_use, kMiB);
  EXPECT_EQ(allocator->stats().bytes_in_use, 10u);
}

// ER-5
TEST(HostAllocatorTest, ER5_WithoutAnyMemoryThereIsAnErrorAndNoAllocator) {
  const auto allocator = HostAllocator::Create({});
  thread_heap.largest = 0;
  const StatusCode code = allocator->Allocate(10).status().code();
  const auto another = HostAllocator::Create({});
  thread_heap.largest = SIZE_MAX;
  EXPECT_EQ(code, StatusCode::kResourceExhausted);
  EXPECT_FALSE(another);
}

// WQ-3
TEST(HostAllocatorTest, WQ3_BuffersOutliveTheAllocator) {
  std::vector<Buffer> buffers;
  {
    const auto allocator = HostAllocator::Create({});
    for (size_t size : {size_t{10}, 5 * kKiB, 50 * kKiB, kMiB}) {
      buffers.push_back(Allocate(*allocator, size));
      Allocate(*allocator, size).reset();
    }
  }
  for (const Buffer& buffer : buffers) std::memset(buffer->data(), 1, buffer->size());
}

// WQ-3
TEST(HostAllocatorTest, WQ3_BuffersOfManyThreadsOutliveTheAllocator) {
  for (int round = 0; round < 50; ++round) {
    auto allocator = HostAllocator::Create({});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      std::vector<Buffer> buffers;
      for (size_t size : {size_t{10}, 5 * kKiB, 50 * kKiB}) buffers.push_back(Allocate(*allocator, size));
      threads.emplace_back([mine = std::move(buffers)]() mutable { mine.clear(); });
    }
    allocator.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(HostAllocatorTest, BuffersMayBeFreedOnOtherThreads) {
  const auto allocator = HostAllocator::Create({});
  std::vector<Buffer> buffers[2];
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        buffers[t].clear();
        for (size_t i = 0; i < 200; ++i) {
          buffers[t].push_back(*allocator->Allocate(i * 331));
          std::memset(buffers[t].back()->data(), static_cast<int>(i), i * 331);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::swap(buffers[0], buffers[1]);
  }
  EXPECT_EQ(allocator->stats().num_allocations, 20u * 2 * 200);
  for (auto& list : buffers) list.clear();
  EXPECT_EQ(allocator->stats().bytes_in_use, 0u);
}

TEST(HostAllocatorTest, StatisticsAndTrimMayBeCalledMeanwhile) {
  const auto allocator = HostAllocator::Create({});
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; !stop; ++i) Allocate(*allocator, i % 97 * 500).reset();
    });
  }
  for (int i = 0; i < 200; ++i) {
    const HostAllocator::Stats stats = allocator->stats();
    EXPECT_LE(stats.bytes_in_use, 2 * 97 * 500u);
    EXPECT_LE(stats.num_cache_hits, stats.num_allocations);
    allocator->Trim();
    allocator->set_memory_limit(i % 2 == 0 ? kMiB : SIZE_MAX);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ExternalBufferTest, IsReleasedOnceWithItsLastReference) {
  int data[4] = {1, 2, 3, 4};
  int released = 0;
  {
    StatusOr<Buffer> buffer = HostAllocator::WrapExternal(data, sizeof(data), [&] { ++released; });
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ((*buffer)->data(), data);
    EXPECT_EQ((*buffer)->size(), sizeof(data));
    EXPECT_TRUE((*buffer)->is_external());
    const Buffer second = *buffer;
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(ExternalBufferTest, MayHaveNothingToRelease) {
  int data = 0;
  EXPECT_TRUE(HostAllocator::WrapExternal(&data, sizeof(data), nullptr).ok());
}

// ER-5
TEST(ExternalBufferTest, ER5_IsReleasedAlsoIfItCannotBeWrapped) {
  int data = 0;
  int released = 0;
  thread_heap.largest = 0;
  const StatusOr<Buffer> buffer = HostAllocator::WrapExternal(&data, sizeof(data), [&] { ++released; });
  thread_heap.largest = SIZE_MAX;
  EXPECT_EQ(buffer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace tandem
