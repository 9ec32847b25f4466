// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A heap that counts and fails on demand: replaces the operators new and delete of the one test program that includes it.

#ifndef TANDEM_TESTS_UNIT_FAILING_HEAP_H_
#define TANDEM_TESTS_UNIT_FAILING_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tandem {

// What the calling thread has taken from the heap, and may still take.
struct ThreadHeap {
  int64_t num_allocations = 0;
  int64_t num_failures = 0;
  int64_t allowed = -1;  // allocations before the first that fails, and all after it; negative: none fails
};
inline thread_local constinit ThreadHeap thread_heap;

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

// Not inlined: the compiler would take the halves of a pair for parts of two.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  tandem::ThreadHeap& heap = tandem::thread_heap;
  if (heap.allowed == 0) {
    ++heap.num_failures;
    return nullptr;
  }
  if (heap.allowed > 0) --heap.allowed;
  ++heap.num_allocations;
  return std::malloc(size == 0 ? 1 : size);
}
// The form that may not fail.
[[gnu::noinline]] void* operator new(size_t size) {
  ++tandem::thread_heap.num_allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void* operator new[](size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new[](size_t size, const std::nothrow_t& nothrow) noexcept {
  return operator new(size, nothrow);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

#endif  // TANDEM_TESTS_UNIT_FAILING_HEAP_H_
