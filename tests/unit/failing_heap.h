// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A heap that counts and fails on demand: replaces the operators new and delete of a test program of which a source
// includes it.

#ifndef TANDEM_TESTS_UNIT_FAILING_HEAP_H_
#define TANDEM_TESTS_UNIT_FAILING_HEAP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tandem {

// What the calling thread has taken from the heap, and may still take.
struct ThreadHeap {
  int64_t num_allocations = 0;
  int64_t num_throwing = 0;  // of these, by the forms of new that may not fail
  int64_t num_failures = 0;
  int64_t allowed = -1;       // allocations before the first that fails, and all after it; negative: none fails
  bool fails_once = false;    // only that first one fails
  size_t largest = SIZE_MAX;  // in bytes; a larger allocation fails in any case
};
inline thread_local constinit ThreadHeap thread_heap;

// What all threads have taken from the heap and not given back.
inline constinit std::atomic<int64_t> num_live_blocks{0};

// The number of allocations that `fn` makes on this thread.
template <typename F>
int64_t CountAllocations(F&& fn) {
  const int64_t before = thread_heap.num_allocations;
  fn();
  return thread_heap.num_allocations - before;
}

// Runs `fn` on a heap that has room for `allowed` allocations of this thread; those that may not fail do not count.
template <typename F>
decltype(auto) WithMemoryFor(int64_t allowed, F&& fn) {
  struct Scope {
    explicit Scope(int64_t allowed) { thread_heap.allowed = allowed; }
    ~Scope() { thread_heap.allowed = -1; }
  } scope(allowed);
  return fn();
}
template <typename F>
decltype(auto) WithoutMemory(F&& fn) {
  return WithMemoryFor(0, fn);
}

// Calls `fn` with memory for no allocation, for one, for two and so on until none fails; returns how often one did.
template <typename F>
int FailEachAllocation(F&& fn) {
  for (int n = 0;; ++n) {
    const int64_t failures = thread_heap.num_failures;
    WithMemoryFor(n, fn);
    if (thread_heap.num_failures == failures) return n;
  }
}

}  // namespace tandem

namespace tandem::internal {

inline bool HeapFailsNow(size_t size) {
  ThreadHeap& heap = thread_heap;
  if (size <= heap.largest && (heap.allowed < 0 || (heap.allowed > 0 && heap.allowed-- > 0))) return false;
  ++heap.num_failures;
  if (heap.fails_once) heap.allowed = -1;
  return true;
}
inline void* TakeFromHeap(size_t size, size_t alignment) {
  ++thread_heap.num_allocations;
  if (size == 0) size = 1;
  void* memory = nullptr;
  if (alignment <= alignof(max_align_t)) {
    memory = std::malloc(size);
  } else if (size <= SIZE_MAX - alignment) {
    memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  if (memory != nullptr) num_live_blocks.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
inline void* TakeFromHeapOrAbort(size_t size, size_t alignment) {
  ++thread_heap.num_throwing;
  void* memory = TakeFromHeap(size, alignment);
  if (memory == nullptr) std::abort();
  return memory;
}
inline void ReturnToHeap(void* memory) {
  if (memory != nullptr) num_live_blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace tandem::internal

// Not inlined: the compiler would take the halves of a pair for parts of two. For WebAssembly they are weak, since
// several sources of the one program include this; elsewhere not, since those of Clang's sanitizers, which are weak,
// would then come first. An array goes through the form of a single object.
#ifdef __EMSCRIPTEN__
#define TANDEM_TEST_HEAP [[gnu::noinline, gnu::weak]]
#else
#define TANDEM_TEST_HEAP [[gnu::noinline]]
#endif

// The forms that may fail.
TANDEM_TEST_HEAP void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return tandem::internal::HeapFailsNow(size) ? nullptr : tandem::internal::TakeFromHeap(size, 1);
}
TANDEM_TEST_HEAP void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  if (tandem::internal::HeapFailsNow(size)) return nullptr;
  return tandem::internal::TakeFromHeap(size, static_cast<size_t>(alignment));
}
TANDEM_TEST_HEAP void* operator new[](size_t size, const std::nothrow_t& nothrow) noexcept {
  return operator new(size, nothrow);
}
TANDEM_TEST_HEAP void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t& nothrow) noexcept {
  return operator new(size, alignment, nothrow);
}
// The forms that may not.
TANDEM_TEST_HEAP void* operator new(size_t size) { return tandem::internal::TakeFromHeapOrAbort(size, 1); }
TANDEM_TEST_HEAP void* operator new(size_t size, std::align_val_t alignment) {
  return tandem::internal::TakeFromHeapOrAbort(size, static_cast<size_t>(alignment));
}
TANDEM_TEST_HEAP void* operator new[](size_t size) { return operator new(size); }
TANDEM_TEST_HEAP void* operator new[](size_t size, std::align_val_t alignment) { return operator new(size, alignment); }

TANDEM_TEST_HEAP void operator delete(void* memory) noexcept { tandem::internal::ReturnToHeap(memory); }
TANDEM_TEST_HEAP void operator delete(void* memory, size_t) noexcept { tandem::internal::ReturnToHeap(memory); }
TANDEM_TEST_HEAP void operator delete(void* memory, std::align_val_t) noexcept {
  tandem::internal::ReturnToHeap(memory);
}
TANDEM_TEST_HEAP void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  tandem::internal::ReturnToHeap(memory);
}
TANDEM_TEST_HEAP void operator delete(void* memory, const std::nothrow_t&) noexcept {
  tandem::internal::ReturnToHeap(memory);
}
TANDEM_TEST_HEAP void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  tandem::internal::ReturnToHeap(memory);
}
TANDEM_TEST_HEAP void operator delete[](void* memory) noexcept { tandem::internal::ReturnToHeap(memory); }
TANDEM_TEST_HEAP void operator delete[](void* memory, size_t) noexcept { tandem::internal::ReturnToHeap(memory); }
TANDEM_TEST_HEAP void operator delete[](void* memory, std::align_val_t) noexcept {
  tandem::internal::ReturnToHeap(memory);
}
TANDEM_TEST_HEAP void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  tandem::internal::ReturnToHeap(memory);
}
TANDEM_TEST_HEAP void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  tandem::internal::ReturnToHeap(memory);
}
TANDEM_TEST_HEAP void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  tandem::internal::ReturnToHeap(memory);
}

#undef TANDEM_TEST_HEAP

#endif  // TANDEM_TESTS_UNIT_FAILING_HEAP_H_
