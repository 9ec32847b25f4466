// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a thread knows of itself: the tasks on its stack, the queue and the kernel it works for, and its place in ranges
// that threads share.

#ifndef TANDEM_CORE_LIB_BASE_THIS_THREAD_H_
#define TANDEM_CORE_LIB_BASE_THIS_THREAD_H_

#include <cstddef>
#include <cstdint>

namespace tandem {

class KernelRun;
class Task;
class WorkQueue;

namespace internal {

// A task that is running on this thread. Lives on the stack of the one who runs it.
struct TaskFrame {
  const WorkQueue* queue;
  TaskFrame* below;
  bool waits_for_all = false;  // it is inside WorkQueue::Quiesce
};

struct ThisThread {
  TaskFrame* top_task = nullptr;
  uint32_t num_pops = 0;           // of tasks, in any queue
  WorkQueue* works_for = nullptr;  // the multi-threaded queue whose worker it is
  Task* next_task = nullptr;       // of that queue, which this thread runs next
  uint32_t num_next_tasks = 0;     // so far
  WorkQueue* helps = nullptr;      // the multi-threaded queue that counts it as a thread that helps
  KernelRun* run = nullptr;        // of the kernel that it works for
  uint32_t place = 0;              // its place in the last shared range, of 2^16; 0: it has none yet
};

inline constinit thread_local ThisThread this_thread;

// Makes this thread work for a kernel's run, or for none, for its lifetime.
class RunScope {
 public:
  explicit RunScope(KernelRun* run) : before_(this_thread.run) { this_thread.run = run; }
  ~RunScope() { this_thread.run = before_; }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  KernelRun* const before_;
};

// Marks, for its lifetime, that a task of `queue` is running on this thread; it may do so in the middle of a kernel
// that waits for something, and is no part of it.
class TaskScope {
 public:
  explicit TaskScope(const WorkQueue* queue) : frame_{queue, this_thread.top_task} { this_thread.top_task = &frame_; }
  ~TaskScope() { this_thread.top_task = frame_.below; }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

 private:
  TaskFrame frame_;
  const RunScope run_{nullptr};
};

// Spreads threads over `shards` of something; a thread always gets the same. `shards` must be a power of two.
inline size_t ShardOfThisThread(size_t shards) {
  // Thread-local storage of two threads lies a multiple of the page size apart: mix before taking the low bits.
  uint32_t address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&this_thread) >> 6);
  return ((address * 0x9E3779B1u) >> 16) & (shards - 1);
}

// Tells the processor that this thread is spinning.
inline void Pause() {
#if defined(__i386__) || defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace internal
}  // namespace tandem

#endif  // TANDEM_CORE_LIB_BASE_THIS_THREAD_H_
