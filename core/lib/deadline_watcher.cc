// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Watching deadlines in order.

#include "deadline_watcher.h"

namespace tandem {

DeadlineWatcher::~DeadlineWatcher() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !watching_; });
}

void DeadlineWatcher::Watch(RequestContext& request) {
  const std::lock_guard lock(mutex_);
  deadlines_.emplace(request.deadline(), &request);
  changed_.notify_all();
  if (!watching_) watching_ = queue_.AddBlockingTask([this] { Loop(); });
}

void DeadlineWatcher::Forget(RequestContext& request) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return checking_ != &request || checker_ == std::this_thread::get_id(); });
  const auto [begin, end] = deadlines_.equal_range(request.deadline());
  for (auto it = begin; it != end; ++it) {
    if (it->second != &request) continue;
    deadlines_.erase(it);
    return;
  }
}

void DeadlineWatcher::CheckExpired(std::unique_lock<std::mutex>& lock) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= Clock::now() && checking_ == nullptr) {
    checking_ = deadlines_.begin()->second;
    checker_ = std::this_thread::get_id();
    deadlines_.erase(deadlines_.begin());
    lock.unlock();
    static_cast<void>(checking_->CheckActive());  // ends the request, which cancels its ops
    lock.lock();
    checking_ = nullptr;
    changed_.notify_all();
  }
}

void DeadlineWatcher::CheckNow() {
  std::unique_lock lock(mutex_);
  CheckExpired(lock);
}

void DeadlineWatcher::Loop() {
  std::unique_lock lock(mutex_);
  while (!stop_ && !deadlines_.empty()) {
    const Clock::time_point next = deadlines_.begin()->first;
    if (next <= Clock::now()) {
      CheckExpired(lock);
    } else {
      changed_.wait_until(lock, next);
    }
  }
  watching_ = false;
  changed_.notify_all();
}

}  // namespace tandem
