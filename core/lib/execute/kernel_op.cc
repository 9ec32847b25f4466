// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The path of one call whose inputs are available, from the checks to the results. Every small op pays for each line.

#include "execute/kernel_op.h"

#include <algorithm>
#include <new>

#include "defs/attr_conversion.h"
#include "execute/kernel_call.h"
#include "tandem/core_runtime.h"

namespace tandem {

namespace {

// Of a handle that is an error: its tensor, or metadata that will never be.
const AsyncValue& ErrorIn(const TensorHandle& handle) {
  return handle.value().IsError() ? *handle.value().value() : *handle.metadata_value();
}

// Whether work on this thread takes half of its time, since one that is looking for work shares it. A thread that must
// not wait leaves it to the queue, which can wait for memory.
bool IsSharedWithCaller(const WorkQueue& queue) { return queue.MayBlock() && queue.HasReadyHelper(); }

}  // namespace

double KernelOp::EstimateCost(const Kernel& kernel, std::span<const TensorMetadata* const> args,
                              std::span<const TensorMetadata> results) {
  const CostModel& cost = kernel.cost();
  if (cost.estimate != nullptr) return cost.estimate(args, results);
  // Unsigned, since the scalar host tensors of one call may together have more elements than can be counted.
  uint64_t elements = 0;
  for (const TensorMetadata* arg : args) elements += static_cast<uint64_t>(arg->num_elements());
  for (const TensorMetadata& result : results) elements += static_cast<uint64_t>(result.num_elements());
  return static_cast<double>(static_cast<int64_t>(elements)) * cost.per_element;
}

void PropagateError(const OpInvocation& invocation, std::string_view op_name, const AsyncValue& input) {
  // A copy: its owner is among the arguments that are dropped.
  const Status error = input.GetError().Through(op_name, invocation.exec.location());
  const AsyncValueRef<Tensor> value = AsyncValueRef<Tensor>::MakeError(error);
  if (!(value.GetError() == error)) [[unlikely]] {  // memory for it could not be had, which is another one
    static_cast<void>(invocation.exec.host().EmitError(value.GetError()));
  }
  for (TensorHandle& result : invocation.results) result = TensorHandle(value.CopyRef(), nullptr);
  if (invocation.chain != nullptr) *invocation.chain = AsyncValueRef<Chain>(RcRef<AsyncValue>::Share(value.value()));
  for (TensorHandle& arg : invocation.args) arg.reset();
}

KernelOp::KernelOp(KernelOpHandler& handler, std::shared_ptr<const OpDef> def,
                   std::shared_ptr<const KernelsByDType> kernels, RcRef<const OpImpl> fallback,
                   const KernelOpHandler::Policy& policy, DTypeSet own, DTypeSet fusable,
                   std::shared_ptr<const KernelsByDType> later)
    : OpImpl(def->name, def->code != nullptr || std::ranges::any_of(*kernels, &Kernel::has_code) ||
                            (fallback && fallback->is_removable())),
      handler_(handler),
      device_(handler.device()),
      rehearsal_(static_cast<const KernelRehearsal*>(handler.FindContext(KernelRehearsal::kKernelContext))),
      def_owner_(std::move(def)),
      def_(*def_owner_),
      signature_(def_),
      kernels_(std::move(kernels)),
      later_(std::move(later)),
      fallback_(std::move(fallback)),
      use_work_queue_(policy.use_work_queue),
      take_host_tensors_(policy.take_host_tensors),
      fetches_host_inputs_(policy.take_host_tensors ||
                           std::ranges::none_of(*kernels_, [](const Kernel& kernel) { return kernel.IsValid(); })),
      own_(own),
      fusable_(fusable),
      small_(DescribeSmall(def_)) {}

Status KernelOp::NullArgument(size_t i, size_t num_args) const {
  return InvalidArgument("argument ", i, " (", signature_.InputName(i, num_args),
                         ") must be a tensor, got a null handle");
}

Status KernelOp::ForeignArgument(size_t i, const TensorHandle& arg, size_t num_args) const {
  const std::string_view given = arg.device() == nullptr ? "no device" : arg.device()->name();
  return InvalidArgument("argument ", i, " (", signature_.InputName(i, num_args), ") must be on device ",
                         handler_.device()->name(), ", got a tensor on ", given,
                         given == handler_.device()->name() ? " of another runtime" : "; transfer it first");
}

bool KernelOp::HasHostInputElsewhere(const ExecutionContext& exec, std::span<const TensorHandle> args) const {
  if (!reads_host_inputs() || !fetches_host_inputs_) return false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (signature_.IsHostInput(i, args.size()) && args[i].device() == device_) {
      return device_ != &exec.host().device();
    }
  }
  return false;
}

void KernelOp::FetchHostInputs(const ExecutionContext& exec, std::span<TensorHandle> args) const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (!signature_.IsHostInput(i, args.size()) || args[i].device() != device_) continue;
    args[i] = args[i].TransferTo(exec, exec.host().device());
  }
}

bool KernelOp::HasArgumentElsewhere(const ExecutionContext& exec, std::span<const TensorHandle> args) const {
  const Device& host = exec.host().device();
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].device() != WantedPlace(host, i, args.size())) return true;
  }
  return false;
}

Status KernelOp::CheckPlaces(const ExecutionContext& exec, std::span<const TensorHandle> args) const {
  const Device& host = exec.host().device();
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorHandle& arg = args[i];
    const Device* const wanted = WantedPlace(host, i, args.size());
    if (arg.device() == wanted || arg.device() == device_ || arg.IsError()) continue;
    if (!take_host_tensors_ || arg.device() != &host) return ForeignArgument(i, arg, args.size());
    const bool is_wrong = arg.IsConcrete() && !IsExpandable(arg.tensor()) && arg.tensor().dtype() != DType::kString;
    if (is_wrong) return signature_.NotDense(i, args.size(), arg.tensor());
  }
  return Status();
}

void KernelOp::MoveHere(const ExecutionContext& exec, std::span<TensorHandle> args) const {
  if (!take_host_tensors_) return;
  const Device& host = exec.host().device();
  for (size_t i = 0; i < args.size(); ++i) {
    const Device* const wanted = WantedPlace(host, i, args.size());
    // Strings stay on the host.
    if (args[i].device() == wanted || args[i].metadata().dtype == DType::kString) continue;
    args[i] = args[i].TransferTo(exec, *wanted);
  }
}

const Device* KernelOp::WantedDevice(size_t i, size_t num_args, DType dtype) const {
  const bool moves = take_host_tensors_ && dtype != DType::kString && signature_.CheckArgumentCount(num_args).ok() &&
                     !signature_.IsHostInput(i, num_args);
  if (!moves) return nullptr;
  // What only the fallback computes is left to it.
  const int type_attr = signature_.InputAt(i, num_args).type_attr;
  const bool has_kernel = type_attr >= 0 && type_attr == def_.kernel_type_attr
                              ? (*kernels_)[static_cast<size_t>(dtype)].IsValid()
                              : std::ranges::any_of(*kernels_, &Kernel::IsValid);
  return has_kernel ? device_ : nullptr;
}

KernelOp::Inputs KernelOp::Inspect(const OpInvocation& invocation) const {
  Inputs inputs;
  const size_t num_args = invocation.args.size();
  inputs.fault = signature_.CheckArgumentCount(num_args);
  if (!inputs.fault.ok()) [[unlikely]]
    return inputs;
  const Device* device = device_;
  for (size_t i = 0; i < num_args; ++i) {
    const TensorHandle& arg = invocation.args[i];
    if (!arg.IsValid()) [[unlikely]] {
      inputs.fault = NullArgument(i, num_args);
      return inputs;
    }
    inputs.elsewhere |= arg.device() != device;
    const AsyncValue& value = *arg.value().value();
    const AsyncValue::State state = value.state();
    if (state == AsyncValue::State::kError) [[unlikely]] {
      if (inputs.error == nullptr) inputs.error = &value;
      continue;
    }
    inputs.pending |= state != AsyncValue::State::kConcrete;
  }
  if (def_.has_side_effects && invocation.chain == nullptr) [[unlikely]] {
    inputs.fault = InvalidArgument("an op with side effects must be given a chain, got none");
    return inputs;
  }
  if (invocation.results.empty() && invocation.chain == nullptr) [[unlikely]] {
    inputs.fault = InvalidArgument("expected a result or a chain, got neither");
    return inputs;
  }
  if (invocation.chain != nullptr && invocation.chain->IsValid()) {
    const AsyncValue::State state = invocation.chain->value()->state();
    if (state == AsyncValue::State::kError && inputs.error == nullptr) inputs.error = invocation.chain->value();
    inputs.pending |= state < AsyncValue::State::kConcrete;
  }
  return inputs;
}

void KernelOp::Invoke(const OpInvocation& invocation) const {
  if (small_.applies && InvokeSmall(invocation)) [[likely]]
    return;
  const ExecutionContext& exec = invocation.exec;
  if (exec.host().NeedsAttention() || exec.request() != nullptr) [[unlikely]] {
    Status active = exec.CheckActive();
    if (!active.ok()) return FailInvocation(invocation, name(), std::move(active));
  }
  Inputs inputs = Inspect(invocation);
  if (!inputs.fault.ok()) [[unlikely]]
    return FailInvocation(invocation, name(), std::move(inputs.fault));
  if (inputs.error != nullptr) [[unlikely]]
    return PropagateError(invocation, name(), *inputs.error);
  Dispatch(invocation, inputs);
}

Status KernelOp::GetHostInputs(const ExecutionContext& exec, std::span<const TensorHandle> args,
                               std::span<const Tensor*> values) const {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = nullptr;
    if (!signature_.IsHostInput(i, args.size())) continue;
    const Tensor& tensor = args[i].tensor();
    if (!tensor.IsA(kDenseHost) && !tensor.IsA(kScalarHost) && !tensor.IsA(kStringHost)) {
      // Of several arguments in the wrong place, the first.
      if (!fetches_host_inputs_) TANDEM_RETURN_IF_ERROR(CheckPlaces(exec, args));
      return InvalidArgument("argument ", i, " (", signature_.InputName(i, args.size()),
                             ") must be a dense tensor on the host, got ", tensor.metadata(), " as ",
                             tensor.type().name());
    }
    values[i] = &tensor;
  }
  return Status();
}

StatusOr<KernelOp::Plan> KernelOp::MakePlan(const ExecutionContext& exec, std::span<const TensorHandle> handles,
                                            std::span<const TensorMetadata* const> args,
                                            std::span<const Tensor*> values, const OpAttrsRef& attrs,
                                            std::span<TensorMetadata> results) const {
  // Dtypes and attributes come before what the content of arguments tells (MD-6).
  TANDEM_ASSIGN_OR_RETURN(const DType dtype, signature_.Bind(args, attrs, results));
  TANDEM_RETURN_IF_ERROR(GetHostInputs(exec, handles, values));
  if (def_.metadata != nullptr) {
    SmallArray<DType, kUsualResults> defined;
    if (!defined.Init(results.size())) return Status::OutOfMemory();
    for (size_t i = 0; i < results.size(); ++i) defined[i] = results[i].dtype;
    TANDEM_RETURN_IF_ERROR(def_.metadata({args, values, attrs, results, def_.metadata_closure.get()}));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].IsValid()) [[unlikely]]
        return results[i].Validate();
      if (results[i].dtype != defined[i] && defined[i] != DType::kInvalid) [[unlikely]] {
        return Internal("metadata function must give result ", i, " as ", defined[i], ", gave ", results[i]);
      }
    }
  }
  Plan plan;
  plan.dtype = dtype;
  const auto i = static_cast<size_t>(dtype);
  if ((*kernels_)[i].IsValid()) [[likely]] {
    plan.kernel = &(*kernels_)[i];
  } else if (later_ != nullptr && (*later_)[i].IsValid()) {
    plan.kernel = &(*later_)[i];
    LaterKernels& code = *handler_.later_kernels();
    plan.waits = !code.IsHere();
    if (plan.waits) {
      // From here on it is fetched, whatever else the call waits for.
      if (!code.Want()) return Status::OutOfMemory();
      return plan;
    }
  }
  TANDEM_RETURN_IF_ERROR(CompletePlan(exec, args, attrs, results, plan));
  return plan;
}

Status KernelOp::CompletePlan(const ExecutionContext& exec, std::span<const TensorMetadata* const> args,
                              const OpAttrsRef& attrs, std::span<const TensorMetadata> results, Plan& plan) const {
  plan.waits = false;
  const Kernel* const kernel = plan.kernel;
  if (kernel != nullptr && (kernel->condition() == nullptr || kernel->condition()(args, attrs, results))) [[likely]] {
    const double cost = use_work_queue_ ? EstimateCost(*kernel, args, results) : 0;
    const auto limit = static_cast<double>(exec.host().inline_cost_limit());
    plan.is_long = cost > limit && (cost > 2 * limit || !IsSharedWithCaller(exec.work_queue()));
    plan.is_short = cost <= static_cast<double>(kShortCost);
    return Status();
  }
  plan.kernel = nullptr;
  if (fallback_) return Status();
  MessageBuilder what;
  plan.dtype == DType::kInvalid ? what.Append("this op") : what.Append("dtype ", plan.dtype);
  return MakeError(StatusCode::kUnimplemented, "op handler ", std::string_view(handler_.name()), " has no kernel for ",
                   what.view());
}

void KernelOp::Dispatch(const OpInvocation& invocation, const Inputs& inputs) const {
  const ExecutionContext& exec = invocation.exec;
  const std::span<TensorHandle> handles = invocation.args;
  const size_t num_args = handles.size();
  SmallArray<const TensorMetadata*, kUsualArgs> args;
  SmallArray<const Tensor*, kUsualArgs> values;
  SmallArray<TensorMetadata, kUsualResults> metadata;
  if (!args.Init(num_args) || !values.Init(reads_host_inputs() ? num_args : 0) ||
      !metadata.Init(invocation.results.size())) {
    return FailInvocation(invocation, name(), Status::OutOfMemory());
  }
  for (size_t i = 0; i < num_args; ++i) {
    if (inputs.pending && !handles[i].IsMetadataAvailable()) {
      // Where an argument will be is known; no fallback can want it there.
      Status movable = inputs.elsewhere && !fallback_ ? CheckPlaces(exec, handles) : Status();
      if (!movable.ok()) return FailInvocation(invocation, name(), std::move(movable));
      return InvokePending(*this, invocation, nullptr, {});
    }
    args[i] = inputs.pending ? &handles[i].metadata() : &handles[i].tensor().metadata();
  }
  const BorrowedOpAttrs borrowed(invocation.attrs, def_.defaults.get());
  const OpAttrsRef& attrs = borrowed.ref();
  bool can_plan = !inputs.pending || def_.metadata != nullptr;
  const bool fetches = HasHostInputElsewhere(exec, handles);
  for (size_t i = 0; i < values.size(); ++i) {
    can_plan = can_plan && (!signature_.IsHostInput(i, num_args) || handles[i].IsConcrete());
  }
  if (!can_plan || fetches) [[unlikely]] {
    const StatusOr<DType> bound = signature_.Bind(args.span(), attrs, metadata.span());
    if (!bound.ok()) return FailOrConvert(invocation, inputs, bound.status());
    // Nothing is left to be checked.
    const bool has_kernel = (*kernels_)[static_cast<size_t>(*bound)].IsValid();
    if (!has_kernel && fallback_ && def_.metadata == nullptr) return fallback_->Invoke(invocation);
    if (fetches) FetchHostInputs(exec, handles);
    for (size_t i = 0; i < num_args; ++i) {
      if (handles[i].IsError()) return PropagateError(invocation, name(), ErrorIn(handles[i]));
      can_plan = can_plan && handles[i].IsConcrete();
    }
    if (!can_plan) return InvokePending(*this, invocation, nullptr, {});
    for (size_t i = 0; i < num_args; ++i) args[i] = &handles[i].tensor().metadata();
  }
  StatusOr<Plan> plan = MakePlan(exec, handles, args.span(), values.span(), attrs, metadata.span());
  if (!plan.ok()) [[unlikely]]
    return FailOrConvert(invocation, inputs, plan.status());
  Start(invocation, inputs, *plan, attrs, metadata.span());
}

void KernelOp::FailOrConvert(const OpInvocation& invocation, const Inputs& inputs, const Status& error) const {
  const StatusOr<OpAttrsRef> converted = ConvertAttrs(def_, invocation.attrs);
  if (!converted.ok() || converted->empty()) {
    return FailInvocation(invocation, name(), converted.ok() ? error : converted.status());
  }
  Dispatch({invocation.exec, invocation.args, *converted, invocation.results, invocation.chain}, inputs);
}

void KernelOp::Start(const OpInvocation& invocation, const Inputs& inputs, const Plan& plan, const OpAttrsRef& attrs,
                     std::span<const TensorMetadata> metadata) const {
  if (plan.kernel == nullptr) [[unlikely]]
    return fallback_->Invoke(invocation);
  bool pending = inputs.pending;
  // A host input may be on this device, where nobody reads it for an op without a metadata function.
  const bool moves =
      inputs.elsewhere || (def_.has_host_inputs && HasArgumentElsewhere(invocation.exec, invocation.args));
  if (moves) [[unlikely]] {
    Status movable = CheckPlaces(invocation.exec, invocation.args);
    if (!movable.ok()) return FailInvocation(invocation, name(), std::move(movable));
    // While others are pending, what they are is not known.
    if (!pending) MoveHere(invocation.exec, invocation.args);
    for (const TensorHandle& arg : invocation.args) {
      if (arg.IsError()) return PropagateError(invocation, name(), ErrorIn(arg));
      pending |= !arg.IsConcrete();
    }
  }
  if (plan.waits && def_.metadata == nullptr) [[unlikely]]
    return InvokePending(*this, invocation, nullptr, {});
  if (pending || plan.waits) return InvokePending(*this, invocation, &plan, metadata);
  if (plan.is_long) {
    // Without a metadata function the results' metadata is not known before the kernel has run.
    if (def_.metadata == nullptr) return InvokePending(*this, invocation, nullptr, {});
    return InvokePending(*this, invocation, &plan, metadata);
  }
  RunInline({invocation.exec, invocation.args, attrs, invocation.results, invocation.chain}, *plan.kernel, metadata);
}

void KernelOp::RunInline(const OpInvocation& invocation, const Kernel& kernel,
                         std::span<const TensorMetadata> metadata) const {
  const size_t num_results = metadata.size();
  SmallArray<TensorValue*, kUsualResults> results;
  if (!results.Init(num_results)) return FailInvocation(invocation, name(), Status::OutOfMemory());
  const Device* device = device_;
  for (size_t i = 0; i < num_results; ++i) {
    results[i] = new (std::nothrow) TensorValue(TensorValue::Constructed{}, metadata[i], device);
    if (results[i] == nullptr) [[unlikely]] {
      while (i > 0) results[--i]->DropRef();
      return FailInvocation(invocation, name(), Status::OutOfMemory());
    }
  }
  KernelCall call(invocation.exec, handler_, def_, invocation.args, invocation.attrs, results.span());
  call.Run(kernel, {});
  for (size_t i = 0; i < num_results; ++i) {
    auto value = RcRef<TensorValue>::Take(results[i]);
    if (call.IsPlain(i)) [[likely]] {
      value->SetConcreteUnshared();
      invocation.results[i] = TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(value))), device);
      continue;
    }
    // Without a metadata function, the metadata of a value still to come is still to come, too, and that of an error is
    // not known.
    RcRef<ConcreteAsyncValue<TensorMetadata>> pending_metadata;
    if (def_.metadata == nullptr) {
      pending_metadata = MakeUnconstructed<TensorMetadata>();
      if (!pending_metadata) {
        call.TellOnce(Status::OutOfMemory().WithContext(name(), invocation.exec.location()));
        invocation.results[i] = TensorHandle(AsyncValueRef<Tensor>(OutOfMemoryAsyncValue()), device);
        continue;
      }
    }
    invocation.results[i] = TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(pending_metadata)),
                                         AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), device);
    call.FinishResult(i, std::move(value), std::move(pending_metadata));
  }
  if (def_.has_side_effects || (num_results == 0 && !call.status().ok())) {
    *invocation.chain = call.ChainAfter(std::move(*invocation.chain));
  }
  for (TensorHandle& arg : invocation.args) arg.reset();
}

}  // namespace tandem
