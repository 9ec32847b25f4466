// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What work queues do where the system gives no threads (ER-5).

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <latch>

#include "tandem/work_queue.h"
#include "work_queue_values.h"

namespace {
[[maybe_unused]] std::atomic<bool> no_threads{false};
}  // namespace

// The sanitizers have a pthread_create of their own, which a program must not replace, and WebAssembly cannot find the
// replaced one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__EMSCRIPTEN__)
#define TANDEM_TEST_REPLACES_PTHREAD_CREATE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TANDEM_TEST_REPLACES_PTHREAD_CREATE 0
#endif
#endif
#ifndef TANDEM_TEST_REPLACES_PTHREAD_CREATE
#define TANDEM_TEST_REPLACES_PTHREAD_CREATE 1
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*),
                              void* argument) noexcept {
  if (no_threads.load()) return EAGAIN;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, main, argument);
}
#endif

namespace tandem {
namespace {

#if TANDEM_TEST_REPLACES_PTHREAD_CREATE
class NoThreads {
 public:
  NoThreads() { no_threads = true; }
  ~NoThreads() { no_threads = false; }
};

// ER-5
TEST(WithoutThreadsTest, ER5_ABlockingTaskIsRefused) {
  const auto queue = CreateMultiThreadedWorkQueue(2);
  const NoThreads none;
  bool ran = false;
  EXPECT_FALSE(queue->AddBlockingTask([&] { ran = true; }));
  queue->Quiesce();
  EXPECT_FALSE(ran);
}

// ER-5
TEST(WithoutThreadsTest, ER5_AQueueOfNoThreadsIsASingleThreadedOne) {
  const NoThreads none;
  const auto queue = CreateMultiThreadedWorkQueue(2);
  EXPECT_EQ(queue->ParallelismLevel(), 1);
  std::atomic<int> count = 0;
  queue->AddTask(SpawningTask{queue.get(), 5, &count});
  queue->Quiesce();
  EXPECT_EQ(count, 63);
}

// ER-5, AV-7: a worker in Await runs the tasks itself.
TEST(WithoutThreadsTest, ER5_WorkersThatAwaitHelpThemselves) {
  const auto queue = CreateMultiThreadedWorkQueue(2);
  const NoThreads none;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 4; ++t) {
    queue->AddTask([&] {
      const auto values = MakeValues(20);
      for (const Value& value : values) queue->AddTask([value] { value->Emplace(1); });
      failures += !queue->Await(Pointers(values)).ok();
    });
  }
  queue->Quiesce();
  EXPECT_EQ(failures, 0);
}

// ER-5, AV-7
TEST(WithoutThreadsTest, ER5_ANewTaskRunsThoughAllWorkersAwait) {
  const auto queue = CreateMultiThreadedWorkQueue(2);
  const NoThreads none;
  const auto values = MakeValues(2);
  std::latch all_started(2);
  for (const Value& value : values) {
    queue->AddTask([&] {
      all_started.count_down();
      EXPECT_TRUE(AwaitOne(*queue, value).ok());
    });
  }
  all_started.wait();
  for (const Value& value : values) queue->AddTask([&value] { value->Emplace(1); });
  queue->Quiesce();
}
#else
TEST(WithoutThreadsTest, ER5_NeedsAPthreadCreateOfItsOwn) {
  GTEST_SKIP() << "pthread_create cannot be replaced in this build";
}
#endif

}  // namespace
}  // namespace tandem
