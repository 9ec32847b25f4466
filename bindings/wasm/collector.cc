// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// When memory counts as short, who waits for it, and who may go on.

#include "collector.h"

#include <algorithm>
#include <utility>

#include "event_loop_queue.h"

namespace tandem::js {

namespace {

// What is as small as an op on axes or sizes runs at once even then: it takes less memory than to keep it waiting, and
// shapes depend on it.
constexpr int64_t kCostWhenShort = 64;

// Without overflow.
size_t Sum(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

}  // namespace

Collector::Collector(size_t limit, bool has_workers, std::function<void()> collect)
    : has_workers_(has_workers),
      collect_(std::move(collect)),
      limit_(limit),
      allowed_(std::min(limit, kFirstThreshold)) {}

void Collector::AddTo(HostContext::Options& options) {
  options.allocator.memory_limit = allowed_;
  options.allocator.on_shortage = [this](size_t size) { return OnShortage(size); };
  options.may_begin = [this](int64_t bytes) { return MayBegin(bytes); };
}

void Collector::Attach(HostContext& host) {
  host_ = &host;
  usual_cost_limit_ = host.inline_cost_limit();
}

void Collector::BecomeShort(std::unique_lock<std::mutex>& lock) {
  if (is_short_.exchange(true)) return;
  short_since_ = Clock::now();
  in_use_when_short_ = BytesInUse();
  host_->set_inline_cost_limit(kCostWhenShort);
  lock.unlock();
  collect_();
  lock.lock();
}

bool Collector::OnShortage(size_t size) {
  std::unique_lock lock(mutex_);
  const size_t allowed_before = allowed_;
  if (!kHasThreads || !has_workers_ || is_helping_ || std::this_thread::get_id() == loop_thread_) {
    BecomeShort(lock);
    allowed_ = limit_;
    host_->allocator().set_memory_limit(allowed_);
    return allowed_ > allowed_before;
  }
  const size_t in_use_before = BytesInUse();
  // A collection may have ended after the allocation failed and before it came here. Tried again once for each, since
  // it may as well be the system that has no memory.
  static thread_local std::pair<const Collector*, uint64_t> tried_again;
  const std::pair<const Collector*, uint64_t> this_time(this, num_collections_);
  if (Sum(in_use_before, size) <= allowed_ && tried_again != this_time) {
    tried_again = this_time;
    return true;
  }
  if (is_closed_ || IsFruitlessLocked(in_use_before)) return false;
  const uint64_t collections_before = num_collections_;
  const uint64_t cancels_before = num_cancels_;
  wanted_ = Sum(wanted_, size);
  BecomeShort(lock);
  changed_.wait(lock,
                [&] { return num_collections_ != collections_before || num_cancels_ != cancels_before || is_closed_; });
  wanted_ -= std::min(wanted_, size);
  if (num_collections_ == collections_before) return false;
  return allowed_ > allowed_before || left_in_use_ < in_use_before;
}

bool Collector::SetHelping(bool is_helping) {
  const bool may = is_helping && !IsShort();
  if (!kHasThreads) return may;
  const std::lock_guard lock(mutex_);
  return is_helping_ = may;
}

// Where there is one thread, an op that may need more than is left waits in the queue rather than fails; after a
// collection one begins in any case. With workers the thread of the event loop leaves it to one of these, which can
// wait.
bool Collector::MayBegin(int64_t bytes) {
  if (kHasThreads && has_workers_ && std::this_thread::get_id() != loop_thread_) return true;
  if (IsShort()) return false;
  const size_t in_use = BytesInUse();
  std::unique_lock lock(mutex_);
  if (kHasThreads && has_workers_) return Sum(in_use, static_cast<size_t>(bytes)) <= allowed_;
  const bool is_first = std::exchange(begins_one_, false);
  if (is_first || Sum(in_use, static_cast<size_t>(bytes)) <= allowed_ || IsFruitlessLocked(in_use)) return true;
  BecomeShort(lock);
  return false;
}

// When all is in use, every op would ask for a collection in vain: no more than a third of the time is spent with that.
bool Collector::IsFruitlessLocked(size_t in_use) const {
  return allowed_ == limit_ && in_use <= left_in_use_ && Clock::now() < fruitless_until_;
}

void Collector::Collected(size_t threshold) {
  const std::lock_guard lock(mutex_);
  left_in_use_ = BytesInUse();
  if (IsShort()) {
    const Clock::time_point now = Clock::now();
    begins_one_ = true;
    fruitless_until_ = left_in_use_ < in_use_when_short_ ? now : now + 2 * (now - short_since_);
  }
  ++num_collections_;
  // What waits goes on in any case, up to the user's limit.
  threshold_ = threshold;
  allowed_ = std::min(limit_, std::max(threshold_, Sum(left_in_use_, wanted_)));
  host_->allocator().set_memory_limit(allowed_);
  is_short_.store(false);
  host_->set_inline_cost_limit(usual_cost_limit_);
  changed_.notify_all();
}

void Collector::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

void Collector::Cancel() {
  const std::lock_guard lock(mutex_);
  ++num_cancels_;
  changed_.notify_all();
}

size_t Collector::threshold() {
  const std::lock_guard lock(mutex_);
  return threshold_;
}

}  // namespace tandem::js
