// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Who helps whom in work queues, and which threads are counted on for it: AV-7, WQ-1.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>
#include <utility>

#include "tandem/parallel_for.h"
#include "tandem/work_queue.h"
#include "work_queue_test_fixture.h"
#include "work_queue_values.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class HelpersTest : public QueueTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HelpersTest, testing::Values(0, 1, 2, 4));

class HelpersOfWorkersTest : public QueueTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HelpersOfWorkersTest, testing::Values(1, 2, 4));

class FunctionTask final : public Task {
 public:
  FunctionTask(bool is_short, std::function<void()> fn) : fn_(std::move(fn)) { set_short(is_short); }
  void Run() override { fn_(); }

 private:
  const std::function<void()> fn_;
};

// AV-7: a thread that must not wait may do what is short itself, here since all workers are busy.
TEST_P(HelpersTest, AV7_HelpWithRunsShortTasksAndLeavesLongOnes) {
  std::latch begun(GetParam());
  std::latch go_on(1);
  for (int i = 0; i < GetParam(); ++i) {
    queue_->AddTask([&] {
      begun.count_down();
      go_on.wait();
    });
  }
  begun.wait();
  const std::vector<Value> values = MakeValues(2);
  std::vector<std::string> ran;
  FunctionTask first(true, [&] { ran.push_back("first"); });
  FunctionTask second(true, [&] {
    ran.push_back("second");
    values[0]->Emplace(1);
  });
  FunctionTask third(true, [&] { ran.push_back("third"); });
  FunctionTask long_one(false, [&] {
    ran.push_back("long");
    values[1]->Emplace(1);
  });
  for (FunctionTask* task : {&first, &second, &third, &long_one}) queue_->AddTask(*task);
  constexpr auto kNoDeadline = WorkQueue::Deadline::max();
  EXPECT_FALSE(queue_->HelpWith(*values[0], steady_clock::now()));
  EXPECT_EQ(ran, std::vector<std::string>());
  EXPECT_TRUE(queue_->HelpWith(*values[0], kNoDeadline));
  EXPECT_EQ(ran, (std::vector<std::string>{"first", "second"}));
  EXPECT_FALSE(queue_->HelpWith(*values[1], kNoDeadline));
  EXPECT_EQ(ran, (std::vector<std::string>{"first", "second", "third"}));
  go_on.count_down();
  queue_->Quiesce();
  EXPECT_TRUE(queue_->HelpWith(*values[1], kNoDeadline));
  EXPECT_EQ(ran.back(), "long");
}

// AV-7
TEST_P(HelpersTest, AV7_HelpWithDoesNotBlockOnWhatNobodyBrings) {
  const Value value = MakeUnconstructed<int>();
  EXPECT_FALSE(queue_->HelpWith(*value, WorkQueue::Deadline::max()));
  queue_->AddTask([&] { EXPECT_FALSE(queue_->HelpWith(*value, WorkQueue::Deadline::max())) << "in a task"; });
  queue_->Quiesce();
}

// AV-7: a part of a kernel is short if the kernel is.
TEST_P(HelpersOfWorkersTest, AV7_HelpWithTakesPartInShortKernelsOnly) {
  for (const bool is_short : {true, false}) {
    const Value value = MakeUnconstructed<int>();
    std::atomic<int> num_outside = 0;
    std::latch begun(GetParam());
    std::atomic<bool> has_begun = false;
    std::atomic<bool> has_given_up = false;
    // One worker is left, or the others would be the ones that help.
    for (int i = 1; i < GetParam(); ++i) {
      queue_->AddTask([&] {
        begun.count_down();
        while (!has_given_up) std::this_thread::sleep_for(milliseconds(1));
      });
    }
    queue_->AddTask([&] {
      ParallelFor(*queue_, is_short ? 16 : 1 << 20, 1, [&](int64_t, int64_t) {
        if (!queue_->IsWorkerThread()) {
          ++num_outside;
          return;
        }
        if (!has_begun.exchange(true)) begun.count_down();
        // The worker's part lasts until this thread has helped, or has given up, so that there is something left for
        // it.
        while (num_outside == 0 && !has_given_up) std::this_thread::sleep_for(milliseconds(1));
      });
      value->Emplace(1);
    });
    begun.wait();
    // With one worker there is no kernel to take part in.
    const bool may_help = is_short && GetParam() > 1;
    const auto until = steady_clock::now() + (may_help ? std::chrono::seconds(60) : milliseconds(50));
    while (num_outside == 0 && steady_clock::now() < until) queue_->HelpWith(*value, until);
    EXPECT_EQ(num_outside > 0, may_help);
    has_given_up = true;
    queue_->Quiesce();
  }
}

// AV-7
TEST_P(HelpersOfWorkersTest, AV7_AnOutsideThreadInAwaitTakesPartInKernels) {
  struct HelpingTask final : Task {
    void Run() override {
      thread = std::this_thread::get_id();
      has_run.count_down();
    }
    std::thread::id thread;
    std::latch has_run{1};
  };
  // All workers wait for the task, so that nobody is left to run it but this thread.
  HelpingTask task;
  std::latch all_started(GetParam());
  const auto values = MakeValues(GetParam());
  for (const Value& value : values) {
    queue_->AddTask([&value, &task, &all_started] {
      all_started.count_down();
      task.has_run.wait();
      value->Emplace(1);
    });
  }
  all_started.wait();
  queue_->AddHelpingTask(task);
  EXPECT_TRUE(queue_->Await(Pointers(values)).ok());
  EXPECT_EQ(task.thread, std::this_thread::get_id());
}

// WQ-1
TEST_P(HelpersOfWorkersTest, WQ1_AStreamOfRequestsWakesAHelper) {
  EXPECT_FALSE(queue_->RequestHelper());  // nobody is awake for one alone
  const bool may_come = GetParam() > 1 && std::thread::hardware_concurrency() > 1;
  const auto until = steady_clock::now() + (may_come ? milliseconds(20'000) : milliseconds(20));
  bool is_ready = false;
  while (!is_ready && steady_clock::now() < until) is_ready = queue_->RequestHelper();
  EXPECT_EQ(is_ready, may_come);
}

// WQ-1
TEST(HelpersOfTwoWorkersTest, WQ1_AfterLateHelpersNobodyCountsOnThemForAWhile) {
  if (std::thread::hardware_concurrency() == 1) return;  // there are no helpers
  const std::unique_ptr<WorkQueue> queue = CreateMultiThreadedWorkQueue(2);
  const auto becomes_ready = [&] {
    const auto until = steady_clock::now() + milliseconds(20'000);
    while (!queue->RequestHelper() && steady_clock::now() < until) {
    }
    return steady_clock::now() < until;
  };
  ASSERT_TRUE(becomes_ready());
  const auto start = steady_clock::now();
  for (int i = 0; i < 10; ++i) queue->ReportLateHelper();  // each time for twice as long, up to 50 ms
  const bool is_ready = queue->HasReadyHelper();
  if (steady_clock::now() - start < milliseconds(50)) {
    EXPECT_FALSE(is_ready);
  }
  ASSERT_TRUE(becomes_ready());
  EXPECT_GE(steady_clock::now() - start, milliseconds(50));
}

// AV-7
TEST_P(HelpersOfWorkersTest, AV7_AnOutsideThreadInAwaitRunsNoTasks) {
  std::atomic<int> runs_here{0};
  for (int round = 0; round < 200; ++round) {
    const auto values = MakeValues(8);
    for (const Value& value : values) {
      queue_->AddTask([&value, &runs_here, outside = std::this_thread::get_id()] {
        if (std::this_thread::get_id() == outside) ++runs_here;
        value->Emplace(1);
      });
    }
    EXPECT_TRUE(queue_->Await(Pointers(values)).ok());
  }
  EXPECT_EQ(runs_here, 0);
}

}  // namespace
}  // namespace tandem
