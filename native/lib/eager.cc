// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C++ face over CoreRuntime::Execute.

#include "tandem/eager.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/logging_op_handler.h"
#include "tandem/op_families.h"

namespace tandem::eager {

namespace {

// Whether a T can stand for the number: exactly for integers and bool, in range for the rest.
template <typename T, typename Number>
bool Represents(Number number) {
  if constexpr (!std::is_integral_v<T>) {
    return true;
  } else if constexpr (std::is_integral_v<Number>) {
    return std::in_range<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>(number) &&
           (!std::is_same_v<T, bool> || number <= 1);
  } else {
    // 2^digits is exact in double, unlike the largest 64-bit integers.
    const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
    return number >= (std::is_signed_v<T> ? -limit : 0.0) && number < limit && number == std::trunc(number);
  }
}

// A scalar of `dtype`, for a number given as an argument.
template <typename Number>
StatusOr<tandem::Tensor> MakeNumber(DType dtype, Number number, HostContext& host) {
  switch (dtype) {
#define TANDEM_MAKE_NUMBER(name, type)                                                                   \
  case DType::name: {                                                                                    \
    if (!Represents<type>(number)) break;                                                                \
    using Through = std::conditional_t<std::is_arithmetic_v<type>, Number, float>;                       \
    const auto value = static_cast<type>(static_cast<Through>(number));                                  \
    return MakeDense({dtype, {}}, std::as_bytes(std::span(&value, 1)), host.device(), host.allocator()); \
  }
    TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_MAKE_NUMBER)
#undef TANDEM_MAKE_NUMBER
    case DType::kString:
    case DType::kInvalid:
      break;
  }
  return InvalidArgument("the number ", number, " cannot stand for a scalar of ", dtype);
}

}  // namespace

Status Tensor::Await() const {
  if (!IsValid()) return InvalidArgument("expected a tensor, got a null one");
  if (handle_.IsError()) return handle_.GetError();  // also of tensors without a runtime
  return runtime_->host().Await(handle_);
}

StatusOr<TensorMetadata> Tensor::Metadata() const {
  if (!IsValid()) return InvalidArgument("expected a tensor, got a null one");
  if (!handle_.IsMetadataAvailable()) {
    const AsyncValue* value = handle_.metadata_value();
    TANDEM_RETURN_IF_ERROR(runtime_->host().Await({&value, 1}));
  }
  if (handle_.IsMetadataAvailable()) return handle_.metadata();
  return handle_.metadata_value()->GetError();
}

StatusOr<const tandem::Tensor*> Tensor::AwaitDense(DType dtype, bool expand, tandem::Tensor* expanded) const {
  TANDEM_RETURN_IF_ERROR(Await());
  const tandem::Tensor& tensor = handle_.tensor();
  if (tensor.dtype() != dtype) return InvalidArgument("expected a tensor of ", dtype, ", got ", tensor.metadata());
  if (tensor.IsA(kDenseHost)) return &tensor;
  if (!expand) {
    return InvalidArgument("expected a dense tensor of the host, got ", tensor.metadata(), " as ",
                           tensor.type().name());
  }
  HostContext& host = runtime_->host();
  if (tensor.device() != &host.device()) {
    const TensorHandle here = handle_.TransferTo(ExecutionContext(host, Location()), host.device());
    TANDEM_RETURN_IF_ERROR(host.Await(here));
    *expanded = here.tensor();
    return expanded;
  }
  TANDEM_ASSIGN_OR_RETURN(*expanded, ToDense(tensor, host.allocator()));
  return expanded;
}

Tensor Tensor::To(const Device& device, std::source_location where) const {
  // One without a runtime is an error, which it stays; a null one becomes one.
  if (runtime_ == nullptr) {
    if (IsValid()) return *this;
    return Tensor(nullptr, TensorHandle::MakeError(InvalidArgument("expected a tensor, got a null one")));
  }
  return Tensor(runtime_, handle_.TransferTo(ExecutionContext(runtime_->host(), where), device));
}

std::string Tensor::ToString(int max_elements) const {
  if (!IsValid()) return "null";
  if (Status status = Await(); !status.ok()) return status.ToString();
  MessageBuilder text;
  AppendTensor(text, handle_.tensor(), max_elements);
  return std::string(text.view());
}

TensorHandle Operand::TakeHandle() {
  return tensor_ != nullptr ? tensor_->handle().CopyRef() : std::move(owned_).TakeHandle();
}

StatusOr<tandem::Tensor> Operand::Make(HostContext& host, DType like) const {
  if (kind_ == Kind::kInt) return MakeNumber(like == DType::kInvalid ? DType::kI32 : like, int_, host);
  if (kind_ == Kind::kFloat) return MakeNumber(like == DType::kInvalid ? DType::kF32 : like, float_, host);
  TANDEM_ASSIGN_OR_RETURN(tandem::Tensor tensor, AllocateDense({DType::kI32, {static_cast<int64_t>(list_.size())}},
                                                               host.device(), host.allocator()));
  for (size_t i = 0; i < list_.size(); ++i) {
    if (!std::in_range<int32_t>(list_[i])) return InvalidArgument("a list of integers must fit i32, got ", list_[i]);
    MutableDenseData<int32_t>(tensor)[i] = static_cast<int32_t>(list_[i]);
  }
  return tensor;
}

Tensor Call(std::string_view op, std::initializer_list<Operand*> operands, const OpAttrsRef& attrs,
            std::source_location where) {
  Tensor result;
  CallN(op, {operands.begin(), operands.size()}, attrs, {&result, 1}, where);
  return result;
}

void CallN(std::string_view op, std::span<Operand* const> operands, const OpAttrsRef& attrs, std::span<Tensor> results,
           std::source_location where) {
  for (const Operand* operand : operands) {
    const Tensor* tensor = operand->tensor();
    if (tensor == nullptr || tensor->runtime() == nullptr) continue;
    return tensor->runtime()->Execute(op, operands, attrs, results, nullptr, where);
  }
  const Status error = Status::Error(StatusCode::kInvalidArgument,
                                     "at least one argument must be a tensor of a runtime, got none", op, where);
  for (Tensor& result : results) result = Tensor(nullptr, TensorHandle::MakeError(error));
}

StatusOr<std::unique_ptr<Runtime>> Runtime::Create(Options options) {
  HostContext::Options host;
  host.work_queue =
      options.work_queue != nullptr ? std::move(options.work_queue) : CreateMultiThreadedWorkQueue(options.num_threads);
  host.diagnostic_handler = std::move(options.on_diagnostic);
  host.allocator.memory_limit = options.memory_limit;
  host.print = std::move(options.print);
  if (!host.print) {
    host.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  }
  std::unique_ptr<Runtime> runtime(new Runtime);
  runtime->core_ = std::make_unique<CoreRuntime>(std::move(host));
  TANDEM_RETURN_IF_ERROR(RegisterAllOps(runtime->core_->registry()));
  TANDEM_ASSIGN_OR_RETURN(runtime->handler_, CreateCpuOpHandler(*runtime->core_));
  return runtime;
}

Tensor Runtime::FromCore(StatusOr<tandem::Tensor> tensor, std::source_location where) {
  if (tensor.ok()) return Tensor(this, TensorHandle::MakeAvailable(std::move(*tensor)));
  Status error = host().EmitError(tensor.status().WithContext("", where));
  return Tensor(this, TensorHandle::MakeError(std::move(error)));
}

Tensor Runtime::FromBytes(DType dtype, std::span<const std::byte> bytes, const TensorShape& shape,
                          std::source_location where) {
  return FromCore(MakeDense({dtype, shape}, bytes, host().device(), host().allocator()), where);
}

Tensor Runtime::FromStrings(std::span<const std::string_view> strings, const TensorShape& shape,
                            std::source_location where) {
  return FromCore(MakeString(shape, strings, host().device(), host().allocator()), where);
}

Tensor Runtime::Wrap(DType dtype, std::span<const std::byte> bytes, const TensorShape& shape,
                     std::function<void()> release, std::source_location where) {
  const TensorMetadata metadata(dtype, shape);
  Status valid = metadata.Validate();
  if (valid.ok() && (DTypeSize(dtype) == 0 || bytes.size() != metadata.byte_size())) {
    valid = InvalidArgument("memory of ", metadata, " must have ", metadata.byte_size(), " bytes, got ", bytes.size());
  }
  if (valid.ok() && reinterpret_cast<uintptr_t>(bytes.data()) % DTypeSize(dtype) != 0) {
    valid = InvalidArgument("memory of ", metadata, " must be aligned to ", DTypeSize(dtype), " bytes");
  }
  if (valid.ok()) valid = CheckElements(dtype, bytes);
  if (!valid.ok()) {
    if (release) release();
    return FromCore(std::move(valid), where);
  }
  void* data = const_cast<std::byte*>(bytes.data());
  StatusOr<RcRef<HostBuffer>> buffer = HostAllocator::WrapExternal(data, bytes.size(), std::move(release));
  if (!buffer.ok()) return FromCore(buffer.status(), where);
  return FromCore(tandem::Tensor(metadata, &host().device(), kDenseHost, data, std::move(*buffer)), where);
}

Tensor Runtime::Execute(std::string_view op, std::initializer_list<Operand*> operands, const OpAttrsRef& attrs,
                        std::source_location where) {
  Tensor result;
  Execute(op, {operands.begin(), operands.size()}, attrs, {&result, 1}, nullptr, where);
  return result;
}

void Runtime::Execute(std::string_view op, std::span<Operand* const> operands, const OpAttrsRef& attrs,
                      std::span<Tensor> results, AsyncValueRef<Chain>* chain, std::source_location where) {
  static constexpr size_t kUsual = 8;
  TensorHandle usual_args[kUsual];
  TensorHandle usual_results[kUsual];
  std::vector<TensorHandle> many_args(operands.size() > kUsual ? operands.size() : 0);
  std::vector<TensorHandle> many_results(results.size() > kUsual ? results.size() : 0);
  const std::span<TensorHandle> args(many_args.empty() ? usual_args : many_args.data(), operands.size());
  const std::span<TensorHandle> handles(many_results.empty() ? usual_results : many_results.data(), results.size());
  DType like = DType::kInvalid;
  bool makes_operands = false;
  for (const Operand* operand : operands) makes_operands |= operand->tensor() == nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor* tensor = operands[i]->tensor();
    if (tensor == nullptr) continue;
    if (makes_operands && like == DType::kInvalid && !operands[i]->is_index()) {
      const StatusOr<TensorMetadata> metadata = tensor->Metadata();
      if (metadata.ok()) like = metadata->dtype;
    }
    args[i] = operands[i]->TakeHandle();
  }
  for (size_t i = 0; makes_operands && i < operands.size(); ++i) {
    if (operands[i]->tensor() != nullptr) continue;
    StatusOr<tandem::Tensor> made = operands[i]->Make(host(), operands[i]->is_index() ? DType::kInvalid : like);
    args[i] = made.ok() ? TensorHandle::MakeAvailable(std::move(*made))
                        : TensorHandle::MakeError(host().EmitError(made.status().WithContext(op, where)));
  }
  core_->Execute(op, handler_, where, args, attrs, handles, chain);
  for (size_t i = 0; i < results.size(); ++i) results[i] = Tensor(this, std::move(handles[i]));
}

}  // namespace tandem::eager
