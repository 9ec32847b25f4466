// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A call that waits: for its inputs' metadata, then for the inputs themselves, then in the work queue (EX-8, MD-4).

#include <atomic>
#include <new>

#include "attr_conversion.h"
#include "kernel_op.h"
#include "late_value.h"
#include "pending_ops.h"
#include "tandem/core_runtime.h"
#include "tandem/small_array.h"

namespace tandem {

namespace {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

// One thread at a time works on the op, whoever has moved it to kAdvancing or kStarted; that thread alone touches the
// members below `state_`. Everyone who may still call it holds a reference.
class PendingOp final : public RefCounted<PendingOp>, public Waiter, public Task, public CancellableOp {
 public:
  PendingOp(const KernelOp& op, const ExecutionContext& exec, OpAttrsRef attrs)
      : op_(RcRef<const KernelOp>::Share(&op)), location_(exec.location()), exec_(exec), attrs_(std::move(attrs)) {
    if (exec.host().IsTracing()) called_ = KernelOp::Clock::now();
  }

  // Makes the results and the chain to come; the results' metadata is known if `metadata` is not empty.
  [[nodiscard]] bool MakeResults(const OpInvocation& invocation, std::span<const TensorMetadata> metadata);
  // Takes the caller's arguments and gives it the results. Cannot fail.
  void TakeOver(const OpInvocation& invocation);
  // `plan` is given if metadata and dtypes have been checked already.
  void Start(PendingOps& pending, int64_t bytes, const KernelOp::Plan* plan);

  void Run() override;  // as a Waiter, and as a Task
  void Drop() override { RefCounted::DropRef(); }
  void AddRef() override { RefCounted::AddRef(); }
  void DropRef() override { RefCounted::DropRef(); }
  void Cancel(const Status& reason) override;
  const RequestContext* request() const override { return exec_.request(); }

 private:
  friend class RefCounted<PendingOp>;
  enum class State : uint8_t { kWaiting, kAdvancing, kCancelRequested, kStarted, kDone };

  ~PendingOp() = default;
  bool Move(State from, State to) { return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel); }

  void Advance();
  void WaitFor(AsyncValue* value);
  AsyncValue* NextMetadataDependency();
  AsyncValue* NextDependency();
  const AsyncValue* FirstError();
  // Ends the op by the error of an input.
  void FailBy(const AsyncValue& input) { Fail(input.GetError().Through(op_->name(), location_)); }
  // Completes a new error and tells the diagnostic handler.
  Status Tell(const Status& error) const { return exec_.host().EmitError(error.WithContext(op_->name(), location_)); }
  Status CheckLate();
  Status PlanLate();
  void Launch();
  void Enqueue();
  void RunOnFallback();
  void RunKernel();
  // The ways the op ends; they give up the caller's reference.
  void Finish(KernelFrame& frame, const Status& status);
  void Fail(const Status& error);
  // Nothing of the host is used after this.
  void Leave();
  RcRef<MetadataValue> TakeMetadata(size_t i) {
    return result_metadata_.size() > 0 ? std::move(result_metadata_[i]) : nullptr;
  }

  std::atomic<State> state_{State::kAdvancing};
  const RcRef<const KernelOp> op_;
  const Location location_;
  ExecutionContext exec_;
  OpAttrsRef attrs_;
  SmallArray<TensorHandle, kUsualArgs> args_;
  SmallArray<RcRef<TensorValue>, kUsualResults> results_;
  SmallArray<RcRef<MetadataValue>, 1> result_metadata_;  // empty if the metadata is known
  AsyncValueRef<Chain> chain_in_;
  RcRef<ConcreteAsyncValue<Chain>> chain_out_;
  PendingOps* pending_ = nullptr;
  int64_t bytes_ = 0;
  KernelOp::Plan plan_;
  bool planned_ = false;
  bool queued_ = false;
  Status cancel_reason_;  // written before kCancelRequested
  KernelOp::Clock::time_point called_;
};

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
      const Device* const device = op_->ResultDevice(exec_.host().device(), metadata[i].dtype);
      results_[i] = MakeRef<TensorValue>(TensorValue::Constructed{}, metadata[i], device);
    }
    if (!results_[i]) return false;
  }
  // Where an op without results can leave its error, it does (DI-2).
  if (invocation.chain == nullptr || (!op_->def().has_side_effects && num_results > 0)) return true;
  chain_out_ = MakeUnconstructed<Chain>();
  return static_cast<bool>(chain_out_);
}

void PendingOp::TakeOver(const OpInvocation& invocation) {
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

void PendingOp::Start(PendingOps& pending, int64_t bytes, const KernelOp::Plan* plan) {
  const Progress::Scope scope(pending.progress());
  pending_ = &pending;
  bytes_ = bytes;
  if (plan != nullptr) {
    plan_ = *plan;
    planned_ = true;
  }
  if (Status active = pending.Add(*this, exec_); !active.ok()) {
    return Fail(Tell(active));
  }
  Advance();
}

void PendingOp::Run() {
  if (!Move(State::kWaiting, State::kAdvancing)) return RefCounted::DropRef();
  Progress& progress = pending_->progress();
  const Progress::Scope scope(progress);
  if (!queued_) return Advance();
  progress.End(Progress::kElsewhere);
  if (!exec_.host().MayBegin(bytes_)) return Enqueue();
  if (!Move(State::kAdvancing, State::kStarted)) return Fail(cancel_reason_);
  RunKernel();
}

// Runs in state kAdvancing with one reference of its own, and gives both up. Starts anew each time that something the
// op has waited for is there; what has been moved or planned is found so.
void PendingOp::Advance() {
  if (const AsyncValue* error = FirstError()) return FailBy(*error);
  if (!planned_ && op_->def().metadata != nullptr) {
    if (AsyncValue* missing = NextMetadataDependency()) return WaitFor(missing);
    if (const AsyncValue* error = FirstError()) return FailBy(*error);
    if (op_->HasHostInputElsewhere(exec_, args_.span())) {
      if (Status status = CheckLate(); !status.ok()) return Fail(Tell(status));
      op_->FetchHostInputs(exec_, args_.span());
      return Advance();
    }
    if (Status status = PlanLate(); !status.ok()) return Fail(Tell(status));
  }
  if (AsyncValue* missing = NextDependency()) return WaitFor(missing);
  if (const AsyncValue* error = FirstError()) return FailBy(*error);
  if (!planned_) {
    if (Status status = PlanLate(); !status.ok()) return Fail(Tell(status));
  }
  if (plan_.kernel != nullptr && op_->HasArgumentElsewhere(args_.span())) {
    if (Status status = op_->CheckPlaces(exec_, args_.span()); !status.ok()) return Fail(Tell(status));
    op_->MoveHere(exec_, args_.span());
    if (AsyncValue* missing = NextDependency()) return WaitFor(missing);
    if (const AsyncValue* error = FirstError()) return FailBy(*error);
  }
  Launch();
}

void PendingOp::WaitFor(AsyncValue* value) {
  // Once the op is in kWaiting, cancellation may drop the arguments, so this thread needs a reference of its own.
  const RcRef<AsyncValue> awaited = RcRef<AsyncValue>::Share(value);
  if (!Move(State::kAdvancing, State::kWaiting)) return Fail(cancel_reason_);
  awaited->AndThen(*this);
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
      op_->MakePlan(exec_, args_.span(), args.span(), values.span(), attrs_, metadata.span());
  if (!plan.ok()) return plan.status();
  plan_ = *plan;
  planned_ = true;
  for (size_t i = 0; i < results_.size(); ++i) {
    results_[i]->Construct(metadata[i], op_->ResultDevice(exec_.host().device(), metadata[i].dtype));
    // Without a metadata function the metadata comes with the data (MD-3).
    if (op_->def().metadata != nullptr) std::exchange(result_metadata_[i], nullptr)->Emplace(metadata[i]);
  }
  return Status();
}

void PendingOp::Launch() {
  if (plan_.kernel != nullptr && plan_.is_long) return Enqueue();
  if (!Move(State::kAdvancing, State::kStarted)) return Fail(cancel_reason_);
  plan_.kernel == nullptr ? RunOnFallback() : RunKernel();
}

void PendingOp::Enqueue() {
  queued_ = true;
  // Once the op is in kWaiting it may be cancelled, and with it the host gone before the queue has taken the task.
  PendingOps& pending = *pending_;
  WorkQueue& queue = exec_.work_queue();
  pending.Hold();
  pending.progress().Begin(Progress::kElsewhere);
  if (Move(State::kAdvancing, State::kWaiting)) {
    queue.AddTask(static_cast<Task&>(*this));
  } else {
    pending.progress().End(Progress::kElsewhere);
    Fail(cancel_reason_);
  }
  pending.Release(0);
}

void PendingOp::RunKernel() {
  SmallArray<TensorValue*, kUsualResults> values;
  if (!values.Init(results_.size())) return Fail(Tell(Status::OutOfMemory()));
  for (size_t i = 0; i < results_.size(); ++i) values[i] = results_[i].get();
  KernelFrame frame(exec_, op_->handler(), op_->def(), args_.span(), attrs_, values.span());
  const Status status = op_->RunKernel(*plan_.kernel, frame, called_);
  Finish(frame, status);
}

void PendingOp::Finish(KernelFrame& frame, const Status& status) {
  const bool is_plain = KernelOp::IsPlain(frame, status);
  state_.store(State::kDone, std::memory_order_release);
  // The inputs go first: dependents that run while results are published may then reuse their memory.
  for (TensorHandle& arg : args_) arg.reset();
  if (is_plain) Leave();
  for (size_t i = 0; i < results_.size(); ++i) {
    if (is_plain) {
      KernelOp::Publish(std::move(results_[i]), TakeMetadata(i));
    } else {
      KernelOp::FinishResult(frame, i, status, std::move(results_[i]), TakeMetadata(i));
    }
  }
  if (chain_out_) KernelOp::FinishChain(frame, status, std::move(chain_out_));
  if (!is_plain) Leave();
  RefCounted::DropRef();
}

void PendingOp::RunOnFallback() {
  SmallArray<TensorHandle, kUsualResults> results;
  if (!results.Init(results_.size())) return Fail(Tell(Status::OutOfMemory()));
  AsyncValueRef<Chain> chain = std::move(chain_in_);
  op_->fallback()->Invoke({exec_, args_.span(), attrs_, results.span(), chain_out_ ? &chain : nullptr});
  state_.store(State::kDone, std::memory_order_release);
  const LateOrigin origin = {exec_, op_->name(), /*is_of_call=*/true};
  for (size_t i = 0; i < results_.size(); ++i) {
    ForwardTensor(origin, results[i].value().CopyRef(), std::move(results_[i]), TakeMetadata(i));
    results[i].reset();
  }
  if (chain_out_) ForwardChain(origin, std::move(chain), std::move(chain_out_));
  Leave();
  RefCounted::DropRef();
}

void PendingOp::Cancel(const Status& reason) {
  cancel_reason_ = reason.WithContext(op_->name(), location_);
  for (State state = state_.load(std::memory_order_acquire); state == State::kWaiting || state == State::kAdvancing;) {
    const State next = state == State::kWaiting ? State::kDone : State::kCancelRequested;
    if (!state_.compare_exchange_weak(state, next, std::memory_order_acq_rel)) continue;
    if (next == State::kDone) {
      Progress& progress = pending_->progress();
      const bool was_queued = queued_;
      RefCounted::AddRef();
      Fail(cancel_reason_);
      if (was_queued) progress.End(Progress::kElsewhere);
    }
    return;
  }
}

// The error has been told.
void PendingOp::Fail(const Status& error) {
  state_.store(State::kDone, std::memory_order_release);
  const Status reason = error;  // may be a member, or belong to an input
  for (TensorHandle& arg : args_) arg.reset();
  chain_in_.reset();
  Leave();
  for (size_t i = 0; i < results_.size(); ++i) {
    if (RcRef<MetadataValue> metadata = TakeMetadata(i)) metadata->SetError(reason);
    std::move(results_[i])->SetError(reason);
  }
  if (chain_out_) std::move(chain_out_)->SetError(reason);
  RefCounted::DropRef();
}

void PendingOp::Leave() {
  pending_->Remove(*this);
  // The op may stay in the list of a value that comes much later; it keeps no request alive until then.
  exec_ = ExecutionContext(exec_.host(), location_);
  pending_->Release(bytes_);
}

}  // namespace

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
  call->TakeOver(invocation);
  call.release()->Start(pending, bytes, plan);
}

}  // namespace tandem
