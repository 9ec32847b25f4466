// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Arguments of the C++ face, and their numbers as tensors.

#include "tandem/operand.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem::eager {

TensorHandle Operand::TakeHandle() {
  return tensor_ != nullptr ? tensor_->handle().CopyRef() : std::move(owned_).TakeHandle();
}

DType Operand::natural_dtype() const {
  const auto of_integers = [](bool are_i32) { return are_i32 ? DType::kI32 : DType::kI64; };
  switch (kind_) {
    case Kind::kBool:
      return DType::kBool;
    case Kind::kInt:
      return of_integers(std::in_range<int32_t>(number_));
    case Kind::kUnsigned:
      return DType::kU64;
    case Kind::kIntList:
      return of_integers(std::ranges::all_of(list_, [](int64_t i) { return std::in_range<int32_t>(i); }));
    case Kind::kFloat:
    case Kind::kFloatList:
      return DType::kF32;
    case Kind::kTensor:
      break;
  }
  return DType::kInvalid;
}

StatusOr<tandem::Tensor> Operand::MakeWidest(HostContext& host) const {
  const auto make = [&](DType dtype, const TensorShape& shape, const void* values) -> StatusOr<tandem::Tensor> {
    TANDEM_ASSIGN_OR_RETURN(tandem::Tensor tensor, AllocateDense({dtype, shape}, host.device(), host.allocator()));
    const size_t bytes = tensor.metadata().byte_size();
    if (bytes > 0) std::memcpy(tensor.mutable_data(), values, bytes);
    return tensor;
  };
  const TensorShape length = {static_cast<int64_t>(list_.size())};
  const bool truth = number_ != 0;
  switch (kind_) {
    case Kind::kBool:
      return make(DType::kBool, {}, &truth);
    case Kind::kInt:
      return make(DType::kI64, {}, &number_);
    case Kind::kUnsigned:
      return make(DType::kU64, {}, &number_);
    case Kind::kFloat:
      return make(DType::kF64, {}, &number_);
    case Kind::kIntList:
      return make(DType::kI64, length, list_.data());
    case Kind::kFloatList:
      return make(DType::kF64, length, list_.data());
    case Kind::kTensor:
      break;
  }
  return Internal("expected numbers, got a tensor");
}

}  // namespace tandem::eager
