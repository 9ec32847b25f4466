// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelRun: one run of a kernel, whether anybody still wants its results (CA-4), and whether they must be the same
// bits on every machine (NU-3).

#ifndef TANDEM_KERNEL_RUN_H_
#define TANDEM_KERNEL_RUN_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/status.h"

namespace tandem {

class HostAllocator;

// Made by who runs a kernel, on the thread that runs it and for the time that it takes. ParallelFor makes it known to
// the threads that help. What a kernel gives is discarded once its run was stopped.
class TANDEM_EXPORT KernelRun {
 public:
  // `exec` outlives the run.
  explicit KernelRun(const ExecutionContext& exec);
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  // Whether the kernel that this thread works for should end: its host or request was cancelled, or a deadline has
  // passed. No outside of kernels. From the first yes on it is yes for every thread of the run, and the kernel may
  // leave its results as they are. Some nanoseconds, with a deadline some tens: to be asked about every millisecond of
  // work. ParallelFor asks by itself; other long loops ask.
  static bool IsStopped();
  // The same as an error, whose text nobody will see.
  static Status CheckWanted() { return IsStopped() ? Status::Error(StatusCode::kCancelled, "stopped") : Status(); }

  // Whether the kernel that this thread works for must give the bits that every CPU target gives (exact mode, see
  // HostContext::Options). No outside of kernels. About a nanosecond, and less where no host is exact.
  static bool IsExact() { return num_exact_hosts_.load(std::memory_order_relaxed) != 0 && IsOfExactHost(); }

  // Where the kernel that this thread works for finds memory to work in; null outside of kernels. Not for results.
  static HostAllocator* Allocator();

  // Whether IsStopped said yes to one of the run's threads.
  bool was_stopped() const { return stopped_.load(std::memory_order_relaxed); }
  // Why; an error in any case.
  Status Reason() const;

 private:
  friend class HostContext;  // counts the exact ones

  static bool IsOfExactHost();
  bool Poll();

  static std::atomic<int> num_exact_hosts_;

  const ExecutionContext& exec_;
  KernelRun* const before_;
  const uint32_t epoch_;
  std::atomic<bool> stopped_{false};
};

// For a loop whose steps are small or uneven: asks each time that so much work was done, in the loop's own units.
class StopPoll {
 public:
  explicit StopPoll(int64_t interval) : interval_(interval), left_(interval) {}

  // Counts work that was done, or is about to be; true if the loop should end, and from then on each time, so that the
  // loops around it end as well.
  bool Stops(int64_t work = 1) {
    left_ -= work;
    if (left_ > 0) [[likely]]
      return false;
    const bool is_stopped = KernelRun::IsStopped();
    left_ = is_stopped ? 0 : interval_;
    return is_stopped;
  }

 private:
  const int64_t interval_;
  int64_t left_;
};

// Calls fn(begin, end) for ranges that together are [0, n), `step` each or less, until the kernel is to end; false if
// it was. For loops that are not shared out among threads; a step should be at most a millisecond of work.
template <typename Fn>
bool InSteps(int64_t n, int64_t step, Fn&& fn) {
  for (int64_t begin = 0; begin < n;) {
    if (KernelRun::IsStopped()) return false;
    const int64_t end = begin + std::min(step, n - begin);
    fn(begin, end);
    begin = end;
  }
  return true;
}

}  // namespace tandem

#endif  // TANDEM_KERNEL_RUN_H_
