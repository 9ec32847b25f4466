// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ParallelFor: the ranges it makes, and that it ends wherever it is called (WQ-2).

#include "tandem/parallel_for.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "forwarding_queue.h"
#include "tandem/host_context.h"
#include "tandem/kernel_run.h"

namespace tandem {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

// The ranges that `fn` was called with, in ascending order.
Ranges RangesOf(WorkQueue& queue, int64_t n, int64_t grain) {
  std::mutex mutex;
  Ranges ranges;
  ParallelFor(queue, n, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

// Number of workers; 0 stands for the single-threaded queue.
class ParallelForTest : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<WorkQueue> queue_ =
      GetParam() == 0 ? CreateSingleThreadedWorkQueue() : CreateMultiThreadedWorkQueue(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Workers, ParallelForTest, testing::Values(0, 1, 2, 4));

TEST_P(ParallelForTest, RangesAreDisjointAndCoverAll) {
  for (int64_t n : {1, 2, 63, 64, 65, 1000, 4099}) {
    for (int64_t grain : {1, 7, 64, 5000}) {
      int64_t next = 0;
      for (const auto& [begin, end] : RangesOf(*queue_, n, grain)) {
        ASSERT_EQ(begin, next);
        ASSERT_LT(begin, end);
        next = end;
      }
      ASSERT_EQ(next, n) << "grain " << grain;
    }
  }
}

TEST_P(ParallelForTest, RangesBeginAtMultiplesOfTheGrainAndHoldOneUnlessLast) {
  const Ranges ranges = RangesOf(*queue_, 10007, 10);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, end] = ranges[i];
    EXPECT_EQ(begin % 10, 0);
    if (i + 1 < ranges.size()) {
      EXPECT_GE(end - begin, 10);
    }
  }
}

TEST_P(ParallelForTest, ManyMoreThanIntMaxElementsAreCovered) {
  const int64_t n = (int64_t{1} << 62) + 12345;
  std::atomic<int64_t> covered = 0;
  ParallelFor(*queue_, n, int64_t{1} << 33, [&](int64_t begin, int64_t end) { covered += end - begin; });
  EXPECT_EQ(covered, n);
}

TEST_P(ParallelForTest, LargestGrainIsOneRange) {
  EXPECT_EQ(RangesOf(*queue_, 1000, INT64_MAX), (Ranges{{0, 1000}}));
  EXPECT_EQ(RangesOf(*queue_, INT64_MAX, INT64_MAX), (Ranges{{0, INT64_MAX}}));
}

TEST_P(ParallelForTest, NothingToDoCallsNothing) {
  EXPECT_TRUE(RangesOf(*queue_, 0, 1).empty());
  EXPECT_TRUE(RangesOf(*queue_, -5, 1).empty());
}

TEST_P(ParallelForTest, WhatTheRangesWroteIsSeenAfterwards) {
  std::vector<int> data(100000, 0);
  for (int round = 1; round <= 20; ++round) {
    ParallelFor(*queue_, static_cast<int64_t>(data.size()), 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++data[static_cast<size_t>(i)];
    });
    ASSERT_TRUE(std::all_of(data.begin(), data.end(), [&](int x) { return x == round; }));
  }
}

// WQ-2
TEST_P(ParallelForTest, WQ2_MayBeNested) {
  std::atomic<int64_t> sum = 0;
  ParallelFor(*queue_, 20, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ParallelFor(*queue_, 20, 1, [&](int64_t inner_begin, int64_t inner_end) {
        for (int64_t j = inner_begin; j < inner_end; ++j) {
          ParallelFor(*queue_, 10, 1, [&](int64_t b, int64_t e) { sum += e - b; });
        }
      });
    }
  });
  EXPECT_EQ(sum, 4000);
}

// WQ-2
TEST_P(ParallelForTest, WQ2_MayBeCalledFromTasksAndThreadsAtOnce) {
  std::atomic<int64_t> sum = 0;
  auto add_all = [&] {
    for (int i = 0; i < 50; ++i) {
      ParallelFor(*queue_, 100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(add_all);
  for (int i = 0; i < 5; ++i) queue_->AddTask(add_all);
  for (std::thread& thread : threads) thread.join();
  queue_->Quiesce();
  EXPECT_EQ(sum, 8 * 50 * 100);
}

// WQ-2
TEST_P(ParallelForTest, WQ2_RangesMayAwaitTasks) {
  std::atomic<int> failures = 0;
  ParallelFor(*queue_, 50, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto value = MakeUnconstructed<int>();
      queue_->AddTask([value] { value->Emplace(1); });
      const AsyncValue* const awaited = value.get();
      failures += !queue_->Await({&awaited, 1}).ok();
    }
  });
  EXPECT_EQ(failures, 0);
}

// WQ-2
TEST_P(ParallelForTest, WQ2_DoesNotWaitForHelpersThatCannotStart) {
  const int workers = GetParam();
  std::latch started(workers);
  std::latch release(1);
  for (int i = 0; i < workers; ++i) {
    queue_->AddTask([&] {
      started.count_down();
      release.wait();
    });
  }
  started.wait();
  int64_t sum = 0;  // not atomic: nobody else can take part
  ParallelFor(*queue_, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 1000);
  release.count_down();
  queue_->Quiesce();
}

// A kernel's run that ends when it has been asked about so often.
class Stoppable {
 public:
  explicit Stoppable(int64_t polls) : polls_(polls) {}
  ExecutionContext exec() { return ExecutionContext(host_, Location()); }
  int64_t num_polls() const { return num_polls_; }

 private:
  HostContext::Options MakeOptions() {
    HostContext::Options options;
    options.work_queue = CreateSingleThreadedWorkQueue();
    options.may_go_on = [this] { return ++num_polls_ < polls_; };
    return options;
  }
  const int64_t polls_;
  std::atomic<int64_t> num_polls_{0};
  HostContext host_{MakeOptions()};
};

// CA-4
TEST_P(ParallelForTest, CA4_AsksAfterSomeGrains) {
  Stoppable stoppable(INT64_MAX);
  const ExecutionContext exec = stoppable.exec();
  const KernelRun run(exec);
  std::atomic<int64_t> longest = 0;
  EXPECT_TRUE(ParallelFor(*queue_, 10'000, 1, [&](int64_t begin, int64_t end) {
    for (int64_t size = longest; size < end - begin && !longest.compare_exchange_weak(size, end - begin);) continue;
  }));
  EXPECT_LE(longest, 100);
  EXPECT_GE(stoppable.num_polls(), 10'000 / longest);
  EXPECT_FALSE(run.was_stopped());
}

// CA-4
TEST_P(ParallelForTest, CA4_LeavesOutTheRestOnceTheKernelIsToEnd) {
  Stoppable stoppable(10);
  const ExecutionContext exec = stoppable.exec();
  const KernelRun run(exec);
  std::atomic<int64_t> done = 0;
  EXPECT_FALSE(ParallelFor(*queue_, 10'000, 1, [&](int64_t begin, int64_t end) { done += end - begin; }));
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 10'000);
  EXPECT_TRUE(run.was_stopped());
  EXPECT_EQ(run.Reason().code(), StatusCode::kCancelled);
  // From then on nothing is begun.
  EXPECT_FALSE(ParallelFor(*queue_, 10'000, 1, [&](int64_t, int64_t) { ADD_FAILURE() << "after the end"; }));
  EXPECT_TRUE(KernelRun::IsStopped());
}

// CA-4
TEST_P(ParallelForTest, CA4_NestedOnesEndWithTheKernel) {
  Stoppable stoppable(50);
  const ExecutionContext exec = stoppable.exec();
  const KernelRun run(exec);
  EXPECT_FALSE(ParallelFor(*queue_, 1000, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ParallelFor(*queue_, 1000, 1, [](int64_t, int64_t) {});
  }));
  EXPECT_TRUE(run.was_stopped());
}

// CA-3: tasks that run while a kernel waits are not that kernel.
TEST_P(ParallelForTest, CA3_OtherTasksGoOn) {
  Stoppable stoppable(1);
  const ExecutionContext exec = stoppable.exec();
  const KernelRun run(exec);
  EXPECT_TRUE(KernelRun::IsStopped());
  std::atomic<int64_t> sum = 0;
  queue_->AddTask([&] {
    EXPECT_FALSE(KernelRun::IsStopped());
    EXPECT_TRUE(ParallelFor(*queue_, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; }));
  });
  queue_->Quiesce();
  EXPECT_EQ(sum, 1000);
}

// WQ-1: a thread that has called may take part, but nobody relies on that.
TEST_P(ParallelForTest, WQ1_WorkersTakePartThoughTheCallerDoesNotAwait) {
  std::atomic<bool> is_shared = false;
  std::latch done(1);
  queue_->AddTask([&] {
    const std::thread::id first = std::this_thread::get_id();
    ParallelFor(*queue_, int64_t{1} << 20, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != first) is_shared = true;
      for (int i = 0; i < 20 && !is_shared; ++i) std::this_thread::yield();
    });
    done.count_down();
  });
  if (GetParam() == 0) queue_->Quiesce();
  done.wait();
  EXPECT_EQ(is_shared, GetParam() > 1);
}

// Two threads, one of which runs one task.
class ReportedQueue final : public ForwardingQueue {
 public:
  ~ReportedQueue() override { helper_.join(); }
  using WorkQueue::AddTask;
  void AddTask(Task& task) override { task_ = &task; }
  int ParallelismLevel() const override { return 2; }
  void ReportLateHelper() override { ++num_reports_; }
  int num_reports() const { return num_reports_; }

 private:
  std::atomic<Task*> task_ = nullptr;
  int num_reports_ = 0;
  std::thread helper_{[this] {
    while (task_ == nullptr) std::this_thread::yield();
    task_.load()->Run();
  }};
};

// How often a helper was late that takes so long, beside a caller that does.
int NumReports(std::chrono::milliseconds of_helper, std::chrono::milliseconds of_caller) {
  ReportedQueue queue;
  std::latch helper_has_begun(1);
  ParallelFor(queue, 2, 1, [&, caller = std::this_thread::get_id()](int64_t, int64_t) {
    if (std::this_thread::get_id() == caller) {
      helper_has_begun.wait();
      std::this_thread::sleep_for(of_caller);
    } else {
      helper_has_begun.count_down();
      std::this_thread::sleep_for(of_helper);
    }
  });
  return queue.num_reports();
}

// WQ-1: who is late with a part of much work is not kept waiting by the system.
TEST(ParallelForReportsTest, WQ1_HelpersThatAreLateWithLittleWork) {
  using std::chrono::milliseconds;
  EXPECT_EQ(NumReports(milliseconds(60), milliseconds(30)), 0);
  // The system may keep this thread waiting, too.
  int num_reports = 0;
  for (int i = 0; i < 100 && num_reports == 0; ++i) num_reports = NumReports(milliseconds(10), milliseconds(0));
  EXPECT_EQ(num_reports, 1);
}

// ER-5
TEST_P(ParallelForTest, ER5_WithoutMemoryTheCallerDoesItAll) {
  int64_t sum = 0;  // not atomic: nobody else can take part
  WithoutMemory([&] { ParallelFor(*queue_, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; }); });
  EXPECT_EQ(sum, 1000);
}

}  // namespace
}  // namespace tandem
