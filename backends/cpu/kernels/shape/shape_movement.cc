// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elements as bytes, and tensors that share memory.

#include "kernels/shape/shape_movement.h"

#include <algorithm>
#include <cstring>

#include "kernels/polls.h"
#include "kernels/shape/shape_strided_copy.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

// Below this a copy costs about what sharing does, and does not keep a large tensor alive for a few of its elements.
constexpr size_t kMinSharedBytes = 4096;

}  // namespace

Status ElementSource::Init(KernelFrame& frame, size_t arg) {
  const Tensor& tensor = frame.arg(arg);
  if (tensor.IsA(kStringHost)) {
    strings_ = TaskArray<std::string_view>(tensor.num_elements());
    if (strings_ == nullptr) return Status::OutOfMemory();
    const StringHostView strings(tensor);
    InSteps(strings.size(), kPollSteps, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) strings_[static_cast<size_t>(i)] = strings[i];
    });
    data_ = reinterpret_cast<const std::byte*>(strings_.get());
    element_size_ = sizeof(std::string_view);
    return Status();
  }
  dense_ = &tensor;
  TANDEM_RETURN_IF_ERROR(internal::CheckDense(frame, arg));
  TANDEM_RETURN_IF_ERROR(internal::ExpandToDense(frame, &dense_, expanded_));
  data_ = static_cast<const std::byte*>(dense_->data());
  element_size_ = DTypeSize(tensor.dtype());
  return Status();
}

bool ElementSink::Init(KernelFrame& frame, size_t i) {
  result_ = i;
  const TensorMetadata& metadata = frame.result_metadata(i);
  if (metadata.dtype != DType::kString) {
    data_ = static_cast<std::byte*>(frame.AllocateResult(i));
    return data_ != nullptr;
  }
  strings_ = TaskArray<std::string_view>(metadata.num_elements());
  if (strings_ == nullptr) {
    frame.SetError(i, Status::OutOfMemory());
    return false;
  }
  data_ = reinterpret_cast<std::byte*>(strings_.get());
  return true;
}

void ElementSink::Finish(KernelFrame& frame) {
  if (strings_ == nullptr || KernelRun::IsStopped()) return;
  const TensorShape& shape = frame.result_metadata(result_).shape;
  StatusOr<Tensor> tensor = MakeString(shape, {strings_.get(), static_cast<size_t>(shape.num_elements())},
                                       frame.host().device(), frame.host().allocator());
  if (tensor.ok()) {
    frame.SetResult(result_, std::move(*tensor));
  } else {
    frame.SetError(result_, tensor.status());
  }
}

double MovementCost(std::span<const TensorMetadata* const>, std::span<const TensorMetadata> results) {
  constexpr double kNanosecondsPerString = 20;
  double cost = 0;
  for (const TensorMetadata& result : results) {
    cost += result.dtype == DType::kString ? kNanosecondsPerString * static_cast<double>(result.num_elements())
                                           : static_cast<double>(result.byte_size()) / kCopyBytesPerNanosecond;
  }
  return cost;
}

RowMajorStrides::RowMajorStrides(const TensorShape& shape) {
  int64_t stride = 1;
  for (int i = shape.rank(); i-- > 0;) {
    values[i] = stride;
    stride *= std::max<int64_t>(shape.dim(i), 1);
  }
}

bool IsReshapable(const Tensor& tensor) {
  return tensor.IsA(kDenseHost) || tensor.IsA(kScalarHost) || tensor.IsA(kStringHost);
}

Tensor WithMetadata(const Tensor& tensor, const TensorMetadata& metadata) {
  if (!tensor.IsInline()) {
    return Tensor(metadata, tensor.device(), tensor.type(), const_cast<void*>(tensor.data()), tensor.storage());
  }
  Tensor result(metadata, tensor.device());
  std::memcpy(result.UseInlineData(tensor.type()), tensor.data(), Tensor::kInlineBytes);
  return result;
}

bool MayShare(const Tensor& dense, size_t offset, size_t size) {
  if (dense.IsInline() || size < kMinSharedBytes) return false;
  return (reinterpret_cast<uintptr_t>(dense.data()) + offset) % kTensorDataAlignment == 0;
}

Tensor MakeView(const Tensor& dense, const TensorMetadata& metadata, size_t offset) {
  auto* data = static_cast<std::byte*>(const_cast<void*>(dense.data())) + offset;
  return Tensor(metadata, dense.device(), kDenseHost, data, dense.storage());
}

bool SpreadScalar(KernelFrame& frame, size_t arg) {
  const Tensor& scalar = frame.arg(arg);
  if (!scalar.IsA(kScalarHost)) return false;
  for (size_t i = 0; i < frame.num_results(); ++i) {
    StatusOr<Tensor> result = MakeScalar(frame.result_metadata(i), scalar.data(), *scalar.device());
    if (result.ok()) {
      frame.SetResult(i, std::move(*result));
    } else {
      frame.SetError(i, result.status());
    }
  }
  return true;
}

bool GiveEmpty(KernelFrame& frame) {
  if (frame.result_metadata(0).num_elements() > 0) return false;
  for (size_t i = 0; i < frame.num_results(); ++i) {
    ElementSink sink;
    if (sink.Init(frame, i)) sink.Finish(frame);
  }
  return true;
}

Status ReshapeArgument(KernelFrame& frame) {
  const Tensor& tensor = frame.arg(0);
  if (IsReshapable(tensor)) {
    frame.SetResult(0, WithMetadata(tensor, frame.result_metadata(0)));
    return Status();
  }
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  frame.SetResult(0, WithMetadata(*source.dense(), frame.result_metadata(0)));
  return Status();
}

Status RunMovement(KernelFrame& frame, const ElementSource& source, const StridedCopy& copy, int64_t offset) {
  if (copy.IsPlain()) return ReshapeArgument(frame);
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  copy.Run(frame, sink.data(), source.data() + static_cast<size_t>(offset) * source.element_size());
  sink.Finish(frame);
  return Status();
}

void TakeBlock(KernelFrame& frame, size_t i, const ElementSource& source, int64_t offset, const StridedCopy& copy) {
  const TensorMetadata& metadata = frame.result_metadata(i);
  const size_t byte_offset = static_cast<size_t>(offset) * source.element_size();
  if (copy.IsPlain() && source.dense() != nullptr && MayShare(*source.dense(), byte_offset, metadata.byte_size())) {
    return frame.SetResult(i, MakeView(*source.dense(), metadata, byte_offset));
  }
  ElementSink sink;
  if (!sink.Init(frame, i)) return;
  copy.Run(frame, sink.data(), source.data() + byte_offset);
  sink.Finish(frame);
}

}  // namespace tandem::cpu
