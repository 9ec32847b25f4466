// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a waiting call does as what it waits for comes.

#include "execute/pending_op.h"

#include "defs/attr_conversion.h"
#include "execute/group_kernels.h"
#include "execute/late_value.h"
#include "tandem/core_runtime.h"

namespace tandem {

bool PendingOp::MakeResults(const OpInvocation& invocation, std::span<const TensorMetadata> metadata) {
  const size_t num_results = invocation.results.size();
  if (!args_.Init(invocation.args.size()) || !results_.Init(num_results) ||
      !result_metadata_.Init(metadata.empty() ? num_results : 0)) {
    return false;
  }
  for (size_t i = 0; i < num_results; ++i) {
    if (metadata.empty()) {
      result_metadata_[i] = MakeUnconstructed<TensorMetadata>();
      results_[i] = MakeUnconstructed<Tensor>();
      if (!result_metadata_[i]) return false;
    } else {
      const Device* const device = op_->ResultDevice(exec().host().device(), metadata[i].dtype);
      results_[i] = MakeRef<TensorValue>(TensorValue::Constructed{}, metadata[i], device);
    }
    if (!results_[i]) return false;
  }
  // Where an op without results can leave its error, it does (DI-2).
  if (invocation.chain == nullptr || (!op_->def().has_side_effects && num_results > 0)) return true;
  chain_out_ = MakeUnconstructed<Chain>();
  return static_cast<bool>(chain_out_);
}

void PendingOp::TakeOver(const OpInvocation& invocation, const KernelOp::Plan* plan) {
  if (plan != nullptr) {
    plan_ = *plan;
    planned_ = true;
  }
  for (size_t i = 0; i < args_.size(); ++i) args_[i] = std::move(invocation.args[i]);
  for (size_t i = 0; i < results_.size(); ++i) {
    RcRef<AsyncValue> metadata;
    const Device* device = op_->device();
    if (result_metadata_.size() > 0) {
      metadata = result_metadata_[i];
    } else {
      device = results_[i]->value().device();
    }
    invocation.results[i] = TensorHandle(AsyncValueRef<TensorMetadata>(std::move(metadata)),
                                         AsyncValueRef<Tensor>(RcRef<AsyncValue>(results_[i])), device);
  }
  if (invocation.chain == nullptr) return;
  chain_in_ = invocation.chain->CopyRef();
  if (chain_out_) *invocation.chain = AsyncValueRef<Chain>(RcRef<AsyncValue>(chain_out_));
}

void PendingOp::Advance() {
  if (const AsyncValue* error = FirstError()) return FailBy(*error);
  if (!planned_ && op_->def().metadata != nullptr) {
    if (AsyncValue* missing = NextMetadataDependency()) return WaitFor(missing);
    if (const AsyncValue* error = FirstError()) return FailBy(*error);
    if (op_->HasHostInputElsewhere(exec(), args_.span())) {
      if (Status status = CheckLate(); !status.ok()) return Fail(Tell(status));
      op_->FetchHostInputs(exec(), args_.span());
      return Advance();
    }
    if (Status status = PlanLate(); !status.ok()) return Fail(Tell(status));
  }
  if (AsyncValue* missing = NextDependency()) return WaitFor(missing);
  if (const AsyncValue* error = FirstError()) return FailBy(*error);
  if (!planned_) {
    if (Status status = PlanLate(); !status.ok()) return Fail(Tell(status));
  }
  if (plan_.waits) {
    LaterKernels& later = *op_->handler().later_kernels();
    // Kept, since after a failure another call has it fetched anew.
    if (!code_ && !later.IsHere()) {
      code_ = later.Want();
      if (!code_) return Fail(Tell(Status::OutOfMemory()));
    }
    if (code_ && !code_->IsAvailable()) return WaitFor(code_.get());
    if (Status status = CompletePlan(); !status.ok()) return Fail(Tell(status));
  }
  if (plan_.kernel != nullptr && op_->HasArgumentElsewhere(exec(), args_.span())) {
    if (Status status = op_->CheckPlaces(exec(), args_.span()); !status.ok()) return Fail(Tell(status));
    op_->MoveHere(exec(), args_.span());
    if (AsyncValue* missing = NextDependency()) return WaitFor(missing);
    if (const AsyncValue* error = FirstError()) return FailBy(*error);
  }
  Launch();
}

AsyncValue* PendingOp::NextMetadataDependency() {
  for (size_t i = 0; i < args_.size(); ++i) {
    const TensorHandle& arg = args_[i];
    if (op_->signature().IsHostInput(i, args_.size())) {
      if (!arg.IsAvailable()) return arg.value().value();
    } else if (!arg.IsMetadataAvailable() && !arg.metadata_value()->IsAvailable()) {
      return arg.metadata_value();
    }
  }
  return nullptr;
}

AsyncValue* PendingOp::NextDependency() {
  for (TensorHandle& arg : args_) {
    if (!arg.IsAvailable()) return arg.value().value();
  }
  return chain_in_.IsValid() && !chain_in_.IsAvailable() ? chain_in_.value() : nullptr;
}

// The first input that is an error by now: a tensor, metadata that will never be, or the chain.
const AsyncValue* PendingOp::FirstError() {
  for (TensorHandle& arg : args_) {
    if (arg.value().IsError()) return arg.value().value();
    if (arg.metadata_value()->IsError()) return arg.metadata_value();
  }
  return chain_in_.IsValid() && chain_in_.IsError() ? chain_in_.value() : nullptr;
}

// What can be checked before the content of host inputs is read.
Status PendingOp::CheckLate() {
  SmallArray<const TensorMetadata*, kUsualArgs> args;
  SmallArray<TensorMetadata, kUsualResults> metadata;
  if (!args.Init(args_.size()) || !metadata.Init(results_.size())) return Status::OutOfMemory();
  for (size_t i = 0; i < args_.size(); ++i) args[i] = &args_[i].metadata();
  return op_->signature().Bind(args.span(), attrs_, metadata.span()).status();
}

// Makes the plan now that the metadata is known, and publishes the results' metadata. Errors are new ones.
Status PendingOp::PlanLate() {
  SmallArray<const TensorMetadata*, kUsualArgs> args;
  SmallArray<const Tensor*, kUsualArgs> values;
  SmallArray<TensorMetadata, kUsualResults> metadata;
  if (!args.Init(args_.size()) || !values.Init(op_->reads_host_inputs() ? args_.size() : 0) ||
      !metadata.Init(results_.size())) {
    return Status::OutOfMemory();
  }
  for (size_t i = 0; i < args_.size(); ++i) args[i] = &args_[i].metadata();
  StatusOr<KernelOp::Plan> plan =
      op_->MakePlan(exec(), args_.span(), args.span(), values.span(), attrs_, metadata.span());
  if (!plan.ok()) return plan.status();
  plan_ = *plan;
  planned_ = true;
  if (op_->def().metadata != nullptr) Rehearse(args_.span(), plan_, metadata.span());
  for (size_t i = 0; i < results_.size(); ++i) {
    results_[i]->Construct(metadata[i], op_->ResultDevice(exec().host().device(), metadata[i].dtype));
    // Without a metadata function the metadata comes with the data (MD-3).
    if (op_->def().metadata != nullptr) std::exchange(result_metadata_[i], nullptr)->Emplace(metadata[i]);
  }
  return Status();
}

Status PendingOp::CompletePlan() {
  if (code_ && code_->IsError()) return code_->GetError();
  SmallArray<const TensorMetadata*, kUsualArgs> args;
  SmallArray<TensorMetadata, kUsualResults> metadata;
  if (!args.Init(args_.size()) || !metadata.Init(results_.size())) return Status::OutOfMemory();
  for (size_t i = 0; i < args_.size(); ++i) args[i] = &args_[i].metadata();
  for (size_t i = 0; i < results_.size(); ++i) metadata[i] = results_[i]->value().metadata();
  return op_->CompletePlan(exec(), args.span(), attrs_, metadata.span(), plan_);
}

void PendingOp::Launch() {
  set_short(plan_.is_short);
  if (plan_.kernel != nullptr && plan_.is_long) return Enqueue();
  if (!TryBegin()) return;
  plan_.kernel == nullptr ? RunOnFallback() : RunKernel();
}

void PendingOp::RunKernel() {
  if (!op_->CanFuse(plan_) || !op_->handler().group_kernels()->TryRun(*this)) RunAlone();
}

void PendingOp::RunAlone() {
  SmallArray<TensorValue*, kUsualResults> values;
  if (!values.Init(results_.size())) return Fail(Tell(Status::OutOfMemory()));
  for (size_t i = 0; i < results_.size(); ++i) values[i] = results_[i].get();
  KernelCall call(exec(), op_->handler(), op_->def(), args_.span(), attrs_, values.span());
  call.Run(*plan_.kernel, called_);
  Finish(call);
}

void PendingOp::Finish(KernelCall& call) {
  const bool is_plain = call.IsPlain();
  // The inputs go first: dependents that run while results are published may then reuse their memory.
  for (TensorHandle& arg : args_) arg.reset();
  if (is_plain) Leave();
  for (size_t i = 0; i < results_.size(); ++i) {
    if (is_plain) {
      KernelCall::Publish(std::move(results_[i]), TakeMetadata(i));
    } else {
      call.FinishResult(i, std::move(results_[i]), TakeMetadata(i));
    }
  }
  if (chain_out_) call.FinishChain(std::move(chain_out_));
  if (!is_plain) Leave();
  Release();
}

void PendingOp::RunOnFallback() {
  SmallArray<TensorHandle, kUsualResults> results;
  if (!results.Init(results_.size())) return Fail(Tell(Status::OutOfMemory()));
  AsyncValueRef<Chain> chain = std::move(chain_in_);
  op_->fallback()->Invoke({exec(), args_.span(), attrs_, results.span(), chain_out_ ? &chain : nullptr});
  const LateOrigin origin = {exec(), op_->def(), /*is_of_call=*/true};
  for (size_t i = 0; i < results_.size(); ++i) {
    ForwardTensor(origin, results[i].value().CopyRef(), std::move(results_[i]), TakeMetadata(i));
    results[i].reset();
  }
  if (chain_out_) ForwardChain(origin, std::move(chain), std::move(chain_out_));
  Leave();
  Release();
}

void PendingOp::DropInputs() {
  for (TensorHandle& arg : args_) arg.reset();
  chain_in_.reset();
}

void PendingOp::SetError(const Status& error) {
  for (size_t i = 0; i < results_.size(); ++i) {
    if (RcRef<MetadataValue> metadata = TakeMetadata(i)) metadata->SetError(error);
    std::move(results_[i])->SetError(error);
  }
  if (chain_out_) std::move(chain_out_)->SetError(error);
}

void InvokePending(const KernelOp& op, const OpInvocation& invocation, const KernelOp::Plan* plan,
                   std::span<const TensorMetadata> metadata) {
  const ExecutionContext& exec = invocation.exec;
  const int64_t bytes = PendingOps::CountBytes(metadata);
  PendingOps& pending = exec.host().pending_ops();
  if (Status admitted = pending.Admit(exec, bytes); !admitted.ok()) {
    return FailInvocation(invocation, op.name(), std::move(admitted));
  }
  // With a plan the attributes have been checked, and converted.
  const StatusOr<OpAttrsRef> converted =
      plan == nullptr ? ConvertAttrs(op.def(), invocation.attrs) : StatusOr<OpAttrsRef>(OpAttrsRef());
  if (!converted.ok()) {
    pending.Release(bytes);
    return FailInvocation(invocation, op.name(), converted.status());
  }
  const OpAttrsRef& given = converted->empty() ? invocation.attrs : *converted;
  OpAttrsRef attrs = given.WithDefaults(op.def().defaults.get()).Freeze();
  RcRef<PendingOp> call;
  if (!attrs.out_of_memory()) call = MakeRef<PendingOp>(op, exec, std::move(attrs));
  if (!call || !call->MakeResults(invocation, metadata)) {
    pending.Release(bytes);
    return FailInvocation(invocation, op.name(), Status::OutOfMemory());
  }
  if (plan != nullptr) call->Rehearse(invocation.args, *plan, metadata);
  call->TakeOver(invocation, plan);
  call.release()->Start(bytes);
}

}  // namespace tandem
