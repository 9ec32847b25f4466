// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors of the C++ face: waiting, and reading their elements.

#include "tandem/eager_tensor.h"

#include <utility>

#include "tandem/checked_cast.h"
#include "tandem/eager.h"
#include "tandem/logging_op_handler.h"

namespace tandem::eager {

namespace {

Status NullTensor() { return InvalidArgument("expected a tensor, got a null one"); }

}  // namespace

Status Tensor::Await(std::source_location where) const {
  if (!IsValid()) return NullTensor().WithContext("", where);
  if (handle_.IsError()) return handle_.GetError();  // also of tensors without a runtime
  return runtime_->host().Await(handle_);
}

StatusOr<TensorMetadata> Tensor::Metadata(std::source_location where) const {
  if (!IsValid()) return NullTensor().WithContext("", where);
  if (!handle_.IsMetadataAvailable()) {
    const AsyncValue* value = handle_.metadata_value();
    TANDEM_RETURN_IF_ERROR(runtime_->host().Await({&value, 1}));
  }
  if (handle_.IsMetadataAvailable()) return handle_.metadata();
  return handle_.metadata_value()->GetError();
}

StatusOr<const tandem::Tensor*> Tensor::AwaitDense(DType dtype, std::source_location where) const {
  TANDEM_RETURN_IF_ERROR(Await(where));
  const tandem::Tensor& tensor = handle_.tensor();
  if (tensor.dtype() != dtype) {
    return InvalidArgument("expected a tensor of ", dtype, ", got ", tensor.metadata()).WithContext("", where);
  }
  if (tensor.IsA(kDenseHost)) return &tensor;
  return InvalidArgument("expected a dense tensor of the host, got ", tensor.metadata(), " as ", tensor.type().name())
      .WithContext("", where);
}

StatusOr<tandem::Tensor> Tensor::AwaitOnHost() const {
  const tandem::Tensor& tensor = handle_.tensor();
  HostContext& host = runtime_->host();
  if (tensor.device() != &host.device()) {
    const TensorHandle here = handle_.TransferTo(ExecutionContext(host, Location()), host.device());
    TANDEM_RETURN_IF_ERROR(host.Await(here));
    return here.tensor();
  }
  if (tensor.IsA(kStringHost)) return tensor;
  return ToDense(tensor, host.allocator());
}

StatusOr<tandem::Tensor> Tensor::AwaitElements(DType dtype, bool only_one, std::source_location where) const {
  TANDEM_RETURN_IF_ERROR(Await(where));
  const TensorMetadata& metadata = handle_.tensor().metadata();
  if (only_one && metadata.num_elements() != 1) {
    return InvalidArgument("expected a tensor with one element, got ", metadata).WithContext("", where);
  }
  StatusOr<tandem::Tensor> here = AwaitOnHost();
  if (here.ok()) here = CheckedCast(*here, dtype, "element", runtime_->host().allocator());
  if (here.ok()) return here;
  return here.status().WithContext("", where);
}

Tensor Tensor::To(const Device& device, std::source_location where) const {
  // One without a runtime is an error, which it stays; a null one becomes one.
  if (runtime_ == nullptr) {
    if (IsValid()) return *this;
    return Tensor(nullptr, TensorHandle::MakeError(NullTensor().WithContext("", where)));
  }
  return Tensor(runtime_, handle_.TransferTo(runtime_->CallContext(where), device));
}

template <typename Managed>
StatusOr<Managed*> Tensor::Export(StatusOr<Managed*> (*to_dlpack)(const tandem::Tensor&, HostAllocator&),
                                  std::source_location where) const {
  TANDEM_RETURN_IF_ERROR(Await(where));
  const StatusOr<tandem::Tensor> here = AwaitOnHost();
  if (!here.ok()) return here.status().WithContext("", where);
  StatusOr<Managed*> managed = to_dlpack(*here, runtime_->host().allocator());
  if (!managed.ok()) return managed.status().WithContext("", where);
  return managed;
}

StatusOr<DLManagedTensorVersioned*> Tensor::ToDlpack(std::source_location where) const {
  return Export(&tandem::ToDlpack, where);
}

StatusOr<DLManagedTensor*> Tensor::ToUnversionedDlpack(std::source_location where) const {
  return Export(&tandem::ToUnversionedDlpack, where);
}

StatusOr<DLManagedTensorVersioned*> Tensor::ShareByDlpack(int64_t stream, std::source_location where) const {
  TANDEM_RETURN_IF_ERROR(Await(where));
  auto managed = tandem::ToDlpack(runtime_->core(), handle_.tensor(), stream);
  if (!managed.ok()) return managed.status().WithContext("", where);
  return managed;
}

std::string Tensor::ToString(int max_elements) const {
  if (!IsValid()) return "null";
  if (Status status = Await(); !status.ok()) return status.ToString();
  MessageBuilder text;
  // What the text of a tensor shows itself need not become dense.
  const tandem::Tensor& tensor = handle_.tensor();
  if (IsHostType(tensor.type())) {
    AppendTensor(text, tensor, max_elements);
  } else {
    const StatusOr<tandem::Tensor> here = AwaitOnHost();
    if (!here.ok()) return here.status().ToString();
    AppendTensor(text, *here, max_elements);
  }
  return std::string(text.view());
}

}  // namespace tandem::eager
