// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C++ face over CoreRuntime::Execute.

#include "tandem/eager.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "tandem/checked_cast.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/op_families.h"
#include "tandem/small_array.h"

namespace tandem::eager {

// A definition that was found, which stays one as long as none is removed. It keeps none from going.
class Runtime::KnownOp : public RefCounted<KnownOp> {
 public:
  KnownOp(const std::shared_ptr<const OpDef>& def, uint64_t num_removals)
      : def(def), num_removals(num_removals), name_(def->name) {}
  std::string_view name() const { return name_; }

  const std::weak_ptr<const OpDef> def;
  const uint64_t num_removals;

 private:
  const std::string_view name_;
};

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

Runtime::Runtime() = default;

Runtime::~Runtime() = default;

StatusOr<std::unique_ptr<Runtime>> Runtime::Create(Options options) {
  HostContext::Options host;
  host.work_queue =
      options.work_queue != nullptr ? std::move(options.work_queue) : CreateMultiThreadedWorkQueue(options.num_threads);
  host.diagnostic_handler = std::move(options.on_diagnostic);
  host.allocator.memory_limit = options.memory_limit;
  host.exact = options.exact;
  host.fuse = options.fuse;
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

Tensor Runtime::FromDlpack(DLManagedTensorVersioned* managed, std::source_location where) {
  return FromDlpack(managed, kDlpackDefaultStream, where);
}

Tensor Runtime::FromDlpack(DLManagedTensor* managed, std::source_location where) {
  return FromDlpack(managed, kDlpackDefaultStream, where);
}

Tensor Runtime::FromDlpack(DLManagedTensorVersioned* managed, int64_t stream, std::source_location where) {
  return FromCore(tandem::FromDlpack(core(), managed, stream), where);
}

Tensor Runtime::FromDlpack(DLManagedTensor* managed, int64_t stream, std::source_location where) {
  return FromCore(tandem::FromDlpack(core(), managed, stream), where);
}

Tensor Runtime::Execute(std::string_view op, std::initializer_list<Operand*> operands, const OpAttrsRef& attrs,
                        std::source_location where) {
  Tensor result;
  Execute(op, {operands.begin(), operands.size()}, attrs, {&result, 1}, nullptr, where);
  return result;
}

void Runtime::Execute(std::string_view op, std::span<Operand* const> operands, const OpAttrsRef& attrs,
                      std::span<Tensor> results, AsyncValueRef<Chain>* chain, std::source_location where) {
  SmallArray<TensorHandle, 8> all_args;
  SmallArray<TensorHandle, 8> all_results;
  if (!all_args.Init(operands.size()) || !all_results.Init(results.size())) {
    const Status error = Status::OutOfMemory();
    for (Tensor& result : results) result = Tensor(this, TensorHandle::MakeError(error));
    return;
  }
  const std::span<TensorHandle> args = all_args.span();
  const std::span<TensorHandle> handles = all_results.span();
  const CallScope* const scope = CallScope::Find(*this);
  const ExecutionContext exec = scope == nullptr ? ExecutionContext(host(), where) : scope->Context(where);
  if (scope != nullptr && chain == nullptr) chain = scope->options_.chain;
  bool makes_arguments = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->tensor() != nullptr) {
      args[i] = operands[i]->TakeHandle();
    } else {
      makes_arguments = true;
    }
  }
  if (scope != nullptr && !scope->fault_.ok()) {
    FailInvocation({exec, args, attrs, handles, chain}, op, scope->fault_);
  } else {
    if (makes_arguments) MakeArguments(exec, op, operands, attrs, args);
    core_->Execute(exec, op, handler_, args, attrs, handles, chain);
  }
  for (size_t i = 0; i < results.size(); ++i) results[i] = Tensor(this, std::move(handles[i]));
}

std::shared_ptr<const OpDef> Runtime::FindDef(std::string_view op) {
  const OpRegistry& registry = core_->registry();
  const uint64_t num_removals = registry.num_removals();
  const auto is_old = [num_removals](const KnownOp& known) { return known.num_removals != num_removals; };
  const KnownOp* const known = known_ops_.Find(op);
  if (known != nullptr && !is_old(*known)) return known->def.lock();
  std::shared_ptr<const OpDef> def = registry.FindShared(op);
  if (def == nullptr) return nullptr;
  if (RcRef<const KnownOp> found = MakeRef<const KnownOp>(def, num_removals)) {
    known_ops_.Insert(std::move(found), is_old);
  }
  return def;
}

void Runtime::MakeArguments(const ExecutionContext& exec, std::string_view op, std::span<Operand* const> operands,
                            const OpAttrsRef& attrs, std::span<TensorHandle> args) {
  static constexpr size_t kUsual = 8;
  GivenArgument usual_given[kUsual];
  std::vector<GivenArgument> many_given(args.size() > kUsual ? args.size() : 0);
  const std::span<GivenArgument> given(many_given.empty() ? usual_given : many_given.data(), args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    using Kind = GivenArgument::Kind;
    if (operands[i]->tensor() == nullptr) {
      given[i] = {Kind::kValue, operands[i]->natural_dtype()};
    } else if (args[i].IsValid() && args[i].IsMetadataAvailable()) {
      given[i] = {Kind::kTensor, args[i].metadata().dtype};
    } else {
      // Nothing comes of one that is null or an error.
      given[i] = {args[i].IsValid() && !args[i].IsError() ? Kind::kPending : Kind::kTensor, DType::kInvalid};
    }
  }
  const std::shared_ptr<const OpDef> def = FindDef(op);
  for (size_t i = 0; i < args.size(); ++i) {
    if (given[i].kind != GivenArgument::Kind::kValue) continue;
    // Without a definition the call fails, whatever its arguments.
    const ArgumentDType inferred =
        def == nullptr ? ArgumentDType{given[i].dtype, 0, "argument"} : InferArgumentDType(*def, attrs, given, i);
    args[i] = MakeArgument(exec, op, def.get(), *operands[i], inferred, args);
  }
}

TensorHandle Runtime::MakeArgument(const ExecutionContext& exec, std::string_view op, const OpDef* def,
                                   const Operand& operand, const ArgumentDType& inferred,
                                   std::span<const TensorHandle> args) {
  const bool is_known = inferred.dtype != DType::kInvalid;
  StatusOr<tandem::Tensor> made =
      is_known ? operand.Make(inferred.dtype, inferred.name, host()) : operand.MakeWidest(host());
  if (made.ok() && !is_known) {
    return CheckedCastLike(exec, std::move(*made), args[inferred.like], *def, inferred.name);
  }
  if (made.ok()) return TensorHandle::MakeAvailable(std::move(*made));
  return TensorHandle::MakeError(host().EmitError(made.status().WithContext(op, exec.location())));
}

Tensor zeros(Runtime& runtime, const TensorShape& shape, DType dtype, std::source_location where) {
  return full(runtime, shape, 0, dtype, where);
}

Tensor ones(Runtime& runtime, const TensorShape& shape, DType dtype, std::source_location where) {
  return full(runtime, shape, 1, dtype, where);
}

Tensor full(Runtime& runtime, const TensorShape& shape, const Operand& value, DType dtype, std::source_location where) {
  return runtime.FromCore(runtime.MakeFull(shape, value, dtype), where);
}

StatusOr<tandem::Tensor> Runtime::MakeFull(const TensorShape& shape, const Operand& value, DType dtype) {
  if (value.tensor() != nullptr) return InvalidArgument("expected a number to fill with, got a tensor");
  if (dtype == DType::kInvalid) dtype = value.natural_dtype();
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor element, value.Make(dtype, "value", host()));
  if (element.shape().rank() != 0) return InvalidArgument("expected a number to fill with, got a list");
  TANDEM_ASSIGN_OR_RETURN(tandem::Tensor filled, AllocateDense({dtype, shape}, host().device(), host().allocator()));
  const size_t size = DTypeSize(dtype);
  auto* const to = static_cast<std::byte*>(filled.mutable_data());
  const size_t bytes = filled.metadata().byte_size();
  // Doubles what is filled, from one element on.
  if (bytes > 0) std::memcpy(to, element.data(), size);
  for (size_t done = size; done < bytes; done *= 2) std::memcpy(to + done, to, std::min(done, bytes - done));
  return filled;
}

}  // namespace tandem::eager
