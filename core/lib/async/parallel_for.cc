// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Splitting a range into chunks that the caller and helping tasks claim one by one, smaller and smaller ones: guided
// self-scheduling after Polychronopoulos and Kuck (1987).

#include "tandem/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>

#include "async/call_for_help.h"
#include "async/waiting.h"
#include "base/this_thread.h"
#include "tandem/kernel_run.h"
#include "tandem/ref_counted.h"

namespace tandem {

namespace {

// A chunk is so much of a thread's fair share of what is left: large ones first, which keep each thread's memory
// together, and small ones in the end, which even out unequal threads.
constexpr int kChunksOfShare = 2;
// As finely as a range is divided.
constexpr int64_t kUnitsPerThread = 64;

// Grains of work after which a thread asks whether to go on: less than a millisecond, and some milliseconds where they
// are larger than they should be.
constexpr int64_t kGrainsAPoll = 16;

// The whole range on the calling thread.
bool RunInline(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) {
  return InSteps(n, grain > INT64_MAX / kGrainsAPoll ? INT64_MAX : grain * kGrainsAPoll, fn);
}

// One call of ParallelFor. It is its own helping task: each helper adds the next one before it starts to work, so the
// caller pays for one only, and none is added when there is nothing left to do.
class ParallelRange final : public Task, public RefCounted<ParallelRange> {
 public:
  ParallelRange(WorkQueue& queue, int64_t n, int64_t grain, int64_t unit, int num_units, int num_threads,
                FunctionRef<void(int64_t, int64_t)> fn)
      : queue_(queue),
        run_(internal::this_thread.run),
        n_(n),
        grain_(grain),
        unit_(unit),
        num_units_(num_units),
        num_threads_(num_threads),
        helpers_to_add_(std::min(num_threads, num_units) - 1),
        fn_(fn) {}

  // The caller's part: returns when all chunks are done, or left out. Helpers that come later find nothing to do.
  bool RunAll() {
    AddHelper();
    if (!Work()) AwaitHelpers();
    return !was_stopped_.load(std::memory_order_relaxed);
  }

  void Run() override {
    has_help_.store(true, std::memory_order_relaxed);
    AddHelper();
    if (Work()) {
      std::lock_guard lock(mutex_);
      all_done_.notify_one();
    }
    DropRef();
  }

 private:
  void AwaitHelpers() {
    // What is still running is one chunk per helper: often done before this thread could fall asleep.
    internal::SpinWait wait;
    do {
      if (num_done_.load(std::memory_order_acquire) == num_units_) return;
    } while (wait.Pause());
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return num_done_.load(std::memory_order_acquire) == num_units_; });
  }

  // One thread at a time: the caller, then each helper before the next one exists.
  void AddHelper() {
    if (helpers_to_add_ == 0 || next_.load(std::memory_order_relaxed) >= num_units_) return;
    --helpers_to_add_;
    AddRef();
    queue_.AddHelpingTask(*this);
  }

  // True if the last chunk to end was done here. Leaves `fn_` alone when all chunks are taken: it may be gone.
  bool Work() {
    int done = 0;
    for (int begin = next_.load(std::memory_order_relaxed); begin < num_units_;) {
      const int count = std::max(1, (num_units_ - begin) / (kChunksOfShare * num_threads_));
      if (!next_.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed)) continue;
      // Until a chunk is taken the kernel may have ended, and its run be gone.
      const internal::RunScope scope(run_);
      if (!RunChunk(begin * unit_, count * unit_)) was_stopped_.store(true, std::memory_order_relaxed);
      done += count;
      begin = next_.load(std::memory_order_relaxed);
    }
    return done > 0 && num_done_.fetch_add(done, std::memory_order_acq_rel) + done == num_units_;
  }

  bool RunChunk(int64_t begin, int64_t size) {
    return RunInline(std::min(size, n_ - begin), grain_, [&](int64_t first, int64_t last) {
      if (!has_help_.load(std::memory_order_relaxed)) internal::CallForHelp();
      fn_(begin + first, begin + last);
    });
  }

  WorkQueue& queue_;
  KernelRun* const run_;  // of the kernel whose work this is; null if it is no kernel's
  const int64_t n_;
  const int64_t grain_;
  const int64_t unit_;
  const int num_units_;
  const int num_threads_;
  int helpers_to_add_;
  const FunctionRef<void(int64_t, int64_t)> fn_;
  std::atomic<int> next_{0};      // unit to be taken
  std::atomic<int> num_done_{0};  // units
  std::atomic<bool> has_help_{false};
  std::atomic<bool> was_stopped_{false};
  std::mutex mutex_;
  std::condition_variable all_done_;
};

}  // namespace

bool ParallelFor(WorkQueue& queue, int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> fn) {
  if (n <= 0) return true;
  grain = std::max<int64_t>(grain, 1);
  const int num_threads = queue.ParallelismLevel();
  if (n <= grain || num_threads == 1) return RunInline(n, grain, fn);

  const int64_t num_grains = n / grain + (n % grain != 0);
  const int64_t max_units = num_threads * kUnitsPerThread;
  const int64_t grains_per_unit = num_grains / max_units + (num_grains % max_units != 0);
  const int num_units = static_cast<int>(num_grains / grains_per_unit + (num_grains % grains_per_unit != 0));
  auto range = MakeRef<ParallelRange>(queue, n, grain, grains_per_unit * grain, num_units, num_threads, fn);
  return range ? range->RunAll() : RunInline(n, grain, fn);
}

}  // namespace tandem
