// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// HostContext: what all op calls of a runtime share on the host: work queue, memory, errors, cancellation, limits.

#ifndef TANDEM_HOST_CONTEXT_H_
#define TANDEM_HOST_CONTEXT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "tandem/device.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/host_allocator.h"
#include "tandem/location_texts.h"
#include "tandem/tensor_conversions.h"
#include "tandem/tensor_handle.h"
#include "tandem/tracer.h"
#include "tandem/work_queue.h"

namespace tandem {

class DeadlineWatcher;
class PendingOps;

// Thread-safe. Destroying it cancels what is pending and quiesces the queue; no thread may be calling into it then, but
// others may be making values available that its ops wait for.
class TANDEM_EXPORT HostContext {
 public:
  using DiagnosticHandler = std::function<void(const Status&)>;
  using PrintSink = std::function<void(std::string_view)>;

  // What a host is made of. Every member has a default.
  struct Options {
    std::unique_ptr<WorkQueue> work_queue;  // default: multi-threaded where there are threads
    DiagnosticHandler diagnostic_handler;   // hears each error once, when it arises, on the thread it arises on (ER-4)
    PrintSink print;                        // where printing ops write; default: nowhere
    HostAllocator::Options allocator;
    // Exact mode (NU-3): results of the CPU handler are the same bits on every processor, instruction set and C
    // library, WebAssembly included, for every dtype; a NaN is a NaN, whose other bits are not told. Without fused
    // multiply-add, and with elementary functions of f64 and complex numbers that take half a microsecond or more an
    // element, 20 to 150 times as long.
    bool exact = false;
    // Whether calls of element-wise ops that wait for each other may be computed as one (PR-6). The results are the
    // same; tracing names what is computed so "tandem.Fused(tf.Mul, tf.AddV2)". Programs have an option of their own.
    bool fuse = true;
    // Work of a higher estimated cost goes to the queue (EX-7), of twice that while a worker is awake to share it;
    // about nanoseconds on one core. Handing it over, and waking who waits for it, takes some 20,000.
    int64_t inline_cost_limit = 50'000;
    // Asked before a queued op begins, on the thread that would run it; `bytes` is what its results take. False: not
    // now, and it goes to the end of the queue again. Default: whenever its turn comes.
    std::function<bool(int64_t bytes)> may_begin{};
    // Asked by long kernels about every millisecond of work, from each thread that does it. False: the kernel ends, and
    // its results are Cancelled errors. Default: as long as nobody cancels.
    std::function<bool()> may_go_on{};
    // Bounds of what is pending or queued (EX-11). At one of them a thread waits as long as ops run or are ready to.
    // While none runs, queues, devices and asynchronous kernels must end one within `stall_limit`: whether they do so
    // at all may depend on the thread that waits.
    int64_t max_pending_ops = int64_t{1} << 20;
    int64_t max_pending_bytes = sizeof(void*) == 8 ? int64_t{8} << 30 : int64_t{1} << 29;
    std::chrono::milliseconds stall_limit = std::chrono::seconds(10);
  };

  explicit HostContext(Options options);
  ~HostContext();
  HostContext(const HostContext&) = delete;
  HostContext& operator=(const HostContext&) = delete;

  WorkQueue& work_queue() const { return *options_.work_queue; }
  HostAllocator& allocator() const { return *allocator_; }
  // Main memory, named "cpu".
  const Device& device() const { return device_; }
  TensorConversions& conversions() { return conversions_; }
  Tracer& tracer() { return tracer_; }
  // For locations that come as text, such as those in program files; they live as long as the host.
  LocationTexts& locations() { return locations_; }
  PendingOps& pending_ops() { return *pending_ops_; }
  DeadlineWatcher& deadlines() { return *deadlines_; }
  // Whether this host was made for exact mode.
  bool is_exact() const { return (attention_.load(std::memory_order_relaxed) & kExactBit) != 0; }
  bool fuses() const { return options_.fuse; }
  int64_t inline_cost_limit() const { return inline_cost_limit_.load(std::memory_order_relaxed); }
  // For calls from now on; below 0, all of them go to the queue.
  void set_inline_cost_limit(int64_t cost) { inline_cost_limit_.store(cost, std::memory_order_relaxed); }
  bool MayBegin(int64_t bytes) const { return !options_.may_begin || options_.may_begin(bytes); }
  bool MayGoOn() const { return !options_.may_go_on || options_.may_go_on(); }
  void Print(std::string_view text) const {
    if (options_.print) options_.print(text);
  }

  // Hears of every transfer on this host from here on, besides the observer that a call may have of its own; null ends
  // that. A transfer that another thread has begun may still be told to the one before.
  void SetTransferObserver(RcRef<TransferObserver> observer);
  // Null if there is none.
  RcRef<TransferObserver> FindTransferObserver() const;

  // Tells the diagnostic handler; gives the error back for passing on.
  Status EmitError(Status error) const;

  // Waits for all values (AV-7); see WorkQueue::Await for what it returns.
  Status Await(std::span<const AsyncValue* const> values,
               WorkQueue::Deadline deadline = WorkQueue::Deadline::max()) const;
  // Waits for one tensor: ok if concrete, else its error, or why waiting failed. Null handles are an error.
  Status Await(const TensorHandle& handle) const;
  // Ends the requests whose deadline has passed, if no thread of the queue watches them.
  void CheckDeadlines() const;
  // Calls that wait for inputs or in the queue, or are running there.
  int64_t num_pending_ops() const;

  // Waits until nothing is queued or running.
  void Quiesce() const { work_queue().Quiesce(); }
  // Cancels for good, and waits until no op uses the host any more. Not for a kernel or a task to call.
  void Shutdown();

  // Makes every pending op's outputs Cancelled errors at once and drops its inputs; until Restart every call gives
  // Cancelled handles (CA-1). Ops from before a Restart stay cancelled (CA-2).
  void CancelExecution(std::string_view reason);
  void Restart();
  // Ok, or the error that new calls get. One load while nothing is cancelled.
  Status CheckActive() const;

  // Whether calls must leave the fast path: cancelled, traced, or exact. One relaxed load.
  bool NeedsAttention() const { return attention_.load(std::memory_order_acquire) != 0; }
  bool IsCancelled() const { return (attention_.load(std::memory_order_acquire) & kCancelledBit) != 0; }
  // Tracing may be switched at any time (TR-1).
  bool IsTracing() const { return (attention_.load(std::memory_order_relaxed) & kTracingBit) != 0; }
  void StartTracing();
  void StopTracing();

 private:
  static constexpr uint32_t kCancelledBit = 1;
  static constexpr uint32_t kTracingBit = 2;
  static constexpr uint32_t kExactBit = 4;  // only a KernelRun, which the fast path does without, tells kernels

  void Cancel(std::string_view reason, bool tell_in_any_case);

  std::atomic<uint32_t> attention_{0};  // read by every call, hardly ever written
  Options options_;
  std::atomic<int64_t> inline_cost_limit_;
  RcRef<HostAllocator> allocator_;
  class HostDevice final : public Device {
   public:
    HostDevice();
    StatusOr<Tensor> AllocateDense(const TensorMetadata& metadata, const ExecutionContext& exec,
                                   std::string_view op) const override;
  };
  const HostDevice device_;
  TensorConversions conversions_;
  Tracer tracer_;
  LocationTexts locations_;
  std::unique_ptr<PendingOps> pending_ops_;
  std::unique_ptr<DeadlineWatcher> deadlines_;
  std::atomic<bool> has_transfer_observer_{false};
  mutable std::mutex observer_mutex_;
  RcRef<TransferObserver> transfer_observer_;
  mutable std::mutex cancel_mutex_;
  Status cancel_reason_;
};

}  // namespace tandem

#endif  // TANDEM_HOST_CONTEXT_H_
