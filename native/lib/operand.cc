// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Arguments of the C++ face, and their numbers as tensors.

#include "tandem/operand.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tandem/checked_cast.h"
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
      return of_integers(std::ranges::all_of(numbers(), [](int64_t i) { return std::in_range<int32_t>(i); }));
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
  const TensorShape length = {number_};
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
      return make(DType::kI64, length, numbers().data());
    case Kind::kFloatList:
      return make(DType::kF64, length, numbers().data());
    case Kind::kTensor:
      break;
  }
  return Internal("expected numbers, got a tensor");
}

StatusOr<tandem::Tensor> Operand::Make(DType dtype, std::string_view name, HostContext& host) const {
  const std::span<const int64_t> all = numbers();
  const bool are_floats = kind_ == Kind::kFloat || kind_ == Kind::kFloatList;
  const bool are_integers = kind_ == Kind::kInt || kind_ == Kind::kIntList;
  if ((are_floats || are_integers) && all.size() <= kFew && DTypeSize(dtype) > 0) {
    const TensorShape shape = IsList() ? TensorShape({number_}) : TensorShape();
    TANDEM_ASSIGN_OR_RETURN(tandem::Tensor tensor, AllocateDense({dtype, shape}, host.device(), host.allocator()));
    double floats[kFew];
    if (are_floats && !all.empty()) std::memcpy(floats, all.data(), all.size_bytes());
    const bool fit = are_floats
                         ? CheckedCastNumbers(std::span<const double>(floats, all.size()), dtype, tensor.mutable_data())
                         : CheckedCastNumbers(all, dtype, tensor.mutable_data());
    if (fit) return tensor;
  }
  // Long lists, other numbers, and the words for what does not fit.
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor widest, MakeWidest(host));
  return CheckedCast(widest, dtype, name, host.allocator());
}

}  // namespace tandem::eager
