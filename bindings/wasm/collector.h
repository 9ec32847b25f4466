// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Collector: asks for a garbage collection when memory is short, and holds back what needs memory until it is over.

#ifndef TANDEM_BINDINGS_WASM_COLLECTOR_H_
#define TANDEM_BINDINGS_WASM_COLLECTOR_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "tandem/host_context.h"

namespace tandem::js {

// Thread-safe. The allocator's limit is the lower of the user's and a threshold. What goes beyond the threshold makes
// memory short: a collection is asked for, calls are queued whatever they cost, and
// - workers wait in the allocation for the collection, then try again if it has helped;
// - the thread that made the collector, which must not wait, goes on up to the user's limit, but begins no queued op;
//   workers go on likewise while it helps, since it may wait for them.
class Collector {
 public:
  // `collect` is called when memory becomes short, on any thread.
  Collector(size_t limit, bool has_workers, std::function<void()> collect);

  // Sets what the host needs to call this; `Attach` must follow when it is made.
  void AddTo(HostContext::Options& options);
  void Attach(HostContext& host);

  bool IsShort() const { return is_short_.load(std::memory_order_relaxed); }
  // While there is one that may, that thread helps with what is queued.
  class HelpScope {
   public:
    explicit HelpScope(Collector& collector) : collector_(collector), may_help_(collector.SetHelping(true)) {}
    ~HelpScope() { collector_.SetHelping(false); }
    HelpScope(const HelpScope&) = delete;
    HelpScope& operator=(const HelpScope&) = delete;
    bool may_help() const { return may_help_; }

   private:
    Collector& collector_;
    const bool may_help_;
  };

  // The collection is over; the next one is asked for beyond `threshold` bytes in use.
  void Collected(size_t threshold);
  // Lets allocations fail that wait.
  void Cancel();
  // From now on none waits.
  void Close();

  size_t limit() const { return limit_; }
  size_t threshold();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kFirstThreshold = size_t{256} << 20;

  // False where it must not help.
  bool SetHelping(bool is_helping);
  bool OnShortage(size_t size);
  bool MayBegin(int64_t bytes);
  void BecomeShort(std::unique_lock<std::mutex>& lock);
  bool IsFruitlessLocked(size_t in_use) const;
  size_t BytesInUse() const { return host_->allocator().stats().bytes_in_use; }

  const bool has_workers_;
  const std::function<void()> collect_;
  const size_t limit_;  // the user's
  const std::thread::id loop_thread_ = std::this_thread::get_id();
  HostContext* host_ = nullptr;
  int64_t usual_cost_limit_ = 0;

  std::atomic<bool> is_short_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex.
  size_t threshold_ = kFirstThreshold;  // as told by Collected
  size_t allowed_;                      // the allocator's
  size_t wanted_ = 0;                   // by those that wait
  size_t in_use_when_short_ = 0;        // when the last collection was asked for
  size_t left_in_use_ = 0;              // after it
  Clock::time_point short_since_{};
  Clock::time_point fruitless_until_{};
  uint64_t num_collections_ = 0;
  uint64_t num_cancels_ = 0;
  bool begins_one_ = false;
  bool is_helping_ = false;
  bool is_closed_ = false;
};

}  // namespace tandem::js

#endif  // TANDEM_BINDINGS_WASM_COLLECTOR_H_
