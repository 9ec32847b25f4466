// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorHandle: what op calls take and give: a tensor that may still be pending, and its metadata.

#ifndef TANDEM_TENSOR_HANDLE_H_
#define TANDEM_TENSOR_HANDLE_H_

#include <cassert>
#include <string_view>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/device.h"
#include "tandem/export.h"
#include "tandem/message.h"
#include "tandem/tensor.h"

namespace tandem {

class ExecutionContext;

using TensorValue = ConcreteAsyncValue<Tensor>;

// Move-only, two or three words (TH-3). Known metadata is kept beside the tensor in the tensor's own async value, which
// a pending result has "constructed" with it; only metadata that is itself pending needs an async value of its own.
// A handle is used by one thread at a time; handles to the same tensor may be used by different threads.
class TANDEM_EXPORT TensorHandle {
 public:
  // Null: may be destroyed, assigned and asked IsValid().
  TensorHandle() = default;
  // `value` is available, or constructed (its metadata is known). `device` is where the tensor is or will be.
  TensorHandle(AsyncValueRef<Tensor> value, const Device* device) : value_(std::move(value)), device_(device) {}
  // Metadata that comes later. Whoever resolves `value` has resolved `metadata` before, or resolves both to an error.
  TensorHandle(AsyncValueRef<TensorMetadata> metadata, AsyncValueRef<Tensor> value, const Device* device)
      : value_(std::move(value)), metadata_(std::move(metadata)), device_(device) {}

  static TensorHandle MakeAvailable(Tensor tensor) {
    const Device* device = tensor.device();
    return TensorHandle(AsyncValueRef<Tensor>::MakeAvailable(std::move(tensor)), device);
  }
  static TensorHandle MakeError(Status error) {
    return TensorHandle(AsyncValueRef<Tensor>::MakeError(std::move(error)), nullptr);
  }

  TensorHandle(TensorHandle&& other) noexcept
      : value_(std::move(other.value_)),
        metadata_(std::move(other.metadata_)),
        device_(std::exchange(other.device_, nullptr)) {}
  TensorHandle& operator=(TensorHandle&& other) noexcept {
    value_ = std::move(other.value_);
    metadata_ = std::move(other.metadata_);
    device_ = std::exchange(other.device_, nullptr);
    return *this;
  }

  // Adds references; never copies data.
  TensorHandle CopyRef() const { return TensorHandle(metadata_.CopyRef(), value_.CopyRef(), device_); }
  void reset() {
    value_.reset();
    metadata_.reset();
    device_ = nullptr;
  }

  bool IsValid() const { return value_.IsValid(); }

  // The rest needs a valid handle.

  bool IsAvailable() const { return value_.IsAvailable() || IsMetadataError(); }
  bool IsConcrete() const { return value_.IsConcrete(); }
  // An error in the metadata is one of the tensor, which may become it a moment later (TH-4).
  bool IsError() const { return value_.IsError() || IsMetadataError(); }
  const Status& GetError() const { return value_.IsError() ? value_.GetError() : metadata_.GetError(); }
  // The tensor; the handle must be concrete.
  const Tensor& tensor() const { return value_.get(); }
  const AsyncValueRef<Tensor>& value() const { return value_; }

  // Whether `metadata()` may be called: it is known, even if the tensor is pending or has become an error (TH-4).
  bool IsMetadataAvailable() const { return FindMetadata() != nullptr; }
  const TensorMetadata& metadata() const {
    const TensorMetadata* metadata = FindMetadata();
    assert(metadata != nullptr);
    return *metadata;
  }
  // Resolves when the metadata is known or will never be: the metadata's own value, or the tensor's.
  AsyncValue* metadata_value() const { return metadata_.IsValid() ? metadata_.value() : value_.value(); }

  // Where the tensor is or will be; null for errors without a place.
  const Device* device() const { return device_; }

  // This tensor on `device` in representation `type` (TH-6): the same reference if it is that already, an error if this
  // is one, otherwise a copy that may become available later, with its metadata known at once if this one's is. The
  // conversion is an op call of its own, "tandem.Transfer": it is traced, can be cancelled and counts as pending like
  // any other.
  TensorHandle TransferTo(const ExecutionContext& exec, const Device& device, const TensorType& type) const;
  TensorHandle TransferTo(const ExecutionContext& exec, const Device& device) const {
    return TransferTo(exec, device, device.dense_type());
  }

 private:
  const TensorMetadata* FindMetadata() const;
  bool IsMetadataError() const { return metadata_.IsValid() && metadata_.IsError(); }

  AsyncValueRef<Tensor> value_;
  AsyncValueRef<TensorMetadata> metadata_;
  const Device* device_ = nullptr;
};

static_assert(sizeof(TensorHandle) == 3 * sizeof(void*));  // 24 bytes on 64-bit targets, 12 on 32-bit ones

// "null", "f32[2,3] on cpu", "pending f32[2,3] on cpu", "pending, metadata pending", "error: ..." (TH-7)
TANDEM_EXPORT void AppendTo(MessageBuilder& out, const TensorHandle& handle);

}  // namespace tandem

#endif  // TANDEM_TENSOR_HANDLE_H_
