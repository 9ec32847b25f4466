// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ByteBuffer: owned bytes whose size comes from a file, so that failing to get them is an error and not the end.

#ifndef TANDEM_EXAMPLES_FILES_BYTE_BUFFER_H_
#define TANDEM_EXAMPLES_FILES_BYTE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "tandem/status.h"

namespace files {

// Moves only; a moved-from buffer is empty. Aligned for every element type.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, size_t{0})) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, size_t{0});
    return *this;
  }

  // `size` uninitialised bytes; resource exhausted if they cannot be had. The caller has checked `size` against what
  // its file really holds.
  static tandem::StatusOr<ByteBuffer> Allocate(uint64_t size) {
    ByteBuffer buffer;
    if (size <= static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max())) {
      buffer.data_.reset(new (std::nothrow) uint8_t[static_cast<size_t>(size)]);
    }
    if (buffer.data_ == nullptr) {
      return tandem::ResourceExhausted("expected ", size, " bytes of memory, but they cannot be had");
    }
    buffer.size_ = static_cast<size_t>(size);
    return buffer;
  }

  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<const uint8_t> bytes() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0;
};

}  // namespace files

#endif  // TANDEM_EXAMPLES_FILES_BYTE_BUFFER_H_
