// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EventLoopQueue: a work queue for a thread that belongs to an event loop and must never wait.

#ifndef TANDEM_BINDINGS_WASM_EVENT_LOOP_QUEUE_H_
#define TANDEM_BINDINGS_WASM_EVENT_LOOP_QUEUE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "tandem/function_ref.h"
#include "tandem/work_queue.h"

namespace tandem::js {

// Passes on to another queue, but: the thread that made it neither waits in Await nor, to make room, runs tasks in the
// middle of its own code. If the other queue has no threads, that thread runs tasks by RunFor alone.
class EventLoopQueue final : public WorkQueue {
 public:
  // `queue` has workers if `has_workers`; else `on_task` is called whenever there is a task to run.
  EventLoopQueue(std::unique_ptr<WorkQueue> queue, bool has_workers, std::function<void()> on_task)
      : queue_(std::move(queue)), has_workers_(has_workers), on_task_(std::move(on_task)) {}

  // Runs queued tasks until none is left, `time` has passed or `stop` says so after a task; false if none was left.
  // Only on the thread that made the queue.
  bool RunFor(std::chrono::duration<double, std::milli> time, FunctionRef<bool()> stop);
  bool has_workers() const { return has_workers_; }

  using WorkQueue::AddTask;
  void AddTask(Task& task) override {
    queue_->AddTask(task);
    if (!has_workers_) on_task_();
  }
  void AddHelpingTask(Task& task) override { queue_->AddHelpingTask(task); }
  bool AddBlockingTask(std::function<void()> fn) override { return queue_->AddBlockingTask(std::move(fn)); }
  bool AddBackgroundTask(std::function<void()> fn) override { return queue_->AddBackgroundTask(std::move(fn)); }
  Status Await(std::span<const AsyncValue* const> values, Deadline deadline) override;
  void Quiesce() override { queue_->Quiesce(); }
  bool RunOneTask() override { return MayBlock() && queue_->RunOneTask(); }
  bool HelpWith(const AsyncValue& value, Deadline until) override { return queue_->HelpWith(value, until); }
  int ParallelismLevel() const override { return queue_->ParallelismLevel(); }
  bool HasReadyHelper() const override { return queue_->HasReadyHelper(); }
  bool RequestHelper() override { return queue_->RequestHelper(); }
  void ReportLateHelper() override { queue_->ReportLateHelper(); }
  bool IsBeingCalled() const override { return queue_->IsBeingCalled(); }
  bool IsWorkerThread() const override { return queue_->IsWorkerThread(); }
  bool MayBlock() const override { return std::this_thread::get_id() != loop_thread_; }

 private:
  const std::unique_ptr<WorkQueue> queue_;
  const bool has_workers_;
  const std::function<void()> on_task_;
  const std::thread::id loop_thread_ = std::this_thread::get_id();
};

}  // namespace tandem::js

#endif  // TANDEM_BINDINGS_WASM_EVENT_LOOP_QUEUE_H_
