// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TaskMemory: what a kernel works in for a while.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_TASK_MEMORY_H_
#define TANDEM_BACKENDS_CPU_KERNELS_TASK_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tandem/host_allocator.h"
#include "tandem/kernel_run.h"

namespace tandem::cpu {

// Memory of one task, aligned for vectors; null data if there was none. For any element type without constructors.
// Comes from the allocator of the host whose kernel runs, which keeps it for the next call, so that calls take nothing
// from the heap for it (EX-10); from the heap outside of kernels.
class TaskMemory {
 public:
  TaskMemory() = default;
  explicit TaskMemory(uint64_t bytes) { Allocate(bytes); }
  ~TaskMemory() {
    if (data_ != nullptr && !buffer_) ::operator delete(data_, kAlignment);
  }
  TaskMemory(TaskMemory&& other) noexcept
      : buffer_(std::move(other.buffer_)), data_(std::exchange(other.data_, nullptr)) {}
  TaskMemory& operator=(TaskMemory&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(data_, other.data_);
    return *this;
  }

  // Once at most.
  void Allocate(uint64_t bytes) {
    if (bytes > kMaxBytes) return;
    const auto size = std::max(static_cast<size_t>(bytes), kMinBytes);
    HostAllocator* const allocator = KernelRun::Allocator();
    if (allocator == nullptr) {
      data_ = ::operator new(size, kAlignment, std::nothrow);
    } else if (StatusOr<RcRef<HostBuffer>> buffer = allocator->Allocate(size); buffer.ok()) {
      buffer_ = *std::move(buffer);
      data_ = buffer_->data();
    }
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  static constexpr std::align_val_t kAlignment{kTensorDataAlignment};
  static constexpr uint64_t kMaxBytes = static_cast<uint64_t>(PTRDIFF_MAX) / 2;
  static constexpr size_t kMinBytes = 1024;  // allocators keep no small blocks

  RcRef<HostBuffer> buffer_;
  void* data_ = nullptr;
};

// An array in such memory, whose elements are uninitialised unless they have a default.
template <typename T>
class TaskArray {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  TaskArray() = default;
  // Null if there was no memory.
  explicit TaskArray(int64_t count) {
    uint64_t bytes;
    if (__builtin_mul_overflow(static_cast<uint64_t>(count), sizeof(T), &bytes)) return;
    memory_.Allocate(bytes);
    if (memory_.data() != nullptr) std::uninitialized_default_construct_n(get(), count);
  }

  T* get() const { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](size_t i) const { return get()[i]; }
  bool operator==(std::nullptr_t) const { return memory_.data() == nullptr; }

 private:
  TaskMemory memory_;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_TASK_MEMORY_H_
