// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensor: metadata plus a payload whose layout its TensorType knows; small dense data lives inside it.

#ifndef TANDEM_TENSOR_H_
#define TANDEM_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "tandem/export.h"
#include "tandem/ref_counted.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

class ConstantForms;
class Device;

// The identity of a representation: dense_host, scalar_host, string_host, sparse_coo_host, a GPU's dense tensor. The
// set is open: whoever adds one defines a constant object of this class. Compared by address.
class TensorType {
 public:
  constexpr explicit TensorType(std::string_view name) : name_(name) {}
  TensorType(const TensorType&) = delete;
  TensorType& operator=(const TensorType&) = delete;
  std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

inline constexpr size_t kTensorDataAlignment = 64;  // of heap data on the CPU; what DLPack and TVM ask for

// Owner of a payload: host memory, a device buffer, the parts of a sparse tensor. Destroyed with its last reference.
class TANDEM_EXPORT TensorStorage : public RefCounted<TensorStorage> {
 public:
  // Whether the memory may be taken over for another result when this storage is referenced once (TH-5): not for
  // memory that someone outside the runtime also sees.
  bool is_external() const { return external_; }
  // What kernels keep of this storage's content (TH-10); null if they keep nothing.
  virtual ConstantForms* constant_forms() const { return nullptr; }
  // Before the content changes, which is when the memory is taken over: forgets what is kept of it.
  virtual void DropForms() {}

 protected:
  explicit TensorStorage(bool external = false) : external_(external) {}
  virtual ~TensorStorage() = default;
  // Frees the storage itself; allocators that place it inside their own block override it.
  virtual void Free() { delete this; }

 private:
  friend class RefCounted<TensorStorage>;
  void Destroy() { Free(); }
  bool external_;
};

// A value type without virtual functions. Copying shares the storage (or copies the small inline data); an available
// tensor is immutable (TH-5), so sharing is never observable. Not thread-safe to modify; safe to read from any thread.
class TANDEM_EXPORT Tensor {
 public:
  static constexpr size_t kInlineBytes = 64;

  // Without metadata and payload, for KernelOp.
  explicit Tensor(const Device* device) : device_(device) {}
  // Without payload: what a pending result is before its kernel ran.
  Tensor(const TensorMetadata& metadata, const Device* device) : metadata_(metadata), device_(device) {}
  // With a payload in `storage`; `data` is the address of the first element for host tensors, opaque otherwise.
  Tensor(const TensorMetadata& metadata, const Device* device, const TensorType& type, void* data,
         RcRef<TensorStorage> storage)
      : metadata_(metadata), device_(device), type_(&type), data_(data), storage_(std::move(storage)) {}

  Tensor(const Tensor& other)
      : metadata_(other.metadata_),
        device_(other.device_),
        type_(other.type_),
        data_(other.data_),
        storage_(other.storage_) {
    CopyInline(other);
  }
  Tensor(Tensor&& other) noexcept
      : metadata_(other.metadata_),
        device_(other.device_),
        type_(other.type_),
        data_(other.data_),
        storage_(std::move(other.storage_)) {
    CopyInline(other);
  }
  Tensor& operator=(const Tensor& other) { return *this = Tensor(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    metadata_ = other.metadata_;
    device_ = other.device_;
    type_ = other.type_;
    data_ = other.data_;
    storage_ = std::move(other.storage_);
    CopyInline(other);
    return *this;
  }

  const TensorMetadata& metadata() const { return metadata_; }
  const TensorShape& shape() const { return metadata_.shape; }
  DType dtype() const { return metadata_.dtype; }
  int64_t num_elements() const { return metadata_.num_elements(); }
  const Device* device() const { return device_; }

  bool HasPayload() const { return type_ != nullptr; }
  const TensorType& type() const { return *type_; }
  bool IsA(const TensorType& type) const { return type_ == &type; }

  const void* data() const { return data_; }
  void* mutable_data() { return data_; }
  const RcRef<TensorStorage>& storage() const { return storage_; }
  bool IsInline() const { return data_ == inline_data_; }

  // Gives a tensor without payload one whose data is the inline bytes, uninitialised. `bytes` is at most kInlineBytes.
  void* UseInlineData(const TensorType& type) {
    type_ = &type;
    return data_ = inline_data_;
  }
  // Gives a tensor without payload one in `storage`.
  void UseStorage(const TensorType& type, void* data, RcRef<TensorStorage> storage) {
    type_ = &type;
    data_ = data;
    storage_ = std::move(storage);
  }
  // Gives a tensor without payload that of `other`, which has the same metadata. Own metadata and device are not even
  // written: other threads may be reading them through handles to the pending result.
  void TakePayload(Tensor other) {
    type_ = other.type_;
    data_ = other.data_;
    storage_ = std::move(other.storage_);
    CopyInline(other);
  }
  // Takes the payload away again from a tensor that nobody has seen it in.
  void DropPayload() {
    type_ = nullptr;
    data_ = nullptr;
    storage_.reset();
  }

 private:
  friend class KernelOp;  // fills in the metadata of a tensor that nobody else has seen

// The bytes that a small payload leaves are copied with it, whatever they are.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
  void CopyInline(const Tensor& other) {
    if (!other.IsInline()) return;
    std::memcpy(inline_data_, other.inline_data_, kInlineBytes);
    data_ = inline_data_;
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  TensorMetadata metadata_;
  const Device* device_;
  const TensorType* type_ = nullptr;
  void* data_ = nullptr;
  RcRef<TensorStorage> storage_;
  alignas(8) unsigned char inline_data_[kInlineBytes];
};

}  // namespace tandem

#endif  // TANDEM_TENSOR_H_
