// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LinkedQueue: objects in a row, linked by themselves, so that adding one needs no memory.

#ifndef TANDEM_GPU_LINKED_QUEUE_H_
#define TANDEM_GPU_LINKED_QUEUE_H_

#include <memory>
#include <utility>

namespace tandem::gpu {

// Owns its elements. T has a member `std::unique_ptr<T> next`, which is the queue's while the element is in it.
// Move-only. Not thread-safe.
template <typename T>
class LinkedQueue {
 public:
  LinkedQueue() = default;
  LinkedQueue(LinkedQueue&& other) noexcept
      : first_(std::move(other.first_)), last_(std::exchange(other.last_, nullptr)) {}
  LinkedQueue& operator=(LinkedQueue&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    return *this;
  }
  ~LinkedQueue() { clear(); }

  bool empty() const { return first_ == nullptr; }
  // Null if empty. The next element is at its `next`.
  T* first() const { return first_.get(); }
  T* last() const { return last_; }

  void PushFront(std::unique_ptr<T> element) {
    if (empty()) last_ = element.get();
    element->next = std::move(first_);
    first_ = std::move(element);
  }
  void PushBack(std::unique_ptr<T> element) {
    T* const added = element.get();
    (empty() ? first_ : last_->next) = std::move(element);
    last_ = added;
  }
  // Null if empty.
  std::unique_ptr<T> PopFront() { return empty() ? nullptr : Unlink(first_, nullptr); }
  // `element` is in the queue: it is looked for from the first one on.
  std::unique_ptr<T> Remove(const T& element) {
    T* before = nullptr;
    std::unique_ptr<T>* link = &first_;
    while (link->get() != &element) {
      before = link->get();
      link = &before->next;
    }
    return Unlink(*link, before);
  }
  void clear() {
    while (!empty()) PopFront();
  }

 private:
  std::unique_ptr<T> Unlink(std::unique_ptr<T>& link, T* before) {
    std::unique_ptr<T> element = std::move(link);
    link = std::move(element->next);
    if (last_ == element.get()) last_ = before;
    return element;
  }

  std::unique_ptr<T> first_;
  T* last_ = nullptr;
};

}  // namespace tandem::gpu

#endif  // TANDEM_GPU_LINKED_QUEUE_H_
