// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Intrusive reference counting: RefCounted<T> holds the count, RcRef<T> is one reference.

#ifndef TANDEM_REF_COUNTED_H_
#define TANDEM_REF_COUNTED_H_

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace tandem {

// Base of objects that are destroyed with their last reference. A new object has one reference, owned by its creator.
// Any thread may add and drop references. `Derived` provides the destructor, or `void Destroy()` if it is not
// allocated by plain `new`.
template <typename Derived>
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }

  void DropRef() const {
    // A sole owner cannot race with anyone: the cheap load replaces the read-modify-write in the common case.
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const_cast<Derived*>(static_cast<const Derived*>(this))->Destroy();
    }
  }

  // True if the caller's reference is the only one, so that nobody else can reach the object.
  bool IsUnique() const { return refs_.load(std::memory_order_acquire) == 1; }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;
  void Destroy() { delete static_cast<Derived*>(this); }

 private:
  mutable std::atomic<uint32_t> refs_{1};
};

// One reference to a T, or null. Move-only semantics for passing ownership; copying adds a reference.
template <typename T>
class RcRef {
 public:
  RcRef() = default;
  RcRef(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  RcRef(const RcRef& other) : ptr_(other.ptr_) {
    if (ptr_ != nullptr) ptr_->AddRef();
  }
  RcRef(RcRef&& other) noexcept : ptr_(std::exchange(other.ptr_, nullptr)) {}
  template <typename U>
  requires std::is_convertible_v<U*, T*> RcRef(RcRef<U> other)
      : ptr_(other.release()) {}  // NOLINT(google-explicit-constructor)
  ~RcRef() { reset(); }

  RcRef& operator=(RcRef other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }

  // Takes over a reference that the caller owns.
  static RcRef Take(T* ptr) {
    RcRef ref;
    ref.ptr_ = ptr;
    return ref;
  }
  // Adds a reference of its own.
  static RcRef Share(T* ptr) {
    if (ptr != nullptr) ptr->AddRef();
    return Take(ptr);
  }

  void reset() {
    if (T* ptr = std::exchange(ptr_, nullptr)) ptr->DropRef();
  }
  // Gives the reference to the caller.
  [[nodiscard]] T* release() { return std::exchange(ptr_, nullptr); }

  T* get() const { return ptr_; }
  T* operator->() const {
    assert(ptr_ != nullptr);
    return ptr_;
  }
  T& operator*() const { return *operator->(); }
  explicit operator bool() const { return ptr_ != nullptr; }
  friend bool operator==(const RcRef& a, const RcRef& b) { return a.ptr_ == b.ptr_; }

 private:
  T* ptr_ = nullptr;
};

// Allocates a T; null when memory is exhausted.
template <typename T, typename... Args>
RcRef<T> MakeRef(Args&&... args) {
  return RcRef<T>::Take(new (std::nothrow) T(std::forward<Args>(args)...));
}

}  // namespace tandem

#endif  // TANDEM_REF_COUNTED_H_
