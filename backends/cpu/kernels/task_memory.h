// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TaskMemory: what a kernel works in for a while, not from the allocator of tensor data.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_TASK_MEMORY_H_
#define TANDEM_BACKENDS_CPU_KERNELS_TASK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <new>

namespace tandem::cpu {

// Memory of one task, aligned for vectors; null data if there was none. For any element type without constructors.
class TaskMemory {
 public:
  TaskMemory() = default;
  explicit TaskMemory(uint64_t bytes) { Allocate(bytes); }
  ~TaskMemory() {
    if (data_ != nullptr) ::operator delete(data_, kAlignment);
  }
  TaskMemory(const TaskMemory&) = delete;
  TaskMemory& operator=(const TaskMemory&) = delete;

  // Once at most.
  void Allocate(uint64_t bytes) {
    if (bytes <= kMaxBytes) data_ = ::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow);
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr uint64_t kMaxBytes = static_cast<uint64_t>(PTRDIFF_MAX) / 2;
  void* data_ = nullptr;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_TASK_MEMORY_H_
