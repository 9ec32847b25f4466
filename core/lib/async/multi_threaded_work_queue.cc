// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The work queue with workers, on Eigen's thread pool.
//
// Tasks are kept in lists of our own, so that they need no memory and any thread can take one. What Eigen's pool
// schedules is not a task but a worker's turn: it runs tasks until none is left. At most `num_threads_` threads hold a
// slot (`active_`) and run tasks at the same time. A worker that waits in Await gives its slot away, so another thread
// carries on: one of the pool's, or a stand-in when all of the pool's are waiting. It does not run tasks on top of the
// waiting one if that can be helped: a task that needs the waiting one would bury it on the same stack for ever.
//
// Other threads run no tasks in Await, since these may call anyone's code, which may want a lock that the thread holds.
// But they take part in kernels, for as long as they would otherwise only look whether their value has come, and in
// HelpWith, whose callers hold no locks, they run short tasks as well. Then they count as workers: no further one is
// started beside them, and one that is not needed any more goes to sleep, so that there are no more busy threads than
// `num_threads_`. One worker is left in any case, to run tasks.
//
// A thread that issues calls is busy with that, and likely to await some of them soon: until then it counts as a thread
// that helps, so that no further worker takes its core for work that it is about to join in.
//
// To wake a worker takes ten microseconds and more. The last one that had a task looks for the next one for some time
// before it sleeps, and work of ten microseconds is shared with one that does, but wakes none by itself: it is a stream
// of such work that does (RequestHelper).

#if defined(__GNUC__) && !defined(__clang__)
// The thread sanitizer does not model fences. Eigen's pool has them to lose no wake-up, not to publish data.
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)

#include "async/call_for_help.h"
#include "tandem/work_queue.h"

void tandem::internal::CallForHelp() {}

std::unique_ptr<tandem::WorkQueue> tandem::CreateMultiThreadedWorkQueue(int) {
  return CreateSingleThreadedWorkQueue(/*may_block=*/false);
}

#else

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unsupported/Eigen/CXX11/ThreadPool>
#include <utility>

#include "async/call_for_help.h"
#include "async/elastic_threads.h"
#include "async/helper_calls.h"
#include "async/waiting.h"
#include "base/this_thread.h"
#include "tandem/work_queue.h"

#ifdef __EMSCRIPTEN__
#include <emscripten/threading.h>
#endif

namespace tandem {

namespace {

using internal::AwaitEvent;
using internal::ElasticThreads;
using internal::SpinWait;
using internal::this_thread;
using Outcome = AwaitEvent::Outcome;

// Eigen's per-thread queues hold 1,024 turns and run what does not fit on the caller: there are never that many.
constexpr int kMaxThreads = 512;
// Threads that may stand in for workers that wait; bounded by the address space of their stacks.
constexpr int kMaxStandIns = sizeof(void*) == 8 ? 256 : 64;
// A power of two.
constexpr size_t kNumShards = 16;
// A thread that has called so long ago may be about to call again, or to await: a network is issued in that time.
constexpr std::chrono::microseconds kCallWindow{200};
// Of so many tasks that a worker could run next, one waits for its turn behind those that were added before.
constexpr uint32_t kMaxNextTasks = 16;

int64_t Nanoseconds() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// Gives Eigen's pool threads that have been started before, since it cannot do with fewer than it asks for.
struct PoolEnvironment {
  struct Task {
    std::function<void()> f;
  };

  class EnvThread final : public tandem::Task {
   public:
    explicit EnvThread(std::function<void()> loop) : loop_(std::move(loop)) {}
    ~EnvThread() {
      std::unique_lock lock(mutex_);
      ended_.wait(lock, [this] { return has_ended_; });
    }
    void Run() override {
      loop_();
      std::lock_guard lock(mutex_);
      has_ended_ = true;
      ended_.notify_one();
    }
    void OnCancel() {}

   private:
    const std::function<void()> loop_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = false;
  };

  EnvThread* CreateThread(std::function<void()> loop) {
    auto* thread = new EnvThread(std::move(loop));
    const bool started = threads->Start(*thread);
    assert(started && "the threads were reserved");
    static_cast<void>(started);
    return thread;
  }
  Task CreateTask(std::function<void()> fn) { return Task{std::move(fn)}; }
  void ExecuteTask(const Task& task) { task.f(); }

  ElasticThreads* threads;
};

class MultiThreadedWorkQueue final : public WorkQueue {
 public:
  // `threads` has `num_threads` idle ones.
  MultiThreadedWorkQueue(std::unique_ptr<ElasticThreads> threads, int num_threads)
      : num_threads_(num_threads),
        may_spin_(std::thread::hardware_concurrency() > 1),
        pool_threads_(std::move(threads)),
        pool_(num_threads, /*allow_spinning=*/false, PoolEnvironment{pool_threads_.get()}) {}
  ~MultiThreadedWorkQueue() override {
    assert(!IsWorkerThread() && "a worker cannot destroy its queue");
    Quiesce();
  }

  using WorkQueue::AddTask;
  void AddTask(Task& task) override;
  void AddHelpingTask(Task& task) override;
  bool AddBlockingTask(std::function<void()> fn) override;
  bool AddBackgroundTask(std::function<void()> fn) override;
  Status Await(std::span<const AsyncValue* const> values, Deadline deadline) override;
  void Quiesce() override;
  bool RunOneTask() override;
  bool HelpWith(const AsyncValue& value, Deadline until) override;
  int ParallelismLevel() const override { return num_threads_; }
  bool HasReadyHelper() const override { return CountsOnHelpers() && IsAnyHelperReady(); }
  bool RequestHelper() override;
  void ReportLateHelper() override { helper_calls_.ReportLate(Nanoseconds()); }
  bool IsBeingCalled() const override {
    const int64_t last_call = last_call_.load(std::memory_order_relaxed);
    return last_call != 0 && Nanoseconds() - last_call < std::chrono::nanoseconds(kCallWindow).count();
  }
  bool IsWorkerThread() const override { return this_thread.works_for == this; }
  bool MayBlock() const override {
#ifdef __EMSCRIPTEN__
    return !emscripten_is_main_browser_thread();
#else
    return true;
#endif
  }

 private:
  struct alignas(64) Shard {
    std::mutex mutex;
    std::atomic<bool> empty{true};
    TaskList tasks;
  };

  class BlockingTask;
  class BackgroundTask;
  class StandIn final : public Task {
   public:
    explicit StandIn(MultiThreadedWorkQueue* queue) : queue_(queue) {}
    void Run() override { queue_->TakeTurn(queue_->stand_ins_, /*may_spin=*/false); }

   private:
    MultiThreadedWorkQueue* queue_;
  };

  void PushTask(Shard& shard, Task& task);
  void PushNextTask();
  Task* PopTask(Shard& shard, bool only_short = false);
  Task* PopTask(bool only_short = false);
  Task* TakeTask();
  void RunTask(Task& task);
  void TakeTurn(std::atomic<int>& turns, bool may_spin);
  bool RunTasks(bool may_spin);
  bool SpinForTask();
  bool CountsOnHelpers() const {
    return num_threads_ > 1 && !(helper_calls_.was_ever_late() && helper_calls_.AreLate(Nanoseconds()));
  }
  bool IsAnyHelperReady() const {
    return ready_helpers_.load(std::memory_order_relaxed) > 0 || spinner_.load(std::memory_order_relaxed) != nullptr;
  }
  bool IsSurplus() const;
  bool TryLeave();
  bool StartWorkerIfNeeded(int num_reserved = 0);
  bool StartHelperIfNeeded();
  friend void internal::CallForHelp();
  void StartWorker();
  void ReleaseSlot();
  enum class HelpWhat { kKernels, kShortTasks };
  void HelpUntil(FunctionRef<bool()> has_ended, HelpWhat what);
  Outcome Sleep(AwaitEvent& event, Deadline deadline);

  const int num_threads_;
  const bool may_spin_;  // there is more than one core
  internal::TaskCount count_{this};
  internal::SleeperList sleepers_;  // workers in Await or Quiesce
  StandIn stand_in_{this};

  // Each of these is changed before the others are looked at, in sequentially consistent order: whoever adds a task
  // sees that a worker is missing, or the worker that leaves sees the task.
  std::atomic<int> queued_{0};
  std::atomic<int> active_{0};         // slots taken
  std::atomic<int> helpers_{0};        // threads in HelpUntil
  std::atomic<int> ready_helpers_{0};  // those that are looking for a helping task
  // By what the worker waits that is looking for tasks and needs no call.
  std::atomic<const SpinWait*> spinner_{nullptr};

  internal::HelperCalls helper_calls_;

  std::atomic<int64_t> last_call_{0};  // by a thread that is no worker, in nanoseconds; 0 if it awaits since

  std::atomic<int> pool_turns_{0};  // given to Eigen's pool and not over yet, sleeping ones included
  std::atomic<int> stand_ins_{0};
  std::atomic<bool> leaving_{false};  // a worker is about to give its slot back, since it is one too many
  Shard helping_;
  Shard shards_[kNumShards];

  // Destroyed from the last to the first: stand-ins use the pool until they are joined, the pool its threads.
  const std::unique_ptr<ElasticThreads> pool_threads_;
  Eigen::ThreadPoolTempl<PoolEnvironment> pool_;
  ElasticThreads extra_threads_;  // for stand-ins and blocking tasks
};

void MultiThreadedWorkQueue::PushTask(Shard& shard, Task& task) {
  std::lock_guard lock(shard.mutex);
  shard.tasks.PushBack(task);
  shard.empty.store(false, std::memory_order_relaxed);
  queued_.fetch_add(1, std::memory_order_seq_cst);
}

void MultiThreadedWorkQueue::AddTask(Task& task) {
  count_.Add();
  const bool is_worker = IsWorkerThread();
  // What follows from the end of a task, this worker is the first to be free for.
  if (is_worker && this_thread.next_task == nullptr && ContinuationGuard::IsInside() &&
      ++this_thread.num_next_tasks % kMaxNextTasks != 0) {
    this_thread.next_task = &task;
    return;
  }
  if (!is_worker) last_call_.store(Nanoseconds(), std::memory_order_relaxed);
  PushTask(shards_[internal::ShardOfThisThread(kNumShards)], task);
  StartWorkerIfNeeded();
}

// Before this thread does something else than to run it.
void MultiThreadedWorkQueue::PushNextTask() {
  Task* const task = std::exchange(this_thread.next_task, nullptr);
  if (task == nullptr) return;
  PushTask(shards_[internal::ShardOfThisThread(kNumShards)], *task);
  StartWorkerIfNeeded();
}

void MultiThreadedWorkQueue::AddHelpingTask(Task& task) {
  count_.Add();
  PushTask(helping_, task);
  StartHelperIfNeeded();
}

// The first one of the shard, if it is to be run.
Task* MultiThreadedWorkQueue::PopTask(Shard& shard, bool only_short) {
  if (shard.empty.load(std::memory_order_relaxed)) return nullptr;
  std::unique_lock lock(shard.mutex);
  if (shard.tasks.empty() || (only_short && !shard.tasks.front()->is_short())) return nullptr;
  Task* task = shard.tasks.PopFront();
  shard.empty.store(shard.tasks.empty(), std::memory_order_relaxed);
  const int left = queued_.fetch_sub(1, std::memory_order_seq_cst) - 1;
  lock.unlock();
  // The task that brought this thread here may not have been the only one.
  if (left > 0) StartWorkerIfNeeded();
  return task;
}

Task* MultiThreadedWorkQueue::PopTask(bool only_short) {
  if (queued_.load(std::memory_order_acquire) == 0) return nullptr;
  // What has been begun comes before what has not.
  if (Task* task = PopTask(helping_, only_short)) return task;
  size_t first = internal::ShardOfThisThread(kNumShards);
  // Tasks that add tasks keep this thread's own list filled: the others get their turn by this.
  if (const uint32_t pops = ++this_thread.num_pops; pops % 16 == 0) first = pops / 16;
  for (size_t i = 0; i < kNumShards; ++i) {
    if (Task* task = PopTask(shards_[(first + i) & (kNumShards - 1)], only_short)) return task;
  }
  return nullptr;
}

void MultiThreadedWorkQueue::RunTask(Task& task) {
  {
    internal::TaskScope scope(this);
    task.Run();
  }
  count_.Finish();
}

bool MultiThreadedWorkQueue::RunOneTask() {
  Task* task = PopTask();
  if (task == nullptr) return false;
  RunTask(*task);
  PushNextTask();
  return true;
}

bool MultiThreadedWorkQueue::StartHelperIfNeeded() {
  if (ready_helpers_.load(std::memory_order_seq_cst) > 0) return false;
  // One that is neither a worker nor in HelpUntil is in the middle of a kernel that was called.
  const bool is_counted = IsWorkerThread() || this_thread.helps == this;
  return StartWorkerIfNeeded(/*num_reserved=*/!is_counted || IsBeingCalled() ? 1 : 0);
}

bool MultiThreadedWorkQueue::RequestHelper() {
  if (!CountsOnHelpers()) return false;
  if (IsAnyHelperReady()) return true;
  if (may_spin_ && helper_calls_.Request(Nanoseconds()) && !StartHelperIfNeeded()) helper_calls_.TakeBack();
  return false;
}

// But for `num_reserved` threads. Whether one was called.
bool MultiThreadedWorkQueue::StartWorkerIfNeeded(int num_reserved) {
  if (spinner_.load(std::memory_order_seq_cst) != nullptr) return false;
  int active = active_.load(std::memory_order_seq_cst);
  while (active < num_threads_ &&
         (active == 0 || active + helpers_.load(std::memory_order_seq_cst) + num_reserved < num_threads_)) {
    if (!active_.compare_exchange_weak(active, active + 1, std::memory_order_seq_cst)) continue;
    StartWorker();
    return true;
  }
  return false;
}

// Passes on a slot that the caller has taken.
void MultiThreadedWorkQueue::StartWorker() {
  int turns = pool_turns_.load(std::memory_order_seq_cst);
  while (turns < num_threads_) {
    if (pool_turns_.compare_exchange_weak(turns, turns + 1, std::memory_order_seq_cst)) {
      pool_.Schedule([this] { TakeTurn(pool_turns_, /*may_spin=*/true); });
      return;
    }
  }
  // All of the pool's threads are waiting in Await.
  if (stand_ins_.fetch_add(1, std::memory_order_seq_cst) < kMaxStandIns && extra_threads_.Start(stand_in_)) return;
  stand_ins_.fetch_sub(1, std::memory_order_seq_cst);
  // Without a thread to be had, the slot returns; those that have one will look at the queue. If there are none, a
  // waiting worker has to run tasks on top of its own.
  if (active_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  int none = 0;
  if (active_.compare_exchange_strong(none, 1, std::memory_order_seq_cst) && !sleepers_.CallOne()) {
    // Those that were asleep are just waking up.
    active_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void MultiThreadedWorkQueue::ReleaseSlot() {
  active_.fetch_sub(1, std::memory_order_seq_cst);
  if (queued_.load(std::memory_order_seq_cst) > 0) StartWorkerIfNeeded();
}

// The whole stay of a thread as a worker; it comes with a slot and is counted in `turns`.
void MultiThreadedWorkQueue::TakeTurn(std::atomic<int>& turns, bool may_spin) {
  this_thread.works_for = this;
  const bool is_leaving = RunTasks(may_spin);
  this_thread.works_for = nullptr;
  // In this order: who finds the slot free also finds the thread.
  turns.fetch_sub(1, std::memory_order_seq_cst);
  ReleaseSlot();
  if (is_leaving) leaving_.store(false, std::memory_order_release);
}

// For a worker with nothing else to do.
Task* MultiThreadedWorkQueue::TakeTask() {
  if (this_thread.next_task == nullptr) return PopTask();
  // What has been begun comes first here, too.
  if (Task* task = PopTask(helping_)) return task;
  return std::exchange(this_thread.next_task, nullptr);
}

// True if it ends because of TryLeave.
bool MultiThreadedWorkQueue::RunTasks(bool may_spin) {
  do {
    while (Task* task = TakeTask()) {
      RunTask(*task);
      if (!TryLeave()) continue;
      PushNextTask();
      return true;
    }
  } while (may_spin && SpinForTask());
  return false;
}

// Workers back from Await, and threads that have begun to help, make too many for a while.
bool MultiThreadedWorkQueue::IsSurplus() const {
  const int active = active_.load(std::memory_order_relaxed);
  return active > num_threads_ || (active > 1 && active + helpers_.load(std::memory_order_relaxed) > num_threads_);
}

// One worker at a time, which gives its slot back next, so that not all leave.
bool MultiThreadedWorkQueue::TryLeave() {
  if (!IsSurplus() || leaving_.exchange(true, std::memory_order_acquire)) return false;
  if (IsSurplus()) return true;
  leaving_.store(false, std::memory_order_release);
  return false;
}

// One worker at a time, which is the last one to have had a task: the others may sleep. True if there may be a task.
bool MultiThreadedWorkQueue::SpinForTask() {
  if (!may_spin_) return false;
  SpinWait wait;
  spinner_.store(&wait, std::memory_order_seq_cst);
  const auto is_spinner = [&] { return spinner_.load(std::memory_order_relaxed) == &wait; };
  while (queued_.load(std::memory_order_relaxed) == 0 && !IsSurplus() && is_spinner() && wait.Pause()) {
  }
  const SpinWait* own = &wait;
  spinner_.compare_exchange_strong(own, nullptr, std::memory_order_seq_cst);
  const bool has_found = queued_.load(std::memory_order_seq_cst) > 0;
  helper_calls_.EndCall(has_found);
  return has_found;
}

// On a thread that is no worker: takes part in any kernel, or runs any short task, parts of short kernels among them.
// Returns when `has_ended`, or when there has been nothing to do for as long as it takes to fall asleep and be woken.
void MultiThreadedWorkQueue::HelpUntil(FunctionRef<bool()> has_ended, HelpWhat what) {
  last_call_.store(0, std::memory_order_relaxed);
  WorkQueue* const helped = std::exchange(this_thread.helps, this);
  helpers_.fetch_add(1, std::memory_order_seq_cst);
  ready_helpers_.fetch_add(1, std::memory_order_seq_cst);
  SpinWait wait;
  // A worker that leaves in favour of this thread does so at the end of its part of a kernel.
  SpinWait takeover(kCallWindow);
  while (count_.AnyUnfinished() && !has_ended()) {
    const bool is_any = what == HelpWhat::kKernels ? !helping_.empty.load(std::memory_order_relaxed)
                                                   : queued_.load(std::memory_order_relaxed) > 0;
    if (is_any) {
      // Busy: who adds a further task may have to call a worker.
      ready_helpers_.fetch_sub(1, std::memory_order_seq_cst);
      Task* const task = what == HelpWhat::kKernels ? PopTask(helping_) : PopTask(/*only_short=*/true);
      if (task != nullptr) {
        RunTask(*task);
        wait = SpinWait();
      }
      ready_helpers_.fetch_add(1, std::memory_order_seq_cst);
      if (task != nullptr) continue;
    }
    if (may_spin_ && IsSurplus() && takeover.Pause()) {
      wait = SpinWait();
      continue;
    }
    if (!may_spin_ || !wait.Pause()) break;
  }
  ready_helpers_.fetch_sub(1, std::memory_order_seq_cst);
  helpers_.fetch_sub(1, std::memory_order_seq_cst);
  this_thread.helps = helped;
  if (has_ended()) last_call_.store(Nanoseconds(), std::memory_order_relaxed);
  // One that was left to this thread in the meantime.
  if (queued_.load(std::memory_order_seq_cst) > 0) StartWorkerIfNeeded();
}

bool MultiThreadedWorkQueue::HelpWith(const AsyncValue& value, Deadline until) {
  if (IsWorkerThread()) return value.IsAvailable();
  const auto has_ended = [&] {
    ContinuationGuard::RunDeferred();
    return value.IsAvailable() || std::chrono::steady_clock::now() >= until;
  };
  HelpUntil(has_ended, HelpWhat::kShortTasks);
  return value.IsAvailable();
}

Outcome MultiThreadedWorkQueue::Sleep(AwaitEvent& event, Deadline deadline) {
  // Continuations that this thread has put off may be what it is about to wait for.
  ContinuationGuard::RunDeferred();
  if (!IsWorkerThread()) {
    // A worker of another queue must not keep that one waiting either.
    auto* other = static_cast<MultiThreadedWorkQueue*>(this_thread.works_for);
    if (other != nullptr) return other->Sleep(event, deadline);
    HelpUntil([&event] { return event.HasEnded(); }, HelpWhat::kKernels);
    return event.Wait(deadline);
  }
  PushNextTask();
  for (;;) {
    sleepers_.Push(event);
    ReleaseSlot();
    const Outcome outcome = event.Wait(deadline);
    if (outcome != Outcome::kCalled) {
      // Otherwise it was being called, and the call came with a slot.
      if (sleepers_.Remove(event)) active_.fetch_add(1, std::memory_order_seq_cst);
      return outcome;
    }
    while (!event.HasEnded() && RunOneTask()) ContinuationGuard::RunDeferred();
    PushNextTask();
    if (event.HasEnded()) return event.Wait(deadline);
  }
}

Status MultiThreadedWorkQueue::Await(std::span<const AsyncValue* const> values, Deadline deadline) {
  if (!MayBlock()) return CheckAvailable(values);
  return internal::AwaitEach(values, deadline,
                             [this](AwaitEvent& event, Deadline until) { return Sleep(event, until); });
}

void MultiThreadedWorkQueue::Quiesce() {
  count_.WaitForNone([this](AwaitEvent& event) { Sleep(event, Deadline::max()); });
}

class MultiThreadedWorkQueue::BlockingTask final : public Task {
 public:
  BlockingTask(MultiThreadedWorkQueue* queue, std::function<void()> fn) : queue_(queue), fn_(std::move(fn)) {}
  void Run() override {
    MultiThreadedWorkQueue* const queue = queue_;
    {
      internal::TaskScope scope(queue);
      fn_();
      delete this;
    }
    queue->count_.Finish();
  }

 private:
  MultiThreadedWorkQueue* const queue_;
  const std::function<void()> fn_;
};

bool MultiThreadedWorkQueue::AddBlockingTask(std::function<void()> fn) {
  auto* task = new (std::nothrow) BlockingTask(this, std::move(fn));
  if (task == nullptr) return false;
  count_.Add();
  if (extra_threads_.Start(*task)) return true;
  delete task;
  count_.Finish();
  return false;
}

// Not counted, so it is no task that Quiesce or Await would have to know of.
class MultiThreadedWorkQueue::BackgroundTask final : public Task {
 public:
  explicit BackgroundTask(std::function<void()> fn) : fn_(std::move(fn)) {}
  void Run() override {
    fn_();
    delete this;
  }

 private:
  const std::function<void()> fn_;
};

bool MultiThreadedWorkQueue::AddBackgroundTask(std::function<void()> fn) {
  auto* task = new (std::nothrow) BackgroundTask(std::move(fn));
  if (task == nullptr) return false;
  if (extra_threads_.Start(*task)) return true;
  delete task;
  return false;
}

}  // namespace

void internal::CallForHelp() {
  if (this_thread.works_for != nullptr) {
    static_cast<MultiThreadedWorkQueue*>(this_thread.works_for)->StartHelperIfNeeded();
  }
}

std::unique_ptr<WorkQueue> CreateMultiThreadedWorkQueue(int num_threads) {
  if (num_threads <= 0) num_threads = static_cast<int>(std::thread::hardware_concurrency());
  auto threads = std::make_unique<ElasticThreads>();
  num_threads = threads->Reserve(std::clamp(num_threads, 1, kMaxThreads));
  if (num_threads == 0) return CreateSingleThreadedWorkQueue();
  return std::make_unique<MultiThreadedWorkQueue>(std::move(threads), num_threads);
}

}  // namespace tandem

#endif  // threads
