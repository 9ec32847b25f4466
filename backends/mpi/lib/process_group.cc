// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The thread of the process group, which alone calls MPI, from its start to its end.

#include "process_group.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>

#include "collectives.h"

namespace tandem::mpi {

ProcessGroup& ProcessGroup::Get() {
  // Never destroyed: its thread, and messages that still come, may outlive what runs when the process exits.
  static ProcessGroup& group = *new ProcessGroup;
  return group;
}

Failure ProcessGroup::Join(int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  longest_timeout_ms_ = std::max(longest_timeout_ms_, timeout_ms);
  if (state_ == State::kNone) {
    if (std::atexit(&ProcessGroup::EndOfProcess) != 0 || pthread_create(&thread_, nullptr, &Main, this) != 0) {
      return Fail(TANDEM_RESOURCE_EXHAUSTED, "expected a thread for MPI, got none");
    }
    state_ = State::kStarting;
  }
  const auto is_started = [&] { return state_ != State::kStarting; };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  if (!changed_.wait_until(lock, deadline, is_started)) {
    return Fail(TANDEM_DEADLINE_EXCEEDED, "expected MPI to start and find all processes within %lld ms, it has not yet",
                static_cast<long long>(timeout_ms));
  }
  if (state_ == State::kReady || !start_failure_.ok()) return start_failure_;
  return Fail(TANDEM_FAILED_PRECONDITION, "expected MPI to be running, the process has ended it");
}

bool ProcessGroup::Add(Job* job) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kReady || is_ending_) return false;
  (first_ == nullptr ? first_ : last_->next_) = job;
  last_ = job;
  changed_.notify_all();
  return true;
}

void* ProcessGroup::Main(void* group) {
  auto& self = *static_cast<ProcessGroup*>(group);
  const Failure failure = self.link_.Start();
  {
    const std::lock_guard lock(self.mutex_);
    self.start_failure_ = failure;
  }
  if (failure.ok()) {
    self.SetState(State::kReady);
    self.Loop();
  }
  self.SetState(State::kEnded);
  return nullptr;
}

void ProcessGroup::SetState(State state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  changed_.notify_all();
}

void ProcessGroup::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return first_ != nullptr || is_ending_; });
    Job* const job = first_;
    if (job == nullptr) break;
    first_ = job->next_;
    lock.unlock();
    job->Run(link_);
    delete job;
    lock.lock();
  }
  lock.unlock();
  // MPI is ended only by all processes together, and would wait for those that are not there any more.
  const bool all_there = link_.Begin(link_.timeout_ms(), Cancellation()).ok() && Agree(link_, Announcement()).ok();
  if (all_there) link_.End();
}

void ProcessGroup::EndOfProcess() {
  ProcessGroup& self = Get();
  std::unique_lock lock(self.mutex_);
  if (self.state_ == State::kNone) return;
  self.is_ending_ = true;
  self.changed_.notify_all();
  // A call that still runs ends within its time, and so does the farewell; the rest is if MPI itself hangs.
  const auto deadline = std::chrono::steady_clock::now() + 2 * std::chrono::milliseconds(self.longest_timeout_ms_) +
                        std::chrono::seconds(5);
  const bool has_ended = self.changed_.wait_until(lock, deadline, [&] { return self.state_ == State::kEnded; });
  lock.unlock();
  has_ended ? pthread_join(self.thread_, nullptr) : pthread_detach(self.thread_);
}

}  // namespace tandem::mpi
