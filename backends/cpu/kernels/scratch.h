// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Scratch: an array for intermediate values that lives as long as the call of a kernel.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SCRATCH_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

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

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SCRATCH_H_
