// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A single-threaded work queue, of which tests say otherwise what they want.

#ifndef TANDEM_TESTS_UNIT_FORWARDING_QUEUE_H_
#define TANDEM_TESTS_UNIT_FORWARDING_QUEUE_H_

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "tandem/work_queue.h"

namespace tandem {

class ForwardingQueue : public WorkQueue {
 public:
  using WorkQueue::AddTask;
  void AddTask(Task& task) override { queue_->AddTask(task); }
  bool AddBlockingTask(std::function<void()> fn) override { return queue_->AddBlockingTask(std::move(fn)); }
  Status Await(std::span<const AsyncValue* const> values, Deadline deadline) override {
    return queue_->Await(values, deadline);
  }
  void Quiesce() override { queue_->Quiesce(); }
  bool RunOneTask() override { return queue_->RunOneTask(); }
  bool HelpWith(const AsyncValue& value, Deadline until) override { return queue_->HelpWith(value, until); }
  int ParallelismLevel() const override { return queue_->ParallelismLevel(); }
  bool IsWorkerThread() const override { return queue_->IsWorkerThread(); }
  bool MayBlock() const override { return queue_->MayBlock(); }

 private:
  const std::unique_ptr<WorkQueue> queue_ = CreateSingleThreadedWorkQueue();
};

// Says that it has two threads, of which one may be looking for tasks.
class HelpedQueue final : public ForwardingQueue {
 public:
  using WorkQueue::AddTask;
  void AddTask(Task& task) override {
    ++num_tasks_;
    ForwardingQueue::AddTask(task);
  }
  int ParallelismLevel() const override { return 2; }
  bool HasReadyHelper() const override { return is_helper_ready_; }
  bool MayBlock() const override { return may_block_; }

  void set_helper_ready(bool is_ready) { is_helper_ready_ = is_ready; }
  void set_may_block(bool may_block) { may_block_ = may_block; }
  // Since it was asked last.
  int TakeNumTasks() { return std::exchange(num_tasks_, 0); }

 private:
  bool is_helper_ready_ = false;
  bool may_block_ = true;
  int num_tasks_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_FORWARDING_QUEUE_H_
