// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Watching deadlines in order.

#include "execute/deadline_watcher.h"

namespace tandem {

DeadlineWatcher::~DeadlineWatcher() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !watching_; });
}

void DeadlineWatcher::Watch(RequestContext& request) {
  const std::lock_guard lock(mutex_);
  // From the back, since later requests tend to have later deadlines.
  RequestContext* earlier = last_;
  while (earlier != nullptr && earlier->deadline() > request.deadline()) earlier = earlier->earlier_;
  RequestContext* later = earlier == nullptr ? first_ : earlier->later_;
  request.earlier_ = earlier;
  request.later_ = later;
  (earlier == nullptr ? first_ : earlier->later_) = &request;
  (later == nullptr ? last_ : later->earlier_) = &request;
  request.is_watched_ = true;
  changed_.notify_all();
  if (!watching_) watching_ = queue_.AddBackgroundTask([this] { Loop(); });
}

void DeadlineWatcher::UnlinkLocked(RequestContext& request) {
  (request.earlier_ == nullptr ? first_ : request.earlier_->later_) = request.later_;
  (request.later_ == nullptr ? last_ : request.later_->earlier_) = request.earlier_;
  request.is_watched_ = false;
}

void DeadlineWatcher::Forget(RequestContext& request) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return checking_ != &request || checker_ == std::this_thread::get_id(); });
  if (!request.is_watched_) return;
  UnlinkLocked(request);
  changed_.notify_all();
}

// One thread at a time; for another one this does nothing.
void DeadlineWatcher::CheckExpired(std::unique_lock<std::mutex>& lock) {
  while (checking_ == nullptr && first_ != nullptr && first_->deadline() <= Clock::now()) {
    checking_ = first_;
    checker_ = std::this_thread::get_id();
    UnlinkLocked(*first_);
    lock.unlock();
    static_cast<void>(checking_->CheckActive());  // ends the request, which cancels its ops
    lock.lock();
    checking_ = nullptr;
    changed_.notify_all();
  }
}

DeadlineWatcher::Clock::time_point DeadlineWatcher::CheckNow() {
  std::unique_lock lock(mutex_);
  CheckExpired(lock);
  return watching_ || first_ == nullptr ? Clock::time_point::max() : first_->deadline();
}

void DeadlineWatcher::Loop() {
  std::unique_lock lock(mutex_);
  while (!stop_ && first_ != nullptr) {
    if (checking_ != nullptr) {
      changed_.wait(lock);
    } else if (const Clock::time_point next = first_->deadline(); Clock::now() < next) {
      changed_.wait_until(lock, next);
    } else {
      CheckExpired(lock);
    }
  }
  watching_ = false;
  changed_.notify_all();
}

}  // namespace tandem
