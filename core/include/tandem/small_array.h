// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SmallArray: an array whose size is set once, on the stack up to N elements; running out of memory is a return value.

#ifndef TANDEM_SMALL_ARRAY_H_
#define TANDEM_SMALL_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace tandem {

// Elements for the duration of a function. Not thread-safe.
template <typename T, size_t N>
class SmallArray {
 public:
  SmallArray() = default;
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;
  ~SmallArray() {
    if (heap_ == nullptr) {
      std::destroy_n(data(), size_);
    } else {
      delete[] heap_;
    }
  }

  // Gives it `size` default-constructed elements; called once. False if memory is exhausted.
  [[nodiscard]] bool Init(size_t size) {
    if (size <= N) {
      std::uninitialized_default_construct_n(reinterpret_cast<T*>(inline_), size);
    } else {
      if (size <= PTRDIFF_MAX / sizeof(T)) heap_ = new (std::nothrow) T[size];
      if (heap_ == nullptr) return false;
    }
    size_ = size;
    return true;
  }

  size_t size() const { return size_; }
  T* data() { return heap_ == nullptr ? std::launder(reinterpret_cast<T*>(inline_)) : heap_; }
  const T* data() const { return const_cast<SmallArray*>(this)->data(); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::span<T> span() { return {data(), size_}; }

 private:
  size_t size_ = 0;
  T* heap_ = nullptr;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace tandem

#endif  // TANDEM_SMALL_ARRAY_H_
