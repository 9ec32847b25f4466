// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The path of one call whose inputs are available, from the checks to the results. Every small op pays for each line.

#include "kernel_op.h"

#include <new>

#include "tandem/core_runtime.h"

namespace tandem {

namespace {

// Passes a tensor on from one async value to another, or the error that came instead.
class Forwarder final : public Waiter {
 public:
  // `op` and `location` are for errors that have not been told to `host` yet; null: they have.
  struct Origin {
    const HostContext* host = nullptr;
    std::string_view op;
    Location location;
  };

  Forwarder(AsyncValueRef<Tensor> from, RcRef<TensorValue> to, RcRef<ConcreteAsyncValue<TensorMetadata>> metadata,
            Origin origin)
      : from_(std::move(from)), to_(std::move(to)), metadata_(std::move(metadata)), origin_(origin) {}

  void Run() override {
    Pass(std::move(from_), std::move(to_), std::move(metadata_), origin_);
    delete this;
  }
  void Drop() override { delete this; }

  static void Start(AsyncValueRef<Tensor> from, RcRef<TensorValue> to,
                    RcRef<ConcreteAsyncValue<TensorMetadata>> metadata, Origin origin) {
    if (from.IsAvailable()) return Pass(std::move(from), std::move(to), std::move(metadata), origin);
    auto* forwarder = new (std::nothrow) Forwarder(from.CopyRef(), to, metadata, origin);
    if (forwarder == nullptr) return Fail(Status::OutOfMemory(), *to, metadata.get());
    from.AndThen(*forwarder);
  }

 private:
  static void Fail(const Status& error, TensorValue& to, ConcreteAsyncValue<TensorMetadata>* metadata) {
    if (metadata != nullptr) metadata->SetError(error);
    to.SetError(error);
  }

  static void Pass(AsyncValueRef<Tensor> from, RcRef<TensorValue> to,
                   RcRef<ConcreteAsyncValue<TensorMetadata>> metadata, const Origin& origin) {
    if (from.IsError()) {
      Status error = from.GetError();
      if (origin.host != nullptr) error = origin.host->EmitError(error.WithContext(origin.op, origin.location));
      return Fail(error, *to, metadata.get());
    }
    const Tensor& tensor = from.get();
    if (metadata) {
      metadata->Emplace(tensor.metadata());
    } else if (!(to->value().metadata() == tensor.metadata())) {
      return Fail(Internal("kernel must give ", to->value().metadata(), ", gave ", tensor.metadata())
                      .WithContext(origin.op, origin.location),
                  *to, nullptr);
    }
    if (to->HasContent()) {
      to->value() = tensor;
    } else {
      to->Construct(tensor);
    }
    from.reset();
    to.release()->SetConcreteAndDropRef();
  }

  AsyncValueRef<Tensor> from_;
  RcRef<TensorValue> to_;
  RcRef<ConcreteAsyncValue<TensorMetadata>> metadata_;
  Origin origin_;
};

double EstimateCost(const Kernel& kernel, std::span<const TensorMetadata* const> args,
                    std::span<const TensorMetadata> results) {
  const CostModel& cost = kernel.cost();
  if (cost.estimate != nullptr) return cost.estimate(args, results);
  int64_t elements = 0;
  for (const TensorMetadata* arg : args) elements += arg->num_elements();
  for (const TensorMetadata& result : results) elements += result.num_elements();
  return static_cast<double>(elements) * cost.per_element;
}

}  // namespace

void ForwardTensor(AsyncValueRef<Tensor> from, RcRef<TensorValue> to,
                   RcRef<ConcreteAsyncValue<TensorMetadata>> metadata) {
  Forwarder::Start(std::move(from), std::move(to), std::move(metadata), {});
}

void PropagateError(const OpInvocation& invocation, const Status& error) {
  const AsyncValueRef<Tensor> value = AsyncValueRef<Tensor>::MakeError(error);
  for (TensorHandle& result : invocation.results) result = TensorHandle(value.CopyRef(), nullptr);
  if (invocation.chain != nullptr) *invocation.chain = AsyncValueRef<Chain>(RcRef<AsyncValue>::Share(value.value()));
  for (TensorHandle& arg : invocation.args) arg.reset();
}

KernelOp::KernelOp(KernelOpHandler& handler, const OpDef& def, std::shared_ptr<const KernelsByDType> kernels,
                   RcRef<const OpImpl> fallback, bool use_work_queue)
    : OpImpl(def.name), handler_(handler), device_(handler.device()), def_(def), signature_(def), kernels_(std::move(kernels)),
      fallback_(std::move(fallback)), use_work_queue_(use_work_queue), small_(DescribeSmall(def)) {}

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

KernelOp::Inputs KernelOp::Inspect(const OpInvocation& invocation) const {
  Inputs inputs;
  const size_t num_args = invocation.args.size();
  inputs.fault = signature_.CheckArgumentCount(num_args);
  if (!inputs.fault.ok()) [[unlikely]] return inputs;
  const Device* device = device_;
  for (size_t i = 0; i < num_args; ++i) {
    const TensorHandle& arg = invocation.args[i];
    if (!arg.IsValid()) [[unlikely]] {
      inputs.fault = NullArgument(i, num_args);
      return inputs;
    }
    const AsyncValue& value = *arg.value().value();
    const AsyncValue::State state = value.state();
    if (state == AsyncValue::State::kError) [[unlikely]] {
      if (inputs.error == nullptr) inputs.error = &value;
      continue;
    }
    if (arg.device() != device && !(signature_.IsHostInput(i, num_args) &&
                                    arg.device() == &invocation.exec.host().device())) [[unlikely]] {
      inputs.fault = ForeignArgument(i, arg, num_args);
      return inputs;
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
  if (small_.applies && InvokeSmall(invocation)) [[likely]] return;
  const ExecutionContext& exec = invocation.exec;
  if (exec.host().NeedsAttention() || exec.request() != nullptr) [[unlikely]] {
    Status active = exec.host().CheckActive();
    if (active.ok() && exec.request() != nullptr) active = exec.request()->CheckActive();
    if (!active.ok()) return FailInvocation(invocation, name(), std::move(active));
  }
  Inputs inputs = Inspect(invocation);
  if (!inputs.fault.ok()) [[unlikely]] return FailInvocation(invocation, name(), std::move(inputs.fault));
  if (inputs.error != nullptr) [[unlikely]] {
    const Status error = inputs.error->GetError();  // a copy: its owner is among the arguments that are dropped
    return PropagateError(invocation, error);
  }
  Dispatch(invocation, inputs.pending);
}

StatusOr<KernelOp::Plan> KernelOp::MakePlan(const ExecutionContext& exec, std::span<const TensorMetadata* const> args,
                                            std::span<const Tensor* const> values, const OpAttrsRef& attrs,
                                            std::span<TensorMetadata> results) const {
  TANDEM_ASSIGN_OR_RETURN(const DType dtype, signature_.Bind(args, attrs, results));
  if (def_.metadata != nullptr) {
    SmallArray<DType, kUsualResults> defined;
    if (!defined.Init(results.size())) return Status::OutOfMemory();
    for (size_t i = 0; i < results.size(); ++i) defined[i] = results[i].dtype;
    TANDEM_RETURN_IF_ERROR(def_.metadata({args, values, attrs, results}));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].IsValid()) [[unlikely]] return results[i].Validate();
      if (results[i].dtype != defined[i] && defined[i] != DType::kInvalid) [[unlikely]] {
        return Internal("metadata function must give result ", i, " as ", defined[i], ", gave ", results[i]);
      }
    }
  }
  Plan plan;
  const Kernel& kernel = (*kernels_)[static_cast<size_t>(dtype)];
  if (!kernel.IsValid()) [[unlikely]] {
    if (fallback_) return plan;
    return Status::Error(StatusCode::kUnimplemented,
                         MessageBuilder()
                             .Append("op handler ", std::string_view(handler_.name()), " has no kernel for dtype ",
                                     dtype)
                             .view());
  }
  plan.kernel = &kernel;
  plan.is_long = use_work_queue_ &&
                 EstimateCost(kernel, args, results) > static_cast<double>(exec.host().inline_cost_limit());
  return plan;
}

bool KernelOp::CanPlan(std::span<TensorHandle> args) const {
  if (def_.metadata == nullptr) return false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].IsMetadataAvailable()) return false;
    if (signature_.IsHostInput(i, args.size()) && !args[i].IsConcrete()) return false;
  }
  return true;
}

void KernelOp::Dispatch(const OpInvocation& invocation, bool pending) const {
  if (pending && !CanPlan(invocation.args)) return InvokePending(*this, invocation, nullptr, {});
  const size_t num_args = invocation.args.size();
  SmallArray<const TensorMetadata*, kUsualArgs> args;
  SmallArray<const Tensor*, kUsualArgs> values;
  SmallArray<TensorMetadata, kUsualResults> metadata;
  if (!args.Init(num_args) || !values.Init(def_.has_host_inputs ? num_args : 0) ||
      !metadata.Init(invocation.results.size())) {
    return FailInvocation(invocation, name(), Status::OutOfMemory());
  }
  for (size_t i = 0; i < num_args; ++i) {
    args[i] = pending ? &invocation.args[i].metadata() : &invocation.args[i].tensor().metadata();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = signature_.IsHostInput(i, num_args) ? &invocation.args[i].tensor() : nullptr;
  }
  const OpAttrsRef attrs = invocation.attrs.WithDefaults(def_.defaults.get());
  StatusOr<Plan> plan = MakePlan(invocation.exec, args.span(), values.span(), attrs, metadata.span());
  if (!plan.ok()) [[unlikely]] return FailInvocation(invocation, name(), plan.status());
  if (pending) return InvokePending(*this, invocation, &*plan, metadata.span());
  if (plan->kernel == nullptr) [[unlikely]] return fallback_->Invoke(invocation);
  if (plan->is_long) {
    // Without a metadata function the results' metadata is not known before the kernel has run.
    if (def_.metadata == nullptr) return InvokePending(*this, invocation, nullptr, {});
    return InvokePending(*this, invocation, &*plan, metadata.span());
  }
  RunInline({invocation.exec, invocation.args, attrs, invocation.results, invocation.chain}, *plan->kernel,
            metadata.span());
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
  KernelFrame frame(invocation.exec, handler_, def_, invocation.args, invocation.attrs, results.span());
  const Status status = RunKernel(kernel, frame, {});
  for (size_t i = 0; i < num_results; ++i) {
    auto value = RcRef<TensorValue>::Take(results[i]);
    if (status.ok() && frame.late_ == nullptr && !frame.late_lost_ && value->value().HasPayload()) [[likely]] {
      value->SetConcreteUnshared();
      invocation.results[i] = TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(value))), device);
      continue;
    }
    // Without a metadata function, the metadata of a value still to come is still to come, too.
    RcRef<ConcreteAsyncValue<TensorMetadata>> pending_metadata;
    const KernelFrame::Late* late = frame.FindLate(i);
    if (def_.metadata == nullptr && late != nullptr && late->value.IsValid()) {
      pending_metadata = MakeUnconstructed<TensorMetadata>();
      if (!pending_metadata) frame.SetError(i, Status::OutOfMemory());
    }
    invocation.results[i] = TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(pending_metadata)),
                                         AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), device);
    FinishResult(frame, i, status, std::move(value), std::move(pending_metadata));
  }
  if (def_.has_side_effects) *invocation.chain = FinishChain(frame, status);
  for (TensorHandle& arg : invocation.args) arg.reset();
}

Status KernelOp::RunKernel(const Kernel& kernel, KernelFrame& frame, Clock::time_point called) const {
  if (!frame.host().IsTracing()) [[likely]] {
    Status status = kernel.Run(frame);
    if (!status.ok()) [[unlikely]] status = status.WithContext(name(), frame.exec().location());
    return status;
  }
  const Clock::time_point started = Clock::now();
  Status status = kernel.Run(frame).WithContext(name(), frame.exec().location());
  const Clock::time_point ended = Clock::now();
  MessageBuilder inputs;
  for (size_t i = 0; i < frame.num_args(); ++i) inputs.Append(i == 0 ? "" : ", ", frame.arg(i).metadata());
  MessageBuilder attrs;
  attrs.Append(frame.attrs());
  frame.host().tracer().Record({name(), handler_.device()->name(), inputs.view(), attrs.view(),
                                called == Clock::time_point() ? started : called, started, ended});
  return status;
}

void KernelOp::FinishResult(KernelFrame& frame, size_t i, const Status& status, RcRef<TensorValue> value,
                            RcRef<ConcreteAsyncValue<TensorMetadata>> metadata) {
  KernelFrame::Late* late = frame.FindLate(i);
  Status error;
  if (late != nullptr && !late->error.ok()) {
    error = frame.host().EmitError(late->error.WithContext(frame.def().name, frame.exec().location()));
  } else if (!status.ok()) {
    error = status;
    TellOnce(frame, error);
  } else if (frame.late_lost_) {
    error = Status::OutOfMemory();
    TellOnce(frame, error);
  } else if (late != nullptr) {
    return Forwarder::Start(std::move(late->value), std::move(value), std::move(metadata),
                            {&frame.host(), frame.def().name, frame.exec().location()});
  } else if (!value->value().HasPayload()) {
    error = frame.host().EmitError(
        Internal("kernel gave no value for result ", i).WithContext(frame.def().name, frame.exec().location()));
  }
  if (!error.ok()) {
    if (metadata) metadata->SetError(error);
    value->SetError(error);
    return;
  }
  if (metadata) metadata->Emplace(value->value().metadata());
  value.release()->SetConcreteAndDropRef();
}

void KernelOp::TellOnce(KernelFrame& frame, const Status& error) {
  if (std::exchange(frame.error_told_, true)) return;
  static_cast<void>(frame.host().EmitError(error));
}

AsyncValueRef<Chain> KernelOp::FinishChain(KernelFrame& frame, const Status& status) {
  if (!status.ok()) {
    TellOnce(frame, status);
    return AsyncValueRef<Chain>::MakeError(status);
  }
  return frame.chain_.IsValid() ? std::move(frame.chain_) : MakeReadyChain();
}

}  // namespace tandem
