// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A list for each content: kernels make one form of most.

#include "tandem/constant_buffer.h"

#include <new>
#include <utility>

#include "tandem/host_tensors.h"

namespace tandem {

struct ConstantForms::Entry {
  Key key;
  RcRef<HostBuffer> form;  // null if it has been asked for, but not kept
  Entry* next;
};

ConstantForms::~ConstantForms() { Drop(); }

bool ConstantForms::Drop() {
  Entry* entry;
  {
    const std::lock_guard lock(mutex_);
    entry = std::exchange(first_, nullptr);
  }
  bool had_form = false;
  while (entry != nullptr) {
    had_form = had_form || entry->form;
    delete std::exchange(entry, entry->next);
  }
  return had_form;
}

ConstantForms::Entry* ConstantForms::FindLocked(const Key& key) const {
  Entry* entry = first_;
  while (entry != nullptr && !(entry->key == key)) entry = entry->next;
  return entry;
}

bool ConstantForms::IsWanted(const Key& key, size_t bytes) {
  if (is_of_constant()) return true;
  {
    const std::lock_guard lock(mutex_);
    const Entry* const entry = FindLocked(key);
    if (entry == nullptr) {
      Entry* const first_use = new (std::nothrow) Entry{key, nullptr, first_};
      if (first_use != nullptr) first_ = first_use;
      return false;
    }
    if (entry->form) return true;
  }
  return HasRoomFor(bytes);
}

RcRef<HostBuffer> ConstantForms::Find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = FindLocked(key);
  return entry == nullptr ? nullptr : entry->form;
}

void ConstantForms::Keep(const Key& key, RcRef<HostBuffer> form) {
  const std::lock_guard lock(mutex_);
  Entry* entry = FindLocked(key);
  if (entry != nullptr) {
    if (!entry->form) entry->form = std::move(form);
    return;
  }
  entry = new (std::nothrow) Entry{key, std::move(form), first_};
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
  const ConstantForms* const forms = tensor.storage() ? tensor.storage()->constant_forms() : nullptr;
  if (forms != nullptr && forms->is_of_constant()) return tensor;
  TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer, ConstantBuffer::Wrap(tensor.data(), tensor.metadata().byte_size(),
                                                                         [storage = tensor.storage()] {}));
  return Tensor(tensor.metadata(), tensor.device(), kDenseHost, const_cast<void*>(tensor.data()), std::move(buffer));
}

}  // namespace tandem
