// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GrowingArray: elements appended one by one, as many as a file says: running out of memory is a return value.

#ifndef TANDEM_LIB_GROWING_ARRAY_H_
#define TANDEM_LIB_GROWING_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace tandem {

// Not thread-safe. Appending moves the elements.
template <typename T>
class GrowingArray {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  // False if memory is exhausted.
  [[nodiscard]] bool Append(const T& element) {
    if (size_ == capacity_ && !Grow()) return false;
    elements_[size_++] = element;
    return true;
  }
  T& back() { return elements_[size_ - 1]; }
  std::span<T> span() { return {elements_.get(), size_}; }
  std::span<const T> span() const { return {elements_.get(), size_}; }

 private:
  bool Grow() {
    if (capacity_ > PTRDIFF_MAX / sizeof(T) / 2) return false;
    const size_t capacity = std::max<size_t>(16, 2 * capacity_);
    std::unique_ptr<T[]> grown(new (std::nothrow) T[capacity]);
    if (grown == nullptr) return false;
    std::copy_n(elements_.get(), size_, grown.get());
    elements_ = std::move(grown);
    capacity_ = capacity;
    return true;
  }

  std::unique_ptr<T[]> elements_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_LIB_GROWING_ARRAY_H_
