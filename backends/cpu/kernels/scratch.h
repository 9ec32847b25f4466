// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Scratch: an array for intermediate values, which lives as long as the call of a kernel or a part of it.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SCRATCH_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SCRATCH_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tandem/function_ref.h"
#include "tandem/host_context.h"
#include "tandem/kernel.h"

namespace tandem::cpu {

// Uninitialised, and counted against the memory limit of the host.
template <typename T>
class Scratch {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  Status Init(const KernelFrame& frame, int64_t n) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, sizeof(T), &bytes)) return Status::OutOfMemory();
    TANDEM_ASSIGN_OR_RETURN(buffer_, frame.host().allocator().Allocate(bytes));
    data_ = static_cast<T*>(buffer_->data());
    return Status();
  }
  T* data() const { return data_; }

 private:
  RcRef<HostBuffer> buffer_;
  T* data_ = nullptr;
};

// KernelFrame::ParallelFor with `scratch_size` bytes for each call of `fn`, null if that is 0. Fails only for lack of
// memory; then some of the work was not done.
inline Status ParallelForWithScratch(const KernelFrame& frame, int64_t n, double cost_per_item, int64_t scratch_size,
                                     FunctionRef<void(int64_t, int64_t, void*)> fn) {
  if (scratch_size == 0) {
    frame.ParallelFor(n, cost_per_item, [&](int64_t begin, int64_t end) { fn(begin, end, nullptr); });
    return Status();
  }
  std::atomic<bool> has_failed = false;
  Status error;  // written by the first call that fails
  frame.ParallelFor(n, cost_per_item, [&](int64_t begin, int64_t end) {
    Scratch<std::byte> scratch;
    if (Status status = scratch.Init(frame, scratch_size); status.ok()) {
      fn(begin, end, scratch.data());
    } else if (!has_failed.exchange(true)) {
      error = std::move(status);
    }
  });
  return error;
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SCRATCH_H_
