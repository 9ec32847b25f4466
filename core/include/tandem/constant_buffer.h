// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ConstantBuffer: memory that many calls read, such as a program's weights; kernels keep with it what they made of it
// (PR-5).

#ifndef TANDEM_CONSTANT_BUFFER_H_
#define TANDEM_CONSTANT_BUFFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "tandem/export.h"
#include "tandem/host_allocator.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem {

// Forms of one constant that kernels work with, such as a matrix in the order in which they read it: each is made by
// the first call that needs it, and goes with the constant. A kernel finds those of an argument by
// TensorStorage::constant_forms. Thread-safe.
class TANDEM_EXPORT ConstantForms {
 public:
  // What a form depends on beside the content of the constant: its maker, told by an address of its own, and what else
  // he chooses, among it the address of what was read of the constant.
  struct Key {
    const void* maker = nullptr;
    std::array<int64_t, 18> numbers = {};
    bool operator==(const Key&) const = default;
  };

  ConstantForms() = default;
  ~ConstantForms();
  ConstantForms(const ConstantForms&) = delete;
  ConstantForms& operator=(const ConstantForms&) = delete;

  // Null if there is none.
  RcRef<HostBuffer> Find(const Key& key) const;
  // Keeps a form, which nobody changes any more, unless another thread has kept one since, or memory is exhausted.
  void Keep(const Key& key, RcRef<HostBuffer> form);

 private:
  struct Entry;
  const Entry* FindLocked(const Key& key) const;

  mutable std::mutex mutex_;
  Entry* first_ = nullptr;
};

// Memory of someone else's that never changes, as HostAllocator::WrapExternal has it. Its forms may take as much
// memory again for each way in which kernels read it, which is usually one.
class TANDEM_EXPORT ConstantBuffer final : public HostBuffer {
 public:
  // `release` is called once when the last reference is gone, also when this fails, for which there is only want of
  // memory.
  static StatusOr<RcRef<HostBuffer>> Wrap(const void* data, size_t size, std::function<void()> release);

  ConstantForms* constant_forms() const override { return &forms_; }

 private:
  ConstantBuffer(const void* data, size_t size) : HostBuffer(const_cast<void*>(data), size, /*external=*/true) {}
  ~ConstantBuffer() override;

  std::function<void()> release_;
  mutable ConstantForms forms_;
};

// A tensor as a constant over the same memory, so that kernels keep with it what they make of it. As it is, if it is a
// constant, or has nothing that kernels could keep: elements elsewhere than on the host, not dense, or few enough to
// lie within the tensor. Fails for want of memory only.
TANDEM_EXPORT StatusOr<Tensor> AsConstant(const Tensor& tensor);

}  // namespace tandem

#endif  // TANDEM_CONSTANT_BUFFER_H_
