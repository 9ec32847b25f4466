// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PendingOps: the calls of a host that wait for inputs or in the queue: their number is bounded, and all can be
// cancelled. Progress: whether any of them does more than wait.

#ifndef TANDEM_CORE_LIB_EXECUTE_PENDING_OPS_H_
#define TANDEM_CORE_LIB_EXECUTE_PENDING_OPS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

#include "tandem/execution_context.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"
#include "tandem/work_queue.h"

namespace tandem {

class PendingCall;

// What a host is busy with: who waits for room asks whether any can come (EX-11). Outlives the host while somebody has
// not come to the end of what he began. Thread-safe.
class Progress {
 public:
  // An op that is run.
  static constexpr int64_t kRunning = 1;
  // One that others are to run or end: in a work queue, on a device, or by a kernel in its own way (DI-5).
  static constexpr int64_t kElsewhere = int64_t{1} << 31;

  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // While one lives, this thread runs an op, or is busy with what follows from it: with the waiters of its results,
  // too, when the op itself is over and the host maybe gone. The host is there when it begins.
  class Scope {
   public:
    explicit Scope(Progress& progress) : progress_(progress) {
      progress_.Begin(kRunning);
      ++num_scopes;
    }
    ~Scope() {
      --num_scopes;
      progress_.End(kRunning);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    // Whether this thread is inside one.
    static bool IsInside() { return num_scopes > 0; }

   private:
    static inline constinit thread_local int num_scopes = 0;
    Progress& progress_;
  };

  void Begin(int64_t what) { busy_.fetch_add(what, std::memory_order_relaxed); }
  // What is begun in place of it has been begun before; what it held has been given back.
  void End(int64_t what) {
    if (busy_.fetch_sub(what, std::memory_order_acq_rel) == what) delete this;
  }

  enum class State { kNothing, kElsewhere, kRunning };
  // Whoever sees that nothing is going on also sees the room that it has made.
  State state() const {
    const int64_t busy = busy_.load(std::memory_order_acquire) - kHost;
    if (busy == 0) return State::kNothing;
    return busy % kElsewhere == 0 ? State::kElsewhere : State::kRunning;
  }

 private:
  friend class PendingOps;
  // The host's own part, which it ends when it goes.
  static constexpr int64_t kHost = int64_t{1} << 62;
  ~Progress() = default;

  std::atomic<int64_t> busy_{kHost};
};

// Thread-safe. Whoever has counted an op by Admit or Hold may use the host until it calls Release.
class PendingOps {
 public:
  struct Limits {
    int64_t max_ops;
    int64_t max_bytes;
    std::chrono::milliseconds stall;
  };
  explicit PendingOps(const Limits& limits) : limits_(limits) {}
  ~PendingOps() { progress_.End(Progress::kHost); }

  // What the results of an op count for. Cut where no sum of them can overflow.
  static int64_t CountBytes(std::span<const TensorMetadata> results);

  // Makes room for one op whose results take `bytes`: at the limit a plain thread waits while there is progress; a
  // worker, or a continuation, on whose end others may be waiting, runs queued work and then may go up to twice the
  // limit; where neither is possible, or no room can come, the result is ResourceExhausted (EX-11). A single op is
  // admitted whatever its size.
  Status Admit(const ExecutionContext& exec, int64_t bytes);
  // Counts one more op without asking for room.
  void Hold() { ops_.fetch_add(kOneOp, std::memory_order_relaxed); }
  // Gives back what Admit or Hold took. The host may be destroyed as soon as nobody has anything to give back.
  void Release(int64_t bytes);

  // Links a counted op, unless the host or the op's request is cancelled: then the error.
  Status Add(PendingCall& call, const ExecutionContext& exec);
  // Idempotent.
  void Remove(PendingCall& call);

  // Cancels what was linked in this epoch or before, or the ops of a request.
  void CancelEpoch(const Status& reason, uint32_t epoch) { Cancel(reason, nullptr, epoch); }
  void CancelRequest(const Status& reason, const RequestContext& request) { Cancel(reason, &request, 0); }
  // Ops linked from here on are not reached by a CancelEpoch that began before (CA-2).
  uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  void BeginEpoch() { epoch_.fetch_add(1, std::memory_order_acq_rel); }

  // Returns when no call has been started for `moment`, or for twice as long once there has been one, or when whoever
  // may start some awaits what he has: for a worker with an op to run that takes far longer than that, and less
  // together with calls that are being issued right now.
  void AwaitLull(const WorkQueue& queue, std::chrono::nanoseconds moment) const;

  // Waits until no op is left. All must have been cancelled; what is left are those that another thread is just ending.
  void AwaitNone();

  Progress& progress() { return progress_; }
  int64_t num_ops() const { return ops_.load(std::memory_order_relaxed) / kOneOp; }

 private:
  static constexpr uint32_t kNumShards = 16;
  struct alignas(64) Shard {
    std::mutex mutex;
    PendingCall* first = nullptr;
  };
  // `ops_` is the number of ops in these units, plus kSomeoneWaits: one exchange gives back an op and sees whether
  // anybody must be woken, after which nothing of this object is used.
  static constexpr int64_t kOneOp = 2;
  static constexpr int64_t kSomeoneWaits = 1;

  bool TryAdmit(int64_t bytes, int64_t times_the_limit = 1);
  Status AwaitRoom(const ExecutionContext& exec, int64_t bytes);
  Status NoRoom(int64_t bytes, std::string_view reason) const;
  void Cancel(const Status& reason, const RequestContext* request, uint32_t epoch);
  void BeginWaitLocked();
  void EndWaitLocked();
  void WakeAll();

  const Limits limits_;
  Progress& progress_ = *new Progress;
  std::atomic<int64_t> ops_{0};
  std::atomic<int64_t> num_bytes_{0};
  std::atomic<uint32_t> next_number_{0};
  std::atomic<uint32_t> epoch_{0};
  std::mutex room_mutex_;
  std::condition_variable room_;
  // Guarded by room_mutex_.
  int num_waiting_ = 0;
  uint64_t num_wakes_ = 0;
  Shard shards_[kNumShards];
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_PENDING_OPS_H_
