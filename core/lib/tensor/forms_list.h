// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FormsList: what kernels keep with the buffers of one allocator (TH-10), so that it can be dropped when memory is
// short.

#ifndef TANDEM_CORE_LIB_TENSOR_FORMS_LIST_H_
#define TANDEM_CORE_LIB_TENSOR_FORMS_LIST_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "tandem/constant_buffer.h"

namespace tandem::internal {

// Those of one buffer.
class ListedForms : public ConstantForms {
 public:
  ListedForms() : ConstantForms(KeptFrom::kSecondUse) {}

 private:
  friend class FormsList;

  ListedForms* previous_ = nullptr;  // this and the next are guarded by the list
  ListedForms* next_ = nullptr;
};

// Does not own what is in it. Thread-safe. DropAll frees buffers: no lock of their allocator may be held.
class FormsList {
 public:
  void Add(ListedForms* forms) {
    const std::lock_guard lock(mutex_);
    forms->next_ = first_;
    if (first_ != nullptr) first_->previous_ = forms;
    first_ = forms;
  }
  void Remove(ListedForms* forms) {
    const std::lock_guard lock(mutex_);
    (forms->previous_ == nullptr ? first_ : forms->previous_->next_) = forms->next_;
    if (forms->next_ != nullptr) forms->next_->previous_ = forms->previous_;
  }
  // Drops all forms; true if there were some.
  bool DropAll() {
    const std::lock_guard lock(mutex_);
    bool had_forms = false;
    for (ListedForms* forms = first_; forms != nullptr; forms = forms->next_) had_forms |= forms->Drop();
    return had_forms;
  }

  // Up to how many bytes in use further forms are kept.
  size_t room() const { return room_.load(std::memory_order_relaxed); }
  // After forms have been in the way of `bytes` in use: within half of that, and each time within half as much, so that
  // they are not made again and again to be dropped by the next call.
  void Narrow(size_t bytes) { room_.store(std::min(room() / 2, bytes / 2), std::memory_order_relaxed); }
  void Widen() { room_.store(SIZE_MAX, std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  ListedForms* first_ = nullptr;
  std::atomic<size_t> room_{SIZE_MAX};
};

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_TENSOR_FORMS_LIST_H_
