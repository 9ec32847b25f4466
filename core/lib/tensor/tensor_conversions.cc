// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The conversion table, and the conversions between host types.

#include "tandem/tensor_conversions.h"

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem {

Status TensorConversions::Register(const TensorType& from, const TensorType& to, TensorConversion conversion) {
  const std::lock_guard lock(mutex_);
  if (!conversions_.emplace(std::pair(&from, &to), conversion).second) {
    return MakeError(StatusCode::kAlreadyExists, "there must be one conversion from ", from.name(), " to ", to.name(),
                     ", got a second one");
  }
  return Status();
}

TensorConversion TensorConversions::Find(const TensorType& from, const TensorType& to) const {
  const std::lock_guard lock(mutex_);
  const auto found = conversions_.find(std::pair(&from, &to));
  return found == conversions_.end() ? nullptr : found->second;
}

namespace {

AsyncValueRef<Tensor> Available(StatusOr<Tensor> tensor) {
  if (!tensor.ok()) return AsyncValueRef<Tensor>::MakeError(tensor.status());
  return AsyncValueRef<Tensor>::MakeAvailable(std::move(*tensor));
}
// These convert where the tensor is: what is known of a host type does not say how to reach another device.
Status RequireSameDevice(const Tensor& from, const Device& target) {
  if (from.device() == &target) return Status();
  return MakeError(StatusCode::kUnimplemented, "tensors of host types must stay on their device ",
                   from.device()->name(), ", got a transfer to ", target.name(),
                   target.name() == from.device()->name() ? " of another runtime" : "");
}
AsyncValueRef<Tensor> ConvertToDense(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  if (Status same = RequireSameDevice(from, target); !same.ok()) return AsyncValueRef<Tensor>::MakeError(same);
  return Available(ToDense(from, exec.host().allocator()));
}
AsyncValueRef<Tensor> ConvertToScalar(const ExecutionContext&, const Tensor& from, const Device& target) {
  if (Status same = RequireSameDevice(from, target); !same.ok()) return AsyncValueRef<Tensor>::MakeError(same);
  return Available(ToScalar(from));
}
AsyncValueRef<Tensor> ConvertToSparseCoo(const ExecutionContext& exec, const Tensor& from, const Device& target) {
  if (Status same = RequireSameDevice(from, target); !same.ok()) return AsyncValueRef<Tensor>::MakeError(same);
  return Available(ToSparseCoo(from, exec.host().allocator()));
}

}  // namespace

Status RegisterHostConversions(TensorConversions& conversions) {
  TANDEM_RETURN_IF_ERROR(conversions.Register(kScalarHost, kDenseHost, &ConvertToDense));
  TANDEM_RETURN_IF_ERROR(conversions.Register(kSparseCooHost, kDenseHost, &ConvertToDense));
  TANDEM_RETURN_IF_ERROR(conversions.Register(kDenseHost, kScalarHost, &ConvertToScalar));
  TANDEM_RETURN_IF_ERROR(conversions.Register(kDenseHost, kSparseCooHost, &ConvertToSparseCoo));
  return conversions.Register(kScalarHost, kSparseCooHost, &ConvertToSparseCoo);
}

}  // namespace tandem
