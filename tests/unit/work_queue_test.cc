// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The work queues: WQ-1, WQ-2, WQ-3, AV-7, and what they do without memory.

#include "tandem/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "failing_heap.h"
#include "tandem/parallel_for.h"
#include "work_queue_test_fixture.h"
#include "work_queue_values.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class AnyQueueTest : public QueueTest {};
INSTANTIATE_TEST_SUITE_P(Workers, AnyQueueTest, testing::Values(0, 1, 2, 4));

class MultiThreadedQueueTest : public AnyQueueTest {};
INSTANTIATE_TEST_SUITE_P(Workers, MultiThreadedQueueTest, testing::Values(1, 2, 4));

// WQ-1
TEST_P(AnyQueueTest, WQ1_ParallelismLevelIsTheNumberOfThreadsThatRunTasks) {
  EXPECT_EQ(queue_->ParallelismLevel(), std::max(GetParam(), 1));
}

// WQ-1
TEST_P(AnyQueueTest, WQ1_RunsEveryTaskOnceWhoeverAddsIt) {
  constexpr int kThreads = 3;
  constexpr int kTasks = 2000;
  std::vector<std::atomic<int>> runs(kThreads * kTasks);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        std::atomic<int>& run = runs[static_cast<size_t>(t * kTasks + i)];
        queue_->AddTask([&run] { ++run; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  queue_->Quiesce();
  for (const std::atomic<int>& run : runs) ASSERT_EQ(run, 1);
}

// WQ-1
TEST_P(AnyQueueTest, WQ1_TakesCallablesThatCanOnlyBeMoved) {
  int result = 0;
  queue_->AddTask([owned = std::make_unique<int>(7), &result] { result = *owned; });
  queue_->Quiesce();
  EXPECT_EQ(result, 7);
}

// WQ-1
TEST_P(AnyQueueTest, WQ1_QuiesceWaitsForTasksOfTasks) {
  std::atomic<int> count = 0;
  queue_->AddTask(SpawningTask{queue_.get(), 10, &count});
  queue_->Quiesce();
  EXPECT_EQ(count, 2047);
}

// WQ-1
TEST_P(AnyQueueTest, WQ1_QuiesceOfAnEmptyQueueReturns) {
  queue_->Quiesce();
  EXPECT_FALSE(queue_->RunOneTask());
}

// WQ-1
TEST_P(AnyQueueTest, WQ1_IsWorkerThreadOnlyInsideItsOwnTasks) {
  const auto other = Create();
  EXPECT_FALSE(queue_->IsWorkerThread());
  bool is_own = false;
  bool is_other = true;
  queue_->AddTask([&] {
    is_own = queue_->IsWorkerThread();
    is_other = other->IsWorkerThread();
  });
  queue_->Quiesce();
  EXPECT_TRUE(is_own);
  EXPECT_FALSE(is_other);
}

// WQ-1: whoever awaits has no more to add.
TEST_P(AnyQueueTest, WQ1_IsNotBeingCalledWhereTheCallerAwaits) {
  EXPECT_FALSE(queue_->IsBeingCalled());
  const Value value = MakeUnconstructed<int>();
  queue_->AddTask([&] {
    while (queue_->IsBeingCalled()) std::this_thread::yield();
    value->Emplace(1);
  });
  EXPECT_TRUE(AwaitOne(*queue_, value).ok());
}

// WQ-1: a task that keeps adding itself does not keep others from their turn.
TEST_P(AnyQueueTest, WQ1_TasksThatAddThemselvesLeaveRoomForOthers) {
  std::atomic<bool> stop = false;
  struct Again {
    WorkQueue* queue;
    std::atomic<bool>* stop;
    void operator()() const {
      if (!*stop) queue->AddTask(*this);
    }
  };
  for (int i = 0; i < 8; ++i) queue_->AddTask(Again{queue_.get(), &stop});
  queue_->AddTask([&stop] { stop = true; });
  queue_->Quiesce();
  EXPECT_TRUE(stop);
}

// WQ-2
TEST_P(AnyQueueTest, WQ2_DestructionRunsWhatIsQueuedAndWhatThatAdds) {
  std::atomic<int> count = 0;
  for (int i = 0; i < 8; ++i) queue_->AddTask(SpawningTask{queue_.get(), 5, &count});
  queue_.reset();
  EXPECT_EQ(count, 8 * 63);
}

// WQ-2
TEST_P(AnyQueueTest, WQ2_QuiesceInsideATaskWaitsForTheOthersOnly) {
  std::atomic<int> count = 0;
  int seen = -1;
  queue_->AddTask([&] {
    queue_->AddTask(SpawningTask{queue_.get(), 5, &count});
    queue_->Quiesce();
    seen = count;
  });
  queue_->Quiesce();
  EXPECT_EQ(seen, 63);
}

// WQ-2
TEST_P(AnyQueueTest, WQ2_TasksThatQuiesceDoNotWaitForEachOther) {
  std::atomic<int> count = 0;
  for (int i = 0; i < 6; ++i) {
    queue_->AddTask([&] {
      queue_->Quiesce();
      ++count;
    });
  }
  queue_->Quiesce();
  EXPECT_EQ(count, 6);
}

// WQ-2
TEST_P(AnyQueueTest, WQ2_ManyThreadsAwaitWhatTasksMake) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  std::atomic<int> sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        Value value = MakeUnconstructed<int>();
        queue_->AddTask([value] { value->Emplace(1); });
        if (AwaitOne(*queue_, value).ok()) sum += value->value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * kRounds);
}

// WQ-3
TEST_P(AnyQueueTest, WQ3_QueuesOfOneProcessEndInAnyOrder) {
  auto second = Create();
  auto third = Create();
  std::atomic<int> count = 0;
  for (WorkQueue* queue : {queue_.get(), second.get(), third.get()}) {
    queue->AddTask(SpawningTask{queue, 5, &count});
  }
  second.reset();
  queue_.reset();
  third.reset();
  EXPECT_EQ(count, 3 * 63);
}

// WQ-3: a task of one queue waits in another for what its own queue has to do.
TEST_P(MultiThreadedQueueTest, WQ3_AwaitInAnotherQueueLetsItsOwnCarryOn) {
  const auto other = Create();
  Status status = Status::OutOfMemory();
  queue_->AddTask([&] {
    Value value = MakeUnconstructed<int>();
    for (int i = 0; i < GetParam(); ++i) {
      // All workers wait; the task comes after that.
      queue_->AddTask([&] { EXPECT_TRUE(AwaitOne(*other, value).ok()); });
    }
    queue_->AddTask([value] { value->Emplace(1); });
    status = AwaitOne(*other, value);
    queue_->Quiesce();
  });
  queue_->Quiesce();
  EXPECT_TRUE(status.ok());
}

// AV-7
TEST_P(AnyQueueTest, AV7_AwaitReturnsAtOnceIfAllIsAvailable) {
  Value value = MakeRef<ConcreteAsyncValue<int>>(ConcreteAsyncValue<int>::Available{}, 3);
  EXPECT_TRUE(AwaitOne(*queue_, value).ok());
  EXPECT_TRUE(queue_->Await({}).ok());
}

// AV-7
TEST_P(AnyQueueTest, AV7_AwaitWaitsForValuesOfOtherThreads) {
  const auto values = MakeValues(20);
  std::thread thread([&] {
    for (const Value& value : values) value->Emplace(1);
  });
  EXPECT_TRUE(queue_->Await(Pointers(values)).ok());
  for (const Value& value : values) EXPECT_TRUE(value->IsConcrete());
  thread.join();
}

// AV-7
TEST_P(AnyQueueTest, AV7_AnErrorIsAvailableToo) {
  const auto values = MakeValues(1);
  queue_->AddTask([value = values[0]] { value->SetError(InvalidArgument("expected this")); });
  EXPECT_TRUE(AwaitOne(*queue_, values[0]).ok());
  EXPECT_TRUE(values[0]->IsError());
}

// AV-7
TEST_P(AnyQueueTest, AV7_AwaitInATaskRunsTheTasksItWaitsFor) {
  Status status = Status::OutOfMemory();
  queue_->AddTask([&] {
    const auto values = MakeValues(50);
    for (const Value& value : values) queue_->AddTask([value] { value->Emplace(1); });
    status = queue_->Await(Pointers(values));
  });
  queue_->Quiesce();
  EXPECT_TRUE(status.ok());
}

// AV-7
TEST_P(AnyQueueTest, AV7_TasksMayAwaitLaterTasks) {
  // More than there are threads to take over from waiting ones, so that tasks run on top of others.
  const auto values = MakeValues(300);
  for (size_t i = 0; i < values.size(); ++i) {
    queue_->AddTask([this, &values, i] {
      if (i + 1 < values.size()) {
        EXPECT_TRUE(AwaitOne(*queue_, values[i + 1]).ok());
      }
      values[i]->Emplace(1);
    });
  }
  EXPECT_TRUE(AwaitOne(*queue_, values[0]).ok());
  queue_->Quiesce();
}

// AV-7: with several workers, a task that ran on top of the one it waits for would never end.
TEST_P(MultiThreadedQueueTest, AV7_TasksMayAwaitEarlierTasks) {
  const auto values = MakeValues(50);
  const Value start = MakeUnconstructed<int>();
  for (size_t i = 0; i < values.size(); ++i) {
    queue_->AddTask([this, &values, &start, i] {
      EXPECT_TRUE(AwaitOne(*queue_, i == 0 ? start : values[i - 1]).ok());
      values[i]->Emplace(1);
    });
  }
  queue_->AddTask([&start] { start->Emplace(1); });
  EXPECT_TRUE(AwaitOne(*queue_, values.back()).ok());
  queue_->Quiesce();
}

// AV-7
TEST_P(AnyQueueTest, AV7_ATaskMayAwaitWhatItsOwnContinuationAdded) {
  for (int round = 0; round < 100; ++round) {
    const auto values = MakeValues(3);
    EXPECT_TRUE(values[0]->AndThen([&] {
      queue_->AddTask([&] { values[1]->Emplace(1); });
      queue_->AddTask([&] { values[2]->Emplace(1); });
    }));
    queue_->AddTask([&] {
      values[0]->Emplace(1);
      EXPECT_TRUE(queue_->Await(Pointers(values)).ok());
    });
    EXPECT_TRUE(queue_->Await(Pointers(values)).ok());
    queue_->Quiesce();
  }
}

// WQ-1
TEST_P(MultiThreadedQueueTest, WQ1_WhatAContinuationAddsRunsOnAllWorkers) {
  for (int round = 0; round < 100; ++round) {
    std::latch all_started(GetParam());
    const Value value = MakeUnconstructed<int>();
    EXPECT_TRUE(value->AndThen([&] {
      for (int i = 0; i < GetParam(); ++i) queue_->AddTask([&] { all_started.arrive_and_wait(); });
    }));
    queue_->AddTask([&] { value->Emplace(1); });
    queue_->Quiesce();
  }
}

// WQ-1
TEST_P(MultiThreadedQueueTest, WQ1_TasksThatContinuationsAddLeaveRoomForOthers) {
  std::atomic<bool> stop{false};
  struct Again {
    WorkQueue& queue;
    std::atomic<bool>& stop;
    void operator()() const {
      if (stop) return;
      const Value value = MakeUnconstructed<int>();
      EXPECT_TRUE(value->AndThen([again = *this] { again.queue.AddTask(Again(again)); }));
      value->Emplace(1);
    }
  };
  for (int i = 0; i < GetParam(); ++i) queue_->AddTask(Again{*queue_, stop});
  queue_->AddTask([&] { stop = true; });
  queue_->Quiesce();
}

// AV-7
TEST_P(MultiThreadedQueueTest, AV7_ANewTaskRunsThoughAllWorkersAwait) {
  const auto values = MakeValues(GetParam());
  std::latch all_started(GetParam());
  for (const Value& value : values) {
    queue_->AddTask([this, &value, &all_started] {
      all_started.count_down();
      EXPECT_TRUE(AwaitOne(*queue_, value).ok());
    });
  }
  all_started.wait();
  for (const Value& value : values) queue_->AddTask([&value] { value->Emplace(1); });
  queue_->Quiesce();
  for (const Value& value : values) EXPECT_TRUE(value->IsConcrete());
}

// AV-7
TEST_P(AnyQueueTest, AV7_AwaitPastTheDeadlineFailsAndLeavesNothingBehind) {
  const auto values = MakeValues(2);
  values[0]->Emplace(1);
  for (const auto deadline : {steady_clock::now(), steady_clock::now() + milliseconds(2)}) {
    const Status status = queue_->Await(Pointers(values), deadline);
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  }
  values[1]->Emplace(1);
  EXPECT_TRUE(queue_->Await(Pointers(values), steady_clock::now()).ok());
}

// AV-7
TEST_P(AnyQueueTest, AV7_AwaitPastTheDeadlineFailsInATaskToo) {
  const auto values = MakeValues(1);
  StatusCode code = StatusCode::kOk;
  queue_->AddTask([&] { code = AwaitOne(*queue_, values[0], steady_clock::now() + milliseconds(2)).code(); });
  queue_->Quiesce();
  EXPECT_EQ(code, StatusCode::kDeadlineExceeded);
}

// AV-7: a value may outlive the queue in which it was awaited.
TEST_P(AnyQueueTest, AV7_AValueAwaitedInVainMayBecomeAvailableAfterTheQueue) {
  const auto values = MakeValues(1);
  EXPECT_FALSE(AwaitOne(*queue_, values[0], steady_clock::now()).ok());
  queue_.reset();
  values[0]->Emplace(1);
  EXPECT_TRUE(values[0]->IsConcrete());
}

// AV-7: with one worker at most, the second task cannot run before the first one waits.
TEST(AwaitTest, AV7_AwaitOfAValueThatIsDestroyedFails) {
  for (const bool has_worker : {false, true}) {
    const auto queue = has_worker ? CreateMultiThreadedWorkQueue(1) : CreateSingleThreadedWorkQueue();
    Status status;
    queue->AddTask([&] {
      AsyncValue* const value = MakeUnconstructed<int>().release();
      queue->AddTask([value] { value->DropRef(); });
      status = queue->Await(std::array<const AsyncValue*, 1>{value});
    });
    queue->Quiesce();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
  }
}

// AV-7
TEST_P(AnyQueueTest, AV7_AwaitWithoutMemoryForItsDeadlineStillWaits) {
  const auto values = MakeValues(1);
  std::thread thread([&] { values[0]->Emplace(1); });
  const Status status =
      WithoutMemory([&] { return AwaitOne(*queue_, values[0], steady_clock::now() + std::chrono::hours(1)); });
  thread.join();
  EXPECT_TRUE(status.ok());
}

// AV-7
TEST_P(AnyQueueTest, AV7_AwaitWithoutMemoryForItsDeadlineStillEnds) {
  const auto values = MakeValues(1);
  const Status status =
      WithoutMemory([&] { return AwaitOne(*queue_, values[0], steady_clock::now() + milliseconds(3)); });
  EXPECT_FALSE(status.ok());  // not even the error had memory
}

// WQ-1
TEST_P(AnyQueueTest, WQ1_ACallableRunsAtOnceIfThereIsNoMemoryToKeepIt) {
  bool ran = false;
  WithoutMemory([&] { queue_->AddTask([&ran] { ran = true; }); });
  EXPECT_TRUE(ran);
}

// WQ-1
TEST_P(MultiThreadedQueueTest, WQ1_BlockingTasksDoNotOccupyWorkers) {
  constexpr int kBlocking = 12;
  std::latch released(1);
  std::atomic<int> count = 0;
  std::atomic<bool> was_worker = false;
  for (int i = 0; i < kBlocking; ++i) {
    ASSERT_TRUE(queue_->AddBlockingTask([&] {
      if (queue_->IsWorkerThread()) was_worker = true;
      released.wait();
      ++count;
    }));
  }
  queue_->AddTask([&] { released.count_down(); });
  queue_->Quiesce();
  EXPECT_EQ(count, kBlocking);
  EXPECT_FALSE(was_worker);
}

// WQ-1
TEST_P(MultiThreadedQueueTest, WQ1_BlockingTasksComeInAnyNumberOneAfterTheOther) {
  std::atomic<int> count = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(queue_->AddBlockingTask([&] { ++count; }));
    queue_->Quiesce();
  }
  EXPECT_EQ(count, 400);
}

// WQ-2
TEST_P(MultiThreadedQueueTest, WQ2_DestructionWaitsForBlockingTasksAndTheTasksTheyAdd) {
  std::atomic<int> count = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue_->AddBlockingTask([&, queue = queue_.get()] {
      queue->AddTask(SpawningTask{queue, 5, &count});
      ++count;
    }));
  }
  queue_.reset();
  EXPECT_EQ(count, 4 * 64);
}

// WQ-2
TEST_P(MultiThreadedQueueTest, WQ2_QuiesceInsideABlockingTaskDoesNotWaitForItself) {
  std::atomic<int> count = 0;
  std::atomic<int> seen = -1;
  ASSERT_TRUE(queue_->AddBlockingTask([&] {
    queue_->AddTask(SpawningTask{queue_.get(), 5, &count});
    queue_->Quiesce();
    seen = count.load();
  }));
  queue_->Quiesce();
  EXPECT_EQ(seen, 63);
}

// WQ-1
TEST(SingleThreadedQueueTest, WQ1_HasNoThreadsForBlockingTasks) {
  const auto queue = CreateSingleThreadedWorkQueue();
  bool ran = false;
  EXPECT_FALSE(queue->AddBlockingTask([&] { ran = true; }));
  queue->Quiesce();
  EXPECT_FALSE(ran);
}

// WQ-1
TEST(SingleThreadedQueueTest, WQ1_RunsTasksOneByOneInTheirOrder) {
  const auto queue = CreateSingleThreadedWorkQueue();
  std::string order;
  for (char c : {'a', 'b', 'c'}) queue->AddTask([&order, c] { order += c; });
  EXPECT_EQ(order, "");
  EXPECT_TRUE(queue->RunOneTask());
  EXPECT_EQ(order, "a");
  queue->Quiesce();
  EXPECT_EQ(order, "abc");
}

// WQ-1
TEST(SingleThreadedQueueTest, WQ1_AwaitRunsATaskThatAnotherThreadAddsMeanwhile) {
  const auto queue = CreateSingleThreadedWorkQueue();
  const auto values = MakeValues(1);
  std::thread thread([&] { queue->AddTask([&values] { values[0]->Emplace(1); }); });
  EXPECT_TRUE(AwaitOne(*queue, values[0]).ok());
  thread.join();
}

// AV-7
TEST(SingleThreadedQueueTest, AV7_WhereBlockingIsForbiddenAwaitStillRunsTasks) {
  const auto queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  EXPECT_FALSE(queue->MayBlock());
  const auto values = MakeValues(1);
  queue->AddTask([&] { queue->AddTask([&] { values[0]->Emplace(1); }); });
  EXPECT_TRUE(AwaitOne(*queue, values[0]).ok());
}

// AV-7
TEST(SingleThreadedQueueTest, AV7_WhereBlockingIsForbiddenAwaitSaysWhatToDoInstead) {
  const auto queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  const auto values = MakeValues(1);
  int runs = 0;
  queue->AddTask([&] { ++runs; });
  const Status status = AwaitOne(*queue, values[0]);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("await its promise instead"), std::string_view::npos) << status.message();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(AwaitOne(*queue, values[0], steady_clock::now()).code(), StatusCode::kDeadlineExceeded);
}

// WQ-1
TEST(SingleThreadedQueueTest, WQ1_QuiesceWithoutBlockingWaitsForATaskOnAnotherThread) {
  const auto queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  std::latch started(1);
  std::latch go_on(1);
  std::atomic<bool> done = false;
  queue->AddTask([&] {
    started.count_down();
    go_on.wait();
    done = true;
  });
  std::thread thread([&] { queue->RunOneTask(); });
  started.wait();
  queue->AddTask([&] { go_on.count_down(); });
  queue->Quiesce();
  EXPECT_TRUE(done);
  thread.join();
}

// WQ-1
TEST(MultiThreadedQueueCreationTest, WQ1_TakesTheNumberOfCoresByDefault) {
  EXPECT_EQ(CreateMultiThreadedWorkQueue()->ParallelismLevel(),
            std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

}  // namespace
}  // namespace tandem
