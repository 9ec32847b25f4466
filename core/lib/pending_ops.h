// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PendingOps: the ops of a host that wait for inputs or in the queue: their number is bounded, and all can be cancelled.

#ifndef TANDEM_CORE_LIB_PENDING_OPS_H_
#define TANDEM_CORE_LIB_PENDING_OPS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "tandem/execution_context.h"
#include "tandem/request_context.h"
#include "tandem/status.h"
#include "tandem/work_queue.h"

namespace tandem {

// What can be pending. Linked into PendingOps from Add to Remove.
class CancellableOp {
 public:
  virtual void AddRef() = 0;
  virtual void DropRef() = 0;
  // Gives the outputs this error and drops the inputs, unless the kernel has already begun.
  virtual void Cancel(const Status& reason) = 0;
  virtual const RequestContext* request() const = 0;

 protected:
  ~CancellableOp() = default;

 private:
  friend class PendingOps;
  CancellableOp* previous_ = nullptr;
  CancellableOp* next_ = nullptr;
  CancellableOp* next_cancelled_ = nullptr;
  uint32_t shard_ = 0;
  bool linked_ = false;
};

// Thread-safe.
class PendingOps {
 public:
  PendingOps(int64_t max_ops, int64_t max_bytes) : max_ops_(max_ops), max_bytes_(max_bytes) {}

  // Makes room for one op whose results take `bytes`: at the limit a plain thread waits, a worker runs queued work, and
  // where neither is possible the result is ResourceExhausted (EX-11). A single op is admitted whatever its size.
  Status Admit(const ExecutionContext& exec, int64_t bytes);
  void Release(int64_t bytes);

  // Links an admitted op, unless the host or the op's request is cancelled: then the error.
  Status Add(CancellableOp& op, const ExecutionContext& exec);
  // Idempotent.
  void Remove(CancellableOp& op);

  // Cancels what is linked; only the ops of `request` if it is not null.
  void Cancel(const Status& reason, const RequestContext* request);

  int64_t num_ops() const { return num_ops_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kNumShards = 16;
  struct alignas(64) Shard {
    std::mutex mutex;
    CancellableOp* first = nullptr;
  };

  bool TryAdmit(int64_t bytes);

  const int64_t max_ops_;
  const int64_t max_bytes_;
  std::atomic<int64_t> num_ops_{0};
  std::atomic<int64_t> num_bytes_{0};
  std::atomic<int> num_waiting_{0};
  std::atomic<uint32_t> next_shard_{0};
  std::mutex room_mutex_;
  std::condition_variable room_;
  Shard shards_[kNumShards];
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_PENDING_OPS_H_
