// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The tensor types of the host: dense, scalar (one value for a whole shape), string and sparse (coordinate list).

#ifndef TANDEM_HOST_TENSORS_H_
#define TANDEM_HOST_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/export.h"
#include "tandem/host_allocator.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem {

// Row-major elements without gaps, in the tensor itself (up to Tensor::kInlineBytes) or in a HostBuffer.
TANDEM_EXPORT inline constexpr TensorType kDenseHost{"dense_host"};
// One element, in the tensor itself, that stands for every element of the shape.
TANDEM_EXPORT inline constexpr TensorType kScalarHost{"scalar_host"};
// Immutable strings in row-major order; see StringHostView.
TANDEM_EXPORT inline constexpr TensorType kStringHost{"string_host"};
// Coordinates and values of the elements that are not zero; see SparseCooView.
TANDEM_EXPORT inline constexpr TensorType kSparseCooHost{"sparse_coo_host"};

// Whether the type is one of the four above.
TANDEM_EXPORT bool IsHostType(const TensorType& type);

// A dense tensor with uninitialised elements. The metadata must have a fixed-size dtype; it is checked (TH-8).
TANDEM_EXPORT StatusOr<Tensor> AllocateDense(const TensorMetadata& metadata, const Device& host,
                                             HostAllocator& allocator);
// Gives `tensor`, which has valid metadata of a fixed-size dtype but no payload, uninitialised dense elements.
TANDEM_EXPORT Status AllocateDenseIn(Tensor& tensor, HostAllocator& allocator);
// A dense tensor with a copy of `bytes`, whose size must be the metadata's. Of bool, every byte but 0 is copied as 1.
TANDEM_EXPORT StatusOr<Tensor> MakeDense(const TensorMetadata& metadata, std::span<const std::byte> bytes,
                                         const Device& host, HostAllocator& allocator);
// Ok, or InvalidArgument that tells the first byte which is no element of `dtype`: of bool, all but 0 and 1. For memory
// from outside that a tensor is to show without copying it; kernels rely on it.
TANDEM_EXPORT Status CheckElements(DType dtype, std::span<const std::byte> bytes);
// A scalar host tensor of the shape; `value` points to one element of the metadata's dtype.
TANDEM_EXPORT StatusOr<Tensor> MakeScalar(const TensorMetadata& metadata, const void* value, const Device& host);
// A string tensor with copies of `strings`, one per element of the shape.
TANDEM_EXPORT StatusOr<Tensor> MakeString(const TensorShape& shape, std::span<const std::string_view> strings,
                                          const Device& host, HostAllocator& allocator);
// A sparse tensor. `indices` is dense i64 [n, rank] with every row inside the shape, in strictly ascending row-major
// order (so no element twice); `values` is dense [n] of the metadata's dtype.
TANDEM_EXPORT StatusOr<Tensor> MakeSparseCoo(const TensorMetadata& metadata, Tensor indices, Tensor values,
                                             const Device& host);

// Elements of a dense tensor. T must be the dtype's C++ type.
template <typename T>
std::span<const T> DenseData(const Tensor& tensor) {
  return {static_cast<const T*>(tensor.data()), static_cast<size_t>(tensor.num_elements())};
}
template <typename T>
std::span<T> MutableDenseData(Tensor& tensor) {
  return {static_cast<T*>(tensor.mutable_data()), static_cast<size_t>(tensor.num_elements())};
}

// Reads a string tensor. Layout of its buffer: num_elements + 1 offsets (u64) into the bytes behind them.
class StringHostView {
 public:
  explicit StringHostView(const Tensor& tensor)
      : offsets_(static_cast<const uint64_t*>(tensor.data())), size_(tensor.num_elements()) {}
  int64_t size() const { return size_; }
  std::string_view operator[](int64_t i) const {
    const char* bytes = reinterpret_cast<const char*>(offsets_ + size_ + 1);
    return {bytes + offsets_[i], static_cast<size_t>(offsets_[i + 1] - offsets_[i])};
  }

 private:
  const uint64_t* offsets_;
  int64_t size_;
};

// Reads a sparse tensor.
class TANDEM_EXPORT SparseCooView {
 public:
  explicit SparseCooView(const Tensor& tensor);
  // i64 [n, rank]
  const Tensor& indices() const { return *indices_; }
  // [n]
  const Tensor& values() const { return *values_; }
  int64_t num_values() const { return values_->num_elements(); }

 private:
  const Tensor* indices_;
  const Tensor* values_;
};

// Conversions between the host types; what is already of the target type is returned as it is. Converting drops
// nothing: scalar from dense needs all elements to be equal, bit for bit, and fails otherwise.
TANDEM_EXPORT StatusOr<Tensor> ToDense(const Tensor& tensor, HostAllocator& allocator);
TANDEM_EXPORT StatusOr<Tensor> ToScalar(const Tensor& tensor);
TANDEM_EXPORT StatusOr<Tensor> ToSparseCoo(const Tensor& tensor, HostAllocator& allocator);

}  // namespace tandem

#endif  // TANDEM_HOST_TENSORS_H_
