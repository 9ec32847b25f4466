// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The ops for tests and examples.

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/task_memory.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/logging_op_handler.h"

namespace tandem::cpu {

namespace {

StatusOr<Tensor> CreateDenseTensorKernel(const OpAttrsRef& attrs, KernelFrame& frame) {
  const TensorMetadata& metadata = frame.result_metadata(0);
  HostContext& host = frame.host();
  const AttrEntry* values = attrs.Find("values");
  if (values->type == AttrType::kString) {
    const auto* strings = static_cast<const std::string_view*>(values->data);
    const auto count = static_cast<size_t>(metadata.num_elements());
    if (values->size == count) return MakeString(metadata.shape, {strings, count}, host.device(), host.allocator());
    const TaskArray<std::string_view> repeated(metadata.num_elements());
    if (repeated == nullptr) return Status::OutOfMemory();
    std::fill_n(repeated.get(), count, *strings);
    return MakeString(metadata.shape, {repeated.get(), count}, host.device(), host.allocator());
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, AllocateDense(metadata, host.device(), host.allocator()));
  auto* to = static_cast<std::byte*>(tensor.mutable_data());
  if (values->size == 1) {
    FillElements(to, metadata.num_elements(), values->data, DTypeSize(metadata.dtype));
  } else if (values->size > 0) {
    std::memcpy(to, values->data, metadata.byte_size());
  }
  return tensor;
}

// The elements of a dense or scalar host tensor.
template <typename T>
struct Elements {
  const T* data;
  int64_t step;
  T operator[](int64_t i) const { return data[i * step]; }
};

template <typename T>
T AddElements(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) + static_cast<std::make_unsigned_t<T>>(y));
  } else {
    return x + y;
  }
}

template <typename T>
StatusOr<Tensor> AddAnyKernel(const Tensor& x, const Tensor& y, KernelFrame& frame) {
  std::array<Elements<T>, 2> operands;
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& arg = frame.arg(i);
    if (!arg.IsA(kDenseHost) && !arg.IsA(kScalarHost)) {
      return InvalidArgument("argument ", i, " must be a dense or scalar host tensor, got ", arg.metadata(), " as ",
                             arg.type().name());
    }
    operands[i] = {static_cast<const T*>(arg.data()), arg.IsA(kDenseHost) ? 1 : 0};
  }
  const TensorMetadata& metadata = frame.result_metadata(0);
  HostContext& host = frame.host();
  if (x.IsA(kScalarHost) && y.IsA(kScalarHost)) {
    const T sum = AddElements(operands[0][0], operands[1][0]);
    return MakeScalar(metadata, &sum, host.device());
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor sum, AllocateDense(metadata, host.device(), host.allocator()));
  const std::span<T> to = MutableDenseData<T>(sum);
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < sum.num_elements() && !poll.Stops(); ++i) {
    to[i] = AddElements(operands[0][i], operands[1][i]);
  }
  return sum;
}

template <typename T>
Status AddDenseOnlyKernel(DenseArg x, DenseArg y, KernelFrame& frame) {
  T* sum = frame.ForwardOrAllocateResult<T>(0, {0, 1});
  if (sum == nullptr) return Status();
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < x.size() && !poll.Stops(); ++i) sum[i] = AddElements(x.data<T>()[i], y.data<T>()[i]);
  return Status();
}

StatusOr<Tensor> OddCollectorKernel(DenseArg x, KernelFrame& frame) {
  if (x.shape().rank() != 1) return InvalidArgument("x must be a vector, got x: ", x.metadata());
  const std::span<const int32_t> elements = DenseData<int32_t>(x.tensor());
  int64_t count = 0;
  StopPoll poll(kPollElements);
  for (const int32_t element : elements) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    count += element & 1;
  }
  HostContext& host = frame.host();
  TANDEM_ASSIGN_OR_RETURN(Tensor odd, AllocateDense({DType::kI32, {count}}, host.device(), host.allocator()));
  auto* to = static_cast<int32_t*>(odd.mutable_data());
  for (const int32_t element : elements) {
    if (poll.Stops()) break;
    if ((element & 1) != 0) *to++ = element;
  }
  return odd;
}

Status ErrorTensorKernel(const Tensor& x, KernelFrame& frame) {
  const size_t last = frame.num_results() - 1;
  for (size_t i = 0; i < last; ++i) frame.SetResult(i, x);
  frame.SetError(last, Internal("this result is an error, as it is meant to be"));
  return Status();
}

AsyncValueRef<Tensor> AsyncNoopKernel(const Tensor& x, KernelFrame& frame) {
  auto producer = Producer<Tensor>::Make();
  if (!producer) return AsyncValueRef<Tensor>::MakeError(Status::OutOfMemory());
  AsyncValueRef<Tensor> result = producer.ref();
  frame.exec().work_queue().AddTask([producer = std::move(producer), x]() mutable { producer.Emplace(x); });
  return result;
}

Status PrintTensorKernel(const Tensor& x, KernelFrame& frame) {
  constexpr int kMaxElements = 32;
  MessageBuilder line;
  AppendTensor(line, x, kMaxElements);
  line.Append('\n');
  frame.host().Print(line.view());
  return Status();
}

}  // namespace

Status RegisterTestKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kAll = DTypeSet::All();
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&CreateDenseTensorKernel>("test.create_dense_tensor", {}),
      KernelEntryOf<&AddAnyKernel<float>>("test.add", {DType::kF32}),
      KernelEntryOf<&AddAnyKernel<int32_t>>("test.add", {DType::kI32}),
      KernelEntryOf<&AddDenseOnlyKernel<float>>("test.add.denseonly", {DType::kF32}),
      KernelEntryOf<&AddDenseOnlyKernel<int32_t>>("test.add.denseonly", {DType::kI32}),
      KernelEntryOf<&OddCollectorKernel>("test.odd_collector", {}, {2}),
      KernelEntryOf<&ErrorTensorKernel>("test.error.tensor", kAll, {0}),
      KernelEntryOf<&AsyncNoopKernel>("test.async.noop", kAll, {0}),
      KernelEntryOf<&PrintTensorKernel>("test.print", kAll, {0}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
