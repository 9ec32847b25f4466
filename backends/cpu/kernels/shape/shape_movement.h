// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels that move elements without looking at them share: elements by size, and memory that two tensors share.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_MOVEMENT_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_MOVEMENT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "kernels/task_memory.h"
#include "tandem/kernel.h"

namespace tandem::cpu {

class StridedCopy;

// The elements of an argument as bytes. Dense tensors are read in place, scalar host tensors expanded; of strings the
// elements are std::string_views into the tensor.
class ElementSource {
 public:
  // InvalidArgument for other types of tensors; ResourceExhausted.
  Status Init(KernelFrame& frame, size_t arg);

  // The dense tensor that is read; null for strings.
  const Tensor* dense() const { return dense_; }
  const std::byte* data() const { return data_; }
  size_t element_size() const { return element_size_; }

 private:
  const Tensor* dense_ = nullptr;
  const std::byte* data_ = nullptr;
  size_t element_size_ = 0;
  std::optional<Tensor> expanded_;
  TaskArray<std::string_view> strings_;
};

// The elements of a result to be written, by the same rules.
class ElementSink {
 public:
  // Memory for result `i`, by its metadata. False after a failure, which is then already the result's error.
  [[nodiscard]] bool Init(KernelFrame& frame, size_t i);
  // To be called after all elements are written; makes the tensor of a string result.
  void Finish(KernelFrame& frame);

  std::byte* data() const { return data_; }

 private:
  size_t result_ = 0;
  std::byte* data_ = nullptr;
  TaskArray<std::string_view> strings_;
};

// An element of 16 bytes.
struct Bytes16 {
  uint64_t halves[2];
};

// Calls fn(std::type_identity<T>()) with an unsigned type, or Bytes16, of 1, 2, 4, 8 or 16 bytes.
template <typename Fn>
decltype(auto) WithElementType(size_t element_size, Fn fn) {
  switch (element_size) {
    case 1:
      return fn(std::type_identity<uint8_t>());
    case 2:
      return fn(std::type_identity<uint16_t>());
    case 4:
      return fn(std::type_identity<uint32_t>());
    case 8:
      return fn(std::type_identity<uint64_t>());
    default:
      return fn(std::type_identity<Bytes16>());
  }
}

// Copies `bytes` bytes, more than kHalf and at most 2 * kHalf of them, as two halves that may overlap. What is copied
// must not overlap what is written.
template <size_t kHalf>
void CopyHalves(std::byte* to, const std::byte* from, size_t bytes) {
  struct Half {
    std::byte bytes[kHalf];
  };
  Half first;
  Half last;
  std::memcpy(&first, from, kHalf);
  std::memcpy(&last, from + bytes - kHalf, kHalf);
  std::memcpy(to, &first, kHalf);
  std::memcpy(to + bytes - kHalf, &last, kHalf);
}

// The most bytes that CopyHalves should copy; more are better left to memcpy.
inline constexpr size_t kMaxShortBytes = 128;

// Calls fn(std::integral_constant<size_t, half>()) with the half for CopyHalves of 2 to kMaxShortBytes bytes.
template <typename Fn>
decltype(auto) WithHalf(size_t bytes, Fn fn) {
  if (bytes <= 2) return fn(std::integral_constant<size_t, 1>());
  if (bytes <= 4) return fn(std::integral_constant<size_t, 2>());
  if (bytes <= 8) return fn(std::integral_constant<size_t, 4>());
  if (bytes <= 16) return fn(std::integral_constant<size_t, 8>());
  if (bytes <= 32) return fn(std::integral_constant<size_t, 16>());
  if (bytes <= 64) return fn(std::integral_constant<size_t, 32>());
  return fn(std::integral_constant<size_t, 64>());
}

// Writes `count` copies of the element at `value`.
void FillElements(std::byte* out, int64_t count, const void* value, size_t element_size);

// Bytes that one core copies per nanosecond, about.
inline constexpr double kCopyBytesPerNanosecond = 10;

// Cost of a kernel that writes each element of its results once.
double MovementCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results);

// Distances of neighbours in each dimension of a row-major tensor, in elements.
struct RowMajorStrides {
  explicit RowMajorStrides(const TensorShape& shape);
  int64_t operator[](int i) const { return values[i]; }
  int64_t values[TensorShape::kMaxRank];
};

// Whether the tensor's elements are in row-major order in memory or one for all, so that WithMetadata makes sense.
bool IsReshapable(const Tensor& tensor);
// The same elements under another metadata, of the same dtype and number of elements; shares the storage.
Tensor WithMetadata(const Tensor& tensor, const TensorMetadata& metadata);

// Whether `size` bytes at `offset` of a dense tensor are better shared than copied: they are aligned as tensor data
// must be, and large enough to be worth keeping the whole storage alive.
bool MayShare(const Tensor& dense, size_t offset, size_t size);
// The tensor whose elements begin `offset` bytes into `dense`; MayShare must have allowed it.
Tensor MakeView(const Tensor& dense, const TensorMetadata& metadata, size_t offset);

// If argument `arg` is a scalar host tensor: makes every result one, with the same value, and returns true.
bool SpreadScalar(KernelFrame& frame, size_t arg);
// If the first result has no elements, and so none of the results has: makes them, and returns true.
bool GiveEmpty(KernelFrame& frame);
// Result 0 is argument 0 with another shape; shares its memory.
Status ReshapeArgument(KernelFrame& frame);
// Result 0 is what `copy` makes of all elements of `source`, argument 0, of which it reads the one at `offset` first.
Status RunMovement(KernelFrame& frame, const ElementSource& source, const StridedCopy& copy, int64_t offset = 0);
// Result `i` is the block that `copy` takes out of `source` from element `offset` on; shares its memory if it may.
void TakeBlock(KernelFrame& frame, size_t i, const ElementSource& source, int64_t offset, const StridedCopy& copy);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SHAPE_SHAPE_MOVEMENT_H_
