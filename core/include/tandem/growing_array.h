// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GrowingArray: elements in a row, to which more are added; running out of memory is a return value.

#ifndef TANDEM_GROWING_ARRAY_H_
#define TANDEM_GROWING_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace tandem {

// For the path of an op call, where containers of the standard library would end the program if memory is exhausted.
// Move-only; elements are moved when it grows. Not thread-safe.
template <typename T>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { Swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~GrowingArray() {
    clear();
    Free(data_);
  }

  // Room for `capacity` elements in all: so many can be added without failing. False if memory is exhausted.
  [[nodiscard]] bool Reserve(size_t capacity) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (capacity <= capacity_) return true;
    capacity = std::max(capacity, std::max<size_t>(2 * capacity_, 4));
    if (capacity > PTRDIFF_MAX / sizeof(T)) return false;
    T* const grown = static_cast<T*>(operator new(capacity * sizeof(T), std::nothrow));
    if (grown == nullptr) return false;
    std::uninitialized_move_n(data_, size_, grown);
    std::destroy_n(data_, size_);
    Free(std::exchange(data_, grown));
    capacity_ = capacity;
    return true;
  }
  // The new last element; null, and `element` is lost, if memory is exhausted.
  [[nodiscard]] T* Append(T element) {
    if (!Reserve(size_ + 1)) return nullptr;
    return new (static_cast<void*>(data_ + size_++)) T(std::move(element));
  }
  // The new element at index `i`, which is at most the size; null if memory is exhausted.
  [[nodiscard]] T* Insert(size_t i, T element) {
    if (Append(std::move(element)) == nullptr) return nullptr;
    std::rotate(data_ + i, data_ + size_ - 1, data_ + size_);
    return data_ + i;
  }
  T TakeLast() {
    T last = std::move(data_[--size_]);
    std::destroy_at(data_ + size_);
    return last;
  }
  void clear() { std::destroy_n(data_, std::exchange(size_, 0)); }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  static void Free(T* data) { operator delete(static_cast<void*>(data)); }
  void Swap(GrowingArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_GROWING_ARRAY_H_
