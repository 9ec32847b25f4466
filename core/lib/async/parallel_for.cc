// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Splitting a range into a part for each thread, from which the caller and helping tasks claim chunks one by one,
// smaller and smaller ones: guided self-scheduling after Polychronopoulos and Kuck (1987). A thread takes the same part
// of each range as far as it can, since what the last kernel wrote there is in the caches of its core, and then the
// ends of others'.

#include "tandem/parallel_for.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
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

// A chunk is one of so many that what is left of a part would be: large ones first, which keep each thread's memory
// together, and small ones in the end, which even out unequal threads.
constexpr uint32_t kChunksOfPart = 2;
// With more threads, some have a part together.
constexpr int kMaxParts = 16;
// As finely as a range is divided.
constexpr int64_t kUnitsPerThread = 64;

// Grains of work after which a thread asks whether to go on: less than a millisecond, and some milliseconds where they
// are larger than they should be.
constexpr int64_t kGrainsAPoll = 16;
// And as long as it has no help, which may be free by now.
constexpr int64_t kGrainsACall = 4;
// Where the caller's part takes less, the last chunk of another is no reason to wait as long as a SpinWait does.
constexpr std::chrono::microseconds kShortRange{250};
// Of some ten microseconds each.
constexpr int64_t kGrainsOfShortKernel = kShortCost / 16'000;

// The whole range on the calling thread.
bool RunInline(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn, int64_t grains_a_step = kGrainsAPoll) {
  return InSteps(n, grain > INT64_MAX / grains_a_step ? INT64_MAX : grain * grains_a_step, fn);
}

// ThisThread::place before there was a range: those of any two threads that follow each other are far apart.
uint32_t FirstPlace() {
  constexpr uint32_t kGoldenRatio = 0x9E37;  // of 2^16
  static constinit std::atomic<uint32_t> num_threads{0};
  return ((num_threads.fetch_add(1, std::memory_order_relaxed) + 1) * kGoldenRatio) & 0xFFFF;
}

// One call of ParallelFor. It is its own helping task: each helper adds the next one before it starts to work, so the
// caller pays for one only, and none is added when there is nothing left to do.
class ParallelRange final : public Task, public RefCounted<ParallelRange> {
 public:
  ParallelRange(WorkQueue& queue, int64_t n, int64_t grain, int64_t unit, int num_units, int num_threads, bool is_short,
                FunctionRef<void(int64_t, int64_t)> fn)
      : queue_(queue),
        run_(internal::this_thread.run),
        n_(n),
        grain_(grain),
        unit_(unit),
        num_units_(num_units),
        num_parts_(std::min({num_threads, num_units, kMaxParts})),
        helpers_to_add_(std::min(num_threads, num_units) - 1),
        fn_(fn) {
    set_short(is_short);
    for (int i = 0; i < num_parts_; ++i) {
      const auto first = [&](int part) { return static_cast<uint32_t>(int64_t{num_units} * part / num_parts_); };
      parts_[static_cast<size_t>(i)].store(Pack(first(i), first(i + 1)), std::memory_order_relaxed);
    }
  }

  // The caller's part: returns when all chunks are done, or left out. Helpers that come later find nothing to do.
  bool RunAll() {
    const Clock::time_point start = Clock::now();
    AddHelper();
    if (!Work()) AwaitHelpers(start);
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
  using Clock = std::chrono::steady_clock;

  void AwaitHelpers(Clock::time_point start) {
    // What is still running is one chunk per helper: often done before this thread could fall asleep.
    internal::SpinWait wait;
    do {
      if (num_done_.load(std::memory_order_acquire) == num_units_) return;
    } while (wait.Pause());
    if (Clock::now() - start < kShortRange) queue_.ReportLateHelper();
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return num_done_.load(std::memory_order_acquire) == num_units_; });
  }

  // One thread at a time: the caller, then each helper before the next one exists.
  void AddHelper() {
    if (helpers_to_add_ == 0 || !IsAnyLeft()) return;
    --helpers_to_add_;
    AddRef();
    queue_.AddHelpingTask(*this);
  }

  // True if the last chunk to end was done here. Leaves `fn_` alone when all chunks are taken: it may be gone.
  bool Work() {
    int done = 0;
    const int own_part = ChoosePart();
    for (Units units; Take(own_part, units);) {
      // Until a chunk is taken the kernel may have ended, and its run be gone.
      const internal::RunScope scope(run_);
      if (!RunChunk(units.begin * unit_, units.count * unit_)) was_stopped_.store(true, std::memory_order_relaxed);
      done += static_cast<int>(units.count);
    }
    return done > 0 && num_done_.fetch_add(done, std::memory_order_acq_rel) + done == num_units_;
  }

  struct Units {
    int64_t begin;
    int64_t count;
  };

  // The units [begin, end) that are left of a part.
  static constexpr uint64_t Pack(uint32_t begin, uint32_t end) { return uint64_t{end} << 32 | begin; }
  static constexpr uint32_t BeginOf(uint64_t part) { return static_cast<uint32_t>(part); }
  static constexpr uint32_t EndOf(uint64_t part) { return static_cast<uint32_t>(part >> 32); }

  bool IsAnyLeft() const {
    for (int i = 0; i < num_parts_; ++i) {
      const uint64_t left = parts_[static_cast<size_t>(i)].load(std::memory_order_relaxed);
      if (BeginOf(left) < EndOf(left)) return true;
    }
    return false;
  }

  // The part that this thread had of the range before, unless another thread has that one of this range.
  int ChoosePart() {
    uint32_t& place = internal::this_thread.place;
    if (place == 0) place = FirstPlace();
    const auto num_parts = static_cast<uint32_t>(num_parts_);
    const uint32_t usual = place * num_parts >> 16;
    for (uint32_t i = 0; i < num_parts; ++i) {
      const uint32_t part = (usual + i) % num_parts;
      const uint32_t bit = uint32_t{1} << part;
      if ((taken_parts_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) continue;
      place = (2 * part + 1) * (uint32_t{1} << 15) / num_parts;
      return static_cast<int>(part);
    }
    return static_cast<int>(usual);
  }

  // Some units of that part, or else the last ones of another.
  bool Take(int own_part, Units& units) {
    for (int i = 0; i < num_parts_; ++i) {
      if (TakeOf(parts_[static_cast<size_t>((own_part + i) % num_parts_)], i == 0, units)) return true;
    }
    return false;
  }

  static bool TakeOf(std::atomic<uint64_t>& part, bool is_own, Units& units) {
    uint64_t left = part.load(std::memory_order_relaxed);
    for (;;) {
      const uint32_t begin = BeginOf(left);
      const uint32_t end = EndOf(left);
      if (begin >= end) return false;
      const uint32_t count = std::max(uint32_t{1}, (end - begin) / kChunksOfPart);
      const uint64_t rest = is_own ? Pack(begin + count, end) : Pack(begin, end - count);
      if (!part.compare_exchange_weak(left, rest, std::memory_order_relaxed)) continue;
      units = {is_own ? begin : end - count, count};
      return true;
    }
  }

  bool RunChunk(int64_t begin, int64_t size) {
    const auto compute = [&](int64_t first, int64_t last) {
      if (!has_help_.load(std::memory_order_relaxed)) internal::CallForHelp();
      fn_(begin + first, begin + last);
    };
    const int64_t grains = has_help_.load(std::memory_order_relaxed) ? kGrainsAPoll : kGrainsACall;
    return RunInline(std::min(size, n_ - begin), grain_, compute, grains);
  }

  WorkQueue& queue_;
  KernelRun* const run_;  // of the kernel whose work this is; null if it is no kernel's
  const int64_t n_;
  const int64_t grain_;
  const int64_t unit_;
  const int num_units_;
  const int num_parts_;
  int helpers_to_add_;
  const FunctionRef<void(int64_t, int64_t)> fn_;
  std::array<std::atomic<uint64_t>, kMaxParts> parts_;
  std::atomic<uint32_t> taken_parts_{0};
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
  const bool is_short = num_grains <= kGrainsOfShortKernel;
  auto range = MakeRef<ParallelRange>(queue, n, grain, grains_per_unit * grain, num_units, num_threads, is_short, fn);
  return range ? range->RunAll() : RunInline(n, grain, fn);
}

}  // namespace tandem
