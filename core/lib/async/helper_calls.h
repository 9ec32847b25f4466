// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// When a thread is woken to help with kernels that are too short to wake one each, and whether helpers are to be
// counted on.

#ifndef TANDEM_CORE_LIB_ASYNC_HELPER_CALLS_H_
#define TANDEM_CORE_LIB_ASYNC_HELPER_CALLS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tandem::internal {

// Times are in nanoseconds of one clock, and after its zero. Thread-safe; what threads tell at the same moment may be
// lost, which costs time only.
class HelperCalls {
 public:
  // Kernels that ask for a helper at such intervals at most are a stream of them, of which so many have to ask before
  // one is woken: twice as many each time that one was woken in vain.
  static constexpr int64_t kRequestInterval = 100'000;
  static constexpr int kMinRequests = 2;
  static constexpr int kMaxRequests = 256;
  // Within which one that was woken looks for a task, or its call was lost among others.
  static constexpr int64_t kWakeTime = 1'000'000;
  // For so long nobody counts on a helper after one was late, and for twice as long each time that one is late again
  // soon: where a core is shared with other programs, each has it for some milliseconds.
  static constexpr int64_t kMinLateTime = 200'000;
  static constexpr int64_t kMaxLateTime = 50'000'000;
  static constexpr int64_t kSoon = 3'000'000;

  // A kernel asks for a helper where there is none. Whether one is to be woken; then EndCall follows.
  bool Request(int64_t now) {
    const int64_t called_at = called_at_.load(std::memory_order_relaxed);
    if (called_at != 0 && now - called_at < kWakeTime) return false;
    const int64_t before = last_request_.exchange(now, std::memory_order_relaxed);
    if (now - before > kRequestInterval) requests_.store(0, std::memory_order_relaxed);
    const int requests = requests_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (requests < wanted_requests_.load(std::memory_order_relaxed)) return false;
    requests_.store(0, std::memory_order_relaxed);
    called_at_.store(now, std::memory_order_relaxed);
    return true;
  }
  // Nobody could be woken.
  void TakeBack() { called_at_.store(0, std::memory_order_relaxed); }
  // A thread that looks for tasks, perhaps the one that was woken, has found one or is about to sleep again.
  void EndCall(bool has_found) {
    if (called_at_.load(std::memory_order_relaxed) == 0) return;
    const int wanted = has_found ? kMinRequests : 2 * wanted_requests_.load(std::memory_order_relaxed);
    wanted_requests_.store(std::min(wanted, kMaxRequests), std::memory_order_relaxed);
    TakeBack();
  }

  void ReportLate(int64_t now) {
    const bool is_again = was_ever_late() && now - late_until_.load(std::memory_order_relaxed) < kSoon;
    const int64_t before = is_again ? late_time_.load(std::memory_order_relaxed) : 0;
    const int64_t time = std::clamp(2 * before, kMinLateTime, kMaxLateTime);
    late_time_.store(time, std::memory_order_relaxed);
    late_until_.store(now + time, std::memory_order_relaxed);
  }
  // Most programs need not look at the clock for AreLate.
  bool was_ever_late() const { return late_until_.load(std::memory_order_relaxed) != 0; }
  bool AreLate(int64_t now) const { return now < late_until_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> last_request_{0};
  std::atomic<int> requests_{0};  // since one was woken, or there was none for a while
  std::atomic<int> wanted_requests_{kMinRequests};
  std::atomic<int64_t> called_at_{0};  // 0 if no call is under way
  std::atomic<int64_t> late_until_{0};
  std::atomic<int64_t> late_time_{0};  // the last one
};

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_ASYNC_HELPER_CALLS_H_
