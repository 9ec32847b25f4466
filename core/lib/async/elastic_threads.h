// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ElasticThreads: as many threads as there are tasks given to it, some of them kept for reuse.

#ifndef TANDEM_CORE_LIB_ASYNC_ELASTIC_THREADS_H_
#define TANDEM_CORE_LIB_ASYNC_ELASTIC_THREADS_H_

#include <condition_variable>
#include <mutex>

#include "tandem/work_queue.h"

namespace tandem::internal {

// Thread-safe. The destructor waits for all tasks to end and joins the threads; it must not run on one of them.
class ElasticThreads {
 public:
  ElasticThreads() = default;
  ElasticThreads(const ElasticThreads&) = delete;
  ElasticThreads& operator=(const ElasticThreads&) = delete;
  ~ElasticThreads();

  // Runs `task` on a thread of its own, at once. False if the system gives no thread; `task` is then not run. The
  // same task may be running on several threads.
  [[nodiscard]] bool Start(Task& task);

  // Starts idle threads until there are `count`; returns how many there are, fewer if the system gives no more. Must
  // not be called while another thread calls Start.
  int Reserve(int count);

 private:
  struct Thread;
  // Bounds what is kept of a burst of blocking tasks.
  static constexpr int kMaxIdle = 16;

  static void* Main(void* thread);
  // Without a task the thread is idle from the start.
  bool SpawnLocked(Task* task);
  void PushIdleLocked(Thread& thread);
  // Runs the thread's tasks until it is not needed any more.
  void Loop(Thread& thread);
  // Joins and frees the threads in the list.
  static void Join(Thread* threads);

  std::mutex mutex_;
  std::condition_variable thread_ended_;
  Thread* idle_ = nullptr;
  Thread* ended_ = nullptr;  // to be joined
  int num_idle_ = 0;
  int num_living_ = 0;
  bool stopping_ = false;
};

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_ASYNC_ELASTIC_THREADS_H_
