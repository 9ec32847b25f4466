// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A list for each constant: kernels make one form of most.

#include "tandem/constant_buffer.h"

#include <new>
#include <utility>

#include "tandem/host_tensors.h"

namespace tandem {

struct ConstantForms::Entry {
  Key key;
  RcRef<HostBuffer> form;
  Entry* next;
};

ConstantForms::~ConstantForms() {
  while (first_ != nullptr) delete std::exchange(first_, first_->next);
}

const ConstantForms::Entry* ConstantForms::FindLocked(const Key& key) const {
  const Entry* entry = first_;
  while (entry != nullptr && !(entry->key == key)) entry = entry->next;
  return entry;
}

RcRef<HostBuffer> ConstantForms::Find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = FindLocked(key);
  return entry == nullptr ? nullptr : entry->form;
}

void ConstantForms::Keep(const Key& key, RcRef<HostBuffer> form) {
  const std::lock_guard lock(mutex_);
  if (FindLocked(key) != nullptr) return;
  Entry* const entry = new (std::nothrow) Entry{key, std::move(form), first_};
  if (entry != nullptr) first_ = entry;
}

StatusOr<RcRef<HostBuffer>> ConstantBuffer::Wrap(const void* data, size_t size, std::function<void()> release) {
  auto buffer = RcRef<ConstantBuffer>::Take(new (std::nothrow) ConstantBuffer(data, size));
  if (!buffer) {
    if (release) release();
    return Status::OutOfMemory();
  }
  buffer->release_ = std::move(release);
  return RcRef<HostBuffer>(std::move(buffer));
}

ConstantBuffer::~ConstantBuffer() {
  if (release_) release_();
}

StatusOr<Tensor> AsConstant(const Tensor& tensor) {
  if (!tensor.IsA(kDenseHost) || tensor.IsInline()) return tensor;
  if (tensor.storage() && tensor.storage()->constant_forms() != nullptr) return tensor;
  TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer, ConstantBuffer::Wrap(tensor.data(), tensor.metadata().byte_size(),
                                                                         [storage = tensor.storage()] {}));
  return Tensor(tensor.metadata(), tensor.device(), kDenseHost, const_cast<void*>(tensor.data()), std::move(buffer));
}

}  // namespace tandem
